# %% [markdown] tags=["section"]
# ## 1. A batch that is too large
#
# Sooner or later you will have a batch that doesn't fit into the GPU's memory. Let's see what the error looks like, and how you can find the limit before you reach it. The next cell raises the error on purpose; read the note at its end. After that, we measure the memory of a network with eight layers of 128 by 128 weights.

# %% tags=["code", "raises-exception"]
whole = torch.cuda.get_device_properties(device).total_memory
filler = torch.empty(whole // 8, device=device)      # half of it: 4 bytes a number
torch.empty(whole // 6, device=device)               # two thirds of it

# %% tags=["code"]
del filler

def network():
    torch.manual_seed(0)
    layers = [part for _ in range(8) for part in (nn.Linear(128, 128), nn.Tanh())]
    return nn.Sequential(*layers).to(device)

deep, rows = network(), torch.ones(2048, 128, device=device)
peaks = {}
for size in (256, 512, 1024, 2048):
    torch.cuda.reset_peak_memory_stats()
    held = torch.cuda.memory_allocated()
    deep(rows[:size]).sum().backward()
    peaks[size] = (torch.cuda.max_memory_allocated() - held) / 2**20
    deep.zero_grad()
    print(f"batch of {size:4}: {peaks[size]:5.1f} MiB on top")
each = (peaks[2048] - peaks[256]) / (2048 - 256)
print(f"each row costs {1024 * each:.1f} KiB")

# %% tags=["picture"]
plots.curves([*peaks], {"peak": [*peaks.values()]}, xlabel="rows", ylabel="MiB")
plt.show()

# %% [markdown] tags=["explain"]
# **Why.** The peak grows along a straight line: one part of the memory is always in use, and each further row adds the same amount. So you only need two measurements to find the largest batch that fits. If you need a larger batch, you can compute it in parts and call `backward()` for each part. This works because gradients add up, as you saw in section 8 of lesson 1. Then only the saved tensors of *one* part are in memory at a time.
#
# Here are two ways to do this with four parts of 512 rows, and both give the same gradients:
#
# ```
# for part in parts:                            total = 0
#     deep(part).sum().backward()               for part in parts:
#                                                   total = total + deep(part).sum()
#                                               total.backward()
# ```

# %% tags=["predict"]
q28 = predict("02.q28")
q28

# %% tags=["code"]
def each_at_once(parts):
    for part in parts:
        deep(part).sum().backward()

def sum_first(parts):
    sum(deep(part).sum() for part in parts).backward()

in_parts = {}
for way in (each_at_once, sum_first):
    torch.cuda.reset_peak_memory_stats()
    held = torch.cuda.memory_allocated()
    way(rows.chunk(4))
    in_parts[way] = (torch.cuda.max_memory_allocated() - held) / 2**20
    deep.zero_grad()
    print(f"{way.__name__:12}: {in_parts[way]:5.1f} MiB on top")
ratio = in_parts[sum_first] / in_parts[each_at_once]

# %% tags=["reveal"]
q28.reveal(ratio)

# %% [markdown] tags=["exercise"]
# ### Exercise 02.11a: the largest batch
#
# You have measured two peaks: `peak_a` bytes with a batch of `a` rows, and `peak_b` bytes with a batch of `b` rows. Return the largest number of rows that fits on a GPU with `total` bytes. If not even one row fits, return 0.

# %% tags=["exercise"]
def largest_batch(a, peak_a, b, peak_b, total):
    return ...

check("02.11a", largest_batch)

# %% [markdown] tags=["section"]
# ## 2. Memory for time
#
# Instead of saving a value, you can recompute it. `checkpoint(f, x)` runs `f` but keeps only its input `x`. When the backward pass needs the values inside `f`, it runs `f` a second time.

# %% tags=["predict"]
q21 = predict("02.q21")
q21

# %% tags=["code"]
from autolab.utils.checkpoint import checkpoint

def two_halves(x):
    half = checkpoint(deep[:8], x, use_reentrant=False)
    return checkpoint(deep[8:], half, use_reentrant=False)

gradients = {}
for name, forward in {"plain": deep, "checkpointed": two_halves}.items():
    deep.zero_grad()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    held, start = torch.cuda.memory_allocated(), clock()
    forward(rows).sum().backward()
    torch.cuda.synchronize()
    gradients[name] = deep[0].weight.grad.clone()
    peak = (torch.cuda.max_memory_allocated() - held) / 2**20
    print(f"{name:12}: {peak:5.1f} MiB on top, {1000 * (clock() - start):.2f} ms")
apart = (gradients["plain"] - gradients["checkpointed"]).abs().max().item()
print("largest difference of the gradients:", apart)
same = apart == 0

# %% tags=["reveal"]
q21.reveal(same)

# %% [markdown] tags=["explain"]
# **Why.** Only one tensor is kept between the two halves. The values inside a half are recomputed when the backward pass needs them, so only one half is in memory at a time. The price is a second forward pass. Since a backward pass costs about as much as two forward passes, three units of work become four, which is a third more. Suppose you cut a network of $n$ layers into $\sqrt n$ pieces of $\sqrt n$ layers each. Then the memory grows like $\sqrt n$ instead of $n$ ([Chen et al., 2016](https://arxiv.org/abs/1604.06174)).

# %% [markdown] tags=["keep"]
# **Takeaway:** two measurements tell you the largest batch, and you can save memory if you recompute values instead of keeping them.
# Read more: PyTorch's pages on [memory management](https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management) and
# [checkpointing](https://docs.pytorch.org/docs/stable/checkpoint.html).
