# %% [markdown] tags=["section"]
# ## 10. Overfitting, and when to stop
#
# Back to the head alone, on stored features, since it takes a second. Train it for 400 epochs rather than 60, and watch the loss on validation images too.

# %% tags=["predict"]
q15 = predict("03.q15")
q15

# %% tags=["code"]
torch.manual_seed(0)
model = with_new_head().eval().requires_grad_(False)
train_x, train_y = features_of(model, x), y
val_x, val_y = features_of(model, task.validation.tensors[0]), task.validation.tensors[1]

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
          f"validation loss {losses['validation'][epoch]:.1f}, {right[epoch]} of {len(val_y)} right")

# %% tags=["reveal"]
q15.reveal(best)

# %% tags=["picture"]
axes = autolab.viz.plot_losses(losses)
axes.set_xlabel("epoch")
axes.axvline(best, color="#009E73", linestyle="-.")
axes.text(best + 5, 1.45, "early stopping keeps these weights")
plt.show()

# %% [markdown] tags=["explain"]
# **Why.** At first the head learns what 5s have in common. Later it learns what *these ten* 5s have in common, which the others do not share. And it grows sure of itself: its weights get larger, its
# probabilities more extreme, and each mistake on a new image costs more. That is **overfitting**. The training loss cannot show it.
#
# **Early stopping**: keep the weights of the best validation loss so far, and stop when it has not got better for some epochs in a row. That number of epochs is the **patience**. `finetune.EarlyStopping` does it.
#
# Now a real training, watched live: all layers, with early stopping. The **dashboard** shows both losses, both accuracies, the rate, the gradient norm of each layer, some images with answers, and who is taken for whom. Run the next
# two cells. While it runs, press pause, change the learning rate, and go on.
# (Should it say that no button gets through: write `dashboard.start()` for `await dashboard.run()`, and run the rest of the cells when the training has finished.)

# %% tags=["code"]
torch.manual_seed(0)
model = with_new_head()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 30)
stopping = finetune.EarlyStopping(patience=10)
batches = torch.utils.data.DataLoader(task.train, batch_size=25, shuffle=True)
validation = [task.validation.tensors]

def answers():
    with finetune.evaluating(model), torch.no_grad():
        return val_images, val_y, model(val_images)

val_images = task.validation.tensors[0]
training = finetune.training(model, optimizer, (batches, validation), 30, scheduler=schedule, stopping=stopping)
dashboard = TrainingDashboard(training, optimizer, predict=answers, classes=["5", "6", "7", "8", "9"])

# %% tags=["picture"]
dashboard

# %% tags=["code"]
await dashboard.run()
stopping.restore(model)                     # the weights of the best epoch
print("state:", dashboard.state)
print("the best is better than the first:", stopping.best < dashboard.history.records[0]["val_loss"])

# %% [markdown]
# `dashboard.history.records` has all that it showed. For a page without a kernel, here it is as plots. The curves of a whole network on a hundred images go up and down. A small patience stops at the first bump, a large one
# trains longer for nothing. Try 3 and 20.

# %% tags=["picture"]
records = dashboard.history.records
figure, (left, right_ax) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for name, colour, style, words in (("train", "#0072B2", "-", "training"), ("val", "#D55E00", "--", "validation")):
    left.plot([r[f"{name}_loss"] for r in records], color=colour, linestyle=style, label=words)
    right_ax.plot([100 * r[f"{name}_accuracy"] for r in records], color=colour, linestyle=style, label=words)
left.set(xlabel="epoch", ylabel="loss", title="all layers: loss")
right_ax.set(xlabel="epoch", ylabel="accuracy, %", title="all layers: accuracy")
left.legend()
plt.show()

# %% tags=["picture"]
autolab.viz.plot_confusion(answers()[1:], classes=["5", "6", "7", "8", "9"], title="validation images, after fine-tuning")
plt.show()

# %% [markdown] tags=["exercise"]
# ### Exercise 03.10: when to stop
#
# Write `stop(losses, patience)` for a list of validation losses, one for each epoch. It returns `(best, last)`: the epoch whose weights are kept, and the last epoch that is trained, both counted from 0. Training stops after the epoch in which the
# best is `patience` epochs old. An equal loss is no improvement.

# %% tags=["exercise"]
def stop(losses, patience):
    return ...

check("03.10", stop)

# %% [markdown] tags=["keep"]
# **Take along:** the training loss tells you that it learns; only images that it is not trained on tell you when to stop.
# PyTorch on [saving a model](https://docs.pytorch.org/tutorials/beginner/basics/saveloadrun_tutorial.html). On early stopping: [Prechelt 1998](https://doi.org/10.1007/3-540-49430-8_3).
