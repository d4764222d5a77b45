# %% [markdown] tags=["section"]
# ## 3. Multiplication
#
# For a product, the local derivatives depend on the numbers. Try to predict one of these derivatives before we measure it with a nudge.

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
# Write the product in the same way as the sum. The local derivative with respect to one factor is the *other* factor, so your operation has to keep both numbers. Then step through the picture below, and you will see how the explorer multiplies the gradients by your local derivatives.

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
# **Takeaway:** an operation keeps whatever its rule will need later.
# PyTorch calls this a [saved tensor](https://docs.pytorch.org/docs/stable/notes/autograd.html#saved-tensors).
