# %% [markdown] tags=["section"]
# ## 1. Make a tensor and change its shape
#
# Let's begin with the ways to make a tensor:

# %% tags=["code"]
torch.manual_seed(0)
for name, t in {
    "from numbers": torch.tensor([[1, 2], [3, 4]]),
    "zeros": torch.zeros(2, 3),
    "full": torch.full((2,), 7.0),
    "arange": torch.arange(0, 10, 4),
    "linspace": torch.linspace(0, 1, 5),
    "random, uniform": torch.rand(2),
    "random, normal": torch.randn(2),
    "like another": torch.ones_like(torch.zeros(2, 2)),
    "from NumPy": torch.from_numpy(np.eye(2)),
}.items():
    print(f"{name:15} shape {tuple(t.shape)!s:7} {t.dtype}  {t.tolist()}")

# %% [markdown]
# Whole numbers become `int64`, numbers with a decimal point become `float32`, and NumPy arrays keep their type. Only floating point and complex tensors can require a gradient. If you nudge a whole number, it is no longer a whole number, so a slope makes no sense for it. The next cell raises an error on purpose:

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
print("X.T:", X.T)

# %% tags=["reveal"]
q30.reveal()

# %% [markdown] tags=["explain"]
# **Why.** A tensor is a row of numbers in memory together with a **shape**, which says how to read them. `view` keeps reading row by row, so it needs numbers that lie in memory in that order. `reshape` does the same, but makes a copy if necessary. `permute` exchanges dimensions, and like `view` it doesn't move any number in memory. All three operations are recorded in the graph, so the backward pass gives the gradient the old shape again.
#
# All numbers of a tensor have the same type, its `dtype`, and they are in one place, its `device`. In lesson 2 you will move tensors to another device.
#
# `unsqueeze(1)` inserts a dimension of size 1, and `squeeze(1)` removes it. A dimension of size 1 can be read as often as you like, which is what `expand` does, and **broadcasting** is an `expand` that happens by itself. Don't change an expanded tensor in place, because one number in memory is used in many places. `clone` gives you a copy with its own memory.

# %% tags=["code"]
row = torch.tensor([10.0, 20.0, 30.0], requires_grad=True)
print("row:", tuple(row.shape), " unsqueeze(0):", tuple(row.unsqueeze(0).shape),
      " unsqueeze(1):", tuple(row.unsqueeze(1).shape))
wide = row.unsqueeze(0).expand(2, 3)
print("expand:", wide)
print("bytes between the two in memory:", wide.data_ptr() - row.data_ptr())
copy = wide.detach().clone()            # its own memory, so we may change it
copy[0, 0] = -1
print("a clone:", copy.tolist())
print("squeeze:", tuple(torch.zeros(2, 1, 3).squeeze(1).shape))

(X * wide).sum().backward()
print("row.grad =", row.grad, "= the sums of the columns of X:", X.sum(0))

# %% tags=["picture"]
row = torch.tensor([10.0, 20.0, 30.0], requires_grad=True)
wide = row.unsqueeze(0).expand(2, 3)
explorer = autolab.explore((2 * X * wide).sum())
explorer.ask("row", "grad", id="01.a6")
explorer

# %% [markdown]
# Here is an engine with one changed rule. Find a program for which the two engines give different results, and then name the rule with `game.name("…", line=…)`. A good strategy is to use each operation of this section once, for example `expand`, `permute` and `squeeze`, and to look at the gradient after each.

# %% tags=["catch"]
game = autolab.specimens.catch(seed=9, level=1)

def mine():
    row = torch.tensor([10.0, 20.0, 30.0], requires_grad=True)
    (row * row).sum().backward()    # change this until the two engines differ
    return row.grad

game.try_(mine)

# %% [markdown] tags=["section"]
# ## 2. Shapes that fit by accident
#
# If two shapes don't fit, you get an error. It is worse if the shapes fit, but not in the way you meant. The rule is: write one shape below the other, aligned on the right. Two sizes fit if they are equal, or if one of them is 1 or missing.

# %% tags=["predict"]
q31 = predict("01.q31")
q31

# %% tags=["code"]
y = torch.linspace(0, 1, 100)
prediction = y.unsqueeze(1)                     # a perfect network
difference = prediction - y
print("shape:", tuple(difference.shape))
print("its loss:", (difference ** 2).mean().item())
print("meant:   ", ((prediction.squeeze(1) - y) ** 2).mean().item())
shape = str(tuple(difference.shape))

# %% tags=["reveal"]
q31.reveal(shape)

# %% [markdown] tags=["explain"]
# **Why.** The 100 targets count as one row, and each of the 100 predictions is compared with the whole row, which makes 10,000 differences. There is no error message, but the loss of a perfect network is not 0. If you train with it, the network learns to predict the mean of all targets. So print the shapes before you believe a loss. If both are `(100, 1)`, or both `(100,)`, everything is fine.

# %% tags=["code"]
small = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
print("columns, each minus its mean:", (small - small.mean(0)).tolist())
print("meant for rows, but wrong:   ", (small - small.mean(1)).tolist())

# %% tags=["words"]
in_words("01.w9")

# %% [markdown] tags=["exercise"]
# ### Exercise 01.14: subtract the mean of each row
#
# `centre_rows(X)` should subtract the mean of each row of the table `X` from that row, and return the resulting table. Be careful with square tables, because the wrong shape fits them too.

# %% tags=["exercise"]
def centre_rows(X):
    return ...

check("01.14", centre_rows)

# %% [markdown] tags=["keep"]
# **Takeaway:** a shape is a way to read numbers, and if a number is read several times, its gradients are added.
# Read more: PyTorch's pages on [tensor views](https://docs.pytorch.org/docs/stable/tensor_view.html) and
# [broadcasting](https://docs.pytorch.org/docs/stable/notes/broadcasting.html).

# %% tags=["progress"]
progress("01")
