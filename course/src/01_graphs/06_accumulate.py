# %% [markdown] tags=["section"]
# ## 6. Gradients add up
#
# What happens to a gradient that is there already?

# %% tags=["predict"]
q9 = predict("01.q9")
q9

# %% tags=["code"]
x = torch.tensor(3.0, requires_grad=True)
for turn in (1, 2):
    z = x * x
    z.backward()
    print(f"after backward number {turn}: x.grad =", x.grad)

# %% tags=["reveal"]
q9.reveal(x.grad)

# %% [markdown]
# `autolab.record()` records everything that happens inside its block, so you can step through both turns. Compare step 5
# with step 11: there `x.grad` holds something already, and the new gradient is added to it.

# %% tags=["picture"]
x = torch.tensor(3.0, requires_grad=True)
with autolab.record() as both_turns:
    for turn in (1, 2):
        z = x * x
        z.backward()
autolab.explore(both_turns)

# %% [markdown] tags=["explain"]
# **Why.** `backward()` adds to `.grad`, it does not overwrite it: `x.grad` $\leftarrow$ `x.grad` $+\ \bar x$. Here $6 + 6 = 12$. This is no mistake.
# It is the same rule as in section 4, where contributions from several paths are added. Two results computed from the same leaf are
# just more paths: $6 + 6$ is the gradient of the sum of both `z`. It is useful, too: a **batch** (the data of one
# step) that is too large for the memory can be fed in two halves, and the gradients of the halves add up to that of the whole.
#
# But when you train, each step wants the gradient of *its* loss. So you clear it in between.

# %% tags=["predict"]
q10 = predict("01.q10")
q10

# %% tags=["code"]
x = torch.tensor(3.0, requires_grad=True)
(x * x).backward()

x.grad.zero_()                      # set to zero, in place
print("zeroed: ", x.grad)

x.grad = None                       # or forget it altogether
print("cleared:", x.grad)

optimizer = torch.optim.SGD([x], lr=0.1)
(x * x).backward()
optimizer.zero_grad()               # what an optimizer does: for all its leaves, None
print("zero_grad():", x.grad)

# %% tags=["reveal"]
q10.reveal()

# %% [markdown] tags=["explain"]
# **Why.** Intermediate results need no clearing. The next forward pass makes new ones, with gradients of their own. Only leaves live on from
# step to step, so only they remember. An optimizer knows the leaves it trains, and clears those. It prefers `None` to zero: it saves
# memory, and a leaf that got no gradient in this step is then left alone.
#
# The place matters: after the gradient was used, or before the next `backward()`. Not in between.

# %% [markdown] tags=["exercise"]
# ### Exercise 01.6: a loop that forgets to clear
#
# `descend` is meant to walk downhill on $(w - 3)^2$. It overshoots. Mend it.

# %% tags=["exercise"]
def descend(start, lr, steps):
    w = torch.tensor(start, requires_grad=True)
    for _ in range(steps):
        loss = (w - 3) ** 2
        loss.backward()
        with torch.no_grad():       # section 7 says why
            w -= lr * w.grad
    return w

check("01.6", descend)

# %% [markdown] tags=["keep"]
# **Take along:** `backward()` adds; clear the leaves once in every step.
# PyTorch on [`zero_grad`](https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html) and
# [why gradients are zeroed](https://docs.pytorch.org/tutorials/recipes/recipes/zeroing_out_gradients.html).
