# %% [markdown] tags=["section"]
# ## 1. Why a GPU
#
# A CPU has a few fast cores. A GPU has thousands of slow ones, and much faster memory beside them. It is made for doing the same
# thing to very many numbers.
#
# Multiply two matrices of 1,500 rows and columns. That is $2 \cdot 1500^3 \approx 6.75$ billion operations.

# %% tags=["predict"]
q1 = predict("02.q1")
q1

# %% tags=["code"]
def seconds(work):
    """How long work() takes. Section 6 explains the two synchronize() lines."""
    torch.cuda.synchronize()
    start = clock()
    work()
    torch.cuda.synchronize()
    return clock() - start

ratios = {}
for where in ("cpu", "cuda"):
    a, b = torch.ones(1500, 1500, device=where), torch.ones(1500, 1500, device=where)
    for name, work in {"a @ b": lambda: a @ b, "a + b": lambda: a + b}.items():
        t = seconds(work)
        ratios.setdefault(name, []).append(t)
        print(f"{name} on {where:4}: {1000 * t:7.3f} ms")
for name, (on_cpu, on_gpu) in ratios.items():
    print(f"{name}: the GPU is {on_cpu / on_gpu:.0f} times faster")

# %% tags=["reveal"]
q1.reveal(*ratios["a @ b"])

# %% [markdown]
# The two operations gain differently. In the picture each device is a line: what it can compute a second, depending on how many operations the work has
# for each byte it moves. On the slope the memory is the limit, on the flat part the arithmetic is. Look where `a + b` and `a @ b` stand.

# %% tags=["picture"]
intensity = np.logspace(-2, 3, 200)                   # operations for each byte
devices = {"CPU (model)": (150e9, 20e9), "T4 (model)": (0.7 * 8.1e12, 0.7 * 320e9)}
for (name, (peak, bandwidth)), style, colour in zip(devices.items(), ("-", "--"), ("#0072B2", "#D55E00")):
    plt.loglog(intensity, np.minimum(peak, intensity * bandwidth) / 1e9, style, color=colour, label=name)
for name, operations in {"a + b": 1500**2, "a @ b": 2 * 1500**3}.items():
    x = operations / (3 * 4 * 1500**2)                # two matrices are read, one is written; 4 bytes a number
    plt.axvline(x, color="grey", linestyle=":")
    plt.text(x * 1.1, 0.3, name)
plt.xlabel("operations for each byte moved")
plt.ylabel("billion operations a second")
plt.legend()
plt.show()

# %% [markdown] tags=["explain"]
# **Why.** A kernel has to move its bytes and to do its operations. Both go on at the same time, so the slower one decides:
# $$t = \max\left(\frac{\text{bytes}}{\text{bandwidth}},\ \frac{\text{operations}}{\text{speed}}\right)$$
# For `a + b` that is $3 \cdot 4 \cdot 1500^2 = 27$ million bytes and only 2.25 million operations: memory decides, and the GPU's memory is about 11 times faster. For `a @ b`
# it is the same bytes and 3,000 times the operations: arithmetic decides, and there the GPU is 38 times faster.
#
# You may read that once model and data are on the GPU, everything is "automatically parallelized". One half is true: *each* operation is spread over
# the GPU's cores. But operations still run one after another, and none gets faster by being there if it is too small. Section 7 shows that.

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
# **Take along:** a GPU is fast for much work of the same kind; bytes or operations, whichever takes longer, decide.
# PyTorch on [tuning performance](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html).
