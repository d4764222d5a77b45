# %% [markdown] tags=["section", "exercise", "explain"]
# ## 7. A neuron
#
# Sums and products of inputs with weights make straight lines only. A **neuron** adds weighted inputs, and then bends the sum: here by **tanh**, a curve that rises from
# −1 to 1 and is flat at both ends.
#
# ### Exercise 04.7: a bend: tanh
#
# With $t = \tanh x$ the derivative is $1 - t^2$. Use `np.tanh`. There is one parent, so `parents` and `local` have one entry each.

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
# **Takeaway:** a new operation is a number and its local derivatives; nothing else of the engine changes. Where its curve is flat a neuron is **saturated**: nothing is sent back, and it cannot learn.
# PyTorch lets you [add your own](https://docs.pytorch.org/docs/stable/notes/extending.html), too.
