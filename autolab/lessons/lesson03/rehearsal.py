"""The exercises on rehearsal: old examples together with new ones, and a network for drawings of one's own."""

from __future__ import annotations

import autolab as torch

from ..compare import Unfit, show
from ..exercise import Case, Exercise, Mistake
from .networks import small


def pair(labels, first):
    """Return (images, labels), where image i is filled with the number first + i, so that you can recognise it."""
    count = len(labels)
    numbers = torch.arange(first, first + count).float()
    return numbers.reshape(count, 1, 1, 1).expand(count, 1, 2, 2).clone(), torch.tensor(labels)


def mixed(answer, new, old, per_class):
    """Return which images and labels come out, in the order of the images."""
    result = answer(pair(new, 0), pair(old, 100), per_class)
    if result is ...:
        return {"result": result}
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise Unfit(f"{show(result)} came back: return a pair, `images, labels`")
    images, labels = result
    which = images.flatten(1)[:, 0]
    order = which.argsort()
    return {
        "how many images": len(images),
        "how many labels": len(labels),
        "images": which[order],
        "labels": labels[order] if len(labels) == len(images) else labels,
    }


def with_rehearsal(new, old, per_class):
    images, labels = old
    places = torch.cat([(labels == k).nonzero()[:per_class, 0] for k in labels.unique()])
    return torch.cat([new[0], images[places]]), torch.cat([new[1], labels[places]])


def _first_of_all(new, old, per_class):
    return torch.cat([new[0], old[0][:per_class]]), torch.cat([new[1], old[1][:per_class]])


def _first_as_many(new, old, per_class):
    count = per_class * len(old[1].unique())
    return torch.cat([new[0], old[0][:count]]), torch.cat([new[1], old[1][:count]])


def _all_of_old(new, old, per_class):
    return torch.cat([new[0], old[0]]), torch.cat([new[1], old[1]])


def _old_only(new, old, per_class):
    images, labels = with_rehearsal(new, old, per_class)
    return images[len(new[1]) :], labels[len(new[1]) :]


def _last_of_each(new, old, per_class):
    images, labels = old
    places = torch.cat([(labels == k).nonzero()[-per_class:, 0] for k in labels.unique()])
    return torch.cat([new[0], images[places]]), torch.cat([new[1], labels[places]])


rehearse = Exercise(
    id="03.13",
    title="A rehearsal of each",
    observe=mixed,
    reference=with_rehearsal,
    cases=(
        Case("new 5 6, old 0 0 0 1 1 1, 2 of each", lambda: ([5, 6], [0, 0, 0, 1, 1, 1], 2)),
        Case("new 5, old 1 0 2 0 1 2 0, 1 of each", lambda: ([5], [1, 0, 2, 0, 1, 2, 0], 1)),
        Case(
            "new 7 7 8, old 3 0 3 3, 2 of each",
            lambda: ([7, 7, 8], [3, 0, 3, 3], 2),
            public=False,
            why="One of the classes has only one image. Take as many as there are.",
        ),
    ),
    mistakes=(
        Mistake(
            _first_of_all,
            "These are the first images of the whole set. You need `per_class` images of each class, "
            "so look at one class after another.",
        ),
        Mistake(
            _first_as_many,
            "The number is right, but you took the first images of the whole set. If the images are "
            "sorted by class, the last classes are missing.",
        ),
        Mistake(
            _all_of_old,
            "You took all old images. Then the new images would be only a few among many.",
        ),
        Mistake(_old_only, "The old images are right, but the new ones are missing."),
        Mistake(
            _last_of_each,
            "The number per class is right. But these are the last images of each class, and you "
            "need the first.",
        ),
    ),
    hints=(
        "labels == k marks the images of one class. Which of them are the first `per_class`?",
        "(labels == k).nonzero()[:per_class, 0] gives you their positions.",
        "torch.cat([(labels == k).nonzero()[:per_class, 0] for k in labels.unique()]) gives "
        "you all positions in old. Then join new and old with torch.cat, both the images and "
        "the labels.",
    ),
    leaves_out="the order of the images, because a DataLoader shuffles them",
)

# 03.15 a network for your own drawings --------------------------------------------------------------------------------

CENTRES = 3 * torch.eye(4, 5)


def around(kinds, each, seed):
    """Return `each` inputs near the centre of each kind, and the kinds."""
    draw = torch.Generator().manual_seed(seed)
    labels = torch.tensor(kinds).repeat(each)
    return CENTRES[labels] + 0.6 * torch.randn(len(labels), 5, generator=draw), labels


def learned(answer, seed, count):
    """Return what a network reads after it has learned a fourth kind from a few inputs."""
    model = small(seed, classes=4)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        train(model, [around([0, 1, 2], 20, seed)], 40)
        result = answer(model.eval(), around([3], count, seed + 1), around([0, 1, 2], 8, seed + 2))
    if result is ...:
        return {"result": result}
    if not isinstance(result, torch.nn.Module):
        raise Unfit(f"{show(result)} came back: return the network")
    said = "training mode" if result.training else "evaluation mode"
    result.eval()
    return {
        "reads at least nine of ten new drawings": _right(result, around([3], 40, seed + 3)) >= 0.9,
        "reads at least nine of ten old images": _right(result, around([0, 1, 2], 40, seed + 4))
        >= 0.9,
        "the network is in": said,
    }


def _right(model, pairs):
    with torch.no_grad():
        return (model(pairs[0]).argmax(1) == pairs[1]).float().mean().item()


def train(model, sets, epochs, lr=0.1):
    """Train on several sets of (inputs, labels) together."""
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    inputs, labels = (torch.cat(parts) for parts in zip(*sets))
    for _ in range(epochs):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
    return model


def learn(model, mine, old, epochs=40):
    """Solve the exercise."""
    return train(model, [mine, old], epochs).eval()


own_drawings = Exercise(
    id="03.15",
    title="A network for your own drawings",
    observe=learned,
    reference=learn,
    cases=(
        Case("6 drawings of a new kind, 8 old images of each of three kinds", lambda: (1, 6)),
        Case("10 drawings, another network", lambda: (2, 10), public=False),
    ),
    mistakes=(
        Mistake(
            lambda model, mine, old: train(model, [mine], 40).eval(),
            "The network reads your drawings, but it has forgotten the old images. Train it on the "
            "old images, too.",
        ),
        Mistake(
            lambda model, mine, old: train(model, [old], 40).eval(),
            "The network still reads the old images, but not your drawings. Train it on `mine` as well, for enough steps.",
        ),
        Mistake(
            lambda model, mine, old: train(model, [mine, old], 40),
            "The network has learned both, but it is still in training mode, so its answers depend on the "
            "batch. Call model.eval() before you return it.",
        ),
    ),
    hints=(
        "Which images does the network have to see so that it doesn't forget? Exercise 03.13 had the same problem.",
        "Put both pairs together with torch.cat, and train for about 40 steps in training mode.",
        "Call model.train(), build SGD with lr=0.1 and momentum=0.9, run the loop, and return model.eval().",
    ),
    leaves_out="augmentation, and drawings that look like an old kind",
)

EXERCISES = (rehearse, own_drawings)
