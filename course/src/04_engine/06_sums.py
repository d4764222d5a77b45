# %% [markdown] tags=["section"]
# ## 6. Where paths meet
#
# Things become more interesting when a Value is used twice. First we break the engine on purpose: we write `=` where there should be a `+=`.

# %% tags=["predict"]
q4 = predict("04.q4")
q4

# %% tags=["code", "picture"]
def careless(result):
    result.grad = 1.0
    for child in order(result):
        for parent, local in zip(child.parents, child.local):
            parent.grad = share(child, parent, local)           # = instead of +=

Value.backward = careless
x = Value(3.0)
y = x * x
wrong = autolab.explore(y)
y.backward()
wrong

# %% tags=["reveal"]
q4.reveal(x.grad)

# %% [markdown] tags=["exercise", "explain"]
# ### Exercise 04.6: where paths meet
#
# The last step in the picture tells you what was lost. Because the gradients along all paths are added, contributions have to **accumulate**. This means that each contribution is added to the gradient that is already stored.
#
# Adding creates a new problem, because you may call `backward()` twice on the same graph. In the second pass, the gradients of *results* have to start at 0.0 again, but *leaves* keep their gradients, as in PyTorch. Fix your backward pass so that it does both.

# %% tags=["exercise"]
def backward(result):
    return ...

check("04.6", backward)

# %% tags=["picture"]
backward = use("04.6", backward)
Value.backward = backward
x, a = Value(2.0), Value(5.0)
b = x * a
y = b + b * x
autolab.explore(y)

# %% [markdown]
# Now the gradient of `x` is 25, which is correct. Let's break the engine once more, this time by leaving out the order. Then every Value sends its gradient as soon as a contribution arrives. Make your prediction, and then step to the place where a contribution comes too late.

# %% tags=["predict"]
q5 = predict("04.q5")
q5

# %% tags=["code", "picture"]
def hasty(result):
    result.grad, waiting = 1.0, [result]
    for child in waiting:                   # in the order of arrival, several times
        for parent, local in zip(child.parents, child.local):
            parent.grad += share(child, parent, local)
            waiting.append(parent)

Value.backward = hasty
wrong = autolab.explore(y)
y.backward()
Value.backward = backward
wrong

# %% tags=["reveal"]
q5.reveal(x.grad)

# %% [markdown] tags=["keep"]
# In the first broken engine `x.grad` was 3 instead of 6, and in the second broken engine it was 30 instead of 25.
#
# **Takeaway:** add the contributions, and go through the graph in a topological order. If you forget either of these, the numbers are wrong, and there is no error message. PyTorch's [`backward`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html) accumulates into the leaves in the same way.
