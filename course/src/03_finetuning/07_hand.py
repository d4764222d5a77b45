# %% [markdown] tags=["section"]
# ## 6. Your own hand
#
# One image of yours is little, but a turned and shifted 7 is still a 7. So you make eight versions of it, and put them among the hundred.
# Making examples like that is called **augmentation**.

# %% tags=["code"]
move = torch.vision.transforms.Compose([
    torch.vision.transforms.RandomRotation(12),
    torch.vision.transforms.RandomCrop(32, padding=3),
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
# It is trained on the hundred and these eight. You test it on fifty others, turned and shifted differently.
#
# The dashboard below shows the training while it runs. Press *Start* in it, and watch the validation curves. Change the pace, pause, change
# the learning rate, and go on. The cell after it waits until the training is over, and starts it if you did not.

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
print("your hand is read at least as often as before:", after >= before)

# %% tags=["reveal"]
q9.reveal(after)

# %% tags=["picture"]
with torch.no_grad():
    at_last = model.eval()(image[None]).softmax(1)[0]
    at_first = hand.network()(image[None]).softmax(1)[0]
plots.chances({"before": at_first, "after": at_last}, title=f"your {label}")
plt.show()

# %% [markdown] tags=["explain", "keep"]
# **Why.** Your eight images share their strokes with the ten others of that digit, so the body had most of what it needed. What they added is
# *your* way to draw it. It was tested on versions it never saw, but they come from one drawing. The honest test takes two
# drawings: draw another in lesson 1, run the cell below the pad, and give it to this network: `model(hand.my_digit()[0][None]).argmax()`.
#
# The validation curves say the rest. Watch whether the validation loss begins to rise while the training loss still falls: then the
# network learns *these* images by heart. That is **overfitting**.
#
# **Takeaway:** few examples, turned and shifted, among a rehearsal of the old: that is how a network learns your hand.
# PyTorch on [saving a model](https://docs.pytorch.org/tutorials/beginner/basics/saveloadrun_tutorial.html).
