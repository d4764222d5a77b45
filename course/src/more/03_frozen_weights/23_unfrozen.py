# %% [markdown] tags=["section"]
# ## 2. A layer that joins late
#
# You trained the head alone. Now `layer3` may learn too, so you unfreeze it. The optimizer was given what required a gradient at the time:

# %% tags=["predict"]
q15 = predict("03.q15")
q15

# %% tags=["code"]
def layers_that_move(model, optimizer):
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    for step in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(few_x), few_y).backward()
        optimizer.step()
    after = model.named_parameters()
    moved = {n.split(".")[0] for n, p in after if not torch.equal(p, before[n])}
    return " ".join(sorted(moved)) or "none"

torch.manual_seed(0)
model = resnet_digits(weights="DEFAULT").eval().requires_grad_(False)
model.fc = nn.Linear(64, 5)
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.05)
print("head only:                  ", layers_that_move(model, optimizer))

model.layer3.requires_grad_(True)
moved = layers_that_move(model, optimizer)
print("layer3 unfrozen:            ", moved)

optimizer.add_param_group({"params": list(model.layer3.parameters()), "lr": 0.01})
print("and given to the optimizer: ", layers_that_move(model, optimizer))

# %% tags=["reveal"]
q15.reveal(moved)

# %% [markdown]
# No error and no warning. The panel looks at both, the network and its optimizer. Here a fresh optimizer knows the head only:

# %% tags=["picture"]
FreezePanel(model, torch.optim.SGD(model.fc.parameters(), lr=0.05))

# %% [markdown] tags=["explain"]
# **Why.** An optimizer trains the parameters it was given, these objects and no others. Gradients arrive at `layer3` all the same, and pile up
# unused: `optimizer.zero_grad()` does not know them either.
#
# **Three ways that work.** Build the optimizer last, when the layers are in place. Or give it all parameters, frozen ones too: it passes over those without a gradient. Or add a group with `add_param_group` when
# you unfreeze. A parameter that is in a group already is refused. This error is on purpose:

# %% tags=["code", "raises-exception"]
optimizer.add_param_group({"params": list(model.layer3.parameters())})

# %% [markdown] tags=["exercise"]
# ### Exercise 03.7: unfreeze, and tell the optimizer
#
# Write `unfreeze(layer, optimizer, lr)`. After it the layer is trained, with the rate `lr` if it is new to the optimizer. An optimizer that has the layer already keeps the rate it has for it. Nothing has to be
# returned.

# %% tags=["exercise"]
def unfreeze(layer, optimizer, lr):
    return ...

check("03.7", unfreeze)

# %% [markdown] tags=["keep"]
# **Takeaway:** replace and freeze first, build the optimizer last.
# PyTorch on [`add_param_group`](https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.add_param_group.html).

# %% tags=["progress"]
progress("03")
