# %% [markdown] tags=["section"]
# ## 1. Filters and features
#
# The first filters of a network look for edges and strokes. Let's compare the pretrained filters with the filters of a network that was never trained.

# %% tags=["picture"]
torch.manual_seed(0)
untrained = resnet_digits(num_classes=5).eval()
_, (left, right) = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
autolab.viz.plot_filters(pretrained.conv1, ax=left, title="conv1, pretrained")
autolab.viz.plot_filters(untrained.conv1, ax=right, title="conv1, random")
plt.show()

# %% [markdown]
# The head receives 64 features, and we can't look at 64 dimensions. Instead we rotate the cloud of features until a flat picture shows as much of its spread as possible. This method is called **PCA**: we subtract the mean, compute the covariance matrix, and take the eigenvectors with the largest eigenvalues. (An eigenvector is a direction that a matrix only stretches, and its eigenvalue says by how much.)

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
# **Why.** The network was never told that a digit 6 exists. Even so, the 6s lie together, because they have strokes and curves in common, and the network has learned to measure strokes and curves. With random weights, the digits are mixed up. Only about a third of the images lie nearest to the centre of their own digit, and by chance it would be a fifth of them.
#
# The picture also shows the limits of these features. The clumps overlap, so straight lines can't separate them completely. [Ways to fine-tune, compared](03_methods.ipynb) measures how well a head can do if it is trained alone.
#
# In symbols, if $X$ contains the centred features of $n$ images, the covariance is $X^\top X/(n-1)$. Its eigenvectors are the directions, and its eigenvalues are the variances along them.

# %% [markdown] tags=["exercise"]
# ### Exercise 03.1: the strongest directions
#
# Write `strongest(features, k)`, which returns the coordinates of each row along the `k` strongest directions, with the strongest direction first. The result has the shape `(n, k)`, where `n` is the number of rows.

# %% tags=["exercise"]
def strongest(features, k):
    return ...

check("03.1", strongest)

# %% [markdown] tags=["keep"]
# **Takeaway:** the features measure strokes and curves, and the new digits also consist of strokes and curves.
# Read more: PyTorch's page on [`torch.linalg.eigh`](https://docs.pytorch.org/docs/stable/generated/torch.linalg.eigh.html).
