# %% [markdown] tags=["section"]
# ## 2. What is in a file of weights
#
# When you save a network, you usually save its **state dict**. It contains the names and the tensors of all parameters and buffers. The file has PyTorch's format, so PyTorch can load the files that you save here, and you can load files from PyTorch.

# %% tags=["code"]
folder = Path(tempfile.mkdtemp())
model = with_new_head()
torch.save(model.state_dict(), folder / "digits.pth")
state = torch.load(folder / "digits.pth")
print(len(state), "entries, the first of them:")
for name, value in list(state.items())[:4]:
    print(f"   {name:20} {tuple(value.shape)}")

twin = resnet_digits(num_classes=5)
print(twin.load_state_dict(state))
with torch.no_grad():
    apart = (twin.eval()(images) - model.eval()(images)).abs().max().item()
print("largest difference of the answers:", apart)

# %% [markdown]
# Now let's load the same file into a network for ten classes. Everything fits except the head, so we try the argument `strict=False` of `load_state_dict`.

# %% tags=["predict"]
q20 = predict("03.q20")
q20

# %% tags=["code"]
ten = resnet_digits(num_classes=10)
before = ten.conv1.weight.clone()
try:
    outcome = ten.load_state_dict(state, strict=False)
except RuntimeError as error:
    outcome = error
    print(error)

# %% tags=["reveal"]
q20.reveal(outcome)

# %% [markdown] tags=["explain"]
# **Why.** `strict` only checks *names*, that is, whether entries are missing and whether there are entries that the network doesn't know. A wrong size, however, is always an error. Each line of the message says three things: the name of the entry, its size in the file ("from checkpoint"), and the size that the network needs.
#
# There are three common kinds of such messages, and the next cell produces each of them:

# %% tags=["code"]
attempts = {
    "another head": state,
    "saved from a wrapped model": {f"module.{name}": t for name, t in state.items()},
    "a whole checkpoint": {"model": state, "epoch": 7},
}
known = ("Missing key", "Unexpected key", "size mismatch")
for name, given in attempts.items():
    try:
        ten.load_state_dict(given)
    except RuntimeError as error:
        kinds = [k for k in known if k in str(error)]
        print(f"{name:27}", ", ".join(kinds))

# %% [markdown] tags=["explain"]
# **Read the table.** If there is only a size mismatch, the file contains a different head. If all keys are missing *and* the same number of keys are unexpected, the names have a prefix. Often the prefix is `module.`, which is added by a wrapper for several GPUs. If there are a few unexpected keys such as `model` and `epoch`, you have loaded a whole checkpoint, and the state dict is inside it. In the last two cases `strict=False` would silence the error, but it would load nothing at all.
#
# The file also stores the device of each tensor. If you load GPU tensors on a computer without a GPU, you get an error, which the next cell raises on purpose. The GPU is simulated, as in lesson 2, but the file is real.

# %% tags=["code", "raises-exception"]
with autolab.cuda.simulate():
    torch.save({"weight": torch.ones(2, device="cuda")}, folder / "from_gpu.pth")
torch.load(folder / "from_gpu.pth")

# %% tags=["code"]
print(torch.load(folder / "from_gpu.pth", map_location="cpu"))

# %% [markdown]
# Now let's move tensors in the other direction, to the GPU. You already know all the operations in the next cell.

# %% tags=["predict"]
q33 = predict("03.q33")
q33

# %% tags=["predict"]
q34 = predict("03.q34")
q34

# %% tags=["code"]
def readable(tensor):
    try:
        return tensor.detach().numpy() is not None
    except TypeError:
        return False

with autolab.cuda.simulate():
    state["fc.bias"].to("cuda")
    weight = state["fc.weight"].clone().requires_grad_()
    moved = weight.to("cuda")
    moved.sum().backward()
    found = readable(state["fc.bias"]), readable(moved)
    print("NumPy reads:", [n for n, r in zip(("bias", "moved"), found) if r])
    print("leaves with a gradient:", ["weight"] if weight.grad is not None else [])

# %% tags=["reveal"]
q33.reveal(found)

# %% tags=["reveal"]
q34.reveal(weight.grad)

# %% [markdown]
# Suppose you want to continue the training on another day. Is a file of weights enough for that?

# %% tags=["predict"]
q21 = predict("03.q21")
q21

# %% tags=["code"]
def three_steps(model, optimizer):
    for step in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(few_x), few_y).backward()
        optimizer.step()
    return model.fc.weight.detach().clone()

model = with_new_head().eval()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
three_steps(model, optimizer)
saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
torch.save(saved, folder / "run.pth")
straight_on = three_steps(model, optimizer)

for with_optimizer in (True, False):
    saved = torch.load(folder / "run.pth")
    model.load_state_dict(saved["model"])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    if with_optimizer:
        optimizer.load_state_dict(saved["optimizer"])
    apart = (three_steps(model, optimizer) - straight_on).abs().max().item()
    word = "with" if with_optimizer else "without"
    print(f"{word:7} the optimizer's state: weights up to {apart:.3f} apart")
same = apart == 0

# %% tags=["reveal"]
q21.reveal(same)

# %% [markdown]
# If you want to continue later, save the optimizer as well, because its momentum is part of the state of the training. The graph of the next step looks the same as always, because a loaded weight is a leaf like any other leaf.

# %% tags=["picture"]
autolab.viz.draw(F.cross_entropy(model(few_x), few_y), rankdir="TB",
                 params=dict(model.named_parameters()))

# %% [markdown] tags=["exercise"]
# ### Exercise 03.11: load all but the head
#
# Write `load_body(model, state)`. It loads every entry of the file except the entries of the head `fc`, so the network keeps its own head. The function returns a list of the names that were left out. If the remaining names don't fit, the function must still raise an error. The code below loads either everything or nothing, so you have to change it.

# %% tags=["exercise"]
def load_body(model, state):
    return model.load_state_dict(state)

check("03.11", load_body)

# %% [markdown] tags=["keep"]
# **Takeaway:** use the names to leave out the entries that don't fit, and stay strict about all other entries.
# Read more: PyTorch's pages on [saving and loading](https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html) and [`load_state_dict`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict).

# %% tags=["progress"]
progress("03")
