# %% [markdown] tags=["section"]
# ## 2. Where a tensor is
#
# A GPU has memory of its own. So every tensor is in one place: the CPU's memory (this side is called the **host**), or a GPU's. Some tutorials say that you cannot tell where a
# tensor is, except by its `type()`. You can: ask `.device`.

# %% tags=["predict"]
q2 = predict("02.q2")
q2

# %% tags=["code"]
t = torch.ones(3)
t.to(device)
print("t.to(device), alone:", t.device)
after = t.device

t = t.to(device)
print("t = t.to(device):   ", t.device, t.type())
print(t)

# %% tags=["reveal"]
q2.reveal(after)

# %% tags=["predict"]
q3 = predict("02.q3")
q3

# %% tags=["code"]
model = nn.Linear(3, 2)
weight = model.weight
model.to(device)
print("model.to(device), alone:", model.weight.device)
print("still the same parameter:", model.weight is weight, "- a leaf:", weight.is_leaf)

# %% tags=["reveal"]
q3.reveal(model)

# %% [markdown] tags=["explain"]
# **Why.** A tensor cannot move. `t.to(device)` (and `t.cuda()`) makes a *copy* on the device and gives it to you. If you do not keep it, it is gone.
# If `t` is there already, you get `t` itself.
#
# A module is a container. `model.to(device)` puts new memory into each of its parameters. The parameters stay the same objects, and stay leaves, so an optimizer that holds
# them keeps working. `model = model.to(device)` is right too: the method returns the module itself.

# %% [markdown]
# ### Creating there, or moving there
#
# You want four million ones on the GPU. You can make them on the CPU and move them, or make them where you need them.

# %% tags=["predict"]
q4 = predict("02.q4")
q4

# %% tags=["code"]
n = 4_000_000
moved = seconds(lambda: torch.ones(n).to(device))
created = seconds(lambda: torch.ones(n, device=device))
print(f"made on the CPU, then moved: {1000 * moved:.3f} ms")
print(f"made on the GPU:             {1000 * created:.3f} ms")
print(f"{moved / created:.0f} times as long")

# %% tags=["reveal"]
q4.reveal(moved / created)

# %% [markdown]
# `record_devices` writes down what the devices do. Step through it: which step takes the time?

# %% tags=["picture"]
with autolab.record_devices() as both_ways:
    first = torch.ones(n).to(device)
    second = torch.ones(n, device=device)
    torch.cuda.synchronize()
autolab.widgets.DeviceExplorer(both_ways)

# %% [markdown] tags=["explain"]
# **Why.** Between CPU and GPU is a cable, and it is the slowest part of the whole machine: 16 million bytes at 6 billion a second take 2.7 ms.
# The GPU fills its own memory in $16 \cdot 10^6 / (0.7 \cdot 320 \cdot 10^9)$ seconds, which is 0.07 ms.
# `torch.zeros(..., device=device)`, `torch.randn(..., device=device)`, and `torch.ones_like(t)`, which goes where `t` is, need no cable.

# %% [markdown] tags=["exercise"]
# ### Exercise 02.2: everything to one place
#
# `answer_on(model, x, device)` is meant to run the model on the given device, whatever places model and data are in, and to leave the result there. It fails. Mend it.

# %% tags=["exercise"]
def answer_on(model, x, device):
    model.to(device)
    x.to(device)
    return model(x)

check("02.2", answer_on)

# %% [markdown] tags=["keep"]
# **Take along:** `.to()` changes a module and copies a tensor; make tensors where you need them.
# PyTorch on [`Tensor.to`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html) and
# [`Module.to`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to).
