# %% [markdown] tags=["section"]
# ## 3. Frozen layers and the graph
#
# A hundred images are not many for training 78,010 numbers, so you may want to train only some of the layers. To do this, you freeze the other layers by setting `requires_grad` of their parameters to False. A **frozen** layer still takes part in the computation, but it isn't trained. Let's freeze `layer2`, which is in the middle of the network.

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
# Now play the part of the backward pass yourself. The network below has three layers with one number each. This time the first layer, `a`, and the last layer, `c`, are frozen, and only `b` is trained. You decide which node runs next, which gradient it sends, and which gradient is stored in the end.

# %% tags=["practice"]
x = torch.tensor(2.0)
a, b, c = (torch.tensor(number, requires_grad=True) for number in (3.0, 4.0, 5.0))
a.requires_grad_(False)
c.requires_grad_(False)
first = a * x
second = b * first
y = c * second
autolab.practice(y)

# %% [markdown]
# A frozen layer computes no gradient for its own weights, but it still computes the gradient of its input and passes it on, as `c` did. The gradient stops only where *everything before it* is frozen too, because then no layer needs it any more. That is why the backward pass ended at `b`. So if you want to save work, start freezing at the first layer.
#
# In the next picture everything is frozen except the head. In the graph below the panel, a dashed grey box has not been computed *yet*, and it is filled in as you step. A box with a dotted blue edge is *never* visited by the backward pass. Read what the panel says, turn on the switch of `layer2`, and press "Run forward again". Now the backward pass also visits the layers from `layer2` onwards.

# %% tags=["picture"]
model = hand.network().requires_grad_(False)
model.fc.requires_grad_(True)
panel = FreezePanel(model, forward=lambda: F.cross_entropy(model(one_each), one_labels))
display(panel, panel.explorer)

# %% [markdown] tags=["explain"]
# **Why.** `requires_grad` spreads forward: a result requires a gradient as soon as one of its inputs requires a gradient. If only the head is trained, the first result that requires a gradient is computed in the head. So the layers before the head record no nodes, save no tensors, and need no backward pass. That is why training only the head is cheap.
#
# Four calls are often confused: `requires_grad = False`, `eval()`, `no_grad()` and `detach()`. You already know what the first call does. Let's apply each of them to `b`, the second of three `Linear` layers, and see which layers get a gradient.

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
# **Read the table.** `requires_grad = False` only affects the weights of the layer itself. `no_grad()` and `detach()` cut the path, so the layers before the cut get no gradient. `eval()` doesn't change any of this, because it has nothing to do with gradients. The next section shows why you still need it.
#
# **Takeaway:** freezing saves work only if you begin with the first layer, because a frozen layer in the middle still passes gradients on.
# Read more: PyTorch's page on [`requires_grad`, `no_grad()` and `eval()`](https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation).

# %% [markdown] tags=["exercise"]
# ### Exercise 03.3: who gets a gradient
#
# We have three `Linear` layers again, with `y = c(b(a(x)))` unless the row says something else. For each row, name the layers that have a gradient after `y.sum().backward()`, for example `"a c"`, or write `"nobody"`. In the last row, `loss.backward()` is called instead. The table above gives the answers for some rows. The other rows are new, so for these you have to think about the path.

# %% tags=["exercise"]
learns = {
    "a.requires_grad_(False)": ...,
    "y = c(a(x))": ...,
    "b.eval()": ...,
    "h = b(a(x)).detach(); y = c(h)": ...,
    "with no_grad(): h = a(x)": ...,
    "all frozen, loss.requires_grad = True": ...,
}

check("03.3", learns)

# %% tags=["words"]
in_words("03.w2")
