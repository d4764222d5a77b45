# %% [markdown] tags=["section"]
# ## 3. A weight of your own
#
# You want one weight of your own on the GPU, with a gradient, and write:
#
# ```
# w = torch.tensor([1.0, 2.0], requires_grad=True).to(device)
# (w * w).sum().backward()
# ```

# %% tags=["predict"]
q5 = predict("02.q5")
q5

# %% tags=["code"]
made = torch.tensor([1.0, 2.0], requires_grad=True)
w = made.to(device)
(w * w).sum().backward()
print("w.is_leaf:", w.is_leaf)
kept = w.grad
print("w.grad =", kept)
print("made.grad =", made.grad)

# %% tags=["reveal"]
q5.reveal(kept)

# %% [markdown]
# Now be the engine. The explorer asks what becomes of the gradient of `w`, and what `made.grad` will be. Answer both, then step on and
# watch it cross to the other side. Boxes on the GPU are light green, on a simulated one with stripes.

# %% tags=["picture"]
made = torch.tensor([1.0, 2.0], requires_grad=True)
w = made.to(device)
loss = (w * w).sum()
crossing = autolab.explore(loss)
crossing.ask("w", "state", id="02.a1")
crossing.ask("made", "grad", id="02.a2")
crossing

# %% [markdown] tags=["explain"]
# **Why.** A copy between devices is a function like any other: $w = \text{copy}(made)$, with the local derivative 1. So it is
# recorded, `w` has a `grad_fn`, and is not a leaf. Its gradient $\bar w = 2 w$ arrives, crosses back, and ends in the leaf on
# the CPU. Some tutorials say that `.to()` "loses" the gradient. It is in the tensor on the other side; in the one-line version
# that tensor has no name.
#
# And on a computer without a GPU? The same line, with `"cpu"`. Compare this graph with the one above before you answer.

# %% tags=["picture"]
w = torch.tensor([1.0, 2.0], requires_grad=True).to("cpu")
at_home = autolab.explore((w * w).sum())
at_home.ask("w", "state", id="02.a3")
at_home

# %% tags=["words"]
in_words("02.w2")

# %% [markdown] tags=["explain", "keep"]
# What works everywhere is `torch.tensor([1.0, 2.0], device=device, requires_grad=True)`: made there, a leaf.
#
# **Takeaway:** first the place, then the flag: what is moved after `requires_grad` is no leaf.
# PyTorch on [`is_leaf`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html), which has this very example.

# %% [markdown] tags=["exercise"]
# ### Exercise 02.3: a weight on the device
#
# `device_weight(start, device)` gets a tensor of numbers. It is meant to return a new leaf on the device, with twice those numbers, whose
# `.grad` is filled by `backward()`. Mend it.

# %% tags=["exercise"]
def device_weight(start, device):
    w = (2 * start).requires_grad_()
    return w.to(device)

check("02.3", device_weight)
