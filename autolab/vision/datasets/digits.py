"""The UCI handwritten digits, shipped with autolab.

Source: E. Alpaydin, C. Kaynak, "Optical Recognition of Handwritten Digits", 1998, UCI Machine Learning Repository,
https://doi.org/10.24432/C50P49 (CC BY 4.0): the 1,797 images of its test set, as scikit-learn ships them.
"""

from __future__ import annotations

from pathlib import Path
from collections.abc import Callable
from typing import Any

import numpy as np

import autolab
from autolab.engine.core.errors import fail
from autolab.vision.datasets.mnist import DIGITS, images_and_labels
from autolab.vision.datasets.vision import LabelledPictures

_FILES = Path(__file__).parent / "data"
_TRAIN = 1437  # four fifths; the rest is the test split
_FRAMES = {8: 0, 28: 4, 32: 6}  # pixels of black around the digit


class Digits(LabelledPictures):
    """1,797 handwritten digits by 13 people: sample i is (grey Pillow image, label), before the transforms. No
    download.

    train: the first 1,437 images of the file, else the other 360; every class has 141 to 146 and 33 to 37 of them.
    size: 8 for the original pixels (counts from 0 to 16 of black points in 4x4 blocks, here scaled to 0 … 255); 28 or
    32 for the digit enlarged to 20x20 pixels in the middle of a black frame, which is how MNIST and LeNet's paper place
    theirs. data: uint8 tensor (N, size, size); targets: int64 tensor (N,). Raises ValueError for other sizes.
    """

    classes = DIGITS

    def __init__(
        self,
        train: bool = True,
        size: int = 8,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(transform=transform, target_transform=target_transform)
        if size not in _FRAMES:
            raise fail(
                ValueError,
                f"size should be 8, 28 or 32, but got {size}",
                "transforms.Resize makes any other size of it.",
            )
        self.train, self.size = train, size
        images, labels = images_and_labels(
            str(_FILES / "digits-images-idx3-ubyte"), str(_FILES / "digits-labels-idx1-ubyte")
        )
        part = slice(None, _TRAIN) if train else slice(_TRAIN, None)
        self.data, self.targets = (
            autolab.from_numpy(_enlarged(images[part].numpy(), size)),
            labels[part].clone(),
        )

    def extra_repr(self) -> str:
        """Return which split it is, and the size."""
        return f"{super().extra_repr()}\nSize: {self.size}x{self.size}"


def _enlarged(counts, size):
    """Bytes (N, size, size) of counts from 0 to 16 (N, 8, 8), enlarged bilinearly to 20x20 in a frame."""
    frame = _FRAMES[size]
    if not frame:
        return np.rint(counts * (255 / 16)).astype(np.uint8)
    images = np.rint(_TENTHS @ counts.astype(np.int64) @ _TENTHS.T * 255 / 1600).astype(np.uint8)
    return np.pad(images, ((0, 0), (frame, frame), (frame, frame)))


def _tenths():
    """The matrix (20, 8) that enlarges a row of 8 pixels to 20, in whole tenths.

    Whole numbers because many new pixels lie half-way between two bytes: the rounding of floats would depend on the
    processor.
    """
    places = np.clip(
        4 * np.arange(20) - 3, 0, 70
    )  # ten times the place in the old row: 10 ((i + 1/2) 8/20 - 1/2)
    near, matrix = places // 10, np.zeros((20, 8), np.int64)
    np.add.at(matrix, (np.arange(20), near), 10 - places % 10)
    np.add.at(matrix, (np.arange(20), np.minimum(near + 1, 7)), places % 10)
    return matrix


_TENTHS = _tenths()
