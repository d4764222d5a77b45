# %% [markdown] tags=["section"]
# ## 3. A weight of your own
#
# Suppose you want a weight of your own on the GPU, and you want its gradient too, so you write:
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
# Now let's do the engine's work by hand. The explorer asks you what happens to the gradient of `w`, and what `made.grad` will be. Answer both questions, and then keep stepping to watch the gradient cross to the other device. The boxes of tensors on the GPU are light green, and they have stripes if the GPU is simulated.

# %% tags=["picture"]
made = torch.tensor([1.0, 2.0], requires_grad=True)
w = made.to(device)
loss = (w * w).sum()
crossing = autolab.explore(loss)
crossing.ask("w", "state", id="02.a1")
crossing.ask("made", "grad", id="02.a2")
crossing

# %% [markdown] tags=["explain"]
# **Why.** A copy between devices is a function like any other: $w = \text{copy}(made)$, with the local derivative 1. So the copy is recorded, which means that `w` has a `grad_fn` and is not a leaf. The gradient $\bar w = 2 w$ arrives at `w`, crosses back to the CPU, and ends in the leaf `made`. Some tutorials say that `.to()` "loses" the gradient, but that isn't true. The gradient is in the tensor on the CPU; you just can't reach it, because in the one-line version this tensor has no name.
#
# What happens on a computer without a GPU? There, the same line would run with `"cpu"` as the device. Compare this graph with the graph above before you answer its question.

# %% tags=["picture"]
w = torch.tensor([1.0, 2.0], requires_grad=True).to("cpu")
at_home = autolab.explore((w * w).sum())
at_home.ask("w", "state", id="02.a3")
at_home

# %% tags=["words"]
in_words("02.w2")

# %% [markdown] tags=["explain", "keep"]
# If you write `torch.tensor([1.0, 2.0], device=device, requires_grad=True)` instead, the tensor is a leaf on every device, because it is created there and never moved.
#
# **Takeaway:** choose the device first and set `requires_grad` afterwards, because the copy of a tensor that requires a gradient is not a leaf.
# Read more: PyTorch's page on [`is_leaf`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html), which shows the same example.

# %% [markdown] tags=["exercise"]
# ### Exercise 02.3: a weight on the device
#
# `device_weight(start, device)` receives a tensor of numbers. It should return a new leaf on the device that contains twice these numbers, so that `backward()` fills its `.grad`. At the moment its result is not a leaf. Fix it.

# %% tags=["exercise"]
def device_weight(start, device):
    w = (2 * start).requires_grad_()
    return w.to(device)

check("02.3", device_weight)
