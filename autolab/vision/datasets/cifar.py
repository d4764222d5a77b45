"""CIFAR-10 and CIFAR-100 from their pickled batches, which are read without running what a pickle may hold.

Source: A. Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009,
https://www.cs.toronto.edu/~kriz/cifar.html
"""

from __future__ import annotations

import _codecs
import os
import pickle
import shutil
import tarfile
from collections.abc import Callable
from typing import Any

import numpy as np

from autolab.engine.core.errors import fail
from autolab.utils.download import from_mirrors, is_whole
from autolab.vision.datasets.vision import LabelledPictures

_RECONSTRUCT = np.empty(0).__reduce__()[0]
_HARMLESS = {
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("_codecs", "encode"): _codecs.encode,
}


class _ArraysOnly(pickle.Unpickler):
    """Reads dicts, lists, texts, numbers and arrays; refuses any other class or function."""

    def find_class(self, module, name):
        if (module, name) not in _HARMLESS:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return _HARMLESS[module, name]


def read_pickle(path: str) -> dict:
    """The dict in a pickled batch. Raises ValueError for a damaged file, or one that holds more than data."""
    try:
        with open(path, "rb") as file:
            content = _ArraysOnly(file, encoding="latin1").load()
    except FileNotFoundError:
        raise
    except Exception as error:  # a damaged pickle can fail in any way
        raise _damaged(path, error) from error
    if not isinstance(content, dict):
        raise _damaged(path, f"it holds a {type(content).__name__}, not a dict")
    return content


def _damaged(path, why):
    return fail(
        ValueError,
        f"{path} is not a batch of images: {why}",
        "A pickle can run code when it is read, so only plain data is accepted. Delete the file and download it again.",
    )


class CIFAR10(LabelledPictures):
    """60,000 colour photographs of 10 classes: sample i is (RGB Pillow image of 32x32 pixels, label), before the
    transforms.

    root: folder with cifar-10-batches-py/. train: 50,000 images, else 10,000. download: fetch and unpack what is
    missing. data: uint8 array (N, 32, 32, 3); targets: list of labels. Raises RuntimeError when files are missing, do
    not have their checksum or cannot be fetched, ValueError for files of another kind.
    """

    base_folder = "cifar-10-batches-py"
    url = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    filename = "cifar-10-python.tar.gz"
    tgz_md5 = "c58f30108f718f92721af3b95e74349a"
    train_list = [
        ["data_batch_1", "c99cafc152244af753f735de768cd75f"],
        ["data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"],
        ["data_batch_3", "54ebc095f3ab1f0389bbae665268c751"],
        ["data_batch_4", "634d18415352ddfa80567beed471001a"],
        ["data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"],
    ]
    test_list = [["test_batch", "40351d587109b95175f43aff81a1287e"]]
    meta = {
        "filename": "batches.meta",
        "key": "label_names",
        "md5": "5ff9c542aee3614f3951f8cda6e48888",
    }
    _label_keys = ("labels", "fine_labels")
    root: str | os.PathLike[str]

    def __init__(
        self,
        root: str | os.PathLike[str],
        train: bool = True,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        if download:
            self.download()
        if not self._check_integrity():
            raise fail(
                RuntimeError,
                "Dataset not found or corrupted. You can use download=True to download it",
                f"Its files belong into {os.path.join(self.root, self.base_folder)}.",
            )
        batches = [self._read(name) for name, _ in (self.train_list if train else self.test_list)]
        self.data = np.concatenate([images for images, _ in batches])
        self.targets = [label for _, labels in batches for label in labels]
        self._load_meta()

    def _path(self, name):
        return os.path.join(self.root, self.base_folder, name)

    def _read(self, name):
        """Images (N, 32, 32, 3) and labels of one batch."""
        path = self._path(name)
        batch = read_pickle(path)
        images, labels = (
            batch.get("data"),
            next((batch[key] for key in self._label_keys if key in batch), None),
        )
        if (
            not isinstance(images, np.ndarray)
            or images.dtype != np.uint8
            or images.ndim != 2
            or images.shape[1] != 3072
        ):
            raise _damaged(path, "its 'data' are no bytes of shape (N, 3072)")
        if not isinstance(labels, list) or len(labels) != len(images):
            raise _damaged(path, f"it has no label for each of its {len(images)} images")
        return images.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), labels

    def _load_meta(self):
        path = self._path(self.meta["filename"])
        if not is_whole(path, self.meta["md5"]):
            raise fail(
                RuntimeError,
                "Dataset metadata file not found or corrupted. You can use download=True to download it",
                f"It belongs at {path}.",
            )
        self.classes = read_pickle(path)[self.meta["key"]]

    def _check_integrity(self):
        return all(
            is_whole(self._path(name), md5) for name, md5 in self.train_list + self.test_list
        )

    def download(self) -> None:
        """Fetch and unpack the archive, unless its files are there. Raises RuntimeError when it cannot be fetched."""
        if self._check_integrity():
            return
        archive = os.path.join(self.root, self.filename)
        from_mirrors(self.filename, [self.url], archive, self.tgz_md5)
        os.makedirs(self._path(""), exist_ok=True)
        with tarfile.open(archive) as tar:
            for name in [
                *(name for name, _ in self.train_list + self.test_list),
                self.meta["filename"],
            ]:
                source = tar.extractfile(f"{self.base_folder}/{name}")
                assert source is not None  # None is for folders
                with source, open(self._path(name), "wb") as target:
                    shutil.copyfileobj(source, target)


class CIFAR100(CIFAR10):
    """60,000 colour photographs of 100 classes, in root/cifar-100-python/; see CIFAR10."""

    base_folder = "cifar-100-python"
    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    filename = "cifar-100-python.tar.gz"
    tgz_md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    train_list = [["train", "16019d7e3df5f24257cddd939b257f8d"]]
    test_list = [["test", "f0ef6b0ae62326f3e7ffdfab6717acfc"]]
    meta = {
        "filename": "meta",
        "key": "fine_label_names",
        "md5": "7973b15100ade9c7d40fb424638fde48",
    }
