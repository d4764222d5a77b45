# %% [markdown] tags=["section"]
# ## 6. What your clock measures
#
# You know from section 1 that a product of 1,500 rows takes 1.2 ms on the T4. Ten of them take 12 ms. Now measure them as people usually do:
#
# ```
# start = clock()
# for _ in range(10):
#     c = a @ a
# stop = clock()
# ```

# %% tags=["predict"]
q10 = predict("02.q10")
q10

# %% tags=["code"]
a = torch.ones(1500, 1500, device=device)
torch.cuda.synchronize()

start = clock()
for _ in range(10):
    c = a @ a
stop = clock()
torch.cuda.synchronize()
done = clock()
print(f"the loop:      {1000 * (stop - start):7.3f} ms")
print(f"until it is computed: {1000 * (done - start):.3f} ms")

# %% tags=["reveal"]
q10.reveal(stop - start, done - start)

# %% [markdown]
# Step through a shorter loop. Look at the queue of the GPU: it fills up while the host runs on, and empties while the host waits.

# %% tags=["picture"]
with autolab.record_devices() as queue:
    for _ in range(3):
        c = a @ a
    torch.cuda.synchronize()
autolab.widgets.DeviceExplorer(queue)

# %% [markdown] tags=["explain"]
# **Why.** `a @ a` does not compute on the GPU. It *asks for* it: it puts a kernel into a queue, which is called a **launch**, and comes back at once. Host and GPU work side by side. So the first clock
# measured ten launches, $10 \cdot 5\,\text{µs} = 0.05$ ms. `torch.cuda.synchronize()` makes the host wait until the queue is empty. Only then has everything been computed: $10 \cdot 1.2$ ms.
#
# Whatever needs a number on the host waits too: `.item()`, `.cpu()`, `print(t)`, `if t > 0`. In a loop that is timed without synchronising, the first such line seems to be the slow one. It is only the one
# that waits. (The course loop of section 4 takes `time.time()` before and after each batch, and never waits. On a GPU its `per_batch_time` is the time of the launches.)

# %% tags=["code"]
start = clock()
c = a @ a
first = clock()
number = c[0, 0].item()
second = clock()
print(f"the product: {1000 * (first - start):.3f} ms, reading one number of it: {1000 * (second - first):.3f} ms")

# %% [markdown]
# A second way measures on the GPU itself. An **event** is a mark in the queue, and the time between two of them is what lies between them.

# %% tags=["code"]
begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
begin.record()
for _ in range(10):
    c = a @ a
end.record()
end.synchronize()
print(f"between the events: {begin.elapsed_time(end):.3f} ms")

# %% [markdown] tags=["exercise"]
# ### Exercise 02.6: a stopwatch that waits
#
# `time_it(work, clock)` is meant to give the seconds that `work()` takes, until it is computed. Nothing that was in the queue before may count. Mend it.

# %% tags=["exercise"]
def time_it(work, clock):
    start = clock()
    work()
    return clock() - start

check("02.6", time_it)

# %% [markdown] tags=["keep"]
# **Take along:** a GPU's work is only queued; synchronise before you read a clock, at both ends.
# PyTorch on [asynchronous execution](https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution).
