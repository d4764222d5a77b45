# %% [markdown] tags=["section"]
# ## 3. Half as many bytes
#
# A `float32` has 4 bytes and a `float16` has only 2. Half the bytes means half the memory and half the transfer time, so people train large networks with `float16`. But what does it cost?

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
# **Why.** A `float16` has 11 binary digits and a small range of exponents. Numbers above 65,504 become infinite, and numbers below $3 \cdot 10^{-8}$ become zero. Between 1 and 2, neighbouring numbers are about $0.001$ apart, so if you add less than half of this distance to a number, nothing changes. Gradients are often this small.
#
# That is why people don't train in `float16` alone, but use both types. The forward and the backward pass use `float16` where it is safe, while the weights that the optimizer updates stay in `float32`. These weights are called **master weights**, and the method is called **mixed precision**. Let's try mixed precision by hand for a single layer. How much memory does it save, and what happens to the gradient?

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
# The gradient of the master weights became zero on its way through the `float16` part, because `float16` cannot hold such a small number. But you can multiply the *loss* by a large number first, and divide the gradient by the same number afterwards.

# %% tags=["predict"]
q23 = predict("02.q23")
q23

# %% tags=["code"]
exact, _ = gradient_of(torch.float32)
scaled, _ = gradient_of(torch.float16, scale=65536.0)
too_far, _ = gradient_of(torch.float16, scale=1e12)
close = torch.allclose(scaled, exact, rtol=1e-2, atol=0.0)
print(f"largest gradient in float32:       {exact.max().item():.2e}")
print(f"in float16, loss times 65536:      {scaled.max().item():.2e}")
print(f"in float16, loss times 1e12:       {too_far.max().item():.2e}")

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
# **Why.** $(c L)' = c L'$, so a scaled loss scales every gradient, as long as `float16` can hold the result. The division at the end happens in `float32`, where small numbers are not lost. If the scale is too large, however, the gradients overflow to infinity. The conversion `.half()` is a node like any other. Compare the gradients that arrive at this node in the two graphs.
#
# In PyTorch you write `with torch.autocast("cuda", dtype=torch.float16):` around the forward pass and the loss. `autocast` chooses a type for each operation, for example `float16` for products and `float32` for sums and losses. `torch.amp.GradScaler` scales the loss, and if the gradients are not finite, it skips the step and tries a smaller scale. This kit has neither `autocast` nor `GradScaler`, but you have just done their work by hand. Note that the modelled T4 has no tensor cores, which make products in `float16` several times faster. The model only takes into account that there are half as many bytes.

# %% [markdown] tags=["exercise"]
# ### Exercise 02.13: skip what overflowed
#
# `scaled_step(optimizer, scale)` is called after `(loss * scale).backward()`. It should divide every gradient by `scale`, take the step, and return the scale for the next step. However, if any gradient is not finite, it should take no step and return half of the scale. At the moment it always takes the step. Fix it.

# %% tags=["exercise"]
def scaled_step(optimizer, scale):
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.grad = p.grad / scale
    optimizer.step()
    return scale

check("02.13", scaled_step)

# %% [markdown] tags=["keep"]
# **Takeaway:** compute in `float16`, keep the weights in `float32`, and scale the loss so that small gradients don't become zero.
# Read more: PyTorch's page on [automatic mixed precision](https://docs.pytorch.org/docs/stable/notes/amp_examples.html).

# %% tags=["progress"]
progress("02")
