# %% [markdown] tags=["section", "exercise", "explain"]
# ## 2. Addition
#
# An operation does two things. It computes the result, and it keeps what the backward pass will need. For a sum, this is easy: if one summand rises by 0.1, the sum also rises by 0.1, whatever the numbers are. So both local derivatives are 1.
#
# ### Exercise 04.2: addition
#
# Return a new `Value` with the sum, the two parents in their order, the op `"+"`, and the two local derivatives.

# %% tags=["exercise"]
def add(self, other):
    return ...

check("04.2", add)

# %% [markdown]
# If we store your function as `Value.__add__`, Python calls it for `a + b`. Then we can look at your engine in the explorer. The explorer only reads `data`, `parents`, `op` and `local`. You haven't written a backward pass yet, so it multiplies your local derivatives itself, and says so.

# %% tags=["code", "picture"]
Value.__add__ = use("04.2", add)
a, b = Value(2.0), Value(5.0)
y = a + b
autolab.explore(y)

# %% [markdown] tags=["keep"]
# **Takeaway:** a sum passes the gradient that arrives on to both of its parents, unchanged. PyTorch's node for it is called
# [`AddBackward0`](https://docs.pytorch.org/docs/stable/notes/autograd.html).
