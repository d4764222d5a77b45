# %% [markdown] tags=["section"]
# ## 4. The chain rule is a sum over paths
#
# Here is a graph with a fork. `x` is used to make `a` and `b`, and both meet again in `z`.
#
# ```
# x = 2
# a = 3 * x
# b = x * x
# z = a * b + b
# ```
#
# Take a pencil for this one.

# %% tags=["predict"]
q5 = predict("01.q5")
q5

# %% [markdown]
# First by hand. Follow every way from `z` back to `x`. On each way, multiply the **local derivatives**: the derivative of a node's
# result with respect to the one input that you came through. Then add up the ways.

# %% tags=["code"]
x = 2.0
a, b = 3 * x, x * x

paths = {
    "z, a * b, a, x": 1 * b * 3,
    "z, a * b, b, x (left factor of x * x)": 1 * a * x,
    "z, a * b, b, x (right factor of x * x)": 1 * a * x,
    "z, b, x (left factor of x * x)": 1 * x,
    "z, b, x (right factor of x * x)": 1 * x,
}
for path, product in paths.items():
    print(f"{product:5}  {path}")
print(f"{sum(paths.values()):5}  the sum")

# %% [markdown]
# Then by the engine.

# %% tags=["code"]
x = torch.tensor(2.0, requires_grad=True)
a = 3 * x
b = x * x
z = a * b + b
z.backward()
print(x.grad)

# %% tags=["reveal"]
q5.reveal(x.grad)

# %% [markdown]
# Step through it. Watch `b` in the backward half. Its gradient comes in two parts: at step 7 a 1, through the last `+`, and at
# step 9 a 6, through the product. Only when both are in, at step 11, does the node of `b` send anything to `x`.
# Above the graph are the five paths, with their products: choose one, and it is lit. *What if*, among the tools, changes `x`, and compares what happens with what
# the gradient of 40 predicts.

# %% tags=["picture"]
x = torch.tensor(2.0, requires_grad=True)
a = 3 * x
b = x * x
z = a * b + b
explorer = autolab.explore(z)
explorer.paths(x)                   # all ways from z back to x, one of them lit
explorer

# %% [markdown] tags=["explain"]
# **Why.** In symbols: $\displaystyle \frac{dz}{dx} = \sum_{\text{paths}} \ \prod_{\text{edges}} \frac{\partial\, \text{end of the edge}}{\partial\, \text{start of the edge}}$.
# Multiply along a path, add over the paths. In numbers: $12 + 12 + 12 + 2 + 2 = 40$.
#
# This is the ordinary chain rule for several variables. Wiggle `x` a little: the wiggle reaches `z` on every path at once, and to first
# order the effects add. A program that keeps only the last path, because it writes `grad = …` where it should write `grad += …`, is
# wrong at every fork. It is the most common mistake in home-made engines.

# %% [markdown]
# ### Why backwards
#
# Adding over the paths is fine as a definition. As a method it is hopeless, as the next question shows.

# %% tags=["predict"]
q6 = predict("01.q6")
q6

# %% tags=["code"]
x = torch.tensor(1.0, requires_grad=True)
y = x
for _ in range(20):
    y = y + y
y.backward()
print("every path adds 1, and together they give", x.grad)

# %% tags=["reveal"]
q6.reveal(x.grad)

# %% tags=["picture"]
steps = range(1, 21)
plt.figure(figsize=(6, 3))
plt.semilogy(steps, [2**n for n in steps], color="#D55E00", linestyle="--", label="paths")
plt.semilogy(steps, steps, color="#0072B2", label="nodes that backward() visits")
plt.xlabel("number of times y = y + y")
plt.legend()
plt.show()

# %% [markdown] tags=["explain"]
# **Why.** Twenty nodes, a million paths, and `backward()` still took twenty steps. It does not walk the paths. It visits each node once,
# and hands on the *sum* of what arrived: $\bar y_{k-1} = 1 \cdot \bar y_k + 1 \cdot \bar y_k$. One visit stands for all the paths that lead
# through the node. That is why it may only start when everything has arrived.
#
# One could do the same from the front, and carry the derivative with respect to `x` along. That needs one walk for each *input*. Going
# backwards needs one walk for each *output*. A model has millions of inputs (its weights) and a single output (its **loss**, the number that training makes small). So backwards it is:
# this is **reverse mode**, also called backpropagation. One walk gives all the gradients.

# %% [markdown] tags=["exercise"]
# ### Exercise 01.4: sum over the paths
#
# A small network with five numbers:
#
# ```
# b = w1 * a
# c = w2 * a
# d = w3 * b + w4 * c
# L = 10 - d
# ```
#
# Write the derivative of `L` with respect to `a`, as a formula of the five numbers. Do it by hand: two paths.

# %% tags=["exercise"]
def slope(a, w1, w2, w3, w4):
    return ...

check("01.4", slope)

# %% [markdown] tags=["keep"]
# **Take along:** multiply along a path, add over paths; `backward()` does it with one visit to each node.
# PyTorch's tutorial: [a gentle introduction to autograd](https://docs.pytorch.org/tutorials/beginner/blitz/autograd_tutorial.html).
