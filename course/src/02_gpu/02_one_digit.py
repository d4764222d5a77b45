# %% [markdown] tags=["section"]
# ## 1. One digit on two devices
#
# Let's begin with the network from lesson 1 and your own digit. One training step consists of a forward pass, a backward pass and an update of the weights. First you time such a step on the CPU, and then on the GPU.

# %% tags=["predict"]
q1 = predict("02.q1")
q1

# %% tags=["code"]
image, label = hand.my_digit()
digits = autolab.vision.datasets.Digits(train=True, size=32)
images = digits.data.unsqueeze(1).float() / 255            # 1,437 images of 32x32
labels = digits.targets

def step_time(where, x, y):
    model = hand.network().to(where)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x, y = x.to(where), y.to(where)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    return seconds(step)

on_cpu, on_gpu = [
    step_time(where, image[None], torch.tensor([label])) for where in ("cpu", "cuda")
]
print(f"one digit: CPU {1e6 * on_cpu:.0f} µs, GPU {1e6 * on_gpu:.0f} µs")
print(f"an epoch, digit by digit, on the GPU: {len(images) * on_gpu:.1f} s")

# %% tags=["reveal"]
q1.reveal(on_cpu, on_gpu)

# %% [markdown]
# Now we give each step more to do, because several digits can go through the network together. How does the time *per digit* change with the size of the batch?

# %% tags=["code", "cover"]
batch_sizes = [1, 8, 32, 64]
per_digit = {
    where: [1e6 * step_time(where, images[:n], labels[:n]) / n for n in batch_sizes]
    for where in ("cpu", "cuda")
}
for n, a, b in zip(batch_sizes, *per_digit.values()):
    print(f"batch of {n:2}: CPU {a:6.1f} µs a digit, GPU {b:6.1f} µs a digit")
plots.curves(batch_sizes, per_digit, xlabel="batch", ylabel="µs a digit", log="xy")
plt.show()

# %% [markdown]
# To see the reason, look at two forward passes on the GPU: first with one digit, and then with 64. A **kernel** is a program that runs on the GPU. For each operation, the CPU (which is called the **host** here) puts a kernel into a queue. Compare how full the queue is in the two passes.

# %% tags=["picture", "look"]
reader = hand.network().to(device)
one, many = images[:1].to(device), images[:64].to(device)
with autolab.record_devices() as one_and_many, torch.no_grad():
    reader(one)
    torch.cuda.synchronize()
    reader(many)
    torch.cuda.synchronize()
DeviceExplorer(one_and_many)

# %% [markdown] tags=["explain", "keep"]
# **Why.** Putting a kernel into the queue is called a **launch**, and it costs the host 5 µs, however little the kernel has to do. A training step of this network needs about five hundred launches, which take 2.5 ms no matter how many digits go through together. This fixed cost is called **launch overhead**. The CPU has no queue to fill, so it finishes one digit in 0.3 ms. However, every further digit costs the CPU another 0.2 ms, while it costs the GPU little more than 0.01 ms.
#
# So in this model, the GPU is about eight times slower than the CPU with one digit, but more than three times faster with a batch of 64. If the digits come one by one, an epoch takes the GPU 3.8 s. In batches of 64, an epoch takes less than 0.1 s.
#
# Don't take the factor of eight literally, because the modelled CPU spends only 2 µs on each call. When we measured the same step with PyTorch on a real CPU, it took 1.4 to 2.2 ms instead of 0.33 ms. Compared with such a CPU, the modelled GPU would still be slower with one digit, but by a factor of less than two.
#
# **Takeaway:** every launch costs the same, so give each launch a lot to do.
# Read more: PyTorch's page on [tuning performance](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html).
