# %% [markdown] tags=["section"]
# ## 5. A training that runs anywhere
#
# Now let's train on the digits, in batches and for four epochs. We set aside 200 of the 1,437 digits as **validation images**. Because the network is never trained on these images, it cannot have learned them by heart. A `DataLoader` shuffles the other 1,237 images and delivers them in batches.
#
# You train the same network twice, each time from the same seed: first on the CPU, and then on the GPU.

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

def accuracy(model, device):
    right = 0
    with torch.no_grad():
        for x, y in data.DataLoader(validation_set, batch_size=50):
            right += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
    return right / len(validation_set)

print(f"first loss: {cpu_losses[0]:.3f} on the CPU, {gpu_losses[0]:.3f} on the GPU")
print(f"the whole training: CPU {cpu_time:.2f} s, GPU {gpu_time:.2f} s")
right = 100 * accuracy(on_gpu, device)
print(f"validation images read correctly: {right:.0f} %")

# %% tags=["reveal"]
q8.reveal(cpu_losses, gpu_losses)

# %% tags=["picture"]
axes = autolab.viz.plot_losses({"on the CPU": cpu_losses, "on the GPU": gpu_losses})
plt.show()

# %% [markdown] tags=["explain", "keep"]
# **Why.** Both training runs do the same arithmetic, only in different places. They have the same seed, the same initial weights and the same batches, so the two curves begin with the same loss. Later the last decimal places may differ, because the GPU adds numbers in a different order and training makes such small differences grow. On a real GPU, even two runs on the same device may differ in these places.
#
# In this model, the GPU is almost three times as fast as the CPU in this training. In [When a GPU is fast](more/02_speed.ipynb), you will find work for which the GPU is fifteen times as fast. There are two reasons for the difference: `loss.item()` makes the host wait in every step, and 64 small digits don't give each kernel much to do. Larger batches would need less time per digit. But they also mean fewer steps per epoch, so you would have to look for a new learning rate.
#
# **Takeaway:** move the model once, and move each batch where you use it, because the device changes the time but not the training.
# Read more: PyTorch's pages on [`DataLoader`](https://docs.pytorch.org/docs/stable/data.html) and
# [reproducibility](https://docs.pytorch.org/docs/stable/notes/randomness.html).
#
# And how does the trained network read your digit? Remember that none of the 1,437 digits is in your handwriting.

# %% tags=["picture"]
with torch.no_grad():
    probabilities = on_gpu(image[None].to(device)).softmax(1)[0].cpu()
plots.chances({f"your {label}": probabilities}, title="what the network reads in it")
plt.show()

# %% [markdown] tags=["exercise"]
# ### Exercise 02.9: a loop that runs anywhere
#
# You can find a loop like `train_epoch` in many courses, but it only runs on the CPU. Fix the loop, so that it runs on any device. It should return the mean of the losses of all batches as a plain Python number.

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
