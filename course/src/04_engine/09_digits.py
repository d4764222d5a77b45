# %% [markdown] tags=["section"]
# ## 9. Train a network with your engine
#
# Your engine is complete, so let's find out whether it can learn to read digits. The network is smaller than the network in lesson 1: it has two layers and no convolutions, and the pictures have 10 by 10 pixels. So there are $100 \cdot 30 + 30 + 30 \cdot 10 + 10 = 3{,}340$ numbers instead of 78,010. Even so, it learns all ten digits with nothing but your engine.

# %% tags=["code"]
from autolab.lessons.hand import my_digit
from autolab.vision.datasets import Digits

def small(images):                      # cut off the frame and halve: 10 by 10 pixels
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
# The training loop is the one from lesson 1: forward, clear, backward, step. In one **epoch** the loop goes through all images once, and a **batch** is the small group of images that one step uses. The whole training takes about five seconds.

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
# Before the training, the network could only guess, but now it reads nine out of ten digits that it has never seen. Let's look at some digits that it misreads. Would you have read them correctly?

# %% tags=["picture", "cover"]
says = network(Value(unseen)).data.argmax(axis=1)
misread = np.flatnonzero(says != answers)[:10]
axes = plots.images(unseen[misread].reshape(-1, 1, 10, 10),
                    [f"{answers[i]}, read as {says[i]}" for i in misread], columns=5)

# %% [markdown] tags=["explain"]
# You may wonder whether your gradients are also correct. To find out, we take your digit from lesson 1 and compute the gradients twice. First your engine computes them, and then autolab's own engine computes them for the same network.

# %% tags=["code"]
image, label = my_digit()
digit, truth = Value(small(image.numpy())), np.array([label])
for p in parameters.values():
    p.grad = 0.0
loss = cross_entropy(network(digit), truth)
loss.backward()
guess = network(digit).data.argmax()
print(f"your {label} is read as {guess}; the loss is {loss.data:.2f}")

theirs = {n: autolab.tensor(p.data, requires_grad=True) for n, p in parameters.items()}
hidden = (autolab.tensor(digit.data) @ theirs["W1"] + theirs["b1"]).tanh()
scores = hidden @ theirs["W2"] + theirs["b2"]
autolab.nn.functional.cross_entropy(scores, autolab.tensor([label])).backward()
differences = [theirs[n].grad.numpy() - p.grad for n, p in parameters.items()]
largest = max(np.abs(d).max() for d in differences)
print(f"largest difference from autolab's gradients: {largest:.10f}")

# %% tags=["picture"]
for p in (digit, *parameters.values()):
    p.grad = 0.0
loss = cross_entropy(network(digit), truth)
explorer = autolab.explore(loss)
explorer.to_html("my_engine.html", title="My engine, and a digit")
explorer

# %% [markdown] tags=["explain"]
# This is your engine at work on your digit. Your network may misread your digit, just as it misreads the 7 that comes with the course. This isn't surprising, because the network still misreads about one digit in ten. But the gradients are correct, so more images and more training can improve the network. The cell also writes `my_engine.html`, a page that needs neither Python nor the internet, so you can show it to a friend.

# %% tags=["progress"]
progress("04")

# %% [markdown] tags=["keep", "further"]
# **Takeaway:** with one forward pass and one backward pass, the engine computes the gradient of the loss with respect to every number.
# PyTorch trains [in the same way](https://docs.pytorch.org/tutorials/beginner/basics/optimization_tutorial.html).
#
# ## Going further
#
# Where in autolab's engine are the functions that you have just written? In [Read autolab's engine](more/04_read_autolab.ipynb) you look up each of these functions, and you answer review questions about your own engine.
