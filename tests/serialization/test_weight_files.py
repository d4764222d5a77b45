""".safetensors: equal bits both ways, and damaged or hostile files refused."""

import json
import struct

import numpy as np
import pytest
from goldens.oracle import ENGINE, LIVE

import autolab as torch
from autolab.serialization import read_weights, save_safetensors

pytest.importorskip("safetensors")
pytestmark = pytest.mark.skipif(ENGINE != "autolab", reason="autolab's own reader")


def tensors():
    torch.manual_seed(0)
    found = {
        "w": torch.randn(2, 3),
        "t": torch.randn(2, 3).t(),
        "scalar": torch.tensor(2.5),
        "empty": torch.empty(0, 2),
    }
    for dtype in ("float16", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"):
        found[dtype] = torch.tensor([0, 1, 100]).to(getattr(torch, dtype))
    return found


def same(found, saved):
    assert set(found) == set(saved)
    for name, t in saved.items():
        a, b = found[name].detach().numpy(), t.numpy()
        assert (a.dtype, a.shape, a.tobytes()) == (
            b.dtype,
            b.shape,
            np.ascontiguousarray(b).tobytes(),
        ), name


def test_round_trip(tmp_path):
    path = tmp_path / "m.safetensors"
    save_safetensors(tensors(), path, {"format": "pt"})
    same(read_weights(path), tensors())
    same(torch.load(path, map_location=torch.device("cpu")), tensors())
    read_weights(path)["w"].add_(1)


def test_both_ways_with_pytorch(tmp_path):
    if not LIVE:
        pytest.skip("PyTorch 2.13 is not installed")
    library = pytest.importorskip("safetensors.torch")
    save_safetensors(tensors(), tmp_path / "ours.safetensors")
    theirs = library.load_file(tmp_path / "ours.safetensors")
    same(theirs, tensors())
    library.save_file(theirs, tmp_path / "theirs.safetensors")
    same(read_weights(tmp_path / "theirs.safetensors"), tensors())


def raw(header, data=b"", length=None):
    header = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(header) if length is None else length) + header + data


def entry(first, end, dtype="F32", shape=(2,)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [first, end]}


def test_bfloat16_is_read_as_float32(tmp_path):
    path = tmp_path / "m.safetensors"
    path.write_bytes(raw({"x": entry(0, 4, "BF16")}, struct.pack("<HH", 0x3F80, 0xC000)))
    with pytest.warns(UserWarning, match="autolab has no bfloat16"):
        x = read_weights(path)["x"]
    assert x.dtype is torch.float32 and x.tolist() == [1.0, -2.0]


DAMAGED = {
    "empty": (b"", ValueError, "it has no header"),
    "web page": (b"<!DOCTYPE html><html>", ValueError, "it has no header"),
    "lfs pointer": (b"version https://git-lfs.github.com/spec/v1", ValueError, "it has no header"),
    "huge header": (
        raw({"x": entry(0, 8)}, bytes(8), length=1 << 60),
        ValueError,
        "a header of 1,152,921,504,606,846,976 bytes",
    ),
    "cut": (raw({"x": entry(0, 8)}, bytes(4)), ValueError, "is not a whole .safetensors file"),
    "too long": (
        raw({"x": entry(0, 8)}, bytes(12)),
        ValueError,
        "is not a whole .safetensors file",
    ),
    "overlap": (
        raw({"x": entry(0, 8), "y": entry(4, 12)}, bytes(12)),
        ValueError,
        "is not a whole .safetensors file",
    ),
    "hole": (
        raw({"x": entry(0, 8), "y": entry(12, 20)}, bytes(20)),
        ValueError,
        "is not a whole .safetensors file",
    ),
    "out of range": (
        raw({"x": entry(0, 1 << 40, shape=(1 << 38,))}, bytes(8)),
        ValueError,
        "is not a whole .safetensors file",
    ),
    "backwards": (
        raw({"x": entry(8, 0)}, bytes(8)),
        ValueError,
        "is not a whole .safetensors file",
    ),
    "shape and size": (
        raw({"x": entry(0, 8, shape=(3,))}, bytes(8)),
        ValueError,
        "is not a whole .safetensors file",
    ),
    "negative shape": (
        raw({"x": entry(0, 8, shape=(-2,))}, bytes(8)),
        ValueError,
        "is not a whole .safetensors file",
    ),
    "unknown dtype": (
        raw({"x": entry(0, 8, "F99")}, bytes(8)),
        ValueError,
        "is not a whole .safetensors file",
    ),
    "no JSON": (raw(b"{nonsense"), ValueError, "is not a whole .safetensors file"),
    "float8": (
        raw({"x": entry(0, 2, "F8_E5M2")}, bytes(2)),
        NotImplementedError,
        "dtype 'F8_E5M2' is not supported",
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged(name, tmp_path):
    content, kind, words = DAMAGED[name]
    path = tmp_path / "m.safetensors"
    path.write_bytes(content)
    with pytest.raises(kind, match=words) as caught:
        read_weights(path)
    assert caught.value.__notes__
    if name == "web page":
        assert "a web page" in caught.value.__notes__[0]


def test_what_cannot_be_saved(tmp_path):
    x = torch.ones(2)
    path = tmp_path / "m.safetensors"
    for wrong, kind, words in (
        ({"a": x, "b": x}, RuntimeError, "Some tensors share memory.*'a', 'b'"),
        ({"a": [1]}, TypeError, "'a' is a list, expected a tensor by name"),
    ):
        with pytest.raises(kind, match=words):
            save_safetensors(wrong, path)
        assert not path.exists()
    for where, words in (({}, "dict"), (lambda s, _: s, "callable")):
        save_safetensors({"a": x}, path)
        with pytest.raises(
            RuntimeError,
            match=f"Loading safetensors file with {words} map_location is not supported",
        ):
            torch.load(path, map_location=where)


def test_without_the_package(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "safetensors", None)
    with pytest.raises(ImportError, match="needs the package safetensors") as caught:
        torch.load(tmp_path / "m.safetensors")
    assert "pip install safetensors" in caught.value.__notes__[0]


def test_an_index_of_several_files_is_refused(tmp_path):
    index = tmp_path / "model.safetensors.index.json"
    index.write_text("{}")
    with pytest.raises(NotImplementedError, match="is an index of several files"):
        read_weights(index)
    with pytest.raises(FileNotFoundError, match="no weights file"):
        read_weights(tmp_path)


def test_files_that_hold_something_else(tmp_path):
    path = tmp_path / "x.pth"
    torch.save({"epoch": 3, "model": {"w": torch.ones(1)}}, path)
    with pytest.raises(
        ValueError, match="holds more than tensors by name: 'epoch' is a int"
    ) as caught:
        read_weights(path)
    assert "torch.load(path)['model']" in caught.value.__notes__[0]
    torch.save(torch.ones(1), path)
    with pytest.raises(ValueError, match="does not hold tensors by name"):
        read_weights(path)
