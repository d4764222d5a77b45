# %% [markdown] tags=["section"]
# ## 1. A result with three numbers
#
# So far, we have always called `backward()` on a single number. Let's see what happens if the result has three numbers.

# %% tags=["predict"]
q17 = predict("01.q17")
q17

# %% tags=["code", "raises-exception"]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x * x
y.backward()

# %% tags=["reveal"]
q17.reveal()

# %% [markdown] tags=["explain"]
# **Why.** If the result is a single number, it makes sense to start with $\bar y = 1$, and PyTorch fills in this 1 for you. The error message calls this "implicitly created". But if the result has three numbers, you have to say how much each of them counts. You do that with `gradient=`, a tensor with the shape of `y`.

# %% tags=["predict"]
q33 = predict("01.q33")
q33

# %% tags=["code"]
def gradient_for(weights):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * x
    y.backward(gradient=torch.tensor(weights))
    return x.grad

print("weights 1, 1, 1:  ", gradient_for([1.0, 1.0, 1.0]))
first_only = gradient_for([1.0, 0.0, 0.0])
print("weights 1, 0, 0:  ", first_only)
print("weights 0, 10, -1:", gradient_for([0.0, 10.0, -1.0]))

# %% tags=["reveal"]
q33.reveal(first_only)

# %% [markdown]
# If all weights are one, you get the same result as with `y.sum().backward()`. To see what the weights do in general, let's take a function in which every output depends on every input: $y = A x$. The cell also prints its **Jacobian**, which is the table of all partial derivatives $\partial y_i / \partial x_j$, with one row for each output.

# %% tags=["code"]
A = torch.tensor([[1.0, 2.0], [0.0, -1.0], [3.0, 1.0]])
x = torch.tensor([5.0, 7.0], requires_grad=True)
y = A @ x
print("y =", y)

print(torch.autograd.functional.jacobian(lambda x: A @ x, x))

v = torch.tensor([1.0, 10.0, 100.0])
y.backward(gradient=v)
print(x.grad, "=", v @ A)

# %% tags=["picture"]
x = torch.tensor([5.0, 7.0], requires_grad=True)
y = A @ x
explorer = autolab.explore((y * torch.tensor([1.0, 0.0, 1.0])).sum())
explorer.ask("x", "grad", id="01.a7")
explorer

# %% [markdown] tags=["explain"]
# **Why.** As you can see in the output of the cell, the Jacobian $J$ of $y = A x$ is $A$ itself. `backward(gradient=v)` computes $v^\top J$, that is, it weights the rows of the table with $v$ and adds them: $1 \cdot (1, 2) + 10 \cdot (0, -1) + 100 \cdot (3, 1) = (301, 92)$.
#
# So `gradient=` is not a factor in front of the result. It is the gradient that *arrives at* `y` from whatever you compute with `y` later. Every node in the middle of a graph receives such a gradient, too. No node ever builds its Jacobian, because the table would be huge. A node only computes $v^\top J$ for the $v$ that arrives.

# %% [markdown] tags=["section"]
# ## 2. One number used many times
#
# If you add a single number to a table, it is added in every place. This is called **broadcasting**. What is the gradient of a number that is used so many times?

# %% tags=["predict"]
q18 = predict("01.q18")
q18

# %% tags=["code"]
X = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
b = torch.tensor(0.5, requires_grad=True)
row = torch.tensor([10.0, 20.0], requires_grad=True)
(X + b + row).sum().backward()
print("b.grad =  ", b.grad)
print("row.grad =", row.grad)

# %% tags=["reveal"]
q18.reveal(b.grad)

# %% tags=["picture"]
row = torch.tensor([10.0, 20.0], requires_grad=True)
explorer = autolab.explore((X * row).sum())
explorer.ask("row", "grad", id="01.a13")
explorer

# %% tags=["words"]
in_words("01.w12")

# %% [markdown] tags=["explain"]
# **Why.** This is the sum over paths again, because `b` reaches the result through six places. Its gradient is the sum over six paths with the local derivative 1 each: $6$. Each number of `row` reaches the result through three rows: $3$. A gradient always has the shape of its tensor, so wherever broadcasting has repeated a number, the gradients of the copies are added.

# %% [markdown]
# The same happens with the bias of every layer in a network:

# %% tags=["predict"]
q19 = predict("01.q19")
q19

# %% tags=["code"]
rows, bias = torch.rand(64, 10), torch.zeros(10, requires_grad=True)
(rows + bias).sum().backward()
print("bias.grad =", bias.grad)
each = bias.grad[0]

# %% tags=["reveal"]
q19.reveal(each)

# %% [markdown] tags=["section"]
# ## 3. One product for each step
#
# In a chain of steps, the engine carries a single row backwards, from the result to the input, and multiplies it by the Jacobian of each step. Let's check the row after every step:

# %% tags=["code"]
x = torch.tensor([0.5, 1.0], requires_grad=True)
h = A @ x                   # its Jacobian is A
s = torch.sin(h)            # its Jacobian has cos(h) on the diagonal, 0 elsewhere
result = s.sum()            # its Jacobian is a row of ones
for t in (h, s):
    t.retain_grad()
result.backward()

row = torch.ones(3)
print("at s:", s.grad, "=", row)
row = row @ torch.diag(torch.cos(h.detach()))
print("at h:", h.grad, "=", row)
row = row @ A
print("at x:", x.grad, "=", row)

# %% [markdown]
# The engine never writes down the diagonal matrix, because for $\sin$ it is enough to multiply each number by its own cosine. So one backward pass gives us the slope of the sine at 101 places:

# %% tags=["code"]
x = torch.linspace(0, 2 * torch.pi, 101, requires_grad=True)
y = torch.sin(x)
y.backward(gradient=torch.ones_like(y))
apart = (x.grad - torch.cos(x.detach())).abs().max().item()
print(f"largest distance from the cosine: {apart:.6f}")

# %% tags=["picture"]
sine = {"sin": y.detach().tolist(), "its gradient": x.grad.tolist()}
axes = autolab.viz.plot_losses(sine, title="The sine and its gradient, from 0 to 2π")
axes.set(xlabel="place", ylabel="")
plt.show()

# %% [markdown] tags=["section"]
# ## 4. The Jacobian of a weight matrix
#
# In a network, we usually need the gradient of a weight matrix rather than of its input. Let's look at $y = W x$ again, but this time as a function of $W$. A Jacobian then has one entry for each pair of an output and a weight.

# %% tags=["code"]
W = A.clone().requires_grad_()
x, v = torch.tensor([5.0, 7.0]), torch.tensor([1.0, 10.0, 100.0])
J = torch.autograd.functional.jacobian(lambda W: W @ x, W)
print("shape of the Jacobian:", tuple(J.shape))
print("entries that are not 0:", (J != 0).sum().item(), "of", J.numel())

y = W @ x
y.backward(gradient=v)
print("W.grad =", W.grad)
print("the outer product of v and x:", torch.outer(v, x))

# %% [markdown] tags=["explain"]
# **Why.** Row $i$ of $W$ only influences output $i$, and its local derivatives are the numbers in $x$. So most entries of the Jacobian are zero. Here, 12 of the 18 entries are zero. In a layer with 1,000 inputs and 1,000 outputs, the Jacobian has a billion entries, and all but a million of them are zero. However, the gradient needs none of these zeros. Each entry of $\bar W$ is the gradient arriving at its output, multiplied by its input, $\bar W_{ij} = v_i\, x_j$. So the whole gradient is the outer product of $v$ and $x$.
#
# The picture shows this Jacobian as a table. It has a row for each output, and the six weights stand side by side. Each row contains $x$ at the positions of its own weights, and zeros elsewhere.

# %% tags=["picture"]
_, axes = plt.subplots(figsize=(6, 2.4), layout="constrained")
axes.imshow(J.reshape(3, 6), cmap="Blues")
axes.set_xticks(range(6), [f"W[{i}, {j}]" for i in range(3) for j in range(2)])
axes.set_yticks(range(3), [f"y[{i}]" for i in range(3)])
for i in range(3):
    for k, number in enumerate(J.reshape(3, 6)[i].tolist()):
        axes.text(k, i, f"{number:g}", ha="center", va="center",
                  color="white" if number else "black")
plt.show()

# %% [markdown]
# A layer usually has a bias too, so it computes $y = W x + b$, and a loss is computed from $y$. Then the chain rule has two factors: the gradient of the loss with respect to $y$, and the Jacobian of the layer. Let's compute both with `jacobian`, multiply them, and compare the products with what `backward()` has stored.

# %% tags=["code"]
target, b = torch.tensor([0.3, 0.4, 0.3]), torch.ones(3, requires_grad=True)

def layer(W, b):
    return W @ x + b

def mean_square(y):
    return ((y - target) ** 2).mean()

jacobian = torch.autograd.functional.jacobian
W.grad = None
mean_square(layer(W, b)).backward()
arrives = jacobian(mean_square, layer(W, b).detach())       # 3 numbers
of_W, of_b = jacobian(layer, (W, b))                        # 3x3x2 and 3x3 numbers
print("arrives at y:", arrives)
print("times the Jacobian of b:", arrives @ of_b)
print("b.grad:                 ", b.grad)
print("times the Jacobian of W:", torch.einsum("i,ijk->jk", arrives, of_W))
print("W.grad:                 ", W.grad)

# %% [markdown] tags=["explain"]
# **Why.** Both products are equal to what `backward()` has stored. The Jacobian with respect to the bias is the identity matrix, because each number of `b` is added to one output. So the gradient of the bias is just the gradient that arrives. The Jacobian with respect to $W$ has three indices, one for the output and two for the weight, and the product sums over the output. For a layer of a real network this table would be far too large. With 400 inputs and 120 outputs, for example, it would have 5.8 million entries, so `backward()` never builds it.

# %% tags=["words"]
in_words("01.w5")

# %% [markdown] tags=["exercise"]
# ### Exercise 01.9: a Jacobian, row by row
#
# Write `jacobian(f, x)` for a function `f` from a vector to a vector. Use nothing but `backward(gradient=…)`. You get row `i` if only output `i` has a weight of 1 and all other outputs have a weight of 0.

# %% tags=["exercise"]
def jacobian(f, x):
    return ...

check("01.9", jacobian)

# %% [markdown] tags=["keep"]
# **Takeaway:** `backward(gradient=v)` computes $v^\top J$, and `v` has the shape of the result.
# Read more: PyTorch's pages on [`backward`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html) and
# [`jacobian`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.functional.jacobian.html).

# %% tags=["progress"]
progress("01")
