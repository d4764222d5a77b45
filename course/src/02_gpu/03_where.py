# %% [markdown] tags=["section"]
# ## 2. Where a tensor is
#
# A GPU has its own memory, so every tensor is either on the CPU or on a GPU, and `.device` tells you where. The picture shows how many bytes per second each part of the model machine can move. A thicker line carries more bytes per second, and the **bus** between the two memories is by far the thinnest line.

# %% tags=["picture"]
plots.machine({"CPU": 20, "GPU": 224}, bus=6)
plt.show()

# %% [markdown]
# Suppose you want to move a tensor, and then a whole model, with one short line of code for each.

# %% tags=["predict"]
q2 = predict("02.q2")
q2

# %% tags=["predict"]
q3 = predict("02.q3")
q3

# %% tags=["code"]
t = torch.ones(3)
t.to(device)
after = t.device
t = t.to(device)
print("t.to(device), alone:     ", after)
print("t = t.to(device):        ", t.device, t.type())

model = nn.Linear(3, 2)
weight = model.weight
model.to(device)
print("model.to(device), alone: ", model.weight.device)
same = "the same object" if model.weight is weight else "another object"
print("model.weight is", same, "as before; is_leaf:", weight.is_leaf)

# %% tags=["reveal"]
q2.reveal(after)

# %% tags=["reveal"]
q3.reveal(model, weight)

# %% [markdown] tags=["explain"]
# **Why.** A tensor cannot move. Instead, `t.to(device)` (or `t.cuda()`) makes a *copy* on the device and returns it. If you don't give the copy a name, the copy is lost. A module is different, because it is a container: `model.to(device)` gives each of its parameters new memory on the device. The parameters remain the same objects, so an optimizer that you built before the move keeps working.
#
# But what happens if two operands are on different devices? In the next question, `x` is a vector on the GPU.

# %% tags=["predict"]
q4 = predict("02.q4")
q4

# %% tags=["code"]
x = torch.tensor([1.0, 2.0, 3.0], device=device)
factors = {
    "x * 2.0": 2.0,
    "x * torch.tensor(2.0)": torch.tensor(2.0),
    "x * torch.tensor([2.0])": torch.tensor([2.0]),
}
wrong = []
for text, factor in factors.items():
    try:
        print(f"{text:24}", x * factor)
    except RuntimeError as error:
        mismatch = error
        wrong.append(text)
        print(f"{text:24} RuntimeError: {error}")

# %% tags=["reveal"]
q4.reveal(wrong)

# %% [markdown] tags=["explain"]
# **Why.** A kernel can only read the memory of its own GPU. PyTorch could fetch the second operand for you, but it deliberately doesn't. A copy costs more than most operations, so your program would be slow and you wouldn't see why. There is one exception: a tensor *without dimensions* on the CPU is treated like a plain number, because a single number can be sent along with the launch. After an error, `explain` shows you where each operand was:

# %% tags=["picture"]
autolab.explain(mismatch)

# %% [markdown]
# If you thought that `x.to(device)` moves `x`, you were picturing the engine below. It is a **specimen**, that is, our engine with exactly one rule changed. In this specimen, `.to()` changes the tensor itself. Change the program until both engines print the same, and then explain what you had to change. A good strategy is to change one line at a time, and to ask yourself each time which tensor the last line reads.

# %% tags=["catch"]
def program():
    x = torch.ones(2)
    x.to(torch.float64)
    return str(x.dtype)

belief = autolab.specimens[20]
print("the engine:", program(), "- this belief:", belief.run(program))
belief

# %% tags=["words"]
in_words("02.w1")

# %% [markdown] tags=["explain", "keep"]
# To avoid such mistakes, most PyTorch programs decide in one line at the top where everything runs:
#
# ```
# device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
# model.to(device);   x, y = x.to(device), y.to(device)
# ```
#
# **Takeaway:** `.to()` changes a module but copies a tensor, and all operands of an operation must be on the same device.
# Read more: PyTorch's pages on [`Tensor.to`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html) and
# [`Module.to`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to).

# %% [markdown] tags=["exercise"]
# ### Exercise 02.2: everything to one place
#
# `answer_on(model, x, device)` should run the model on the given device and leave the result there, wherever the model and the data were before. At the moment it raises an error if `x` is on another device. Fix it.

# %% tags=["exercise"]
def answer_on(model, x, device):
    model.to(device)
    x.to(device)
    return model(x)

check("02.2", answer_on)
