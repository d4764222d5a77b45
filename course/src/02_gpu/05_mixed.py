# %% [markdown] tags=["section"]
# ## 5. Two devices in one operation
#
# `x` is on the GPU. Which of these lines is an error?
#
# ```
# x * 2.0
# x * torch.tensor(2.0)
# x * torch.tensor([2.0])
# ```

# %% tags=["predict"]
q8 = predict("02.q8")
q8

# %% tags=["code"]
x = torch.tensor([1.0, 2.0, 3.0], device=device)
factors = {"x * 2.0": 2.0, "x * torch.tensor(2.0)": torch.tensor(2.0), "x * torch.tensor([2.0])": torch.tensor([2.0])}
wrong = []
for text, factor in factors.items():
    try:
        print(f"{text:24}", x * factor)
    except RuntimeError as error:
        wrong.append(text)
        print(f"{text:24} RuntimeError: {error}")

# %% tags=["reveal"]
q8.reveal(wrong)

# %% [markdown] tags=["explain"]
# **Why.** A kernel on the GPU reads the GPU's memory. PyTorch could fetch the other operand by itself. It does not, because a copy costs more than most operations, and you would
# never see why your program is slow. So it refuses. One exception: a tensor *without dimensions* on the CPU counts as a plain number, and a number travels with the launch.
# `torch.tensor([2.0])` has one dimension, so it is not one.
#
# The same error comes from a module and its input. How to read it: `mat1` is the input of the layer, and the layer's weights are elsewhere. This error is on purpose:

# %% tags=["code", "raises-exception"]
layer = nn.Linear(3, 1).to(device)
layer(torch.ones(2, 3))

# %% [markdown]
# And sometimes the module itself is in two places:

# %% tags=["predict"]
q9 = predict("02.q9")
q9

# %% tags=["code"]
class Centred(nn.Module):
    def __init__(self, mean):
        super().__init__()
        self.linear = nn.Linear(2, 1)
        self.mean = mean                              # a plain tensor

    def forward(self, x):
        return self.linear(x - self.mean)

net = Centred(torch.tensor([1.0, 2.0])).to(device)
print("weight:", net.linear.weight.device, " bias:", net.linear.bias.device, " mean:", net.mean.device)

# %% tags=["reveal"]
q9.reveal(net.mean.device.type == "cuda")

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
# **Take along:** all operands in one place; what belongs to a module is a parameter or a buffer.
# PyTorch on [`register_buffer`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer).
