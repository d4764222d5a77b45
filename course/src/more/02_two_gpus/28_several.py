# %% [markdown] tags=["section"]
# ## 1. Two GPUs
#
# How do you train one network on two GPUs? The usual way is called **data parallel**. Each GPU has a copy of the model, which is called a **replica**, and computes gradients from its own half of the batch. If each replica used only these gradients, the weights would soon differ, so the gradients are made equal before each step.
#
# In the next question, the loss is a mean over the batch, and each half has 32 of the 64 images.

# %% tags=["predict"]
q24 = predict("02.q24")
q24

# %% tags=["code"]
import copy
devices = [torch.device("cuda", k) for k in (0, torch.cuda.device_count() - 1)]
print("replicas on:", *devices)

def first_model():
    torch.manual_seed(1)
    layers = [nn.Conv2d(1, 16, 5, 2), nn.ReLU(), nn.Conv2d(16, 32, 5, 2), nn.ReLU(),
              nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
              nn.Flatten(), nn.Linear(1600, 10)]
    return nn.Sequential(*layers).to(devices[0])

single = first_model()
replicas = [copy.deepcopy(single).to(d) for d in devices]
digits = autolab.vision.datasets.Digits(train=True, size=32)
digit_images = digits.data[:640].unsqueeze(1).float() / 255
digit_labels = digits.targets[:640]
x, y = digit_images[:64], digit_labels[:64]

def gradient_of_first_layer(model):
    return model[0].weight.grad.cpu()

F.cross_entropy(single(x.to(devices[0])), y.to(devices[0])).backward()
for replica, d, part_x, part_y in zip(replicas, devices, x.chunk(2), y.chunk(2)):
    F.cross_entropy(replica(part_x.to(d)), part_y.to(d)).backward()

whole = gradient_of_first_layer(single)
left, right = map(gradient_of_first_layer, replicas)
found = {"whole": whole, "sum": left + right, "mean": (left + right) / 2}
for name, gradient in found.items():
    print(f"{name:6} {gradient[0, 0, 0, 0].item():8.5f}")

# %% tags=["reveal"]
q24.reveal()

# %% [markdown] tags=["explain"]
# **Why.** The loss of the whole batch is the mean of the losses of its halves: $L = \frac12 (L_1 + L_2)$, and therefore $\bar w = \frac12 (\bar w_1 + \bar w_2)$. If the loss were a sum instead, the two gradients would have to be added. If the parts have different sizes, each gradient has to be weighted by its number of images.
#
# The next graph has one weight, with a copy on the other GPU. Do the engine's work by hand: which node runs next, what does it send, and what arrives at `w`?

# %% tags=["practice"]
w = torch.tensor(3.0, device=devices[0], requires_grad=True)
replica = w.to(devices[1])
left_loss = w * 2
right_loss = (replica * 4).to(devices[0])
autolab.practice((left_loss + right_loss) / 2)

# %% [markdown] tags=["explain"]
# Both gradients meet at `w` and are added. Together with the factor of one half, this addition gives the mean. Data-parallel training does the same for every weight.
#
# Now let's write the whole training loop by hand. Libraries call the step in `average` an **all-reduce**, because afterwards every replica has the mean of all gradients.

# %% tags=["code"]
def average(replicas):
    for same in zip(*(model.parameters() for model in replicas)):
        mean = sum(p.grad.to(devices[0]) for p in same) / len(same)
        for p in same:
            p.grad = mean.to(p.device)

def step(models, optimizers, x, y):
    parts = zip(models, devices, x.chunk(len(models)), y.chunk(len(models)))
    for model, d, part_x, part_y in parts:
        F.cross_entropy(model(part_x.to(d)), part_y.to(d)).backward()
    average(models)
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad()

single = first_model()
replicas = [copy.deepcopy(single).to(d) for d in devices]
for models in ([single], replicas):
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.04) for m in models]
    for k in range(10):
        chosen = slice(64 * k, 64 * k + 64)
        step(models, optimizers, digit_images[chosen], digit_labels[chosen])

def distance(a, b):
    pairs = zip(a.parameters(), b.parameters())
    return max((p.cpu() - q.cpu()).abs().max().item() for p, q in pairs)

print("largest difference of the weights after 10 steps")
print(f"between the two replicas: {distance(*replicas):.5f}")
print(f"between one GPU and two:  {distance(single, replicas[0]):.5f}")

# %% [markdown]
# So training on two GPUs gives the same result as training on one. But is it faster?

# %% tags=["predict"]
q25 = predict("02.q25")
q25

# %% tags=["code"]
def time_of_step(models, batch):
    x, y = torch.ones(batch, 1, 32, 32), torch.zeros(batch, dtype=torch.int64)
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.0) for m in models]
    for d in devices:
        torch.cuda.synchronize(d)
    start = clock()
    step(models, optimizers, x, y)
    for d in devices:
        torch.cuda.synchronize(d)
    return clock() - start

speedup = {}
for batch in (64, 512):
    one, two = time_of_step([single], batch), time_of_step(replicas, batch)
    speedup[batch] = one / two
    print(f"batch of {batch:3}: one GPU {1000 * one:6.2f} ms,",
          f"two {1000 * two:6.2f} ms: {one / two:.2f} times as fast")
times = speedup[64]

# %% tags=["reveal"]
q25.reveal(times)

# %% [markdown]
# Let's look at the queues of both GPUs, side by side:

# %% tags=["picture"]
small = [nn.Linear(1024, 10).to(d) for d in devices]
with autolab.record_devices() as in_parallel:
    for model, d, part in zip(small, devices, digit_images[:64].flatten(1).chunk(2)):
        model(part.to(d)).sum().backward()
    average(small)
DeviceExplorer(in_parallel)

# %% [markdown] tags=["explain"]
# **Why.** One host launches the kernels for both GPUs, one after another. With a small batch, launching takes most of the time, and now there are twice as many launches, plus the copies for the average. With more GPUs, this gets even worse. That is why PyTorch's `DistributedDataParallel` runs one process for each GPU, so that each GPU has its own host thread. It also averages gradients while the backward pass is still running.
#
# With 512 images, each launch has more to do, so two GPUs start to pay off. PyTorch also has `DataParallel`, which works from a single process as we do here, but PyTorch advises against it because it is slow for the same reason.

# %% [markdown] tags=["exercise"]
# ### Exercise 02.12: unequal parts
#
# The replicas received parts of different sizes: `models[i]` has computed the mean loss of `sizes[i]` images. Replace every gradient with the gradient of the mean loss over all images, and keep each gradient on the device of its model. At the moment, all parts count equally, although their sizes differ. Fix it.

# %% tags=["exercise"]
def average_weighted(models, sizes):
    for same in zip(*(model.parameters() for model in models)):
        mean = sum(p.grad.to("cpu") for p in same) / len(same)
        for p in same:
            p.grad = mean.to(p.device)

check("02.12", average_weighted)

# %% [markdown] tags=["keep"]
# **Takeaway:** each replica computes gradients for its part of the batch, and all replicas use the mean of these gradients. This pays off if each part is large.
# Read more: PyTorch's page on [distributed data parallel](https://docs.pytorch.org/docs/stable/notes/ddp.html).

# %% tags=["progress"]
progress("02")
