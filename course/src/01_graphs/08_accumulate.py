# %% [markdown] tags=["section"]
# ## 8. A second backward pass
#
# Gradient descent takes many steps, so it needs many backward passes. What happens if `.grad` already holds a gradient when the next one arrives?

# %% tags=["predict"]
q6 = predict("01.q6")
q6

# %% tags=["code"]
x = torch.tensor(3.0, requires_grad=True)
for turn in (1, 2):
    z = x * x
    z.backward()
    print(f"after backward number {turn}: x.grad =", x.grad)

# %% tags=["reveal"]
q6.reveal(x.grad)

# %% [markdown]
# `autolab.record()` records everything that happens inside its block. The block below runs the two passes again, then clears the gradient, and then takes a step. First predict where `x` ends up. Then step through the recording, and compare what `x.grad` holds after the first backward pass with what it holds after the second.

# %% tags=["predict"]
q7 = predict("01.q7")
q7

# %% tags=["run", "picture"]
x = torch.tensor(3.0, requires_grad=True)
with autolab.record() as recording:
    for turn in (1, 2):
        z = x * x
        z.backward()
    x.grad.zero_()                  # cleared
    with torch.no_grad():           # section 9 explains this line
        x -= 0.125 * x.grad
autolab.explore(recording)

# %% tags=["reveal"]
q7.reveal(x)

# %% [markdown] tags=["explain", "keep"]
# **Why.** `backward()` **accumulates**: it adds the new gradient to whatever is in `.grad`. Here $6 + 6 = 12$ is stored in `x.grad`. This is the rule from section 6 again, because two results computed from one leaf are just more paths, and 12 is the gradient of their sum. Accumulation is useful if, for example, a **batch** (the set of examples used in one step) doesn't fit into memory, because then you can process it in two halves.
#
# In gradient descent, however, each step needs the gradient of *its own* loss. So we clear the gradient in every step, with `w.grad = None` or `w.grad.zero_()`. The right moment is after the step has used the gradient, and before the next `backward()`. If you clear it between `backward()` and the step, the step subtracts zero and nothing moves.
#
# **Takeaway:** `backward()` adds to `.grad`, so clear the gradients of the leaves once in every step.
# Read more: PyTorch's page on [why gradients are zeroed](https://docs.pytorch.org/tutorials/recipes/recipes/zeroing_out_gradients.html).

# %% [markdown] tags=["exercise"]
# ### Exercise 01.4: a loop that overshoots
#
# `descend` should walk downhill on $(w - 3)^2$, but it goes too far, because one line is missing. Add this line.

# %% tags=["exercise"]
def descend(start, lr, steps):
    w = torch.tensor(start, requires_grad=True)
    for _ in range(steps):
        loss = (w - 3) ** 2
        loss.backward()
        with torch.no_grad():       # section 9 explains this line
            w -= lr * w.grad
    return w

check("01.4", descend)

# %% tags=["words"]
in_words("01.w3")
