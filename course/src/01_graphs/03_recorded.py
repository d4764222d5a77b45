# %% [markdown] tags=["section"]
# ## 3. A graph is recorded while you compute
#
# How does `backward()` know the formula? Read these lines, and answer before you run them.
#
# ```
# x = torch.tensor(2.0, requires_grad=True)     # line 1: I will want a gradient for x
# z = x * x                                     # line 2
# z.backward()                                  # line 3
# ```
#
# Somewhere PyTorch notes what was computed from what, as a **graph**: a **node** for each operation, an arrow for each number that went in.

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
# `grad_fn=<MulBackward0>` is the node, and it is there before `backward()` is called. Here is another graph, rehearsed: you see what `backward()` would do, and nothing is changed. Answer
# what it asks, then step.

# %% tags=["picture"]
x = torch.tensor(3.0, requires_grad=True)
z = x * x
explorer = autolab.explore(z)
explorer.ask("x", "grad", id="01.a1")
explorer

# %% [markdown] tags=["explain", "keep"]
# **Why.** Step 1 is the **forward pass**: it computes the value of `z`, and leaves the node. From step 2 on the gradient comes back: the **backward pass**. It begins with $\bar z = 1$. The rule of
# a product is $\bar a = \bar z \cdot b$ and $\bar b = \bar z \cdot a$. Here both factors are `x`, so two arrows lead from it to the node, and something comes back along each. Together that is $2x$. The
# node's yellow tabs hold both factors, saved for this.
#
# **Takeaway:** the graph is written while you compute, one node for each operation.
# PyTorch says it [here](https://docs.pytorch.org/docs/stable/notes/autograd.html#how-autograd-encodes-the-history).

# %% [markdown] tags=["exercise"]
# ### Exercise 01.1: from a picture to code
#
# This is the graph of a function of two tensors. Write the function. `torch.log` and `torch.sin` are what you need.
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
