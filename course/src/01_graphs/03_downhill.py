# %% [markdown] tags=["section"]
# ## 3. Downhill
#
# Now that we have a gradient, what can we do with it? With one number, we only had to choose between left and right, but with two numbers, $w$ and $b$, we can walk in any direction. Let's take the loss $(w-1)^2 + 8b^2$ and try four directions, with steps of the same length.

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
LossLandscape(valley, {"w": w, "b": b}, optimizers=["SGD"], lr=0.07, steps=30)

# %% [markdown] tags=["explain", "keep"]
# **Why.** The picture shows the loss from above, where darker means higher, so the lowest point is at $w = 1$, $b = 0$. Step through the path, and then type the rates 0.11 and 0.13 into the field *rate* to see what a larger step does.
#
# The gradient, here $(6, 16)$, points in the direction of **steepest ascent**. This means that, among all steps of the same length, a step along the gradient raises the loss the most, and a step in the opposite direction lowers it the most. As you can see in the picture, this **steepest descent** doesn't have to point straight at the goal. It is also only valid close to the current point, so we take a small step, compute the gradient again, and take the next step. This method is called **gradient descent**:
#
# $$w \leftarrow w - \eta \, \bar w$$
#
# Here $\bar w$ is short for the gradient of the loss with respect to $w$, and $\eta$ is the **learning rate**, which is called `lr` in code. If the learning rate is too large, the step overshoots the valley and the loss goes up. In the direction of $b$ this happens above $\eta = 0.125$.
#
# **Takeaway:** subtract a small multiple of the gradient from each number, and the loss falls.
# Read more: PyTorch's page on [SGD](https://docs.pytorch.org/docs/stable/generated/torch.optim.SGD.html), which does exactly this.
