# %% [markdown] tags=["section"]
# ## 1. Pictures of clothes
#
# Many tutorials train on Fashion-MNIST, a collection of 70,000 small photographs of clothes by a fashion company. The photographs have to be downloaded, so this notebook uses drawings that look similar. There are six kinds of clothes, and each kind is drawn 150 times, with a different width, rotation, shade and noise each time.

# %% tags=["code"]
images, labels = clothes(900, seed=0)               # to train on
unseen, answers = clothes(300, seed=1)              # to test with
print("images:", tuple(images.shape), images.dtype, " labels:", tuple(labels.shape))

# %% tags=["picture"]
plots.images(images[:12], [KINDS[k] for k in labels[:12]], columns=6)
plt.show()

# %% [markdown] tags=["explain"]
# If you have an internet connection, you can use the photographs instead. `autolab.vision.datasets.FashionMNIST(root="data", download=True)` downloads 30 MB, and its pictures have the same size, 28 by 28 pixels. There are ten kinds instead of six, so the last layer then needs ten outputs.
# %% [markdown] tags=["section"]
# ## 2. LeNet, layer by layer
#
# LeNet was designed in the 1990s, by Yann LeCun and others, to read handwritten digits. It has two parts. The **body** finds patterns, with two convolutions that are each followed by pooling. The **head** turns the patterns into scores, with three linear layers. Between the layers, ReLU replaces negative numbers with 0.

# %% tags=["code"]
class LeNet(nn.Module):
    def __init__(self, kinds=6):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 6, kernel_size=5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(6, 16, kernel_size=5), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.head = nn.Sequential(
            nn.Linear(16 * 4 * 4, 120), nn.ReLU(),
            nn.Linear(120, 84), nn.ReLU(),
            nn.Linear(84, kinds),
        )

    def forward(self, x):
        x = self.body(x)
        x = x.view(x.size(0), -1)               # one row of numbers for each image
        return self.head(x)

torch.manual_seed(0)
model = LeNet()
x = images[:1]
print(f"{'the image':10} {tuple(x.shape)}")
for layer in [*model.body, nn.Flatten(), *model.head]:
    x = layer(x)
    count = sum(p.numel() for p in layer.parameters())
    print(f"{type(layer).__name__:10} {tuple(x.shape)!s:16} {count:6,} parameters")
print(f"together: {sum(p.numel() for p in model.parameters()):,} parameters")

# %% [markdown] tags=["explain", "keep"]
# **Why.** A window of 5 by 5 fits into a row of 28 pixels at 24 places, so a convolution makes each side of the picture 4 pixels shorter. Pooling then halves each side. After the second pooling, 16 channels of 4 by 4 numbers are left, and 16 · 4 · 4 = 256 is the number of inputs that the first linear layer needs. If you use other pictures, this is the number that you have to change. With pictures of 32 by 32 pixels, as in lesson 2, the number is 16 · 5 · 5 = 400.
#
# Most parameters are in the head, although most of the computation is in the body. A convolution uses each of its weights at every place of the picture, whereas a linear layer uses each weight only once.
#
# **Takeaway:** print the shape after each layer, because you have to tell the first linear layer how many numbers are left.
# Read more: PyTorch's page on [`Conv2d`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Conv2d.html), with the formula for the size.
# %% [markdown] tags=["section"]
# ## 3. The training, on either device
#
# The next cell is a complete training script. Only the first line of `train` and the line with `x.to(device)` name the device. As in the lesson, we measure the time until the work is done, and we store each loss as a plain number.

# %% tags=["code"]
def train(device, epochs=6, batch_size=32, lr=0.02):
    torch.manual_seed(0)
    model = LeNet().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    pairs = torch.utils.data.TensorDataset(images, labels)
    batches = torch.utils.data.DataLoader(pairs, batch_size, shuffle=True)
    losses, start = [], clock()
    for epoch in range(epochs):
        of_epoch = []
        for x, y in batches:
            x, y = x.to(device), y.to(device)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            of_epoch.append(loss.item())
        losses.append(sum(of_epoch) / len(of_epoch))
    steps = epochs * len(batches)
    took = 1e6 * (clock() - start) / steps / batch_size
    print(f"{device:4}, {batch_size:3} pictures a step: {took:.0f} µs for each picture")
    return model, losses

def read_right(model, device):
    with torch.no_grad():
        return (model(unseen.to(device)).argmax(1).cpu() == answers).sum().item()

# %% tags=["code"]
print(f"before the training: {read_right(LeNet(), 'cpu')} of {len(answers)} correct")
_, cpu_losses = train("cpu")
model, gpu_losses = train("cuda")
for device in ("cpu", "cuda"):
    train(device, epochs=1, batch_size=300)

# %% tags=["code"]
for epoch, (a, b) in enumerate(zip(cpu_losses, gpu_losses), start=1):
    print(f"epoch {epoch}: loss {a:.1f} on the CPU, {b:.1f} on the GPU")
correct = 100 * read_right(model, "cuda") // len(answers)
print(f"unseen pictures read correctly: at least {correct} %")

# %% tags=["picture"]
with torch.no_grad():
    scores = model(unseen.to(device)).cpu()
autolab.viz.plot_confusion((answers, scores), classes=list(KINDS),
                           title="pictures that the network has never seen")
plt.show()

# %% tags=["picture"]
doubt = scores.softmax(1).max(1).values.argsort()[:6]       # the least certain answers
words = [f"{KINDS[answers[i]]}?" for i in doubt]
plots.images(unseen[doubt], words, columns=6, title="its least certain answers")
plt.show()

# %% [markdown] tags=["explain", "keep"]
# **Why.** The losses on both devices are the same, because the same arithmetic is done with the same seed. With 32 pictures per step, the modelled GPU is slower than the CPU, because LeNet is small and each launch has little to do. With 300 pictures per step, the GPU is faster.
#
# The table of the answers also shows which kinds of clothes look alike to the network. For example, train with `model, _ = train("cuda", epochs=4)`, and run the cell with the table again. When we did so, the network took most of the trousers for pullovers, and also some T-shirts, which differ from a pullover only in their sleeves.
#
# **Takeaway:** a training script runs on either device if only the lines that move the model and the batches name the device.
# PyTorch has the same script in its [quickstart](https://docs.pytorch.org/tutorials/beginner/basics/quickstart_tutorial.html).

# %% tags=["progress"]
progress("02")
