# %% [markdown] tags=["section"]
# ## 5. A training that runs anywhere
#
# Now the real thing: all 1,437 digits, in batches, for four epochs, with 200 of them kept aside. Those 200 are **validation images**: the
# network is never trained on them, so what it gets right there was not learnt by heart. A `DataLoader` shuffles the rest and hands out
# batches.
#
# You train the same network twice, from the same seed: on the CPU, then on the GPU.

# %% tags=["predict"]
q8 = predict("02.q8")
q8

# %% tags=["code"]
data = torch.utils.data
torch.manual_seed(0)
everything = data.TensorDataset(images, labels)
train_set, validation_set = data.random_split(everything, [1237, 200])

def run(device, epochs=4 if threads_start() else 1):   # a browser is slower
    torch.manual_seed(0)
    model = hand.network().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    batches = data.DataLoader(train_set, batch_size=64, shuffle=True)
    losses, start = [], clock()
    for epoch in range(epochs):
        model.train()
        for x, y in batches:
            x, y = x.to(device), y.to(device)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())             # a number, not the tensor
    return model.eval(), losses, clock() - start

# %% tags=["code"]
on_cpu, cpu_losses, cpu_time = run("cpu")
on_gpu, gpu_losses, gpu_time = run(device)

def share_right(model, device):
    right = 0
    with torch.no_grad():
        for x, y in data.DataLoader(validation_set, batch_size=50):
            right += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
    return right / len(validation_set)

print(f"first loss: {cpu_losses[0]:.3f} on the CPU, {gpu_losses[0]:.3f} on the GPU")
print(f"the whole training: CPU {cpu_time:.2f} s, GPU {gpu_time:.2f} s")
print("nine of ten validation images are right:", share_right(on_gpu, device) > 0.9)

# %% tags=["reveal"]
q8.reveal(cpu_losses, gpu_losses)

# %% tags=["picture"]
axes = autolab.viz.plot_losses({"on the CPU": cpu_losses, "on the GPU": gpu_losses})
plt.show()

# %% [markdown] tags=["explain", "keep"]
# **Why.** A device changes who computes, not what is computed. Same seed, same start, same batches: the curves begin as one. In the last
# digit they may differ, because additions are made in another order, and training makes such differences grow. On a real GPU even two
# runs may differ there.
#
# It is not quite three times as fast on the GPU. [When a GPU is fast](more/02_speed.ipynb) has work that is forty times as fast; here `loss.item()` makes the host wait in every step, and 64 small digits give
# each kernel little to do. Larger batches would be faster for each digit. But they also mean fewer steps for each epoch, so the learning
# rate has to be found anew.
#
# **Takeaway:** move the model once and each batch where you use it; the device changes the time and not the training.
# PyTorch on [`DataLoader`](https://docs.pytorch.org/docs/stable/data.html) and
# [reproducibility](https://docs.pytorch.org/docs/stable/notes/randomness.html).
#
# And your own digit? Nobody in those 1,437 has your hand.

# %% tags=["picture"]
with torch.no_grad():
    probabilities = on_gpu(image[None].to(device)).softmax(1)[0].cpu()
plots.chances({f"your {label}": probabilities}, title="what the network reads in it")
plt.show()

# %% [markdown] tags=["exercise"]
# ### Exercise 02.9: a loop that runs anywhere
#
# `train_epoch` is a loop as many courses have it. It runs on the CPU only. Mend it, so that it runs on any device. The result is the mean of
# the batches' losses, a plain Python number.

# %% tags=["exercise"]
def train_epoch(model, batches, optimizer, device):
    model.to(device)
    batch_loss = []
    for x, y in batches:
        x.to(device), y.to(device)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        batch_loss.append(loss.detach().numpy())
    return float(np.mean(batch_loss))

check("02.9", train_epoch)
