# %% [markdown] tags=["section"]
# ## 1. A graph is recorded while you compute
#
# A **tensor** is an array of numbers: a single number (a scalar), a row of them (a vector), a table (a matrix), or more
# dimensions. Read these three lines, and answer before you run them.
#
# ```
# x = torch.tensor(2.0, requires_grad=True)     # line 1
# z = x * x                                     # line 2
# z.backward()                                  # line 3
# ```

# %% tags=["predict"]
q1 = predict("01.q1")
q1

# %% tags=["code"]
x = torch.tensor(2.0, requires_grad=True)
print("after line 1:", x)

z = x * x
print("after line 2:", z)

z.backward()
print("after line 3: x.grad =", x.grad)

# %% tags=["reveal"]
q1.reveal()

# %% [markdown]
# `grad_fn=<MulBackward0>` is there before `backward()` is called. Here is the graph. Step 1 computes the value of
# `z`: the **forward pass**. From step 2 on the gradient comes back: the **backward pass**. At steps 3 and 4 something arrives at `x`, twice.

# %% tags=["picture"]
x = torch.tensor(2.0, requires_grad=True)
z = x * x
autolab.explore(z)

# %% [markdown] tags=["explain"]
# **Why.** The **gradient** of `z` with respect to `x` says how much `z` changes when `x` changes by a tiny amount.
# `requires_grad=True` says: I will want the gradient of something with respect to this tensor. From then on every operation does two things. It computes its result, and it leaves a **node** that remembers which operation it was and where
# its inputs came from. The nodes, and the arrows between them, are the **computation graph**. Nothing else builds it.
# `backward()` only walks it, from the end to the beginning.
#
# Look at the two arrows from `x` to the node: `x` was used twice, so there are two. The rule for a product is
# $\bar a = \bar z \cdot b$ and $\bar b = \bar z \cdot a$, where $\bar a$ is short for the gradient of the result with respect to
# $a$. Here both factors are `x`, so `x` receives $1 \cdot 2$ twice: $2 + 2 = 4$. That is $2x$ at $x = 2$, as it should be.
#
# You may read elsewhere that "a graph is created when `backward()` is called". You have just seen that it is not so.

# %% [markdown]
# One node can hold any number of numbers. The shapes grow, the graph does not.

# %% tags=["code"]
scalar = torch.tensor(2.0)
vector = torch.tensor([1.0, -1.0])
matrix = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
for t in (scalar, vector, matrix):
    print(t.ndim, "dimensions, shape", tuple(t.shape), t.dtype)

matrix.requires_grad_()
total = (scalar * (matrix @ vector)).sum()
print(total)
total.backward()
print(matrix.grad)

# %% tags=["picture"]
matrix = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
total = (scalar * (matrix @ vector)).sum()
autolab.explore(total)

# %% [markdown] tags=["exercise"]
# ### Exercise 01.1: from a picture to code
#
# This is the graph of a function of two tensors. Write the function.
#
# ```
# x1 ───────┐
#           ├── Mul ── Log ──┐
# x2 ──┬────┘                ├── Mul ── w
#      └────────── Sin ──────┘
# ```

# %% tags=["exercise"]
def w(x1, x2):
    return ...

check("01.1", w)

# %% [markdown]
# When you have it, draw yours and compare. (`make_dot` is the graphviz picture of a graph, as in the package `torchviz`.)

# %% tags=["picture"]
x1, x2 = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
mine = w(x1, x2)
autolab.viz.make_dot(mine, params={"x1": x1, "x2": x2}) if mine is not ... else "Nothing to draw yet."

# %% [markdown] tags=["keep"]
# **Take along:** the graph is written while you compute, one node for each operation.
# PyTorch says it [here](https://docs.pytorch.org/docs/stable/notes/autograd.html#how-autograd-encodes-the-history).
