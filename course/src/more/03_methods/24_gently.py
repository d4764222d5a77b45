# %% [markdown] tags=["section"]
# ## 1. Between the head and everything
#
# If you train only the head, the body stays as it is. If you train everything at full speed, you may destroy what the body knows before the new head has learned anything. Between these two extremes there are three well-known methods.
#
# With **discriminative rates**, layers nearer to the input take smaller steps, because they detect edges, which are useful for every task. An optimizer accepts a separate rate for each **parameter group**:

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
print("finetune.parameter_groups:", *(f"{group['lr']:.4f}" for group in same))

# %% [markdown]
# With **gradual unfreezing**, you train the head alone at first, and then unfreeze one more layer every few epochs, from the head down. In exercise 03.7 you write one step of this method.
#
# An **adapter (LoRA)** leaves the weight $W$ frozen and adds the product of two thin matrices, which are trained: $W + \frac{\alpha}{r} B A$. If the rank is $r$, then $A$ has $r$ rows and $B$ has $r$ columns. For a convolution, $A$ is a convolution to $r$ channels, and $B$ is a 1x1 convolution from these $r$ channels to the output channels.

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
apart = (adapter(inputs) - layer(inputs)).abs().max().item()
print("largest difference of the answers at the start:", apart)

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
# The next picture shows the graph of the small adapter. The original weight is frozen, so the graph shows it as data. In the backward pass, look at the gradient that arrives at `A`, which is zero in the first step. `B` gets a nonzero gradient at once, and as soon as `B` has changed, `A` gets a nonzero gradient too.

# %% tags=["picture"]
loss = adapter(inputs).pow(2).mean()
autolab.explore(loss, params=dict(adapter.named_parameters()))

# %% [markdown] tags=["explain"]
# **Why.** $B$ starts at zero, so $BA = 0$ and the network gives the same answers as before. The training therefore begins with what the network knows. If $A$ started at zero as well, both gradients would stay zero forever, because the gradient of $A$ has the factor $B$, and the gradient of $B$ has the factor $A$.
#
# The adapter trains $8 \cdot 64 \cdot 3 \cdot 3 + 64 \cdot 8 = 5120$ numbers instead of $64 \cdot 64 \cdot 3 \cdot 3 = 36864$. So your few examples have to determine fewer parameters. There is also less to store: all tasks share one body, and each task needs only a small file. After the training, you can add the product to the weight, and then the adapter costs no extra time. In this kit, `finetune.merge_lora` does this for you.

# %% [markdown] tags=["exercise"]
# ### Exercise 03.8: merge an adapter
#
# The layer computes `x @ weight.T + alpha / r * (x @ A.T @ B.T)`, where `r` is the number of rows of `A`. Write `merge(weight, A, B, alpha)`, which returns a single weight. With this weight, a plain `Linear` layer should give the same results. Don't change the frozen weight itself.

# %% tags=["exercise"]
def merge(weight, A, B, alpha):
    return ...

check("03.8", merge)

# %% [markdown] tags=["keep"]
# **Takeaway:** between "head only" and "everything" you can use smaller rates, unfreeze layers later, or add thin matrices.
# Read more: PyTorch's page on [parameter groups](https://docs.pytorch.org/docs/stable/optim.html#per-parameter-options). Sources: [discriminative rates and gradual unfreezing](https://arxiv.org/abs/1801.06146),
# [LoRA](https://arxiv.org/abs/2106.09685).
