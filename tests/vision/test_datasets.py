"""Data sets of images from files of their real formats, tiny ones written here; torchvision's samples, reprs and
errors."""

import gzip
import io
import os
import pickle
import struct
import tarfile
from hashlib import md5

import numpy as np
import pytest
from goldens.oracle import engine, error_of
from PIL import Image
from vision_oracle import check, vision

import autolab

torch = engine()
if vision() is None:
    pytest.skip("torchvision is not installed", allow_module_level=True)
datasets = vision().datasets
ours = pytest.mark.skipif(torch is not autolab, reason="autolab's own messages")


def idx(array):
    """An array of bytes in MNIST's format."""
    return (
        bytes([0, 0, 8, array.ndim])
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.tobytes()
    )


def clothes(n=5, seed=0):
    draw = np.random.RandomState(seed)
    return draw.randint(0, 256, (n, 28, 28)).astype(np.uint8), draw.randint(0, 10, n).astype(
        np.uint8
    )


def mnist_files():
    """The four files of MNIST by name, unpacked: 5 images for training, 3 for testing."""
    files = {}
    for name, (images, labels) in {"train": clothes(5), "t10k": clothes(3, seed=1)}.items():
        files[f"{name}-images-idx3-ubyte"], files[f"{name}-labels-idx1-ubyte"] = (
            idx(images),
            idx(labels),
        )
    return files


def write_mnist(root, name="FashionMNIST", **replaced):
    folder = root / name / "raw"
    folder.mkdir(parents=True)
    for file, content in {**mnist_files(), **replaced}.items():
        (folder / file).write_bytes(content)
    return folder


def cifar_files():
    """The files of CIFAR-10 by name, as Python 2 pickled them: 2 images a batch."""
    files = {}
    for number, name in enumerate(
        [
            "data_batch_1",
            "data_batch_2",
            "data_batch_3",
            "data_batch_4",
            "data_batch_5",
            "test_batch",
        ]
    ):
        pixels = np.random.RandomState(number).randint(0, 256, (2, 3072)).astype(np.uint8)
        files[name] = {
            "batch_label": name,
            "labels": [number, 9 - number],
            "data": pixels,
            "filenames": ["a.png", "b.png"],
        }
    names = [
        "airplane",
        "automobile",
        "bird",
        "cat",
        "deer",
        "dog",
        "frog",
        "horse",
        "ship",
        "truck",
    ]
    files["batches.meta"] = {"num_cases_per_batch": 2, "label_names": names, "num_vis": 3072}
    old = {
        name: pickle.dumps(content, protocol=2).replace(b"numpy._core", b"numpy.core")
        for name, content in files.items()
    }
    assert b"numpy.core.multiarray" in old["test_batch"]
    return old


def write_cifar(root, files):
    (root / "cifar-10-batches-py").mkdir()
    for name, content in files.items():
        (root / "cifar-10-batches-py" / name).write_bytes(content)


def tiny_cifar(datasets, files, archive=b""):
    """CIFAR10 with the checksums of other files."""
    sums = {name: md5(content).hexdigest() for name, content in files.items()}
    base = datasets.CIFAR10
    return type(
        "CIFAR10",
        (base,),
        {
            "train_list": [[name, sums[name]] for name, _ in base.train_list],
            "test_list": [[name, sums[name]] for name, _ in base.test_list],
            "meta": {**base.meta, "md5": sums["batches.meta"]},
            "tgz_md5": md5(archive).hexdigest(),
        },
    )


def test_mnist_files(tmp_path):
    write_mnist(tmp_path)
    write_mnist(tmp_path, "MNIST")

    def program(v, t):
        T, D = v.transforms, v.datasets
        train = D.FashionMNIST(
            str(tmp_path), transform=T.ToTensor(), target_transform=T.Lambda(lambda y: 10 + y)
        )
        test = D.MNIST(tmp_path, train=False)
        image, label = test[2]
        return {
            "sample": [train[1][0][:, ::3], train[1][1]],
            "lengths": [len(train), len(test)],
            "reprs": [repr(d).replace(str(tmp_path), "ROOT") for d in (train, test)],
            "data": [train.data[:, ::3, ::5], train.targets, test.data[:, ::3, ::5], test.targets],
            "picture": [image.mode, image.size, np.array(image)[::4], label, type(label).__name__],
            "classes": [train.classes, test.classes, train.class_to_idx, train.train, test.train],
            "raw": train.raw_folder.replace(str(tmp_path), "ROOT"),
            "batch": [
                part.double().sum()
                for part in next(iter(t.utils.data.DataLoader(train, batch_size=3)))
            ],
        }

    check("FashionMNIST", program)


def test_cifar_files(tmp_path):
    write_cifar(tmp_path, cifar_files())

    def program(v, t):
        made = tiny_cifar(v.datasets, cifar_files())
        transform = v.transforms.Compose(
            [v.transforms.ToTensor(), v.transforms.Normalize((0.5,) * 3, (0.5,) * 3)]
        )
        train, test = made(str(tmp_path), transform=transform), made(tmp_path, train=False)
        image, label = test[1]
        return {
            "sample": [train[3][0][:, ::6], train[3][1]],
            "lengths": [len(train), len(test)],
            "reprs": [repr(d).replace(str(tmp_path), "ROOT") for d in (train, test)],
            "data": [train.data[:, ::5, ::7], train.targets, test.data[:, ::5, ::7], test.targets],
            "picture": [image.mode, np.array(image)[::6], label],
            "classes": [train.classes, train.class_to_idx],
        }

    check("CIFAR10", program)


def test_image_folder(tmp_path):
    draw = np.random.RandomState(0)
    for path in ("good/cat/1.png", "good/cat/sub/2.PNG", "good/ant/3.bmp", "good/ant/0.png"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(draw.randint(0, 256, (4, 5, 3)).astype(np.uint8)).save(tmp_path / path)
    (tmp_path / "good" / "ant" / "notes.txt").write_text("no image")
    (tmp_path / "bad" / "dog").mkdir(parents=True)

    def program(v, t):
        transforms = v.transforms
        found = v.datasets.ImageFolder(
            str(tmp_path / "good"),
            transform=transforms.ToTensor(),
            target_transform=transforms.Lambda(str),
        )
        errors = [
            error_of(lambda: v.datasets.ImageFolder(tmp_path / folder)).replace(
                str(tmp_path), "ROOT"
            )
            for folder in ("bad", "bad/dog")
        ]
        samples = [(path.replace(str(tmp_path), "ROOT"), label) for path, label in found.samples]
        return [list(found), found.classes, found.class_to_idx, found.targets, samples, errors]

    check("ImageFolder", program)


def test_missing_files_and_wrong_arguments(tmp_path):
    def program(v, t):
        errors = []
        for action in (
            lambda: v.datasets.FashionMNIST(tmp_path),
            lambda: v.datasets.CIFAR10(tmp_path),
        ):
            with pytest.raises((RuntimeError, ValueError)) as caught:
                action()
            errors.append(f"{caught.type.__name__}: {caught.value}")
        return errors

    check("missing files", program)


IMAGES = idx(clothes()[0])
DAMAGE = {
    "cut off": (IMAGES[:-100], r"expected 3,936 bytes for shape \[5, 28, 28\], found 3,836 bytes"),
    "too long": (IMAGES + b"x", "found 3,937 bytes"),
    "no header": (IMAGES[:9], "expected a header of 16 bytes, found 9 bytes"),
    "empty": (b"", "an idx file begins with two zero bytes and a type"),
    "a web page": (b"<!DOCTYPE html><html>", "this one with 3c 21 44 4f"),
    "floats": (
        bytes([0, 0, 13, 3]) + IMAGES[4:16] + b"\0" * 4 * 3920,
        "expected bytes in 3 dimensions, found float32 in 3",
    ),
    "labels": (idx(clothes()[1]), "expected bytes in 3 dimensions, found uint8 in 1"),
    "fewer": (idx(clothes(4)[0]), "5 labels for 4 images"),
}


@ours
def test_packed_files_are_read_too(tmp_path):
    folder = write_mnist(tmp_path)
    for path in list(folder.iterdir()):
        (folder / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    images, labels = clothes()
    found = datasets.FashionMNIST(tmp_path)
    assert np.array_equal(found.data.numpy(), images) and found.targets.tolist() == labels.tolist()


@ours
@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_mnist(kind, tmp_path):
    content, words = DAMAGE[kind]
    write_mnist(tmp_path, **{"train-images-idx3-ubyte": content})
    with pytest.raises(ValueError, match=f"is damaged: .*{words}") as caught:
        datasets.FashionMNIST(tmp_path)
    assert "download=True" in caught.value.__notes__[0]
    assert len(datasets.FashionMNIST(tmp_path, train=False)) == 3


class Attack:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


BATCHES = {
    "cut off": (cifar_files()["test_batch"][:900], "Ran out of input|truncated"),
    "text": (b"hello", "is not a batch of images"),
    "a list": (pickle.dumps([1]), "it holds a list, not a dict"),
    "no data": (pickle.dumps({"labels": [1]}), r"its 'data' are no bytes of shape \(N, 3072\)"),
    "wrong shape": (
        pickle.dumps({"labels": [1], "data": np.zeros((1, 9), np.uint8)}),
        "its 'data' are no bytes",
    ),
    "no labels": (
        pickle.dumps({"data": np.zeros((2, 3072), np.uint8)}),
        "it has no label for each of its 2 images",
    ),
    "few labels": (
        pickle.dumps({"labels": [1], "data": np.zeros((2, 3072), np.uint8)}),
        "no label for each of its 2",
    ),
}


@ours
@pytest.mark.parametrize("kind", BATCHES)
def test_damaged_cifar(kind, tmp_path):
    content, words = BATCHES[kind]
    files = {**cifar_files(), "test_batch": content}
    write_cifar(tmp_path, files)
    with pytest.raises(ValueError, match=words):
        tiny_cifar(datasets, files)(tmp_path, train=False)
    assert len(tiny_cifar(datasets, files)(tmp_path)) == 10


@ours
def test_a_pickle_that_runs_code_is_not_run(tmp_path):
    for protocol in range(6):
        made = tmp_path / f"made by {protocol}"
        attack = pickle.dumps({"data": Attack(str(made)), "labels": []}, protocol)
        files = {**cifar_files(), "test_batch": attack}
        root = tmp_path / str(protocol)
        root.mkdir()
        write_cifar(root, files)
        with pytest.raises(ValueError, match="it asks for (posix|nt|os).mkdir"):
            tiny_cifar(datasets, files)(root, train=False)
        assert not made.exists()
        pickle.loads(attack)
        assert made.exists()  # the attack works on pickle itself


@ours
def test_cifar_with_a_wrong_checksum_is_refused(tmp_path):
    files = cifar_files()
    write_cifar(tmp_path, {**files, "data_batch_3": files["data_batch_2"]})
    with pytest.raises(
        RuntimeError,
        match="Dataset not found or corrupted. You can use download=True to download it",
    ):
        tiny_cifar(datasets, files)(tmp_path)


@ours
class TestDigits:
    def test_these_are_the_digits(self):
        """The sums are those of scikit-learn's load_digits."""
        train, test = datasets.Digits(), datasets.Digits(train=False)
        assert (len(train), len(test)) == (1437, 360)
        counts = torch.cat([train.data, test.data]).numpy() / 255 * 16
        assert counts.shape == (1797, 8, 8) and np.abs(counts - counts.round()).max() < 0.04
        assert counts.round().sum() == 561718
        assert counts[0].round()[0].tolist() == [0, 0, 5, 13, 9, 1, 0, 0]
        labels = torch.cat([train.targets, test.targets])
        assert labels.bincount().tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
        assert train.targets[:12].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]
        assert train.targets.bincount().min() == 141 and test.targets.bincount().tolist() == [
            35,
            36,
            35,
            37,
            37,
            37,
            37,
            36,
            33,
            37,
        ]

    @pytest.mark.parametrize(("size", "frame"), [(8, 0), (28, 4), (32, 6)])
    def test_sizes(self, size, frame):
        digits = datasets.Digits(size=size, transform=vision().transforms.ToTensor())
        image, label = digits[3]
        assert image.shape == (1, size, size) and label == 3 and digits.data.dtype is torch.uint8
        inner = digits.data[:, frame : size - frame, frame : size - frame]
        assert int(inner.sum()) == int(digits.data.sum())
        assert float(inner.float().mean()) == pytest.approx(561718 / 1797 / 64 * 255 / 16, rel=0.02)
        assert int(digits.data.max()) == 255
        picture, _ = datasets.Digits(size=size)[0]
        assert picture.mode == "L" and picture.size == (size, size)

    def test_other_sizes_are_refused(self):
        with pytest.raises(ValueError, match="size should be 8, 28 or 32, but got 64"):
            datasets.Digits(size=64)


@ours
def test_without_pillow_samples_are_arrays(monkeypatch, tmp_path):
    import sys

    for name in [name for name in sys.modules if name.split(".")[0] == "PIL"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "PIL", None)
    write_mnist(tmp_path)
    image, _ = datasets.FashionMNIST(tmp_path)[0]
    assert isinstance(image, np.ndarray) and np.array_equal(image, clothes()[0][0])
    tensor, _ = datasets.FashionMNIST(tmp_path, transform=vision().transforms.ToTensor())[0]
    assert tensor.shape == (1, 28, 28) and float(tensor.max()) == 1.0


def archive_of(files):
    """cifar-10-python.tar.gz with these files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()
