# %% [markdown] tags=["section"]
# ## 1. Memory and arithmetic
#
# A CPU has a few fast cores. A GPU has thousands of slow ones, and much faster memory beside them. It is made for doing the same
# thing to very many numbers.
#
# Multiply two matrices of 1,500 rows and columns. That is $2 \cdot 1500^3 \approx 6.75$ billion operations.

# %% tags=["predict"]
q11 = predict("02.q11")
q11

# %% tags=["code"]
ratios = {}
for where in ("cpu", "cuda"):
    a = torch.ones(1500, 1500, device=where)
    b = torch.ones(1500, 1500, device=where)
    jobs = {"a @ b": lambda: a @ b, "a + b": lambda: a + b}
    for name, job in jobs.items():
        t = seconds(job)
        ratios.setdefault(name, []).append(t)
        print(f"{name} on {where:4}: {1000 * t:7.3f} ms")
for name in ("a + b", "a @ b"):
    on_cpu, on_gpu = ratios[name]
    print(f"{name}: the GPU is {on_cpu / on_gpu:.0f} times faster")
del a, b                                              # 36 MB of numbers

# %% tags=["reveal"]
q11.reveal(on_cpu, on_gpu)

# %% [markdown]
# The two operations gain differently. In the picture each device is a line: what it can compute a second, depending on how many operations the work has
# for each byte it moves. On the slope the memory is the limit, on the flat part the arithmetic is. Look where `a + b` and `a @ b` stand.

# %% tags=["picture"]
per_byte = np.logspace(-2, 3, 200)                    # operations for each byte
limits = {
    "CPU (model)": np.minimum(150e9, per_byte * 20e9) / 1e9,
    "T4 (model)": np.minimum(0.7 * 8.1e12, per_byte * 0.7 * 320e9) / 1e9,
}
bytes_moved = 3 * 4 * 1500**2                         # two matrices read, one written
plots.curves(per_byte, limits, log="xy", xlabel="operations for each byte moved",
             ylabel="billion operations a second",
             mark={"a + b": 1500**2 / bytes_moved, "a @ b": 2 * 1500**3 / bytes_moved})
plt.show()

# %% [markdown] tags=["explain"]
# **Why.** A kernel has to move its bytes and to do its operations. Both go on at the same time, so the slower one decides:
# $$t = \max\left(\frac{\text{bytes}}{\text{bandwidth}},\ \frac{\text{operations}}{\text{speed}}\right)$$
# For `a + b` that is $3 \cdot 4 \cdot 1500^2 = 27$ million bytes and only 2.25 million operations: memory decides, and the GPU's memory is about 11 times faster. For `a @ b`
# it is the same bytes and 3,000 times the operations: arithmetic decides, and there the GPU is 38 times faster, by the model of both.
#
# So "a GPU is forty times faster" is true of one large product, and of nothing else in this lesson. You may also read that on a GPU
# everything is "automatically parallelized". One half is true: *each* operation is spread over the cores. But operations
# still run one after another, and none gets faster by being there if it is too small.

# %% [markdown] tags=["exercise"]
# ### Exercise 02.1: how long will a kernel take
#
# Write the model as a function, for the T4. Bandwidth is 320e9 bytes a second, speed 8.1e12 operations a second. A kernel reaches 70 % of either.
# No kernel takes less than 2.5 µs. The result is in seconds.

# %% tags=["exercise"]
def kernel_time(nbytes, operations):
    return ...

check("02.1", kernel_time)

# %% [markdown] tags=["keep"]
# **Takeaway:** a GPU is fast for much work of the same kind; bytes or operations, whichever takes longer, decide.
# PyTorch on [tuning performance](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html).
