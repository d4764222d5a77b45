# %% [markdown] tags=["section"]
# ## 1. A batch that is too large
#
# Sooner or later your batch is too large. What does the GPU say, and how do you know beforehand? A network of eight layers, each 128 by 128
# numbers. This error is on purpose. Read above all the note at its end:

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
# **Why.** The peak is a straight line: a part that is always there, and the same amount for each row more. So two measurements tell you the largest batch that fits. If you need a larger one, compute it in parts,
# and call `backward()` for each: gradients add up (lesson 1, section 7). Only the saved tensors of *one* part are there at a time.
#
# Two ways to do that with four parts of 512 rows. The gradients are the same:
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
# You measured two peaks: `peak_a` bytes with a batch of `a`, `peak_b` bytes with a batch of `b`. How large can the batch be on a GPU with `total` bytes? (0 when not even one row fits.)

# %% tags=["exercise"]
def largest_batch(a, peak_a, b, peak_b, total):
    return ...

check("02.11a", largest_batch)

# %% [markdown] tags=["section"]
# ## 2. Memory for time
#
# What is not saved can be computed again. `checkpoint(f, x)` runs `f` and keeps only `x`. When the backward pass comes by, it runs `f` once more.

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
same = torch.equal(gradients["plain"], gradients["checkpointed"])
print("the same gradients:", same)

# %% tags=["reveal"]
q21.reveal(same)

# %% [markdown] tags=["explain"]
# **Why.** Between the halves one tensor is kept. Inside a half everything is computed again when it is needed, and only one half is there at a time. The price is a second forward pass. A backward pass costs about two
# forward passes, so three units of work become four: a third more. With $\sqrt n$ pieces of $\sqrt n$ layers the memory grows like $\sqrt n$ instead of $n$ ([Chen et al., 2016](https://arxiv.org/abs/1604.06174)).

# %% [markdown] tags=["keep"]
# **Takeaway:** two measurements tell the largest batch; what is not saved can be computed again.
# PyTorch on [memory management](https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management) and
# [checkpointing](https://docs.pytorch.org/docs/stable/checkpoint.html).
