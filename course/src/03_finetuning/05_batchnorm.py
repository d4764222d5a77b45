# %% [markdown] tags=["section"]
# ## 5. Batch normalisation: frozen and moving
#
# A `BatchNorm2d` layer shifts and scales each channel. In training mode it uses mean and variance *of the batch*. Besides, it keeps running averages of both, for evaluation mode. Its weight and
# bias are parameters. The running averages are not: they are **buffers**. No gradient changes them. The forward pass does.
#
# Take the pretrained network, old head and all. Freeze every parameter, and put it into training mode. Run thirty batches of the *new* digits through it, under `no_grad()`, without any
# optimizer.

# %% tags=["predict"]
q8 = predict("03.q8")
q8

# %% tags=["code"]
old = finetune.unseen_digits(classes=(0, 1, 2, 3, 4)).test.tensors       # the digits it was trained on

def old_task(model):
    with torch.no_grad():
        return F.cross_entropy(model.eval()(old[0]), old[1]).item()

curves = {}
for mode in ("train", "eval"):
    model = resnet_digits(weights="DEFAULT").requires_grad_(False)
    weights_before = [p.clone() for p in model.parameters()]
    curves[mode] = [old_task(model)]
    for batch in range(30):
        model.train(mode == "train")
        with torch.no_grad():
            model(x)
        curves[mode].append(old_task(model))
    same = all(torch.equal(p, q) for p, q in zip(model.parameters(), weights_before))
    print(f"{mode}: weights unchanged {same}; loss on 0 to 4: {curves[mode][0]:.2f} before, {curves[mode][-1]:.2f} after")

# %% tags=["reveal"]
q8.reveal(curves["train"])

# %% tags=["picture"]
figure, ax = plt.subplots(layout="constrained")
ax.plot(curves["train"], color="#D55E00", label="all frozen, train mode")
ax.plot(curves["eval"], color="#0072B2", linestyle="--", label="all frozen, eval mode")
ax.set(xlabel="batches of new digits that ran through", ylabel="loss on the old digits 0 to 4", ylim=(0, None))
ax.legend()
plt.show()

# %% [markdown] tags=["explain"]
# **Why.** After each batch in training mode: $\text{running mean} \leftarrow 0.9 \cdot \text{running mean} + 0.1 \cdot \text{mean of the batch}$, and the same for the variance. The new digits have other means. After
# thirty batches only $0.9^{30} \approx 4\,\%$ of the old averages are left. Frozen weights are not frozen statistics.
#
# PyTorch's 0.1 in this formula is called `momentum`. So somebody has an idea: `momentum = 0`.

# %% tags=["predict"]
q9 = predict("03.q9")
q9

# %% tags=["code"]
model = resnet_digits(weights="DEFAULT").requires_grad_(False).train()
for module in model.modules():
    if isinstance(module, nn.BatchNorm2d):
        module.momentum = 0.0

mean_before = model.bn1.running_mean.clone()
with torch.no_grad():
    in_one_batch, in_another = model(x[:10])[0], model(x[[0, *range(30, 39)]])[0]
print("statistics unchanged:", torch.equal(model.bn1.running_mean, mean_before))
same = torch.allclose(in_one_batch, in_another, atol=1e-3)
print("same image, same answer in two batches:", same)
model.eval()
with torch.no_grad():
    print("the same in eval mode:", torch.allclose(model(x[:10])[0], model(x[[0, *range(30, 39)]])[0], atol=1e-3))

# %% tags=["reveal"]
q9.reveal(same)

# %% [markdown] tags=["explain"]
# **Why.** `momentum = 0` stops the averages from moving. In training mode the layer still normalises by the batch, so the answer to one image depends on its neighbours. Evaluation mode changes
# both. For a layer with frozen weights, `eval()` is what you want.
#
# There is one more trap: `model.train()` sets *every* module. Many training loops call it at the start of each epoch, and undo your `eval()`. The panel warns of it:

# %% tags=["picture"]
model.train()
FreezePanel(model)

# %% [markdown] tags=["exercise"]
# ### Exercise 03.5: train mode, except for what is frozen
#
# Write `train_mode(model)`. It puts the network into training mode, but each `torch.nn.BatchNorm1d` whose weight is frozen into evaluation mode. It is to be called at the start of every epoch,
# instead of `model.train()`. Nothing has to be returned.

# %% tags=["exercise"]
def train_mode(model):
    return ...

check("03.5", train_mode)

# %% [markdown] tags=["keep"]
# **Take along:** freeze the weights with `requires_grad`, and the statistics with `eval()`, after every `model.train()`.
# PyTorch on [`BatchNorm2d`](https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm2d.html).
