# %% [markdown] tags=["section"]
# ## 1. One digit: who is faster
#
# Here are your digit and the network of lesson 1, and one training step: forward, backward, and a step downhill. You time it on the
# CPU, then on the GPU.

# %% tags=["predict"]
q1 = predict("02.q1")
q1

# %% tags=["code"]
image, label = hand.my_digit()
digits = torch.vision.datasets.Digits(train=True, size=32)
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
# Now give each step more to do. How does the time *for each digit* change with the batch?

# %% tags=["code"]
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
# And the reason, as a picture: the forward pass of one digit, then of 64. Compare the queue of kernels. A **kernel** is a program that
# runs on the GPU; the CPU (the **host**) puts one into the queue for each operation.

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
# **Why.** Putting a kernel into the queue is a **launch**, and costs the host 5 µs, whatever the kernel has to do. A step of this
# network needs some five hundred launches: 2.5 ms, however many digits go through it together. That is **launch overhead**. The CPU has no queue to
# fill, so for one digit it is done after 0.3 ms. But each further digit costs it 0.2 ms more, and
# the GPU little more than 0.01 ms.
#
# So, in this model, the same GPU is almost eight times slower with one digit, and more than three times faster with a batch of 64. An epoch takes it 3.6 s digit
# by digit, and less than 0.1 s in batches of 64.
#
# **Takeaway:** every launch costs the same, so give it much to do.
# PyTorch on [tuning performance](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html).
