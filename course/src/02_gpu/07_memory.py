# %% [markdown] tags=["section"]
# ## 6. Where the memory goes
#
# The memory of a GPU is small, and you get an error when it is full. The 78,010 numbers of your network take 0.3 MiB, and a batch of 32 digits takes another 0.13 MiB. Suppose both are on the GPU, and you compute the loss.

# %% tags=["predict"]
q9 = predict("02.q9")
q9

# %% tags=["code"]
def in_use():
    return torch.cuda.memory_allocated() / 2**20          # MiB

model = hand.network().to(device)
x, y = images[:32].to(device), labels[:32].to(device)
loss = None                                               # free an older loss first
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
# The next picture shows the memory over time, for one training step. When is the peak?

# %% tags=["picture", "look"]
torch.cuda.synchronize()
with autolab.record_devices() as one_step:
    F.cross_entropy(model(x), y).backward()
    torch.cuda.synchronize()
model.zero_grad()
DeviceExplorer(one_step)

# %% [markdown] tags=["explain"]
# **Why.** Each node saves the values that its rule needs, as you saw in lesson 1. In the first layers, a single result has $32 \cdot 16 \cdot 16 \cdot 16$ numbers, which is 0.5 MiB. The results of later layers are smaller, so all results together come to 4.9 MiB. The memory for *saved tensors* grows with the batch and with the number of layers, while the memory for the weights stays the same for every batch. Under `no_grad()` nothing is saved, because no graph is recorded.
#
# The saved tensors grow until the forward pass ends, and then the backward pass frees them one after another. However, the *peak* comes later, because the backward pass through a large convolution needs extra memory for a moment. Notice that the picture has two clocks. Memory is counted on the host's clock, at the moment when the host asks for it, but the kernel runs later, on the GPU's clock. A dotted line connects the peak with the kernel that needed the memory.
#
# ### What keeps memory alive
#
# Suppose the loss is computed from a tensor `h`. You want the memory back, so you write `del h`.

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
# **Why.** `del` removes a name, not a tensor. The loss refers to its node, this node refers to the node before it, and so on. So a single number keeps its whole graph in memory, and a list of losses keeps a graph for every loss. To free the memory, let go of the *end* of the graph: use `loss.item()` or `loss.detach()`, or let the function return. `torch.cuda.empty_cache()` doesn't help here, because it only gives back memory that isn't in use.
#
# **Takeaway:** most of the memory holds the tensors that the graph has saved for the batch. If you free the end of the graph, these tensors are freed too.
# Read more: PyTorch's page on [memory management](https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management).

# %% [markdown] tags=["exercise"]
# ### Exercise 02.11b: an evaluation that fills the memory
#
# `mean_loss` should return the mean loss over all batches as a plain number. It should never keep the results of more than one batch at a time, but at the moment it keeps them all. Fix it.

# %% tags=["exercise"]
def mean_loss(model, batches):
    total = 0.0
    for x, y in batches:
        total = total + F.mse_loss(model(x), y)
    return total / len(batches)

check("02.11b", mean_loss)

# %% tags=["words"]
in_words("02.w4")
