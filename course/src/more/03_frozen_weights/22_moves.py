# %% [markdown] tags=["section"]
# ## 1. A race of optimizers
#
# Optimizers differ in what they do besides following the gradient. With **momentum** 0.9 a step is the gradient times the rate, plus 0.9 of the
# step before. **Weight decay** 0.5 adds half of the weight itself to its gradient, so it is pulled towards zero. Adam rolls too, and divides the step of each weight by the size that
# its gradient has had lately, so it gets five times the rate here. Let them race in the valley of lesson 1: step, and watch which one overshoots. Which one is still fast where the slope is zero? Then click another start, or change the rate.

# %% tags=["picture"]
w, b = torch.tensor(4.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)
optimizers = {
    "SGD": lambda numbers, lr: torch.optim.SGD(numbers, lr),
    "momentum": lambda numbers, lr: torch.optim.SGD(numbers, lr, momentum=0.9),
    "Adam": lambda numbers, lr: torch.optim.Adam(numbers, 5 * lr),
}
LossLandscape(lambda: (w - 1) ** 2 + 8 * b ** 2, {"w": w, "b": b},
              optimizers=optimizers, lr=0.02, steps=30)

# %% [markdown]
# Now one weight, trained for three steps, then frozen. The loop goes on with `optimizer.step()`, because other weights are still trained. Two things can differ: what the loop leaves in `.grad`, and
# what the optimizer does besides following the gradient.

# %% tags=["predict"]
q13 = predict("03.q13")
q13

# %% tags=["code"]
def three_steps_then_frozen(grad, **settings):
    w = torch.tensor([1.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1, **settings)
    path = [w.item()]
    for step in range(8):
        if step == 3:
            w.requires_grad_(False)               # from here on w is frozen
        optimizer.zero_grad(set_to_none=(grad == "None"))
        if w.requires_grad:
            (w ** 2).sum().backward()
        optimizer.step()
        path.append(w.item())
    return path

settings_of = {
    "plain": {},
    "momentum": {"momentum": 0.9},
    "weight decay": {"weight_decay": 0.5},
}
paths = {
    f"{name}, grad {grad}": three_steps_then_frozen(grad, **settings)
    for name, settings in settings_of.items()
    for grad in ("zero", "None")
}
for name, path in paths.items():
    print(f"{name:24} when frozen {path[3]:7.4f}",
          f"  five steps later {path[-1]:7.4f}")

# %% tags=["reveal"]
q13.reveal(paths)

# %% tags=["picture"]
shown = {name: path for name, path in paths.items() if not name.startswith("plain")}
plots.curves(range(9), shown, xlabel="step", ylabel="w", mark={"frozen from here": 3})
plt.show()

# %% [markdown]
# Step through the moment itself: `.grad` is set to zero, and `step()` moves `w` all the same.

# %% tags=["picture"]
w = torch.tensor([1.0], requires_grad=True)
rolling = torch.optim.SGD([w], lr=0.1, momentum=0.9)
(w ** 2).sum().backward()
rolling.step()
with autolab.record() as still_moving:
    w.grad.zero_()
    rolling.step()
autolab.explore(still_moving)

# %% [markdown]
# Who believes that a gradient of zero moves nothing, builds this engine. Find a training that gives it away, and name it.

# %% tags=["catch"]
game = autolab.specimens.catch(seed=0, level=3)

def mine():
    w = torch.tensor([1.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    for step in range(2):
        (w ** 2).sum().backward()
        optimizer.step()
        optimizer.zero_grad()           # change this loop until the two engines differ
    return w

game.try_(mine)

# %% [markdown] tags=["explain"]
# **Why.** An optimizer does not look at `requires_grad`. It asks one thing: is `.grad` None? If so, it passes over the parameter. A gradient of *zero* is a gradient: with momentum
# $v \leftarrow 0.9\,v + 0$ and $w \leftarrow w - 0.1\,v$, so $w$ rolls on. With weight decay the step is $w \leftarrow w - 0.1 \cdot (0 + 0.5\,w)$: each step takes away 5 %.
#
# `zero_grad()` has set gradients to None by default since PyTorch 2.0. Older code says `zero_grad(set_to_none=False)`, or `p.grad.zero_()`, and has this trap. A second one is in every version: freeze a
# layer between `backward()` and `step()`, or never clear again, and the last gradient is still there. It is stepped once more, or for ever.

# %% tags=["code"]
w = torch.tensor([1.0], requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
(w ** 2).sum().backward()
w.requires_grad_(False)            # frozen; the gradient of before is in .grad
for step in range(3):
    optimizer.step()
    print(w)

# %% [markdown]
# And the statistics of batch normalisation? Its formula calls the 0.1 of its running averages `momentum`. So somebody has an idea: `momentum = 0`,
# instead of evaluation mode.

# %% tags=["predict"]
q14 = predict("03.q14")
q14

# %% tags=["code"]
model = resnet_digits(weights="DEFAULT").requires_grad_(False).train()
for module in model.modules():
    if isinstance(module, nn.BatchNorm2d):
        module.momentum = 0.0

mean_before = model.bn1.running_mean.clone()
one, another = x[:10], x[[0, *range(30, 39)]]          # the same first image
with torch.no_grad():
    same = torch.allclose(model(one)[0], model(another)[0], atol=1e-3)
    print("statistics unchanged:", torch.equal(model.bn1.running_mean, mean_before))
    print("same image, same answer in two batches:", same)
    model.eval()
    same_in_eval = torch.allclose(model(one)[0], model(another)[0], atol=1e-3)
print("the same in eval mode:", same_in_eval)

# %% tags=["reveal"]
q14.reveal(same)

# %% [markdown] tags=["explain"]
# **Why.** `momentum = 0` stops the averages from moving. In training mode the layer still normalises by the batch, so the answer to one image
# depends on its neighbours. Evaluation mode changes both.

# %% [markdown] tags=["exercise"]
# ### Exercise 03.6: frozen for good
#
# `freeze_for_good(layer)` is called in the middle of a training. After that, no optimizer may move the layer, whatever its settings, and whether or not the loop clears gradients. Mend it. Nothing has to
# be returned.

# %% tags=["exercise"]
def freeze_for_good(layer):
    for parameter in layer.parameters():
        parameter.requires_grad_(False)

check("03.6", freeze_for_good)

# %% [markdown] tags=["keep"]
# **Takeaway:** frozen means `requires_grad` False *and* `.grad` None.
# PyTorch on [`zero_grad`](https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html).

# %% tags=["words"]
in_words("03.w5")
