# %% [markdown] tags=["section", "exercise", "explain"]
# ## 2. Addition
#
# An operation does two things: it computes, and it leaves behind what backward will need. If one summand rises by 0.1, the sum rises by 0.1, whatever the numbers are.
# So both local derivatives of a sum are 1.
#
# ### Exercise 04.2: addition
#
# Return a new `Value`: the sum, its two parents in order, the op `"+"`, and the two local derivatives.

# %% tags=["exercise"]
def add(self, other):
    return ...

check("04.2", add)

# %% [markdown]
# As `Value.__add__`, Python calls your function for `a + b`. And here is your engine in the explorer. It reads `data`, `parents`, `op` and `local`, nothing else. You have no
# backward yet, so it multiplies your local derivatives itself, and says so.

# %% tags=["code", "picture"]
Value.__add__ = use("04.2", add)
a, b = Value(2.0), Value(5.0)
y = a + b
autolab.explore(y)

# %% [markdown] tags=["keep"]
# **Takeaway:** a sum hands on what arrives, unchanged, to both. PyTorch calls its node
# [`AddBackward0`](https://docs.pytorch.org/docs/stable/notes/autograd.html).
