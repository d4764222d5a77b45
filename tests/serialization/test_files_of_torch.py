"""Files that PyTorch 2.13 wrote (`files/write.py`), read without it."""

import io
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from goldens.oracle import ENGINE

import autolab as torch

pytestmark = pytest.mark.skipif(ENGINE != "autolab", reason="autolab's own reader")
FILES = Path(__file__).parent / "files"


@pytest.fixture(params=["values.pth", "legacy.pth"])
def values(request):
    with pytest.warns(UserWarning, match="autolab has no bfloat16: .* read as float32"):
        return torch.load(FILES / request.param)


def test_values_and_dtypes(values):
    expected = {
        "half": (torch.float16, [np.float16(0.1), 65504.0]),
        "bfloat16": (
            torch.float32,
            [0.10009765625, -3.00405527047391e38],
        ),  # what bfloat16 makes of 0.1 and -3e38
        "double": (torch.float64, [0.1]),
        "bytes": (torch.uint8, [0, 255]),
        "uint16": (torch.uint16, [0, 65535]),
        "bool": (torch.bool, [True, False]),
        "scalar": (torch.float32, 2.5),
        "empty": (torch.float32, []),
        "expanded": (torch.float32, [4.0] * 3),
        "x": (torch.float32, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]),
        "transposed": (torch.float32, [[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]]),
        "part": (torch.float32, [[5, 6], [9, 10]]),
    }
    for name, (dtype, numbers) in expected.items():
        assert (values[name].dtype, values[name].tolist()) == (dtype, numbers), name
    assert [t.dtype for t in values["ints"]] == [torch.int8, torch.int16, torch.int32, torch.int64]
    assert all(t.tolist() == [1, -1] for t in values["ints"])
    assert values["empty"].shape == (0, 3) and values["scalar"].shape == ()
    assert values["plain"]["list"] == [
        1,
        2.5,
        None,
        True,
        "text",
        (1, 2),
        b"bytes",
        {1, 2},
        1 + 2j,
        2**70,
    ]
    assert values["plain"][3] == "three"
    assert values["size"] == torch.Size([2, 3]) and type(values["size"]) is torch.Size
    assert values["dtype"] is torch.float16 and values["device"] == torch.device("cpu")


def test_memory_that_was_shared_is_shared(values):
    x, t, part = values["x"], values["transposed"], values["part"]
    assert (x.stride(), t.stride(), part.stride()) == ((4, 1), (1, 4), (4, 1))
    assert (x.storage_offset(), part.storage_offset()) == (0, 5)
    assert not t.is_contiguous() and values["expanded"].stride() == (0,)
    x[1, 1] = 100
    assert t[1, 1] == 100 and part[0, 0] == 100
    assert values["half"].data_ptr() != values["double"].data_ptr()


def test_gradients_are_asked_for_as_before(values):
    parameter, frozen, asking = values["parameter"], values["frozen"], values["asking"]
    assert (
        type(parameter) is torch.nn.Parameter
        and parameter.requires_grad
        and parameter.tolist() == [1.5, -2.5]
    )
    assert type(frozen) is torch.nn.Parameter and not frozen.requires_grad
    assert type(asking) is torch.Tensor and asking.requires_grad and asking.is_leaf
    assert not values["x"].requires_grad
    (parameter * asking).sum().backward()
    assert parameter.grad.tolist() == [3.0, 3.0] and asking.grad.tolist() == [-1.0]


def test_a_state_dict_is_loaded(values):
    state = values["state"]
    assert type(state) is OrderedDict and state._metadata["1"] == {"version": 2}
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    assert repr(model.load_state_dict(state)) == "<All keys matched successfully>"
    assert [p.flatten()[0].item() for p in model.parameters()] == [0.5, 1.5, 2.5, 3.5]
    assert model[1].num_batches_tracked.dtype is torch.int64


def test_a_whole_module_needs_trust():
    path = FILES / "module.pth"
    with pytest.raises(Exception, match="Weights only load failed") as caught:
        torch.load(path)
    assert "torch.nn.modules.container.Sequential was not an allowed global by default" in str(
        caught.value
    )
    assert "state_dict()" in caught.value.__notes__[0]
    with pytest.warns(UserWarning, match="runs whatever code the file names"):
        model = torch.load(path, weights_only=False)
    assert type(model) is torch.nn.Sequential and type(model[0]) is torch.nn.Linear
    x = torch.ones(1, 2)
    expected = np.tanh(
        x.numpy() @ model[0].weight.detach().numpy().T + model[0].bias.detach().numpy()
    )
    assert np.allclose(model(x).detach().numpy(), expected, atol=1e-6)


def test_mmap_is_refused():
    with pytest.raises(NotImplementedError, match="argument 'mmap' is not supported"):
        torch.load(FILES / "values.pth", mmap=True)


class TestMapLocation:
    @pytest.mark.parametrize(
        "where",
        [
            "cpu",
            torch.device("cpu"),
            {"cpu": "cpu"},
            {"cuda:0": "cpu"},
            lambda storage, _: storage,
            lambda *_: None,
            None,
        ]
        + [lambda storage, location: storage.cpu()],
    )
    def test_to_the_cpu(self, where):
        assert torch.load(FILES / "plain.pth", map_location=where)["x"].device == torch.device(
            "cpu"
        )

    @pytest.mark.parametrize(
        ("where", "kind", "words"),
        [
            (
                "foo",
                RuntimeError,
                "don't know how to restore data location of torch.storage.UntypedStorage \\(tagged with foo\\)",
            ),
            ("meta", RuntimeError, "don't know how to restore data location"),
            (3, TypeError, "'int' object is not callable"),
            (
                lambda *_: "cpu",
                TypeError,
                "Argument 'wrap_storage' must be UntypedStorage, but got <class 'str'>",
            ),
        ],
    )
    def test_nowhere(self, where, kind, words):
        with pytest.raises(kind, match=words) as caught:
            torch.load(FILES / "plain.pth", map_location=where)
        assert caught.value.__notes__

    @pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
    def test_no_gpu(self):
        for where in (
            "cuda",
            torch.device("cuda:0"),
            {"cpu": "cuda:1"},
            lambda storage, _: storage.cuda(),
        ):
            with pytest.raises(
                RuntimeError, match="Attempting to deserialize object on a CUDA device"
            ) as caught:
                torch.load(FILES / "plain.pth", map_location=where)
            assert "map_location='cpu'" in caught.value.__notes__[0]

    def test_to_a_simulated_gpu(self):
        saved = {"x": torch.arange(12.0).reshape(3, 4)}
        saved["part"] = saved["x"][1:, 1:3]
        buffer = io.BytesIO()
        torch.save(
            {name: t.to("sim:0") for name, t in saved.items()}
            | {"view": (y := saved["x"].to("sim:0"), y.t())},
            buffer,
        )
        buffer.seek(0)
        loaded = torch.load(buffer, map_location="sim:0")
        assert {str(loaded[name].device) for name in saved} == {"sim:0"}
        assert loaded["part"].tolist() == [[5, 6], [9, 10]]
        y, transposed = loaded["view"]
        y[0, 1] = 50
        assert transposed[1, 0].item() == 50 and transposed.stride() == (1, 4)
        buffer.seek(0)
        assert str(torch.load(buffer)["x"].device) == "cpu", (
            "a simulated GPU is no place that PyTorch knows"
        )
