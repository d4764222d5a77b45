# %% [markdown] tags=["section", "explain"]
# ## 7. A neuron
#
# If we only multiply inputs by weights and add the products, the result is always a straight line, so a network can't learn a curve. That is why a **neuron** bends its sum. First it adds weighted inputs, and then it applies a curve such as **tanh**, which rises from −1 to 1 and is flat at both ends.

# %% tags=["picture"]
places = np.linspace(-4, 4, 81)
curves = {"tanh": np.tanh(places), "its slope": 1 - np.tanh(places) ** 2}
axes = plots.curves(places, curves, xlabel="x", ylabel="")

# %% [markdown] tags=["exercise"]
# ### Exercise 04.7: a bend: tanh
#
# Write tanh as an operation of your engine, with the help of `np.tanh`. If $t = \tanh x$, then the derivative is $1 - t^2$. Because there is only one parent, `parents` and `local` have one entry each.

# %% tags=["exercise"]
def tanh(self):
    return ...

check("04.7", tanh)

# %% tags=["predict"]
q6 = predict("04.q6")
q6

# %% tags=["code"]
Value.tanh = use("04.7", tanh)
w, x, bias = Value(2.0), Value(10.0), Value(0.0)
(w * x + bias).tanh().backward()
grad = round(float(w.grad), 12)
print("w.grad =", grad)

# %% tags=["reveal"]
q6.reveal(grad)

# %% tags=["picture"]
w1, w2, bias = Value(0.5), Value(-1.0), Value(0.1)
x1, x2 = Value(1.0), Value(0.4)
neuron = (w1 * x1 + w2 * x2 + bias).tanh()
autolab.explore(neuron)

# %% [markdown] tags=["keep"]
# **Takeaway:** a new operation only needs a result and its local derivatives, and nothing else in the engine changes. If a neuron is on a flat part of its curve, it is **saturated**: almost no gradient passes through it, so it can't learn.
# PyTorch also lets you [add operations of your own](https://docs.pytorch.org/docs/stable/notes/extending.html).

# %% [markdown] tags=["open"]
# ### Open task: an operation of your own
#
# Add an operation of your choice to your `Value`, for example `exp`, `relu`, `sin` or a power. Write it in the empty cell, build a small graph with it, and check its gradient with a nudge, as in section 3.

# %% tags=["open", "code"]
# your operation, a graph that uses it, and a nudge
