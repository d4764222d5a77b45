# %% [markdown] tags=["section"]
# ## 1. Look inside a node
#
# A node is an object like any other, so you can look at its attributes. Let's compare the node of a sum, its `grad_fn`, with the node of a product.

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
# `next_functions` leads from a node to the nodes of its inputs. If you follow it to a leaf, you arrive at a node called `AccumulateGrad`, which has only one job: it adds the arriving gradient to the leaf's `.grad`.

# %% tags=["code"]
z = torch.sin(x) * y + 4
node = z.grad_fn
print(node.name(), [parent and parent.name() for parent, nr in node.next_functions])
node = node.next_functions[0][0]
print(node.name(), [parent and parent.name() for parent, nr in node.next_functions])
node = node.next_functions[1][0]
print(node.name(), "for the leaf", node.variable)

# %% [markdown]
# You can also see the saved tensors in the pictures. In the explorer, open the menu `⋯` and choose *Memory*. Each node then shows how many tensors it has saved. *Inspect* shows their values for the node that you click. In the Graphviz picture, `show_saved=True` draws the saved tensors.

# %% tags=["picture"]
autolab.explore(z)

# %% tags=["picture"]
autolab.viz.make_dot(z, params={"x": x, "y": y}, show_saved=True)

# %% [markdown] tags=["explain"]
# **Why.** For $z = x \cdot y$ the rule is $\bar x = \bar z \cdot y$, so the node of a product still needs the value of $y$ when the gradient comes back. For $z = x + y$ the rule is $\bar x = \bar z$. No value appears in this rule, so the node of a sum keeps nothing. The values that a node keeps are its **saved tensors**. They are the reason why training needs so much more memory than just computing a result.
#
# A node only saves what it will need. For example, if `c` doesn't require a gradient, `x * c` saves `c` for the gradient of `x`, but it doesn't save `x`. Some operations save their result instead of their input. The derivative of $e^x$ is $e^x$, so `exp` keeps what it has just computed.

# %% tags=["code"]
c = torch.tensor(10.0)
print((x * c).grad_fn._saved_other, (x * c).grad_fn._saved_self)
print(torch.exp(x).grad_fn._saved_result)

# %% [markdown] tags=["exercise"]
# ### Exercise 01.6: walk the graph
#
# Write a function `node_names(result)` that returns a list with the `name()` of every node that you can reach from `result.grad_fn` through `next_functions`, including the nodes of the leaves. Each node should be in the list once, in any order.

# %% tags=["exercise"]
def node_names(result):
    return ...

check("01.6", node_names)

# %% [markdown] tags=["section"]
# ## 2. Watch the gradients pass
#
# Now let's look at the gradients while they pass through the graph that you know from lesson 1. The next cell goes through it twice, and the question is about the first time.

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
# **Why.** There are two ways to see the gradient of a tensor in the middle of a graph, and the cell uses both in the second pass. `retain_grad()` keeps the gradient in `.grad`. A **hook** is a function that you write, and the engine calls it as soon as the gradient is complete. Here, the hook prints the gradient.
#
# The printed lines show the order of the pass. The gradient of `z` is complete first, and then the gradient of `product`. After that, `b` comes before `a`, because the engine always takes the ready node that was recorded last. `x` comes at the end, after all three contributions have been added up.
#
# A hook can also change the gradient, because the engine passes on what the hook returns. If a hook returns nothing, the gradient stays as it is. `register_hook` gives you a handle, and `handle.remove()` removes the hook again.

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
# Very large gradients make a training jump, so people often limit them. Write a hook that limits every number of the gradient to the range from -1 to 1. The hook receives the arriving gradient, and it returns the gradient that should be passed on.

# %% tags=["exercise"]
def clip(grad):
    return ...

check("01.7", clip)

# %% [markdown] tags=["keep"]
# **Takeaway:** `grad_fn` is the node of a tensor, and a node saves exactly what its rule needs; a hook receives each gradient as soon as it is complete.
# Read more: PyTorch's page on [saved tensors](https://docs.pytorch.org/docs/stable/notes/autograd.html#saved-tensors).

# %% tags=["progress"]
progress("01")
