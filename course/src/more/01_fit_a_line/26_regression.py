# %% [markdown] tags=["section"]
# ## 1. Fit a line
#
# Everything comes together. You fit a line $a + b x$ to 100 points that were made with $a = 1$ and $b = 2$, plus noise. First with the
# gradients by hand, then by the graph, then with an optimizer, then with a module. All four have to find the same line.

# %% tags=["code"]
np.random.seed(42)
x_data = np.random.rand(100, 1)
y_data = 1 + 2 * x_data + 0.1 * np.random.randn(100, 1)
x = torch.from_numpy(x_data).float()
y = torch.from_numpy(y_data).float()
print(x.shape, y.shape, x.requires_grad)

# %% [markdown]
# **1. By hand.** The loss is the mean of the squared errors, $\frac1n \sum e_i^2$ with $e_i = y_i - (a + b x_i)$. Between the loss and `a` lie four
# nodes: the mean, the square, the subtraction, and the addition. Multiply along the path: $\frac1n \cdot 2 e_i \cdot (-1) \cdot 1$, and add over the 100 points. For `b` there is
# one more factor, $x_i$. So this needs nothing but NumPy:

# %% tags=["code"]
torch.manual_seed(42)
a, b = torch.randn(1).item(), torch.randn(1).item()       # all four ways start here
for epoch in range(1000):
    error = y_data - (a + b * x_data)
    a = a - 0.1 * -2 * error.mean()
    b = b - 0.1 * -2 * (x_data * error).mean()
print(f"a = {a:.4f}, b = {b:.4f}")

# %% [markdown] tags=["exercise"]
# ### Exercise 01.13: by hand, with one weight more
#
# Now a parabola, $a + b x + c x^2$, and three gradients. Change the code below: it is still the one for the line. No `backward()` here.

# %% tags=["exercise"]
def parabola_gradients(x, y, a, b, c):
    error = y - (a + b * x)
    grad_a = -2 * error.mean()
    grad_b = -2 * (x * error).mean()
    grad_c = ...
    return grad_a, grad_b, grad_c

check("01.13", parabola_gradients)

# %% [markdown]
# **2. By the graph.** The loop below needs no formula for the gradients. First an attempt that fails. This error is on purpose:

# %% tags=["code", "raises-exception"]
torch.manual_seed(42)
a = torch.randn(1, requires_grad=True)
b = torch.randn(1, requires_grad=True)
for epoch in range(2):
    loss = ((y - (a + b * x)) ** 2).mean()
    loss.backward()
    a = a - 0.1 * a.grad
    b = b - 0.1 * b.grad

# %% [markdown] tags=["explain"]
# **Why.** `a = a - …` makes a new `a`: the result of a subtraction, not a leaf. In the next turn its `.grad` is `None`, and `0.1 * None` is what Python
# complains about. The way out is that of section 8: change the leaf in place, under `no_grad()`.

# %% tags=["code"]
def fit_with_graph(epochs=1000, lr=0.1, clear=True):
    torch.manual_seed(42)
    a = torch.randn(1, requires_grad=True)
    b = torch.randn(1, requires_grad=True)
    losses = []
    for epoch in range(epochs):
        loss = ((y - (a + b * x)) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            a -= lr * a.grad
            b -= lr * b.grad
        if clear:
            a.grad.zero_()
            b.grad.zero_()
        losses.append(loss.item())
    return a, b, losses

a, b, losses = fit_with_graph()
print(f"a = {a.item():.4f}, b = {b.item():.4f}")
print(f"loss: {losses[0]:.4f} at first, {losses[-1]:.6f} at last")

# %% [markdown]
# One step of this loop, to be stepped through. `x` and `y` are data, so no gradient goes there.

# %% tags=["picture"]
a = torch.tensor([0.5], requires_grad=True)
b = torch.tensor([1.0], requires_grad=True)
few_x, few_y = x[:3], y[:3]
loss = ((few_y - (a + b * few_x)) ** 2).mean()
autolab.explore(loss)

# %% tags=["predict"]
q29 = predict("01.q29")
q29

# %% [markdown]
# **3. With an optimizer.** It does the update and the clearing, of what it was given.

# %% tags=["code"]
torch.manual_seed(42)
a = torch.randn(1, requires_grad=True)
b = torch.randn(1, requires_grad=True)
optimizer = torch.optim.SGD([a, b], lr=0.1)
for epoch in range(1000):
    loss = ((y - (a + b * x)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"a = {a.item():.4f}, b = {b.item():.4f}")

# %% tags=["reveal"]
q29.reveal()

# %% [markdown]
# **4. With a module.** A **module** holds the weights, and knows how to compute. `nn.Parameter` is a leaf with the flag on, and a module finds its own. (`nn.Linear(1, 1)` is the same
# line, ready made.)

# %% tags=["code"]
nn = torch.nn

class Line(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(1))
        self.weight = nn.Parameter(torch.randn(1))

    def forward(self, x):
        return self.bias + self.weight * x

torch.manual_seed(42)
model = Line()
print([name for name, p in model.named_parameters()])
loss_function = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(1000):
    loss = loss_function(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"a = {model.bias.item():.4f}, b = {model.weight.item():.4f}")

# %% [markdown]
# A layer begins with small random weights. Here they shall begin ten times smaller still.

# %% tags=["predict"]
q35 = predict("01.q35")
q35

# %% tags=["code"]
layer, outcome = nn.Linear(1, 1), "changed"
try:
    layer.weight.mul_(0.1)
except RuntimeError as error:
    outcome = error
print(outcome)

with torch.no_grad():                   # as nn.init has it
    layer.weight.mul_(0.1)

# %% tags=["reveal"]
q35.reveal(outcome)

# %% [markdown]
# One more guess, about the loop that you wrote by the graph, with its gradients never cleared.

# %% tags=["predict"]
q28 = predict("01.q28")
q28

# %% tags=["code"]
*_, cleared = fit_with_graph(epochs=200)
*_, not_cleared = fit_with_graph(epochs=200, clear=False)
rises = sum(later > earlier for earlier, later in zip(not_cleared, not_cleared[1:]))
print(f"not cleared: the loss rose in {rises} of 199 steps")
fell = sum(later <= earlier for earlier, later in zip(cleared, cleared[1:]))
print(f"cleared:     the loss rose in {199 - fell} of 199 steps")
print(f"after 200 steps: {cleared[-1]:.4f} cleared, {not_cleared[-1]:.4f} not cleared")

# %% tags=["picture"]
runs = {"cleared": cleared, "not cleared": not_cleared}
axes = autolab.viz.plot_losses(runs, log=True)

# %% tags=["reveal"]
q28.reveal(rises)

# %% [markdown]
# Two steps of each, on a smaller loss, compared. What differs is lit in both graphs; *First difference* goes to where they part.

# %% tags=["picture"]
def two_steps(clear):
    w = torch.tensor(3.0, requires_grad=True)
    with autolab.record() as recording:
        for _ in range(2):
            (w * w).backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
            if clear:
                w.grad.zero_()
    return recording

autolab.compare(two_steps(True), two_steps(False), ("cleared", "not cleared")).show()

# %% [markdown] tags=["explain"]
# **Why.** Without clearing, the update is $w \leftarrow w - \eta\,(g_1 + g_2 + \dots + g_t)$: all gradients since the start, added up. At the bottom of the valley
# the last gradient is zero, but the sum is not. So the weights run on, up the other side, until the new gradients have eaten up the old ones. Then
# they come back. It is a ball without friction.
#
# The four ways end at the same line, up to the last digits. That is how it should be: they compute the same gradients, and only who does
# the work changes. And it is a little off $a = 1$, $b = 2$, because the noise moved the best line.

# %% [markdown] tags=["keep"]
# **Takeaway:** forward, clear, `backward()`, step. That is a training loop.
# PyTorch on [`torch.optim`](https://docs.pytorch.org/docs/stable/optim.html).

# %% tags=["progress"]
progress("01")
