"""Downloads, from a server on this machine: progress, mirrors, interruptions, checksums, no connection."""

import gzip
import os
from hashlib import md5

import pytest
from file_server import nowhere, serving
from goldens.oracle import ENGINE
from test_datasets import archive_of, cifar_files, clothes, mnist_files, tiny_cifar

from autolab.vision import datasets
from autolab.utils.download import download

pytestmark = pytest.mark.skipif(ENGINE != "autolab", reason="autolab's own downloads")


@pytest.fixture
def server(monkeypatch):
    with serving(
        {f"{name}.gz": gzip.compress(content) for name, content in mnist_files().items()},
        monkeypatch,
    ) as running:
        yield running


@pytest.fixture
def dead():
    return nowhere()


def fashion(*mirrors, files):
    """FashionMNIST from these mirrors, with the checksums of these files."""
    sums = [(name, md5(files[name]).hexdigest()) for name, _ in datasets.FashionMNIST.resources]
    return type(
        "FashionMNIST", (datasets.FashionMNIST,), {"mirrors": list(mirrors), "resources": sums}
    )


CONTENT = bytes(range(256)) * 2000
SUM = md5(CONTENT).hexdigest()


def test_mnist_is_fetched_once_into_torchvisions_folders(server, tmp_path, capsys):
    made = fashion(server.url, files=server.files)
    data = made(tmp_path, download=True)
    images, labels = clothes()
    assert data.data.tolist() == images.tolist() and data.targets.tolist() == labels.tolist()
    names = sorted(path.name for path in (tmp_path / "FashionMNIST" / "raw").iterdir())
    assert names == sorted([*server.files, *(name.removesuffix(".gz") for name in server.files)])
    assert len(server.log) == 4
    shown = capsys.readouterr().err
    assert "train-images-idx3-ubyte.gz: 100%" in shown and "B/s" in shown
    assert len(made(tmp_path, train=False, download=True)) == 3 and len(server.log) == 4


def test_the_next_mirror_is_asked_when_one_does_not_answer(server, dead, tmp_path):
    assert (
        len(
            fashion(dead, f"{server.url}nothing/", server.url, files=server.files)(
                tmp_path, download=True
            )
        )
        == 5
    )


def test_no_connection_is_said_clearly(server, dead, tmp_path):
    with pytest.raises(RuntimeError) as caught:
        fashion(dead, f"{server.url}nothing/", files=server.files)(tmp_path, download=True)
    message = str(caught.value)
    assert message.startswith(
        f"Error downloading train-images-idx3-ubyte.gz:\nTried {dead}, got:\n<urlopen error"
    )
    assert f"Tried {server.url}nothing/, got:\nHTTP Error 404: Not Found\n" in message
    note = caught.value.__notes__[0]
    assert (
        "Is this computer online?" in note
        and str(tmp_path / "FashionMNIST" / "raw") in note
        and "Digits" in note
    )


def test_a_broken_connection_is_continued(server, tmp_path):
    server.files["big"], server.breaks = CONTENT, [200_000, 100_000]
    download(f"{server.url}big", str(tmp_path / "big"), SUM)
    assert (tmp_path / "big").read_bytes() == CONTENT and [*tmp_path.iterdir()] == [
        tmp_path / "big"
    ]
    assert server.log == [("big", None), ("big", "bytes=200000-"), ("big", "bytes=300000-")]


def test_what_has_arrived_is_kept_for_the_next_call(server, tmp_path):
    server.files["big"], server.breaks = CONTENT, [300_000, 0]
    with pytest.raises(OSError, match="connection closed after 300,000 of 512,000 bytes"):
        download(f"{server.url}big", str(tmp_path / "big"), SUM)
    assert (
        not (tmp_path / "big").exists()
        and (tmp_path / "big.part").read_bytes() == CONTENT[:300_000]
    )
    download(f"{server.url}big", str(tmp_path / "big"), SUM)
    assert (tmp_path / "big").read_bytes() == CONTENT and server.log[-1] == ("big", "bytes=300000-")


def test_a_part_of_another_version_is_thrown_away(server, tmp_path):
    server.files["big"] = CONTENT
    (tmp_path / "big.part").write_bytes(b"old" * 1000)
    download(f"{server.url}big", str(tmp_path / "big"), SUM)
    assert (tmp_path / "big").read_bytes() == CONTENT and server.log == [
        ("big", "bytes=3000-"),
        ("big", None),
    ]


def test_a_wrong_checksum_leaves_nothing_behind(server, tmp_path):
    server.files["big"] = CONTENT[:-1] + b"!"
    with pytest.raises(RuntimeError, match="File not found or corrupted.") as caught:
        download(f"{server.url}big", str(tmp_path / "big"), SUM)
    assert SUM in caught.value.__notes__[0] and not [*tmp_path.iterdir()]


def test_a_damaged_file_is_fetched_again(server, tmp_path):
    server.files["big"] = CONTENT
    (tmp_path / "big").write_bytes(b"half")
    download(f"{server.url}big", str(tmp_path / "big"), SUM)
    assert (tmp_path / "big").read_bytes() == CONTENT


def test_cifar_is_fetched_and_unpacked(server, dead, tmp_path):
    files = cifar_files()
    archive = archive_of({**files, "../../outside": b"x", "readme.html": b"y"})
    server.files["cifar-10-python.tar.gz"] = archive
    made = tiny_cifar(datasets, files, archive)
    made.url = f"{server.url}cifar-10-python.tar.gz"
    data = made(tmp_path / "data", download=True)
    assert len(data) == 10 and data.classes[3] == "cat"
    folder = tmp_path / "data" / "cifar-10-batches-py"
    assert sorted(os.listdir(folder)) == sorted(files) and not (tmp_path / "outside").exists()
    assert len(made(tmp_path / "data", train=False, download=True)) == 2 and len(server.log) == 1
    made.url = f"{dead}cifar-10-python.tar.gz"
    with pytest.raises(
        RuntimeError, match=f"Error downloading cifar-10-python.tar.gz:\nTried {dead}, got"
    ):
        made(tmp_path / "elsewhere", download=True)
