# %% [markdown] tags=["section"]
# ## 10. A training loop
#
# Now you know all the parts of training. Let's put them together, first on a small problem that we can see. Here are 50 points that lie near the line $y = 1 + 2x$. We look for a line $a + b x$ that fits them, and we start with $a = 0$ and $b = 0$.

# %% tags=["code"]
torch.manual_seed(0)
x = torch.linspace(0, 1, 50)
y = 1 + 2 * x + 0.1 * torch.randn(50)

a = torch.tensor(0.0, requires_grad=True)
b = torch.tensor(0.0, requires_grad=True)
losses = []
for step in range(200):
    loss = ((a + b * x - y) ** 2).mean()    # forward: how wrong is the line?
    a.grad = b.grad = None                  # clear the gradients of the last step
    loss.backward()                         # backward: which way is up?
    with torch.no_grad():                   # step downhill
        a -= 0.5 * a.grad
        b -= 0.5 * b.grad
    losses.append(loss.item())
print(f"a = {a.item():.2f}, b = {b.item():.2f}")
print(f"loss: {losses[0]:.2f} at first, {losses[-1]:.4f} at the end")

# %% tags=["picture"]
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
left.plot(x, y, ".", label="points")
left.plot(x, (a + b * x).detach(), label="line after 200 steps")
left.legend()
right.semilogy(losses)
right.set(xlabel="step", ylabel="loss")
plt.show()

# %% [markdown]
# These four steps, forward, clear, backward and step, are the same for every network, however large it is. So that you don't have to write the clearing and the step again and again, PyTorch has an **optimizer** for them. You give the optimizer some of your tensors, and it takes care of these tensors in every step. Which tensors does it need?

# %% tags=["predict"]
q29 = predict("01.q29")
q29

# %% tags=["code"]
a = torch.tensor(0.0, requires_grad=True)
b = torch.tensor(0.0, requires_grad=True)
optimizer = torch.optim.SGD([a, b], lr=0.5)
for step in range(200):
    loss = ((a + b * x - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"a = {a.item():.2f}, b = {b.item():.2f}")

# %% tags=["reveal"]
q29.reveal()

# %% [markdown] tags=["explain", "keep"]
# **Why.** Both loops find the same line, because they compute the same gradients and take the same steps. `optimizer.zero_grad()` clears the two leaves that we handed over, and nothing else has to be cleared. The loss falls quickly at first, and later it levels off at about 0.01, because the points are noisy and no line can pass through all of them. For the same reason, the line differs a little from $1 + 2x$: the noise has moved the best line.
#
# **Takeaway:** a training loop repeats four steps: forward, clear, backward and step.
# Read more: PyTorch's page on [`torch.optim`](https://docs.pytorch.org/docs/stable/optim.html).
