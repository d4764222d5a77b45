# %% [markdown] tags=["section"]
# ## 6. Backward, step by step
#
# The same fork once more. First a question about the time *before* anything has come back.

# %% tags=["predict"]
q5 = predict("01.q5")
q5

# %% tags=["code"]
x = torch.tensor(2.0, requires_grad=True)
a = 3 * x
b = x * x
product = a * b
z = product + b
before = x.grad
print("before backward: x.grad =", before)

# %% tags=["reveal"]
q5.reveal(before)

# %% [markdown]
# Say what will have become of the gradient of `a`. Then step from step 5 on, and watch the words on `x`: when do contributions come, and when is the sum in `x.grad`? Then be the engine
# yourself, on another graph. A wrong decision is carried out, so that you see where it leads; then you go back.

# %% tags=["picture"]
explorer = autolab.explore(z)
explorer.ask("a", "state", id="01.a4")
explorer

# %% tags=["practice"]
autolab.practice(level=3, seed=1)

# %% tags=["words"]
in_words("01.w2")

# %% [markdown] tags=["explain", "keep"]
# **Why.** The engine repeats one move. It takes a node whose gradient is complete, asks it for the gradients of its inputs, and adds those to what the inputs have so far: $\bar b = 1 + 6 = 7$, $\bar a = 4$, and
# $\bar x = 7 \cdot 2 + 7 \cdot 2 + 4 \cdot 3 = 40$.
#
# Before that `x.grad` is `None`: *not yet*, which is not *zero*. A zero would say that a tiny change of `x` does not change `z`, and nobody has found that. The gradient of `a` was 4 for a moment, was passed on, and is **freed**. (`a.retain_grad()` would keep it.)
#
# **Takeaway:** `None` is not zero; a node runs when its gradient is complete; only leaves keep theirs.
# PyTorch on [`retain_grad`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.retain_grad.html).
