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
print("the bias's gradient is below 1 % of the weight's:", bias < weight / 100)
part = bias / weight

# %% tags=["reveal"]
q22.reveal(part)

# %% [markdown] tags=["explain"]
# **Why.** Batch normalisation subtracts the mean of each channel. A bias adds the same number to a whole channel, so it becomes part of the mean and is subtracted again. Because it has no effect on the loss, its gradient is 0. The bias that does have an effect is the one *inside* the normalisation.
#
# Now let's look at the shortcut, that is, at the sum. We compute twenty layers in a row, first as they are, and then with the input of each layer added to its result:

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

ratio = first_gradient(True) / first_gradient(False)
print("with shortcuts more than a thousand times larger:", ratio > 1000)

# %% tags=["reveal"]
q23.reveal(ratio)

# %% [markdown]
# The next picture shows two such layers with one number each. The gradient reaches `h0` along several paths, so step through it and look for the path on which no weight is a factor.

# %% tags=["picture"]
h0 = torch.tensor(1.0, requires_grad=True)
w1, w2 = (torch.tensor(0.1, requires_grad=True) for _ in range(2))
h1 = h0 + torch.tanh(w1 * h0)
h2 = h1 + torch.tanh(w2 * h1)
autolab.explore(h2)

# %% [markdown] tags=["explain"]
# **Why.** Without shortcuts the gradient is a product of twenty local derivatives, and if the factors are small, the product is tiny. With $h + f(h)$ each local derivative is $1 + f'(h)$. So there is one path that has the factor 1 at every layer, and along this path the whole gradient arrives.
#
# PyTorch's ResNets also save memory. Their ReLU works in place, that is, it overwrites the result of the batch normalisation before it.

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
print("backward works:", works)

# %% tags=["reveal"]
q35.reveal(works)

# %% [markdown] tags=["explain"]
# **Why.** Batch normalisation saves its *input*, and the ReLU doesn't touch it. After a `tanh`, the same ReLU would cause an error, because `tanh` saves its result.
#
# ResNets use two kinds of blocks. A basic block has two 3x3 convolutions, whereas a **bottleneck** first reduces the number of channels with a 1x1 convolution, works on the few that are left, and then increases the number again:

# %% tags=["code"]
from autolab.vision.models import resnet9
from autolab.vision.models.resnet9 import BottleneckResBlock, ResBlock

def numbers(block):
    return sum(p.numel() for p in block.parameters())

print("basic block, 64 channels:        ", numbers(ResBlock(64, 64)))
print("bottleneck, 64 to 16 to 64:      ", numbers(BottleneckResBlock(64, 16, 64)))
small = resnet9(num_classes=10)
print("ResNet-9, for colour images 32x32:", numbers(small))
convolutions = [m for m in small.modules() if isinstance(m, nn.Conv2d)]
with_bias = [m for m in convolutions if m.bias is not None]
print("convolutions with a bias in it:   ", len(with_bias))
del small, convolutions                       # 10 MB

# %% [markdown] tags=["exercise"]
# ### Exercise 03.14: add the input
#
# Write `residual(x, branch, shortcut)`, where `branch` and `shortcut` are functions. It adds `x` to `branch(x)` and returns the ReLU of the sum, which replaces negative numbers by 0. If `shortcut` is not None, add `shortcut(x)` instead of `x`. This is needed when the shapes of `x` and `branch(x)` differ.

# %% tags=["exercise"]
def residual(x, branch, shortcut=None):
    return ...

check("03.14", residual)

# %% [markdown] tags=["keep"]
# **Takeaway:** a sum passes on the whole gradient, and a bias before a normalisation has no effect.
# PyTorch on [`BatchNorm2d`](https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm2d.html); the idea:
# [He et al., 2016](https://arxiv.org/abs/1512.03385).
