"""What all data sets of images share."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from autolab.engine.core.errors import fail
from autolab.utils.data import Dataset
from autolab.vision.transforms.images import pil_of


class StandardTransform:
    """One transform for the image, one for the target; either may be None."""

    def __init__(
        self,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        self.transform, self.target_transform = transform, target_transform

    def __call__(self, input: Any, target: Any) -> tuple[Any, Any]:
        if self.transform is not None:
            input = self.transform(input)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return input, target

    def __repr__(self) -> str:
        lines = [type(self).__name__]
        for head, transform in (
            ("Transform: ", self.transform),
            ("Target transform: ", self.target_transform),
        ):
            if transform is not None:
                lines.append(head + repr(transform).replace("\n", "\n" + " " * len(head)))
        return "\n".join(lines)


class VisionDataset(Dataset):
    """Base class: define `__getitem__` and `__len__`.

    root: folder of the files. transform: applied to the image, target_transform to the target; or transforms, applied
    to both together. Raises ValueError when both ways are used.
    """

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        transforms: Callable[[Any, Any], Any] | None = None,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        self.root = os.path.expanduser(root) if isinstance(root, str) else root
        separate = transform is not None or target_transform is not None
        if transforms is not None and separate:
            raise fail(
                ValueError,
                "Only transforms or transform/target_transform can be passed as argument",
                "`transforms` gets image and target together.",
            )
        self.transform, self.target_transform = transform, target_transform
        self.transforms = StandardTransform(transform, target_transform) if separate else transforms

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def _sample(self, img: Any, target: Any) -> Any:
        """The transformed (image, target)."""
        return (img, target) if self.transforms is None else self.transforms(img, target)

    def extra_repr(self) -> str:
        """More lines about the data set."""
        return ""

    def __repr__(self) -> str:
        lines = [f"Number of datapoints: {len(self)}"]
        if self.root is not None:
            lines.append(f"Root location: {self.root}")
        lines += self.extra_repr().splitlines()
        if self.transforms is not None:
            lines.append(repr(self.transforms))
        return "\n    ".join([f"Dataset {type(self).__name__}", *lines])


def picture(array: Any) -> Any:
    """A Pillow image of the bytes (H, W) or (H, W, 3); the array itself where Pillow is not installed."""
    try:
        return pil_of(array)
    except ImportError:
        return array
