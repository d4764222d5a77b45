# %% [markdown] tags=["section"]
# ## 4. What your clock measures
#
# The T4 needs about 0.35 ms to multiply two matrices of 1,000 rows and columns. Ten such products take 3.5 ms. Let's see whether we get this time when we measure it in the usual way:
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
# Step through a shorter loop, and look at the queue. It fills up while the host runs ahead, and it empties while the host waits.

# %% tags=["picture"]
with autolab.record_devices() as queue:
    for _ in range(3):
        c = a @ a
    torch.cuda.synchronize()
DeviceExplorer(queue)

# %% [markdown] tags=["explain", "keep"]
# **Why.** The line `a @ a` only *asks* the GPU for a product, and it returns at once. From then on, the host and the GPU work side by side. So the first clock measured ten launches, which take $10 \cdot 5\,\text{µs} = 0.05$ ms. If you want the host to wait until the queue is empty, call `torch.cuda.synchronize()`.
#
# The host also waits whenever it needs a number from the GPU, for example in `.item()`, `.cpu()`, `print(t)` or `if t > 0`. Suppose you time each line of a loop without synchronising. Then the first line that needs a number looks slow, although it only waits for the work of the lines before it.
#
# **Takeaway:** your code only puts the GPU's work into a queue, so synchronise before you read the clock, both at the start and at the end.
# Read more: PyTorch's page on [asynchronous execution](https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution).
#
# If you trusted the first clock, you were picturing the engine below, in which the host waits for every operation. Change the program until both engines print about the same time. To find the right place for your change, ask yourself what is still in the queue when the clock is read.

# %% tags=["catch"]
def measured():
    torch.cuda.synchronize()
    start = autolab.cuda.perf_counter()
    c = a @ a
    return f"{1e6 * (autolab.cuda.perf_counter() - start):.0f} µs"

belief = autolab.specimens[22]
print("the engine:", measured(), "- this belief:", belief.run(measured))
belief

# %% tags=["words"]
in_words("02.w3")
