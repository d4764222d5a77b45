# %% [markdown] tags=["section"]
# ## 1. Blocks
#
# Your network is a small ResNet, and its blocks have two surprising properties. Each block *adds* its input to its result, and its convolutions have no bias. Let's begin with the bias: in the next cell, a convolution with a bias is followed by batch normalisation.

# %% tags=["predict"]
q22 = predict("03.q22")
q22

# %% tags=["code"]
torch.manual_seed(0)
conv, norm = nn.Conv2d(1, 4, 3, bias=True), nn.BatchNorm2d(4)
F.cross_entropy(norm(conv(x)).mean((2, 3)), y % 4).backward()
bias, weight = conv.bias.grad.norm().item(), conv.weight.grad.norm().item()
print(f"length of the gradient: {weight:.4f} for the weight, {bias:.4f} for the bias")
part = bias / weight

# %% tags=["reveal"]
q22.reveal(part)

# %% [markdown] tags=["explain"]
# **Why.** Batch normalisation subtracts the mean of each channel. A bias adds the same number to a whole channel, so it becomes part of the mean and is subtracted again. Because it has no effect on the loss, its gradient is 0. Only the bias *inside* the normalisation has an effect.
#
# Now let's look at the shortcut, that is, at the sum. We compute twenty layers in a row, first without shortcuts, and then with the input of each layer added to its result:

# %% tags=["predict"]
q23 = predict("03.q23")
q23

# %% tags=["code"]
def first_gradient(shortcut):
    torch.manual_seed(0)
    layers = [nn.Linear(16, 16) for _ in range(20)]
    h = torch.ones(1, 16)
    for layer in layers:
        h = h + torch.tanh(layer(h)) if shortcut else torch.tanh(layer(h))
    h.sum().backward()
    return layers[0].weight.grad.norm().item()

with_shortcuts, without = first_gradient(True), first_gradient(False)
ratio = with_shortcuts / without
print(f"length of the gradient of the first layer: {without:.0e} without shortcuts,",
      f"{with_shortcuts:.0e} with them")

# %% tags=["reveal"]
q23.reveal(ratio)

# %% [markdown]
# The next picture shows two such layers with one number each. The gradient reaches `h0` along several paths. Step through the picture and look for the path on which no weight is a factor.

# %% tags=["picture"]
h0 = torch.tensor(1.0, requires_grad=True)
w1, w2 = (torch.tensor(0.1, requires_grad=True) for _ in range(2))
h1 = h0 + torch.tanh(w1 * h0)
h2 = h1 + torch.tanh(w2 * h1)
autolab.explore(h2)

# %% [markdown] tags=["explain"]
# **Why.** Without shortcuts the gradient is a product of twenty local derivatives, and if the factors are small, the product is tiny. With $h + f(h)$ each local derivative is $1 + f'(h)$. So there is one path that has the factor 1 at every layer, and the whole gradient arrives along this path.
#
# PyTorch's ResNets also save memory. Their ReLU works in place, which means that it overwrites its input, the result of the batch normalisation.

# %% tags=["predict"]
q35 = predict("03.q35")
q35

# %% tags=["code"]
block = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True))
try:
    block(few_x).sum().backward()
    works = True
except RuntimeError as error:
    works = False
    print(error)
given = sum(p.grad is not None for p in block.parameters())
print(f"{given} of {len(list(block.parameters()))} parameters have a gradient")

# %% tags=["reveal"]
q35.reveal(works)

# %% [markdown] tags=["explain"]
# **Why.** Batch normalisation saves its *input*, and the ReLU doesn't change this input. After a `tanh`, however, the same ReLU would cause an error, because `tanh` saves its result.
# %% [markdown] tags=["exercise"]
# ### Exercise 03.14: add the input
#
# Write `residual(x, branch, shortcut)`, where `branch` and `shortcut` are functions. It adds `x` to `branch(x)` and returns the ReLU of the sum, which replaces negative numbers by 0. If `shortcut` is not None, add `shortcut(x)` instead of `x`. You need the shortcut when the shapes of `x` and `branch(x)` differ.

# %% tags=["exercise"]
def residual(x, branch, shortcut=None):
    return ...

check("03.14", residual)

# %% [markdown] tags=["keep"]
# **Takeaway:** a sum passes on the whole gradient, and a bias before a normalisation has no effect.
# Read more: PyTorch's page on [`BatchNorm2d`](https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm2d.html). The idea comes from
# [He et al., 2016](https://arxiv.org/abs/1512.03385).

# %% [markdown] tags=["section"]
# ## 2. ResNet-9, built from blocks
#
# With a residual block you can build a complete network. Let's build ResNet-9, which has eight convolutions and a linear layer, for colour pictures of 32 by 32 pixels. First we need the block: two convolutions with their normalisation, and the shortcut around them.

# %% tags=["code"]
def convolution(inputs, outputs):
    return [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs, momentum=0.9), nn.ReLU()]

class ResBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.branch = nn.Sequential(*convolution(channels, channels),
                                    *convolution(channels, channels))

    def forward(self, x):
        return torch.relu(x + self.branch(x))

class ResNet9(nn.Module):
    def __init__(self, kinds=10):
        super().__init__()
        self.stages = nn.Sequential(
            nn.Sequential(*convolution(3, 64), *convolution(64, 128), nn.MaxPool2d(2)),
            ResBlock(128),
            nn.Sequential(*convolution(128, 256), nn.MaxPool2d(2),
                          *convolution(256, 256), nn.MaxPool2d(2)),
            ResBlock(256),
            nn.Sequential(nn.MaxPool2d(2), nn.Flatten()))
        self.fc = nn.Linear(1024, kinds)

    def forward(self, x):
        return self.fc(self.stages(x))

# %% tags=["code"]
torch.manual_seed(0)
net = ResNet9()
h = torch.rand(2, 3, 32, 32)                    # two colour pictures
print(f"{'the pictures':13} {tuple(h.shape)}")
for number, stage in enumerate(net.stages, start=1):
    h = stage(h)
    count = sum(p.numel() for p in stage.parameters())
    print(f"stage {number}       {tuple(h.shape)!s:17} {count:9,} parameters")
print(f"fc            {tuple(net.fc(h).shape)!s:17} "
      f"{sum(p.numel() for p in net.fc.parameters()):9,} parameters")

out = net(torch.rand(2, 3, 32, 32))
out.backward(torch.rand_like(out))              # ten outputs for each picture
given = [p.grad is not None for p in net.parameters()]
print(f"{sum(given)} of {len(given)} parameters have a gradient")
biases = sum(m.bias is not None for m in net.modules() if isinstance(m, nn.Conv2d))
print("convolutions with a bias:", biases)
del net, h, out                                 # frees about 40 MB

# %% [markdown] tags=["explain"]
# **Why.** The stages with pooling make the picture smaller and give it more channels. So the network finds small patterns first, and then combines them into larger patterns. The two blocks don't change the shape, because otherwise `x` and `branch(x)` couldn't be added. `out` has 20 numbers instead of one, so `backward` needs a tensor of the same shape that says how much each number counts.
#
# Nearly all of the 2.4 million parameters are in the later stages, because a single convolution from 256 to 256 channels has $256 \cdot 256 \cdot 9 = 589{,}824$ parameters. Deeper networks save parameters with another kind of block. A basic block has two 3x3 convolutions, whereas a **bottleneck** first reduces the number of channels with a 1x1 convolution, applies a 3x3 convolution to these few channels, and then increases the number again:

# %% tags=["code"]
from autolab.vision.models.resnet9 import BottleneckResBlock

def numbers(block):
    return sum(p.numel() for p in block.parameters())

print(f"basic block, 256 channels:    {numbers(ResBlock(256)):9,} parameters")
bottleneck = BottleneckResBlock(256, 64, 256)
print(f"bottleneck, 256 to 64 to 256: {numbers(bottleneck):9,} parameters")
strided = BottleneckResBlock(256, 64, 128, stride=2)
shape = tuple(strided(torch.rand(1, 256, 8, 8)).shape)
print("with a stride of 2, a picture of 8 by 8 becomes", shape)

# %% tags=["picture"]
torch.manual_seed(0)
block = ResBlock(2).eval()
autolab.explore(block(torch.rand(1, 2, 4, 4)).sum(),
                params=dict(block.named_parameters()))

# %% [markdown] tags=["keep"]
# **Takeaway:** a deep network is a row of blocks that keep the shape, with stages between them that halve the picture.
# The kit has this network as `autolab.vision.models.resnet9`; PyTorch lists larger ones among [its models](https://docs.pytorch.org/vision/stable/models.html). More on modules: [`nn.Module`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html).
