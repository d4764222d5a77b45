# %% [markdown] tags=["section"]
# ## 1. Loops and branches
#
# Here is a function with a loop. How often the loop runs depends on the number that comes in.
#
# ```
# def grow(x):
#     y = x
#     while y < 10:
#         y = y * 2
#     return y
# ```

# %% tags=["predict"]
q20 = predict("01.q20")
q20

# %% tags=["code"]
def grow(x):
    y = x
    while y < 10:
        y = y * 2
    return y

for start in (3.0, 1.0, 20.0):
    x = torch.tensor(start, requires_grad=True)
    y = grow(x)
    y.backward()
    print(f"x = {start:4}: y = {y.item():4}, dy/dx = {x.grad.item()}")
    if start == 3.0:
        slope_at_3 = x.grad

# %% tags=["reveal"]
q20.reveal(slope_at_3)

# %% tags=["picture"]
x = torch.tensor(2.0, requires_grad=True)
y = grow(x)
explorer = autolab.explore(y)
explorer.ask("x", "grad", id="01.a8")
explorer

# %% [markdown] tags=["explain"]
# **Why.** The graph contains what was computed, not what was written. For $x = 3$ the loop ran twice, so there are two product nodes and $dy/dx = 2 \cdot 2 = 4$. For $x = 1$ it ran four times, so the derivative is $16$. For $x = 20$ it didn't run at all, and `y` is `x` itself. Each call records a graph of its own. The loop and its condition leave no trace, because the derivative only says what happens for a tiny change of $x$, and a tiny change doesn't alter how often the loop runs.
#
# Graphs that are recorded anew in each run are called **dynamic**. Older systems, for example TensorFlow 1, used static graphs instead: you first declare the whole graph, and later you feed numbers into it. A static graph can be optimized before it runs, because the system sees all of it. But a Python `while` or `if` can't be part of it, so you need special operations for loops and conditions, and you can't look at a value while you build the graph. With a dynamic graph you can use plain Python, print any value, and step through the code with a debugger.
#
# There is also a function that does the opposite. `torch.where` looks like an `if`, but it computes *both* branches, and both are in the graph.

# %% tags=["predict"]
q21 = predict("01.q21")
q21

# %% tags=["code"]
x = torch.tensor(0.0, requires_grad=True)
y = torch.where(x > 0, torch.sqrt(x), 0 * x)
y.backward()
print("where, both branches recorded: y =", y.item(), " x.grad =", x.grad)
slope_with_where = x.grad

x = torch.tensor(0.0, requires_grad=True)
y = torch.sqrt(x) if x > 0 else 0 * x
y.backward()
print("if, one branch recorded:       y =", y.item(), " x.grad =", x.grad)

# %% tags=["reveal"]
q21.reveal(slope_with_where)

# %% [markdown]
# The picture shows both branches. Which gradient reaches the root, although the root was not chosen? And what does the root send on to `x`?

# %% tags=["picture"]
x = torch.tensor(0.0, requires_grad=True)
root = torch.sqrt(x)
explorer = autolab.explore(torch.where(x > 0, root, 0 * x))
explorer.ask("root", "grad", id="01.a14")
explorer

# %% [markdown] tags=["explain"]
# **Why.** `where` sends the gradient $1$ into the branch that was chosen and $0$ into the other one. The zero goes on to the root, whose local derivative $1 / (2 \sqrt{x})$ is infinite at $0$. The product $0 \cdot \infty$ is NaN, "not a number". It is added to the rest, and once a NaN is in a sum, the sum is NaN. The fix is to keep the bad number out of the branch in the first place: write `torch.sqrt(torch.where(x > 0, x, 1))` inside the outer `where`.

# %% tags=["words"]
in_words("01.w8")

# %% [markdown] tags=["section"]
# ## 2. The same graph twice
#
# Can you call `backward()` more than once on the same graph?

# %% tags=["predict"]
q23 = predict("01.q23")
q23

# %% tags=["code"]
x = torch.tensor(3.0, requires_grad=True)
raised = []
for name, y in {"x + 2": x + 2, "x * x": x * x}.items():
    y.backward()
    try:
        y.backward()
        print(f"{name}: twice is fine, x.grad = {x.grad}")
    except RuntimeError as error:
        raised.append(name)
        print(f"{name}: {error}")
    x.grad = None

# %% tags=["reveal"]
q23.reveal(raised)

# %% [markdown] tags=["explain"]
# **Why.** After a node has run, its saved tensors are **freed**, because they take memory and are rarely needed again. The nodes and their arrows are still there. `x + 2` saved nothing, so nothing is missing in the second pass. `x * x` saved its factors, and they are gone. So the rule "calling backward twice always raises an error" is wrong, because it depends on what was saved. "The graph is destroyed" is wrong as well.
#
# `retain_graph=True` keeps the saved tensors. You need it, for example, if two results share a part of their graph and you call `backward()` on both. Often it is simpler to add the two results and call `backward()` once.

# %% tags=["code"]
x = torch.tensor(3.0, requires_grad=True)
shared = x * x
first, second = shared * 2, shared + 1

first.backward(retain_graph=True)
print("after the first: ", x.grad)
second.backward()
print("after both:      ", x.grad)

x.grad = None
shared = x * x
(shared * 2 + shared + 1).backward()
print("in one walk:     ", x.grad)

# %% [markdown] tags=["exercise"]
# ### Exercise 01.10: which ones raise the second time
#
# `x` is a vector that requires a gradient, and `y` is the expression in each row. Imagine that you call `y.backward(gradient=…)` twice. Write `True` if the second call raises an error, and `False` if it doesn't. Decide without running the expressions.

# %% tags=["exercise"]
raises = {
    "x + 2": ...,
    "x * x": ...,
    "-x": ...,
    "x.exp()": ...,
    "x.sum()": ...,
    "x.relu()": ...,
}

check("01.10", raises)

# %% tags=["words"]
in_words("01.w11")

# %% [markdown] tags=["section"]
# ## 3. Review
#
# The first section explained why `where` can produce a NaN. Here is another function with the same problem:

# %% tags=["predict"]
q22 = predict("01.q22")
q22

# %% tags=["code"]
p = torch.tensor(0.0, requires_grad=True)
torch.where(p > 0, p.log(), torch.zeros(())).backward()
print("p.grad =", p.grad)
slope_of_log = p.grad

# %% tags=["reveal"]
q22.reveal(slope_of_log)

# %% [markdown] tags=["keep"]
# **Takeaway:** every run records its own graph; a second pass only fails where saved tensors were freed.
# PyTorch on [dynamic graphs](https://docs.pytorch.org/docs/stable/notes/autograd.html#how-autograd-encodes-the-history) and
# [`retain_graph`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.backward.html).

# %% tags=["progress"]
progress("01")
