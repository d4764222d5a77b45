# %% [markdown] tags=["section"]
# ## 8. What is not to be recorded
#
# A step changes a weight. Is that part of the formula? Try it. This error is on purpose:

# %% tags=["code", "raises-exception"]
w = torch.tensor(3.0, requires_grad=True)
(w * w).backward()
w -= 0.1 * w.grad

# %% tags=["code"]
with torch.no_grad():
    w -= 0.1 * w.grad
print(w)

# %% [markdown] tags=["explain"]
# **Why.** If the subtraction were recorded, `w` would become the result of an operation, and stop being a leaf. So it is refused. Inside `with torch.no_grad():` nothing
# is recorded. (`w = w - …` is not refused, and worse: it makes a new tensor of that name, and the old one stays as it was.)
#
# `t.detach()` leaves out a single use. It gives a tensor with the same values and no history.

# %% tags=["predict"]
q8 = predict("01.q8")
q8

# %% tags=["run", "picture"]
w = torch.tensor(3.0, requires_grad=True)
y = w.detach() * w
explorer = autolab.explore(y)
y.backward()
print("w.grad =", w.grad)
explorer

# %% tags=["reveal"]
q8.reveal(w.grad)

# %% [markdown] tags=["explain", "keep"]
# **Why.** To the graph the detached factor is a constant. Of the two paths of $w \cdot w$ one is gone, and $\bar w = 3$ remains instead of $6$.
#
# **Takeaway:** change weights in place, under `no_grad()`; `detach()` cuts one use. [Ways to leave the graph](more/01_ways_out.ipynb) has the rest.
# PyTorch on [locally disabling gradients](https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation).
