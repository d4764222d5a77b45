# %% [markdown] tags=["section"]
# ## 5. Backward

# %% tags=["predict"]
q3 = predict("04.q3")
q3

# %% tags=["code"]
slope = round(((2.0 + tiny) * 4 * 3 - 2.0 * 4 * 3) / tiny, 6)
print("c rises", slope, "times as much as a")

# %% tags=["reveal"]
q3.reveal(slope)

# %% [markdown] tags=["exercise", "explain"]
# ### Exercise 04.5: backward
#
# Along a path slopes are multiplied. So each child sends each parent a **share**: its own gradient times the local derivative. The first gradient is that of the result
# by itself: 1, the **seed**. Write both functions. For now no Value is used twice, so a share may be assigned: `parent.grad = …`.
#
# From then on the explorer steps through *your* backward: it runs it, and watches each write to a `grad`.

# %% tags=["exercise"]
def share(child, parent, local):
    return ...      # what child sends to parent


def backward(result):
    return ...      # the seed; then each child in your order, each of its parents

check("04.5", backward)

# %% tags=["picture"]
share, Value.backward = use("04.5", share, backward)
a, four, three = Value(2.0), Value(4.0), Value(3.0)
c = (a * four) * three
autolab.explore(c)

# %% [markdown] tags=["keep"]
# **Takeaway:** a child's gradient times the local derivative, edge by edge. In PyTorch's words it is a
# [vector-Jacobian product](https://docs.pytorch.org/tutorials/beginner/blitz/autograd_tutorial.html).
