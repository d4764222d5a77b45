# %% [markdown] tags=["section"]
# ## 4. Batch normalisation and its two modes
#
# Each convolution in the network is followed by a **batch normalisation**. This layer shifts and scales each channel, so that its numbers have mean 0 and standard deviation 1. In **training mode** it uses the mean and the variance *of the current batch*. It also keeps running averages of the mean and the variance, which are called its **running statistics**. In **evaluation mode** it uses these averages instead of the batch.
#
# The weight and the bias of this layer are parameters. The running statistics, however, are **buffers**, that is, tensors that belong to a module but aren't trained.
#
# Now let's freeze every parameter and put the network into training mode. We run thirty batches of the *new* digits through it, under `no_grad()` and without an optimizer. After each batch we measure the loss on the *old* digits, in evaluation mode.

# %% tags=["predict"]
q6 = predict("03.q6")
q6

# %% tags=["code"]
def loss_on_old(model):
    with torch.no_grad():
        return F.cross_entropy(model.eval()(others[old]), other_labels[old]).item()

new_digits = few[few_labels >= 5]
losses = {}
for mode in ("train", "eval"):
    model = hand.network().requires_grad_(False)
    weights_before = [p.clone() for p in model.parameters()]
    losses[mode] = [loss_on_old(model)]
    for batch in range(30):
        model.train(mode == "train")
        with torch.no_grad():
            model(new_digits)
        losses[mode].append(loss_on_old(model))
    changed = sum((p != q).sum().item()
                  for p, q in zip(model.parameters(), weights_before))
    print(f"{mode:5}: {changed} weights changed; loss on 0 to 4:",
          f"{losses[mode][0]:.2f} before, {losses[mode][-1]:.2f} after")
moving = losses["train"]

# %% tags=["reveal"]
q6.reveal(moving)

# %% tags=["picture"]
words = {"train": "all frozen, train mode", "eval": "all frozen, eval mode"}
plots.curves(range(31), {words[mode]: found for mode, found in losses.items()},
             xlabel="batches of new digits that ran through",
             ylabel="loss on the old digits 0 to 4")
plt.show()

# %% tags=["picture"]
model.train()
FreezePanel(model)      # change the modes until no warning is left

# %% [markdown] tags=["explain", "keep"]
# **Why.** After each batch in training mode, the layer updates its average: $\text{running mean} \leftarrow 0.9 \cdot \text{running mean} + 0.1 \cdot \text{mean of the batch}$. It does the same for the variance. After thirty batches, only $0.9^{30} \approx 4\,\%$ of the old averages are left. The forward pass makes this change, so it needs no gradient. That is why the statistics changed although the weights were frozen.
#
# There is one more trap, because `model.train()` changes the mode of *every* module. Many training loops call `model.train()` at the start of each epoch, and this call undoes your `eval()`. The panel warns you when this happens.
#
# **Takeaway:** freeze the weights with `requires_grad` and the statistics with `eval()`, and repeat `eval()` after every `model.train()`.
# Read more: PyTorch's page on [`BatchNorm2d`](https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm2d.html).

# %% [markdown] tags=["exercise"]
# ### Exercise 03.5: train mode, except for what is frozen
#
# Write `train_mode(model)`, which a training loop can call at the start of every epoch instead of `model.train()`. It puts the network into training mode, except for each batch normalisation whose weight is frozen, which it puts into evaluation mode. The checker's networks work on rows of numbers instead of images, so they use `torch.nn.BatchNorm1d`. The function doesn't have to return anything.

# %% tags=["exercise"]
def train_mode(model):
    return ...

check("03.5", train_mode)

# %% tags=["words"]
in_words("03.w3")
