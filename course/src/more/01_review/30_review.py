# %% [markdown] tags=["section"]
# ## 1. A shortcut in a network
#
# In many networks a block adds its input to its result, so it computes $x + f(x)$. Here $f(x) = 0.4\,x$, and the gradient that arrives at `block` is 5. Work out the gradient of `x` before you step through the picture.

# %% tags=["picture", "look"]
x = torch.tensor(1.0, requires_grad=True)
block = x + 0.4 * x
explorer = autolab.explore(5 * block)
explorer.ask("x", "grad", id="01.a10")
explorer

# %% [markdown] tags=["section"]
# ## 2. Two losses and one network
#
# The network from the lesson reads a 7. We add a layer for letters that the loss doesn't use, and we call `backward()` for two different losses. Answer both questions before you run the cell.

# %% tags=["predict"]
q9 = predict("01.q9")
q9

# %% tags=["predict"]
q10 = predict("01.q10")
q10

# %% tags=["run"]
image, digit = hand.shipped_digit()
image, label = image[None], torch.tensor([digit])
network, other = hand.network(), hand.network()
letters = torch.nn.Linear(64, 26)       # the loss doesn't use these outputs
scores = network(image)
F.cross_entropy(scores, label).backward()
parts = {"fc": network.fc.bias, "letters": letters.bias, "scores": scores}
filled = [name for name in parts if parts[name].grad is not None]
print(".grad is filled for:", filled)

F.cross_entropy(network(image), 0 * label).backward()       # what if it were a 0?
sum(F.cross_entropy(other(image), d) for d in (label, 0 * label)).backward()
apart = (network.fc.bias.grad - other.fc.bias.grad).abs().max().item()
print(f"two passes and one pass over the sum are {apart:.6f} apart")

# %% tags=["reveal"]
q9.reveal(filled)

# %% tags=["reveal"]
q10.reveal()

# %% [markdown] tags=["section"]
# ## 3. Catch a wrong engine
#
# The next cell gives you an engine in which one rule has been changed. So far, your program gives the same result on both engines, so it doesn't prove anything yet. Your task is to change the program until the results differ.
#
# To find such a program, go through the ideas of the lesson, one at a time, and try each idea in your program: for example, a number that is used twice, a second `backward()`, a step, or a `detach()`. As soon as the results differ, remove everything that isn't needed for the difference. What is left shows you the rule. Then name the rule with `game.name("…")`. The list of names comes with the game.

# %% tags=["catch"]
game = autolab.specimens.catch(seed=1, level=1)

def mine():
    x = torch.tensor(2.0, requires_grad=True)
    y = (x * 3).exp()               # change this until the two engines differ
    y.backward()
    return x.grad

game.try_(mine)

# %% tags=["words"]
in_words("01.w1")

# %% tags=["words"]
in_words("01.w2")

# %% [markdown] tags=["keep", "explain"]
# **Why this matters.** If you believed that only the last path counts, you would build exactly this engine, and it would work for every chain. So a test is only useful if it contains a case in which a wrong rule gives a wrong number.
#
# **Takeaway:** paths add up, passes add up, and only leaves keep their gradient.
# Read more: PyTorch's page on [how autograd works](https://docs.pytorch.org/docs/stable/notes/autograd.html).

# %% tags=["progress"]
progress("01")
