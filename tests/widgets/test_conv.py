"""The convolution explorer's numbers, step by step, compared with conv2d and its backward pass; its rejected inputs."""

import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import traitlets
from goldens import oracle

import autolab as torch
from autolab.viz import palette
from autolab.widgets import ConvExplorer
from autolab.widgets.conv import brief

F = torch.nn.functional
EDGE = [[0.0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 5, 5]]
SOBEL = [[1.0, -1.0]]
SETTINGS = {
    "plain": {},
    "stride and padding": {"stride": 2, "padding": 1},
    "each side its own": {"stride": (1, 2), "padding": (0, 2), "dilation": (2, 1)},
    "same": {"padding": "same", "dilation": (1, 2)},
    "valid": {"padding": "valid", "dilation": 2},
    "groups": {"groups": 2, "padding": 1},
    "depthwise": {"groups": 4, "stride": 2, "dilation": 2, "padding": (2, 1)},
}


def scattered(widget, key):
    """Return the last total of every position of the padded image, from the frames alone."""
    data = widget.data
    total = np.zeros(np.shape(data["image"]))
    (kh, kw), (dh, dw) = data["kernel"], data["dilation"]
    read = len(data["weight"][0])
    for frame in data["frames"]:
        r, c = frame["corner"]
        first = frame["cell"][0] // (len(data["weight"]) // data["groups"]) * read
        window = total[
            first : first + read, r : r + dh * (kh - 1) + 1 : dh, c : c + dw * (kw - 1) + 1 : dw
        ]
        window[...] = np.reshape(frame[key], window.shape)
    return total


def example(torch, options, with_bias):
    """Return image, weight, bias, output and its gradient, after backward()."""
    torch.manual_seed(1)
    groups = options.get("groups", 1)
    channels = 4 if groups > 1 else 2
    image = torch.randn(channels, 6, 7, requires_grad=True)
    columns = 3 if options.get("padding") == "same" else 2
    weight = torch.randn(
        channels if groups > 1 else 3, channels // groups, 3, columns, requires_grad=True
    )
    bias = torch.randn(weight.shape[0], requires_grad=True) if with_bias else None
    output = torch.nn.functional.conv2d(image, weight, bias, **options)
    gradient = torch.randn(*output.shape)
    output.backward(gradient)
    return image, weight, bias, output, gradient


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("with_bias", [True, False], ids=["bias", "no bias"])
def test_steps_add_up_to_pytorchs_conv2d_and_its_gradients(name, with_bias):
    def program(torch):
        image, weight, bias, output, _ = example(torch, SETTINGS[name], with_bias)
        grads = [image.grad, weight.grad, *([bias.grad] if with_bias else [])]
        return [output.tolist(), *[g.tolist() for g in grads]]

    wanted = oracle.answer("test_conv", f"{name}, {'bias' if with_bias else 'no bias'}", program)
    image, weight, bias, output, gradient = example(torch, SETTINGS[name], with_bias)
    widget = ConvExplorer(image, weight, bias, **SETTINGS[name], gradient=gradient)
    compare(widget, weight.shape, wanted)


def compare(widget, weight_shape, wanted):
    """Compare the widget's last totals with [output, gradient of image, of weight, of bias]."""
    frames, data = widget.data["frames"], widget.data
    close = lambda ours, theirs: np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
    shape = np.shape(wanted[0])
    assert data["output_shape"] == list(shape) and len(frames) == np.size(wanted[0])
    close(np.reshape([f["value"] for f in frames], shape), wanted[0])
    (top, _, left, _), (height, width) = data["pads"], data["size"]
    close(scattered(widget, "image_total")[:, top : top + height, left : left + width], wanted[1])
    last = {f["cell"][0]: f for f in frames}
    close(np.reshape([last[o]["kernel_total"] for o in range(shape[0])], weight_shape), wanted[2])
    if len(wanted) == 4:
        close([last[o]["bias_total"] for o in range(shape[0])], wanted[3])
    else:
        assert {f["bias_total"] for f in frames} == {None}


@pytest.mark.parametrize("name", SETTINGS)
def test_takes_pytorchs_own_tensors_and_modules(name):
    real = pytest.importorskip("torch")
    image, weight, bias, output, gradient = example(real, SETTINGS[name], True)
    layer = real.nn.Conv2d(
        image.shape[0], weight.shape[0], tuple(weight.shape[2:]), **SETTINGS[name]
    )
    with real.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(bias)
    layer(image.detach()).backward(gradient)
    wanted = [
        output.tolist(),
        image.grad.tolist(),
        layer.weight.grad.tolist(),
        layer.bias.grad.tolist(),
    ]
    of_layer = ConvExplorer(image, layer, gradient=gradient)
    compare(of_layer, weight.shape, wanted)
    assert (
        of_layer.data == ConvExplorer(image, weight, bias, **SETTINGS[name], gradient=gradient).data
    )
    half = ConvExplorer(image.to(real.bfloat16), layer)
    assert (
        half.data["image"] != of_layer.data["image"]
        and half.data["output_shape"] == of_layer.data["output_shape"]
    )
    with pytest.raises(ValueError, match="not ConvTranspose2d"):
        ConvExplorer(image, real.nn.ConvTranspose2d(image.shape[0], 2, 2))


def test_one_step_in_whole_numbers():
    widget = ConvExplorer(EDGE, SOBEL, [0.5], gradient=[[[1.0, 10, 100], [0, 0, 0], [0, 0, 2]]])
    frames = widget.data["frames"]
    assert [f["value"] for f in frames] == [0.5, -0.5, 0.5, 0.5, -0.5, 0.5, 0.5, -2.5, 0.5]
    second = frames[1]
    assert second["cell"] == [0, 0, 1] and second["corner"] == [0, 1]
    assert second["products"] == [0, -1] and second["sum"] == -1
    assert second["to_kernel"] == [0, 10] and second["to_image"] == [10, -10]
    assert second["image_total"] == [9, -10], (
        "the first step has sent -1 to the pixel that both windows cover"
    )
    assert frames[2]["kernel_total"] == [100, 110] and frames[2]["image_total"] == [90, -100]
    assert frames[-1]["kernel_total"] == [110, 120] and frames[-1]["bias_total"] == 113


def test_each_filter_has_a_total_of_its_own():
    widget = ConvExplorer([[1.0, 2.0]], [[[[3.0]]], [[[5.0]]]])
    assert [f["kernel_total"] for f in widget.data["frames"]] == [[1], [3], [1], [3]]
    assert [f["image_total"] for f in widget.data["frames"]] == [[3], [3], [8], [8]]


def test_every_total_is_the_one_before_and_what_was_sent():
    widget = ConvExplorer(torch.arange(36.0).reshape(6, 6), torch.ones(3, 3), stride=2, padding=1)
    so_far = np.zeros(9)
    for frame in widget.data["frames"]:
        so_far += frame["to_kernel"]
        assert frame["kernel_total"] == so_far.tolist()


def test_a_layer_brings_everything():
    torch.manual_seed(0)
    layer, image = torch.nn.Conv2d(2, 3, 3, stride=2, padding=1, dilation=2), torch.rand(2, 8, 8)
    widget = ConvExplorer(image, layer)
    values = np.reshape([f["value"] for f in widget.data["frames"]], (3, 3, 3))
    np.testing.assert_allclose(values, layer(image).detach().numpy(), rtol=1e-5, atol=1e-6)
    assert repr(widget) == "ConvExplorer(2x8x8 image, 3 filters of 2x3x3: 27 steps)"
    assert widget.data == ConvExplorer(image, layer.weight, layer.bias, 2, 1, 2).data
    assert layer.weight.grad is None, "the learner's layer is not touched"


def test_works_under_no_grad_and_takes_arrays():
    with torch.no_grad():
        widget = ConvExplorer(np.array(EDGE, dtype=np.float32), np.array(SOBEL))
    assert widget.data["frames"][1]["to_kernel"] == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (
            (torch.zeros(17, 5), SOBEL),
            ValueError,
            "the image is 17x5; ConvExplorer shows up to 16 pixels along a side",
        ),
        ((torch.zeros(5, 5, 5), torch.zeros(1, 5, 2, 2)), ValueError, "the image has 5 channels"),
        ((torch.zeros(5, 5), torch.zeros(9, 1, 2, 2)), ValueError, "there are 9 filters"),
        ((torch.zeros(9, 9), torch.zeros(8, 8)), ValueError, "the kernel is 8x8"),
        (
            (torch.zeros(16, 16), torch.zeros(3, 3), None, 1, 5),
            ValueError,
            "the image and its padding have 26 pixels",
        ),
        ((torch.zeros(3, 16, 16), torch.zeros(4, 3, 3, 3)), ValueError, "21,168 products"),
        ((torch.zeros(1, 1, 4, 4), SOBEL), ValueError, "Of a batch, show one image"),
        (
            (torch.zeros(2, 4, 4), torch.nn.ConvTranspose2d(2, 2, 2)),
            ValueError,
            "not ConvTranspose2d",
        ),
        (
            (torch.zeros(2, 4, 4), torch.nn.Conv2d(2, 2, 2, padding_mode="circular")),
            ValueError,
            "padding_mode='circular'",
        ),
        ((EDGE, torch.nn.Conv2d(1, 1, 2), None, 2), TypeError, "leave them out here"),
        ((EDGE, torch.nn.Linear(2, 2)), TypeError, "weight: numbers or an nn.Conv2d, not Linear"),
        ((EDGE, "sobel"), TypeError, "weight: numbers or an nn.Conv2d, not str"),
        ((EDGE, torch.zeros(1, 2, 2, 2)), RuntimeError, "expected input"),
        (
            (torch.zeros(2, 2), torch.zeros(3, 3)),
            RuntimeError,
            "Kernel size can't be greater than actual input size",
        ),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_what_cannot_be_shown_is_refused(arguments, kind, words):
    with pytest.raises(kind, match=re.escape(words)):
        ConvExplorer(*arguments)


def test_a_gradient_of_another_shape_is_refused():
    with pytest.raises(
        ValueError, match=re.escape("gradient has shape [3, 3]; the output has [1, 3, 3]")
    ):
        ConvExplorer(EDGE, SOBEL, gradient=np.ones((3, 3)))


def test_traits_are_kept_within_the_picture():
    widget = ConvExplorer(EDGE, SOBEL, step=99, interval=1, selected=(0, 2, 1))
    assert (widget.step, widget.interval, widget.selected) == (8, 50, [0, 2, 1])
    widget.step = -4
    assert widget.step == 0
    with pytest.raises(
        traitlets.TraitError,
        match=re.escape("there is no output[0, 3, 0]; the output's shape is [1, 3, 3]"),
    ):
        widget.selected = [0, 3, 0]
    with pytest.raises(traitlets.TraitError):
        widget.direction = "up"
    widget.selected = []
    assert widget.selected == []


def test_a_saved_notebook_shows_a_picture_and_words():
    bundle = ConvExplorer(EDGE, SOBEL, [0.5], padding=1, step=7)._repr_mimebundle_()[0]
    assert bundle["text/plain"] == (
        "ConvExplorer(1x3x4 image, 1 filter of 1x1x2: 25 steps) is a convolution to step through: run this cell in Jupyter (Shift+Enter) to see it."
    )
    root = ET.fromstring(bundle["image/svg+xml"])
    words = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
    assert (
        words[0] == "image and padding"
        and words[-1] == "output[0, 1, 2] = -0.5: the sum of 2 products and the bias"
    )
    cells = [
        e for e in root.iter("{http://www.w3.org/2000/svg}rect") if e.get("stroke") == "#767676"
    ]
    assert len(cells) == 30 + 2 + 25
    frames = [
        e for e in root.iter("{http://www.w3.org/2000/svg}rect") if e.get("stroke") == palette.INK
    ]
    assert [(f.get("width"), f.get("height")) for f in frames] == [("88", "44"), ("44", "44")]


def test_numbers_that_are_none_are_carried_as_words():
    widget = ConvExplorer([[float("nan"), float("inf")]], [[1.0]])
    assert [f["value"] for f in widget.data["frames"]] == ["nan", "inf"]
    json.dumps(widget.data, allow_nan=False)
    assert ">nan<" in widget._repr_mimebundle_()[0]["image/svg+xml"]


def test_to_html(tmp_path):
    page = (
        ConvExplorer(EDGE, SOBEL, step=3, direction="backward")
        .to_html(tmp_path / "conv.html")
        .read_text()
    )
    assert (
        '"step":3' in page
        and '"direction":"backward"' in page
        and "<title>Convolution, step by step</title>" in page
    )
    assert len(page) < 67_500


def test_the_largest_that_is_shown_stays_small_enough_for_a_notebook():
    widget = ConvExplorer(torch.rand(3, 16, 16), torch.randn(1, 3, 3, 3), padding=1)
    assert len(json.dumps(widget.data)) < 500_000


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.125, ".125"), (-0.5, "-.5"), (12.34, "12.3"), (0.005, "5e-3"), (-2e-17, "-2e-17"), (250_123.0, "2.5e5"), (100.5, "100"),
     (10.0, "10"), (3e12, "3.0e12"), ("nan", "nan"), (-20.0, "-20")],
)  # fmt: skip
def test_numbers_in_cells_are_short(value, text):
    assert brief(value) == text
