# %% [markdown] tags=["section"]
# ## 1. Make a tensor
#
# Errors about shapes are the ones met most. First, where tensors come from:

# %% tags=["code"]
torch.manual_seed(0)
for name, t in {
    "from numbers": torch.tensor([[1, 2], [3, 4]]),
    "zeros": torch.zeros(2, 3),
    "full": torch.full((2,), 7.0),
    "arange": torch.arange(0, 10, 4),
    "linspace": torch.linspace(0, 1, 5),
    "drawn evenly": torch.rand(2),
    "drawn, normal": torch.randn(2),
    "like another": torch.ones_like(torch.zeros(2, 2)),
    "of NumPy": torch.from_numpy(np.eye(2)),
}.items():
    print(f"{name:13} shape {tuple(t.shape)!s:7} {t.dtype}  {t.tolist()}")

# %% [markdown]
# Whole numbers make `int64`, numbers with a point `float32`, NumPy's stay what they were. Only floating point and complex numbers can want a gradient: turned a tiny bit, a whole
# number is none any more. This error is on purpose:

# %% tags=["code", "raises-exception"]
torch.tensor([1, 2], requires_grad=True)

# %% tags=["predict"]
q30 = predict("01.q30")
q30

# %% tags=["code"]
X = torch.arange(6.0).view(2, 3)
print("X =", X)
print("view(3, 2):", X.view(3, 2))
print("permute(1, 0):", X.permute(1, 0))
print("the same as T:", torch.equal(X.permute(1, 0), X.T))

# %% tags=["reveal"]
q30.reveal()

# %% [markdown] tags=["explain"]
# **Why.** A tensor is a row of numbers in memory and a **shape**, which says how to read it. `view` reads on row by row; it needs numbers that lie in that order, and `reshape` copies
# where they do not. `permute` exchanges dimensions. Neither it nor `view` moves a number, and all three go through the graph: the gradient is turned back.
#
# All numbers of a tensor have one type, its `dtype`, and one place, its `device`: lesson 2 moves it elsewhere.
#
# `unsqueeze(1)` puts in a dimension of size 1, `squeeze(1)` takes it out. A dimension of size 1 can be read as often as wanted: that is `expand`, and **broadcasting** is `expand`
# without saying so. What was expanded must not be changed in place, for one number stands in many places; `clone` gives it memory of its own.

# %% tags=["code"]
row = torch.tensor([10.0, 20.0, 30.0], requires_grad=True)
print("row:", tuple(row.shape), " unsqueeze(0):", tuple(row.unsqueeze(0).shape),
      " unsqueeze(1):", tuple(row.unsqueeze(1).shape))
wide = row.unsqueeze(0).expand(2, 3)
print("expand:", wide)
print("the same memory:", wide.data_ptr() == row.data_ptr())
copy = wide.detach().clone()            # memory of its own: only that may be changed
copy[0, 0] = -1
print("a clone:", copy.tolist())
print("squeeze:", tuple(torch.zeros(2, 1, 3).squeeze(1).shape))

(X * wide).sum().backward()
print("row.grad =", row.grad, "= the columns of X, added:", X.sum(0))

# %% tags=["picture"]
row = torch.tensor([10.0, 20.0, 30.0], requires_grad=True)
wide = row.unsqueeze(0).expand(2, 3)
explorer = autolab.explore((2 * X * wide).sum())
explorer.ask("row", "grad", id="01.a6")
explorer

# %% [markdown]
# Here is an engine with one rule changed. Find a program that shows it, then name what was changed: `game.name("…", line=…)`.

# %% tags=["catch"]
game = torch.specimens.catch(seed=9, level=1)

def mine():
    row = torch.tensor([10.0, 20.0, 30.0], requires_grad=True)
    (row * row).sum().backward()    # change this until the two engines differ
    return row.grad

game.try_(mine)

# %% [markdown] tags=["section"]
# ## 2. Shapes that fit by chance
#
# Shapes that do not fit raise an error. Worse are those that fit, and were meant otherwise. The rule: shapes are laid one below the other from the right; two sizes fit if they are equal, or one
# of them is 1, or missing.

# %% tags=["predict"]
q31 = predict("01.q31")
q31

# %% tags=["code"]
y = torch.linspace(0, 1, 100)
prediction = y.unsqueeze(1)                     # a network without any mistake
difference = prediction - y
print("shape:", tuple(difference.shape))
print("its loss:", (difference ** 2).mean().item())
print("meant:   ", ((prediction.squeeze(1) - y) ** 2).mean().item())
shape = str(tuple(difference.shape))

# %% tags=["reveal"]
q31.reveal(shape)

# %% [markdown] tags=["explain"]
# **Why.** The 100 targets count as one row, and each of 100 predictions meets all of it: 10,000 differences. Nothing complains, and the loss of a perfect network is not 0. Trained so, it learns to answer the mean of all
# targets. Print shapes before you believe a loss. When both are `(100, 1)`, or both `(100,)`, all is well.

# %% tags=["code"]
small = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
print("each column less its mean:", (small - small.mean(0)).tolist())
print("meant for rows, and wrong:", (small - small.mean(1)).tolist())

# %% tags=["words"]
in_words("01.w9")

# %% [markdown] tags=["exercise"]
# ### Exercise 01.14: each row less its own mean
#
# `centre_rows(X)` gives the table `X` with the mean of each row taken off that row. Mind the square table, where the wrong shape fits.

# %% tags=["exercise"]
def centre_rows(X):
    return ...

check("01.14", centre_rows)

# %% [markdown] tags=["keep"]
# **Takeaway:** a shape is a way to read numbers; what is read several times has its gradients added.
# PyTorch on [tensor views](https://docs.pytorch.org/docs/stable/tensor_view.html) and
# [broadcasting](https://docs.pytorch.org/docs/stable/notes/broadcasting.html).

# %% tags=["progress"]
progress("01")
