# %% [markdown] tags=["section"]
# ## 1. A result with three numbers
#
# So far the last tensor was a single number. Now it is three.

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
# **Why.** For a single number, $\bar y = 1$ is the natural start, and it is filled in for you: "implicitly created". For three numbers you have
# to say how much each of them counts. You do that with `gradient=`, a tensor of the shape of `y`.

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
# Weights of one are the same as `y.sum().backward()`. To see what the weights do in general, take a function where every output
# depends on every input: $y = A x$.

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
# **Why.** The **Jacobian** $J$ of a function is the table of all its partial derivatives: $J_{ij} = \partial y_i / \partial x_j$, one row for each output. For
# $y = A x$ it is $A$ itself. `backward(gradient=v)` computes $v^\top J$: the rows of the table, weighted by $v$ and added. Here
# $1 \cdot (1, 2) + 10 \cdot (0, -1) + 100 \cdot (3, 1) = (301, 92)$.
#
# So `gradient=` is not a factor put in front of the result. It is the gradient *arriving at* `y`, from whatever you compute with `y` later. That is
# what each node gets in the middle of a graph, too. No node ever builds a Jacobian: it would be huge. It only computes what
# $v^\top J$ is, for the $v$ that arrives.

# %% [markdown] tags=["section"]
# ## 2. One number used many times
#
# Adding a single number to a table adds it in every place. This is called **broadcasting**.

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
# **Why.** Again the sum over paths. `b` reaches the result through six places, with the local derivative 1 each: $6$. Each number of
# `row` reaches it through three rows: $3$. A gradient always has the shape of its tensor. Where broadcasting spread a number out, the gradient is
# summed back.

# %% [markdown]
# The same in a network:

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
# ## 3. One product a step
#
# Through a chain of steps the engine carries one row, and multiplies it by the Jacobian of each step, from the right end to the left. Check each of them:

# %% tags=["code"]
x = torch.tensor([0.5, 1.0], requires_grad=True)
h = A @ x                   # its Jacobian is A
s = torch.sin(h)            # its Jacobian has cos(h) on the diagonal, 0 elsewhere
result = s.sum()            # its Jacobian is a row of ones
for t in (h, s):
    t.retain_grad()
result.backward()

row = torch.ones(3)
print("at s:", torch.allclose(s.grad, row))
row = row @ torch.diag(torch.cos(h.detach()))
print("at h:", torch.allclose(h.grad, row))
row = row @ A
print("at x:", torch.allclose(x.grad, row), x.grad)

# %% [markdown]
# The diagonal is never written down: $\sin$ multiplies each number by its own cosine. So one walk gives the slope of the sine at 101 places.

# %% tags=["code"]
x = torch.linspace(0, 2 * torch.pi, 101, requires_grad=True)
y = torch.sin(x)
y.backward(gradient=torch.ones_like(y))
print("slopes are cosines:", torch.allclose(x.grad, torch.cos(x.detach()), atol=1e-6))

# %% tags=["picture"]
sine = {"sin": y.detach().tolist(), "its gradient": x.grad.tolist()}
axes = autolab.viz.plot_losses(sine, title="The sine and its gradient, from 0 to 2π")
axes.set(xlabel="place", ylabel="")

# %% tags=["words"]
in_words("01.w5")

# %% [markdown] tags=["exercise"]
# ### Exercise 01.9: a Jacobian, row by row
#
# Write `jacobian(f, x)` for a function `f` from a vector to a vector, with nothing but `backward(gradient=…)`. Row `i` is what you get when
# only output `i` counts.

# %% tags=["exercise"]
def jacobian(f, x):
    return ...

check("01.9", jacobian)

# %% [markdown] tags=["keep"]
# **Takeaway:** `backward(gradient=v)` gives $v^\top J$, and `v` has the shape of the result.
# PyTorch on [`backward`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html) and
# [`jacobian`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.functional.jacobian.html).

# %% tags=["progress"]
progress("01")
