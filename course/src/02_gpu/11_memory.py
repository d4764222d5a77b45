# %% [markdown] tags=["section"]
# ## 11. Where the memory goes
#
# A GPU's memory is small, and it ends with an error. What is in it during training? A network of eight layers, each 256 by 256 numbers, and a batch of 4,096 rows:

# %% tags=["predict"]
q19 = predict("02.q19")
q19

# %% tags=["code"]
def network():
    torch.manual_seed(0)
    layers = [layer for _ in range(8) for layer in (nn.Linear(256, 256), nn.Tanh())]
    return nn.Sequential(*layers).to(device)

def in_use():
    return torch.cuda.memory_allocated() / 2**20          # MiB

deep, rows = network(), torch.ones(4096, 256, device=device)
before = in_use()
result = deep(rows).sum()
recorded = in_use() - before

del result
with torch.no_grad():
    result = deep(rows).sum()
print(f"the weights: {sum(p.nbytes for p in deep.parameters()) / 2**20:.1f} MiB, the batch: {rows.nbytes / 2**20:.1f} MiB")
print(f"after forward, recorded:      {recorded:5.1f} MiB more")
print(f"after forward, under no_grad: {in_use() - before:5.1f} MiB more")

# %% tags=["reveal"]
q19.reveal(recorded)

# %% [markdown]
# The memory over time, for a forward pass that is recorded and its backward pass. Where is the peak?

# %% tags=["picture"]
few = rows[:1024]
torch.cuda.synchronize()
with autolab.record_devices() as one_step:
    loss = deep(few).sum()
    loss.backward()
    torch.cuda.synchronize()
deep.zero_grad()
autolab.widgets.DeviceExplorer(one_step)

# %% [markdown] tags=["explain"]
# **Why.** Each node saves what its rule needs (lesson 1, section 3). A linear layer saves its input, `tanh` saves its result, and that is the next layer's input. So the graph holds one
# block of $4096 \cdot 256 \cdot 4$ bytes = 4 MiB for every `tanh`: $8 \cdot 4 = 32$ MiB. The result of a linear layer is saved by nobody, and freed. The weights are 2 MiB, whatever the batch. Memory for *saved tensors* grows with the batch and with the depth. Under `no_grad()` nothing is
# saved, and each intermediate result is freed as soon as the next one is there. The peak is at the end of the forward pass. The backward pass frees as it goes.
#
# ### Running out
#
# This error is on purpose. Read what it says, above all the note at its end:

# %% tags=["code", "raises-exception"]
everything = torch.cuda.get_device_properties(device).total_memory
kept = torch.ones(everything // 8, device=device)          # half of the memory: 4 bytes a number
torch.ones(everything // 6, device=device)                 # two thirds of it

# %% tags=["code"]
del kept
peaks = {}
for size in (512, 1024, 2048, 4096):
    torch.cuda.reset_peak_memory_stats()
    start = in_use()
    deep(rows[:size]).sum().backward()
    peaks[size] = torch.cuda.max_memory_allocated() / 2**20 - start
    deep.zero_grad()
    print(f"batch of {size:4}: {peaks[size]:5.1f} MiB on top")
print(f"each row costs {(peaks[4096] - peaks[512]) / (4096 - 512) * 1024:.1f} KiB")

# %% [markdown] tags=["explain"]
# **Why.** The peak is a straight line: a part that is always there, and the same amount for each row more. So two measurements tell you the largest batch that fits. If you need a larger one, compute it in parts,
# and call `backward()` for each: gradients add up (lesson 1, section 6). Only the saved tensors of *one* part are there at a time.

# %% [markdown] tags=["exercise"]
# ### Exercise 02.11a: the largest batch
#
# You measured two peaks: `peak_a` bytes with a batch of `a`, `peak_b` bytes with a batch of `b`. How large can the batch be on a GPU with `total` bytes? (0 when not even one row fits.)

# %% tags=["exercise"]
def largest_batch(a, peak_a, b, peak_b, total):
    return ...

check("02.11a", largest_batch)

# %% [markdown]
# ### What keeps memory alive
#
# You compute `h = deep(rows)` and `loss = h.sum()`. Then you write `del h`, to save memory.

# %% tags=["predict"]
q20 = predict("02.q20")
q20

# %% tags=["code"]
del result, loss
before = in_use()
h = deep(rows)
loss = h.sum()
both = in_use() - before
del h
without_h = in_use() - before
del loss
print(f"h and loss: {both:.1f} MiB, after del h: {without_h:.1f} MiB, after del loss: {in_use() - before:.1f} MiB")

total, curve = 0.0, []
for step in range(3):
    loss = deep(rows).sum()
    curve.append(loss)                                    # curve.append(loss.item()) would hold nothing
    print(f"step {step + 1}, losses kept as tensors: {in_use() - before:5.1f} MiB")
del loss, curve

# %% tags=["reveal"]
q20.reveal(without_h / both)

# %% [markdown] tags=["explain"]
# **Why.** `del` removes a name, not a tensor. The memory is freed when nobody holds it any more. `h` is the result of the last `tanh`, whose node saved it, and the loss holds that node. A single number,
# `loss`, keeps the whole graph alive, and a list of losses keeps them all. Let go of the *end* of the graph: `loss.item()`, `loss.detach()`, or the end of the function. `torch.cuda.empty_cache()` does
# not help here. It gives back what is not in use, and the graph is in use.
#
# ### Memory for time
#
# What is not saved can be computed again. `checkpoint(f, x)` runs `f` and keeps only `x`. When the backward pass comes by, it runs `f` once more.

# %% tags=["predict"]
q21 = predict("02.q21")
q21

# %% tags=["code"]
from autolab.utils.checkpoint import checkpoint

def two_halves(x):
    return checkpoint(deep[8:], checkpoint(deep[:8], x, use_reentrant=False), use_reentrant=False)

gradients = {}
for name, forward in {"plain": deep, "checkpointed": two_halves}.items():
    deep.zero_grad()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    held, start = in_use(), clock()
    forward(rows).sum().backward()
    torch.cuda.synchronize()
    gradients[name] = deep[0].weight.grad.clone()
    peak = torch.cuda.max_memory_allocated() / 2**20 - held
    print(f"{name:12}: {peak:5.1f} MiB on top, {1000 * (clock() - start):.2f} ms")
same = torch.equal(gradients["plain"], gradients["checkpointed"])
print("the same gradients:", same)

# %% tags=["reveal"]
q21.reveal(same)

# %% [markdown] tags=["explain"]
# **Why.** Between the halves one tensor is kept. Inside a half everything is computed again when it is needed, and only one half is there at a time. The price is a second forward pass. A backward pass costs about two
# forward passes, so three units of work become four: a third more. With $\sqrt n$ pieces of $\sqrt n$ layers the memory grows like $\sqrt n$ instead of $n$ ([Chen et al., 2016](https://arxiv.org/abs/1604.06174)).

# %% [markdown] tags=["exercise"]
# ### Exercise 02.11b: an evaluation that fills the memory
#
# `mean_loss` is meant to give the mean loss over all batches, as a plain number, and to hold no more than one batch's results at a time. Mend it.

# %% tags=["exercise"]
def mean_loss(model, batches):
    total = 0.0
    for x, y in batches:
        total = total + F.mse_loss(model(x), y)
    return total / len(batches)

check("02.11b", mean_loss)

# %% [markdown] tags=["keep"]
# **Take along:** memory is what the graph saved, times the batch; whoever holds the end of a graph holds all of it.
# PyTorch on [memory management](https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management) and
# [checkpointing](https://docs.pytorch.org/docs/stable/checkpoint.html).
