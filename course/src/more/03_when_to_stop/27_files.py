# %% [markdown] tags=["section"]
# ## 2. What is in a file of weights
#
# What you save is a **state dict**: the tensors of a network by name, parameters and buffers. The file is PyTorch's. `torch.load` of PyTorch reads what you write here, and you read what PyTorch wrote.

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
    print("same answers:", torch.equal(twin.eval()(images), model.eval()(images)))

# %% [markdown]
# Now load the same file into a network for ten classes. Everything fits but the head. There is an argument `strict=False`.

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
# **Why.** `strict` is about *names*: entries that are missing, and entries that nobody knows. A wrong size is an error either way. Each line of the message says three things: which entry, which size is in the file ("from
# checkpoint"), which size the network wants. Three kinds of such messages, and what they mean:

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
# **Read the table.** A size mismatch alone: another head. All keys missing *and* as many unexpected: the names have a prefix, often `module.`, which a wrapper for several GPUs puts there. A few unexpected keys like `model` and `epoch`: you have a
# whole checkpoint in hand, and the state dict is inside. `strict=False` would silence the last two, and load nothing at all.
#
# **From a GPU.** A file remembers on which device a tensor was. On a computer without a GPU, loading such a file raises an error, on purpose here. The graphics card is a simulated one (lesson 2), the file is a real one.

# %% tags=["code", "raises-exception"]
with autolab.cuda.simulate():
    torch.save({"weight": torch.ones(2, device="cuda")}, folder / "from_gpu.pth")
torch.load(folder / "from_gpu.pth")

# %% tags=["code"]
print(torch.load(folder / "from_gpu.pth", map_location="cpu"))

# %% [markdown]
# Now the other way: to the GPU. Three lines, and you have met what is in each of them.

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
    print("NumPy reads bias, moved:", found, "- weight.grad:", weight.grad is not None)

# %% tags=["reveal"]
q33.reveal(found)

# %% tags=["reveal"]
q34.reveal(weight.grad)

# %% [markdown]
# Another day you go on with the training. Is a file of weights enough for that?

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
    same = torch.equal(three_steps(model, optimizer), straight_on)
    word = "with" if with_optimizer else "without"
    print(word, "the optimizer's state: the same bits:", same)

# %% tags=["reveal"]
q21.reveal(same)

# %% [markdown]
# To go on later, save the optimizer too: momentum is part of where a training stands. The graph of one of these steps is the same as ever. A loaded weight is a
# leaf like any other.

# %% tags=["picture"]
autolab.viz.draw(F.cross_entropy(model(few_x), few_y), rankdir="TB",
                 params=dict(model.named_parameters()))

# %% [markdown] tags=["exercise"]
# ### Exercise 03.11: load all but the head
#
# Write `load_body(model, state)`. It loads everything but the entries of the head `fc` into the network, keeps the network's own head, and returns the names left out, as a list. A file whose other names do not fit
# must raise an error, as before. The code given here loads everything or nothing. Change it.

# %% tags=["exercise"]
def load_body(model, state):
    return model.load_state_dict(state)

check("03.11", load_body)

# %% [markdown] tags=["keep"]
# **Takeaway:** leave out what does not fit, by name, and stay strict about the rest.
# PyTorch on [saving and loading](https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html) and [`load_state_dict`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict).

# %% tags=["progress"]
progress("03")
