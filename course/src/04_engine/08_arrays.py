# %% [markdown] tags=["section"]
# ## 8. Arrays
#
# A network has thousands of numbers. One object each would be slow. But `data` may be a NumPy **array**, a table of numbers, and your rules still hold, number by number. One thing is new.
# **Broadcasting**: NumPy repeats a small array to fit a large one, as a row that is added to every row of a table.

# %% tags=["predict"]
q7 = predict("04.q7")
q7

# %% tags=["code"]
steps = np.eye(3)                       # in each row another number of b rises by 1
raised = np.array([(np.zeros((4, 3)) + step).sum() for step in steps])
print("the loss rises by", raised)

# %% tags=["reveal"]
q7.reveal(raised)

# %% [markdown] tags=["exercise", "explain"]
# ### Exercise 04.8: back to its shape
#
# What was repeated has several paths, and paths add up. `sent` is an array; sum it over all that broadcasting repeated, so that the result has the shape `shape`. Broadcasting adds axes in front,
# and stretches axes of size 1.

# %% tags=["exercise"]
def fit(sent, shape):
    return ...

check("04.8", fit)

# %% [markdown]
# Now `share` brings each share to its parent's shape. And a local derivative may be a *function*: that of a matrix product would be a huge table, but what it makes of a gradient is one more
# matrix product. The last operation is the **loss** of a classifier, the **cross-entropy**: minus the logarithm of the probability that it gave to the right answer.

# %% tags=["code"]
fit = use("04.8", fit)

def share(child, parent, local):
    sent = local(child.grad) if callable(local) else child.grad * local
    return fit(np.asarray(sent), np.shape(parent.data))

def matmul(self, other):
    a, b = self.data, other.data
    return Value(a @ b, (self, other), "@", (lambda g: g @ b.T, lambda g: a.T @ g))

def cross_entropy(scores, labels):
    rows, chances = np.arange(len(labels)), np.exp(scores.data)
    chances = chances / chances.sum(axis=1, keepdims=True)      # each row adds up to 1
    def local(g):
        return g * (chances - np.eye(chances.shape[1])[labels]) / len(labels)
    mean = -np.log(chances[rows, labels]).mean()
    return Value(mean, (scores,), "cross_entropy", (local,))

Value.__matmul__ = matmul
Value.backward = finish(backward)

# %% tags=["picture"]
table, weights = Value(np.array([[1.0, 2.0], [3.0, 4.0]])), Value(np.eye(2))
row = Value(np.array([0.5, -0.5]))
loss = cross_entropy((table @ weights + row).tanh(), np.array([0, 1]))
autolab.explore(loss)

# %% [markdown] tags=["keep"]
# **Takeaway:** a gradient has the shape of its value; what was repeated is summed.
# PyTorch on [broadcasting](https://docs.pytorch.org/docs/stable/notes/broadcasting.html).
