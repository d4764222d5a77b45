# %% [markdown] tags=["section"]
# ## 1. Blocks
#
# Your network is a small ResNet. Two things in its blocks look odd: a result is *added* to what came in, and the convolutions have no bias. First
# the bias. Here is a convolution with one, and batch normalisation behind it.

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
# **Why.** Batch normalisation subtracts the mean of each channel. A bias adds the same number to the whole channel, so it is in the mean, and is
# subtracted again. What changes nothing has the gradient 0. The bias that counts is the one *in* the normalisation.
#
# Now the shortcut. Twenty layers in a row, once as they are, once each with its input added to its result:

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
# Two such layers of one number each, to step through. At `h0` the gradient arrives along two paths. Which of them does not pass any weight?

# %% tags=["picture"]
h0 = torch.tensor(1.0, requires_grad=True)
w1, w2 = (torch.tensor(0.1, requires_grad=True) for _ in range(2))
h1 = h0 + torch.tanh(w1 * h0)
h2 = h1 + torch.tanh(w2 * h1)
autolab.explore(h2)

# %% [markdown] tags=["explain"]
# **Why.** Without shortcuts the gradient is a product of twenty local derivatives, and small factors make a tiny product. With $h + f(h)$ the local
# derivative is $1 + f'(h)$: one path has the factor 1 at every layer, so the gradient arrives whole.
#
# PyTorch's ResNets save memory, too: their ReLU works in place, it overwrites what the batch normalisation before it has computed.

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
# **Why.** A batch normalisation saves its *input*, and that is untouched. Behind a `tanh`, which saves its result, the same ReLU would be an error.
#
# There are two kinds of such blocks. A basic block has two 3x3 convolutions. A **bottleneck** first shrinks the channels with a 1x1
# convolution, works there, and widens again:

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
# ### Exercise 03.14: add what came in
#
# Write `residual(x, branch, shortcut)`. `branch` and `shortcut` are functions. The result is the ReLU (what is negative becomes 0) of the sum of `branch(x)` and `x`. Where
# `shortcut` is not None, its result takes the place of `x` in the sum, because the shapes differ.

# %% tags=["exercise"]
def residual(x, branch, shortcut=None):
    return ...

check("03.14", residual)

# %% [markdown] tags=["keep"]
# **Takeaway:** a sum hands the whole gradient on; a bias before a normalisation does nothing.
# PyTorch on [`BatchNorm2d`](https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm2d.html); the idea:
# [He et al., 2016](https://arxiv.org/abs/1512.03385).
