# %% [markdown] tags=["section"]
# ## 3. Half as many bytes
#
# A `float32` has 4 bytes, a `float16` has 2. Half of the bytes is half of the memory and half of the way over the bus. People train
# large networks like that. What is the price?

# %% tags=["predict"]
q22 = predict("02.q22")
q22

# %% tags=["code"]
print("largest float16:", torch.finfo(torch.float16).max)
print("300 * 300 in float16:", torch.tensor(300.0).half() * torch.tensor(300.0).half())
print("1 + 0.0004 in float16:", (torch.tensor(1.0).half() + 0.0004).item())
vanished = torch.tensor(2e-8).half()
print("2e-8 in float16:", vanished.item())
left = vanished.item()

# %% tags=["reveal"]
q22.reveal(left)

# %% [markdown] tags=["explain"]
# **Why.** A `float16` has 11 binary digits and a small exponent. Above 65,504 there is only infinity. Below $3 \cdot 10^{-8}$ there is
# only zero. Between 1 and 2 the numbers lie $0.001$ apart, so a small step is no step at all. Gradients are often that small.
#
# So one does not train in `float16`, but in both. The forward and backward pass use `float16` where it is safe. The weights that are trained
# stay `float32`; they are called **master weights**. That is **mixed precision**. Here it is by hand, for a single layer: what does it
# save, and what becomes of the gradient?

# %% tags=["code"]
master = torch.full((256, 256), 0.01, device=device, requires_grad=True)
batch = torch.ones(256, 256, device=device)

def gradient_of(dtype, scale=1.0):
    master.grad = None
    w, rows = master.to(dtype), batch.to(dtype)
    held = torch.cuda.memory_allocated()
    result = rows @ w                             # the expensive part, in dtype
    used = torch.cuda.memory_allocated() - held
    loss = 0.001 * result.float().mean()          # sums and losses in float32
    (loss * scale).backward()
    return master.grad / scale, used / 1024

for dtype in (torch.float32, torch.float16):
    found, used = gradient_of(dtype)
    largest = found.max().item()
    print(f"{dtype}: the result takes {used:.0f} KiB, largest gradient {largest:.1e}")

# %% [markdown]
# The gradient of the master weight has vanished on its way through the half-precision part. But you may multiply the *loss* by a large number
# first, and divide the gradient by it afterwards. The chain rule multiplies everything in between.

# %% tags=["predict"]
q23 = predict("02.q23")
q23

# %% tags=["code"]
exact, _ = gradient_of(torch.float32)
scaled, _ = gradient_of(torch.float16, scale=65536.0)
too_far, _ = gradient_of(torch.float16, scale=1e12)
close = torch.allclose(scaled, exact, rtol=1e-2, atol=0.0)
print("loss times 65536: within 1 % of float32:", close)
print("loss times 1e12:  finite:", torch.isfinite(too_far).all().item())

# %% tags=["reveal"]
q23.reveal(close)

# %% tags=["picture"]
def recorded(scale):
    tiny = torch.full((2, 2), 0.01, device=device, requires_grad=True)
    row = torch.ones(1, 2, device=device).half()
    with autolab.record() as recording:
        halves = row @ tiny.half()
        loss = (halves.float() * 1e-8).sum()
        (loss * scale).backward()
    return recording

autolab.compare(recorded(1.0), recorded(65536.0), ("unscaled", "scaled")).show()

# %% [markdown] tags=["explain"]
# **Why.** $(c L)' = c L'$: a scaled loss scales every gradient, up to where `float16` can hold it, and the division happens in `float32`. With
# too large a scale it overflows. The conversion `.half()` is a node like any other: in the two graphs, follow what arrives at it.
#
# In PyTorch you write `with torch.autocast("cuda", dtype=torch.float16):` around forward and loss. It chooses for each operation:
# products in `float16`, sums and losses in `float32`. `torch.amp.GradScaler` scales the loss, skips a step whose gradients are not
# finite, and tries a smaller scale. This kit has neither of the two; what you did by hand is what they do. Nor does its model of a T4 know the cores that make
# `float16` products several times faster. It counts the bytes, and these are halved.

# %% [markdown] tags=["exercise"]
# ### Exercise 02.13: skip what overflowed
#
# `scaled_step(optimizer, scale)` is called after `(loss * scale).backward()`. It is meant to divide every gradient by `scale`, then take the
# step, and to return the scale for the next time. When a gradient is not finite it takes no step, and returns half of the scale.
# Mend it.

# %% tags=["exercise"]
def scaled_step(optimizer, scale):
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.grad = p.grad / scale
    optimizer.step()
    return scale

check("02.13", scaled_step)

# %% [markdown] tags=["keep"]
# **Takeaway:** compute in halves, keep the weights whole, and scale the loss so that gradients do not vanish.
# PyTorch on [automatic mixed precision](https://docs.pytorch.org/docs/stable/notes/amp_examples.html).

# %% tags=["progress"]
progress("02")
