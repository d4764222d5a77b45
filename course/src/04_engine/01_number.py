# %% [markdown] tags=["section", "exercise", "explain"]
# ## 1. A number that remembers
#
# After `y = x * x`, Python has an object that holds 9.0 and nothing else. But to find the gradient of `x`, we have to know how the 9.0 was computed. So let's make a class of our own. A `Value` keeps what it is given:
#
# - `data`, the number
# - `parents`, the Values from which it was computed
# - `op`, the name of the operation
# - `local`, the **local derivative** for each parent, that is, how much the result rises if that parent rises a little
#
# It also has a fifth attribute, `grad`, for its gradient. In PyTorch, `.grad` starts as `None`, because nothing is known yet. We start with 0.0 instead. That is less precise, since 0.0 can also mean "no influence". But it lets us add gradients later without a special case for the first one.
#
# ### Exercise 04.1: a number that remembers

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
# **Takeaway:** a graph consists of objects that know their parents. A Value without parents is a **leaf**.
# PyTorch keeps the same information [in `grad_fn`](https://docs.pytorch.org/docs/stable/notes/autograd.html#how-autograd-encodes-the-history).
