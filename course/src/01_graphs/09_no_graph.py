# %% [markdown] tags=["section"]
# ## 9. Keep the step out of the graph
#
# You have seen `torch.no_grad()` several times now, so let's find out what goes wrong without it. The first step below fails on purpose, and we catch the error and print it.

# %% tags=["code"]
w = torch.tensor(3.0, requires_grad=True)
(w * w).backward()
try:
    w -= 0.1 * w.grad
except RuntimeError as error:
    print("without no_grad():", error)

with torch.no_grad():
    w -= 0.1 * w.grad
print("with no_grad():", w)

# %% [markdown] tags=["explain", "keep"]
# **Why.** A step changes a weight, but the step isn't part of the function that we differentiate. If the subtraction were recorded, `w` would become the result of an operation and would no longer be a leaf, so PyTorch refuses the change. Inside `with torch.no_grad():` nothing is recorded, so the step is allowed.
#
# The line `w = w - 0.1 * w.grad` raises no error, which is worse. It creates a new tensor and gives it the name `w`, while the old tensor stays as it was. A network that holds the old tensor would not change at all.
#
# In section 2 you met another way to leave the graph. `probabilities.detach()` returns a tensor with the same numbers but without a graph. Use it when you only want to look at the numbers, for example in a plot.
#
# **Takeaway:** change weights in place, under `no_grad()`. There are other ways to keep something out of the graph, and [Ways to leave the graph](more/01_ways_out.ipynb) compares them.
# Read more: PyTorch's page on [locally disabling gradients](https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation).
