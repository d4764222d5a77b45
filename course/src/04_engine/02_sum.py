# %% [markdown] tags=["section", "exercise", "explain"]
# ## 2. Addition
#
# An operation does two things: it computes the result, and it keeps what the backward pass will need. For a sum, this is easy. If one summand rises by 0.1, the sum also rises by 0.1, whatever the numbers are, so both local derivatives are 1.
#
# ### Exercise 04.2: addition
#
# Return a new `Value` with the sum, the two parents in the same order, the op `"+"`, and the two local derivatives.

# %% tags=["exercise"]
def add(self, other):
    return ...

check("04.2", add)

# %% [markdown]
# If we store your function as `Value.__add__`, Python calls it for `a + b`, and then we can look at your engine in the explorer. The explorer only reads `data`, `parents`, `op` and `local`. Because you haven't written a backward pass yet, the explorer multiplies your local derivatives itself, and it tells you so.

# %% tags=["code", "picture"]
Value.__add__ = use("04.2", add)
a, b = Value(2.0), Value(5.0)
y = a + b
autolab.explore(y)

# %% [markdown] tags=["keep"]
# **Takeaway:** a sum passes the gradient that it receives to both of its parents, unchanged.
# PyTorch's node for a sum is called [`AddBackward0`](https://docs.pytorch.org/docs/stable/notes/autograd.html).
