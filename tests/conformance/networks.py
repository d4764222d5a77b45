"""What the seeds' networks need from outside: small data sets in the files of the big ones, and weights in the place of
a download.

Cells run in a folder of their own in which `data/` holds FashionMNIST as idx files and CIFAR-10 as pickled batches,
drawn with a fixed seed; either library reads them as it reads the real ones. Whatever asks for pretrained weights of
ResNet-18 gets drawn ones. `import time` gives a clock that goes on by one second per look, so that printed times can be
compared.
"""

import contextlib
import importlib
import os
import pickle
import struct
import tempfile
from hashlib import md5
from pathlib import Path
from unittest import mock

import numpy as np

from . import clock

IMAGES = {
    "FashionMNIST": 1280,
    "CIFAR10": 64,
}  # of 60,000 in the file; of 10,000 in each of the five batches


def _pictures(count, channels, size, seed):
    """Bytes (count, channels, size, size) and labels: each class has coarse squares of its own, under noise."""
    draw = np.random.default_rng(seed)
    coarse = np.random.default_rng(99).integers(0, 200, (10, channels, size // 4, size // 4))
    labels = draw.integers(0, 10, count)
    noise = draw.integers(0, 56, (count, channels, size, size))
    return (np.kron(coarse, np.ones((4, 4), int))[labels] + noise).astype(np.uint8), labels


def _write_fashion_mnist(folder):
    folder.mkdir(parents=True)
    for seed, (name, count) in enumerate({"train": IMAGES["FashionMNIST"], "t10k": 10}.items()):
        images, labels = _pictures(count, 1, 28, seed)
        for kind, array in (
            ("images-idx3", images[:, 0]),
            ("labels-idx1", labels.astype(np.uint8)),
        ):
            head = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
            (folder / f"{name}-{kind}-ubyte").write_bytes(head + array.tobytes())


def _write_cifar10(folder, dataset):
    """Writes the batches; returns the attributes of `dataset` that hold their checksums."""
    folder.mkdir(parents=True)
    sums = {}
    for seed, (name, _) in enumerate([*dataset.train_list, *dataset.test_list]):
        images, labels = _pictures(IMAGES["CIFAR10"], 3, 32, seed)
        content = pickle.dumps(
            {"batch_label": name, "labels": labels.tolist(), "data": images.reshape(-1, 3072)},
            protocol=2,
        )
        (folder / name).write_bytes(content)
        sums[name] = md5(content).hexdigest()
    content = pickle.dumps({"label_names": [f"class {i}" for i in range(10)]}, protocol=2)
    (folder / dataset.meta["filename"]).write_bytes(content)
    listed = {
        kind: [[name, sums[name]] for name, _ in getattr(dataset, kind)]
        for kind in ("train_list", "test_list")
    }
    return {**listed, "meta": {**dataset.meta, "md5": md5(content).hexdigest()}}


def _resnet18_shapes():
    """(name, shape) of ResNet-18's state, in its order."""

    def norm(name, n):
        yield from (
            (f"{name}.{part}", (n,)) for part in ("weight", "bias", "running_mean", "running_var")
        )
        yield f"{name}.num_batches_tracked", ()

    yield "conv1.weight", (64, 3, 7, 7)
    yield from norm("bn1", 64)
    for layer, wide in enumerate((64, 128, 256, 512), 1):
        for block in range(2):
            name, before = f"layer{layer}.{block}", wide // 2 if layer > 1 and not block else wide
            for number, inputs in ((1, before), (2, wide)):
                yield f"{name}.conv{number}.weight", (wide, inputs, 3, 3)
                yield from norm(f"{name}.bn{number}", wide)
            if before != wide:
                yield f"{name}.downsample.0.weight", (wide, before, 1, 1)
                yield from norm(f"{name}.downsample.1", wide)
    yield from (("fc.weight", (1000, 512)), ("fc.bias", (1000,)))


def drawn_weights(torch):
    """A state dict for ResNet-18 that lets images through at a steady size."""
    draw, state = np.random.default_rng(18), {}
    for name, shape in _resnet18_shapes():
        if len(shape) > 1:
            fan = np.prod(shape[1:]) if len(shape) == 2 else np.prod(shape[2:]) * shape[0]
            value = draw.standard_normal(shape, np.float32) * np.float32(np.sqrt(2 / fan))
        elif name.endswith("num_batches_tracked"):
            value = np.int64(1000)
        elif name.endswith(("running_var", "weight")):
            value = draw.uniform(0.5, 1.5, shape).astype(np.float32)
        else:
            value = draw.uniform(-0.1, 0.1, shape).astype(np.float32)
        state[name] = torch.from_numpy(np.array(value))
    return state


@contextlib.contextmanager
def prepared(module):
    """The folder, the data sets and the weights; yields what to import in the place of `torchvision` and `time`."""
    if module == "torch":
        from vision_oracle import torchvision

        vision = torchvision()
    else:
        vision = importlib.import_module(f"{module}.vision")
    torch, home = importlib.import_module(module), os.getcwd()
    weights = vision.models.ResNet18_Weights.__mro__[1]
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        _write_fashion_mnist(Path(folder) / "data" / "FashionMNIST" / "raw")
        dataset = vision.datasets.CIFAR10
        for name, value in _write_cifar10(
            Path(folder) / "data" / dataset.base_folder, dataset
        ).items():
            stack.enter_context(mock.patch.object(dataset, name, value))
        drawn = mock.patch.object(
            weights, "get_state_dict", lambda self, *args, **options: drawn_weights(torch)
        )
        stack.enter_context(drawn)
        clock.now = 0.0
        os.chdir(folder)
        try:
            yield {"torchvision": vision.__name__, "time": "conformance.clock"}
        finally:
            os.chdir(home)
