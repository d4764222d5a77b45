# %% [markdown] tags=["section"]
# ## 5. Five new digits, and the old ones
#
# Going on with the training of a pretrained network is called **fine-tuning**. Teach it the five new digits: ten images of each, nothing frozen, twenty epochs,
# which are rounds through them. The optimizer has **momentum**: like a rolling ball, each step also takes along 0.9 of the step before. The network reads 0 to
# 4 well. How many of those will it still read afterwards?

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
print("5 to 9: at least a third are read now:", learnt > 33)
print("0 to 4: more than a fifth are still read:", still_old > 20)

# %% tags=["reveal"]
q7.reveal(still_old)

# %% [markdown] tags=["explain"]
# **Why.** No image of a 3 was there to say that a 3 is still a 3. Every batch pushed the outputs of 0 to 4 down, for every image, and
# nothing pushed them up again. This is **catastrophic forgetting**. The loss on the new digits never told you.
#
# You still have ten images of each old digit. Mix them into the batches: that is **rehearsal**.

# %% tags=["predict"]
q8 = predict("03.q8")
q8

# %% tags=["code"]
rehearsed = fine_tune(few, few_labels)
old_again = share_right(rehearsed, old)
print("0 to 4: more than six of ten are read:", old_again > 60)
print("5 to 9: at least a third are read:", share_right(rehearsed, new) > 33)

# %% tags=["reveal"]
q8.reveal(old_again)

# %% tags=["picture"]
ways = {"0 to 4": hand.network(), "then 5 to 9": new_only, "or all ten": rehearsed}
plots.curves([*ways], {"0 to 4": [share_right(m, old) for m in ways.values()],
                       "5 to 9": [share_right(m, new) for m in ways.values()]},
             xlabel="trained on", ylabel="read right, %")
plt.show()

# %% [markdown] tags=["explain", "keep"]
# **Why.** Fifty old images hold most of what seven hundred taught, because they need not teach it again. They only have to object when a
# step would destroy it. Where old images are not to be had, people take smaller steps, or freeze (section 3), and measure what is lost. What
# you do not measure, you do not see.
#
# **Takeaway:** a network forgets what its batches no longer show; rehearse, and measure the old task too.
# PyTorch on [data sets and loaders](https://docs.pytorch.org/docs/stable/data.html).

# %% [markdown] tags=["exercise"]
# ### Exercise 03.13: a rehearsal of each
#
# Write `with_rehearsal(new, old, per_class)`. `new` and `old` are pairs `(images, labels)`. It returns such a pair: all of `new`, and of `old` the
# first `per_class` images *of each class*.

# %% tags=["exercise"]
def with_rehearsal(new, old, per_class):
    return ...

check("03.13", with_rehearsal)
