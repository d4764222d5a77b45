# %% [markdown] tags=["section"]
# ## 6. Frozen weights that still move
#
# One weight, trained for three steps, then frozen. The loop goes on with `optimizer.step()`, because other weights are still trained. Two things can differ: what the loop leaves in `.grad`, and
# what the optimizer does besides following the gradient.

# %% tags=["predict"]
q10 = predict("03.q10")
q10

# %% tags=["code"]
def three_steps_then_frozen(grad, **settings):
    w = torch.tensor([1.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1, **settings)
    path = [w.item()]
    for step in range(8):
        if step == 3:
            w.requires_grad_(False)                                   # from here on w is frozen
        optimizer.zero_grad(set_to_none=(grad == "None"))
        if w.requires_grad:
            (w ** 2).sum().backward()
        optimizer.step()
        path.append(w.item())
    return path

paths = {
    f"{name}, grad {grad}": three_steps_then_frozen(grad, **settings)
    for name, settings in {"plain": {}, "momentum": {"momentum": 0.9}, "weight decay": {"weight_decay": 0.5}}.items()
    for grad in ("zero", "None")
}
for name, path in paths.items():
    print(f"{name:24} when frozen {path[3]:7.4f}   five steps later {path[-1]:7.4f}")

# %% tags=["reveal"]
q10.reveal(paths)

# %% tags=["picture"]
figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
styles = {"momentum, grad zero": ("#D55E00", "-"), "momentum, grad None": ("#D55E00", "--"),
          "weight decay, grad zero": ("#0072B2", "-"), "weight decay, grad None": ("#0072B2", "--")}
for name, (colour, style) in styles.items():
    ax.plot(paths[name], color=colour, linestyle=style, marker=".", label=name)
ax.axvline(3, color="#56B4E9", linestyle="-.", label="frozen from here")
ax.set(xlabel="step", ylabel="w")
ax.legend()
plt.show()

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
w.requires_grad_(False)            # frozen, and the gradient of before is still in .grad
for step in range(3):
    optimizer.step()
    print(w)

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
# **Take along:** frozen means `requires_grad` False *and* `.grad` None.
# PyTorch on [`zero_grad`](https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html).
