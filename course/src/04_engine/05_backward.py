# %% [markdown] tags=["section"]
# ## 5. Backward
#
# We now have everything that we need to compute gradients. Let's begin with a chain, in which no Value is used twice.

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
# Because local derivatives are multiplied along a path, each child sends each of its parents a **contribution**, which is the child's own gradient times the local derivative. The pass starts with the gradient of the result with respect to itself, which is 1. This first gradient is called the **seed**.
#
# Write the two functions below. For now no Value is used twice, so you can store each contribution with a plain assignment: `parent.grad = …`. From here on, the explorer steps through *your* backward pass, because it can run your function and watch every change to a `grad`.

# %% tags=["exercise"]
def share(child, parent, local):
    return ...      # what child sends to parent


def backward(result):
    return ...      # the seed; then each child in your order, and each of its parents

check("04.5", backward)

# %% tags=["picture"]
share, Value.backward = use("04.5", share, backward)
a, four, three = Value(2.0), Value(4.0), Value(3.0)
c = (a * four) * three
autolab.explore(c)

# %% [markdown] tags=["keep"]
# **Takeaway:** on every edge, the child's gradient is multiplied by the local derivative.
# PyTorch calls this a [vector-Jacobian product](https://docs.pytorch.org/tutorials/beginner/blitz/autograd_tutorial.html).
