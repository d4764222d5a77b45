# %% [markdown] tags=["section"]
# ## 2. A layer that joins late
#
# Suppose you have trained the head alone, and now you want `layer3` to learn as well, so you unfreeze it. But you built the optimizer earlier, with the parameters that required a gradient at that time.

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
# There was no error and no warning. However, the freeze panel compares the network with its optimizer, so it can tell you about the problem. In the next picture, the optimizer holds only the head:

# %% tags=["picture"]
FreezePanel(model, torch.optim.SGD(model.fc.parameters(), lr=0.05))

# %% [markdown] tags=["explain"]
# **Why.** An optimizer trains exactly the parameter objects that it was given. `layer3` receives gradients, but the optimizer never uses them. They also accumulate, because `optimizer.zero_grad()` doesn't know these parameters either.
#
# **Three ways that work.** You can build the optimizer last, when all layers are in place. You can also give it all parameters from the beginning, because it skips frozen parameters as long as they have no gradient. Or you can add a group with `add_param_group` when you unfreeze a layer. If a parameter is already in a group, adding it again raises an error, which the next cell shows on purpose:

# %% tags=["code", "raises-exception"]
optimizer.add_param_group({"params": list(model.layer3.parameters())})

# %% [markdown] tags=["exercise"]
# ### Exercise 03.7: unfreeze, and tell the optimizer
#
# Write `unfreeze(layer, optimizer, lr)`, which makes sure that the layer is trained from now on. If the layer is new to the optimizer, its rate is `lr`. If the optimizer already holds the layer, its rate doesn't change. The function doesn't have to return anything.

# %% tags=["exercise"]
def unfreeze(layer, optimizer, lr):
    return ...

check("03.7", unfreeze)

# %% [markdown] tags=["keep"]
# **Takeaway:** replace and freeze layers first, and build the optimizer last.
# Read more: PyTorch's page on [`add_param_group`](https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.add_param_group.html).

# %% [markdown] tags=["section"]
# ## 3. Review
#
# The last question combines two ideas of lesson 3, frozen weights and evaluation mode. Suppose all 78,010 numbers of the network that misread your digit are frozen, and you want to know which *pixels* misled it.

# %% tags=["predict"]
q26 = predict("03.q26")
q26

# %% tags=["code"]
from autolab.lessons import hand

image, label = hand.my_digit()
frozen = hand.network().eval().requires_grad_(False)
pixels = image[None].clone().requires_grad_()
F.cross_entropy(frozen(pixels), torch.tensor([label])).backward()
arrived = pixels.grad is not None and pixels.grad.abs().max().item() > 0
given = sum(p.grad is not None for p in frozen.parameters())
print(f"gradients arrived for {pixels.grad.numel():,} pixels and {given} weights")

# %% tags=["reveal"]
q26.reveal(arrived)

# %% [markdown] tags=["explain", "keep"]
# **Why.** A frozen weight is still a factor on the path from the loss to the pixels, so the gradient flows through it. Evaluation mode changes which mean and variance the layer uses, but it doesn't cut the path.
#
# **Takeaway:** freezing the weights stops their gradients, but not the gradient that flows through them.
# Read more: PyTorch's page on [`requires_grad`](https://docs.pytorch.org/docs/stable/notes/autograd.html#setting-requires-grad).

# %% tags=["progress"]
progress("03")
