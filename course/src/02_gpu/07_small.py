# %% [markdown] tags=["section"]
# ## 7. When small work is slower
#
# Now matrices of 16 rows and columns, instead of 1,500.

# %% tags=["predict"]
q11 = predict("02.q11")
q11

# %% tags=["code"]
sizes = [8, 16, 32, 64, 128, 256, 512, 1024, 2048]
taken = {"cpu": [], "cuda": []}
for n in sizes:
    for where in taken:
        a = torch.ones(n, n, device=where)
        taken[where].append(seconds(lambda: a @ a))
for n, on_cpu, on_gpu in zip(sizes, *taken.values()):
    print(f"{n:5} rows: CPU {1e6 * on_cpu:10.1f} µs, GPU {1e6 * on_gpu:8.1f} µs")
crossing = next(n for n, on_cpu, on_gpu in zip(sizes, *taken.values()) if on_gpu < on_cpu)
print("the GPU is faster from", crossing, "rows on")

# %% tags=["reveal"]
q11.reveal(taken["cpu"][1], taken["cuda"][1])

# %% tags=["picture"]
for (where, times), style, colour in zip(taken.items(), ("o-", "s--"), ("#0072B2", "#D55E00")):
    plt.loglog(sizes, [1e6 * t for t in times], style, color=colour, label=where)
plt.axvline(crossing, color="grey", linestyle=":")
plt.text(crossing, 1e6 * min(taken["cpu"]), " faster on the GPU", va="bottom")
plt.xticks(sizes, sizes)
plt.minorticks_off()
plt.xlabel("rows of the matrices")
plt.ylabel("µs for one product")
plt.legend()
plt.show()

# %% [markdown] tags=["explain"]
# **Why.** A launch costs the host 5 µs, whatever is launched, and no kernel takes less than 2.5 µs. So the line of the GPU is flat on the left: up to 128 rows
# nearly all of it is **launch overhead**. The CPU starts at 2 µs and grows with the work, $2 n^3$ operations. On the left of the crossing the CPU wins, on the right the GPU. Where exactly they cross depends on the
# machines. That they cross does not.
#
# The same rule makes many small operations slow where one large one would do. Here a thousand rows are scaled, each by its own factor:
#
# ```
# for i in range(1000):
#     out[i] = x[i] * factors[i]
# ```

# %% tags=["predict"]
q12 = predict("02.q12")
q12

# %% tags=["code"]
x, factors = torch.ones(1000, 100, device=device), torch.arange(1000.0, device=device)
out = torch.empty_like(x)

def row_by_row():
    for i in range(1000):
        out[i] = x[i] * factors[i]

def at_once():
    return x * factors[:, None]

loop, single = seconds(row_by_row), seconds(at_once)
print(f"row by row: {1000 * loop:.3f} ms, at once: {1000 * single:.4f} ms, {loop / single:.0f} times")
print("the same numbers:", torch.equal(out, at_once()))

# %% tags=["reveal"]
q12.reveal(loop / single)

# %% [markdown] tags=["explain"]
# **Why.** The loop launches a product and a copy for each row: 2,000 launches. Each carries 100 numbers, and 400 bytes would take a nanosecond. The single
# line launches once. `factors[:, None]` has the shape (1000, 1), so each factor meets its whole row.

# %% [markdown] tags=["exercise"]
# ### Exercise 02.7: one launch instead of many
#
# `centre(x)` subtracts from each row its mean. It is right, and it launches three kernels for each row. Write it with a number of launches that does not grow with the rows.

# %% tags=["exercise"]
def centre(x):
    out = torch.empty_like(x)
    for i in range(x.shape[0]):
        out[i] = x[i] - x[i].mean()
    return out

check("02.7", centre)

# %% [markdown] tags=["keep"]
# **Take along:** every launch costs the same, so give it much to do.
# PyTorch on [avoiding unnecessary overhead](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#general-optimizations).
