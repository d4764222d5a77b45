# %% [markdown] tags=["section"]
# ## 7. Ways out of the graph
#
# Sometimes you do not want something recorded. There are several ways to say so, and they are easily mixed up.

# %% tags=["predict"]
q11 = predict("01.q11")
q11

# %% tags=["code"]
w = torch.tensor(3.0, requires_grad=True)
y = w.detach() * w
y.backward()
print("w.grad =", w.grad)

# %% tags=["reveal"]
q11.reveal(w.grad)

# %% [markdown]
# The cut stays visible in the picture: one arrow comes from `w`, the other from a constant with the same value. In the backward half
# there is a single contribution to `w`, at step 3.

# %% tags=["picture"]
w = torch.tensor(3.0, requires_grad=True)
y = w.detach() * w
autolab.explore(y)

# %% [markdown] tags=["explain"]
# **Why.** `w.detach()` is a tensor with the same values and no history. To the graph it is a constant. Of the two paths of $w \cdot w$ one is
# gone, and $\bar w = 3$ remains instead of $6$. It is not a copy: both share the same memory.
#
# | you write | what it does | where |
# |---|---|---|
# | `t.detach()` | gives a tensor without history; `t` itself stays connected | this one use of `t` |
# | `with torch.no_grad():` | nothing inside is recorded | everything in the block |
# | `t.requires_grad_(False)` | nobody asks for the gradient of this leaf any more: it is **frozen** | this leaf, until you switch it on |
# | `t.item()` | gives a plain Python number, outside of everything | a single number |
# | `model.eval()` | changes how some layers compute (dropout, batch normalisation). It does **not** stop the recording | a model |

# %% tags=["code"]
w = torch.tensor(3.0, requires_grad=True)

with torch.no_grad():
    y = w * w
print("under no_grad:", y, y.requires_grad)

@torch.no_grad()
def square(t):
    return t * t

print("as a decorator:", square(w))
print("afterwards: ", w * w)

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
#
# ### What the update of a weight needs
#
# A training step changes `w` in place. Try it without a way out. This error is on purpose:

# %% tags=["code", "raises-exception"]
w = torch.tensor(3.0, requires_grad=True)
(w * w).backward()
w -= 0.1 * w.grad

# %% [markdown] tags=["explain"]
# **Why.** `w` is a leaf: the end of a graph, where gradients are stored. If the subtraction were recorded, `w` would become the result of an
# operation, and stop being a leaf. So it is refused. Changing the weight is not part of the function you differentiate. Say so:

# %% tags=["code"]
with torch.no_grad():
    w -= 0.1 * w.grad
print(w)

# %% [markdown]
# ### Frozen in the middle
#
# Three weights in a row, and the middle one is frozen.

# %% tags=["predict"]
q12 = predict("01.q12")
q12

# %% tags=["code"]
x = torch.tensor(1.0)
w1, w2, w3 = (torch.tensor(value, requires_grad=True) for value in (2.0, 5.0, 3.0))
w2.requires_grad_(False)

h1 = w1 * x
h2 = w2 * h1
h3 = w3 * h2
h3.backward()
print(w1.grad, w2.grad, w3.grad)

# %% tags=["reveal"]
q12.reveal(w1.grad is not None)

# %% tags=["picture"]
h3 = w3 * (w2 * (w1 * x))
autolab.explore(h3)

# %% [markdown] tags=["explain"]
# **Why.** Freezing `w2` removes one arrow: the one that ends in `w2`. The path from `h3` to `w1` runs through `h2` and `h1`, and it is still
# there: $\bar w_1 = w_3 \cdot w_2 \cdot x = 3 \cdot 5 \cdot 1 = 15$. A frozen weight takes part, as a factor. It just does not learn.

# %% [markdown]
# ### Four ways to lose a gradient without noticing
#
# None of these raises an error. Each leaves `w.grad` empty, or the memory full.

# %% tags=["code"]
w = torch.tensor(2.0, requires_grad=True)

# 1. Switching the flag on at the end. The message "does not require grad" goes away, and so does the gradient.
with torch.no_grad():
    loss = (w * 3 - 1) ** 2
loss.requires_grad = True
loss.backward()
print("1. w.grad =", w.grad)

# 2. NumPy in the middle. What NumPy computes, the graph does not see.
import numpy as np

y = torch.tensor(np.exp(w.detach().numpy()), requires_grad=True) * w
y.backward()
print("2. w.grad =", w.grad, "but the derivative of exp(w) * w is", (torch.exp(w) * (1 + w)).detach())

# 3. A new tensor made of old numbers. It is a new leaf.
fresh = torch.tensor(w.item() * 3, requires_grad=True)
fresh.backward()
print("3. w.grad =", w.grad, "as before")

# 4. A list of losses. Each one keeps its whole graph alive; keep numbers instead.
losses = [(w * step) ** 2 for step in range(3)]
print("4.", losses[2].grad_fn is not None, [loss.item() for loss in losses])

# %% [markdown] tags=["explain"]
# **Why.** 1: the graph was not recorded, and nothing can bring it back afterwards: `loss` is now a leaf without a past. 2: in `exp(w) * w` only the
# right factor is connected, so one of two paths is missing. 3: `item()` leaves the graph. 4: as long as you hold a result, you
# hold its node, and through it all the nodes before it and everything they saved. `.item()` or `.detach()` lets go.
#
# In all cases the graph has no path from the result to the leaf. A look at the picture, or at `grad_fn`, tells you.
# If you forget the `detach()` before NumPy, you are told at least. This error is on purpose:

# %% tags=["code", "raises-exception"]
np.exp(w.numpy())

# %% [markdown] tags=["exercise"]
# ### Exercise 01.7: only one side learns
#
# A student model learns to answer like a teacher model. Its loss is the mean squared difference of their answers. The gradient must
# reach the student, and not the teacher. The teacher's tensor itself must stay as it is. Mend it.

# %% tags=["exercise"]
def imitation_loss(student, teacher):
    return ((student - teacher) ** 2).mean()

check("01.7", imitation_loss)

# %% [markdown] tags=["keep"]
# **Take along:** `detach` cuts one use, `no_grad` a block of code, `requires_grad_(False)` a leaf; `eval()` cuts nothing.
# PyTorch on [locally disabling gradients](https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation).
