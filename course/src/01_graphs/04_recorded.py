# %% [markdown] tags=["section"]
# ## 4. Where the formula is kept
#
# How does `backward()` know which formula to differentiate, when we never told it? Read these three lines, and answer the question before you run them.
#
# ```
# x = torch.tensor(2.0, requires_grad=True)     # line 1: I will ask for a gradient for x
# z = x * x                                     # line 2
# z.backward()                                  # line 3
# ```
#
# PyTorch keeps a **graph**, that is, a record of how each number was computed from other numbers.

# %% tags=["predict"]
q2 = predict("01.q2")
q2

# %% tags=["code"]
x = torch.tensor(2.0, requires_grad=True)
print("after line 1:", x)

z = x * x
print("after line 2:", z)

z.backward()
print("after line 3: x.grad =", x.grad)

# %% tags=["reveal"]
q2.reveal()

# %% [markdown]
# A graph has a **node** for each operation, and an arrow for each input of the operation. You have just seen a node: `grad_fn=<MulBackward0>` is the node of the product, and it exists before you call `backward()`. The next picture shows such a graph as a **dry run**: you see what `backward()` would do, but nothing is changed. Answer the question in the picture first, and then step through it.

# %% tags=["picture"]
x = torch.tensor(3.0, requires_grad=True)
z = x * x
explorer = autolab.explore(z)
explorer.ask("x", "grad", id="01.a1")
explorer

# %% [markdown] tags=["explain", "keep"]
# **Why.** Step 1 is the **forward pass**, which computes the value of `z`. Because an input requires a gradient, this step also records a node. The following steps are the **backward pass**, in which gradients flow from the result back to the inputs. The backward pass starts with $\bar z = 1$, because the slope of a number with respect to itself is 1.
#
# For a product $z = a \cdot b$ the rule is $\bar a = \bar z \cdot b$ and $\bar b = \bar z \cdot a$. In this picture both factors are `x`, so two arrows connect `x` with the node, and a gradient flows back along each of them. The two gradients are added, and the sum is $2x$, as you would expect. The node saved both factors in the forward pass, because the rule needs them later. You can see that in the picture if you open the menu `⋯` and choose *Memory*.
#
# **Takeaway:** the graph is recorded while you compute, with one node for each operation.
# Read more: PyTorch's page on [how autograd encodes the history](https://docs.pytorch.org/docs/stable/notes/autograd.html#how-autograd-encodes-the-history).

# %% [markdown] tags=["exercise"]
# ### Exercise 01.1: from a picture to code
#
# This is the graph of a function of two tensors, with the result on the right. Use `torch.log` and `torch.sin` to write a function that records exactly this graph.
#
# ```
# x1 ───────┐
#           ├── Mul ── Log ──┐
# x2 ──┬────┘                ├── Mul ── w
#      └────────── Sin ──────┘
# ```

# %% tags=["exercise"]
def w(x1, x2):
    return ...

check("01.1", w)
