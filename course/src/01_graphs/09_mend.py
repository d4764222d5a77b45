# %% [markdown] tags=["section"]
# ## 9. Mend the network
#
# Back to the digit, with all you know. Three questions first: you have met them before, in other clothes. In the picture $f(x) = 0.4\,x$, and what arrives at `block` is 5.

# %% tags=["picture", "look"]
x = torch.tensor(1.0, requires_grad=True)
block = x + 0.4 * x                 # as in many networks: x + f(x)
explorer = autolab.explore(5 * block)
explorer.ask("x", "grad", id="01.a10")
explorer

# %% tags=["predict"]
q9 = predict("01.q9")
q9

# %% tags=["predict"]
q10 = predict("01.q10")
q10

# %% tags=["run"]
network, other = hand.network(), hand.network()
letters = torch.nn.Linear(64, 26)       # outputs for letters, which nothing uses
scores = network(image)
F.cross_entropy(scores, label).backward()
parts = {"fc": network.fc.bias, "letters": letters.bias, "scores": scores}
filled = [name for name in parts if parts[name].grad is not None]
print(".grad of:", filled)

F.cross_entropy(network(image), 0 * label).backward()       # and if it were a 0?
sum(F.cross_entropy(other(image), d) for d in (label, 0 * label)).backward()
same = torch.allclose(network.fc.bias.grad, other.fc.bias.grad)
print("two passes give the gradient of the sum:", same)

# %% tags=["reveal"]
q9.reveal(filled)

# %% tags=["reveal"]
q10.reveal()

# %% [markdown] tags=["exercise"]
# ### Exercise 01.5: mend a network
#
# Write the rest of the loop: `steps` steps of gradient descent on all of `network.parameters()`.

# %% tags=["exercise"]
def mend(network, image, label, lr, steps):
    for _ in range(steps):
        loss = F.cross_entropy(network(image), label)
    return network

check("01.5", mend)

# %% [markdown]
# Now the digit of section 1. To see what it costs, count how many of 180 digits from 0 to 4, by other hands, the network reads rightly.

# %% tags=["run"]
others, digits = hand.others()

def report(network):
    with torch.no_grad():
        says = network(image).argmax().item()
        loss = F.cross_entropy(network(image), label).item()
        right = (network(others).argmax(1) == digits).sum().item()
    print(f"your {pad.label}: it says {says}, loss {loss:.2f};",
          f"others: {right} of {len(digits)}")

network = hand.network()
report(network)
loop = mend if solved("01.5") else hand.mend        # yours, as soon as it is right
loop(network, image.detach(), label, lr=0.001, steps=40)
report(network)

# %% [markdown] tags=["explain"]
# It reads your digit, or is on the way; and it has *forgotten* some of what it knew: after the shipped 7 it reads 149 of the 180, where it read 177. Nothing in your loss asked it to
# keep them. Try `lr=0.01`: the steps are so long that it forgets all of it.
#
# So the answer to the question: *each* of the 78,010 has its share of the blame, its gradient says how much, and all of them move a little. Look at the whole graph, from the loss
# down to your pixels. The cell also writes `my_digit.html`, a page for somebody who was not here.

# %% tags=["picture", "look"]
image.grad = None
loss = F.cross_entropy(network(image), label)
explorer = autolab.explore(loss)
autolab.viz.html.write("my_digit.html", [pad, explorer],
                       title=f"A {pad.label}, and the 78,010 numbers that read it")
explorer

# %% [markdown] tags=["keep"]
# **Takeaway:** loss, `backward()`, a small step down, clear. That is learning. Lesson 2 makes it fast; lesson 3 teaches the network your hand without forgetting.
# PyTorch on [`torch.optim`](https://docs.pytorch.org/docs/stable/optim.html).

# %% tags=["progress"]
progress("01")
