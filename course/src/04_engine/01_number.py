# %% [markdown] tags=["section", "exercise", "explain"]
# ## 1. A number that remembers
#
# Suppose `x` is 3.0. After `y = x * x`, Python has an object that holds 9.0 and nothing else. But to find the gradient of `x`, we have to know how the 9.0 was computed. So let's write our own class, called `Value`. Each of its objects stores four things:
#
# - `data`, the number
# - `parents`, the Values from which the number was computed
# - `op`, the name of the operation
# - `local`, the **local derivative** for each parent, that is, how much the result rises if that parent rises a little
#
# There is also a fifth attribute, `grad`, for the gradient. In PyTorch, `.grad` starts as `None`, because the gradient isn't known yet. We start with 0.0 instead, which is less precise, because 0.0 can also mean "no influence". The advantage is that we can add gradients later without a special case for the first gradient.
#
# ### Exercise 04.1: a number that remembers
#
# Write `__init__`, which stores its four arguments under these names and sets `grad` to 0.0.

# %% tags=["exercise"]
class Value:
    def __init__(self, data, parents=(), op="", local=()):
        ...

check("04.1", Value)

# %% tags=["code", "picture"]
Value = use("04.1", Value)
x = Value(3.0)
autolab.explore(x)

# %% [markdown] tags=["keep"]
# **Takeaway:** a graph consists of objects that know their parents, and a Value without parents is a **leaf**.
# PyTorch keeps the same information [in `grad_fn`](https://docs.pytorch.org/docs/stable/notes/autograd.html#how-autograd-encodes-the-history).
