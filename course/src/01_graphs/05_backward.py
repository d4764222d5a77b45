# %% [markdown] tags=["section"]
# ## 5. Backward, step by step
#
# The same graph once more: `a = 3 * x`, `b = x * x`, `z = a * b + b`. Two questions about `.grad`, before anything has run.

# %% tags=["predict"]
q7 = predict("01.q7")
q7

# %% tags=["predict"]
q8 = predict("01.q8")
q8

# %% tags=["code"]
x = torch.tensor(2.0, requires_grad=True)
a = 3 * x
b = x * x
product = a * b
z = product + b
print("before backward: x.grad =", x.grad)
before = x.grad

z.backward()
print("after backward:  x.grad =", x.grad)
kept = a.grad
print("after backward:  a.grad =", kept)

# %% tags=["reveal"]
q7.reveal(before)

# %% tags=["reveal"]
q8.reveal(kept)

# %% [markdown]
# Step through the backward half slowly, from step 5 on. Follow `x`: nothing until step 10, three contributions at steps 11, 12 and 14,
# and the sum in `x.grad` at step 15. Each tensor goes through these states, and the word beside it tells you which one it is in. The picture below
# only rehearses: it shows what `z.backward()` would do, and changes nothing. So its words say what would be:
#
# | state | in a rehearsal | meaning |
# |---|---|---|
# | not yet | not yet | nothing has arrived. This is not zero |
# | zero | would be zero | a gradient of 0 has arrived: a tiny change here does not change the result |
# | contribution | part would be in | some of what will arrive is in, more is to come |
# | accumulated | all would be in | all of it is in; now the node may run |
# | freed | would be freed | the node has run: its gradient has been passed on and is gone, and so is what the node saved |
# | never | never | no gradient comes here at all. Section 7 shows why |

# %% tags=["picture"]
x = torch.tensor(2.0, requires_grad=True)
a = 3 * x
b = x * x
product = a * b
z = product + b
autolab.explore(z)

# %% [markdown] tags=["explain"]
# **Why.** `z.backward()` starts with $\bar z = 1$: if `z` grows by a little, `z` grows by just as much. Then the engine repeats one move.
# It takes a node whose gradient is complete, asks it for the gradients of its inputs, and adds those to what the inputs have so far.
# In this graph: $\bar b$ gets $1$ from the `+`, then $\bar z \cdot a = 6$ from the product, so $\bar b = 7$. $\bar a = \bar z \cdot b = 4$. Then
# $\bar x = 7 \cdot 2 + 7 \cdot 2 + 4 \cdot 3 = 40$.
#
# Before `backward()` there is no gradient, and `x.grad` is `None`. A drawing that shows a 0 there tells you something that nobody
# has computed. Afterwards only leaves have one. The gradient of `a` was 4 for a moment. It was passed on and dropped, to save memory.

# %% [markdown]
# ### Listening in
#
# Two ways to see the gradient of a tensor in the middle. `retain_grad()` keeps it. A **hook** is a function of yours that is
# called when the gradient is complete.

# %% tags=["code"]
x = torch.tensor(2.0, requires_grad=True)
a = 3 * x
b = x * x
product = a * b
z = product + b

a.retain_grad()
for name, t in dict(x=x, a=a, b=b, product=product, z=z).items():
    t.register_hook(lambda grad, name=name: print(f"gradient of {name:7} is complete: {grad}"))
z.backward()
print("kept: a.grad =", a.grad)

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
# ### Exercise 01.5: a hook that clips
#
# Very large gradients make training jump. Write a hook that keeps every number of the gradient between -1 and 1.
# It gets the arriving gradient, and returns the one that is to go on.

# %% tags=["exercise"]
def clip(grad):
    return ...

check("01.5", clip)

# %% [markdown]
# ### Be the engine
#
# Now you are the engine. The backward pass of a small diamond waits for you: which node may run, what it sends along an edge, what happens where it
# arrives. A wrong decision is carried out, so that you see where it leads; then you go back. `print(autolab.practice)` lists twelve levels, each
# with fresh numbers.

# %% tags=["practice"]
autolab.practice(level=5, seed=1)

# %% [markdown] tags=["keep"]
# **Take along:** `None` is not zero; a node runs when its gradient is complete; only leaves keep theirs.
# PyTorch on [`retain_grad`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.retain_grad.html) and
# [`register_hook`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html).
