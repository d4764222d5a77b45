# %% [markdown] tags=["section"]
# ## 2. An error, and an answer from the internet
#
# Here is a mistake that is easily made: replace the head first, and freeze everything afterwards. Then the new head is frozen too. This error is on purpose:

# %% tags=["code", "raises-exception"]
torch.manual_seed(0)
model = with_new_head().eval()
model.requires_grad_(False)                        # the new head as well
loss = F.cross_entropy(model(x), y)
loss.backward()

# %% [markdown]
# The message says that the loss does not require a gradient. On the internet you find an answer: then let it require one, `loss.requires_grad = True`.

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
given = any(p.grad is not None for p in model.parameters())
print("does any parameter have a gradient?", given)
print("did the loss change?", len(set(losses)) > 1)

# %% tags=["reveal"]
q11.reveal(losses)

# %% [markdown]
# Below is an engine built by somebody who believes that the flag connects. On this program it gives what the right one gives. Change the program until the two differ, and
# name it: `game.name(…)`.

# %% tags=["catch"]
game = autolab.specimens.catch(seed=16, level=2)

def mine():
    w = torch.tensor([3.0], requires_grad=True)
    loss = (w ** 2).sum()               # change this until the two engines differ
    loss.backward()
    return w.grad

game.try_(mine)

# %% [markdown] tags=["explain"]
# **Why.** `loss.requires_grad = True` makes the loss a leaf of its own. No node leads from it to any weight, so `backward()` fills `loss.grad` and nothing else. The message was right,
# and what it asked for was a trained parameter.
#
# Now the right order: freeze, then replace the head. A new layer wants gradients by itself. And since the body never changes, its features never change. So compute them
# once, and train the head on them.

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
# **Why.** 50 images, once. Without stored features it would be $60 \cdot 50 = 3000$. There are conditions: the body is frozen, it is in evaluation mode, and the images are the same in
# every epoch. Who turns and shifts the images anew in every epoch has new features in every epoch. `finetune.cached_features` stores features for a whole data set, and refuses a body that
# is not frozen or not in evaluation mode.

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
# ### Exercise 03.4: mend a head that does not learn
#
# `train_head` is meant to train the head `model.fc`, and to leave the rest frozen. The network comes in evaluation mode, with its new head in place. Somebody has silenced the error. Mend it.

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
# **Takeaway:** "does not require grad" means that no trained parameter was used; never answer it by setting the flag on the loss.
# PyTorch on [`requires_grad`](https://docs.pytorch.org/docs/stable/notes/autograd.html#setting-requires-grad).

# %% tags=["words"]
in_words("03.w4")

# %% tags=["progress"]
progress("03")
