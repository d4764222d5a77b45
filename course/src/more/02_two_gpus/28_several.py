# %% [markdown] tags=["section"]
# ## 1. Two GPUs
#
# Two GPUs, one training. The usual way is **data parallel**: each GPU has a copy of the model (a **replica**) and gets half of the batch. Each computes its own gradients. But then the replicas would
# drift apart. So before the step the gradients are made the same.
#
# The loss is a mean over the batch, and each half has 32 of 64 images.

# %% tags=["predict"]
q24 = predict("02.q24")
q24

# %% tags=["code"]
import copy

devices = [torch.device("cuda", 0), torch.device("cuda", torch.cuda.device_count() - 1)]
print("replicas on:", *devices)

def first_model():
    torch.manual_seed(1)
    layers = [nn.Conv2d(1, 16, 5, 2), nn.ReLU(), nn.Conv2d(16, 32, 5, 2), nn.ReLU(),
              nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
              nn.Flatten(), nn.Linear(1600, 10)]
    return nn.Sequential(*layers).to(devices[0])

single = first_model()
replicas = [copy.deepcopy(single).to(d) for d in devices]
digits = torch.vision.datasets.Digits(train=True, size=32)
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
print("sum of both = whole: ", torch.allclose(left + right, whole, atol=1e-6))
print("mean of both = whole:", torch.allclose((left + right) / 2, whole, atol=1e-6))

# %% tags=["reveal"]
q24.reveal()

# %% [markdown] tags=["explain"]
# **Why.** The loss of the whole batch is the mean of the two halves' losses: $L = \frac12 (L_1 + L_2)$, so $\bar w = \frac12 (\bar w_1 + \bar w_2)$. Had the loss been a sum, it would be their sum. And
# with unequal parts each gradient counts as much as it has images.
#
# As a graph it is one weight, with a copy on the other GPU. Be the engine: who runs, what is sent, what arrives at `w`?

# %% tags=["practice"]
w = torch.tensor(3.0, device=devices[0], requires_grad=True)
replica = w.to(devices[1])
left_loss = w * 2
right_loss = (replica * 4).to(devices[0])
autolab.practice((left_loss + right_loss) / 2)

# %% [markdown] tags=["explain"]
# Both gradients meet at `w` and are added: that addition, with the half in front of it, is the mean. Training does it for all weights.
#
# Now the whole training, by hand. `average` is what libraries call an **all-reduce**: everybody ends up with the mean of all.

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

print("after 10 steps, between the replicas:       ", distance(*replicas))
same = distance(single, replicas[0]) < 1e-6
print("after 10 steps, one GPU against two, < 1e-6:", same)

# %% [markdown]
# It is the same training. Is it faster?

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
# The two queues, side by side:

# %% tags=["picture"]
small = [nn.Linear(1024, 10).to(d) for d in devices]
with autolab.record_devices() as in_parallel:
    for model, d, part in zip(small, devices, digit_images[:64].flatten(1).chunk(2)):
        model(part.to(d)).sum().backward()
    average(small)
DeviceExplorer(in_parallel)

# %% [markdown] tags=["explain"]
# **Why.** One host launches for both GPUs, one after the other. With a small batch the launching is what takes the time, and now there is twice as much of it, plus the copies for the average. With more GPUs it
# gets worse. That is why PyTorch's `DistributedDataParallel` runs one process for each GPU, each with a host thread of its own, and averages while the backward pass is still running. With 512 images each launch has more to do, and two GPUs begin to pay. `DataParallel`, which works
# from one process as here, is the slow way, and PyTorch advises against it.

# %% [markdown] tags=["exercise"]
# ### Exercise 02.12: unequal parts
#
# Replicas got parts of different sizes: `sizes[i]` images for `models[i]`, each with a mean loss. Make every gradient that of the mean over all images, on each model's own device. Now it counts each part the same. Mend it.

# %% tags=["exercise"]
def average_weighted(models, sizes):
    for same in zip(*(model.parameters() for model in models)):
        mean = sum(p.grad.to("cpu") for p in same) / len(same)
        for p in same:
            p.grad = mean.to(p.device)

check("02.12", average_weighted)

# %% [markdown] tags=["keep"]
# **Takeaway:** same replicas, parts of the batch, the mean of the gradients; it pays when each part is large.
# PyTorch on [distributed data parallel](https://docs.pytorch.org/docs/stable/notes/ddp.html).

# %% tags=["progress"]
progress("02")
