"""Formula cards: their formulas, computed in NumPy, give the layer's numbers; sizes and counts are right."""

import math
import re

import numpy as np
import pytest
from latex2mathml.converter import convert

import autolab as torch
from autolab.trace.layers import cards
from autolab.trace import trace

F = torch.nn.functional


def card_of(result, **names):
    """Return (card by line name, the node) of the first layer in the graph of `result`."""
    node = next(n for n in trace(result.sum(), names, namespace={}).nodes if n.layer is not None)
    return {name: (text, tex) for name, text, tex in node.layer["card"]}, node


def indices(tex: str, letter: str) -> list[str]:
    r"""Return the indices of `letter` in a formula as Python: x_{n,\,c,\,2i+u-1} -> ["n", "c", "2*i+u-1"]."""
    found = re.search(rf"(?<![\w\\{{]){re.escape(letter)}_\{{((?:[^{{}}]|\{{[^{{}}]*\}})*)\}}", tex)
    assert found, (letter, tex)
    text = re.sub(r"\\lfloor (.*?)/(\d+) \\rfloor", r"(\1//\2)", found[1])
    return [re.sub(r"(\d)([a-z(])", r"\1*\2", part) for part in text.split(r",\,")]


def at(places: list[str], where: dict[str, int]) -> tuple[int, ...]:
    return tuple(eval(place, {}, where) for place in places)


def read(array: np.ndarray, place: tuple[int, ...]) -> float:
    """Return a number of `array`; 0 outside it."""
    return float(array[place]) if all(0 <= i < n for i, n in zip(place, array.shape)) else 0.0


CONVOLUTIONS = {
    "plain": {},
    "padded": {"stride": 2, "padding": 1},
    "each side its own": {"stride": (1, 2), "padding": (2, 0), "dilation": (2, 1)},
    "groups": {"groups": 2},
    "depthwise": {"groups": 4, "padding": 1},
}


def tensors(groups=1, dims=2):
    torch.manual_seed(0)
    sizes = (2, 4, 5, 6)[: 2 + dims]
    kernel = (3, 2)[:dims]
    w = torch.randn(4, 4 // groups, *kernel, dtype=torch.float64, requires_grad=True)
    x = torch.randn(*sizes, dtype=torch.float64, requires_grad=True)
    return x, w, torch.randn(4, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("dims", [1, 2])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_the_formulas_of_a_convolution_are_its_numbers(name, dims):
    options = {k: v[:dims] if isinstance(v, tuple) else v for k, v in CONVOLUTIONS[name].items()}
    x, w, b = tensors(options.get("groups", 1), dims)
    y = (F.conv1d, F.conv2d)[dims - 1](x, w, b, **options)
    card, _ = card_of(y, x=x, w=w, b=b)
    g = torch.randn(*y.shape, dtype=torch.float64)
    y.backward(g)
    X, W, B, G = (t.detach().numpy() for t in (x, w, b, g))
    forward = card["forward"][1]
    place, weight = indices(forward, "x"), indices(forward, "w")
    made, to_x, to_w = np.zeros(y.shape), np.zeros_like(X), np.zeros_like(W)
    for n, o, *out in np.ndindex(*y.shape):
        made[(n, o, *out)] = B[o]
        for c, *k in np.ndindex(*w.shape[1:]):
            where = {"n": n, "o": o, "c": c, **dict(zip("ij", out)), **dict(zip("uv", k))}
            source, tap = at(place, where), at(weight, where)
            made[(n, o, *out)] += W[tap] * read(X, source)
            to_w[tap] += G[(n, o, *out)] * read(X, source)
            if all(0 <= i < s for i, s in zip(source, X.shape)):
                to_x[source] += W[tap] * G[(n, o, *out)]
    np.testing.assert_allclose(made, y.detach().numpy(), rtol=1e-12)
    np.testing.assert_allclose(to_x, x.grad.numpy(), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(to_w, w.grad.numpy(), rtol=1e-10, atol=1e-12)
    # The gradient rules use the same positions: x̄ collects terms where 2i + u - 1 = r, w̄ multiplies x there with ȳ.
    assert indices(card["gradient of w"][1], "x") == place
    for part, letter in zip(place[2:], "rs"):
        assert f"{part.replace('*', '')}={letter}" in card["gradient of x"][1]
    assert indices(card["gradient of x"][1], "w") == weight


def test_the_gradient_rules_of_a_convolution_name_the_same_places():
    x, w, b = tensors()
    card, _ = card_of(F.conv2d(x, w, b, stride=2, padding=1), x=x, w=w, b=b)
    assert card["gradient of x"][1] == (
        r"\bar{x}_{n,\,c,\,r,\,s} = \sum_{o} \sum_{\substack{2i+u-1=r \\ 2j+v-1=s}} w_{o,\,c,\,u,\,v} \cdot \bar{y}_{n,\,o,\,i,\,j}"
    )
    assert card["gradient of w"][1] == (
        r"\bar{w}_{o,\,c,\,u,\,v} = \sum_{n=0}^{1} \sum_{i=0}^{2} \sum_{j=0}^{3} "
        r"\bar{y}_{n,\,o,\,i,\,j} \cdot x_{n,\,c,\,2i+u-1,\,2j+v-1}"
    )
    assert (
        card["gradient of b"][1]
        == r"\bar{b}_{o} = \sum_{n=0}^{1} \sum_{i=0}^{2} \sum_{j=0}^{3} \bar{y}_{n,\,o,\,i,\,j}"
    )


def test_counts_of_lenets_first_layer():
    """470,400 = 4 images, 6 filters, 28x28 places, 5x5 products; 156 = 6 * 25 + 6."""
    layer = torch.nn.Conv2d(1, 6, 5, padding=2)
    card, node = card_of(layer(torch.rand(4, 1, 28, 28)), **dict(layer.named_parameters()))
    assert card["multiplications"][0].startswith("4 × 6 × 28 × 28 × 1 × 5 × 5 = 470,400 forward")
    assert card["parameters"][0] == "6 × 1 × 5 × 5 = 150 weights and 6 biases: 156."
    assert sum(p.numel() for p in layer.parameters()) == 156
    name = "output size, height and width alike"
    assert card[name][1] == (
        r"H' = \left\lfloor \frac{H + 2p - d(k-1) - 1}{s} \right\rfloor + 1 = "
        r"\left\lfloor \frac{28 + 2 \cdot 2 - 1 \cdot (5-1) - 1}{1} \right\rfloor + 1 = 28"
    )
    assert card[name][0] == "k kernel 5, s stride 1, p padding 2, d dilation 1"
    assert (
        node.layer["names"].startswith("x is ") and "w is weight, b is bias" in node.layer["names"]
    )


@pytest.mark.parametrize(
    ("n", "k", "s", "p", "d", "ceil"),
    [
        (7, 3, 2, 1, 1, True),
        (9, 2, 2, 0, 1, False),
        (9, 2, 2, 0, 1, True),
        (5, 2, 3, 0, 2, True),
        (6, 2, 5, 1, 1, True),
    ],
)
def test_the_output_size_of_pooling(n, k, s, p, d, ceil):
    x = torch.rand(1, 2, n, n, requires_grad=True)
    y = F.max_pool2d(x, k, s, p, d, ceil_mode=ceil)
    card, _ = card_of(y, x=x)
    text, tex = card["output size, height and width alike"]
    numbers = re.findall(r"frac\{([^{}]*)\}\{(\d+)\}", tex)[-1]
    span = eval(numbers[0].replace(r"\cdot", "*").replace(f"({k}-1)", f"({k - 1})")) / int(
        numbers[1]
    )
    full = (math.ceil if ceil else math.floor)(span) + 1
    assert tex.split(" = ")[-1] == (
        str(full) if full == y.shape[-1] else rf"{full} \rightarrow {y.shape[-1]}"
    )
    assert ("one window less" in text) is (full != y.shape[-1]) and ("lceil" in tex) is ceil


def test_pooling_formulas():
    x = torch.rand(2, 3, 6, 6, requires_grad=True)
    card, _ = card_of(F.max_pool2d(x, 3, 2, 1), x=x)
    assert (
        card["forward"][1]
        == r"y_{c,\,i,\,j} = \max_{0 \le u < 3,\, 0 \le v < 3} x_{c,\,2i+u-1,\,2j+v-1}"
    )
    assert (
        card["multiplications"][0]
        == "None: 2 × 3 × 3 × 3 × 8 = 432 comparisons, 8 for each output number."
    )
    assert card["parameters"][0].startswith("None")
    card, _ = card_of(F.avg_pool2d(x, 2, divisor_override=3), x=x)
    assert r"\frac{1}{3}" in card["forward"][1] and "divisor_override" in card["forward"][0]
    card, _ = card_of(F.adaptive_avg_pool2d(x, (4, 2)), x=x)
    assert card["rows of window i"][1] == (
        r"\left\lfloor \frac{i \cdot 6}{4} \right\rfloor \le r < \left\lceil \frac{(i+1) \cdot 6}{4} \right\rceil"
    )
    card, _ = card_of(F.adaptive_avg_pool2d(x, 2), x=x)
    assert r"\frac{1}{9}" in card["forward"][1]


def test_batch_norm_in_training_and_evaluation():
    layer = torch.nn.BatchNorm2d(3)
    x = torch.rand(2, 3, 4, 5, requires_grad=True)
    card, _ = card_of(layer(x), x=x)
    assert (
        card["mean and variance (training)"][0]
        == "Over the whole batch, 2 × 4 × 5 = 40 numbers per channel."
    )
    assert r"\frac{1}{40} \sum \bar{y}" in card["gradient of x"][1]
    assert card["parameters"][0] == "3 scales γ and as many shifts β: 6, one per channel."
    card, _ = card_of(layer.eval()(x), x=x)
    assert card["gradient of x"][1] == (
        r"\bar{x}_{n,\,c,\,i,\,j} = \frac{\gamma_{c}}{\sqrt{\sigma_{c}^{2} + 1 \cdot 10^{-5}}} \cdot \bar{y}_{n,\,c,\,i,\,j}"
    )
    assert "mean and variance (training)" not in card
    with torch.record() as recording:
        torch.nn.BatchNorm2d(3, momentum=0.3)(x)
    (layer_,) = [n.layer for n in recording.trace().nodes if n.layer]
    assert next(tex for name, _, tex in layer_["card"] if name == "running statistics").endswith(
        r"\leftarrow 0.7 \cdot \mu_{c}^{\text{running}} + 0.3 \cdot \mu_{c}"
    )


def test_the_gradient_formulas_of_normalisation_are_its_gradients():
    """Compute the formulas on the batch norm card in NumPy."""
    torch.manual_seed(0)
    eps = 1e-5
    for make, shape, group in (
        (lambda: torch.nn.BatchNorm1d(3, dtype=torch.float64), (7, 3), lambda a: a.T),
    ):
        layer, x = make(), torch.randn(*shape, dtype=torch.float64, requires_grad=True)
        with torch.no_grad():
            layer.weight.copy_(torch.rand(*layer.weight.shape) + 0.5)
        y = layer(x)
        g = torch.randn(*y.shape, dtype=torch.float64)
        y.backward(g)
        gamma = layer.weight.detach().numpy()
        weighted = group(g.numpy() * (gamma if len(shape) == 2 else gamma[:, None]))
        rows = group(x.detach().numpy())
        root = np.sqrt(rows.var(1, keepdims=True) + eps)
        hat = (rows - rows.mean(1, keepdims=True)) / root
        back = (
            weighted
            - weighted.mean(1, keepdims=True)
            - hat * (weighted * hat).mean(1, keepdims=True)
        ) / root
        np.testing.assert_allclose(back, group(x.grad.numpy()), rtol=1e-9, atol=1e-12)


def test_every_card_is_mathml():
    from test_layer_pictures import LAYERS

    kinds = set()
    for build in LAYERS.values():
        result, names = build(torch)
        for node in trace(result, names, namespace={}).nodes:
            for _, text, tex in node.layer["card"] if node.layer else ():
                kinds.add(node.op)
                assert len(text) > 20 and not set("{}\\_") & set(
                    text.replace("divisor_override", "")
                ), text
                assert not tex or convert(tex).startswith("<math"), tex
    assert len(kinds) >= 5
    assert cards.OPS - torch.engine.core.op.OPS.keys() <= kinds
