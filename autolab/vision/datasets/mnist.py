"""MNIST and Fashion-MNIST from their idx files.

Sources: http://yann.lecun.com/exdb/mnist/ (the format); H. Xiao, K. Rasul, R. Vollgraf, "Fashion-MNIST",
https://arxiv.org/abs/1708.07747
"""

from __future__ import annotations

import gzip
import math
import os
import shutil
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

import autolab
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.utils.download import from_mirrors
from autolab.vision.datasets.vision import LabelledPictures

_DTYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
_NAMES = "zero one two three four five six seven eight nine".split()
DIGITS = [f"{number} - {name}" for number, name in enumerate(_NAMES)]


def _damaged(path, why):
    return fail(
        ValueError,
        f"{path} is damaged: {why}",
        "Delete it, and pass download=True to fetch it again.",
    )


def read_idx(path: str) -> np.ndarray:
    """The array in an idx file, or in `path`.gz where `path` does not exist.

    Raises FileNotFoundError, ValueError for a file that is no idx file, is cut off or too long.
    """
    if not os.path.exists(path) and os.path.exists(f"{path}.gz"):
        path = f"{path}.gz"
    try:
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
            content = file.read()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _damaged(path, str(error)) from error
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in _DTYPES:
        raise _damaged(
            path,
            f"an idx file begins with two zero bytes and a type, this one with {content[:4].hex(' ')}",
        )
    dtype, ndim = np.dtype(_DTYPES[content[2]]), content[3]
    start = 4 + 4 * ndim
    shape = np.frombuffer(content[4:start], ">u4").tolist() if len(content) >= start else []
    expected = start + math.prod(shape) * dtype.itemsize
    if len(shape) != ndim or len(content) != expected:
        amount = (
            f"{expected:,} bytes for shape {shape}"
            if len(shape) == ndim
            else f"a header of {start} bytes"
        )
        raise _damaged(path, f"expected {amount}, found {len(content):,} bytes")
    return (
        np.frombuffer(content, dtype, offset=start).reshape(shape).astype(dtype.newbyteorder("="))
    )


def images_and_labels(images_path: str, labels_path: str) -> tuple[Tensor, Tensor]:
    """uint8 tensor (N, H, W) and int64 tensor (N,) of two idx files. Raises ValueError when they do not belong
    together."""
    images, labels = read_idx(images_path), read_idx(labels_path)
    for path, array, ndim in ((images_path, images, 3), (labels_path, labels, 1)):
        if array.dtype != np.uint8 or array.ndim != ndim:
            raise _damaged(
                path, f"expected bytes in {ndim} dimensions, found {array.dtype} in {array.ndim}"
            )
    if len(images) != len(labels):
        raise _damaged(labels_path, f"{len(labels)} labels for {len(images)} images")
    return autolab.from_numpy(images), autolab.from_numpy(labels.astype(np.int64))


class MNIST(LabelledPictures):
    """70,000 handwritten digits: sample i is (grey Pillow image of 28x28 pixels, label), before the transforms.

    root: folder with MNIST/raw/, where the four idx files are, packed (.gz) or not. train: 60,000 images, else 10,000.
    download: fetch what is missing. data: uint8 tensor (N, 28, 28); targets: int64 tensor (N,). Raises RuntimeError
    when files are missing or cannot be fetched, ValueError for damaged ones.
    """

    mirrors = [
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "http://yann.lecun.com/exdb/mnist/",
    ]
    resources = [
        ("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        ("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
        ("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
        ("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
    ]
    classes = DIGITS
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
        if not self._check_exists():
            raise fail(
                RuntimeError,
                "Dataset not found. You can use download=True to download it",
                f"Its files belong into {self.raw_folder}.",
            )
        start = os.path.join(self.raw_folder, "train" if train else "t10k")
        self.data, self.targets = images_and_labels(
            f"{start}-images-idx3-ubyte", f"{start}-labels-idx1-ubyte"
        )

    @property
    def raw_folder(self) -> str:
        """Where the idx files are."""
        return os.path.join(self.root, type(self).__name__, "raw")

    def _unpacked(self, name):
        return os.path.join(self.raw_folder, name.removesuffix(".gz"))

    def _check_exists(self):
        return all(
            os.path.isfile(self._unpacked(name))
            or os.path.isfile(os.path.join(self.raw_folder, name))
            for name, _ in self.resources
        )

    def download(self) -> None:
        """Fetch and unpack the files that are missing. Raises RuntimeError when no mirror gives one of them."""
        for name, md5 in self.resources:
            packed, unpacked = os.path.join(self.raw_folder, name), self._unpacked(name)
            if os.path.isfile(unpacked):
                continue
            from_mirrors(name, [f"{mirror}{name}" for mirror in self.mirrors], packed, md5)
            with gzip.open(packed, "rb") as source, open(f"{unpacked}.part", "wb") as target:
                shutil.copyfileobj(source, target)
            os.replace(f"{unpacked}.part", unpacked)


class FashionMNIST(MNIST):
    """70,000 articles of clothing in MNIST's format, in root/FashionMNIST/raw/; see MNIST."""

    mirrors = ["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"]
    resources = [
        ("train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        ("train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"),
        ("t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"),
        ("t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"),
    ]
    classes = "T-shirt/top,Trouser,Pullover,Dress,Coat,Sandal,Shirt,Sneaker,Bag,Ankle boot".split(
        ","
    )
