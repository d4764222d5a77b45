# %% [markdown] tags=["section"]
# ## 1. The parts of the engine
#
# The core of autolab's engine has about 2,600 lines, but many of these lines are explanations. The cell below prints the engine's own list of its files, in the order in which you can read them. After that, we go through the places that you will recognise. The cells read the code from the engine's files, so you see the code that really runs.

# %% tags=["code"]
from IPython.display import Markdown

Markdown(autolab.engine.core.__doc__)

# %% [markdown]
# **`errors.py`, `dtype.py`, `device.py`, `observe.py` and `grad_mode.py` have no counterpart in your engine.** If you misuse your engine, it computes something anyway. This engine refuses instead, with PyTorch's error message and a note that helps you to fix the mistake. It also supports different kinds of numbers, and different devices that store them. With your engine, the explorer had to watch every change to a `grad`, but this engine reports each event itself. With `no_grad` you can tell it to record nothing.

# %% tags=["picture"]
events = "observe.Observer.contribution", "observe.Observer.accumulate"
beside(None, "errors.fail", *events)

# %% [markdown]
# **`tensor.py` does the work of your `Value`.** Your `data` is called `_array` here, and your `grad` is called `_grad`. The parents and the rule have moved into a node, so Python can delete a result while its history stays. Two things are new. A view shares its memory with another tensor, and `requires_grad` tells the engine which tensors need a gradient, so it doesn't compute any other gradients.

# %% tags=["picture"]
beside(Value, "tensor.Tensor")

# %% [markdown]
# You won't find layers or `eval()` in the core, so how do they affect the graph? Let's take three layers in a row, freeze two of them, and put all of them into evaluation mode.

# %% tags=["predict"]
q10 = predict("04.q10")
q10

# %% tags=["code"]
first, second, third = (autolab.nn.Linear(2, 2) for _ in range(3))
for layer in (first, second, third):
    layer.eval()
first.requires_grad_(False)
third.requires_grad_(False)
h1 = first(autolab.ones(1, 2))
h2 = second(h1)
h3 = third(h2)
recorded = [name for name, h in (("h1", h1), ("h2", h2), ("h3", h3)) if h.grad_fn]
print("results with a node:", recorded)

# %% tags=["reveal"]
q10.reveal(recorded)

# %% [markdown]
# **`record.py`, `namespaces.py`, `saving.py` and `node.py` do the work of your `local` and `share`.** You wrote a new `local` for each operation. Here, an operation is a record that lists its rules, and the engine finds out from the rules which tensors it has to save. A node keeps your `parents` as its `inputs`. In the backward pass, the function `backward` of a node applies the rule of each operand to the gradient that arrived. `apply_fix` corresponds to your `fit`, and it also restores the kind of number.

# %% tags=["picture"]
beside(share, "node.backward", "node.apply_fix")

# %% [markdown]
# **`apply.py` and `op.py` do the work of your `add`.** They compute the result and then create an object that remembers how it was computed. In addition, they first convert numbers of different kinds to one kind, and they record nothing if no input requires a gradient.

# %% tags=["picture"]
beside(Value.__add__, "apply.apply", "apply.record", "saving.save")

# %% [markdown]
# **`backward.py` and `differentiate.py` do the work of your `order` and your `backward`.** `plan` collects the nodes and sorts them by a number that each node received when it was made. A node is always newer than its inputs, so the order from newest to oldest is a topological order. `plan` doesn't call itself, so it also works for very deep graphs. `run` corresponds to your loop, and `deliver` corresponds to your `+=`. During a pass, the gradients of intermediate results are kept in a dictionary, so nothing has to be reset to 0. In addition, this engine can start from several results at once, call hooks, and differentiate its gradients again.

# %% tags=["picture"]
display(beside(order, "backward.plan"))
beside(backward, "backward.BackwardPass.run", "backward.BackwardPass.deliver")

# %% [markdown] tags=["section"]
# ## 2. Review
#
# You can use an engine of your own to test what you believe about training. For example, let's write a small training loop with momentum, as in lesson 3:

# %% tags=["predict"]
q9 = predict("04.q9")
q9

# %% tags=["code"]
a, b, c = Value(1.0), Value(2.0), Value(3.0)
trained, last = [a, b, c], [0.0, 0.0, 0.0]

def step(zeroed=()):
    for p in trained:
        p.grad = 0.0
    (a * b * c).backward()
    for i, p in enumerate(trained):
        p.grad = 0.0 if p in zeroed else p.grad
        last[i] = 0.9 * last[i] - 0.1 * p.grad
        p.data += last[i]

step()
c = Value(3.0)                          # a new number with the same name
before = {"a": a.data, "b": b.data, "c": c.data}
step(zeroed=[a])
moved = [name for name, p in zip("abc", (a, b, c)) if p.data != before[name]]
print("changed by the second step:", moved)

# %% tags=["reveal"]
q9.reveal(moved)

# %% [markdown]
# The next two questions are about mistakes that an engine can't notice, so it raises no error. You can try both mistakes with your `Value`.

# %% tags=["predict"]
q11 = predict("04.q11")
q11

# %% tags=["predict"]
q12 = predict("04.q12")
q12

# %% tags=["code"]
w = Value(2.0)
loss = w * w
loss = Value(loss.data)                 # computed, then made a new Value
loss.backward()
print("loss.grad:", loss.grad, " w.grad:", w.grad)

class Centred:                          # no parameter, nothing to train
    mean = 0.0

    def __call__(self, x):
        self.mean = 0.9 * self.mean + 0.1 * x.data.mean()
        return x + Value(-self.mean)

centred = Centred()
x = Value(np.array([1.0, 3.0]))
answers = [centred(x).data for _ in range(10)]
same = np.array_equal(answers[0], answers[-1])
print("first output:", answers[0].round(2))
print("tenth output:", answers[-1].round(2))

# %% tags=["reveal"]
q11.reveal(loss.grad, w.grad)

# %% tags=["reveal"]
q12.reveal(same)

# %% [markdown]
# You know the ideas behind the last three questions from lesson 1, but this time your own engine has to answer them.

# %% tags=["predict"]
q13 = predict("04.q13")
q13

# %% tags=["predict"]
q14 = predict("04.q14")
q14

# %% tags=["predict"]
q15 = predict("04.q15")
q15

# %% tags=["code"]
w = Value(1.0)
e = Value(np.exp(w.data))               # computed by NumPy
(e * w).backward()
print("w.grad:", w.grad)

x, mask = Value(np.array([0.0, 4.0])), Value(np.array([0.0, 1.0]))
with np.errstate(all="ignore"):
    root = Value(np.sqrt(x.data), (x,), "sqrt", (0.5 / np.sqrt(x.data),))
    (mask * root).backward()
print("x.grad:", x.grad)

v = Value(np.array([1.0, 2.0, 3.0]))
(v * v * Value(np.array([0.0, 0.0, 10.0]))).backward()
print("v.grad:", v.grad)

# %% tags=["reveal"]
q13.reveal(w.grad)

# %% tags=["reveal"]
q14.reveal(x.grad)

# %% tags=["reveal"]
q15.reveal(v.grad)

# %% [markdown] tags=["keep", "explain"]
# **Takeaway:** an engine needs four things: a graph that remembers, local derivatives, an order and a sum. Everything else makes the engine safe and fast.
# PyTorch describes [its own engine](https://docs.pytorch.org/docs/stable/notes/autograd.html).

# %% tags=["progress"]
progress("04")
