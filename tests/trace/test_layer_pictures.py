"""Pictures of layers: equal for PyTorch's graph and ours, true to their tensors, bounded in size, with gaps stated."""

import base64
import gc
import json

import numpy as np
import pytest
from goldens import oracle

import autolab
from autolab.trace.layers import panels
from autolab.trace import pictures, trace
from autolab.trace.model import Trace

F = autolab.nn.functional


def convolution(torch, **options):
    torch.manual_seed(1)
    groups = options.get("groups", 1)
    x = torch.randn(2, 4, 6, 7, requires_grad=True)
    w = torch.randn(6, 4 // groups, 3, 2, requires_grad=True)
    b = torch.randn(6, requires_grad=True)
    y = torch.nn.functional.conv2d(x, w, b, **options)
    return (y**2).sum(), {"x": x, "w": w, "b": b}


def sequence(torch):
    torch.manual_seed(4)
    x, w = torch.randn(2, 3, 40, requires_grad=True), torch.randn(2, 3, 5, requires_grad=True)
    return (torch.nn.functional.conv1d(x, w, padding=2) ** 2).sum(), {"x": x, "w": w}


def frozen(torch):
    torch.manual_seed(5)
    x, w, b = torch.randn(1, 1, 4, 4), torch.randn(2, 1, 3, 3, requires_grad=True), torch.randn(2)
    return (torch.nn.functional.conv2d(x, w, b) ** 2).sum(), {"w": w}


def pooling(torch, name, *args, size=(2, 3, 7, 8), **options):
    torch.manual_seed(2)
    x = torch.randn(*size, requires_grad=True)
    return (getattr(torch.nn.functional, name)(x, *args, **options) ** 2).sum(), {"x": x}


def normalisation(torch, name, *args, size=(3, 4, 5, 5), train=True):
    torch.manual_seed(3)
    layer = getattr(torch.nn, name)(*args)
    x = (torch.randn(*size) * 2 + 1).requires_grad_()
    if name.startswith("Batch"):
        layer(x)
    layer.train(train)
    return (layer(x) ** 2).sum(), {"x": x, **dict(layer.named_parameters())}


LAYERS = {
    "convolution": lambda t: convolution(t),
    "strides and dilation": lambda t: convolution(
        t, stride=(2, 1), padding=(1, 2), dilation=(1, 2)
    ),
    "groups": lambda t: convolution(t, groups=2),
    "sequence without bias": sequence,
    "frozen bias": frozen,
    "max": lambda t: pooling(t, "max_pool2d", 2),
    "max, overlapping": lambda t: pooling(t, "max_pool2d", 3, stride=2, padding=1),
    "max, ceil": lambda t: pooling(
        t, "max_pool2d", (2, 3), ceil_mode=True, dilation=(2, 1), stride=1
    ),
    "max, large": lambda t: pooling(t, "max_pool2d", 2, size=(1, 6, 40, 40)),
    "max, one dimension": lambda t: pooling(t, "max_pool1d", 2, size=(2, 3, 8)),
    "mean": lambda t: pooling(t, "avg_pool2d", 2),
    "mean, padded": lambda t: pooling(
        t, "avg_pool2d", 3, stride=2, padding=1, count_include_pad=False
    ),
    "mean, adaptive": lambda t: pooling(t, "adaptive_avg_pool2d", (3, 4)),
    "batch norm": lambda t: normalisation(t, "BatchNorm2d", 4),
    "batch norm, evaluation": lambda t: normalisation(t, "BatchNorm2d", 4, train=False),
    "batch norm of rows": lambda t: normalisation(t, "BatchNorm1d", 4, size=(5, 4)),
}


def layer_of(t: Trace) -> dict:
    (layer,) = [node.layer for node in t.nodes if node.layer is not None][-1:]
    return layer


def shown(panel: dict):
    """Return the numbers of a panel as an array."""
    if panel["numbers"] is not None:
        return np.array(panel["numbers"], dtype=float)
    raw = np.frombuffer(base64.b64decode(panel["bytes"]), np.int8).reshape(panel["shape"])
    return np.where(raw == -128, np.nan, raw / 127 * panel["scale"])


def find(layer: dict, what: str, run: int = 0) -> dict:
    (panel,) = [
        p for p in layer["panels"] if p["type"] == "maps" and (p["what"], p["run"]) == (what, run)
    ]
    return panel


@pytest.mark.parametrize("name", LAYERS)
def test_pytorchs_graph_gives_the_same_pictures_and_card(name):
    def program(torch):
        result, names = LAYERS[name](torch)
        layer = layer_of(trace(result, names, namespace={}))
        # Our nodes save small results; PyTorch's save none.
        layer["panels"] = [p for p in layer["panels"] if (p.get("what"), p["run"]) != ("y", 0)]
        layer["missing"] = [why for why in layer["missing"] if not why.startswith("y")]
        drawn = [
            {k: p[k] for k in ("title", "caption", "names", "run", "edge")} for p in layer["panels"]
        ]
        for panel, plain in zip(layer["panels"], drawn):
            if panel["type"] == "maps":
                plain |= {
                    "numbers": shown(panel).tolist(),
                    "windows": panel["windows"],
                    "marks": panel["marks"],
                }
            else:
                plain |= {"columns": panel["columns"], "intervals": panel["intervals"]}
        names_of = (
            layer["names"] if name != "frozen bias" else ""
        )  # ours saves a frozen bias, PyTorch's graph does not
        return [layer["kind"], names_of, json.dumps(layer["card"]), drawn, layer["missing"]]

    oracle.check("test_layer_pictures", name, program, rtol=1e-2, atol=2e-3)


@pytest.mark.parametrize("name", [n for n in LAYERS if "max" in n])
def test_winners_are_the_indices_that_pytorch_returns(name):
    """PyTorch's node saves the index of each maximum: the marks are those in the visible part."""

    def program(torch):
        result, names = LAYERS[name](torch)
        node = result.grad_fn.next_functions[0][0].next_functions[0][0]
        if "Squeeze" in node.name():
            node = node.next_functions[0][0]
        return (
            node._saved_result1[0].tolist()
            if node._saved_result1.ndim == 4
            else node._saved_result1.tolist()
        )

    indices = np.array(oracle.answer("test_layer_pictures", f"{name}: indices", program))
    result, names = LAYERS[name](autolab)
    panel = find(layer_of(trace(result, names, namespace={})), "x")
    width = 8 if name != "max, large" else 40
    for channel, marks in enumerate(panel["marks"]):
        expected: dict[tuple[int, int], int] = {}
        part = indices[channel] if name != "max, large" else indices[channel][6:14, 6:14]
        for index in part.ravel():
            place = divmod(int(index), width)
            place = place if name != "max, large" else (place[0] - 12, place[1] - 12)
            expected[place] = expected.get(place, 0) + 1
        assert {(r, c): n for r, c, n in marks} == expected, f"channel {channel}"


def recorded(build):
    with autolab.record() as recording:
        result, names = build(autolab)
        if result.requires_grad:
            result.backward()
    return layer_of(recording.trace()), names


def test_a_recording_shows_the_tensors_themselves():
    layer, tensors = recorded(LAYERS["convolution"])
    close = lambda panel, wanted: np.testing.assert_allclose(
        shown(panel), wanted, rtol=1e-3, atol=panel["scale"] / 200
    )
    x, w = tensors["x"], tensors["w"]
    close(find(layer, "x"), x.detach().numpy()[0])
    close(find(layer, "w"), w.detach().numpy()[:6, :4].reshape(24, 3, 2))
    y = F.conv2d(x, w, tensors["b"]).detach().numpy()
    close(find(layer, "y"), y[0])
    close(find(layer, "y", 1), 2 * y[0])
    close(find(layer, "x", 1), x.grad.numpy()[0])
    close(find(layer, "w", 1), w.grad.numpy().reshape(24, 3, 2))
    assert find(layer, "w")["names"][:5] == [
        *(f"filter 0 ← channel {i}" for i in range(4)),
        "filter 1 ← channel 0",
    ]
    assert find(layer, "w")["columns"] == 4
    assert find(layer, "y")["caption"] == "Image 0 of 2; all 6 channels."
    assert layer["missing"] == []


@pytest.mark.parametrize(
    ("name", "words"), [("sequence without bias", "no bias."), ("frozen bias", "and 2 biases: 20.")]
)
def test_the_card_knows_whether_there_is_a_bias(name, words):
    result, names = LAYERS[name](autolab)
    card = {line[0]: line[1] for line in layer_of(trace(result, names, namespace={}))["card"]}
    assert card["parameters"].endswith(words) and ("gradient of b" in card) is ("biases" in words)


def test_a_sequence_is_a_row():
    layer, tensors = recorded(sequence)
    assert find(layer, "x")["caption"].endswith(
        "all 3 channels; each square is the mean of 1×2 numbers."
    )
    assert find(layer, "x")["shape"] == [3, 1, 20] and find(layer, "w")["shape"] == [6, 1, 5]
    np.testing.assert_allclose(
        shown(find(layer, "x"))[:, 0],
        tensors["x"].detach().numpy()[0].reshape(3, 20, 2).mean(2),
        rtol=1e-3,
        atol=1e-4,
    )


def test_groups_name_the_channels_that_a_filter_reads():
    layer, _ = recorded(LAYERS["groups"])
    names = find(layer, "w")["names"]
    assert names[0] == "filter 0 ← channel 0" and names[-1] == "filter 5 ← channel 3"


def test_the_gradient_of_max_pooling_lies_on_the_winners():
    layer, _ = recorded(LAYERS["max"])
    there, back, arrived = find(layer, "x"), find(layer, "x", 1), find(layer, "y", 1)
    for channel, marks in enumerate(there["marks"]):
        places = {(r, c) for r, c, _ in marks}
        got = {(int(r), int(c)) for r, c in np.argwhere(shown(back)[channel])}
        assert got == places and len(places) == 3 * 4
        np.testing.assert_allclose(
            shown(back)[channel].sum(), shown(arrived)[channel].sum(), rtol=1e-3
        )
    assert there["windows"][:2] == [[0, 0, 2, 2], [0, 2, 2, 2]] and len(there["windows"]) == 12
    assert "dots mark the winner" in there["caption"]


def test_the_gradient_of_average_pooling_is_shared_out_evenly():
    layer, _ = recorded(LAYERS["mean"])
    back, arrived = shown(find(layer, "x", 1)), shown(find(layer, "y", 1))
    np.testing.assert_allclose(
        back[:, :6], np.kron(arrived / 4, np.ones((2, 2))), rtol=2e-3, atol=1e-4
    )
    assert not back[:, 6].any(), "the seventh row is in no window"


def statistics(layer):
    (panel,) = [
        p
        for p in layer["panels"]
        if p["type"] == "statistics" and p["title"] == "mean and variance"
    ]
    return {c["name"]: np.array(c["values"]) for c in panel["columns"]}, [
        c["name"] for c in panel["columns"] if c["used"]
    ]


@pytest.mark.parametrize("train", [True, False])
def test_batch_norm_says_which_statistics_were_used(train):
    layer, tensors = recorded(LAYERS["batch norm" if train else "batch norm, evaluation"])
    values, used = statistics(layer)
    x = tensors["x"].detach().numpy().astype(np.float64)
    close = lambda name, wanted: np.testing.assert_allclose(
        values[name], wanted, rtol=1e-3, atol=1e-3
    )
    mean, variance, n = x.mean((0, 2, 3)), x.var((0, 2, 3)), x.size / 4
    passes = 2 if train else 1
    close("batch mean", mean)
    close("batch variance", variance)
    close("running mean", mean * (1 - 0.9**passes))
    close("running variance", 0.9**passes + variance * n / (n - 1) * (1 - 0.9**passes))
    which = ["batch", "running"][not train]
    assert used == [f"{which} mean", f"{which} variance", "scale γ", "shift β"]
    close("gradient of γ", tensors["weight"].grad.numpy())
    close("gradient of β", tensors["bias"].grad.numpy())


@pytest.mark.parametrize(
    "make",
    [
        lambda x: autolab.nn.LayerNorm(4)(x),
        lambda x: F.conv_transpose2d(x, autolab.ones(1, 1, 2, 2)),
        lambda x: F.adaptive_max_pool2d(x, 2),
    ],
)
def test_layers_that_no_lesson_has_are_operations_like_others(make):
    node = trace(make(autolab.ones(1, 1, 4, 4, requires_grad=True)).sum()).nodes
    assert all(n.layer is None for n in node)


def test_under_no_grad_there_are_pictures_too():
    with autolab.record() as recording, autolab.no_grad():
        F.max_pool2d(F.conv2d(autolab.ones(1, 1, 4, 4), autolab.ones(1, 1, 1, 1) * 2), 2)
    conv, pool = (n.layer for n in recording.trace().nodes if n.layer)
    assert shown(find(conv, "y")).tolist() == [[[2.0] * 4] * 4] and shown(
        find(pool, "y")
    ).tolist() == [[[2.0] * 2] * 2]
    assert find(pool, "x")["marks"] == [[[0, 0, 1], [0, 2, 1], [2, 0, 1], [2, 2, 1]]], (
        "of equals the first wins"
    )


# -- what is left out --------------------------------------------------------------------------------------------------
def test_wide_maps_are_means_of_squares():
    maps = np.arange(2 * 5 * 7, dtype=float).reshape(2, 5, 7)
    small, factor = panels.reduced(maps, 4)
    assert factor == 2 and small.shape == (2, 3, 4)
    assert small[1, 0, 0] == maps[1, :2, :2].mean() and small[0, 2, 3] == maps[0, 4, 6]
    assert small[0, 1, 3] == maps[0, 2:4, 6].mean()
    same, factor = panels.reduced(maps, 7)
    assert factor == 1 and np.array_equal(same, maps) and not np.shares_memory(same, maps)


def test_many_numbers_are_bytes_few_are_numbers():
    torch_like = np.linspace(-3, 3, 32 * 32).reshape(1, 32, 32)
    torch_like[0, 0, 0] = np.nan
    packed = panels.encoded(torch_like)
    assert packed["numbers"] is None and len(packed["bytes"]) < 1400
    read = shown(packed | {"shape": [1, 32, 32]})
    assert np.isnan(read[0, 0, 0])
    np.testing.assert_allclose(read[0, 1:], torch_like[0, 1:], atol=3 / 127)
    assert panels.encoded(np.array([[[1.23456, np.inf]]])) == {
        "scale": 1.235,
        "numbers": [[[1.235, "inf"]]],
        "bytes": None,
    }


def test_a_picture_says_what_was_left_out():
    with autolab.record() as recording:
        F.conv2d(autolab.rand(5, 20, 90, 90), autolab.rand(12, 20, 3, 3))
    layer = layer_of(recording.trace())
    assert (
        find(layer, "x")["caption"]
        == "Image 0 of 5; channels 0 to 7 of 20; each square is the mean of 3×3 numbers."
    )
    assert find(layer, "x")["shape"] == [8, 30, 30]
    assert find(layer, "w")["caption"] == "Filters 0 to 7 of 12; input channels 0 to 3 of 20."
    layer, _ = recorded(LAYERS["max, large"])
    assert (
        "Channels 0 to 3 of 6; rows 12 to 27 of 40, columns 12 to 27 of 40"
        in find(layer, "x")["caption"]
    )


def test_a_window_larger_than_the_picture_is_averaged():
    layer, _ = recorded(lambda t: pooling(t, "max_pool2d", 40, size=(1, 2, 80, 80)))
    panel = find(layer, "x")
    assert (
        panel["shape"] == [2, 20, 20]
        and panel["windows"] == [[0, 0, 20, 20]]
        and len(panel["marks"][0]) == 1
    )


def test_later_layers_are_coarser_and_the_rest_has_no_pictures(monkeypatch):
    monkeypatch.setattr(pictures, "FINE_LAYERS", 1)
    monkeypatch.setattr(pictures, "MOST_LAYERS", 2)
    x, w = autolab.rand(1, 8, 20, 20), autolab.rand(8, 8, 1, 1)
    with autolab.record() as recording:
        for _ in range(3):
            x = F.conv2d(x, w)
    first, second, third = (n.layer for n in recording.trace().nodes if n.layer)
    assert [find(a, "x")["shape"] for a in (first, second)] == [[8, 20, 20], [4, 10, 10]]
    assert third["panels"] == [] and third["missing"] == [
        "A trace keeps pictures of its first 2 such layers."
    ]
    assert third["card"], "the card is there all the same"


def test_what_was_freed_or_not_kept_is_named():
    torch = autolab
    w = torch.rand(64, 1, 3, 3, requires_grad=True)
    y = F.conv2d(torch.rand(1, 1, 9, 9), w)
    loss = y.relu().sum()
    layer = layer_of(trace(loss, {"w": w}, namespace={}))
    assert layer["missing"] == [], "y is computed again"
    loss.backward()
    layer = layer_of(trace(loss, {"w": w}, namespace={}))
    assert layer["missing"][0] == (
        "x cannot be shown: backward() has freed it. Explore before backward(), or record the code."
    )
    assert find(layer, "w")["shape"] == [8, 3, 3], "the parameter is there still"


def test_what_was_changed_in_place_is_not_shown_as_it_was():
    x, w = autolab.ones(1, 1, 3, 3), autolab.ones(1, 1, 1, 1, requires_grad=True)
    loss = F.conv2d(x, w).sum()
    x.add_(1)
    layer = layer_of(trace(loss, {"w": w}, namespace={}))
    assert "x cannot be shown: it was changed in place since." in layer["missing"]
    with autolab.record() as recording:
        y = F.conv2d(autolab.ones(1, 1, 2, 2), w.detach())
        y.mul_(5)
    assert shown(find(layer_of(recording.trace()), "y")).max() == 1, "the picture is a copy"


@pytest.mark.parametrize(
    "call",
    [
        lambda x: F.conv2d(x, autolab.ones(2, 1, 2, 2)),
        lambda x: F.max_pool2d(x, 2),
    ],
)
def test_an_empty_batch_has_a_card_and_nothing_to_show(call):
    with autolab.record() as recording:
        call(autolab.ones(0, 1, 4, 4))
    layer = layer_of(recording.trace())
    assert (
        layer["card"]
        and layer["panels"] == []
        and layer["missing"] == ["There is nothing to show: x is empty."]
    )


def test_numbers_that_are_none_are_shown_as_such():
    with autolab.record() as recording:
        F.max_pool2d(autolab.tensor([[[[1.0, float("nan")], [float("inf"), 2.0]]]]), 2)
    panel = find(layer_of(recording.trace()), "x")
    assert panel["numbers"] == [[[1.0, "nan"], ["inf", 2.0]]] and panel["scale"] == 2.0
    assert panel["label"].endswith("2 of them NaN or infinite.") and panel["marks"] == [[[0, 1, 1]]]


def test_another_backward_pass_has_pictures_of_its_own():
    with autolab.record() as recording:
        result, _ = LAYERS["convolution"](autolab)
        for _ in range(4):
            result.backward(retain_graph=True)
    layer = layer_of(recording.trace())
    assert [p["run"] for p in layer["panels"] if p["what"] == "w"] == [0, 1, 2, 3]
    json.dumps(layer, allow_nan=False)


def test_a_trace_of_a_network_stays_small():
    with autolab.record() as recording:
        x = autolab.rand(2, 3, 64, 64)
        for _ in range(20):
            x = F.conv2d(x, autolab.rand(16, x.shape[1], 3, 3), padding=1)
    assert len(json.dumps([n.layer for n in recording.trace().nodes])) < 400_000


def test_panels_outlive_what_made_them():
    """CPython 3.13 clears the `__dict__` of an object that nothing else refers to (python/cpython#130327)."""
    result, names = LAYERS["convolution"](autolab)
    layer = layer_of(trace(result, names, namespace={}))
    before = json.dumps(layer)
    gc.collect()
    assert (
        json.dumps(layer) == before
        and [p["shape"] for p in layer["panels"] if p["type"] == "maps"][0] != []
    )


def test_a_trace_with_layers_survives_json():
    result, names = LAYERS["batch norm"](autolab)
    t = trace(result, names, namespace={})
    assert Trace.from_json(json.loads(json.dumps(t.to_json(), allow_nan=False))) == t


@pytest.mark.parametrize("values", [False, True])
def test_without_values_there_are_no_pictures(values):
    result, names = LAYERS["convolution"](autolab)
    layer = layer_of(trace(result, names, namespace={}, values=values))
    assert bool(layer["panels"]) is values and layer["card"]
