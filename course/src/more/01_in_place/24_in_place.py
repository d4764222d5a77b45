# %% [markdown] tags=["section"]
# ## 1. Change a saved tensor
#
# If the name of a method ends in `_`, the method changes its tensor **in place**: the memory stays the same, but the numbers in it are new. `+=` and `x[0] = …` do the same. Since nodes save tensors for the backward pass, we have to ask what happens if a saved tensor changes.

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
# Every tensor has a **version**, which counts its in-place changes; the cell has printed it before and after `add_`. In the picture, open the menu `⋯`, choose *Inspect*, and click a node. You see what the node saved, and at which version. For example, `exp` saved version 0 of its result.

# %% tags=["picture"]
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.exp(x)
autolab.explore(y.sum())

# %% [markdown]
# Now here is the same graph after `y.add_(1)`. The backward half is missing, and the line above the graph says why. If you click the node, you see that its saved tensor is marked as modified.

# %% tags=["picture"]
y.add_(1)
autolab.explore(y.sum())

# %% [markdown] tags=["explain"]
# **Why.** A node writes down the version of each tensor that it saves, and checks the version when it needs the tensor. Here `exp` saved its result at version 0, because $\bar x = \bar y \cdot e^x = \bar y \cdot y$. After `add_` the version is 1, and a gradient computed from the changed result would be wrong by $\bar y \cdot 1$. So you get an error instead of a wrong number. The message tells you *which* tensor was changed ("output 0 of Exp"), which version it has, and which version was expected.
#
# `x * 2` doesn't need its result for the gradient, so you may change the result. "In-place changes always break backward" is therefore wrong, just like "calling backward twice always raises an error". **Both depend on what was saved.**
#
# There are ways to deceive the version counter, and you should not use them. For example, you can write through `.data`, or you can change the NumPy array that `y.detach().numpy()` returns, because it shares the memory of `y`. In both cases the gradient is wrong, and there is no message:

# %% tags=["code"]
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.exp()
y.data.add_(1)                     # .data: the same memory, but changes are not counted
y.sum().backward()
print("wrong:", x.grad)

x.grad, y = None, x.exp()
array = y.detach().numpy()         # NumPy shows the same memory, and counts nothing
array += 1
y.sum().backward()
print("wrong:", x.grad)
print("right:", torch.exp(x).detach())

# %% [markdown] tags=["section"]
# ## 2. Leaves and views
#
# In lesson 1, PyTorch refused to change a leaf in place. What if you change only a part of the leaf? A **view** is a tensor that shows part of another tensor's memory, and `x[:1]` is an example.

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
# **Why.** A view has no memory of its own. If you change the view, you therefore change the leaf, and PyTorch refuses this change too. Views, their base and the result of `detach()` share one version counter. In the cell above, the counter shows 2, because Python turns `x[:1] += 1` into two changes: it changes the view, and then it writes the view back into `x`. A tensor made by `torch.from_numpy` even shares its memory with NumPy, which brings us to the next question.

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
# **Why.** `a += 1` writes into the memory that both share, so the tensor changes too. `a = a + 1` creates a new array and gives it the old name, while the tensor keeps the old memory. Tensors behave in the same way: `y += 1` changes numbers that other tensors may be using, and `y = y + 1` doesn't.

# %% [markdown]
# Here is an engine with one changed rule. Your task is to find a program for which the two engines give different results. A good strategy is to try the situations of this notebook one by one: change a result that was saved, then one that wasn't saved, then a leaf, and then a view. As soon as the results differ, name the rule with `game.name("…", line=…)`.

# %% tags=["catch"]
game = autolab.specimens.catch(seed=3, level=2)

def mine():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y = y + 1                       # change this line, or the one above
    y.sum().backward()
    return x.grad

game.try_(mine)

# %% tags=["words"]
in_words("01.w13")

# %% [markdown] tags=["section"]
# ## 3. Review
#
# Let's apply the rule to another operation that you will find in many networks.

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
# ### Exercise 01.11: fix an in-place change
#
# The function `softplus` computes $\log(1 + e^x)$, and its value is correct, but `backward()` raises an error. Fix this without changing what the function computes.

# %% tags=["exercise"]
def softplus(x):
    y = x.exp()
    y += 1
    return y.log()

check("01.11", softplus)

# %% tags=["words"]
in_words("01.w6")

# %% [markdown] tags=["keep"]
# **Takeaway:** an in-place change only does harm if a node has saved the tensor, and the version counter detects the change.
# Read more: PyTorch's page on [in-place operations](https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd).

# %% tags=["progress"]
progress("01")
