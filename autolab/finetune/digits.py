"""The task that fine-tuning is shown on: digits that `resnet_digits` has never seen, and only a few of them."""

from __future__ import annotations

import functools
from typing import NamedTuple
from collections.abc import Iterable

import autolab
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.utils.data import TensorDataset
from autolab.vision.datasets import Digits
from autolab.vision.transforms import Compose, InterpolationMode, RandomCrop, RandomRotation

DEGREES, SHIFT = 25, 4


class FewShot(NamedTuple):
    """Three data sets of images (1, 32, 32) from 0 to 1 and class numbers from 0; no image is in two of them."""

    train: TensorDataset
    validation: TensorDataset
    test: TensorDataset


def unseen_digits(
    per_class: int = 10, seed: int = 0, classes: Iterable[int] = (5, 6, 7, 8, 9)
) -> FewShot:
    """A few digits of each of `classes`, turned by up to 25 degrees and shifted by up to 4 pixels: a `FewShot`.

    train: `per_class` images of each class; validation: 20 of each, others. Both are drawn by `seed` from
    `Digits(train=True)`. test: all images of these classes in `Digits(train=False)`, the same for every seed. The
    pretrained `resnet_digits` has seen no image of the classes 5 to 9, and none of `Digits(train=False)`. Label i means
    classes[i]. The random stream of `torch.manual_seed` stays as it is.

    Raises ValueError for classes that are no different digits, and for more images than there are.
    """
    classes = tuple(classes)
    if not classes or len(set(classes)) != len(classes) or not set(classes) <= set(range(10)):
        raise fail(
            ValueError,
            f"classes should be different digits, but got {classes}",
            "For example (5, 6, 7, 8, 9).",
        )
    (images, labels), order = _shaken(True, classes), autolab.Generator().manual_seed(seed)
    shuffled = autolab.randperm(len(labels), generator=order)
    train, validation = [], []
    for label in range(len(classes)):
        own = shuffled[labels[shuffled] == label]
        if not isinstance(per_class, int) or not 1 <= per_class <= len(own) - 20:
            message = (
                f"per_class should be an integer from 1 to {len(own) - 20}, but got {per_class}"
            )
            raise fail(ValueError, message, "20 images of each class are for validation.")
        train.append(own[:per_class])
        validation.append(own[per_class : per_class + 20])

    def subset(places: list[Tensor]) -> TensorDataset:
        place = autolab.cat(places)
        return TensorDataset(images[place], labels[place])

    return FewShot(subset(train), subset(validation), TensorDataset(*_shaken(False, classes)))


@functools.lru_cache(maxsize=4)
def _shaken(train: bool, classes: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Images and labels of the classes, every image moved once and for all."""
    digits = Digits(train=train, size=32)
    chosen = [i for i, label in enumerate(digits.targets.tolist()) if label in classes]
    shake = Compose(
        [RandomRotation(DEGREES, InterpolationMode.BILINEAR), RandomCrop(32, padding=SHIFT)]
    )
    with autolab.random.fork_rng():
        autolab.manual_seed(1)
        images = [shake(image) for image in digits.data[chosen].unsqueeze(1).float() / 255]
    return autolab.stack(images), autolab.tensor(
        [classes.index(digits.targets[i].item()) for i in chosen]
    )
