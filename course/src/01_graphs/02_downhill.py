# %% [markdown] tags=["section"]
# ## 2. Downhill
#
# What is a gradient good for? Begin with one number. The loss is $(w-1)^2$, and at $w = 3$ its slope is 4. Would you step to 2.6, or to 3.4?

# %% tags=["code"]
for w in (3.0, 2.6, 3.4):
    print(f"w = {w}: loss {(w - 1) ** 2:.2f}")

# %% [markdown]
# A positive slope rises to the right, so go left. With two numbers there are directions to choose from. The picture shows the loss $(w-1)^2 + 8b^2$ from above: where it is
# grey, it is high; the lowest place is $w = 1$, $b = 0$. Step, then try the rates 0.11 and 0.13 in its field *rate*.

# %% tags=["code"]
w, b = torch.tensor(4.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)

def valley():
    return (w - 1) ** 2 + 8 * b ** 2

loss = valley()
loss.backward()
print("gradient:", w.grad.item(), b.grad.item())
for name, dw, db in [("along the gradient", 6, 16), ("against it", -6, -16),
                     ("across it", 16, -6), ("straight to the goal", -3, -1)]:
    length = 0.01 / (dw * dw + db * db) ** 0.5
    moved = (w + dw * length - 1) ** 2 + 8 * (b + db * length) ** 2
    print(f"{name}: the loss changes by {(moved - loss).item():+.4f}")

# %% tags=["picture"]
LossLandscape(valley, {"w": w, "b": b}, optimizers=["SGD"], lr=0.07, steps=10)

# %% [markdown] tags=["explain", "keep"]
# **Why.** The gradient, here $(6, 16)$, points in the direction of **steepest ascent**: of all steps of one length, the one along it raises the loss most. Its opposite is
# the **steepest descent**. It need not point at the goal, as you see; and it holds only nearby, so one takes a small step and asks again. This is **gradient descent**:
#
# $$w \leftarrow w - \eta \, \bar w$$
#
# where $\bar w$ is short for the gradient of the loss with respect to $w$, and $\eta$ is the **learning rate**, `lr` in code. Too large, and the step
# lands higher than it began: for $b$ above $\eta = 0.125$.
#
# **Takeaway:** subtract a small multiple of the gradient, and the loss falls.
# PyTorch on [SGD](https://docs.pytorch.org/docs/stable/generated/torch.optim.SGD.html), which does just that.
