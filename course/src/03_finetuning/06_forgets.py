# %% [markdown] tags=["section"]
# ## 5. Five new digits, and the old ones
#
# If you continue to train a pretrained network on a new task, you are **fine-tuning** it. Let's teach the network the five new digits, with ten images of each digit. Nothing is frozen, and we train for twenty epochs, that is, we go through the images twenty times.
#
# The optimizer uses **momentum**, which works like a rolling ball: each step repeats 0.9 of the step before it and adds the new gradient. At the moment the network reads the digits 0 to 4 well. How many of them will it still read after this training?

# %% tags=["predict"]
q7 = predict("03.q7")
q7

# %% tags=["code"]
def fine_tune(images, labels, epochs=20):
    torch.manual_seed(0)
    model = hand.network().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    pairs = torch.utils.data.TensorDataset(images, labels)
    for epoch in range(epochs):
        for x, y in torch.utils.data.DataLoader(pairs, batch_size=25, shuffle=True):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()                       # the rate falls along half a cosine
    return model.eval()

chosen = few_labels >= 5
new_only = fine_tune(few[chosen], few_labels[chosen])
learnt, still_old = share_right(new_only, new), share_right(new_only, old)
print(f"5 to 9, read right after the training: {learnt:.0f} %")
print(f"0 to 4, read right after the training: {still_old:.0f} %")

# %% tags=["reveal"]
q7.reveal(still_old)

# %% [markdown] tags=["explain"]
# **Why.** The batches contained no image of a 3, so nothing in the loss forced the network to keep reading a 3 as a 3. Instead, every batch pushed the outputs for 0 to 4 down, and no batch pushed them up again. This is called **catastrophic forgetting**, and the loss on the new digits can't show it, because it ignores the old digits.
#
# You still have ten images of each old digit. Mixing these old images into the batches is called **rehearsal**.

# %% tags=["predict"]
q8 = predict("03.q8")
q8

# %% tags=["code"]
rehearsed = fine_tune(few, few_labels)
old_again = share_right(rehearsed, old)
print(f"5 to 9, read right with rehearsal: {share_right(rehearsed, new):.0f} %")
print(f"0 to 4, read right with rehearsal: {old_again:.0f} %")

# %% tags=["reveal"]
q8.reveal(old_again)

# %% tags=["picture"]
ways = {"0 to 4": hand.network(), "then 5 to 9": new_only, "or all ten": rehearsed}
plots.bars([*ways], {"0 to 4": [share_right(m, old) for m in ways.values()],
                     "5 to 9": [share_right(m, new) for m in ways.values()]},
           xlabel="trained on", ylabel="read right, %")
plt.show()

# %% [markdown] tags=["explain", "keep"]
# **Why.** The network learned the old digits from about seven hundred images. Fifty of these images are enough to keep most of this knowledge, because the network doesn't have to learn it again. The images only have to raise the loss whenever a step would destroy the knowledge. If you no longer have the old images, you can take smaller steps or freeze layers, as in section 3. Then measure how much the network forgets, because otherwise you won't notice it.
#
# **Takeaway:** a network forgets a task when its batches no longer contain it, so rehearse the old task and measure it too.
# Read more: PyTorch's page on [data sets and loaders](https://docs.pytorch.org/docs/stable/data.html).

# %% [markdown] tags=["exercise"]
# ### Exercise 03.13: a rehearsal of each
#
# Write `with_rehearsal(new, old, per_class)`. Both `new` and `old` are pairs `(images, labels)`, and the function returns a pair of the same kind. It contains everything in `new`, and the first `per_class` images *of each class* in `old`.

# %% tags=["exercise"]
def with_rehearsal(new, old, per_class):
    return ...

check("03.13", with_rehearsal)
