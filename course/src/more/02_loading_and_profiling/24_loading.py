# %% [markdown] tags=["section"]
# ## 1. Data on the way to the GPU
#
# Suppose you need two million numbers on the GPU. You can create them on the CPU and then move them, or you can create them directly on the GPU.

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
# **Why.** The CPU and the GPU are connected by a bus, PCI Express, which is much slower than the memory at either end. The bus needs 1.3 ms for 8 million bytes, because it carries about 6 billion bytes per second. The GPU, however, fills the same amount of its own memory in 0.04 ms. `torch.zeros(..., device=device)` sends nothing over the bus, and neither does `torch.ones_like(t)`, because its result is created on the device of `t`.
#
# Usually the data are on the host and the model is on the GPU, so the data have to be moved. For example, take 1,024 images of 28 by 28 pixels. You can move them one by one, or all at once.

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
# **Why.** Each copy costs about 15 µs before its first byte moves: 5 µs for the launch on the host, and 10 µs until the copy begins. An image has only 3,136 bytes, and moving them takes half a microsecond. So the loop spends nearly all of its time on starting 1,024 copies.
#
# That is why a data set delivers tensors on the host, and you move whole batches in the loop, right where you use them:
#
# ```
# for x, y in loader:
#     x, y = x.to(device), y.to(device)
# ```
#
# If the whole data set fits into the GPU's memory, you can move it once before the loop instead.
#
# ### Copying while the GPU computes
#
# So far, the host waits for every copy, and the GPU has nothing to do while the next batch is copied. It doesn't have to be like that. Host memory that the operating system must not move is called **pinned memory**. The GPU can read pinned memory without the CPU's help, which is twice as fast. In addition, the host doesn't wait if you pass `non_blocking=True`.

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
    kind = "pinned" if pinned else "ordinary"
    print(f"{kind:8} memory: the host spends {1e6 * waited:6.0f} µs on copies,",
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
# **Why.** From ordinary memory, `.to()` returns only when the copy is complete, and the copy begins only after everything that is already in the queue. So the host has to wait, once for each of the four batches. From pinned memory, the host only launches the eight copies of images and labels, and each launch costs it 5 µs. The copies themselves still take time, but this time passes in the GPU's queue.
#
# Note that `non_blocking=True` only says that the host *may* go on, so it changes nothing if you copy from ordinary memory. In the other direction, `t.to("cpu", non_blocking=True)` is dangerous, because you get a tensor whose numbers may not have arrived yet. So synchronise before you read it.

# %% [markdown] tags=["exercise"]
# ### Exercise 02.8: batches that arrive on the device
#
# `on_device(loader, device)` should yield each batch of the loader as a pair of tensors on the device. It should do so one batch at a time, that is, it should not load the second batch before the first has been used. At the moment, it gets both wrong. Fix it.

# %% tags=["exercise"]
def on_device(loader, device):
    batches = [(x.to(device), y) for x, y in loader]
    return batches

check("02.8", on_device)

# %% [markdown] tags=["exercise"]
# ### Exercise 02.6: a stopwatch that waits
#
# `time_it(work, clock)` should return the seconds from the start of `work()` until all of its results have been computed. It should not count work that was already in the queue. At the moment it doesn't wait for the GPU at all. Fix it.

# %% tags=["exercise"]
def time_it(work, clock):
    start = clock()
    work()
    return clock() - start

check("02.6", time_it)

# %% [markdown] tags=["keep"]
# **Takeaway:** move whole batches instead of single examples, and pin the memory of data that you move often.
# Read more: PyTorch's page on [`pin_memory` and `non_blocking`](https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html).
