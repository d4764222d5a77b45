# %% [markdown] tags=["section"]
# ## 2. Where a tensor is
#
# A GPU has memory of its own. So every tensor is in one place, and `.device` says where. You want it elsewhere, and write:

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
print("still the same parameter:", model.weight is weight, "- a leaf:", weight.is_leaf)

# %% tags=["reveal"]
q2.reveal(after)

# %% tags=["reveal"]
q3.reveal(model)

# %% [markdown] tags=["explain"]
# **Why.** A tensor cannot move. `t.to(device)` (and `t.cuda()`) makes a *copy* there and hands it to you. If you do not keep it, it is
# gone. A module is a container: `model.to(device)` puts new memory into each of its parameters. The parameters stay the same objects, so
# an optimizer that holds them keeps working.
#
# And when operands are in two places? `x` is a vector on the GPU.

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
# **Why.** A kernel reads its own GPU's memory. PyTorch could fetch the other operand by itself. It does not, because a copy costs more
# than most operations, and you would never see why your program is slow. One exception: a tensor *without dimensions* on the CPU counts
# as a plain number, and a number travels with the launch. `explain` shows who stood where when it failed:

# %% tags=["picture"]
autolab.explain(mismatch)

# %% [markdown]
# Who believes that `x.to(device)` moves `x` has an engine in mind that works like that. Here it is, as a **specimen**: the engine with
# one rule exchanged. Change the program until the two engines agree. What did you have to change?

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
# So programs have one line that decides where everything runs. You find it at the top of most PyTorch code:
#
# ```
# device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
# model.to(device);   x, y = x.to(device), y.to(device)
# ```
#
# **Takeaway:** `.to()` changes a module and copies a tensor; all operands must be in one place.
# PyTorch on [`Tensor.to`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html) and
# [`Module.to`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to).

# %% [markdown] tags=["exercise"]
# ### Exercise 02.2: everything to one place
#
# `answer_on(model, x, device)` is meant to run the model on the given device, whatever places model and data are in, and to leave the result
# there. It fails. Mend it.

# %% tags=["exercise"]
def answer_on(model, x, device):
    model.to(device)
    x.to(device)
    return model(x)

check("02.2", answer_on)
