# %% [markdown] tags=["section"]
# ## 1. A race of optimizers
#
# Optimizers differ in what they do besides following the gradient. With a **momentum** of 0.9, each step is the learning rate times the gradient, plus 0.9 of the step before. With a **weight decay** of 0.5, half of the weight is added to its gradient, so the weight is pulled towards zero. Adam has momentum too, and it divides the step of each weight by the recent size of its gradient. Because of this division, the same rate has a different meaning for Adam than for the other optimizers. The cell below tries several rates for each optimizer. It reports the rate with which the optimizer gets lowest in 30 steps.

# %% tags=["code"]
ways = {
    "SGD": lambda numbers, lr: torch.optim.SGD(numbers, lr),
    "momentum": lambda numbers, lr: torch.optim.SGD(numbers, lr, momentum=0.9),
    "Adam": lambda numbers, lr: torch.optim.Adam(numbers, lr),
}

def lowest(make, lr):
    w = torch.tensor(4.0, requires_grad=True)
    b = torch.tensor(1.0, requires_grad=True)
    optimizer = make([w, b], lr)
    for step in range(30):
        loss = (w - 1) ** 2 + 8 * b ** 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return ((w - 1) ** 2 + 8 * b ** 2).item()

for name, make in ways.items():
    found = {lr: lowest(make, lr) for lr in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)}
    best = min(found, key=found.get)
    print(f"{name:8} at 0.01: {found[0.01]:5.2f}, best rate {best}: {found[best]:.2f}")

# %% [markdown]
# With a rate of 0.01, Adam is by far the worst, but with 0.1 it does about as well as momentum. If each optimizer gets its best rate, plain SGD gets lower than the others in this valley. So a comparison at a single rate says little about optimizers. Now let the three optimizers race in the valley of lesson 1. Adam gets five times the rate of the other two, that is, 0.1. Step through the picture and watch which optimizer overshoots, and which optimizer is still fast where the slope is zero. Then click another starting point or change the rate.

# %% tags=["picture"]
w, b = torch.tensor(4.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)
optimizers = {**ways, "Adam": lambda numbers, lr: torch.optim.Adam(numbers, 5 * lr)}
LossLandscape(lambda: (w - 1) ** 2 + 8 * b ** 2, {"w": w, "b": b},
              optimizers=optimizers, lr=0.02, steps=30)

# %% [markdown]
# Now we take a single weight, train it for three steps, and then freeze it. The loop still calls `optimizer.step()`, as it would if other weights were trained. What happens then depends on two things: what the loop leaves in `.grad`, and what the optimizer does besides following the gradient.

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
# Let's step through the moment when `.grad` is set to zero, but `step()` changes `w` anyway.

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
# If you believed that a gradient of zero changes nothing, you would build the engine in the next cell. Find a training loop for which it differs from the correct engine, and name the rule with `game.name("…")`. Change one thing at a time, for example the settings of the optimizer, or the way the loop clears the gradient.

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
# **Why.** An optimizer doesn't look at `requires_grad`. Instead it checks whether `.grad` is None, and if so, it skips the parameter. But a gradient of *zero* is still a gradient. For example, with momentum the optimizer computes $v \leftarrow 0.9\,v + 0$ and $w \leftarrow w - 0.1\,v$, so $w$ continues to move. With weight decay the step is $w \leftarrow w - 0.1 \cdot (0 + 0.5\,w)$, so each step makes the weight 5 % smaller.
#
# Since PyTorch 2.0, `zero_grad()` sets gradients to None by default. Older code calls `zero_grad(set_to_none=False)` or `p.grad.zero_()` instead, and falls into this trap.
#
# There is a second trap, which exists in every version. If you freeze a layer between `backward()` and `step()`, the last gradient is still in `.grad`, so the optimizer uses it once more. If the loop never clears this gradient, the optimizer uses it in every step.

# %% tags=["code"]
w = torch.tensor([1.0], requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
(w ** 2).sum().backward()
w.requires_grad_(False)            # frozen; the gradient of before is in .grad
for step in range(3):
    optimizer.step()
    print(w)

# %% [markdown]
# What about the statistics of batch normalisation? The factor 0.1 in its running averages is also called `momentum`. So you may have the idea to set `momentum = 0` instead of using evaluation mode.

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
    moved = (model.bn1.running_mean - mean_before).abs().max().item()
    apart = (model(one)[0] - model(another)[0]).abs().max().item()
    model.eval()
    apart_in_eval = (model(one)[0] - model(another)[0]).abs().max().item()
print(f"the statistics changed by {moved:.1f}")
print(f"scores of one image in two batches: {apart:.1f} apart in training mode,",
      f"{apart_in_eval:.1f} in evaluation mode")
same = apart < 1e-3

# %% tags=["reveal"]
q14.reveal(same)

# %% [markdown] tags=["explain"]
# **Why.** With `momentum = 0` the averages no longer change. But in training mode the layer still normalises with the current batch, so the answer for an image depends on the other images in the batch. Evaluation mode solves both problems, because the layer then uses the averages and doesn't change them.

# %% [markdown] tags=["exercise"]
# ### Exercise 03.6: frozen for good
#
# A training loop calls `freeze_for_good(layer)` in the middle of the training. After that, an optimizer must not change the layer, whatever the settings of the optimizer are, and whether or not the loop clears the gradients. The version below doesn't achieve this, so fix it. The function doesn't have to return anything.

# %% tags=["exercise"]
def freeze_for_good(layer):
    for parameter in layer.parameters():
        parameter.requires_grad_(False)

check("03.6", freeze_for_good)

# %% [markdown] tags=["keep"]
# **Takeaway:** a weight is only frozen for good if `requires_grad` is False *and* `.grad` is None.
# Read more: PyTorch's page on [`zero_grad`](https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html).

# %% tags=["words"]
in_words("03.w5")
