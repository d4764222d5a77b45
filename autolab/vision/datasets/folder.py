"""Images sorted into one folder per class."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from autolab.engine.core.errors import fail
from autolab.vision.datasets.vision import VisionDataset
from autolab.vision.transforms.images import pillow

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def default_loader(path: str) -> Any:
    """The file as an RGB Pillow image."""
    with open(path, "rb") as file:
        return pillow().open(file).convert("RGB")


class DatasetFolder(VisionDataset):
    """Files root/<class>/…/<file>: sample i is (loader(path), number of the class), before the transforms.

    Which files count is said by `extensions` or by is_valid_file(path). samples: list of (path, class); classes: names
    in alphabetical order. allow_empty: classes without files are allowed. Raises FileNotFoundError without classes or
    files.
    """

    root: str | os.PathLike[str]

    def __init__(
        self,
        root: str | os.PathLike[str],
        loader: Callable[[str], Any],
        extensions: str | tuple[str, ...] | list[str] | set[str] | None = None,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        if (extensions is None) == (is_valid_file is None):
            raise fail(
                ValueError,
                "Both extensions and is_valid_file cannot be None or not None at the same time",
                "One of them says which files count.",
            )
        self.loader, self.extensions = loader, extensions
        self.classes, self.class_to_idx = self.find_classes(self.root)
        endings = tuple(extensions) if isinstance(extensions, (list, set)) else extensions or ()
        self.samples = list(
            self._files(is_valid_file or (lambda path: path.lower().endswith(endings)))
        )
        self.targets = [target for _, target in self.samples]
        empty = sorted(set(self.classes) - {self.classes[target] for target in self.targets})
        if empty and not allow_empty:
            message = f"Found no valid file for the classes {', '.join(empty)}. "
            if extensions is not None:
                named = extensions if isinstance(extensions, str) else ", ".join(extensions)
                message += f"Supported extensions are: {named}"
            raise fail(
                FileNotFoundError, message, "allow_empty=True accepts classes without files."
            )

    def find_classes(self, directory: str | os.PathLike[str]) -> tuple[list[str], dict[str, int]]:
        """The names of the classes and the number of each: its folders in alphabetical order."""
        classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
        if not classes:
            message = f"Couldn't find any class folder in {directory}."
            raise fail(
                FileNotFoundError,
                message,
                "Put the images of each class into a folder of their own.",
            )
        return classes, {name: i for i, name in enumerate(classes)}

    def _files(self, is_valid_file):
        for name, target in sorted(self.class_to_idx.items()):
            for folder, _, files in sorted(
                os.walk(os.path.join(self.root, name), followlinks=True)
            ):
                paths = (os.path.join(folder, file) for file in sorted(files))
                yield from ((path, target) for path in paths if is_valid_file(path))

    def __getitem__(self, index: int) -> Any:
        path, target = self.samples[index]
        return self._sample(self.loader(path), target)

    def __len__(self) -> int:
        return len(self.samples)


class ImageFolder(DatasetFolder):
    """Images root/<class>/…/<file>.png (or .jpg …), as RGB Pillow images; see DatasetFolder."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        loader: Callable[[str], Any] = default_loader,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        extensions = IMG_EXTENSIONS if is_valid_file is None else None
        super().__init__(
            root, loader, extensions, transform, target_transform, is_valid_file, allow_empty
        )
        self.imgs = self.samples
