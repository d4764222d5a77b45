# %% [markdown] tags=["section"]
# ## 6. Where the memory goes
#
# A GPU's memory is small, and when it is full you get an error. The 78,010 numbers of your network take 0.3 MiB, a batch of 32 digits another
# 0.13 MiB. Both are on the GPU, and you compute the loss.

# %% tags=["predict"]
q9 = predict("02.q9")
q9

# %% tags=["code"]
def in_use():
    return torch.cuda.memory_allocated() / 2**20          # MiB

model = hand.network().to(device)
x, y = images[:32].to(device), labels[:32].to(device)
loss = None                                               # an older one goes first
before = in_use()
loss = F.cross_entropy(model(x), y)
recorded = in_use() - before
del loss
with torch.no_grad():
    loss = F.cross_entropy(model(x), y)
print(f"the weights: {sum(p.nbytes for p in model.parameters()) / 2**20:.1f} MiB")
print(f"after forward, recorded:      {recorded:5.1f} MiB more")
print(f"after forward, under no_grad: {in_use() - before:5.1f} MiB more")

# %% tags=["reveal"]
q9.reveal(recorded)

# %% [markdown]
# The memory over time, for one step. Where is its peak?

# %% tags=["picture", "look"]
torch.cuda.synchronize()
with autolab.record_devices() as one_step:
    F.cross_entropy(model(x), y).backward()
    torch.cuda.synchronize()
model.zero_grad()
DeviceExplorer(one_step)

# %% [markdown] tags=["explain"]
# **Why.** Each node saves what its rule needs (lesson 1). For the first layers that is $32 \cdot 16 \cdot 16 \cdot 16$ numbers, 0.5 MiB, and
# then the results of later layers, which are smaller. Memory for *saved tensors* grows with the batch and with the depth; the weights stay as
# they are. Under `no_grad()` nothing is saved.
#
# What is *kept* grows until the forward pass ends; from there on backward frees as it goes. The *peak* comes later here: backward through a
# large convolution needs room to work in, for a moment. The picture has two clocks. Memory is booked on the host's clock, when the host
# asks for it. Kernels run later, on the GPU's. The dotted line leads from the peak to the kernel that it was booked for.
#
# ### What keeps memory alive
#
# `h` is what goes into the loss. You want the memory back, and write `del h`.

# %% tags=["predict"]
q10 = predict("02.q10")
q10

# %% tags=["code"]
del loss
before = in_use()
h = model(x)
loss = F.cross_entropy(h, y)
both = in_use() - before
del h
without_h = in_use() - before
del loss
print(f"h and loss: {both:.1f} MiB, after del h: {without_h:.1f} MiB,",
      f"after del loss: {in_use() - before:.1f} MiB")

curve = []
for step in range(3):
    curve.append(F.cross_entropy(model(x), y))            # .item() would hold nothing
    print(f"step {step + 1}, losses kept as tensors: {in_use() - before:5.1f} MiB")
del curve
left = without_h / both

# %% tags=["reveal"]
q10.reveal(left)

# %% [markdown] tags=["explain", "keep"]
# **Why.** `del` removes a name, not a tensor. The loss holds its node, that node holds the one before, and so on: a single number keeps the
# whole graph alive, and a list of losses keeps them all. Let go of the *end* of the graph: `loss.item()`, `loss.detach()`, or the end of the
# function. `torch.cuda.empty_cache()` does not help here. It gives back what is not in use, and the graph is in use.
#
# **Takeaway:** memory is what the graph saved, times the batch; whoever holds the end of a graph holds all of it.
# PyTorch on [memory management](https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management).

# %% [markdown] tags=["exercise"]
# ### Exercise 02.11b: an evaluation that fills the memory
#
# `mean_loss` is meant to give the mean loss over all batches, as a plain number, and to hold no more than one batch's results at a time. Mend
# it.

# %% tags=["exercise"]
def mean_loss(model, batches):
    total = 0.0
    for x, y in batches:
        total = total + F.mse_loss(model(x), y)
    return total / len(batches)

check("02.11b", mean_loss)

# %% tags=["words"]
in_words("02.w4")
