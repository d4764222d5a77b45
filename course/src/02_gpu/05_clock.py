# %% [markdown] tags=["section"]
# ## 4. What your clock measures
#
# Multiplying two matrices of 1,000 rows takes the T4 about 0.35 ms. Ten of them take 3.5 ms. Measure them as people usually do:
#
# ```
# start = clock()
# for _ in range(10):
#     c = a @ a
# stop = clock()
# ```

# %% tags=["predict"]
q7 = predict("02.q7")
q7

# %% tags=["code"]
a = torch.ones(1000, 1000, device=device)
torch.cuda.synchronize()

start = clock()
for _ in range(10):
    c = a @ a
stop = clock()
torch.cuda.synchronize()
done = clock()
loop, whole = stop - start, done - start
print(f"the loop:             {1000 * loop:.3f} ms")
print(f"until it is computed: {1000 * whole:.3f} ms")

# %% tags=["reveal"]
q7.reveal(loop, whole)

# %% [markdown]
# Step through a shorter loop. Look at the queue: it fills while the host runs on, and empties while the host waits.

# %% tags=["picture"]
with autolab.record_devices() as queue:
    for _ in range(3):
        c = a @ a
    torch.cuda.synchronize()
DeviceExplorer(queue)

# %% [markdown] tags=["explain", "keep"]
# **Why.** `a @ a` does not compute on the GPU. It *asks for* it, and comes back at once. Host and GPU work side by side. So the first
# clock measured ten launches, $10 \cdot 5\,\text{µs} = 0.05$ ms. `torch.cuda.synchronize()` makes the host wait until the queue is empty.
#
# Whatever needs a number on the host waits too: `.item()`, `.cpu()`, `print(t)`, `if t > 0`. In a loop that is timed without
# synchronising, the first such line seems to be the slow one. It is only the one that waits.
#
# **Takeaway:** a GPU's work is only queued; synchronise before you read a clock, at both ends.
# PyTorch on [asynchronous execution](https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution).
#
# Who trusts the first clock has the engine below in mind. Change the program until both engines say about the same.

# %% tags=["catch"]
def measured():
    torch.cuda.synchronize()
    start = torch.cuda.perf_counter()
    c = a @ a
    return f"{1e6 * (torch.cuda.perf_counter() - start):.0f} µs"

belief = autolab.specimens[22]
print("the engine:", measured(), "- this belief:", belief.run(measured))
belief

# %% tags=["words"]
in_words("02.w3")
