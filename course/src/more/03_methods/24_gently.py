# %% [markdown] tags=["section"]
# ## 1. Between the head and everything
#
# Training the head alone leaves the body as it is. Training everything at full speed may destroy what it knows, before the new head has learned anything. In between there are three ways.
#
# **Discriminative rates**: the nearer to the input, the smaller the steps, because edges are edges in every task. An optimizer takes a rate for each **parameter group**:

# %% tags=["code"]
torch.manual_seed(0)
model = with_new_head()
stages = [[model.conv1, model.bn1], [model.layer1], [model.layer2],
          [model.layer3], [model.fc]]
groups = [
    {"params": [p for layer in stage for p in layer.parameters()],
     "lr": 0.2 * 0.5 ** (4 - depth)}
    for depth, stage in enumerate(stages)
]
optimizer = torch.optim.SGD(groups, lr=0.2, momentum=0.9)
for group in optimizer.param_groups:
    print(f"{sum(p.numel() for p in group['params']):6} numbers, lr {group['lr']:.4f}")

same = finetune.parameter_groups(model, lr=0.2, decay=0.5)              # the short form
agree = [g["lr"] for g in same] == [g["lr"] for g in groups]
print("finetune.parameter_groups says the same:", agree)

# %% [markdown]
# **Gradual unfreezing**: first the head alone, then one layer more every few epochs, from the head down. You know what it needs: exercise 03.7 is one step of it.
#
# **Adapter (LoRA)**: leave the weight $W$ frozen, and add to it the product of two thin matrices that are trained: $W + \frac{\alpha}{r} B A$. With rank $r$, $A$ has $r$ rows
# and $B$ has $r$ columns. For a convolution, $A$ is a convolution to $r$ channels and $B$ a 1x1 convolution to the channels wanted.

# %% tags=["predict"]
q16 = predict("03.q16")
q16

# %% tags=["code"]
class Adapter(nn.Module):
    def __init__(self, base, r, alpha):
        super().__init__()
        self.base = base.requires_grad_(False)
        inputs = base.in_features
        self.A = nn.Parameter(torch.randn(r, inputs) / inputs ** 0.5)
        self.B = nn.Parameter(torch.zeros(base.out_features, r))
        self.scale = alpha / r

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.A.T @ self.B.T)

torch.manual_seed(0)
layer = nn.Linear(3, 2)
adapter, inputs = Adapter(layer, r=1, alpha=2), torch.randn(4, 3)
print("same answers at the start:", torch.equal(adapter(inputs), layer(inputs)))

model = with_new_head()
convolution = model.layer3[0].conv2
finetune.add_lora(model, "layer3.0.conv2", r=8)
adapted = model.layer3[0].conv2
weight = convolution.weight
print("weight:", tuple(weight.shape), weight.numel(), "numbers, frozen")
print("A:", tuple(adapted.lora_A.shape), " B:", tuple(adapted.lora_B.shape))
trained = adapted.lora_A.numel() + adapted.lora_B.numel()
print("trained:", trained)

# %% tags=["reveal"]
q16.reveal(trained)

# %% [markdown]
# The graph of the small adapter. The weight of the base is data here. In the backward half, look at what arrives at `A`: zeros, at the first step. `B` gets a gradient at once, and once `B` has moved `A` does too.

# %% tags=["picture"]
loss = adapter(inputs).pow(2).mean()
autolab.explore(loss, params=dict(adapter.named_parameters()))

# %% [markdown] tags=["explain"]
# **Why.** $B$ starts at zero, so $BA = 0$, and the network starts as it was: training begins at what it knows. If $A$ were zero as well, both gradients would be zero for ever: the gradient of $A$ has the factor $B$, and that of $B$ the factor
# $A$.
#
# In numbers: $8 \cdot 64 \cdot 3 \cdot 3 + 64 \cdot 8 = 5120$ trained numbers instead of $64 \cdot 64 \cdot 3 \cdot 3 = 36864$. Fewer numbers to fit with few examples, and less to store: one body, and a small file for each task. After training,
# the product is added to the weight once, and the adapter costs nothing any more. `finetune.merge_lora` does that.

# %% [markdown] tags=["exercise"]
# ### Exercise 03.8: merge an adapter
#
# Write `merge(weight, A, B, alpha)`. The layer computes `x @ weight.T + alpha / r * (x @ A.T @ B.T)`, where `r` is the number of rows of `A`. Return the one weight that does the same in a plain `Linear`. Leave the frozen weight as it is.

# %% tags=["exercise"]
def merge(weight, A, B, alpha):
    return ...

check("03.8", merge)

# %% [markdown] tags=["keep"]
# **Takeaway:** between "head only" and "everything" there are smaller rates, later starts, and thin additions.
# PyTorch on [parameter groups](https://docs.pytorch.org/docs/stable/optim.html#per-parameter-options). Sources: [discriminative rates and gradual unfreezing](https://arxiv.org/abs/1801.06146),
# [LoRA](https://arxiv.org/abs/2106.09685).
