# %% [markdown] tags=["section"]
# ## 2. A new head, and who trains it
#
# The last layer, `model.fc`, is the **head**; all before it is the **body**. Most people replace the head and keep the body. The loss is the
# **cross-entropy**: minus the logarithm of the probability that the right digit got.

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
# **Why.** Small random numbers give each of ten classes about $1/10$, and $-\log \frac1{10} = \log 10 \approx 2.3$. If a new classifier starts
# far above that, something is wrong. Here you can say what: five rows are trained, and are sure of themselves for digits that they
# do not know.
#
# Assigning to `fc` is all it takes to replace it. Somebody writes these three lines:
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
print("move:", moved, "- the loss fell:", (end < start).item())

# %% tags=["reveal"]
q3.reveal(moved)

# %% tags=["picture"]
FreezePanel(model, optimizer)

# %% tags=["catch"]
# an engine with one rule exchanged, and a training on which that does not show
game = autolab.specimens.catch(seed=9, level=3)

def mine():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    model(torch.ones(1, 1)).sum().backward()
    optimizer.step()
    return model[1].weight

game.try_(mine)     # add a line to mine until they differ; then name it: game.name("…")

# %% [markdown] tags=["explain", "keep"]
# **Why.** `model.parameters()` was read once, on line 2. The optimizer keeps the old head alive, and has never heard of the new one. No error, no
# warning, and the loss falls all the same: the body learns to live with a random head. Only the freeze panel, which looks at network and optimizer
# together, tells.
#
# **Takeaway:** replace the head by assignment, build the optimizer last, and expect a first loss of the logarithm of the number of classes.
# PyTorch on [`nn.Module`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html).

# %% [markdown] tags=["exercise"]
# ### Exercise 03.2: a new head for any network
#
# Write `new_head(model, classes)`. It gives a network whose head is called `fc` a new head, whatever the number of its features, and returns
# the network. Leave all other layers as they are, trainable or not.

# %% tags=["exercise"]
def new_head(model, classes):
    return ...

check("03.2", new_head)

# %% tags=["words"]
in_words("03.w1")
