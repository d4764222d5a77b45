# %% [markdown] tags=["section"]
# ## 6. The chain rule is a sum over paths
#
# In a network, one number is often used in several places. Here `x` is used to compute `a` and `b`, and then `a` and `b` meet again in `z`. Take a pencil and work out the two gradients that the picture asks for. Then step through the picture, and choose *Paths* in the menu `⋯` to compare the paths with your notes. With *What if* you can nudge `x` and see whether the gradient predicted the change of `z`.

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
# **Why.** A **path** is a way along the arrows from the result back to the leaf. Each edge on the path has a **local derivative**. This is the derivative of a node's result with respect to the input that the path goes through. Multiply the local derivatives along each path, and then add up all the paths. This is the chain rule for functions of several variables. To see why it is true, imagine a nudge of `x`: the nudge reaches `z` along every path at once, so every path contributes its part.

# %% tags=["predict"]
q4 = predict("01.q4")
q4

# %% tags=["code"]
x = torch.tensor(1.0, requires_grad=True)
y = x
for _ in range(20):
    y = y + y
y.backward()
print("Every path contributes 1. Together they give", x.grad)

# %% tags=["reveal"]
q4.reveal(x.grad)

# %% [markdown] tags=["explain"]
# **Why.** There are only twenty nodes, but a million paths. `backward()` doesn't follow the paths one by one. Instead it visits each node once, after every gradient for that node has arrived, and passes on the *sum*. This single visit covers all the paths through the node, so twenty visits are enough.
#
# This also answers the question from section 2, as the next picture shows.

# %% tags=["picture"]
axes = plots.modes(inputs=4)

# %% [markdown] tags=["explain", "keep"]
# If we worked from the inputs to the result, we would need one pass for each of the 78,010 parameters. If we work from the result back to the inputs, one pass is enough for all of them, because a network has a single result, its loss. This way of working is called **reverse mode**, or backpropagation.
#
# **Takeaway:** multiply along each path and add over the paths; `backward()` does this with one visit to each node.
# Read more: PyTorch's tutorial [A gentle introduction to autograd](https://docs.pytorch.org/tutorials/beginner/blitz/autograd_tutorial.html).

# %% [markdown] tags=["exercise"]
# ### Exercise 01.3: sum over the paths
#
# Here is a small network of five numbers, in which two paths lead from `L` back to `a`. Work out the derivative of `L` with respect to `a` by hand, and write it as a formula.
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

# %% [markdown] tags=["open"]
# ### Open task: your own graph
#
# Invent a function of two numbers in which at least one number is used twice. Draw its graph on paper, choose values, and compute both gradients by hand. Then write the function in the empty cell, call `backward()`, and compare. `autolab.explore(…)` shows you the graph, so you can check your drawing too. If something differs, find the path that you forgot.

# %% tags=["open", "code"]
# your function, its gradients, and its picture
