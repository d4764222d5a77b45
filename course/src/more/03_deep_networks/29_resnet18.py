# %% [markdown] tags=["section"]
# ## 3. The network that everybody uses
#
# Let's repeat the same steps with ResNet-18, which you will meet in many tutorials. Its weights were trained on ImageNet, that is, on 1.3 million photographs. They come as a file of 45 MB, which you can download from the internet. If the file is already on your computer, the next cell uses it. Otherwise the cell continues with random weights and tells you so. With random weights every step still works, but the answers mean nothing.
#
# To get the file, run `autolab.vision.models.resnet18(weights="DEFAULT")` once in a new cell. After that, all notebooks can use the file, and so can PyTorch.

# %% tags=["predict"]
q24 = predict("03.q24")
q24

# %% tags=["code"]
from autolab.vision.models import ResNet18_Weights, resnet18

weights = ResNet18_Weights.DEFAULT
file = Path(torch.hub.get_dir()) / "checkpoints" / weights.url.split("/")[-1]
torch.manual_seed(0)
big = resnet18(weights=weights if file.exists() else None)
kind = "ImageNet" if file.exists() else "RANDOM (no file on this computer)"
print("ResNet-18, weights:", kind)

big.requires_grad_(False)                              # 1. freeze
big.fc = nn.Linear(big.fc.in_features, 5)              # 2. replace the head
optimizer = torch.optim.SGD(                           # 3. build the optimizer
    big.fc.parameters(), lr=0.001, momentum=0.9)
big.eval()                                             # 4. set the mode

trained = sum(p.numel() for p in big.parameters() if p.requires_grad)
print(f"trained: {trained:,} of {sum(p.numel() for p in big.parameters()):,} numbers")

# %% tags=["reveal"]
q24.reveal(trained)

# %% [markdown]
# The network expects colour images of 224 by 224 pixels, with the mean and the standard deviation of ImageNet. `weights.transforms()` returns a function that makes such images. To turn a grey image into a colour image, we repeat its single channel three times.

# %% tags=["code"]
prepare_image = weights.transforms()
photos = prepare_image(few_x.repeat(1, 3, 1, 1))
print(tuple(few_x.shape), "->", tuple(photos.shape))

# the frozen body runs once, on one photograph at a time: that takes less memory
features = torch.cat([features_of(big, photo[None]) for photo in photos])
losses = []
for epoch in range(30):
    loss = F.cross_entropy(big.fc(features), few_y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print("features:", tuple(features.shape))
print(f"loss: {losses[0]:.1f} at first, {losses[-1]:.1f} after 30 epochs")

# %% tags=["picture"]
FreezePanel(big, optimizer)

# %% [markdown]
# The next picture shows the whole graph of one training step with one photograph. The seventeen frozen layers have left nothing in the graph. So the backward pass only visits the loss and the last layer, which is the head.

# %% tags=["picture"]
optimizer.zero_grad()
loss = F.cross_entropy(big(photos[:1]), few_y[:1])
autolab.explore(loss, params=dict(big.fc.named_parameters()))

# %% [markdown] tags=["explain"]
# **Why.** Only $512 \cdot 5 + 5 = 2565$ of more than eleven million numbers are trained. Gradients and momentum are stored only for these numbers, and the panel says how many megabytes this saves.
#
# Remember the order of the four comments in the cell. Freeze first, so that the new head isn't frozen. Replace the head before you build the optimizer, so that the optimizer holds the new head. Set the mode last, because `train()` and `eval()` only affect the modules that exist at that moment.
#
# Older code often calls `resnet18(pretrained=True)`, freezes everything in a loop, and then trains with the network in training mode. Now you know what is missing in this code: the name of the weights, and `eval()` for the frozen statistics.

# %% [markdown] tags=["exercise"]
# ### Exercise 03.12: the whole preparation
#
# Write `prepare(model, classes, lr)`. It prepares a pretrained network, whose head is called `fc`, so that only the head is trained. To do this, it freezes the body, replaces the head, and makes sure that the statistics don't change. The function returns an optimizer that holds only the parameters of the new head.

# %% tags=["exercise"]
def prepare(model, classes, lr):
    return ...

check("03.12", prepare)

# %% [markdown] tags=["keep"]
# **Takeaway:** freeze, replace the head, build the optimizer, and set the mode, in this order.
# PyTorch's [tutorial on transfer learning](https://docs.pytorch.org/tutorials/beginner/transfer_learning_tutorial.html), torchvision on [its weights](https://docs.pytorch.org/vision/stable/models.html).

# %% [markdown] tags=["section"]
# ## 4. Review
#
# The last question goes back to lesson 2. A network like ResNet-18 is usually trained on a GPU, so suppose you want to know how long one of its layers takes there. You read a clock before and after the layer.

# %% tags=["predict"]
q36 = predict("03.q36")
q36

# %% tags=["code"]
clock = autolab.cuda.perf_counter
with autolab.cuda.simulate():
    there = nn.Linear(500, 500, device="cuda")
    rows = torch.ones(1000, 500, device="cuda")
    torch.cuda.synchronize()
    start = clock()
    there(rows)
    said = clock() - start
    torch.cuda.synchronize()
    done = clock() - start
print(f"clock read at once: {1e6 * said:.0f} µs;",
      f"after synchronize(): {1e6 * done:.0f} µs")

# %% tags=["reveal"]
q36.reveal(said, done)

# %% [markdown] tags=["explain"]
# **Why.** On the simulated clock, the call returned after 10 µs, although the GPU needed about 100 µs for the layer. The host only launches the work and then continues. So if you want to measure the layer, call `synchronize()` each time before you read the clock.

# %% tags=["progress"]
progress("03")
