# %% [markdown] tags=["section"]
# ## 5. The chain rule is a sum over paths
#
# Networks fork: one number is used in many places. Here `x` makes `a` and `b`, and both meet again in `z`. Take a pencil, answer what the picture asks, then step on.
# Then press *Paths*, and choose one. *What if*, among the tools, changes `x` a little, and compares what happens with what the gradient foretold.

# %% tags=["picture"]
x = torch.tensor(2.0, requires_grad=True)
a = 3 * x
b = x * x
z = a * b + b
explorer = autolab.explore(z)
explorer.ask("b", "grad", id="01.a2")
explorer.ask("x", "grad", id="01.a3")
explorer

# %% [markdown] tags=["explain"]
# **Why.** Follow every **path**, a way along the arrows from the result to the leaf. On each, multiply the **local derivatives**: of a node's result with respect to the one input that you came
# through. Then add up the paths, as the list does that *Paths* opens. This is the chain rule for several variables. Turn `x` a little, and the change reaches `z` on every path at
# once.

# %% tags=["predict"]
q4 = predict("01.q4")
q4

# %% tags=["code"]
x = torch.tensor(1.0, requires_grad=True)
y = x
for _ in range(20):
    y = y + y
y.backward()
print("every path adds 1, and together they give", x.grad)

# %% tags=["reveal"]
q4.reveal(x.grad)

# %% [markdown] tags=["explain", "keep"]
# **Why.** Twenty nodes, a million paths, and `backward()` took twenty steps. It visits each node once, when all has arrived there, and hands on the *sum*: that one visit stands
# for every path through the node. This is the answer to section 1. Going backwards takes one walk for each result, and a network has a single one, its loss.
# Going forwards would take one walk for each of 78,010 inputs. It is called **reverse mode**, or backpropagation.
#
# Here is an engine with one rule changed: it keeps what came *last* along the paths, where it should add. Write a program that
# shows it.
#
# **Takeaway:** multiply along a path, add over paths; `backward()` does it with one visit to each node.
# PyTorch's tutorial: [a gentle introduction to autograd](https://docs.pytorch.org/tutorials/beginner/blitz/autograd_tutorial.html).

# %% tags=["catch"]
game = torch.specimens.catch(seed=1, level=1)

def mine():
    x = torch.tensor(2.0, requires_grad=True)
    y = (x * 3).exp()               # change this until the two engines differ
    y.backward()
    return x.grad

game.try_(mine)

# %% tags=["words"]
in_words("01.w1")

# %% [markdown] tags=["exercise"]
# ### Exercise 01.3: sum over the paths
#
# A small network with five numbers. Write the derivative of `L` with respect to `a`, by hand: two paths.
#
# ```
# b = w1 * a
# c = w2 * a
# d = w3 * b + w4 * c
# L = 10 - d
# ```

# %% tags=["exercise"]
def slope(a, w1, w2, w3, w4):
    return ...

check("01.3", slope)
