# %% [markdown] tags=["section"]
# ## 1. What a pretrained network knows
#
# The network is `resnet_digits`, a small relative of ResNet-18. It was trained on some 700 images of the handwritten digits 0, 1, 2, 3, 4. It has never seen
# any other digit. Your task: tell 5, 6, 7, 8, 9 apart, with ten images of each. First see what it makes of them.

# %% tags=["predict"]
q1 = predict("03.q1")
q1

# %% tags=["code"]
from autolab.vision.models import ResNetDigits_Weights, resnet_digits

weights = ResNetDigits_Weights.DEFAULT
pretrained = resnet_digits(weights=weights).eval()
print("parameters:", weights.meta["num_params"], " knows:", weights.meta["categories"])

task = finetune.unseen_digits(per_class=10, seed=0)      # the digits 5 to 9, turned and shifted; class 0 is the digit 5
images, labels = task.test.tensors
print("training:", len(task.train), " validation:", len(task.validation), " test:", len(task.test))

with torch.no_grad():
    scores = pretrained(images)
sevens = scores[labels == 2].argmax(1)
print("the 7s are taken for", sorted({weights.meta["categories"][i] for i in sevens.tolist()}))
print(f"mean probability of the answer: {100 * scores.softmax(1).max(1).values.mean().item():.0f} %")

# %% tags=["reveal"]
q1.reveal()

# %% tags=["picture"]
shown = torch.vision.utils.make_grid(task.train.tensors[0], nrow=10, padding=1, pad_value=0.5)
plt.figure(figsize=(8, 4.2))
plt.imshow(shown[0], cmap="gray_r")
plt.title("All the images you have: ten of each digit")
plt.axis("off")
plt.show()

# %% [markdown] tags=["explain"]
# **Why.** The last layer has five outputs, and softmax makes five probabilities of them that add up to 1. "None of these" is not among the answers. A high
# probability says only that one output is larger than the other four.
#
# So its answers are of no use for your task. But the answers are made from something: the layers before. Their first filters look for edges and strokes, and
# those are in every digit. Compare them with the filters of a network that was never trained.

# %% tags=["picture"]
torch.manual_seed(0)
untrained = resnet_digits(num_classes=5).eval()
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
autolab.viz.plot_filters(pretrained.conv1, ax=left, title="conv1, pretrained")
autolab.viz.plot_filters(untrained.conv1, ax=right, title="conv1, random")
plt.show()

# %% [markdown]
# What goes into the last layer is called the **features** of an image: here 64 numbers. Nobody can look at 64 dimensions. So you turn the cloud of features until
# two directions show as much of it as possible, and look from there. This is **PCA**, and it is six lines: subtract the mean, and take those eigenvectors of the covariance
# that have the largest eigenvalues.

# %% tags=["predict"]
q2 = predict("03.q2")
q2

# %% tags=["code"]
def features_of(model, images):
    head, model.fc = model.fc, nn.Identity()     # Identity passes on what it gets
    with torch.no_grad():
        features = model(images)
    model.fc = head
    return features

def two_strongest(features):
    centred = features - features.mean(0)
    values, vectors = torch.linalg.eigh(centred.T @ centred / (len(centred) - 1))    # from small to large
    print(f"two directions hold {100 * (values[-2:].sum() / values.sum()).item():.0f} % of the variance", end="; ")
    return centred @ vectors[:, -2:].flip(1)

planes = {}
for name, model in {"pretrained": pretrained, "random": untrained}.items():
    plane = planes[name] = two_strongest(features_of(model, images))
    centres = torch.stack([plane[labels == k].mean(0) for k in range(5)])
    nearest = ((plane[:, None] - centres) ** 2).sum(2).argmin(1)
    print(f"{name}: {100 * (nearest == labels).float().mean().item():.0f} % lie nearest to the centre of their own digit")

# %% tags=["picture"]
colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000"]
figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
for ax, (name, plane) in zip(axes, planes.items()):
    for k, colour in enumerate(colours):
        x, y = plane[labels == k].T
        ax.scatter(x, y, marker=f"${k + 5}$", color=colour, s=60, label=f"digit {k + 5}")
    ax.set(title=f"Features of unseen digits, {name} network", xlabel="strongest direction", ylabel="second direction")
axes[0].legend()
plt.show()

# %% tags=["reveal"]
q2.reveal()

# %% [markdown] tags=["explain"]
# **Why.** Nobody told the network that there is such a thing as a 6. Still the 6s lie together: they have strokes and bends in common, and the network learned to
# measure strokes and bends. With random weights the digits lie mixed: chance would be 20 %. The picture also shows the limits. The clumps overlap, and a straight
# line cannot part them all. Keep that in mind for section 9.
#
# In symbols: with the centred features $X$ of $n$ images, the covariance is $X^\top X/(n-1)$. Its eigenvectors are the directions, its eigenvalues the variance along them.

# %% [markdown] tags=["exercise"]
# ### Exercise 03.1: the strongest directions
#
# Write `strongest(features, k)`: the coordinates of each row along the `k` strongest directions, the strongest first. Shape `(n, k)`.

# %% tags=["exercise"]
def strongest(features, k):
    return ...

check("03.1", strongest)

# %% [markdown] tags=["keep"]
# **Take along:** the answers of a pretrained network are for its old task, its features are for many.
# PyTorch's [tutorial on transfer learning](https://docs.pytorch.org/tutorials/beginner/transfer_learning_tutorial.html), and
# [`torch.linalg.eigh`](https://docs.pytorch.org/docs/stable/generated/torch.linalg.eigh.html).
