# %% [markdown] tags=["section"]
# ## 3. What a node remembers
#
# You can hold a node in your hand: it is `z.grad_fn`. You will look inside two of them.

# %% tags=["predict"]
q4 = predict("01.q4")
q4

# %% tags=["code"]
x = torch.tensor(2.0, requires_grad=True)
y = torch.tensor(3.0, requires_grad=True)
total, product = x + y, x * y

for result in (total, product):
    node = result.grad_fn
    print(node.name())
    print("   comes from:", [(parent.name(), nr) for parent, nr in node.next_functions])
    print("   saved:     ", [name for name in dir(node) if name in ("_saved_self", "_saved_other")])

print(product.grad_fn._saved_self, product.grad_fn._saved_other)

# %% tags=["reveal"]
q4.reveal(total, product)

# %% [markdown]
# `next_functions` leads from a node to the nodes of its inputs. At a leaf the walk ends in a node called `AccumulateGrad`. It has
# one job: to add what arrives to the leaf's `.grad`.

# %% tags=["code"]
z = torch.sin(x) * y + 4
node = z.grad_fn
print(node.name(), [parent and parent.name() for parent, nr in node.next_functions])
node = node.next_functions[0][0]
print(node.name(), [parent and parent.name() for parent, nr in node.next_functions])
node = node.next_functions[1][0]
print(node.name(), "of y:", node.variable is y)

# %% [markdown]
# The pictures show what is saved. In the stepper each saved tensor is a yellow tab on its node: click a node to see it. In the
# graphviz picture `show_saved=True` draws them.

# %% tags=["picture"]
autolab.explore(z)

# %% tags=["picture"]
autolab.viz.make_dot(z, params={"x": x, "y": y}, show_saved=True)

# %% [markdown] tags=["explain"]
# **Why.** To compute $\bar x = \bar z \cdot y$ later, the node of a product must still have the value of $y$ when the gradient comes back.
# For $z = x + y$ the rule is $\bar x = \bar z$: no value appears in it, so none is kept. What a node keeps are its **saved tensors**. They
# are the reason why training needs so much more memory than just computing a result.
#
# A node saves only what it will need. If `c` requires no gradient, `x * c` saves `c` (for the gradient of `x`), but not `x`. And some
# operations save their result rather than their input: the derivative of $e^x$ is $e^x$, so `exp` keeps what it computed.

# %% tags=["code"]
c = torch.tensor(10.0)
print((x * c).grad_fn._saved_other, (x * c).grad_fn._saved_self)
print(torch.exp(x).grad_fn._saved_result)

# %% [markdown] tags=["exercise"]
# ### Exercise 01.3: walk the graph
#
# Write `node_names(result)`. It returns a list with the `name()` of every node that can be reached from `result.grad_fn` through
# `next_functions`, leaves included. List each node once, in any order.

# %% tags=["exercise"]
def node_names(result):
    return ...

check("01.3", node_names)

# %% [markdown] tags=["keep"]
# **Take along:** `grad_fn` is the node, `next_functions` are its inputs, and it saves just what its gradient rule needs.
# PyTorch on [saved tensors](https://docs.pytorch.org/docs/stable/notes/autograd.html#saved-tensors).
