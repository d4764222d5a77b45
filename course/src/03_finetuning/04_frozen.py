# %% [markdown] tags=["section"]
# ## 3. Frozen layers, and what the graph then looks like
#
# A hundred images are few for 78,010 numbers. You may freeze a layer: with `requires_grad` of its parameters set to False it is **frozen**, it takes
# part and does not learn. Freeze `layer2`, in the middle.

# %% tags=["predict"]
q4 = predict("03.q4")
q4

# %% tags=["code"]
one_each, one_labels = few[::10], few_labels[::10]
model = hand.network()
model.layer2.requires_grad_(False)
F.cross_entropy(model(one_each), one_labels).backward()
got = [
    name
    for name, layer in model.named_children()
    if any(p.grad is not None for p in layer.parameters())
]
print("have a gradient:", got)

# %% tags=["reveal"]
q4.reveal(got)

# %% [markdown]
# Now be that layer. Three layers of one number each, and `b`, in the middle, is frozen. You decide who runs, what is sent, and what is left.

# %% tags=["practice"]
x = torch.tensor(2.0)
a, b, c = (torch.tensor(number, requires_grad=True) for number in (3.0, 4.0, 5.0))
b.requires_grad_(False)
first = a * x
second = b * first
y = c * second
autolab.practice(y)

# %% [markdown]
# A frozen layer computes no gradient for its own weights, but it hands on the gradient of its input. Only when *everything before it* is
# frozen too is there nobody left to hand it to. So freeze from the front. Here all is frozen but the head. Read what the panel says; then set the
# switch of `layer2`, and press "Run forward again".
#
# Below it is the graph. Dashed grey boxes are not computed *yet*: step on, and they fill. Boxes with a dotted blue edge and pale words are those that
# backward *never* visits. From the layer on that you switched, it wakes up.

# %% tags=["picture"]
model = hand.network().requires_grad_(False)
model.fc.requires_grad_(True)
panel = FreezePanel(model, forward=lambda: F.cross_entropy(model(one_each), one_labels))
panel

# %% tags=["picture"]
panel.explorer

# %% [markdown] tags=["explain"]
# **Why.** `requires_grad` spreads forward: a result wants a gradient when one of its inputs does. With a trained head that is the very last
# product. No nodes before it, no saved tensors, no backward: that is why training a head is cheap.
#
# Four things are often taken for one another: `requires_grad = False`, `eval()`, `no_grad()` and `detach()`. Each is done to `b`, the
# second of three `Linear` layers.

# %% tags=["predict"]
q25 = predict("03.q25")
q25

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
    layers = dict(a=a, b=b, c=c).items()
    return " ".join(name for name, layer in layers if layer.weight.grad is not None)

goes_through = []
for way in ("nothing", "requires_grad = False", "eval()", "no_grad()", "detach()"):
    found = who_gets_a_gradient(way)
    print(f"{way:22} on b: gradients for", found)
    if "a" in found:
        goes_through.append(way)

# %% tags=["reveal"]
q25.reveal(goes_through)

# %% [markdown] tags=["explain", "keep"]
# **Read the table.** `requires_grad = False` concerns one layer's own weights. `no_grad()` and `detach()` cut the path, so everything before
# goes without. `eval()` has nothing to do with gradients. Why you need it as well is the next section.
#
# **Takeaway:** freezing saves work only from the front; a frozen layer in the middle still passes gradients on.
# PyTorch on [`requires_grad`, `no_grad()` and `eval()`](https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation).

# %% [markdown] tags=["exercise"]
# ### Exercise 03.3: who gets a gradient
#
# Again three `Linear` layers with `y = c(b(a(x)))`, unless the row says something else. Name the layers that have a gradient after
# `y.sum().backward()` (in the last row: after `loss.backward()`), as in `"a c"`, or `"nobody"`. The table above helps with some of
# them only.

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

# %% tags=["words"]
in_words("03.w2")
