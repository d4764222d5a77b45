"""Images sorted into one folder per class."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from autolab.engine.core.errors import fail
from autolab.vision.datasets.vision import VisionDataset
from autolab.vision.transforms.images import pillow

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


class ImageFolder(VisionDataset):
    """Images root/<class>/…/<file>.png (or .jpg …): sample i is (RGB Pillow image, class), before the transforms.

    samples, imgs: list of (path, number of the class); classes: names in alphabetical order. Raises FileNotFoundError
    without classes, and for classes without files.
    """

    root: str | os.PathLike[str]

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.samples = self.imgs = list(self._files())
        self.targets = [target for _, target in self.samples]
        empty = sorted(set(self.classes) - {self.classes[target] for target in self.targets})
        if empty:
            message = f"Found no valid file for the classes {', '.join(empty)}. "
            message += f"Supported extensions are: {', '.join(IMG_EXTENSIONS)}"
            raise fail(FileNotFoundError, message, "Remove the folder, or put images into it.")

    def find_classes(self, directory: str | os.PathLike[str]) -> tuple[list[str], dict[str, int]]:
        """Return the names of the classes and the number of each: its folders in alphabetical order."""
        classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
        if not classes:
            message = f"Couldn't find any class folder in {directory}."
            note = "Put the images of each class into a folder of their own."
            raise fail(FileNotFoundError, message, note)
        return classes, {name: i for i, name in enumerate(classes)}

    def _files(self):
        for name, target in sorted(self.class_to_idx.items()):
            folders = os.walk(os.path.join(self.root, name), followlinks=True)
            for folder, _, files in sorted(folders):
                for file in sorted(files):
                    if file.lower().endswith(IMG_EXTENSIONS):
                        yield os.path.join(folder, file), target

    def __getitem__(self, index: int) -> Any:
        path, target = self.samples[index]
        with open(path, "rb") as file:
            image = pillow().open(file).convert("RGB")
        return self._sample(image, target)

    def __len__(self) -> int:
        return len(self.samples)
