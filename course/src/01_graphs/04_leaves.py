# %% [markdown] tags=["section"]
# ## 4. Leaves
#
# A parameter often starts as a small number. One way to write that:

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
# **Why.** A **leaf** is a tensor that no recorded operation made: the place where a graph ends. `backward()` fills `.grad` of the leaves that want a gradient, and of no others. `v` has a `grad_fn`, so it is the
# result of an operation. Its gradient arrived, was passed on, and was let go. The leaf is the tensor in the brackets, which has no name any more. So it is with
# every operation that looks harmless: `* 0.1`, `.double()`.
#
# The flag `requires_grad` spreads: a result requires a gradient as soon as one of its inputs does. What is computed from plain data leaves no nodes.
#
# **Takeaway:** first make the numbers, then ask for their gradient.
# PyTorch on [`is_leaf`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html).

# %% [markdown] tags=["exercise"]
# ### Exercise 01.2: a weight that keeps its gradient
#
# `make_weight(values)` is meant to return a leaf with the values times 0.1, whose `.grad` is filled by `backward()`. It does not.
# Mend it.

# %% tags=["exercise"]
def make_weight(values):
    return torch.tensor(values, requires_grad=True) * 0.1

check("01.2", make_weight)
