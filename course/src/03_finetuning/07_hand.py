# %% [markdown] tags=["section"]
# ## 6. Your own hand
#
# A single image of your digit is not much to learn from. But if you rotate and shift a 7 a little, it is still a 7. So you can make eight versions of your image and add them to the hundred images. Making new examples like this is called **augmentation**.

# %% tags=["code"]
transforms = autolab.vision.transforms          # torchvision.transforms in PyTorch
move = transforms.Compose([
    transforms.RandomRotation(12),
    transforms.RandomCrop(32, padding=3),
])
torch.manual_seed(0)
mine = torch.stack([move(image) for _ in range(8)])
never_seen = torch.stack([move(image) for _ in range(50)])
images = torch.cat([few, mine])
labels = torch.cat([few_labels, torch.full((8,), label)])

def reads_mine(model):
    with finetune.evaluating(model), torch.no_grad():
        return 100 * (model(never_seen).argmax(1) == label).float().mean().item()

# %% tags=["picture"]
plots.images(mine, columns=8, title="eight versions of your digit")
plt.show()

# %% [markdown]
# We train the network on the hundred images together with these eight versions. Then we test it on fifty other versions, which are rotated and shifted differently.
#
# The dashboard below shows the training while it runs. Press *Start* and watch the validation curves. You can change the speed, pause, change the learning rate, and continue. The cell after the dashboard waits until the training is over. If you haven't pressed *Start*, it starts the training for you.

# %% tags=["predict"]
q9 = predict("03.q9")
q9

# %% tags=["code"]
torch.manual_seed(0)
model = hand.network().train()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
pairs = torch.utils.data.TensorDataset(images, labels)
batches = torch.utils.data.DataLoader(pairs, batch_size=25, shuffle=True)
shown, digits = others[::2], other_labels[::2]     # half of them: less memory
validation = [(shown, digits)]
training = finetune.training(model, optimizer, (batches, validation), 20,
                             scheduler=schedule)

def answers():
    with finetune.evaluating(model), torch.no_grad():
        return shown, digits, model(shown)

dashboard = TrainingDashboard(training, optimizer, predict=answers,
                              classes=[str(d) for d in range(10)], pace=3)

# %% tags=["picture"]
dashboard

# %% tags=["code"]
await dashboard.run()
before, after = reads_mine(hand.network()), reads_mine(model)
print("state:", dashboard.state)
print(f"versions of your {label} read right:",
      f"{before:.0f} % before, {after:.0f} % after")

# %% tags=["reveal"]
q9.reveal(after)

# %% tags=["picture", "cover"]
with torch.no_grad():
    at_last = model.eval()(image[None]).softmax(1)[0]
    at_first = hand.network()(image[None]).softmax(1)[0]
plots.chances({"before": at_first, "after": at_last}, title=f"your {label}")
plt.show()

# %% [markdown] tags=["explain", "keep"]
# **Why.** Your eight images have the same strokes as the ten other images of this digit, so the body already knew most of what it needed. Your images only had to add *your* way of drawing the digit.
#
# The test used versions that the network had never seen, but all of them come from one drawing. An honest test needs a second drawing, so draw your digit again in lesson 1 and run the cell below the pad. Then give the new drawing to this network: `model(hand.my_digit()[0][None]).argmax()`.
#
# Also look at the validation curves. If the validation loss begins to rise while the training loss still falls, the network is learning *these* images by heart, which is called **overfitting**.
#
# **Takeaway:** a few rotated and shifted examples, mixed with images of all digits, are enough to teach the network your handwriting.
# Read more: PyTorch's page on [saving a model](https://docs.pytorch.org/tutorials/beginner/basics/saveloadrun_tutorial.html).

# %% [markdown] tags=["exercise"]
# ### Exercise 03.15: a network for your own drawings
#
# The kit prepared the training above for you. Now write the training yourself, starting with an empty cell. `learn(model, mine, old)` receives a pretrained network and two pairs of images and labels. The first pair contains your drawings, and the second pair contains images that the network has read so far. The function trains the network until it reads both kinds of images, and returns the network in evaluation mode.
#
# When the checker accepts your function, use it. In a new cell, `pad = autolab.DrawDigit()` gives you a drawing pad. Afterwards `pad.image` and `pad.label` contain your drawing and its label. Draw three digits that this network misreads, and keep a fourth drawing of each digit aside. Then find out whether the trained network reads the fourth drawing.

# %% tags=["exercise"]
learn = ...                 # replace this line by your function

check("03.15", learn)
