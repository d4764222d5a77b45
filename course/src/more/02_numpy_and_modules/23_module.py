# %% [markdown] tags=["section"]
# ## 2. What moves with a module
#
# The next cell raises an error on purpose, because the layer is on the GPU but its input is not. The message calls this input `mat1`:

# %% tags=["code", "raises-exception"]
layer = nn.Linear(3, 1).to(device)
layer(torch.ones(2, 3))

# %% [markdown]
# A module can also need tensors that aren't weights. Suppose, for example, that it subtracts the mean of the data from its input:

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
# **Why.** `.to()` moves everything that a module has registered: its parameters, its submodules and its **buffers**. A buffer is a tensor that belongs to the module but isn't trained, for example the mean of the data. The module doesn't know about a tensor in a plain attribute, so it leaves that tensor behind. If you write `register_buffer("mean", mean)` instead, the tensor moves with the module and is saved with the weights. (For the picture, we moved the mean by hand, because the module would fail otherwise.)
#
# Tensors that `forward` creates need the right device too. `torch.zeros(3)` is always on the CPU. However, `x.new_zeros(3)`, `torch.zeros_like(x)` and `torch.zeros(3, device=x.device)` create their result on the device of `x`.

# %% [markdown] tags=["exercise"]
# ### Exercise 02.5: a module that moves as a whole
#
# `Noisy` scales its input and adds a constant that it creates in `forward`. At the moment it only works on the CPU. Fix it, so that it works on any device that you move it to. Note that `scale` should not be trained.

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
# **Takeaway:** register each tensor that belongs to a module as a parameter or a buffer, so that it moves with the module.
# Read more: PyTorch's page on [`register_buffer`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer).

# %% tags=["progress"]
progress("02")
