# %% [markdown] tags=["section"]
# ## 1. Filters and features
#
# The first filters look for edges and strokes. Compare them with the filters of a network that was never trained.

# %% tags=["picture"]
torch.manual_seed(0)
untrained = resnet_digits(num_classes=5).eval()
_, (left, right) = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
autolab.viz.plot_filters(pretrained.conv1, ax=left, title="conv1, pretrained")
autolab.viz.plot_filters(untrained.conv1, ax=right, title="conv1, random")
plt.show()

# %% [markdown]
# What goes into the head are 64 features. Nobody can look at 64 dimensions. So you turn the cloud of features until two directions show as
# much of it as possible, and look from there. This is **PCA**: subtract the mean, and take those eigenvectors of the covariance that have the
# largest eigenvalues. (An eigenvector is a direction that a matrix only stretches; the eigenvalue says by how much.)

# %% tags=["predict"]
q10 = predict("03.q10")
q10

# %% tags=["code"]
def two_strongest(features):
    centred = features - features.mean(0)
    values, vectors = torch.linalg.eigh(centred.T @ centred)    # from small to large
    held = (values[-2:].sum() / values.sum()).item()
    print(f"two directions hold {100 * held:.0f} % of the variance", end="; ")
    return centred @ vectors[:, -2:].flip(1)

planes = {}
for name, model in {"pretrained": pretrained, "random": untrained}.items():
    plane = planes[name] = two_strongest(features_of(model, images))
    centres = torch.stack([plane[labels == k].mean(0) for k in range(5)])
    nearest = ((plane[:, None] - centres) ** 2).sum(2).argmin(1)
    own = 100 * (nearest == labels).float().mean().item()
    print(f"{name}: {own:.0f} % lie nearest to the centre of their own digit")

# %% tags=["picture"]
plots.plane(planes, labels, "56789")
plt.show()

# %% tags=["reveal"]
q10.reveal()

# %% [markdown] tags=["explain"]
# **Why.** Nobody told the network that there is such a thing as a 6. Still the 6s lie together: they have strokes and bends in common, and the network learned to
# measure strokes and bends. With random weights the digits lie mixed: chance would be 20 %. The picture also shows the limits. The clumps overlap, and a straight
# line cannot part them all. What that means for a head trained alone, [Ways to fine-tune, compared](03_methods.ipynb) measures.
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
# **Takeaway:** features measure strokes and bends, and those are in the new digits too.
# PyTorch on [`torch.linalg.eigh`](https://docs.pytorch.org/docs/stable/generated/torch.linalg.eigh.html).
