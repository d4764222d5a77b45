# %% [markdown] tags=["section"]
# ## 7. Gradients add up
#
# Descent takes many steps, so many backward passes. What happens to a gradient that is there already?

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
# `autolab.record()` records all that really happens inside its block: here the two passes once more, then clearing and a step. Guess where it ends, then compare step 5 with step 11.

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
    with torch.no_grad():           # section 8 says why
        x -= 0.125 * x.grad
autolab.explore(recording)

# %% tags=["reveal"]
q7.reveal(x)

# %% [markdown] tags=["explain", "keep"]
# **Why.** `backward()` **accumulates**: it adds to `.grad`. Here $6 + 6 = 12$. It is the rule of section 5 again: two results computed from one leaf are
# just more paths, and 12 is the gradient of their sum. That is useful: a **batch**, the examples of one step, can be fed in two halves.
#
# But in descent each step wants the gradient of *its* loss. So clear it, `w.grad = None` or `w.grad.zero_()`, after it was used and before the next `backward()`: cleared before the step, it moves nothing.
#
# **Takeaway:** `backward()` adds; clear the leaves once in every step.
# PyTorch on [why gradients are zeroed](https://docs.pytorch.org/tutorials/recipes/recipes/zeroing_out_gradients.html).

# %% [markdown] tags=["exercise"]
# ### Exercise 01.4: a loop that forgets to clear
#
# `descend` is meant to walk downhill on $(w - 3)^2$. It overshoots. Mend it.

# %% tags=["exercise"]
def descend(start, lr, steps):
    w = torch.tensor(start, requires_grad=True)
    for _ in range(steps):
        loss = (w - 3) ** 2
        loss.backward()
        with torch.no_grad():       # section 8 says why
            w -= lr * w.grad
    return w

check("01.4", descend)

# %% tags=["words"]
in_words("01.w3")
