# %% [markdown] tags=["section"]
# ## 1. By hand and by graph
#
# The data are 100 points that were made with $a = 1$ and $b = 2$, plus some noise. We look for the line $a + b x$ that fits them best.

# %% tags=["code"]
np.random.seed(42)
x_data = np.random.rand(100, 1)
y_data = 1 + 2 * x_data + 0.1 * np.random.randn(100, 1)
x = torch.from_numpy(x_data).float()
y = torch.from_numpy(y_data).float()
print(x.shape, y.shape, x.requires_grad)

# %% [markdown]
# The first way is by hand. The loss is the mean of the squared errors, $\frac1n \sum e_i^2$ with $e_i = y_i - (a + b x_i)$. Between the loss and `a` there are four nodes: the mean, the square, the subtraction and the addition. If we multiply along the path, we get $\frac1n \cdot 2 e_i \cdot (-1) \cdot 1$, and then we add over the 100 points. For `b` there is one more factor, $x_i$. Since all of this is plain arithmetic, NumPy is all we need:

# %% tags=["code"]
torch.manual_seed(42)
a, b = torch.randn(1).item(), torch.randn(1).item()       # all four ways start here
for epoch in range(1000):
    error = y_data - (a + b * x_data)
    a = a - 0.1 * -2 * error.mean()
    b = b - 0.1 * -2 * (x_data * error).mean()
print(f"a = {a:.4f}, b = {b:.4f}")

# %% [markdown] tags=["exercise"]
# ### Exercise 01.13: by hand, with one more weight
#
# Now fit a parabola, $a + b x + c x^2$, which has three gradients. The code below is still the code for the line, so you have to change it. Don't use `backward()`.

# %% tags=["exercise"]
def parabola_gradients(x, y, a, b, c):
    error = y - (a + b * x)
    grad_a = -2 * error.mean()
    grad_b = -2 * (x * error).mean()
    grad_c = ...
    return grad_a, grad_b, grad_c

check("01.13", parabola_gradients)

# %% [markdown]
# The second way uses the graph, so the next loop needs no formula for the gradients. The first attempt raises an error on purpose:

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
# **Why.** `a = a - …` creates a new `a`, which is the result of a subtraction and not a leaf. In the next turn of the loop, its `.grad` is `None`, and Python complains about `0.1 * None`. You already know the fix from section 9 of the lesson: change the leaf in place, under `no_grad()`.

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
# You can step through one turn of this loop. Notice that no gradient flows to `x` and `y`, because they are data.

# %% tags=["picture"]
a = torch.tensor([0.5], requires_grad=True)
b = torch.tensor([1.0], requires_grad=True)
few_x, few_y = x[:3], y[:3]
loss = ((few_y - (a + b * few_x)) ** 2).mean()
autolab.explore(loss)

# %% [markdown] tags=["section"]
# ## 2. With an optimizer and a module
#
# In the third way you use an optimizer, which updates the tensors that you give it and clears their gradients.

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

# %% [markdown]
# In the fourth way you use a **module**, that is, an object that holds weights and knows how to compute with them. `nn.Parameter` is a leaf that requires a gradient, and a module finds all its parameters by itself. The next cell defines your own module for the line. (`nn.Linear(1, 1)` is the same module, ready to use.)

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
# A layer starts with small random weights. But suppose you want them to be ten times smaller:

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

with torch.no_grad():                   # as nn.init does it
    layer.weight.mul_(0.1)

# %% tags=["reveal"]
q35.reveal(outcome)

# %% [markdown] tags=["section"]
# ## 3. A loop without clearing
#
# Let's run the second loop again, but this time without the two lines that clear the gradients.

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
# Here are two steps of each loop on a smaller loss, side by side. The differences are highlighted in both graphs, and *First difference* takes you to the place where they begin.

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
# **Why.** Without clearing, the update is $w \leftarrow w - \eta\,(g_1 + g_2 + \dots + g_t)$, so it contains all gradients since the start. At the bottom of the valley the last gradient is zero, but the sum is not. The weights therefore keep moving and climb up the other side. When the new gradients have cancelled the old ones, the weights come back, like a ball that rolls without friction.
#
# The four ways end at the same line, up to the last decimal places. That is what we expect, because they compute the same gradients. They only differ in how much of the work you do yourself. The line differs a little from $a = 1$ and $b = 2$, because the noise has moved the best line.

# %% [markdown] tags=["keep"]
# **Takeaway:** every training loop has the same four parts, whether you write them yourself or use an optimizer: forward, clear, `backward()`, step.
# Read more: PyTorch's page on [`torch.optim`](https://docs.pytorch.org/docs/stable/optim.html).

# %% tags=["progress"]
progress("01")
