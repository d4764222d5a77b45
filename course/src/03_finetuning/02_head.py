# %% [markdown] tags=["section"]
# ## 2. A new head
#
# The last layer, `model.fc`, is the **head**. All before it is the **body**. The head knows the old classes, so you replace it, and keep the body.

# %% tags=["predict"]
q3 = predict("03.q3")
q3

# %% tags=["code"]
def with_new_head():
    model = resnet_digits(weights="DEFAULT")
    model.fc = nn.Linear(model.fc.in_features, 5)
    return model

torch.manual_seed(0)
model = with_new_head().eval()
print(model.fc)
with torch.no_grad():
    loss = F.cross_entropy(model(images), labels)
print(f"loss before any training: {loss.item():.1f}")

new = sum(p.numel() for p in model.fc.parameters())
print("numbers in the head:", new, " in the body:", sum(p.numel() for p in model.parameters()) - new)

# %% tags=["reveal"]
q3.reveal()

# %% [markdown]
# The network with its modules as boxes. Each box says how many parameters are in it. The new head is the last box before the loss.

# %% tags=["picture"]
autolab.viz.draw(F.cross_entropy(model(images[:2]), labels[:2]), rankdir="TB", params=dict(model.named_parameters()))

# %% [markdown] tags=["explain"]
# **Why.** A new `Linear` starts with small random numbers, so it gives each of the five classes about the probability $1/5$. The loss is
# $-\log \frac15 = \log 5 \approx 1.61$. Here it is 1.7, because no random head is quite even-handed. If the loss of a new classifier starts far above that, something is wrong: the labels, the inputs, or the head.
#
# Assigning to `model.fc` is all it takes. A module is found under the name of the attribute, and a new one under the same name takes the place of the old one. It has new
# parameters, and *nobody else is told*. Section 7 is about that.
#
# Changing `model.fc.out_features` does nothing but change what is printed. The weight keeps its shape.

# %% [markdown] tags=["exercise"]
# ### Exercise 03.2: a new head for any network
#
# Write `new_head(model, classes)`. It gives a network whose head is called `fc` a new head, whatever the number of its features, and returns the network.
# The rest of the network stays as it is, frozen or not.

# %% tags=["exercise"]
def new_head(model, classes):
    return ...

check("03.2", new_head)

# %% [markdown] tags=["keep"]
# **Take along:** replace the head by assignment, and expect a first loss of the logarithm of the number of classes.
# PyTorch on [`nn.Module`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html).
