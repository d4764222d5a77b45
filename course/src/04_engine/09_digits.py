# %% [markdown] tags=["section"]
# ## 9. Which number is to blame
#
# The digit is the one from lesson 1, yours if you drew one. The network is smaller than there: no convolutions, two layers, and pictures of 10 by 10
# pixels. So it has $100 \cdot 30 + 30 + 30 \cdot 10 + 10 = 3{,}340$ numbers, not 78,010. But it learns all ten digits, with nothing but your engine.

# %% tags=["code"]
from autolab.lessons.hand import my_digit
from autolab.vision.datasets import Digits

def small(images):                      # without their frame, halved: 10 by 10
    inner = np.asarray(images, float).reshape(-1, 32, 32)[:, 6:26, 6:26]
    return inner.reshape(-1, 10, 2, 10, 2).mean(axis=(2, 4)).reshape(-1, 100)

train, test = Digits(train=True, size=32), Digits(train=False, size=32)
images, labels = small(train.data.numpy()) / 255, train.targets.numpy()
unseen, answers = small(test.data.numpy()) / 255, test.targets.numpy()

draw = np.random.default_rng(0)
W1, b1 = Value(draw.normal(0, 0.1, (100, 30))), Value(np.zeros(30))
W2, b2 = Value(draw.normal(0, 0.1, (30, 10))), Value(np.zeros(10))
parameters = {"W1": W1, "b1": b1, "W2": W2, "b2": b2}

def network(pictures):
    return (pictures @ W1 + b1).tanh() @ W2 + b2

def right():
    return int((network(Value(unseen)).data.argmax(axis=1) == answers).sum())

print("untrained:", right(), "of 360 unseen digits right")

# %% tags=["predict"]
q8 = predict("04.q8")
q8

# %% [markdown]
# Training: forward, clear, backward, a step downhill. An **epoch** is one round through all images, a **batch** the few that one step sees. Five seconds or less.

# %% tags=["code", "picture"]
losses = []
for epoch in range(20):
    for batch in np.array_split(draw.permutation(len(labels)), 45):
        loss = cross_entropy(network(Value(images[batch])), labels[batch])
        for p in parameters.values():
            p.grad = 0.0
        loss.backward()
        for p in parameters.values():
            p.data = p.data - 0.5 * p.grad
        losses.append(float(loss.data))
found = sum(np.size(p.grad) for p in parameters.values())
print(f"{found:,} gradients from one run forward and one back")
print("trained:", right(), "of 360 unseen digits right")
axes = autolab.viz.plot_losses({"your engine": losses}, log=True)

# %% tags=["reveal"]
q8.reveal()

# %% [markdown] tags=["explain"]
# Now the question of the course. One digit, one loss, one backward. The number with the largest gradient is the one whose change would help most. And is it true? autolab computes the
# same network with its own engine. After that, your engine at work on the digit: the cell writes a page that needs neither Python nor network. Show it to someone.

# %% tags=["code"]
image, label = my_digit()
digit, truth = Value(small(image.numpy())), np.array([label])
for p in parameters.values():
    p.grad = 0.0
loss = cross_entropy(network(digit), truth)
loss.backward()
guess = network(digit).data.argmax()
print(f"a {label}, read as {guess}; the loss is {loss.data:.2f}")
name = max(parameters, key=lambda n: np.abs(parameters[n].grad).max())
grad = parameters[name].grad
place = [int(i) for i in np.unravel_index(np.abs(grad).argmax(), grad.shape)]
print(f"most to blame: {name}{place}, its gradient {grad[tuple(place)]:.2f}")

theirs = {n: autolab.tensor(p.data, requires_grad=True) for n, p in parameters.items()}
hidden = (autolab.tensor(digit.data) @ theirs["W1"] + theirs["b1"]).tanh()
scores = hidden @ theirs["W2"] + theirs["b2"]
autolab.nn.functional.cross_entropy(scores, autolab.tensor([label])).backward()
same = [np.allclose(theirs[n].grad, p.grad, atol=1e-12) for n, p in parameters.items()]
print("autolab has the same gradients:", all(same))

# %% tags=["picture"]
for p in (digit, *parameters.values()):
    p.grad = 0.0
loss = cross_entropy(network(digit), truth)
explorer = autolab.explore(loss)
explorer.to_html("my_engine.html", title="My engine, and a digit")
explorer

# %% [markdown]
# With an engine of your own you can also test what you believe about training. A list of what is trained, and momentum, as in lesson 3:

# %% tags=["predict"]
q9 = predict("04.q9")
q9

# %% tags=["code"]
a, b, c = Value(1.0), Value(2.0), Value(3.0)
trained, last = [a, b, c], [0.0, 0.0, 0.0]

def step(frozen=()):
    for p in trained:
        p.grad = 0.0
    (a * b * c).backward()
    for i, p in enumerate(trained):
        p.grad = 0.0 if p in frozen else p.grad
        last[i] = 0.9 * last[i] - 0.1 * p.grad
        p.data += last[i]

step()
c = Value(3.0)                          # another number in its place
before = {"a": a.data, "b": b.data, "c": c.data}
step(frozen=[a])
moved = [name for name, p in zip("abc", (a, b, c)) if p.data != before[name]]
print("moved:", moved)

# %% tags=["reveal"]
q9.reveal(moved)

# %% [markdown] tags=["keep"]
# **Takeaway:** one run forward, one back, and every number knows its part. PyTorch trains
# [the same way](https://docs.pytorch.org/tutorials/beginner/basics/optimization_tutorial.html).

# %% tags=["progress"]
progress("04")
