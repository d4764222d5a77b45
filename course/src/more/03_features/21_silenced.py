# %% [markdown] tags=["section"]
# ## 2. An error, and an answer from the internet
#
# Here is a mistake that is easy to make. If you replace the head first and then freeze everything, the new head is frozen too. The next cell raises an error on purpose:

# %% tags=["code", "raises-exception"]
torch.manual_seed(0)
model = with_new_head().eval()
model.requires_grad_(False)                        # the new head as well
loss = F.cross_entropy(model(x), y)
loss.backward()

# %% [markdown]
# The message says that the loss does not require a gradient. On the internet you can find the advice to set `loss.requires_grad = True`, so let's try it.

# %% tags=["predict"]
q11 = predict("03.q11")
q11

# %% tags=["code"]
optimizer = torch.optim.SGD(model.parameters(), lr=0.4)
losses = []
for epoch in range(5):
    loss = F.cross_entropy(model(x), y)
    loss.requires_grad = True                      # the answer from the internet
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
given = sum(p.grad is not None for p in model.parameters())
print("parameters with a gradient:", given)
print("losses:", *(f"{loss:.2f}" for loss in losses))

# %% tags=["reveal"]
q11.reveal(losses)

# %% [markdown]
# Now imagine an engine in which the flag really connects the loss with the weights. The next cell gives you such an engine, and for the program below its results are the same as in the correct engine. Change the program until the results differ, and then name the rule with `game.name("…")`.
#
# To find the difference, think of ways to cut the path from the loss to the weights. For example, freeze the weight or use `detach()`, and then set the flag.

# %% tags=["catch"]
game = autolab.specimens.catch(seed=16, level=2)

def mine():
    w = torch.tensor([3.0], requires_grad=True)
    loss = (w ** 2).sum()               # change this until the two engines differ
    loss.backward()
    return w.grad

game.try_(mine)

# %% [markdown] tags=["explain"]
# **Why.** `loss.requires_grad = True` turns the loss into a leaf. No node leads from it to any weight, so `backward()` fills `loss.grad` and nothing else. The message was right, because the loss depended on no trained parameter. The flag removed the message, but it didn't add such a parameter.
#
# Now let's use the right order, that is, freeze first and replace the head afterwards. A new layer requires gradients from the beginning. Because the body never changes, its features for an image never change either. So we can store the features and train the head on them.

# %% tags=["predict"]
q12 = predict("03.q12")
q12

# %% tags=["code"]
torch.manual_seed(0)
model = resnet_digits(weights="DEFAULT").eval()
model.requires_grad_(False)
model.fc = nn.Linear(model.fc.in_features, 5)

through_the_body = 0
def count(module, inputs):
    global through_the_body
    through_the_body += len(inputs[0])
hook = model.conv1.register_forward_pre_hook(count)

features = features_of(model, x)
optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.4, momentum=0.9)
losses = []
for epoch in range(60):
    loss = F.cross_entropy(model.fc(features), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"loss: {losses[0]:.1f} at first, {losses[-1]:.1f} at last")
print("images through the body:", through_the_body)
hook.remove()

# %% tags=["reveal"]
q12.reveal(through_the_body)

# %% tags=["picture"]
axes = autolab.viz.plot_losses({"training loss of the head": losses})

# %% [markdown] tags=["explain"]
# **Why.** Each of the 50 images ran through the body once. Without stored features, $60 \cdot 50 = 3000$ images would run through it.
#
# This only works if the body is frozen, if it is in evaluation mode, and if the images are the same in every epoch. For example, if you rotate and shift the images differently in each epoch, the features change in each epoch as well. `finetune.cached_features` stores the features of a whole data set. This function raises an error if the body is not frozen or not in evaluation mode.

# %% tags=["predict"]
q29 = predict("03.q29")
q29

# %% tags=["code"]
def two_epochs(features, head):
    for epoch in range(2):
        loss = F.cross_entropy(head(features), few_y)
        try:
            loss.backward()
        except RuntimeError as error:
            return f"fails in epoch {epoch + 1}: {str(error)[:50]} …"
    return "works"

body = with_new_head().eval()
stored = features_of(body, few_x)                  # under no_grad()
head, body.fc = body.fc, nn.Identity()
recorded = body(few_x)                             # with its graph
found = two_epochs(stored, head), two_epochs(recorded, head)
print("a:", found[0])
print("b:", found[1])

# %% tags=["reveal"]
q29.reveal(found)

# %% [markdown] tags=["exercise"]
# ### Exercise 03.4: fix a head that does not learn
#
# `train_head` should train the head `model.fc` and leave the rest of the network frozen. The network that it receives is in evaluation mode and already has its new head. This version silences the error instead of fixing its cause, so fix the function.

# %% tags=["exercise"]
def train_head(model, inputs, labels, steps, lr):
    for parameter in model.parameters():
        parameter.requires_grad = False
    optimizer = torch.optim.SGD(model.fc.parameters(), lr=lr)
    for step in range(steps):
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        loss.requires_grad = True
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model

check("03.4", train_head)

# %% [markdown] tags=["keep"]
# **Takeaway:** "does not require grad" means that the loss depends on no trained parameter. So unfreeze a parameter instead of setting the flag on the loss.
# Read more: PyTorch's page on [`requires_grad`](https://docs.pytorch.org/docs/stable/notes/autograd.html#setting-requires-grad).

# %% tags=["words"]
in_words("03.w4")

# %% tags=["progress"]
progress("03")
