# %% [markdown] tags=["section"]
# ## 1. Change a saved tensor
#
# A method whose name ends in `_` changes its tensor in place: the same memory, new numbers. So do `+=` and `x[0] = …`. Nodes save
# tensors. What if a saved tensor changes?

# %% tags=["predict"]
q24 = predict("01.q24")
q24

# %% tags=["code"]
x = torch.tensor([1.0, 2.0], requires_grad=True)
raised = []
for number, operation in enumerate((lambda x: x * 2, torch.exp), start=1):
    y = operation(x)
    print(f"({number}) version {y._version}", end="")
    y.add_(1)
    print(f", after add_ version {y._version}")
    try:
        y.sum().backward()
        print("    x.grad =", x.grad)
    except RuntimeError as error:
        raised.append(number)
        print("   ", error)

# %% tags=["reveal"]
q24.reveal(raised)

# %% [markdown]
# In the picture, look at the yellow tab of each node: what it saved, and at which version. `exp` saved its result at version 0.

# %% tags=["picture"]
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.exp(x)
autolab.explore(y.sum())

# %% [markdown]
# Now the same after `y.add_(1)`. There is no backward half any more, and the line above the graph says why. Click the node: its saved tensor is
# marked as modified.

# %% tags=["picture"]
y.add_(1)
autolab.explore(y.sum())

# %% [markdown] tags=["explain"]
# **Why.** Every tensor counts its changes in a **version**. A node notes the version of what it saves, and compares when it needs it. Here `exp` saved
# its result at version 0, because $\bar x = \bar y \cdot e^x = \bar y \cdot y$. After `add_` the version is 1, and a gradient computed from it would be
# wrong by $\bar y \cdot 1$. So you get an error instead of a wrong number. Read the message that way: *what* was changed ("output 0 of Exp"),
# which version it has, which one was expected.
#
# `x * 2` does not need its result for the gradient. It may be changed. "In-place always breaks backward" is wrong, like "backward twice always
# raises": **both depend on what was saved.**
#
# There are ways to deceive the counter, and you should not use them. Here is one:

# %% tags=["code"]
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.exp()
y.data.add_(1)                     # .data: the same memory, but changes are not counted
y.sum().backward()
print("wrong:", x.grad)
print("right:", torch.exp(x).detach())

# %% [markdown] tags=["section"]
# ## 2. Leaves, and views of them
#
# In section 8 a leaf refused to be changed in place. A **view** is another tensor, which shows part of the same memory.

# %% tags=["predict"]
q34 = predict("01.q34")
q34

# %% tags=["code"]
x = torch.tensor([1.0, 2.0], requires_grad=True)
part = x[:1]
try:
    part += 1
    outcome = x
except RuntimeError as error:
    outcome = error
print(outcome)

with torch.no_grad():
    x[:1] += 1
print("under no_grad(): ", x, "version", x._version)

# %% tags=["reveal"]
q34.reveal(outcome)

# %% [markdown] tags=["explain"]
# **Why.** A view has no memory of its own, so a change of the view is a change of the leaf, and refused as well. Views and their base share one version counter, and so
# does `detach()`. A tensor made by `torch.from_numpy` shares its memory with NumPy.

# %% tags=["predict"]
q25 = predict("01.q25")
q25

# %% tags=["code"]
a = np.ones(3, dtype=np.float32)
t = torch.from_numpy(a)
a += 1
print("after a += 1:    ", t)
a = a + 1
print("after a = a + 1: ", t, "and a is", a)

# %% tags=["reveal"]
q25.reveal(t)

# %% [markdown] tags=["explain"]
# **Why.** `a += 1` writes into the memory that both share, and the tensor sees it. `a = a + 1` makes a new array, and gives it the old name. The tensor keeps
# the old memory. For tensors it is the same: `y += 1` changes what others may hold, `y = y + 1` does not.

# %% [markdown]
# Here is an engine with one rule changed. Change `mine` until the two differ, then name what was changed: `game.name("…", line=…)`.

# %% tags=["catch"]
game = torch.specimens.catch(seed=3, level=2)

def mine():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y = y + 1                       # change this line, or the one above
    y.sum().backward()
    return x.grad

game.try_(mine)

# %% tags=["words"]
in_words("01.w13")

# %% [markdown]
# And once more, in the clothes of a network:

# %% tags=["predict"]
q26 = predict("01.q26")
q26

# %% tags=["code"]
x = torch.tensor([1.0, 2.0], requires_grad=True)
failed = []
for number, operation in enumerate((torch.sigmoid, lambda x: x + 1), start=1):
    h = operation(x)
    h.mul_(2)
    try:
        h.sum().backward()
    except RuntimeError as error:
        failed.append(number)
        print(f"({number})", error)

# %% tags=["reveal"]
q26.reveal(failed)

# %% [markdown] tags=["exercise"]
# ### Exercise 01.11: mend an in-place change
#
# `softplus` computes $\log(1 + e^x)$. Its value is right, and `backward()` raises an error. Mend it, without changing the function.

# %% tags=["exercise"]
def softplus(x):
    y = x.exp()
    y += 1
    return y.log()

check("01.11", softplus)

# %% tags=["words"]
in_words("01.w6")

# %% [markdown] tags=["keep"]
# **Takeaway:** an in-place change hurts only what somebody saved, and versions find it out.
# PyTorch on [in-place operations](https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd).

# %% tags=["progress"]
progress("01")
