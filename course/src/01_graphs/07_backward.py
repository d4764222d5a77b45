# %% [markdown] tags=["section"]
# ## 7. Backward, step by step
#
# Let's look at the same graph again, this time through the eyes of the engine. The first question is about the moment *before* any gradient has arrived.

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
# Predict what happens to the gradient of `a`, and answer the question in the picture. Then step through the backward pass, which is the part *← gradients* of the bar below the graph, and watch `x`: when do contributions arrive, and when does `x.grad` receive their sum?
#
# After that, you play the engine yourself on another graph. If you make a wrong decision, the engine still carries it out, so you can see where it leads before you go back and try again.

# %% tags=["picture"]
explorer = autolab.explore(z)
explorer.ask("a", "state", id="01.a4")
explorer

# %% tags=["practice"]
autolab.practice(level=3, seed=1)

# %% [markdown] tags=["explain", "keep"]
# **Why.** The engine repeats one move until nothing is left to do: it takes a node whose gradient is complete, computes the gradients of the node's inputs, and adds them to what those inputs have received so far. In our example that gives $\bar b = 1 + 6 = 7$, $\bar a = 4$, and finally $\bar x = 7 \cdot 2 + 7 \cdot 2 + 4 \cdot 3 = 40$.
#
# Before the pass `x.grad` is `None`, which means "not computed yet". That is different from zero, because a zero would claim that a tiny change of `x` doesn't change `z`, and we don't know that yet. The gradient of `a` was 4 for a moment, but then it was passed on and **freed**, because `a` is not a leaf. (If you want to keep it, call `a.retain_grad()` before the pass.)
#
# **Takeaway:** `None` is not zero. A node runs when its gradient is complete, and only leaves keep their gradient.
# Read more: PyTorch's page on [`retain_grad`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.retain_grad.html).
