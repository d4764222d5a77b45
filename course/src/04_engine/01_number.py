# %% [markdown] tags=["section", "exercise", "explain"]
# ## 1. A number that remembers
#
# After `y = x * x` Python has an object that holds 9.0, and no more. To find out who is to blame for it, somebody must remember how it came about. So you make a class of
# your own. A `Value` keeps what it is given:
#
# - `data`, the number
# - `parents`, the Values it was computed from
# - `op`, the name of the operation
# - `local`, for each parent the **local derivative**: by how much the result rises if that parent rises a little
#
# A fifth attribute, `grad`, is its gradient. Nothing has arrived yet, so it begins as 0.0.
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
# **Takeaway:** a graph is objects that know their parents. A Value without parents is a **leaf**.
# PyTorch's `grad_fn` is [the same memory](https://docs.pytorch.org/docs/stable/notes/autograd.html#how-autograd-encodes-the-history).
