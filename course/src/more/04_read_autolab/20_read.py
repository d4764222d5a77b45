# %% [markdown] tags=["section", "explain"]
# ## 1. The parts of the engine
#
# autolab's engine has a core of some 2,600 lines, half of them explanation. You know what it must do. Read it in the order that it proposes itself; below are the places that you will recognise. What
# you see is the code that runs, read from the files at this moment.

# %% tags=["code"]
from IPython.display import Markdown

Markdown(autolab.engine.core.__doc__)

# %% [markdown]
# **`errors.py`, `dtype.py`, `device.py`, `observe.py`, `grad_mode.py`: nothing of yours.** Misused, your engine computes something. This one refuses, in PyTorch's words, with a sentence for you. It
# knows kinds of numbers, and places for them. The explorer had to watch each write to your `grad`; this engine tells what happens, event by event. And it can be told not to remember: `no_grad`.

# %% tags=["picture"]
events = "observe.Observer.contribution", "observe.Observer.accumulate"
beside(None, "errors.fail", *events)

# %% [markdown]
# **`tensor.py` is your `Value`.** `_array` is your `data`, `_grad` your `grad`. Parents and rule have moved out, into a node, so that a result can be dropped and its history kept. New: views,
# which share memory, and `requires_grad`, so that nothing is computed for those who did not ask.

# %% tags=["picture"]
beside(Value, "tensor.Tensor")

# %% [markdown]
# You will look in vain for `eval()` and for layers. What do they change in the graph? Three layers in a row; the one in the middle is frozen, and in evaluation mode.

# %% tags=["predict"]
q10 = predict("04.q10")
q10

# %% tags=["code"]
first, second, third = (autolab.nn.Linear(2, 2) for _ in range(3))
second.requires_grad_(False).eval()
h1 = first(autolab.ones(1, 2))
h2 = second(h1)
h3 = third(h2)
recorded = [name for name, h in (("1", h1), ("2", h2), ("3", h3)) if h.grad_fn]
print("results with a node:", recorded)

# %% tags=["reveal"]
q10.reveal(recorded)

# %% [markdown]
# **`record.py`, `namespaces.py`, `saving.py`, `node.py` are your `local` and `share`.** You wrote `local` anew in each operation. Here an operation is stated once, as a record, and what must be kept is read off
# its rules. A node holds your `parents` as `inputs`. `backward` applies a rule for each operand to what arrived. `apply_fix` is your `fit`, and brings back the kind of number, too.

# %% tags=["picture"]
beside(share, "node.backward", "node.apply_fix")

# %% [markdown]
# **`apply.py`, `op.py` are the body of your `add`:** compute, then make an object that remembers. New: numbers of different kinds are brought together first, and nothing is recorded where no gradient is
# wanted.

# %% tags=["picture"]
beside(Value.__add__, "apply.apply", "apply.record", "saving.save")

# %% [markdown]
# **`backward.py`, `differentiate.py` are your `order` and `backward`.** `plan` collects the nodes, and sorts them by the number that each got when it was made: newest first is a topological order. It does not
# call itself, so graphs of any depth run. `run` is your loop, `deliver` your `+=`. Gradients in the middle live in a dictionary for one pass, so nothing has to begin at 0 again. New: several results at once, hooks,
# and gradients that can be differentiated again.

# %% tags=["picture"]
display(beside(order, "backward.plan"))
beside(backward, "backward.BackwardPass.run", "backward.BackwardPass.deliver")

# %% [markdown]
# Two questions about what an engine cannot see. Your `Value` will do for both.

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
print("the same answer, ten batches later:", same)

# %% tags=["reveal"]
q11.reveal(loss.grad, w.grad)

# %% tags=["reveal"]
q12.reveal(same)

# %% [markdown]
# And three from lesson 1, in the clothes of your engine.

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

# %% [markdown] tags=["keep"]
# **Takeaway:** an engine is a graph that remembers, local derivatives, an order, and a sum. The rest is care, and speed.
# PyTorch describes [its own](https://docs.pytorch.org/docs/stable/notes/autograd.html).

# %% tags=["progress"]
progress("04")
