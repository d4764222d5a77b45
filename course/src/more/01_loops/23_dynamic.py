# %% [markdown] tags=["section"]
# ## 1. A loop
#
# A function with a loop. How often it turns depends on the number that comes in.
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
# **Why.** The graph holds what was computed, not what was written. For $x = 3$ the loop turned twice, so there are two product nodes and
# $dy/dx = 2 \cdot 2 = 4$. For $x = 1$ it turned four times: $16$. For $x = 20$ not at all: `y` is `x` itself. Each call records a graph of its own. The
# loop and its condition leave no trace; the gradient says what happens for a tiny change that does not change how often it turns.
#
# Graphs that are made anew in each run are called **dynamic**. The other way, which older systems used, is to declare a graph first and run it
# later. There, `while` has to be a special operation.
#
# Now the opposite. `torch.where` looks like an `if`, but it computes *both* branches, and both are in the graph.

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
# Both branches are in the picture. What reaches the root, which was not taken? And what does it send to `x`?

# %% tags=["picture"]
x = torch.tensor(0.0, requires_grad=True)
root = torch.sqrt(x)
explorer = autolab.explore(torch.where(x > 0, root, 0 * x))
explorer.ask("root", "grad", id="01.a14")
explorer

# %% [markdown] tags=["explain"]
# **Why.** The gradient of `where` sends $1$ into the branch taken and $0$ into the other. That zero goes on to the root, whose local derivative
# $1 / (2 \sqrt{x})$ is infinite at $0$. $0 \cdot \infty$ is NaN, "not a number". It is added to the rest, and a NaN never goes away. The cure is to keep
# the bad number out of the branch: `torch.sqrt(torch.where(x > 0, x, 1))` inside the first `where`.

# %% tags=["words"]
in_words("01.w8")

# %% [markdown] tags=["section"]
# ## 2. The same graph twice
#
# May a graph be walked more than once?

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
# **Why.** After a node has run, what it saved is **freed**: one rarely needs it again, and it takes memory. The nodes and their arrows are still there.
# `x + 2` saved nothing, so nothing is missing the second time. `x * x` saved its factors, and they are gone. "Calling backward twice always
# raises an error" is therefore wrong: it depends on what was saved. So is "the graph is destroyed".
#
# `retain_graph=True` keeps the saved tensors. You need it when two results share a part of their graph and you walk from both.
# Often it is simpler to add the results, and to walk once.

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
# `x` is a vector that requires a gradient, `y` is the expression below, and `y.backward(gradient=…)` is called twice. Write `True` where the
# second call raises an error, and `False` where it does not. Do it without running them.

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

# %% [markdown]
# And once more what stood further up, with another function:

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
# **Takeaway:** every run records its own graph; a second walk fails only where saved tensors were freed.
# PyTorch on [dynamic graphs](https://docs.pytorch.org/docs/stable/notes/autograd.html#how-autograd-encodes-the-history) and
# [`retain_graph`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.backward.html).

# %% tags=["progress"]
progress("01")
