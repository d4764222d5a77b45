"""The exercise on forgetting: old examples, some of each class, beside the new ones."""

from __future__ import annotations

import autolab as torch

from ..compare import Unfit, show
from ..exercise import Case, Exercise, Mistake


def pair(labels, first):
    """(images, labels), where image i is filled with the number first + i, so that one sees which it is."""
    count = len(labels)
    numbers = torch.arange(first, first + count).float()
    return numbers.reshape(count, 1, 1, 1).expand(count, 1, 2, 2).clone(), torch.tensor(labels)


def mixed(answer, new, old, per_class):
    """Which images and labels come out, in the order of the images."""
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
            why="There is one image only of one of the classes. Take as many as there are.",
        ),
    ),
    mistakes=(
        Mistake(
            _first_of_all,
            "These are the first images of all. Of each class so many are wanted: look at one class after another.",
        ),
        Mistake(
            _first_as_many,
            "That is the right number, but they are the first of all. Sorted by class, the last classes would be missing.",
        ),
        Mistake(_all_of_old, "That is all of old. Then the new images are the few among the many."),
        Mistake(_old_only, "The old images are right. The new ones are missing."),
        Mistake(
            _last_of_each,
            "So many of each class, that is right. Wanted are the first of each, these are the last.",
        ),
    ),
    hints=(
        "labels == k marks the images of one class. Which are the first per_class of them?",
        "(labels == k).nonzero()[:per_class, 0] are their places.",
        "torch.cat([(labels == k).nonzero()[:per_class, 0] for k in labels.unique()]) are the places in old; then cat with new, images and labels.",
    ),
    leaves_out="the order of the images: a DataLoader shuffles them",
)

EXERCISES = (rehearse,)
