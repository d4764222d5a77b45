# %% [markdown] tags=["section"]
# ## 2. A new head, and who trains it
#
# The last layer, `model.fc`, is the **head**, and all layers before it are the **body**. For a new task you usually replace the head and keep the body, because its features are useful. The picture shows both parts of our network. As you can see, nearly all of its numbers are in the body.
#
# Before we train a new head, let's find out how wrong it is at the beginning. We measure this with the **cross-entropy**, which is the loss of lesson 1: minus the logarithm of the probability that the network gives to the right digit.

# %% tags=["picture"]
plots.layers(hand.network())
plt.show()

# %% tags=["predict"]
q2 = predict("03.q2")
q2

# %% tags=["code"]
torch.manual_seed(0)
fresh = hand.network()
fresh.fc = nn.Linear(fresh.fc.in_features, 10)
with torch.no_grad():
    loss = F.cross_entropy(fresh(others[::2]), other_labels[::2]).item()
    kept = F.cross_entropy(hand.network()(others[new]), other_labels[new]).item()
print(f"a head of random numbers: loss {loss:.1f}")
print(f"five trained rows, five random ones: loss {kept:.1f} on the new digits")

# %% tags=["reveal"]
q2.reveal()

# %% [markdown] tags=["explain"]
# **Why.** A head of small random numbers gives each of the ten classes a probability of about $1/10$, and $-\log \frac1{10} = \log 10 \approx 2.3$. If the first loss of a new classifier is far above this value, something is wrong. For the old head we know the reason: five of its rows are trained, so it gives high probabilities to wrong digits.
#
# You replace the head by assigning a new layer to `fc`. Suppose a program contains these three lines:
#
# ```
# model = hand.network()
# optimizer = torch.optim.SGD(model.parameters(), lr=0.05)     # line 2
# model.fc = nn.Linear(64, 10)                                 # line 3
# ```

# %% tags=["predict"]
q3 = predict("03.q3")
q3

# %% tags=["code"]
def layers_that_move(model, optimizer):
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    for step in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(few), few_labels).backward()
        optimizer.step()
    after = model.named_parameters()
    moved = {n.split(".")[0] for n, p in after if not torch.equal(p, before[n])}
    return " ".join(sorted(moved)) or "none"

torch.manual_seed(0)
model = hand.network()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
model.fc = nn.Linear(64, 10)
start = F.cross_entropy(model(few), few_labels)
moved = layers_that_move(model, optimizer)
end = F.cross_entropy(model(few), few_labels)
print(f"loss: {start.item():.1f} before the three steps, {end.item():.1f} after")
print("layers that have changed:", moved)

# %% tags=["reveal"]
q3.reveal(moved)

# %% tags=["picture"]
FreezePanel(model, optimizer)

# %% [markdown]
# Can you catch an engine that gets this wrong? The next cell gives you an engine in which one rule has been changed. At first the function `mine` doesn't reveal the rule, because both engines give the same result for it. Change `mine` until the results differ.
#
# It helps to try the ideas of the lesson one at a time. For example, take a second step, replace a layer after the optimizer has been built, or freeze a layer. Once the results differ, remove every line that isn't needed for the difference. The remaining lines show you the rule, and you can name it with `game.name("…")`.

# %% tags=["catch"]
game = autolab.specimens.catch(seed=9, level=3)

def mine():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    model(torch.ones(1, 1)).sum().backward()
    optimizer.step()
    return model[1].weight

game.try_(mine)

# %% [markdown] tags=["explain", "keep"]
# **Why.** Line 2 reads `model.parameters()` only once, so the optimizer still holds the parameters of the old head, and nothing tells it about the new head. There is no error and no warning. The loss falls anyway, because the body adapts to a random head. The freeze panel above noticed the mistake, because it compares the network with the optimizer.
#
# **Takeaway:** first replace the head, then build the optimizer, and check that the first loss is near the logarithm of the number of classes.
# Read more: PyTorch's page on [`nn.Module`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html).

# %% [markdown] tags=["exercise"]
# ### Exercise 03.2: a new head for any network
#
# Write `new_head(model, classes)`, which replaces the head `fc` of a network with a new head that has `classes` outputs. It returns the network. The function should work for any number of features. It must not change any other layer, whether this layer is trainable or not.

# %% tags=["exercise"]
def new_head(model, classes):
    return ...

check("03.2", new_head)

# %% tags=["words"]
in_words("03.w1")
