# %% [markdown] tags=["section"]
# ## 1. Four hundred epochs
#
# Let's train the head alone. Because the body is frozen, the features of an image never change, so we compute them once and store them. Then even 400 epochs take only about a second. After each epoch we also measure the loss on validation images.

# %% tags=["predict"]
q19 = predict("03.q19")
q19

# %% tags=["code"]
torch.manual_seed(0)
model = with_new_head().eval().requires_grad_(False)
train_x, train_y = features_of(model, x), y
val_x, val_y = task.validation.tensors
val_x = features_of(model, val_x)

head = model.fc.requires_grad_(True)
optimizer = torch.optim.SGD(head.parameters(), lr=0.1, momentum=0.9)
losses = {"training": [], "validation": []}
right = []
for epoch in range(400):
    loss = F.cross_entropy(head(train_x), train_y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        scores = head(val_x)
        losses["training"].append(loss.item())
        losses["validation"].append(F.cross_entropy(scores, val_y).item())
        right.append((scores.argmax(1) == val_y).sum().item())
best = losses["validation"].index(min(losses["validation"]))
print("lowest validation loss in epoch", best)
for epoch in (best, 399):
    print(f"epoch {epoch:3}: training loss {losses['training'][epoch]:.1f}, "
          f"validation loss {losses['validation'][epoch]:.1f},",
          f"{right[epoch]} of {len(val_y)} right")

# %% tags=["reveal"]
q19.reveal(best)

# %% tags=["picture"]
plots.curves(range(400), losses, xlabel="epoch", ylabel="loss",
             mark={"early stopping keeps these weights": best})
plt.show()

# %% [markdown] tags=["explain"]
# **Why.** At first the head learns what all 5s have in common. Later it learns what only *these ten* 5s have in common, which isn't true of other 5s. Its weights also grow, so its probabilities become more extreme and each mistake on a new image costs more. This is **overfitting**, and the training loss can't show it, because it only measures the training images.
#
# The solution is **early stopping**: you keep the weights with the best validation loss so far, and you stop when the loss hasn't improved for several epochs in a row. This number of epochs is called the **patience**. In this kit, `finetune.EarlyStopping` does all of this for you.
#
# Now let's train all layers with early stopping. Press *Start* in the dashboard. There you can also pause, change the learning rate, and continue. The cell below waits until the training is over. If you haven't pressed *Start*, it starts the training for you.

# %% tags=["code"]
torch.manual_seed(0)
model = with_new_head()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9,
                            weight_decay=5e-4)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 30)
stopping = finetune.EarlyStopping(patience=10)
batches = torch.utils.data.DataLoader(task.train, batch_size=25, shuffle=True)
validation = [task.validation.tensors]

def answers():
    with finetune.evaluating(model), torch.no_grad():
        return val_images, val_y, model(val_images)

val_images = task.validation.tensors[0]
training = finetune.training(model, optimizer, (batches, validation), 30,
                             scheduler=schedule, stopping=stopping)
dashboard = TrainingDashboard(training, optimizer, predict=answers,
                              classes=list("56789"), pace=3)

# %% tags=["picture"]
dashboard

# %% tags=["code"]
await dashboard.run()
stopping.restore(model)                     # the weights of the best epoch
print("state:", dashboard.state)
first = dashboard.history.records[0]["val_loss"]
print(f"validation loss, first epoch and best epoch: {first:.2f}, {stopping.best:.2f}")

# %% [markdown]
# `dashboard.history.records` contains everything that the dashboard showed. When all layers learn from a few images, the curves go up and down a lot. If the patience is small, the training stops at the first bump, but if it is large, the training continues for a long time without any gain. For example, try a patience of 3 and a patience of 20.

# %% tags=["picture"]
records = dashboard.history.records
plots.curves(range(len(records)), {"training": [r["train_loss"] for r in records],
                                   "validation": [r["val_loss"] for r in records]},
             xlabel="epoch", ylabel="loss", title="all layers")
plt.show()

# %% tags=["picture"]
autolab.viz.plot_confusion(answers()[1:], classes=list("56789"),
                           title="validation images, after fine-tuning")
plt.show()

# %% [markdown]
# Let's find out what it means to *keep* weights. Suppose a program stores them under a name, collects every loss in a list, and continues to train.

# %% tags=["predict"]
q31 = predict("03.q31")
q31

# %% tags=["predict"]
q32 = predict("03.q32")
q32

# %% tags=["code"]
keeper = nn.Linear(64, 5)
optimizer = torch.optim.SGD(keeper.parameters(), lr=0.1)
kept = []
for epoch in range(10):
    loss = F.cross_entropy(keeper(train_x), train_y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    kept.append(loss)
    if epoch == 4:
        state, copy = keeper.state_dict(), keeper.weight.detach().clone()
apart = (state["weight"] - copy).abs().max().item()
with_graph = sum(loss.grad_fn is not None for loss in kept)
print(f"the weights in `state` and the weights of epoch 4 are up to {apart:.2f} apart")
print("losses that hold a graph:", with_graph)
same = apart == 0

# %% tags=["reveal"]
q31.reveal(same)

# %% tags=["reveal"]
q32.reveal(with_graph)

# %% [markdown] tags=["explain"]
# **Why.** `state_dict()` shares its memory with the network, just as `from_numpy()` shares its memory with an array. If you need a copy, use `copy.deepcopy` or save a file. A loss in a list keeps its whole graph alive, so store `loss.item()` instead.

# %% [markdown]
# Let's return to the stored features `train_x`, which we used to train the head. Could the *body* learn from them as well?

# %% tags=["predict"]
q28 = predict("03.q28")
q28

# %% tags=["code"]
trained = with_new_head().eval()                # nothing in it is frozen
train_x.requires_grad_()
F.cross_entropy(trained.fc(train_x), train_y).backward()
body = any(p.grad is not None for n, p in trained.named_parameters() if n[:2] != "fc")
reached = train_x.grad is not None
given = [n for n, p in trained.named_parameters() if p.grad is not None]
print(f"gradients for {train_x.grad.numel():,} features, and for", *given)

# %% tags=["reveal"]
q28.reveal(body, reached)

# %% [markdown] tags=["explain"]
# **Why.** The features were computed once, under `no_grad()`, and the flag turns them into a leaf, so the backward pass ends there. A flag can't bring back a graph that was never recorded. This is the same mistake as setting the flag on the loss in [What the features know](03_features.ipynb).

# %% [markdown] tags=["exercise"]
# ### Exercise 03.10: when to stop
#
# Write `stop(losses, patience)`, where `losses` contains the validation loss of each epoch. It returns `(best, last)`, where `best` is the epoch whose weights you keep and `last` is the last epoch of the training. Both are counted from 0. The training stops when `patience` epochs in a row were not better than the best epoch. An equal loss is not an improvement.

# %% tags=["exercise"]
def stop(losses, patience):
    return ...

check("03.10", stop)

# %% [markdown] tags=["keep"]
# **Takeaway:** the training loss tells you that the network learns, but only images that aren't used in training tell you when to stop.
# Read more: PyTorch's page on [saving a model](https://docs.pytorch.org/tutorials/beginner/basics/saveloadrun_tutorial.html). On early stopping: [Prechelt 1998](https://doi.org/10.1007/3-540-49430-8_3).
