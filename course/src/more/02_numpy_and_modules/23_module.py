# %% [markdown] tags=["section"]
# ## 2. What moves with a module
#
# A layer and its input are in two places. Read the error: `mat1` is the input, and the layer's weights are elsewhere. It is on purpose:

# %% tags=["code", "raises-exception"]
layer = nn.Linear(3, 1).to(device)
layer(torch.ones(2, 3))

# %% [markdown]
# And sometimes the module itself is in two places:

# %% tags=["predict"]
q15 = predict("02.q15")
q15

# %% tags=["code"]
class Centred(nn.Module):
    def __init__(self, mean):
        super().__init__()
        self.linear = nn.Linear(2, 1)
        self.mean = mean                              # a plain tensor

    def forward(self, x):
        return self.linear(x - self.mean)

net = Centred(torch.tensor([1.0, 2.0])).to(device)
print("weight:", net.linear.weight.device, " mean:", net.mean.device)
moved = net.mean.device.type == "cuda"

# %% tags=["reveal"]
q15.reveal(moved)

# %% tags=["picture"]
net.mean = net.mean.to(device)
autolab.explore(net(torch.ones(1, 2, device=device)).sum())

# %% [markdown] tags=["explain"]
# **Why.** `.to()` moves what a module has registered: parameters, modules inside it, and **buffers**. A buffer is a tensor that belongs to the module and is not trained, such as the mean
# of the data. A tensor in a plain attribute is unknown to the module. `register_buffer("mean", mean)` makes it known: it is moved, and saved with the weights.
#
# Tensors that `forward` makes need a place too. `torch.zeros(3)` is on the CPU. `x.new_zeros(3)`, `torch.zeros_like(x)` and `torch.zeros(3, device=x.device)` follow `x`.

# %% [markdown] tags=["exercise"]
# ### Exercise 02.5: a module that moves as a whole
#
# `Noisy` scales its input and adds a constant that it makes on the way. It works on the CPU only. Mend it, so that it runs wherever it is moved to. `scale` is not trained.

# %% tags=["exercise"]
class Noisy(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        offset = torch.full((x.shape[-1],), 0.5)
        return x * self.scale + offset

check("02.5", Noisy)

# %% [markdown] tags=["keep"]
# **Takeaway:** what belongs to a module is a parameter or a buffer.
# PyTorch on [`register_buffer`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer).

# %% tags=["progress"]
progress("02")
