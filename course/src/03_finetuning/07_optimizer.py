# %% [markdown] tags=["section"]
# ## 7. An optimizer that was built too early
#
# An optimizer trains the parameters it was given, these objects and no others. Here it is built before the head is replaced:
#
# ```
# model = resnet_digits(weights="DEFAULT").eval()
# optimizer = torch.optim.SGD(model.parameters(), lr=0.05)     # line 2
# model.fc = nn.Linear(64, 5)                                  # line 3
# ```

# %% tags=["predict"]
q11 = predict("03.q11")
q11

# %% tags=["code"]
def layers_that_move(model, optimizer):
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    for step in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(few_x), few_y).backward()
        optimizer.step()
    moved = {name.split(".")[0] for name, p in model.named_parameters() if not torch.equal(p, before[name])}
    return " ".join(sorted(moved)) or "none"

torch.manual_seed(0)
model = resnet_digits(weights="DEFAULT").eval()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
model.fc = nn.Linear(64, 5)
loss_before = F.cross_entropy(model(few_x), few_y)
moved = layers_that_move(model, optimizer)
print("move:", moved, " the loss fell:", (F.cross_entropy(model(few_x), few_y) < loss_before).item())
print("the new head has a gradient:", model.fc.weight.grad is not None)

# %% tags=["reveal"]
q11.reveal(moved)

# %% [markdown]
# No error, no warning, and the loss falls. It says nothing about who is trained: the body learns to live with a random head. Give the panel the optimizer, and it says what is wrong.

# %% tags=["picture"]
FreezePanel(model, optimizer)

# %% [markdown] tags=["explain"]
# **Why.** `model.parameters()` was read once, on line 2. The optimizer keeps the old head alive, and has never heard of the new one. Gradients arrive at the new head all the same. They pile up unused,
# for `optimizer.zero_grad()` does not know it either.
#
# The same happens with layers that are unfrozen later, when the optimizer was given only what required a gradient at the time:

# %% tags=["code"]
torch.manual_seed(0)
model = resnet_digits(weights="DEFAULT").eval().requires_grad_(False)
model.fc = nn.Linear(64, 5)
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.05)
print("head only:                  ", layers_that_move(model, optimizer))

model.layer3.requires_grad_(True)
print("layer3 unfrozen:            ", layers_that_move(model, optimizer))

optimizer.add_param_group({"params": list(model.layer3.parameters()), "lr": 0.01})
print("and given to the optimizer: ", layers_that_move(model, optimizer))

# %% [markdown] tags=["explain"]
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
# **Take along:** replace and freeze first, build the optimizer last.
# PyTorch on [`add_param_group`](https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.add_param_group.html).
