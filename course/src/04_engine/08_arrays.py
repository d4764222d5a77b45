# %% [markdown] tags=["section"]
# ## 8. Arrays
#
# A network has thousands of numbers, and one object for each number would be slow. But we can also use a NumPy **array**, that is, a table of numbers, as `data`, because your rules work for every number in the table. Only one thing is new, namely **broadcasting**: if the shapes differ, NumPy repeats the smaller array, for example a row that is added to every row of a table.

# %% tags=["predict"]
q7 = predict("04.q7")
q7

# %% tags=["code"]
steps = np.eye(3)                       # each row raises another number of b by 1
raised = np.array([(np.zeros((4, 3)) + step).sum() for step in steps])
print("the loss rises by", raised)

# %% tags=["reveal"]
q7.reveal(raised)

# %% [markdown] tags=["exercise", "explain"]
# ### Exercise 04.8: back to its shape
#
# If a number was repeated, it has several paths to the result, and the gradients along these paths are added. So take the array `sent` and sum it over all axes along which broadcasting has repeated numbers, until it has the shape `shape`. Broadcasting can repeat an array in two ways: it adds axes in front, and it stretches axes of size 1.

# %% tags=["exercise"]
def fit(sent, shape):
    return ...

check("04.8", fit)

# %% [markdown]
# Now `share` can give each contribution the shape of its parent. There is one more new feature, because a local derivative may now be a *function*. We need this for the **matrix product**. A table with all derivatives of a matrix product would be huge, but we never need the table itself. We only need the product of the table and a gradient, and this product is just another matrix product. So for each operand we store a function that computes it.

# %% tags=["code"]
fit = use("04.8", fit)

def share(child, parent, local):
    sent = local(child.grad) if callable(local) else child.grad * local
    return fit(np.asarray(sent), np.shape(parent.data))

def matmul(self, other):
    a, b = self.data, other.data
    return Value(a @ b, (self, other), "@", (lambda g: g @ b.T, lambda g: a.T @ g))

Value.__matmul__ = matmul
Value.backward = finish(backward)

# %% [markdown]
# The last operation is the loss of a classifier, the **cross-entropy**. It first turns each row of scores into probabilities that add up to 1, and then takes minus the logarithm of the probability of the right answer. Its derivative is surprisingly simple: the probabilities, minus 1 at the right answer, divided by the number of rows.

# %% tags=["code"]
def cross_entropy(scores, labels):
    rows, chances = np.arange(len(labels)), np.exp(scores.data)
    chances = chances / chances.sum(axis=1, keepdims=True)      # each row adds up to 1
    def local(g):
        return g * (chances - np.eye(chances.shape[1])[labels]) / len(labels)
    mean = -np.log(chances[rows, labels]).mean()
    return Value(mean, (scores,), "cross_entropy", (local,))

# %% tags=["picture"]
table, weights = Value(np.array([[1.0, 2.0], [3.0, 4.0]])), Value(np.eye(2))
row = Value(np.array([0.5, -0.5]))
loss = cross_entropy((table @ weights + row).tanh(), np.array([0, 1]))
autolab.explore(loss)

# %% [markdown] tags=["keep"]
# **Takeaway:** a gradient has the same shape as its value, so if a value was repeated, its contributions are summed.
# Read more: PyTorch's page on [broadcasting](https://docs.pytorch.org/docs/stable/notes/broadcasting.html).
