# %% [markdown] tags=["section"]
# ## 3. Multiplication

# %% tags=["predict"]
q1 = predict("04.q1")
q1

# %% tags=["code"]
tiny = 0.1
slope = round(((2.0 + tiny) * 5.0 - 2.0 * 5.0) / tiny, 6)
print("y rises", slope, "times as much as a")

# %% tags=["reveal"]
q1.reveal(slope)

# %% [markdown] tags=["exercise", "explain"]
# ### Exercise 04.3: multiplication
#
# Step through the picture below: the factor on each arrow is your local derivative. In a product it depends on the *other* operand, so that has to be kept.

# %% tags=["exercise"]
def multiply(self, other):
    return ...

check("04.3", multiply)

# %% tags=["picture"]
Value.__mul__ = use("04.3", multiply)
x, a = Value(2.0), Value(5.0)
b = x * a
c = b * x
y = b + c
autolab.explore(y)

# %% [markdown] tags=["keep"]
# **Takeaway:** what a rule needs, the operation keeps. PyTorch calls it a
# [saved tensor](https://docs.pytorch.org/docs/stable/notes/autograd.html#saved-tensors).
