# %% [markdown] tags=["section"]
# ## 2. The network that everybody uses
#
# The same steps with the network that half of all tutorials use. Its weights come from ImageNet, 1.3 million photographs, and are a file of 45 MB on the internet. This cell uses them if they are on your computer already, and otherwise goes on with **random
# weights**, and says which. With random weights every step works. The answers mean nothing.
#
# To get the file once, run `torch.vision.models.resnet18(weights="DEFAULT")` in a cell of your own. It is then kept for all notebooks, and for PyTorch too.

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
# The network wants colour images of 224 by 224 pixels, with the mean and the spread of ImageNet. `weights.transforms()` makes them. A grey image becomes a colour image by repeating its one channel.

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
print("features:", tuple(features.shape), " the loss fell:", losses[-1] < losses[0])

# %% tags=["picture"]
FreezePanel(big, optimizer)

# %% [markdown]
# And this is the whole graph of a training step, with one photograph. Seventeen layers ran, and left nothing in it. All that backward has to walk is the eighteenth, the head, and the loss.

# %% tags=["picture"]
optimizer.zero_grad()
loss = F.cross_entropy(big(photos[:1]), few_y[:1])
autolab.explore(loss, params=dict(big.fc.named_parameters()))

# %% [markdown] tags=["explain"]
# **Why.** In numbers: $512 \cdot 5 + 5 = 2565$ trained numbers of more than eleven million. Gradients and momentum are kept for those only. The panel says how many megabytes that saves.
#
# The four comments in the cell are the order to remember. Freeze first, so that the new head is not frozen. Replace the head before the optimizer is built, so that the optimizer knows it. Set the mode last, because `train()` and `eval()` reach only the modules that
# are there.
#
# In older code you find `resnet18(pretrained=True)`, a loop that freezes everything, and training with the network left in training mode. You can now say what is missing: the name of the weights, and `eval()` for the frozen statistics.

# %% [markdown]
# How long would a large layer take on a GPU? A clock is read before and after.

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
print(f"said: {1e6 * said:.0f} µs, done: {1e6 * done:.0f} µs")

# %% tags=["reveal"]
q36.reveal(said, done)

# %% [markdown] tags=["exercise"]
# ### Exercise 03.12: the whole preparation
#
# Write `prepare(model, classes, lr)`. It prepares a pretrained network with the head `fc` for training the head only: body frozen, new head, statistics kept. It returns an optimizer that has the new head and nothing else.

# %% tags=["exercise"]
def prepare(model, classes, lr):
    return ...

check("03.12", prepare)

# %% [markdown] tags=["keep"]
# **Takeaway:** freeze, replace, optimizer, mode. In this order.
# PyTorch's [tutorial on transfer learning](https://docs.pytorch.org/tutorials/beginner/transfer_learning_tutorial.html), torchvision on [its weights](https://docs.pytorch.org/vision/stable/models.html).

# %% tags=["progress"]
progress("03")
