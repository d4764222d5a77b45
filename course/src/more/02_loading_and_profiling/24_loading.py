# %% [markdown] tags=["section"]
# ## 1. Data on the way to the GPU
#
# Two million numbers are needed on the GPU. You can make them on the CPU and move them, or make them where you need them.

# %% tags=["predict"]
q16 = predict("02.q16")
q16

# %% tags=["code"]
n = 2_000_000
moved = seconds(lambda: torch.ones(n).to(device))
created = seconds(lambda: torch.ones(n, device=device))
print(f"made on the CPU, then moved: {1000 * moved:.3f} ms")
print(f"made on the GPU:             {1000 * created:.3f} ms")
times = moved / created

# %% tags=["reveal"]
q16.reveal(times)

# %% [markdown] tags=["explain"]
# **Why.** Between CPU and GPU is a bus, PCI Express, the slowest part of the machine: 8 million bytes at 6 billion a second take 1.3 ms. The GPU fills its own
# memory in 0.04 ms. `torch.zeros(..., device=device)` and `torch.ones_like(t)`, which goes where `t` is, send nothing over it.
#
# The data is on the host, the model on the GPU. 1,024 images of 28 by 28 pixels have to get there: one by one, or all at once?

# %% tags=["predict"]
q17 = predict("02.q17")
q17

# %% tags=["code"]
pictures, classes = torch.rand(1024, 1, 28, 28), torch.arange(1024) % 10

one_by_one = seconds(lambda: [picture.to(device) for picture in pictures])
at_once = seconds(lambda: pictures.to(device))
print(f"one by one: {1000 * one_by_one:.2f} ms, at once: {1000 * at_once:.2f} ms,",
      f"{one_by_one / at_once:.0f} times")
times = one_by_one / at_once

# %% tags=["reveal"]
q17.reveal(times)

# %% [markdown] tags=["explain"]
# **Why.** Each copy costs about 15 µs before the first byte is on its way: 5 µs on the host, and 10 µs until the copy begins. An image has 3,136 bytes, which take half a microsecond. So
# the loop pays 1,024 times for starting.
#
# That is why a data set hands out tensors on the host, and you move whole batches, right where you use them:
#
# ```
# for x, y in loader:
#     x, y = x.to(device), y.to(device)
# ```
#
# When the whole data set fits into the GPU's memory, move it once, before the loop.
#
# ### Copying while the GPU computes
#
# A batch is copied while the GPU has nothing to do, and the host waits for it. It need not be so. Memory of the host that may not be moved elsewhere is called **pinned memory**. From there
# the GPU can fetch by itself: twice as fast, and with `non_blocking=True` the host does not wait.

# %% tags=["predict"]
q18 = predict("02.q18")
q18

# %% tags=["code"]
weights = torch.ones(784, 2000, device=device)
pairs = torch.utils.data.TensorDataset(pictures, classes)

def epoch(pinned):
    loader = torch.utils.data.DataLoader(pairs, batch_size=256, pin_memory=pinned)
    start, waited = clock(), 0.0
    for x, y in loader:
        before = clock()
        x = x.to(device, non_blocking=pinned)
        y = y.to(device, non_blocking=pinned)
        waited += clock() - before
        product = x.flatten(1) @ weights
    torch.cuda.synchronize()
    return waited, clock() - start

for pinned in (False, True):
    waited, total = epoch(pinned)
    print(f"pinned {pinned!s:5}: the host spends {1e6 * waited:6.0f} µs on copies,",
          f"the epoch takes {1e6 * total:6.0f} µs")

# %% tags=["reveal"]
q18.reveal(waited)

# %% tags=["picture"]
with autolab.record_devices() as feeding:
    for pinned in (False, True):
        x = pictures[:256].pin_memory() if pinned else pictures[:256]
        for _ in range(2):
            product = x.to(device, non_blocking=pinned).flatten(1) @ weights
        torch.cuda.synchronize()
DeviceExplorer(feeding)

# %% [markdown] tags=["explain"]
# **Why.** From ordinary memory, `.to()` comes back when the copy is done, and a copy waits for what is in the queue before it. So the host stands still, four times. From pinned memory it
# only launches: eight times 5 µs. The copies still take their time, in the queue.
#
# What `non_blocking=True` promises is little: the host may run on. From ordinary memory it changes nothing. In the other direction, `t.to("cpu", non_blocking=True)`, it is dangerous. You get a tensor whose
# numbers may not have arrived yet. Synchronise before you read it.

# %% [markdown] tags=["exercise"]
# ### Exercise 02.8: batches that arrive on the device
#
# `on_device(loader, device)` is meant to yield every batch of the loader, as a pair on the device, one at a time: the second is not touched before the first was used. Mend it.

# %% tags=["exercise"]
def on_device(loader, device):
    batches = [(x.to(device), y) for x, y in loader]
    return batches

check("02.8", on_device)

# %% [markdown] tags=["exercise"]
# ### Exercise 02.6: a stopwatch that waits
#
# `time_it(work, clock)` is meant to give the seconds that `work()` takes, until it is computed. Nothing that was in the queue before may
# count. Mend it.

# %% tags=["exercise"]
def time_it(work, clock):
    start = clock()
    work()
    return clock() - start

check("02.6", time_it)

# %% [markdown] tags=["keep"]
# **Takeaway:** move batches, not samples; pin what you move often.
# PyTorch on [`pin_memory` and `non_blocking`](https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html).
