"""What is saved: read back to the same bits, here and by PyTorch; files that are whole or not there at all."""

import io
import os
import zipfile

import numpy as np
import pytest
from goldens.oracle import ENGINE, LIVE

import autolab as torch

pytestmark = pytest.mark.skipif(ENGINE != "autolab", reason="autolab's own writer")


def real():
    """PyTorch itself."""
    if not LIVE:
        pytest.skip("PyTorch 2.13 is not installed")
    return pytest.importorskip("torch")


def bits(tensor):
    array = tensor.detach().numpy()
    return str(array.dtype), array.shape, array.tobytes()


def everything():
    torch.manual_seed(0)
    x = torch.randn(3, 4)
    saved = {
        "x": x,
        "t": x.t(),
        "part": x[1:, 1:3],
        "column": x[:, 2],
        "parameter": torch.nn.Parameter(torch.randn(2)),
        "asking": torch.randn(2, requires_grad=True),
        "scalar": torch.tensor(2.5),
        "expanded": torch.randn(1).expand(3),
        "empty": torch.empty(0, 3),
        "nan": torch.tensor([float("nan"), float("inf"), -0.0]),
    }
    for dtype in (
        "float16",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "bool",
    ):
        saved[dtype] = torch.tensor([0, 1, 100]).to(getattr(torch, dtype))
    return saved


def same(found, saved):
    assert list(found) == list(saved)
    for name, tensor in saved.items():
        assert bits(found[name]) == bits(tensor), name
        assert (
            found[name].stride() == tensor.stride()
            and found[name].requires_grad == tensor.requires_grad
        ), name
        assert type(found[name]).__name__ == type(tensor).__name__, name
    for name in ("t", "part", "column"):
        assert (
            found[name].data_ptr() - found["x"].data_ptr()
            == saved[name].data_ptr() - saved["x"].data_ptr()
        ), name


def test_round_trip(tmp_path):
    saved = everything()
    torch.save(saved, tmp_path / "all.pth")
    same(torch.load(tmp_path / "all.pth"), saved)


@pytest.mark.parametrize("mmap", [False, True])
def test_pytorch_reads_it(tmp_path, mmap):
    saved = everything()
    torch.save(saved, tmp_path / "all.pth")
    same(real().load(tmp_path / "all.pth", weights_only=True, mmap=mmap), saved)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_optimizers_go_on_in_pytorch(tmp_path, name):
    t = real()
    options = {"SGD": {"momentum": 0.9}}.get(name, {})

    def step(lib, p, optimizer, n):
        for _ in range(n):
            p.grad = p.detach() * 2 + 1
            optimizer.step()

    p = torch.nn.Parameter(torch.tensor([1.0, -2.0, 3.0]))
    optimizer = getattr(torch.optim, name)([p], lr=0.05, **options)
    step(torch, p, optimizer, 3)
    torch.save({"p": p, "optimizer": optimizer.state_dict()}, tmp_path / "o.pth")
    step(torch, p, optimizer, 2)
    found = t.load(tmp_path / "o.pth", weights_only=True)
    other = getattr(t.optim, name)([found["p"]], lr=1.0, **options)
    other.load_state_dict(found["optimizer"])
    step(t, found["p"], other, 2)
    assert np.allclose(found["p"].detach().numpy(), p.detach().numpy(), rtol=1e-6)
    t.save(other.state_dict(), tmp_path / "back.pth")
    optimizer.load_state_dict(torch.load(tmp_path / "back.pth"))
    assert optimizer.param_groups[0]["lr"] == 0.05


def test_modules_are_read_by_pytorch(tmp_path):
    t = real()
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2)
    )
    torch.save(model, tmp_path / "m.pth")
    theirs = t.load(tmp_path / "m.pth", weights_only=False)
    x = np.random.default_rng(0).normal(size=(2, 1, 4, 4)).astype("f4")
    expected = model(torch.from_numpy(x)).detach().numpy()
    assert type(theirs[1]) is t.nn.BatchNorm2d
    assert np.allclose(theirs(t.from_numpy(x)).detach().numpy(), expected, atol=1e-5)


def test_nothing_in_the_file_tells_who_wrote_it():
    model = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Tanh())
    p = torch.nn.Parameter(torch.ones(1))
    p.note = "mine"
    things = [
        model,
        model.state_dict(),
        torch.optim.Adam(model.parameters()).state_dict(),
        torch.float32,
        torch.Size([1]),
    ]
    things += [torch.device("cpu"), torch.strided, p, everything()]
    buffer = io.BytesIO()
    torch.save(things, buffer)
    assert b"autolab" not in buffer.getvalue()
    names = zipfile.ZipFile(buffer).namelist()
    assert {"archive/data.pkl", "archive/byteorder", "archive/version", "archive/data/0"} <= set(
        names
    )


def test_a_big_tensor_is_saved_once_with_its_views():
    x = torch.zeros(100_000)
    buffer = io.BytesIO()
    torch.save([x, x[:10], x.data[50:], x.detach()], buffer)
    assert buffer.tell() < 410_000


class TestErrors:
    def test_no_folder(self, tmp_path):
        with pytest.raises(
            RuntimeError, match=f"Parent directory {tmp_path}/no does not exist."
        ) as caught:
            torch.save(1, tmp_path / "no" / "x.pth")
        assert "os.makedirs" in caught.value.__notes__[0]

    def test_no_file(self, tmp_path):
        with pytest.raises(
            AttributeError,
            match="expected 'f' to be string, path, or a file-like object with a 'write' attribute",
        ):
            torch.save(1, None)
        with pytest.raises(IsADirectoryError, match="Is a directory"):
            torch.save(1, tmp_path)

    @pytest.mark.parametrize(
        "options", [{"_use_new_zipfile_serialization": False}, {"pickle_module": os}]
    )
    def test_what_is_not_supported(self, options):
        with pytest.raises(
            NotImplementedError,
            match=f"argument '{next(iter(options))}' is not supported by autolab",
        ):
            torch.save(1, io.BytesIO(), **options)

    def test_what_cannot_be_pickled_leaves_the_old_file(self, tmp_path):
        path = tmp_path / "x.pth"
        torch.save({"x": torch.ones(2)}, path)
        with pytest.raises(Exception, match="lambda|pickle"):
            torch.save({"x": torch.zeros(2), "f": lambda: 0}, path)
        assert torch.load(path)["x"].tolist() == [1, 1] and [*tmp_path.iterdir()] == [path]


def test_a_failing_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.pth"
    torch.save({"x": torch.ones(2)}, path)

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        torch.save({"x": torch.zeros(2)}, path)
    assert torch.load(path)["x"].tolist() == [1, 1] and [*tmp_path.iterdir()] == [path]


def test_a_link_and_rights_stay(tmp_path):
    target, link = tmp_path / "target.pth", tmp_path / "link.pth"
    torch.save(1, target)
    mask = os.umask(0)
    os.umask(mask)
    assert target.stat().st_mode & 0o777 == 0o666 & ~mask
    target.chmod(0o600)
    link.symlink_to(target)
    torch.save(2, link)
    assert link.is_symlink() and torch.load(target) == 2 and target.stat().st_mode & 0o777 == 0o600
