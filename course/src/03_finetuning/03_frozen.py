# %% [markdown] tags=["section"]
# ## 3. Frozen layers, and what the graph then looks like
#
# To **freeze** a layer is to set `requires_grad` of its parameters to False. You met that in lesson 1. Now freeze `layer2`, in the middle of the network.

# %% tags=["predict"]
q4 = predict("03.q4")
q4

# %% tags=["code"]
x, y = task.train.tensors
few_x, few_y = x[::10], y[::10]                    # one image of each digit

torch.manual_seed(0)
model = with_new_head()
model.layer2.requires_grad_(False)
F.cross_entropy(model(few_x), few_y).backward()
got = [name for name, layer in model.named_children() if any(p.grad is not None for p in layer.parameters())]
print("have a gradient:", got)

# %% tags=["reveal"]
q4.reveal(got)

# %% [markdown]
# Freezing a layer does not stop gradients on their way to earlier layers. `layer2` computes no gradient for its own weights, but it hands on the gradient of its input.
# Only when *everything before it* is frozen too is there nobody left to hand it to. So freeze from the front.

# %% tags=["predict"]
q5 = predict("03.q5")
q5

# %% [markdown]
# The **freeze panel** has a switch for each layer. It also says how much memory freezing saves, where backward ends, and which traps are open. Here everything is frozen
# but the head.

# %% tags=["code"]
torch.manual_seed(0)
model = with_new_head()
for parameter in model.parameters():
    parameter.requires_grad = False
for parameter in model.fc.parameters():
    parameter.requires_grad = True

panel = FreezePanel(model, forward=lambda: F.cross_entropy(model(few_x), few_y))
reach = panel.report["reach"]
print("\n".join(reach.sentences()))

# %% tags=["reveal"]
q5.reveal(reach.visited)

# %% tags=["picture"]
panel

# %% [markdown]
# And the graph. What backward never visits is dimmed: dashed boxes, without saved tensors. In the panel above, set the switch of `layer2` and press "Run forward again": the graph wakes up from there
# on.

# %% tags=["picture"]
panel.explorer

# %% [markdown] tags=["explain"]
# **Why.** `requires_grad` spreads forward: a result wants a gradient when one of its inputs does. The image wants none and the first layers want none, so nothing is recorded
# until the first trained weight joins in. With a trained head that is the very last product. No nodes, no saved tensors, no backward: that is why training a head is cheap.
#
# Four things are often taken for one another. Three `Linear` layers, `y = c(b(a(x)))`, show what each does to `b`:

# %% tags=["code"]
def who_gets_a_gradient(way):
    torch.manual_seed(0)
    a, b, c = (nn.Linear(2, 2) for _ in range(3))
    h = a(torch.ones(1, 2))
    if way == "requires_grad = False":
        b.requires_grad_(False)
    elif way == "eval()":
        b.eval()
    if way == "no_grad()":
        with torch.no_grad():
            h = b(h)
    else:
        h = b(h).detach() if way == "detach()" else b(h)
    c(h).sum().backward()
    return " ".join(name for name, layer in dict(a=a, b=b, c=c).items() if layer.weight.grad is not None)

for way in ("nothing", "requires_grad = False", "eval()", "no_grad()", "detach()"):
    print(f"{way:22} on b: gradients for", who_gets_a_gradient(way))

# %% [markdown] tags=["explain"]
# **Read the table.** `requires_grad = False` concerns one layer's own weights. `no_grad()` and `detach()` cut the path, so everything before goes without. `eval()` has nothing to do with
# gradients: it changes what dropout and batch normalisation compute. Section 5 shows why you need it as well.

# %% [markdown] tags=["exercise"]
# ### Exercise 03.3: who gets a gradient
#
# Again three `Linear` layers with `y = c(b(a(x)))`, unless the row says something else. Name the layers that have a gradient after `y.sum().backward()` (in the last row: after
# `loss.backward()`), as in `"a c"`, or `"nobody"`. The table above helps with some of them only.

# %% tags=["exercise"]
learns = {
    "b.requires_grad_(False)": ...,
    "a.requires_grad_(False)": ...,
    "b.eval()": ...,
    "h = b(a(x)).detach(); y = c(h)": ...,
    "with no_grad(): h = a(x)": ...,
    "all frozen, loss.requires_grad = True": ...,
}

check("03.3", learns)

# %% [markdown] tags=["keep"]
# **Take along:** freezing saves work only from the front; a frozen layer in the middle still passes gradients on.
# PyTorch on [`requires_grad`, no-grad mode and evaluation mode](https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation).
