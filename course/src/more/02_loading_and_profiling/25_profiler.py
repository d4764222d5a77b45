# %% [markdown] tags=["section"]
# ## 2. Where the time goes
#
# You don't have to guess which part of a program is slow, because the **profiler** records it. For each call, it notes how long the host was busy and which kernels the call launched on the GPU. Let's profile one training step of the course's network, with 16 digits:

# %% tags=["predict"]
q19 = predict("02.q19")
q19

# %% tags=["code"]
from autolab.profiler import DeviceType, ProfilerActivity, profile

model = hand.network().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
digits = autolab.vision.datasets.Digits(train=True, size=32)
x = (digits.data[:16].unsqueeze(1).float() / 255).to(device)
y = digits.targets[:16].to(device)
torch.cuda.synchronize()

with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    torch.cuda.synchronize()

rows = prof.key_averages()
calls = [row for row in rows if row.device_type is DeviceType.CPU]
kernels = [row for row in rows if row.device_type is DeviceType.CUDA]

def short_table(rows, time):
    print(f"{'':42} host, own   GPU, own   times")
    for row in sorted(rows, key=lambda row: getattr(row, time), reverse=True)[:7]:
        name = row.key.removeprefix("autograd::engine::evaluate_function: ")[:40]
        host, gpu = row.self_cpu_time_total, row.self_device_time_total
        print(f"{name:40} {host:8.0f} µs {gpu:7.0f} µs {row.count:6}")

short_table(calls, "self_cpu_time_total")

# %% tags=["code"]
short_table(calls, "self_device_time_total")
host = sum(row.self_cpu_time_total for row in calls if "Synchronize" not in row.key)
gpu = sum(row.self_device_time_total for row in kernels)
print(f"the host was busy for {host:.0f} µs, the GPU for {gpu:.0f} µs")

# %% tags=["reveal"]
q19.reveal(host, gpu)

# %% [markdown]
# `print(prof.key_averages().table(sort_by="self_cuda_time_total", row_limit=10))` prints PyTorch's own table, which has more columns. The next picture shows the same numbers. Its upper part shows the host's time for each name. Its lower part is a timeline of all calls, with the GPU's work at the bottom. Look for gaps in this work.

# %% tags=["picture"]
bars, timeline = autolab.viz.plot_profile(prof, row_limit=8)
plt.show()

# %% [markdown] tags=["explain"]
# **Why.** You can read such a table in three steps.
#
# 1. *Is the host or the GPU the bottleneck?* The table has two kinds of rows: calls on the host, and kernels on the GPU. The time of a kernel also appears in the row of the call that launched it, so make sure that you count it only once. Add up the host's own times, but leave out `cudaDeviceSynchronize`, because there the host only waits. If the host is busy longer than the GPU, the host is the bottleneck. This is the case here, although the network is on the GPU, because the host cannot launch kernels fast enough.
# 2. *Which name takes the time?* A call's "own" time doesn't include the calls inside it, so you can add up the own times. The backward pass of the convolutions is at the top. However, the next two rows belong to batch normalisation, and its forward and backward passes together take the host longer, because in this kit they launch many small kernels. It would have been hard to guess that.
# 3. *Are there a few long calls or many short ones?* The column "times" tells you how often each name was called. If the calls are short, use larger batches or fewer operations. If they are long, do less work or use a smaller number type.
#
# A tutorial profiles a convolution with the following lines, and sorts the table by `self_cpu_time_total`:
#
# ```
# device = torch.device('cuda')
# x = torch.randn(32, 16, 100)
# conv1d = torch.nn.Conv1d(16, 32, kernel_size=3)
# with torch.autograd.profiler.profile(use_cuda=True) as prf: ...
# ```

# %% tags=["predict"]
q20 = predict("02.q20")
q20

# %% tags=["code"]
signal = torch.randn(32, 16, 100)
conv1d = nn.Conv1d(16, 32, kernel_size=3)

with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as unmoved:
    for _ in range(100):
        conv1d(signal)
on_the_gpu = sum(
    row.self_device_time_total
    for row in unmoved.key_averages()
    if row.device_type is DeviceType.CUDA
)
print("time on the GPU:", on_the_gpu, "µs")

# %% tags=["reveal"]
q20.reveal(on_the_gpu)

# %% [markdown] tags=["explain"]
# **Why.** The tutorial sets `device` but never uses it. Neither `x` nor `conv1d` is moved, and there is no error, because both are on the same device, the CPU. Asking the profiler to watch the GPU doesn't move any work to the GPU. Even if the work did run on the GPU, sorting by the host's own time would hide it, because a launch takes the host the same time whether the kernel runs for 3 µs or for 3 ms.

# %% [markdown] tags=["exercise"]
# ### Exercise 02.10: find the bottleneck
#
# `bottleneck(rows)` receives the rows of `prof.key_averages()`. It should return `"host"` if the host was busy longer, and `"GPU"` otherwise. At the moment it adds up the wrong columns, so some of the time is counted more than once. Fix it.

# %% tags=["exercise"]
def bottleneck(rows):
    host = sum(row.cpu_time_total for row in rows)
    gpu = sum(row.device_time_total for row in rows)
    return "host" if host > gpu else "GPU"

check("02.10", bottleneck)

# %% [markdown] tags=["keep"]
# **Takeaway:** measure before you change anything, and compare the host's column with the GPU's.
# Read more: PyTorch's page on [the profiler](https://docs.pytorch.org/tutorials/recipes/recipes/profiler_recipe.html).

# %% tags=["progress"]
progress("02")
