# %% [markdown] tags=["section"]
# ## 5. Leaves
#
# Networks usually start with small numbers. Suppose you want a vector `v` of small weights, and you write it in one line, as in the next question. Which gradient does `v` get?

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

# %% [markdown] tags=["explain", "keep"]
# **Why.** A **leaf** is a tensor that wasn't made by a recorded operation, so the graph ends there. `backward()` fills `.grad` only for leaves that require a gradient. `v` has a `grad_fn`, which means that it is the result of an operation, namely the multiplication by 0.1. A gradient did arrive at `v`, but it was passed on and then dropped, because `v` is not a leaf. The leaf is the tensor inside the brackets, which no longer has a name. Other harmless-looking operations, such as `.double()`, have the same effect.
#
# The flag `requires_grad` spreads forward: a result requires a gradient as soon as one of its inputs does. If you compute with plain data only, no graph is recorded at all.
#
# **Takeaway:** first compute the starting values, and only then ask for their gradient.
# Read more: PyTorch's page on [`is_leaf`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html).

# %% [markdown] tags=["exercise"]
# ### Exercise 01.2: a weight that keeps its gradient
#
# `make_weight(values)` should return a leaf that contains the values times 0.1, so that `backward()` fills its `.grad`. The code below makes the mistake that you have just seen, so your task is to fix it.

# %% tags=["exercise"]
def make_weight(values):
    return torch.tensor(values, requires_grad=True) * 0.1

check("01.2", make_weight)
