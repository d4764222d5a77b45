# %% [markdown] tags=["section"]
# ## 2. Who took the time
#
# Guessing is over: the **profiler** notes each call, how long the host was busy with it, and what it had the GPU do. One training step of the course's network, with 16 digits:

# %% tags=["predict"]
q19 = predict("02.q19")
q19

# %% tags=["code"]
from autolab.profiler import DeviceType, ProfilerActivity, profile

model = hand.network().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
digits = torch.vision.datasets.Digits(train=True, size=32)
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
# `print(prof.key_averages().table(sort_by="self_cuda_time_total", row_limit=10))` prints PyTorch's own table, with more columns. The same as a picture: above, the time of each name on the host. Below, every
# call on a line of time, and at the bottom what the GPU did. Look for gaps there.

# %% tags=["picture"]
bars, timeline = autolab.viz.plot_profile(prof, row_limit=8)
plt.show()

# %% [markdown] tags=["explain"]
# **Why.** Read such a table in three steps.
#
# 1. *Who is the bottleneck?* The table has rows of two kinds: calls on the host, and kernels on the GPU. A kernel's time is also in the row of the call that launched it, so count it once. Add up the host's own times, without
#    the waiting: `cudaDeviceSynchronize` is the host standing still. Whoever is busy longer decides. Here it is the host, although the network is on the GPU: it
#    cannot launch fast enough.
# 2. *Which name?* "Own" time is without the calls inside it, so the names can be added. On the host's side the convolutions are not at the top. It is the backward pass of batch normalisation: in this kit it
#    launches many small kernels (in PyTorch it is one). You would not have guessed that.
# 3. *Few long calls or many short ones?* The number of calls tells. Short ones: larger batches, or fewer operations. Long ones: less work, or a smaller type.
#
# A tutorial profiles a convolution like this, and sorts by `self_cpu_time_total`:
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
# **Why.** `device` is set and never used. Neither `x` nor `conv1d` was moved, and nothing complains, because both are in the same place. Asking the profiler to watch the GPU moves nothing there.
# And sorting by the host's own time hides what the GPU does even when it works: a launch looks the same for a kernel of 3 µs and one of 3 ms.

# %% [markdown] tags=["exercise"]
# ### Exercise 02.10: who holds up whom
#
# `bottleneck(rows)` gets `prof.key_averages()`, and is meant to say `"host"` or `"GPU"`: who was busy longer. It trusts a column too many. Mend it.

# %% tags=["exercise"]
def bottleneck(rows):
    host = sum(row.cpu_time_total for row in rows)
    gpu = sum(row.device_time_total for row in rows)
    return "host" if host > gpu else "GPU"

check("02.10", bottleneck)

# %% [markdown] tags=["keep"]
# **Takeaway:** measure before you change anything, and look at both columns.
# PyTorch on [the profiler](https://docs.pytorch.org/tutorials/recipes/recipes/profiler_recipe.html).

# %% tags=["progress"]
progress("02")
