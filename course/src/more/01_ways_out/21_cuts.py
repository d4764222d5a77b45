# %% [markdown] tags=["section"]
# ## 2. Four ways to leave something out
#
# These are the usual ways to keep something out of the graph:
#
# | you write | what it does | what it affects |
# |---|---|---|
# | `t.detach()` | It returns a tensor without a history, while `t` itself stays connected. | this one use of `t` |
# | `with torch.no_grad():` | Nothing inside the block is recorded. | everything in the block |
# | `t.requires_grad_(False)` | No gradient is computed for this leaf any more. It is **frozen**. | this leaf, until you switch it on again |
# | `t.item()` | It returns a plain Python number. | a single number |
#
# In many programs you also find `model.eval()` near `no_grad()`, for example before a network is tested. Does it belong in this table?

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
# Don't forget the brackets in the `with` line. You will find `with torch.no_grad:` in some tutorials, but it fails:

# %% tags=["code"]
try:
    with torch.no_grad:
        y = w * w
except TypeError as error:
    print("TypeError:", str(error).split(" (")[0])

# %% [markdown]
# `torch.no_grad` is a class, but `with` needs an object of this class, which you get with `torch.no_grad()`. (As a decorator, `@torch.no_grad` works with and without brackets.)

# %% [markdown] tags=["section"]
# ## 3. Freeze one of three weights
#
# Here are three weights in a row. Let's freeze one of them, and see what happens to the other two.

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
w1, w2, w3 = (torch.tensor(value, requires_grad=True) for value in (2.0, 5.0, 4.0))
w1.requires_grad_(False)                        # now w1 is frozen, but not w2
h1 = w1 * x
h2 = w2 * h1
h3 = w3 * h2
explorer = autolab.explore(h3)
explorer.ask("w2", "grad", id="01.a5")
explorer

# %% tags=["words"]
in_words("01.w4")

# %% [markdown] tags=["explain"]
# **Why.** If you freeze `w2`, only one gradient is missing afterwards, namely the gradient of `w2` itself. The path from `h3` to `w1` goes through `h2` and `h1`, so it is still there: $\bar w_1 = w_3 \cdot w_2 \cdot x$, which was $3 \cdot 5 \cdot 1 = 15$ above. So a frozen weight is still a factor in the computation, although it doesn't learn.
#
# In the picture `w1` is frozen instead. Nothing before `h2` requires a gradient now, so no node is recorded for `h1`, and the picture shows `h1` as data. Its value is still a factor: $\bar w_2 = w_3 \cdot h_1 = 4 \cdot 2 = 8$.

# %% [markdown] tags=["section"]
# ## 4. Three habits that raise no error
#
# Each of the following habits is common, and each of them does harm without raising an error. The first habit is to switch on `requires_grad` at the end.

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
# In this picture the whole graph is a single node. Step through it, and find out where the gradient ends.

# %% tags=["picture"]
with torch.no_grad():
    loss = (w * 3 - 1) ** 2
loss.requires_grad = True
explorer = autolab.explore(loss)
explorer.ask("loss", "state", id="01.a11")
explorer

# %% [markdown] tags=["explain"]
# **Why.** If an operation wasn't recorded, you can't bring it back afterwards. `loss` is now a leaf without a history, so it gets its own gradient, which is 1, and nothing else happens. The message "does not require grad" was right, and silencing the message didn't bring the missing graph back.
#
# The second habit is to let NumPy compute a part of the formula.

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
# **Why.** In $e^w \cdot w$ there are two paths to $w$, but only the path through the right factor is recorded. The graph doesn't see what NumPy or any other library computes, so `e` is a constant in the picture. You therefore get $e^w = 7.3891$, and the missing path would add $e^w \cdot w$. You lose the same path if you write `torch.tensor(w.item())`.
#
# If you forget `detach()` before you hand a tensor to NumPy, you at least get an error. The next cell raises it on purpose:

# %% tags=["code", "raises-exception"]
np.exp(w.numpy())

# %% [markdown]
# The third habit is to collect losses in a list in order to plot them later.

# %% tags=["predict"]
q16 = predict("01.q16")
q16

# %% tags=["code"]
w = torch.tensor(2.0, requires_grad=True)
losses = []
for step in (1, 2, 3):
    loss = (w * step) ** 2
    losses.append(loss)
    del loss
alive = sum(loss.grad_fn is not None for loss in losses)
print(alive, "graphs:", losses)

numbers = [loss.item() for loss in losses]
print("as numbers:", numbers)

# %% tags=["reveal"]
q16.reveal(alive)

# %% tags=["picture"]
autolab.explore(losses)

# %% [markdown] tags=["explain"]
# **Why.** As long as you hold a result, you also hold its node. The node holds the nodes before it and everything that they saved. Deleting a name in the middle therefore frees nothing that the graph still needs. After 1,000 steps, the list keeps 1,000 graphs alive, and the memory slowly fills up. Store numbers instead: use `.item()` for a single number and `.detach()` for a tensor, because neither result holds on to the graph.

# %% [markdown] tags=["exercise"]
# ### Exercise 01.8: only one side learns
#
# A student model learns to answer like a teacher model. Its loss is the mean squared difference between their answers. Fix the code so that the gradient reaches the student but not the teacher, while the teacher's tensor itself stays as it is.

# %% tags=["exercise"]
def imitation_loss(student, teacher):
    return ((student - teacher) ** 2).mean()

check("01.8", imitation_loss)

# %% tags=["words"]
in_words("01.w10")

# %% [markdown] tags=["exercise"]
# ### Exercise 01.15: which of them still learn
#
# `w` and `v` are leaves that require a gradient, and `model` is a linear layer. Imagine that `y` is the expression in each row and that you call `y.sum().backward()`. Decide without running anything whether `w.grad` is filled afterwards, and write `True` if it is and `False` if it stays `None`.

# %% tags=["exercise"]
learns = {
    "w.detach() * w": ...,
    "torch.tensor(w.item()) * v": ...,
    "model.eval()(w)": ...,
    "torch.stack([w, v])": ...,
    "(w * 3).detach().requires_grad_()": ...,
    "sum([w * 2, w * 3])": ...,
}

check("01.15", learns)

# %% [markdown] tags=["keep"]
# **Takeaway:** `detach()` leaves out one use, `no_grad()` a block of code, and `requires_grad_(False)` a leaf; `eval()` leaves out nothing.
# Read more: PyTorch's page on [locally disabling gradients](https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation).

# %% tags=["progress"]
progress("01")
