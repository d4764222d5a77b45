# %% [markdown] tags=["section"]
# ## 6. Where paths meet
#
# Now a Value is used twice. First break it on purpose, with an `=` that should be `+=`.

# %% tags=["predict"]
q4 = predict("04.q4")
q4

# %% tags=["code", "picture"]
def careless(result):
    result.grad = 1.0
    for child in order(result):
        for parent, local in zip(child.parents, child.local):
            parent.grad = share(child, parent, local)           # = and not +=

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
# The last step above says what was lost. Paths add up, so shares **accumulate**: each is added to what is there. That brings a duty along. Backward may run twice on one graph. Then *results* begin at
# 0.0 again, and *leaves* keep what they hold, as in PyTorch. Mend your backward.

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
# That is right: 25 for `x`. Now break it once more. No order: everybody sends as soon as something arrives. Guess; then step to where a share comes "too late".

# %% tags=["predict"]
q5 = predict("04.q5")
q5

# %% tags=["code", "picture"]
def hasty(result):
    result.grad, waiting = 1.0, [result]
    for child in waiting:                   # as they come, as often as they come
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
# **Takeaway:** add, and in a topological order. Without one of them the numbers are wrong, and nothing complains.
# PyTorch's [`backward`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html) accumulates into leaves with the same `+=`.
