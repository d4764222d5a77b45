# %% [markdown] tags=["section"]
# ## 9. A network on both
#
# LeNet reads digits: two convolutions with pooling, three linear layers. The images are 1,437 scanned digits of 8 by 8 pixels, enlarged. You train it on
# both devices, from the same start, in batches of 32.

# %% tags=["code"]
class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2),
                                  nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(256, 120), nn.ReLU(),
                                  nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))

    def forward(self, x):
        return self.head(self.body(x))

digits = autolab.vision.datasets.Digits(train=True)
digit_images = F.interpolate(digits.data.unsqueeze(1).float() / 255, size=28, mode="nearest")
digit_images = (digit_images - 0.3) / 0.35             # about as many positive numbers as negative ones
digit_labels = digits.targets
print(digit_images.shape, digit_labels[:8])

# %% tags=["predict"]
q15 = predict("02.q15")
q15

# %% tags=["predict"]
q16 = predict("02.q16")
q16

# %% tags=["code"]
def train(device, batch_size=32, steps=80):
    torch.manual_seed(0)
    model = LeNet().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.04, momentum=0.9)
    losses, spent = [], 0.0
    for step in range(steps):
        chosen = torch.randint(len(digit_labels), (batch_size,))
        x, y = digit_images[chosen].to(device), digit_labels[chosen].to(device)
        torch.cuda.synchronize()
        start = clock()
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        spent += clock() - start
        losses.append(loss.item())
    return losses, spent / steps

on_cpu, cpu_time = train("cpu")
on_gpu, gpu_time = train(device)
for step in (0, 9, 19):
    print(f"step {step + 1:2}: loss {on_cpu[step]:.4f} on the CPU, {on_gpu[step]:.4f} on the GPU")
print("after step 80, both below 1:", max(on_cpu[-1], on_gpu[-1]) < 1)
print(f"time per batch: CPU {1e6 * cpu_time:.0f} µs, GPU {1e6 * gpu_time:.0f} µs")

# %% tags=["reveal"]
q15.reveal(on_cpu, on_gpu)

# %% tags=["reveal"]
q16.reveal(cpu_time, gpu_time)

# %% tags=["picture"]
axes = autolab.viz.plot_losses({"on the CPU": on_cpu, "on the GPU": on_gpu})
plt.show()

# %% [markdown] tags=["explain"]
# **Why.** The same seed, the same start, the same batches: the curves lie on each other. A device changes who computes, not what is computed. In the last digits they may differ, because additions
# are made in another order. On a real GPU even two runs may differ there. Training makes such differences grow: one in the seventh digit at first is one in the second digit after
# 60 steps. Another processor would print other losses there, so the lesson does not.
#
# And the GPU is the slower one. A batch of 32 small images is little work, and a step launches some hundred kernels. Section 7 said what that means. Give each launch more to do:

# %% tags=["code"]
batch_sizes = [8, 32, 128, 512]
per_image = {where: [train(where, n, steps=2)[1] / n for n in batch_sizes] for where in ("cpu", "cuda")}
for n, a, b in zip(batch_sizes, *per_image.values()):
    print(f"batches of {n:3}: CPU {1e6 * a:6.2f} µs an image, GPU {1e6 * b:6.2f} µs an image")

# %% tags=["picture"]
for (where, times), style, colour in zip(per_image.items(), ("o-", "s--"), ("#0072B2", "#D55E00")):
    plt.loglog(batch_sizes, [1e6 * t for t in times], style, color=colour, label=where)
plt.xticks(batch_sizes, batch_sizes)
plt.minorticks_off()
plt.xlabel("images in a batch")
plt.ylabel("µs for each image")
plt.legend()
plt.show()

# %% [markdown] tags=["explain"]
# **Why.** The CPU takes the same time for each image, whatever the batch. The GPU shares its launches among more images, so each gets cheaper. That is the reason why one trains with large batches on a GPU.
# It is not free: a larger batch means fewer steps for the same data, so the learning rate has to be found anew. And it needs memory, which section 11 is about.

# %% [markdown] tags=["exercise"]
# ### Exercise 02.9: a loop that runs anywhere
#
# `train_epoch` is a loop as many courses have it. It runs on the CPU only. Mend it, so that it runs on any device. The result is the mean of the batches' losses, a plain Python number.

# %% tags=["exercise"]
def train_epoch(model, batches, optimizer, device):
    model.to(device)
    batch_loss = []
    for x, y in batches:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        batch_loss.append(loss.detach().numpy())
    return float(np.mean(batch_loss))

check("02.9", train_epoch)

# %% [markdown] tags=["keep"]
# **Take along:** the device changes the time and not the training; a GPU wants large batches.
# PyTorch on [reproducibility](https://docs.pytorch.org/docs/stable/notes/randomness.html).
