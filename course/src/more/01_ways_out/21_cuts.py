# %% [markdown] tags=["section"]
# ## 1. The ways out
#
# Section 8 had two. Here are all of them:
#
# | you write | what it does | where |
# |---|---|---|
# | `t.detach()` | gives a tensor without history; `t` itself stays connected | this one use of `t` |
# | `with torch.no_grad():` | nothing inside is recorded | everything in the block |
# | `t.requires_grad_(False)` | nobody asks for the gradient of this leaf any more: it is **frozen** | this leaf, until you switch it on |
# | `t.item()` | gives a plain Python number, outside of everything | a single number |
#
# And there is `model.eval()`, which changes how some layers compute (dropout, batch normalisation).

# %% tags=["predict"]
q32 = predict("01.q32")
q32

# %% tags=["code"]
model = torch.nn.Linear(1, 1, bias=False).eval()
model(torch.tensor([3.0])).sum().backward()
after_eval = model.weight.grad
print("after eval():", after_eval)

w = torch.tensor(3.0, requires_grad=True)

with torch.no_grad():
    y = w * w
print("under no_grad:", y, y.requires_grad)

@torch.no_grad()
def square(t):
    return t * t

print("as a decorator:", square(w))
print("afterwards: ", w * w)

with torch.no_grad():
    with torch.enable_grad():           # the other way round: records again
        print("enable_grad:  ", w * w)

# %% tags=["reveal"]
q32.reveal(after_eval)

# %% [markdown]
# Mind the brackets in the `with` line. `with torch.no_grad:` is found in some tutorials, and fails:

# %% tags=["code"]
try:
    with torch.no_grad:
        y = w * w
except TypeError as error:
    print("TypeError:", str(error).split(" (")[0])

# %% [markdown]
# `torch.no_grad` is a class. `with` needs an object of it: `torch.no_grad()`. (Above a function, `@torch.no_grad` works either way.)

# %% [markdown] tags=["section"]
# ## 2. Frozen in the middle
#
# Three weights in a row, and the middle one is frozen.

# %% tags=["predict"]
q13 = predict("01.q13")
q13

# %% tags=["code"]
x = torch.tensor(1.0)
w1, w2, w3 = (torch.tensor(value, requires_grad=True) for value in (2.0, 5.0, 3.0))
w2.requires_grad_(False)

h1 = w1 * x
h2 = w2 * h1
h3 = w3 * h2
h3.backward()
print(w1.grad, w2.grad, w3.grad)
arrived = w1.grad is not None

# %% tags=["reveal"]
q13.reveal(arrived)

# %% tags=["picture"]
w1, w3 = torch.tensor(2.0, requires_grad=True), torch.tensor(4.0, requires_grad=True)
h1 = w1 * x
h2 = w2 * h1
h3 = w3 * h2
explorer = autolab.explore(h3)
explorer.ask("w1", "grad", id="01.a5")
explorer

# %% tags=["words"]
in_words("01.w4")

# %% [markdown] tags=["explain"]
# **Why.** Freezing `w2` stops one gradient: the one that would end in `w2`. In the picture `w2` is drawn as data, without a line for a gradient, and its arrow still leads into `h2`. The path from `h3` to
# `w1` runs through `h2` and `h1`, and it is still there: $\bar w_1 = w_3 \cdot w_2 \cdot x$, above $3 \cdot 5 \cdot 1 = 15$. A frozen weight takes part, as a factor. It just does not learn.

# %% [markdown] tags=["section"]
# ## 3. Three habits, tried out
#
# First: switching the flag on at the end.

# %% tags=["predict"]
q14 = predict("01.q14")
q14

# %% tags=["code"]
w = torch.tensor(2.0, requires_grad=True)
with torch.no_grad():
    loss = (w * 3 - 1) ** 2
loss.requires_grad = True
loss.backward()
print("w.grad =", w.grad)
print("loss.is_leaf:", loss.is_leaf)

# %% tags=["reveal"]
q14.reveal(w.grad)

# %% [markdown]
# The whole graph is a single node. Where does the gradient end?

# %% tags=["picture"]
with torch.no_grad():
    loss = (w * 3 - 1) ** 2
loss.requires_grad = True
explorer = autolab.explore(loss)
explorer.ask("loss", "state", id="01.a11")
explorer

# %% [markdown] tags=["explain"]
# **Why.** What was not recorded cannot be brought back afterwards. `loss` is now a leaf without a past, and its gradient is its own: 1. The message
# "does not require grad" was right. Silencing it changed nothing about what was missing.
#
# Second: NumPy in the middle.

# %% tags=["predict"]
q15 = predict("01.q15")
q15

# %% tags=["code"]
w = torch.tensor(2.0, requires_grad=True)
e = torch.tensor(np.exp(w.detach().numpy()))
y = e * w
y.backward()
print("with NumPy:   ", w.grad)

right = torch.tensor(2.0, requires_grad=True)
(torch.exp(right) * right).backward()
print("without NumPy:", right.grad)

# %% tags=["reveal"]
q15.reveal(w.grad)

# %% tags=["picture"]
w = torch.tensor(2.0, requires_grad=True)
y = e * w
explorer = autolab.explore(y)
explorer.ask("e", "state", id="01.a12")
explorer

# %% [markdown] tags=["explain"]
# **Why.** Of the two paths in $e^w \cdot w$ only the one through the right factor is recorded. What NumPy computes, or any other library, the graph does not
# see: `e` is a constant in the picture. So you get $e^w = 7.3891$, and the path that is missing would add $e^w \cdot w$. It is the same with
# `torch.tensor(w.item())`.
#
# If you forget the `detach()` before NumPy, you are told at least. This error is on purpose:

# %% tags=["code", "raises-exception"]
np.exp(w.numpy())

# %% [markdown]
# Third: a list of losses, for the curve you want to draw later.

# %% tags=["predict"]
q16 = predict("01.q16")
q16

# %% tags=["code"]
w = torch.tensor(2.0, requires_grad=True)
losses = []
for step in (1, 2, 3):
    loss = (w * step) ** 2
    losses.append(loss)
alive = sum(loss.grad_fn is not None for loss in losses)
print(alive, "graphs:", losses)

numbers = [loss.item() for loss in losses]
print("as numbers:", numbers)

# %% tags=["reveal"]
q16.reveal(alive)

# %% tags=["picture"]
autolab.explore(losses)

# %% [markdown] tags=["explain"]
# **Why.** As long as you hold a result, you hold its node. The node holds the nodes before it, and all that they saved. Deleting a name in the middle
# frees nothing that the graph still holds. After 1,000 steps the list keeps 1,000 graphs alive, and the memory fills up slowly. Keep numbers
# instead: `.item()` for a single number, `.detach()` for a tensor. Both let go of the graph.

# %% [markdown] tags=["exercise"]
# ### Exercise 01.8: only one side learns
#
# A student model learns to answer like a teacher model. Its loss is the mean squared difference of their answers. The gradient must
# reach the student, and not the teacher. The teacher's tensor itself must stay as it is. Mend it.

# %% tags=["exercise"]
def imitation_loss(student, teacher):
    return ((student - teacher) ** 2).mean()

check("01.8", imitation_loss)

# %% tags=["words"]
in_words("01.w10")

# %% [markdown] tags=["exercise"]
# ### Exercise 01.15: which of them still learn
#
# `w` and `v` are leaves that want a gradient, `frozen` is one that does not, `model` a linear layer. `y` is the expression below, and `y.backward()` is called.
# Write `True` where `w.grad` is filled, and `False` where it stays `None`. Do it without running them.

# %% tags=["exercise"]
learns = {
    "w.detach() * w": ...,
    "torch.tensor(w.item()) * v": ...,
    "model.eval()(w)": ...,
    "frozen * (w * 3)": ...,
    "(w * 3).detach().requires_grad_()": ...,
    "sum([w * 2, w * 3])": ...,
}

check("01.15", learns)

# %% [markdown] tags=["keep"]
# **Takeaway:** `detach` cuts one use, `no_grad` a block of code, `requires_grad_(False)` a leaf; `eval()` cuts nothing.
# PyTorch on [locally disabling gradients](https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation).

# %% tags=["progress"]
progress("01")
