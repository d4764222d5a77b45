"""What all data sets of images share."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

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


def picture(array: Any) -> Any:
    """Return a Pillow image of the bytes (H, W) or (H, W, 3); the array itself where Pillow is not installed."""
    try:
        return pil_of(array)
    except ImportError:
        return array
