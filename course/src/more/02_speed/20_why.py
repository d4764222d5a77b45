# %% [markdown] tags=["section"]
# ## 1. Memory and arithmetic
#
# A CPU has a few fast cores. A GPU has thousands of slower cores instead, and much faster memory, because it is made for doing the same thing to very many numbers.
#
# As an example, let's multiply two matrices of 1,500 rows and columns. That takes $2 \cdot 1500^3 \approx 6.75$ billion operations.

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
# The product gains more from the GPU than the sum does, so let's look for the reason. In the picture, each device has a line. The line shows how many operations per second the device can do, depending on how many operations the work needs for each byte that it moves. On the slope, the memory is the limit; on the flat part, the arithmetic is the limit. Find `a + b` and `a @ b` in the picture.

# %% tags=["picture"]
per_byte = np.logspace(-2, 3, 200)                    # operations for each byte
limits = {
    "CPU (model)": np.minimum(375e9, per_byte * 20e9) / 1e9,
    "T4 (model)": np.minimum(0.7 * 8.1e12, per_byte * 0.7 * 320e9) / 1e9,
}
bytes_moved = 3 * 4 * 1500**2                         # two matrices read, one written
plots.curves(per_byte, limits, log="xy", xlabel="operations for each byte moved",
             ylabel="billion operations a second",
             mark={"a + b": 1500**2 / bytes_moved, "a @ b": 2 * 1500**3 / bytes_moved})
plt.show()

# %% [markdown] tags=["explain"]
# **Why.** A kernel has to move its bytes and do its operations. Both happen at the same time, so the slower of the two decides:
# $$t = \max\left(\frac{\text{bytes}}{\text{bandwidth}},\ \frac{\text{operations}}{\text{speed}}\right)$$
# For `a + b`, there are $3 \cdot 4 \cdot 1500^2 = 27$ million bytes to move, but only 2.25 million operations to do. So the memory is the limit, and the GPU's memory is about 11 times faster. For `a @ b`, there are the same number of bytes but 3,000 times as many operations. So the arithmetic is the limit. The modelled CPU has four cores and does 375 billion operations per second, and the GPU does 15 times as many.
#
# That is why "a GPU is fifteen times faster" is true for one large product, and for nothing else in this lesson. You may also read that on a GPU everything is "automatically parallelized". Only half of this is true: *each* operation is spread over the cores. However, the operations of your program still run one after another, and an operation that is too small doesn't get faster on a GPU.

# %% [markdown] tags=["exercise"]
# ### Exercise 02.1: how long a kernel takes
#
# Write this model of the T4 as a function that returns the time in seconds. The memory moves 320e9 bytes per second, and the cores do 8.1e12 operations per second. In practice, a kernel reaches only 70 % of either number, and no kernel takes less than 2.5 µs.

# %% tags=["exercise"]
def kernel_time(nbytes, operations):
    return ...

check("02.1", kernel_time)

# %% [markdown] tags=["keep"]
# **Takeaway:** a GPU is fast if there is a lot of work of the same kind, and the time depends on the bytes or the operations, whichever take longer.
# Read more: PyTorch's page on [tuning performance](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html).
