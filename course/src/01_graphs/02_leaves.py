# %% [markdown] tags=["section"]
# ## 2. Leaves, and a flag that spreads
#
# Data does not want gradients. The numbers you train do. So you mark only those. Here `a` is data and `w` is trained.
#
# ```
# a = torch.tensor([1.0, 2.0])
# w = torch.tensor([3.0, 4.0], requires_grad=True)
# b = a * 2
# c = a * w
# d = c.sum() + b.sum()
# ```

# %% tags=["predict"]
q2 = predict("01.q2")
q2

# %% tags=["code"]
a = torch.tensor([1.0, 2.0])
w = torch.tensor([3.0, 4.0], requires_grad=True)
b = a * 2
c = a * w
d = c.sum() + b.sum()

for name, t in dict(a=a, w=w, b=b, c=c, d=d).items():
    print(f"{name}: requires_grad {t.requires_grad!s:5}  is_leaf {t.is_leaf!s:5}", t)

# %% tags=["reveal"]
q2.reveal(b, c, d)

# %% [markdown]
# In the picture, a leaf that wants a gradient has a bold green border. A tensor that does not is plain grey. The part that was
# computed from `a` alone left no nodes: to the graph it is just a constant.

# %% tags=["picture"]
b = a * 2
c = a * w
d = c.sum() + b.sum()
autolab.explore(d)

# %% [markdown] tags=["explain"]
# **Why.** `requires_grad` is contagious. A result requires a gradient as soon as one of its inputs does:
# $\text{requires}(y) = \text{requires}(x_1) \text{ or } \text{requires}(x_2) \text{ or } \dots$ Here `c` is computed from `w`, and `d`
# from `c`. `b` is computed from `a` only.
#
# A **leaf** is a tensor that no recorded operation made: the place where a graph ends. `w` is one, because you made it. `a` and
# `b` count as leaves too, because nothing was recorded for them. After `backward()`, the leaves that require a gradient have it in
# `.grad`. `torch.nn.Parameter`, the class of a model's weights, is just a leaf with the flag already on.
#
# Only numbers that can change by a tiny amount can have a gradient. Whole numbers cannot. This error is on purpose:

# %% tags=["code", "raises-exception"]
torch.tensor([1, 2], requires_grad=True)

# %% [markdown]
# How to read it: the arrow points at your line. Then come PyTorch's words, and below them a note that this kit adds for you. The way out here is a
# floating point type. Write `1.` instead of `1`.
#
# Now a trap that many fall into.

# %% tags=["predict"]
q3 = predict("01.q3")
q3

# %% tags=["code"]
v = torch.tensor([1.0, 2.0], requires_grad=True) * 0.1
v.sum().backward()
print("v =", v, " is_leaf:", v.is_leaf)
kept = v.grad
print("v.grad =", kept)

# %% tags=["reveal"]
q3.reveal(kept)

# %% [markdown] tags=["explain"]
# **Why.** `v` has a `grad_fn`, so it is the result of an operation, not a leaf. Its gradient arrives, is passed on, and is thrown
# away. The leaf is the tensor inside the brackets, which has no name any more. The warning says the same. It happens with every
# operation that looks harmless: `* 0.1`, `.double()`, and `.to(device)` when it really moves something.
#
# First make the numbers. Then ask for the gradient.

# %% [markdown] tags=["exercise"]
# ### Exercise 01.2: a weight that keeps its gradient
#
# `make_weight(values)` is meant to return a leaf with the values times 0.1, whose `.grad` is filled by `backward()`. It does not.
# Mend it.

# %% tags=["exercise"]
def make_weight(values):
    return torch.tensor(values, requires_grad=True) * 0.1

check("01.2", make_weight)

# %% [markdown] tags=["keep"]
# **Take along:** mark the leaves you train; everything computed from them is marked by itself.
# PyTorch on [`is_leaf`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html) and
# [`requires_grad`](https://docs.pytorch.org/docs/stable/notes/autograd.html#setting-requires-grad).
