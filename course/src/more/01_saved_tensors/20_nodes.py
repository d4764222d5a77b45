# %% [markdown] tags=["section"]
# ## 1. Look inside a node
#
# You can hold a node in your hand: it is `z.grad_fn`. You will look inside two of them.

# %% tags=["predict"]
q11 = predict("01.q11")
q11

# %% tags=["code"]
x = torch.tensor(2.0, requires_grad=True)
y = torch.tensor(3.0, requires_grad=True)
total, product = x + y, x * y

for result in (total, product):
    node = result.grad_fn
    print(node.name())
    print("   comes from:", [(parent.name(), nr) for parent, nr in node.next_functions])
    saved = [name for name in dir(node) if name in ("_saved_self", "_saved_other")]
    print("   saved:     ", saved)

print(product.grad_fn._saved_self, product.grad_fn._saved_other)

# %% tags=["reveal"]
q11.reveal(total, product)

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
# ### Exercise 01.6: walk the graph
#
# Write `node_names(result)`. It returns a list with the `name()` of every node that can be reached from `result.grad_fn` through
# `next_functions`, leaves included. List each node once, in any order.

# %% tags=["exercise"]
def node_names(result):
    return ...

check("01.6", node_names)

# %% [markdown] tags=["section"]
# ## 2. Listening in
#
# Two ways to see the gradient of a tensor in the middle. `retain_grad()` keeps it. A **hook** is a function of yours that is
# called when the gradient is complete. First without either:

# %% tags=["predict"]
q12 = predict("01.q12")
q12

# %% tags=["code"]
x = torch.tensor(2.0, requires_grad=True)
a = 3 * x
b = x * x
product = a * b
z = product + b

z.backward(retain_graph=True)       # keeps what a second pass needs
kept = a.grad
print("a.grad =", kept)
x.grad = None

a.retain_grad()
for name, one in dict(x=x, a=a, b=b, product=product, z=z).items():
    one.register_hook(lambda grad, name=name: print(f"{name:7} is complete: {grad}"))
z.backward()
print("kept: a.grad =", a.grad)

# %% tags=["reveal"]
q12.reveal(kept)

# %% [markdown] tags=["explain"]
# **Read the order.** `z` first, then `product`. Then `b` before `a`: of the nodes that are ready, the engine takes the one that was recorded
# last. `x` comes at the end, when all three contributions have been added up.
#
# A hook may also change the gradient. What it returns goes on instead of what arrived. If it returns nothing, all stays as it is.
# `register_hook` gives you a handle; `handle.remove()` takes the hook out again.

# %% tags=["code"]
x = torch.tensor(2.0, requires_grad=True)
a = 3 * x
handle = a.register_hook(lambda grad: grad * 10)
(a * a).backward(retain_graph=True)
print("with the hook:   ", x.grad)

handle.remove()
x.grad = None
(a * a).backward()
print("without the hook:", x.grad)

# %% [markdown] tags=["exercise"]
# ### Exercise 01.7: a hook that clips
#
# Very large gradients make training jump. Write a hook that keeps every number of the gradient between -1 and 1.
# It gets the arriving gradient, and returns the one that is to go on.

# %% tags=["exercise"]
def clip(grad):
    return ...

check("01.7", clip)

# %% [markdown] tags=["keep"]
# **Takeaway:** `grad_fn` is the node, `next_functions` are its inputs, it saves just what its rule needs, and hooks hear of each gradient.
# PyTorch on [saved tensors](https://docs.pytorch.org/docs/stable/notes/autograd.html#saved-tensors).

# %% tags=["progress"]
progress("01")
