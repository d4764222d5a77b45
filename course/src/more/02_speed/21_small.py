# %% [markdown] tags=["section"]
# ## 2. Small work
#
# So far the matrices were large. Now let's multiply two matrices on both devices, and increase their size from 8 rows to 1,024. The CPU is faster for small matrices, and the GPU is faster for large ones.

# %% tags=["predict"]
q12 = predict("02.q12")
q12

# %% tags=["code"]
sizes = [8, 16, 32, 64, 128, 256, 512, 1024]
taken = {"cpu": [], "cuda": []}
for n in sizes:
    for where in taken:
        a = torch.ones(n, n, device=where)
        taken[where].append(1e6 * seconds(lambda: a @ a))
for n, on_cpu, on_gpu in zip(sizes, *taken.values()):
    print(f"{n:5} rows: CPU {on_cpu:10.1f} µs, GPU {on_gpu:8.1f} µs")
crossing = next(n for n, a, b in zip(sizes, *taken.values()) if b < a)
print("the GPU is faster from", crossing, "rows on")

# %% tags=["reveal"]
q12.reveal(crossing)

# %% tags=["picture"]
plots.curves(sizes, taken, log="xy", xlabel="rows of the matrices",
             ylabel="µs for one product", mark={"faster on the GPU": crossing})
plt.show()

# %% [markdown] tags=["explain"]
# **Why.** A launch costs the host 5 µs, whatever it launches, and no kernel takes less than 2.5 µs. So the GPU's line is flat on the left, because up to 128 rows nearly all of the time is **launch overhead**. The CPU's line starts at 2 µs instead, and then its time grows with the $2 n^3$ operations. Therefore the CPU wins on the left of the crossing, and the GPU wins on the right. Where exactly the lines cross depends on the machines, but they always cross somewhere.
#
# For the same reason, many small operations are slow where one large operation would be enough. For example, this loop scales a thousand rows, each by its own factor:
#
# ```
# for i in range(1000):
#     out[i] = x[i] * factors[i]
# ```

# %% tags=["predict"]
q13 = predict("02.q13")
q13

# %% tags=["code"]
x = torch.ones(1000, 100, device=device)
factors = torch.arange(1000.0, device=device)
out = torch.empty_like(x)

def row_by_row():
    for i in range(1000):
        out[i] = x[i] * factors[i]

def at_once():
    return x * factors[:, None]

loop, single = seconds(row_by_row), seconds(at_once)
print(f"row by row: {1000 * loop:.3f} ms, at once: {1000 * single:.4f} ms,",
      f"{loop / single:.0f} times")
print("largest difference of the results:", (out - at_once()).abs().max().item())
times = loop / single

# %% tags=["reveal"]
q13.reveal(times)

# %% [markdown] tags=["explain"]
# **Why.** For each row, the loop launches a product and a copy, which makes 2,000 launches. Each of them handles only 100 numbers, and the GPU could move their 400 bytes in about two nanoseconds. The single line launches only one kernel instead. This works because `factors[:, None]` has the shape (1000, 1), so each factor multiplies its whole row.

# %% [markdown] tags=["exercise"]
# ### Exercise 02.7: one launch instead of many
#
# `centre(x)` subtracts the mean of each row from that row. Its result is correct, but it launches three kernels for each row. Rewrite it, so that the number of launches doesn't grow with the number of rows.

# %% tags=["exercise"]
def centre(x):
    out = torch.empty_like(x)
    for i in range(x.shape[0]):
        out[i] = x[i] - x[i].mean()
    return out

check("02.7", centre)

# %% [markdown] tags=["keep"]
# **Takeaway:** every launch costs the same, so use one large operation instead of many small ones.
# Read more: PyTorch's page on [avoiding unnecessary overhead](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#general-optimizations).

# %% [markdown] tags=["section"]
# ## 3. Review
#
# Let's return to two ideas from lesson 2. The first is about leaves, so it needs no GPU. This code converts a tensor to another type instead of moving it:

# %% tags=["picture"]
rate = torch.tensor([0.5, 2.0], requires_grad=True).double()
again = autolab.explore((rate * rate).sum())
again.ask("rate", "state", id="02.a4")
again

# %% tags=["predict"]
q26 = predict("02.q26")
q26

# %% tags=["code"]
a = torch.ones(1000, 1000, device=device)
torch.cuda.synchronize()
ticks = [clock()]
h = a @ a
ticks.append(clock())
best = h.max()
ticks.append(clock())
number = best.item()
ticks.append(clock())
taken = np.diff(ticks)
for line, t in zip(("h = a @ a", "best = h.max()", "number = best.item()"), taken):
    print(f"{line:20} {1e6 * t:4.0f} µs")

# %% tags=["reveal"]
q26.reveal(taken)

# %% [markdown] tags=["explain", "keep"]
# **Why.** `.double()` makes a new tensor of another type, just as `.to(device)` makes a new tensor in another place. So its result isn't a leaf, and the gradient goes on to the tensor in the brackets. The second cell shows the launches again: the first two lines only put work into the queue, and the third line waits for all of it, because it needs a number.
#
# **Takeaway:** a conversion is recorded like any other operation, and a line that needs a number waits for the GPU.
# Read more: PyTorch's page on [asynchronous execution](https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution).

# %% tags=["progress"]
progress("02")
