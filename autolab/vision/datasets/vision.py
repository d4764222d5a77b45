"""What all data sets of images share."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.utils.data import Dataset
from autolab.vision.transforms.images import pil_of


class VisionDataset(Dataset):
    """Base class: define `__getitem__` and `__len__`.

    root: folder of the files. transform: applied to the image, target_transform to the target.
    """

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        self.root = os.path.expanduser(root) if isinstance(root, str) else root
        self.transform, self.target_transform = transform, target_transform

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def _sample(self, img: Any, target: Any) -> Any:
        """Return the transformed (image, target)."""
        if self.transform is not None:
            img = self.transform(img)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return img, target

    def extra_repr(self) -> str:
        """Return more lines about the data set."""
        return ""

    def __repr__(self) -> str:
        lines = [f"Number of datapoints: {len(self)}"]
        if self.root is not None:
            lines.append(f"Root location: {self.root}")
        lines += self.extra_repr().splitlines()
        heads = {"Transform: ": self.transform, "Target transform: ": self.target_transform}
        used = {head: transform for head, transform in heads.items() if transform is not None}
        lines += ["StandardTransform"] * bool(used)
        text = "\n    ".join([f"Dataset {type(self).__name__}", *lines])
        for head, transform in used.items():
            text += "\n" + head + repr(transform).replace("\n", "\n" + " " * len(head))
        return text


class LabelledPictures(VisionDataset):
    """Base class for images in the array or tensor `data`, with class numbers in `targets`, in two splits."""

    classes: list[str]
    data: Any
    targets: Any
    train: bool

    def __getitem__(self, index: int) -> Any:
        return self._sample(picture(np.asarray(self.data[index])), int(self.targets[index]))

    def __len__(self) -> int:
        return len(self.data)

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The label of each class."""
        return {name: i for i, name in enumerate(self.classes)}

    def extra_repr(self) -> str:
        """Return which split it is."""
        return f"Split: {'Train' if self.train is True else 'Test'}"


def picture(array: Any) -> Any:
    """Return a Pillow image of the bytes (H, W) or (H, W, 3); the array itself where Pillow is not installed."""
    try:
        return pil_of(array)
    except ImportError:
        return array
