"""Files that are damaged, or made to do harm: each is refused with an error of its own and a note, and nothing is run
or left."""

import io
import os
import pickle
import struct
import zipfile
from pathlib import Path

import pytest
from goldens.oracle import ENGINE, LIVE

import autolab as torch

pytestmark = pytest.mark.skipif(ENGINE != "autolab", reason="autolab's own reader")
FILES = Path(__file__).parent / "files"


def good():
    buffer = io.BytesIO()
    torch.save({"x": torch.arange(4.0)}, buffer)
    return buffer.getvalue()


def archive(changes=(), add=(), compression=zipfile.ZIP_STORED, folder="archive"):
    """A checkpoint whose records `changes` (name -> content, or None to leave out) differ; `add`: more (name,
    content)."""
    out, changes = io.BytesIO(), dict(changes)
    with (
        zipfile.ZipFile(io.BytesIO(good())) as source,
        zipfile.ZipFile(out, "w", compression) as target,
    ):
        for name in source.namelist():
            short = name.partition("/")[2]
            content = changes.get(short, source.read(name))
            if content is not None:
                target.writestr(f"{folder}/{short}", content)
        for name, content in add:
            target.writestr(name, content)
    return out.getvalue()


def pickled(body):
    """A checkpoint with this pickle (without PROTO and STOP)."""
    return archive({"data.pkl": b"\x80\x02" + body + b"."})


def text(word):
    return b"X" + struct.pack("<I", len(word)) + word.encode()


def number(n):
    data = pickle.encode_long(n)
    return b"\x8a" + bytes([len(data)]) + data


def tensor(offset=0, size=(4,), stride=(1,), numel=4, storage="FloatStorage", key="0", end=b"\x89"):
    """The pickle of a tensor; `end`: requires_grad."""
    shape = lambda numbers: b"(" + b"".join(map(number, numbers)) + b"t"
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + b"ctorch\n" + storage.encode() + b"\n" + text(key)
        + text("cpu") + number(numel) + b"tQ" + number(offset) + shape(size) + shape(stride) + end
        + b"ccollections\nOrderedDict\n)RtR"
    )  # fmt: skip


def reduce(function, *arguments):
    module, _, name = function.rpartition(".")
    return f"c{module}\n{name}\n(".encode() + b"".join(arguments) + b"tR"


def tar():
    import tarfile

    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as target:
        target.addfile(tarfile.TarInfo("pickle"))
    return out.getvalue()


def legacy(cut=0, keys=None, magic=None):
    content = (FILES / "legacy.pth").read_bytes()
    if magic is not None:
        return pickle.dumps(magic, 2) + content[15:]
    if keys is not None:
        return content.replace(*keys)
    return content[: len(content) - cut]


def bomb():
    """Ten records that declare 4 GB together, of a few kB."""
    return archive(
        add=[(f"archive/data/{i}", bytes(1 << 20)) for i in range(1, 11)],
        compression=zipfile.ZIP_DEFLATED,
    )


def lying_sizes():
    """The directory declares more than the file has."""
    content = bytearray(good())
    start = content.rindex(
        b"PK\x01\x02", 0, content.index(b"archive/version", content.index(b"PK\x01\x02"))
    )
    content[start + 20 : start + 28] = struct.pack("<II", 1 << 30, 1 << 30)
    return bytes(content)


def flipped(name="data/0"):
    """One bit of a storage is another."""
    content = bytearray(good())
    with zipfile.ZipFile(io.BytesIO(good())) as z:
        info = z.getinfo(f"archive/{name}")
    content[info.header_offset + 30 + len(info.filename) + len(info.extra) + 8] ^= 1
    return bytes(content)


WO = "Weights only load failed"
CASES = {
    # not a checkpoint
    "empty": (b"", EOFError, "Ran out of input", "empty or ends too early"),
    "web page": (b"<!DOCTYPE html><html>404", pickle.UnpicklingError, "Unsupported operand 60", "a web page"),
    "lfs pointer": (b"version https://git-lfs.github.com/spec/v1\noid", pickle.UnpicklingError, "Unsupported operand 118", "git lfs pull"),
    "picture": (b"\x89PNG\r\n\x1a\n", pickle.UnpicklingError, "Unsupported operand 80", "a picture"),
    "gzip": (b"\x1f\x8b\x08\x00", pickle.UnpicklingError, "Unsupported operand 31", "gzip"),
    "json": (b'{"a": 1}', pickle.UnpicklingError, "Unsupported operand 123", "JSON"),
    "tar": (tar(), RuntimeError, "legacy .tar format", "has to be unpacked"),
    "another pickle": (pickle.dumps([1, 2], 2), RuntimeError, "Invalid magic number; corrupt file?", "not one that torch.save wrote"),
    "another zip": (archive({"data.pkl": None}), RuntimeError, "locating file data.pkl", "not one that torch.save wrote"),
    "TorchScript": (archive(add=[("archive/constants.pkl", b"")]), RuntimeError, "TorchScript archives", "compiled program"),
    # damaged
    "truncated": (good()[:-60], RuntimeError, "failed finding central directory", "ends too early"),
    "start of a zip": (b"PK\x03\x04abc", RuntimeError, "reading zip archive: not a ZIP archive", "ends too early"),
    "flipped bit": (flipped(), RuntimeError, "reading file data/0: Bad CRC-32", "again"),
    "flipped bit in the pickle": (flipped("data.pkl"), RuntimeError, "reading file data.pkl: Bad CRC-32", "again"),
    "no storage": (archive({"data/0": None}), RuntimeError, "locating file data/0: file not found", "A storage is missing"),
    "short storage": (archive({"data/0": bytes(8)}), RuntimeError, r"record size .8 bytes. does not match expected size .16 bytes", "another size"),
    "long storage": (archive({"data/0": bytes(32)}), RuntimeError, r"record size .32 bytes. does not match expected size .16 bytes", "another size"),
    "pickle cut": (archive({"data.pkl": b"\x80\x02}("}), EOFError, "Ran out of input", "ends too early"),
    "byte order": (archive({"byteorder": b"big"}), NotImplementedError, "byte order 'big' is not supported", "usual computer"),
    "legacy cut": (legacy(cut=10), RuntimeError, "unexpected EOF, expected 4 more bytes", "ends too early"),
    "legacy magic": (legacy(magic=5), RuntimeError, "Invalid magic number", "not one that torch.save wrote"),
    "empty stack": (pickled(b"0" * 0 + b"R"), pickle.UnpicklingError, "the pickle is damaged: IndexError", "again"),
    "no mark": (pickled(b"N" + b"u"), pickle.UnpicklingError, "the pickle is damaged", "again"),
    "unknown memo": (pickled(b"h\x05"), pickle.UnpicklingError, "Memo value not found at index 5", "again"),
    "unhashable key": (pickled(b"}]Ns"), pickle.UnpicklingError, "the pickle is damaged: TypeError", "again"),
    # tricks in the archive
    "compressed": (bomb(), RuntimeError, "it is compressed", "zip -0"),
    "sizes that lie": (lying_sizes(), RuntimeError, "declared in a file of", "fill a computer's memory"),
    "path": (archive(add=[("archive/../../etc/passwd", b"x")]), RuntimeError, "unsafe record name", "points elsewhere"),
    "absolute path": (archive(add=[("/etc/passwd", b"x")]), RuntimeError, "unsafe record name", "points elsewhere"),
    "windows path": (archive(add=[("archive\\..\\x", b"x")]), RuntimeError, "unsafe record name", "points elsewhere"),
    "two folders": (archive(add=[("other/x", b"x")]), RuntimeError, "records in 2 folders", "A checkpoint has one"),
    # what would run or reach code
    "os.system": (pickled(reduce("posix.system", text("true"))), pickle.UnpicklingError, "whose module posix is blocked", "Delete it"),
    "eval": (pickled(reduce("builtins.eval", text("1"))), pickle.UnpicklingError, "GLOBAL eval was not an allowed", "code that loading"),
    "Python 2's eval": (pickled(reduce("__builtin__.eval", text("1"))), pickle.UnpicklingError, "GLOBAL eval was not", "code"),
    "getattr": (pickled(reduce("builtins.getattr", text("a"), text("b"))), pickle.UnpicklingError, "GLOBAL getattr", "code"),
    "dotted name": (pickled(b"ctorch\nTensor.__init__.__globals__\n"), pickle.UnpicklingError, "was not an allowed global", "code"),
    "protocol 4": (archive({"data.pkl": b"\x80\x04\x8c\x02os\x8c\x06system\x93."}), pickle.UnpicklingError, "Unsupported operand 140", ""),
    "out of band": (archive({"data.pkl": b"\x80\x05\x97."}), pickle.UnpicklingError, "Unsupported operand 151", "again"),
    "extension": (pickled(b"\x82\x01"), pickle.UnpicklingError, "Unsupported operand 130", "again"),
    "instance": (pickled(b"(i__main__\nX\n"), pickle.UnpicklingError, "Unsupported operand 105", "again"),
    "calling a result": (pickled(text("abc") + b")R"), pickle.UnpicklingError, "unrecognized function abc", "again"),
    "state of a dtype": (pickled(b"ctorch\nfloat32\n}b"), pickle.UnpicklingError, "Can only build Tensor", "again"),
    "attributes": (pickled(b"ccollections\nOrderedDict\n)R}" + text("pop") + b"Nsb"), pickle.UnpicklingError, "Can only build Tensor", ""),
    "append to a dict": (pickled(b"}Na"), pickle.UnpicklingError, "the pickle is damaged: AttributeError", "again"),
    "a persistent id": (pickled(text("x") + b"Q"), pickle.UnpicklingError, "Only persistent_load of storage is allowed", "again"),
    # what would take all memory
    "tensor of a number": (pickled(reduce("torch.Tensor", number(10**13))), pickle.UnpicklingError, "unrecognized function", "again"),
    "bytearray": (pickled(reduce("builtins.bytearray", number(10**13))), pickle.UnpicklingError, "GLOBAL bytearray was not", "code"),
    "huge text": (archive({"data.pkl": b"\x80\x02X\xff\xff\xff\x7f."}), (EOFError, pickle.UnpicklingError), "Ran out of input|damaged", "again"),
    "huge storage": (pickled(tensor(numel=1 << 40)), RuntimeError, f"does not match expected size .{1 << 42} bytes", "another size"),
    # tensors that would look beyond their memory
    "offset": (pickled(tensor(offset=1)), pickle.UnpicklingError, "storage offset 1, .* requiring a storage size of 20", "beyond"),
    "size": (pickled(tensor(size=(5,))), pickle.UnpicklingError, "out of bounds for storage of size 16", "beyond"),
    "stride": (pickled(tensor(stride=(2,))), pickle.UnpicklingError, "requiring a storage size of 28", "beyond"),
    "negative size": (pickled(tensor(size=(-4,))), pickle.UnpicklingError, r"negative size: \(-4,\)", "again"),
    "negative stride": (pickled(tensor(stride=(-1,))), pickle.UnpicklingError, r"negative stride: \(-1,\)", "again"),
    "negative offset": (pickled(tensor(offset=-1)), pickle.UnpicklingError, "negative storage offset: -1", "again"),
    "negative storage": (pickled(tensor(numel=-4)), pickle.UnpicklingError, "negative number of elements: -4", "again"),
    "too few strides": (pickled(tensor(size=(2, 2))), pickle.UnpicklingError, r"has size \(2, 2\), stride \(1,\)", "again"),
    "overflow": (pickled(tensor(size=(1 << 40, 1 << 40), stride=(0, 0))), pickle.UnpicklingError, "cannot be addressed", "again"),
    "no flag": (pickled(tensor(end=b"N")), pickle.UnpicklingError, "requires_grad is a NoneType", "again"),
    "key with a path": (pickled(tensor(key="../x")), RuntimeError, "locating file data/../x", "missing"),
    # what is not here
    "wrong dtype": (pickled(tensor(storage="FooStorage")), pickle.UnpicklingError, "GLOBAL torch.FooStorage was not", "code"),
    "another width": (pickled(tensor(storage="DoubleStorage")), RuntimeError, "does not match expected size .32 bytes", "another size"),
    "float8": (pickled(b"ctorch\nfloat8_e5m2\n)R"), NotImplementedError, "float8_e5m2' is not supported", "usual numbers"),
    "quantised": (pickled(tensor(storage="QUInt8Storage")), NotImplementedError, "QUInt8Storage' is not supported", "dequantize"),
    "sparse": (pickled(reduce("torch._utils._rebuild_sparse_tensor", b"N")), NotImplementedError, "sparse_tensor' is not supported", "dense"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("place", ["path", "buffer"])
@pytest.mark.filterwarnings("ignore:Detected pickle protocol", "ignore:Duplicate name")
def test_refused(name, place, tmp_path, monkeypatch):
    content, kind, words, note = CASES[name]
    monkeypatch.setattr(os, "system", lambda *a: pytest.fail("code of the file was run"))
    path = tmp_path / "model.pth"
    path.write_bytes(content)
    with pytest.raises(kind, match=words) as caught:
        torch.load(path if place == "path" else io.BytesIO(content))
    assert note in " ".join(getattr(caught.value, "__notes__", [""])), caught.value
    if kind is pickle.UnpicklingError:
        assert str(caught.value).startswith(WO)
    assert [*tmp_path.iterdir()] == [path], "nothing is unpacked"


IN_PYTORCHS_WORDS = (
    *(
        "web page",
        "lfs pointer",
        "picture",
        "gzip",
        "json",
        "another pickle",
        "another zip",
        "TorchScript",
        "truncated",
    ),
    *(
        "start of a zip",
        "no storage",
        "legacy magic",
        "os.system",
        "eval",
        "Python 2's eval",
        "getattr",
    ),
    *(
        "dotted name",
        "protocol 4",
        "out of band",
        "extension",
        "instance",
        "calling a result",
    ),
    *("key with a path", "wrong dtype"),
)


@pytest.mark.parametrize("name", IN_PYTORCHS_WORDS)
@pytest.mark.filterwarnings("ignore")
def test_refused_in_pytorchs_words(name):
    if not LIVE:
        pytest.skip("PyTorch 2.13 is not installed")
    said = []
    for library in (pytest.importorskip("torch"), torch):
        with pytest.raises(CASES[name][1]) as caught:
            library.load(io.BytesIO(CASES[name][0]))
        said.append(str(caught.value))
    assert said[1] == said[0]


def test_the_good_file_is_good():
    """Each case above differs from this in one thing."""
    assert torch.load(io.BytesIO(archive()))["x"].tolist() == [0, 1, 2, 3]
    assert torch.load(io.BytesIO(pickled(tensor()))).tolist() == [0, 1, 2, 3]
    assert torch.load(io.BytesIO(pickled(tensor(size=(2, 2), stride=(1, 2))))).tolist() == [
        [0, 2],
        [1, 3],
    ]


def test_texts_of_python_2():
    assert torch.load(io.BytesIO(pickled(b"U\x03k\xc3\xa9"))) == "ké"
    with pytest.raises(pickle.UnpicklingError, match="damaged: UnicodeDecodeError"):
        torch.load(io.BytesIO(pickled(b"U\x02\xff\xfe")))


@pytest.mark.filterwarnings("ignore:torch.load with weights_only=False")
def test_tar_archives_are_not_read_with_weights_only_false_either():
    with pytest.raises(
        NotImplementedError, match="legacy .tar format are not supported by autolab"
    ) as caught:
        torch.load(io.BytesIO(tar()), weights_only=False)
    assert "Load it in PyTorch and save it again" in caught.value.__notes__[0]


def test_every_cut_is_an_error(tmp_path):
    """However many bytes of a file have arrived."""
    for content in (good(), (FILES / "legacy.pth").read_bytes()):
        for length in range(0, len(content), 7):
            with pytest.raises((RuntimeError, EOFError, pickle.UnpicklingError)) as caught:
                torch.load(io.BytesIO(content[:length]))
            assert caught.value.__notes__, length


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["values.pth", "legacy.pth", "module.pth"])
def test_changed_bytes_anywhere(name):
    """No changed byte of a file leads to anything but the errors that torch.load names."""
    import random

    content, draw = (FILES / name).read_bytes(), random.Random(1)
    for _ in range(300):
        changed = bytearray(content)
        for _ in range(draw.choice([1, 1, 5])):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        try:
            torch.load(io.BytesIO(bytes(changed)))
        except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
            assert error.__notes__


def test_no_file_and_no_reader(tmp_path):
    with pytest.raises(FileNotFoundError, match="No such file or directory"):
        torch.load(tmp_path / "nothing.pth")
    with pytest.raises(IsADirectoryError, match="Is a directory"):
        torch.load(tmp_path)
    with pytest.raises(
        AttributeError,
        match="'NoneType' object has no attribute 'seek'. You can only torch.load from a file",
    ):
        torch.load(None)
    with pytest.raises(TypeError, match="a bytes-like object is required"):
        torch.load(io.StringIO("text"))


class Allowed:
    def __init__(self):
        self.n = 3


def test_what_the_user_allows():
    buffer = io.BytesIO()
    torch.save({"a": Allowed()}, buffer)
    content = buffer.getvalue()
    with pytest.raises(
        pickle.UnpicklingError, match="Allowed was not an allowed global by default"
    ):
        torch.load(io.BytesIO(content))
    with torch.serialization.safe_globals([Allowed]):
        assert torch.load(io.BytesIO(content))["a"].n == 3
    with pytest.raises(pickle.UnpicklingError, match="Allowed was not an allowed"):
        torch.load(io.BytesIO(content))
    with torch.serialization.safe_globals([(os.system, "posix.system")]):
        with pytest.raises(pickle.UnpicklingError, match="whose module posix is blocked"):
            torch.load(io.BytesIO(CASES["os.system"][0]))
