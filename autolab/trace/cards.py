r"""Formula cards of convolution, pooling and normalisation: what one node computes, in words and in TeX, with its sizes.

In every card x is the input, w the weight (\gamma in a normalisation), b the bias (\beta), y the result, and \bar{y} the
gradient that arrives at y. Indices count from 0: n images, c channels in, o channels out, then positions.

Sources: Dumoulin and Visin, "A guide to convolution arithmetic for deep learning" (2016); Ioffe and Szegedy, "Batch
Normalization" (2015); https://docs.pytorch.org/docs/2.13/nn.html for the sizes of results.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .formulas import scientific
from .values import short

OUT, KERNEL, IN = "ij", "uv", "rs"  # letters of a position in the result, in the kernel, in the input
SIDES = {1: ("length",), 2: ("height", "width")}


class Line(NamedTuple):
    """One line of a card: what it is about, a sentence, a formula ("" where words are enough)."""

    name: str
    text: str
    tex: str = ""


@dataclass(frozen=True)
class Sizes:
    """What a card is filled in with. `weight` is None where there is none; `attrs` are the operation's arguments."""

    op: str
    x: tuple[int, ...]
    y: tuple[int, ...]
    weight: tuple[int, ...] | None
    bias: bool
    attrs: dict[str, Any]


def card(sizes: Sizes) -> list[Line]:
    """The lines of the card, forward first. Raises KeyError for an operation that has none."""
    return _CARDS[sizes.op](sizes)


def per_side(value: Any, dims: int) -> tuple[int, ...]:
    """An argument such as stride as one number for each dimension that the window moves along."""
    values = (value,) if isinstance(value, int) else tuple(value)
    return values * dims if len(values) == 1 else values


def times(numbers: Iterable[int]) -> str:
    """2 × 3 × 4 = 24"""
    numbers = list(numbers)
    product = f"{math.prod(numbers):,}"
    return product if len(numbers) == 1 else f"{' × '.join(map(str, numbers))} = {product}"


def _term(factor: int, letter: str) -> str:
    return letter if factor == 1 else f"{factor}{letter}"


def _place(i: str, u: str, stride: int, dilation: int, padding: int) -> str:
    """Where in the input window `i` reads with kernel position `u`: 2i + u - 1."""
    return f"{_term(stride, i)}+{_term(dilation, u)}" + (f"-{padding}" if padding else "")


def _sums(letters: Sequence[str], counts: Sequence[int]) -> str:
    r"""\sum_{u=0}^{2} \sum_{v=0}^{1}"""
    return " ".join(rf"\sum_{{{letter}=0}}^{{{count - 1}}}" for letter, count in zip(letters, counts))


def _where(conditions: Iterable[str]) -> str:
    r"""Conditions under a sum sign, one below the other."""
    return r"\substack{" + r" \\ ".join(conditions) + "}"


def _lines_per_side(dims: int, formula: Any, note: str) -> list[Line]:
    """Output size: one line where the sides agree. `formula(side, letter)` is its TeX after the letter."""
    letters = "HW" if dims == 2 else "L"
    made = [formula(side, letter) for side, letter in enumerate(letters)]
    if dims == 2 and formula(1, "H") == made[0]:
        return [Line("output size, height and width alike", note, made[0])]
    names = SIDES[dims]
    return [Line(f"output {names[side]}", note, tex) for side, tex in enumerate(made)]


def _floor_size(letter: str, n: int, k: int, s: int, p: int, d: int, out: int, *, ceil: bool = False) -> str:
    left, right = (r"\left\lceil", r"\right\rceil") if ceil else (r"\left\lfloor", r"\right\rfloor")
    symbols = rf"{left} \frac{{{letter} + 2p - d(k-1) - 1}}{{s}} {right} + 1"
    numbers = rf"{left} \frac{{{n} + 2 \cdot {p} - {d} \cdot ({k}-1) - 1}}{{{s}}} {right} + 1"
    return f"{letter}' = {symbols} = {numbers} = {out}"


# -- convolution -------------------------------------------------------------------------------------------------------
class _Conv:
    """The numbers of one convolution, by name."""

    def __init__(self, sizes: Sizes) -> None:
        attrs, weight = sizes.attrs, sizes.weight or ()
        self.dims = len(sizes.x) - 2
        self.n, self.c, *self.size = sizes.x
        self.o, self.out = sizes.y[1], sizes.y[2:]
        self.kernel, self.groups, self.bias, self.weight = weight[2:], attrs["groups"], sizes.bias, weight
        self.stride, self.padding, self.dilation = (
            per_side(attrs[name], self.dims) for name in ("stride", "padding", "dilation")
        )
        self.extra = per_side(attrs.get("output_padding", 0), self.dims)
        self.i, self.u, self.r = (list(letters[: self.dims]) for letters in (OUT, KERNEL, IN))

    def places(self, i: Sequence[str], u: Sequence[str]) -> list[str]:
        return [_place(*parts) for parts in zip(i, u, self.stride, self.dilation, self.padding)]


def _indices(*parts: str | Iterable[str]) -> str:
    return r",\,".join(p for part in parts for p in ([part] if isinstance(part, str) else part) if p)


def _convolution(sizes: Sizes) -> list[Line]:
    return _transposed(sizes) if sizes.attrs.get("transposed") else _plain_convolution(sizes)


def _channel(c: _Conv) -> str:
    """Which channel of x filter o reads with its channel c."""
    if c.groups == 1:
        return "c"
    per_out, per_in = c.o // c.groups, c.c // c.groups
    group = "o" if per_out == 1 else rf"\lfloor o/{per_out} \rfloor"
    if per_in == 1:
        return group
    return rf"{per_in}{group}+c"


def _groups(c: _Conv) -> str:
    if c.groups == 1:
        return ""
    each = f"channels 0 to {c.c // c.groups - 1}" if c.c > c.groups else "channel 0"
    return f" In {c.groups} groups: the first {c.o // c.groups} of the {c.o} filters read {each}, and so on."


def _plain_convolution(sizes: Sizes) -> list[Line]:
    c = _Conv(sizes)
    read, one = c.c // c.groups, (c.c // c.groups, *c.kernel)
    y, w = rf"y_{{{_indices('n', 'o', c.i)}}}", rf"w_{{{_indices('o', 'c', c.u)}}}"
    x = rf"x_{{{_indices('n', _channel(c), c.places(c.i, c.u))}}}"
    products = rf"{_sums(['c', *c.u], [read, *c.kernel])} {w} \cdot {x}"
    outside = " Outside the input x counts as 0." if any(c.padding) else ""
    forward = Line(
        "forward",
        f"Each output number is the sum of {times(one)} products of the kernel and the window it lies on"
        f"{', plus the bias of its filter' if c.bias else ''}.{outside}{_groups(c)}",
        f"{y} = {'b_{o} + ' if c.bias else ''}{products}",
    )
    size = _lines_per_side(
        c.dims,
        lambda side, letter: _floor_size(
            letter, c.size[side], c.kernel[side], c.stride[side], c.padding[side], c.dilation[side], c.out[side]
        ),
        f"k kernel {_by(c.kernel)}, s stride {_by(c.stride)}, p padding {_by(c.padding)}, d dilation {_by(c.dilation)}",
    )
    total = times((c.n, c.o, *c.out, *one))
    back = [
        Line(
            "gradient of x",
            f"Each input number gets, from every window it lay in, that output's gradient times the weight it met: "
            f"at most {times((c.o // c.groups, *c.kernel))} products.",
            rf"\bar{{x}}_{{{_indices('n', _channel(c), c.r)}}} = \sum_{{o}} "
            rf"\sum_{{{_where(f'{p}={r}' for p, r in zip(c.places(c.i, c.u), c.r))}}} {w} \cdot \bar{{y}}_{{{_indices('n', 'o', c.i)}}}",
        ),
        Line(
            "gradient of w",
            "Each weight met one input number at every output position of every image: the sum of "
            f"{times((c.n, *c.out))} products.",
            rf"\bar{{w}}_{{{_indices('o', 'c', c.u)}}} = {_sums(['n', *c.i], [c.n, *c.out])} "
            rf"\bar{{y}}_{{{_indices('n', 'o', c.i)}}} \cdot {x}",
        ),
    ]
    return [forward, *size, _cost(total), _parameters(c), *back, *_bias_line(c)]


def _transposed(sizes: Sizes) -> list[Line]:
    c = _Conv(sizes)
    per = c.o // c.groups
    w = rf"w_{{{_indices('c', 'o', c.u)}}}"
    filters = "" if c.groups == 1 else f" In {c.groups} groups, each with {c.c // c.groups} channels in, {per} out."
    condition = _where(f"{p}={r}" for p, r in zip(c.places(c.i, c.u), c.r))
    forward = Line(
        "forward",
        f"Each input number lays the kernel, times itself, into the output: {times((per, *c.kernel))} products. What "
        f"overlaps is added up{', and the bias' if c.bias else ''}. It is the backward pass of a convolution.{filters}",
        rf"y_{{{_indices('n', 'o', c.r)}}} = {'b_{o} + ' if c.bias else ''}\sum_{{c}} \sum_{{{condition}}} "
        rf"{w} \cdot x_{{{_indices('n', 'c', c.i)}}}",
    )

    def side_size(side: int, letter: str) -> str:
        n, k, s, p, d, e = (v[side] for v in (c.size, c.kernel, c.stride, c.padding, c.dilation, c.extra))
        symbols = f"({letter} - 1)s - 2p + d(k-1) + e + 1"
        numbers = rf"({n} - 1) \cdot {s} - 2 \cdot {p} + {d} \cdot ({k}-1) + {e} + 1"
        return f"{letter}' = {symbols} = {numbers} = {c.out[side]}"

    size = _lines_per_side(
        c.dims,
        side_size,
        f"k kernel {_by(c.kernel)}, s stride {_by(c.stride)}, p padding {_by(c.padding)}, d dilation {_by(c.dilation)}, "
        f"e output padding {_by(c.extra)}",
    )
    placed = rf"\bar{{y}}_{{{_indices('n', 'o', c.places(c.i, c.u))}}}"
    back = [
        Line(
            "gradient of x",
            "An ordinary convolution of the gradient: each input number collects what its window in the output got, times "
            f"the kernel: {times((per, *c.kernel))} products.",
            rf"\bar{{x}}_{{{_indices('n', 'c', c.i)}}} = \sum_{{o}} {_sums(c.u, c.kernel)} {w} \cdot {placed}",
        ),
        Line(
            "gradient of w",
            f"Each weight met every input number of its channel: the sum of {times((c.n, *c.size))} products.",
            rf"\bar{{w}}_{{{_indices('c', 'o', c.u)}}} = {_sums(['n', *c.i], [c.n, *c.size])} "
            rf"x_{{{_indices('n', 'c', c.i)}}} \cdot {placed}",
        ),
    ]
    total = times((c.n, c.c, *c.size, per, *c.kernel))
    return [forward, *size, _cost(total), _parameters(c), *back, *_bias_line(c)]


def _by(values: Sequence[int]) -> str:
    return str(values[0]) if len(set(values)) == 1 else "×".join(map(str, values))


def _cost(total: str) -> Line:
    return Line(
        "multiplications",
        f"{total} forward; the backward pass needs as many again for x and as many for w.",
    )


def _parameters(c: _Conv) -> Line:
    if not c.bias:
        return Line("parameters", f"{times(c.weight)} weights, no bias.")
    count = math.prod(c.weight)
    return Line("parameters", f"{times(c.weight)} weights and {c.o} biases: {count + c.o:,}.")


def _bias_line(c: _Conv) -> list[Line]:
    if not c.bias:
        return []
    tex = rf"\bar{{b}}_{{o}} = {_sums(['n', *c.i], [c.n, *c.out])} \bar{{y}}_{{{_indices('n', 'o', c.i)}}}"
    return [
        Line("gradient of b", f"The bias was added everywhere: the sum of all {times((c.n, *c.out))} gradients.", tex)
    ]


# -- pooling -----------------------------------------------------------------------------------------------------------
def _pool_sizes(sizes: Sizes) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    attrs = sizes.attrs
    kernel = per_side(attrs["kernel_size"], 2)
    stride = per_side(attrs.get("stride") or kernel, 2)
    return kernel, stride, per_side(attrs.get("padding", 0), 2), per_side(attrs.get("dilation", 1), 2)


def _windowed(sizes: Sizes) -> tuple[str, str, list[Line]]:
    """(the numbers that a window reads, in TeX; the same as a range of u, v; lines about the output size)."""
    kernel, stride, padding, dilation = _pool_sizes(sizes)
    x = rf"x_{{{_indices('c', [_place(*p) for p in zip(OUT, KERNEL, stride, dilation, padding)])}}}"
    window = r",\, ".join(rf"0 \le {u} < {k}" for u, k in zip(KERNEL, kernel))
    ceil, size, out = bool(sizes.attrs.get("ceil_mode")), sizes.x[-2:], sizes.y[-2:]
    note = f"k window {_by(kernel)}, s stride {_by(stride)}, p padding {_by(padding)}, d dilation {_by(dilation)}"
    spans = [n + 2 * p - d * (k - 1) - 1 for n, p, d, k in zip(size, padding, dilation, kernel)]
    full = [(-(-span // s) if ceil else span // s) + 1 for span, s in zip(spans, stride)]
    if tuple(full) != tuple(out):
        note += "; one window less where it would start in the padding at the end"

    def side_size(side: int, letter: str) -> str:
        tex = _floor_size(
            letter, size[side], kernel[side], stride[side], padding[side], dilation[side], full[side], ceil=ceil
        )
        return tex if full[side] == out[side] else rf"{tex} \rightarrow {out[side]}"

    return x, window, _lines_per_side(2, side_size, note)


def _adaptive(sizes: Sizes) -> tuple[str, str, list[Line]]:
    size, out = sizes.x[-2:], sizes.y[-2:]
    lines = [
        Line(
            f"rows of window {i}" if letter == "H" else f"columns of window {i}",
            f"{n} {'rows' if letter == 'H' else 'columns'} are shared out over {o} windows.",
            rf"\left\lfloor \frac{{{i} \cdot {n}}}{{{o}}} \right\rfloor \le {r} < "
            rf"\left\lceil \frac{{({i}+1) \cdot {n}}}{{{o}}} \right\rceil",
        )
        for letter, i, r, n, o in zip("HW", OUT, IN, size, out)
    ]
    return r"x_{c,\,r,\,s}", r"(r,s) \in \text{window}", lines


_NO_PARAMETERS = Line("parameters", "None: nothing is learned here.")


def _max_pool(sizes: Sizes) -> list[Line]:
    adaptive = sizes.op == "adaptive_max_pool2d"
    x, window, lines = _adaptive(sizes) if adaptive else _windowed(sizes)
    cost = Line("multiplications", "None: numbers are only compared.")
    if not adaptive:
        compared = math.prod(_pool_sizes(sizes)[0]) - 1
        total = times((*sizes.y, compared))
        cost = Line("multiplications", f"None: {total} comparisons, {compared} for each output number.")
    return [
        Line(
            "forward",
            "Each output number is the largest of its window. Of equal ones the first wins, row by row.",
            rf"y_{{c,\,i,\,j}} = \max_{{{window}}} {x}",
        ),
        *lines,
        cost,
        _NO_PARAMETERS,
        Line(
            "gradient of x",
            "Only the winner of a window gets its gradient, all of it: the output moves when the winner does, and stays when "
            "another number moves a little. A number that wins several windows gets the sum; the others get 0.",
            r"\bar{x}_{c,\,r,\,s} = \sum_{\substack{i,\, j \\ (r,s)\ \text{won}}} \bar{y}_{c,\,i,\,j}",
        ),
    ]


def _avg_pool(sizes: Sizes) -> list[Line]:
    adaptive = sizes.op == "_adaptive_avg_pool2d"
    x, window, lines = _adaptive(sizes) if adaptive else _windowed(sizes)
    if adaptive:
        even = all(n % o == 0 for n, o in zip(sizes.x[-2:], sizes.y[-2:]))
        share = str(math.prod(n // o for n, o in zip(sizes.x[-2:], sizes.y[-2:]))) if even else "m_{i,j}"
        how = f"window of {share} numbers" if even else "window; windows may differ by a row or column, m counts their numbers"
    else:
        kernel = _pool_sizes(sizes)[0]
        share = str(sizes.attrs.get("divisor_override") or math.prod(kernel))
        how = f"window of {times(kernel)} numbers"
        if sizes.attrs.get("divisor_override"):
            how += f", divided by {share} because divisor_override says so"
        elif any(_pool_sizes(sizes)[2]):
            counted = sizes.attrs.get("count_include_pad", True)
            how += "; zeros of the padding count too" if counted else "; at the border only those inside the input count"
    return [
        Line(
            "forward",
            f"Each output number is the mean of its {how}.",
            rf"y_{{c,\,i,\,j}} = \frac{{1}}{{{share}}} \sum_{{{window}}} {x}",
        ),
        *lines,
        Line("multiplications", f"One division for each output number: {times(sizes.y)}."),
        _NO_PARAMETERS,
        Line(
            "gradient of x",
            "Every number of a window gets the same share of its gradient, whatever it holds.",
            rf"\bar{{x}}_{{c,\,r,\,s}} = \sum_{{\substack{{i,\, j \\ (r,s)\ \text{{in window}}}}}} "
            rf"\frac{{1}}{{{share}}} \bar{{y}}_{{c,\,i,\,j}}",
        ),
    ]


# -- normalisation -----------------------------------------------------------------------------------------------------
def _eps(sizes: Sizes) -> str:
    eps = sizes.attrs.get("eps")
    return r"\varepsilon" if eps is None else scientific(short(eps))


def _affine(sizes: Sizes, feature: str, at: str, over: str, count: str) -> list[Line]:
    """Lines for scale and shift, one of each per `feature`: how many there are, and their gradients."""
    where = "per channel" if feature == "c" else "per position"
    if sizes.weight is None and not sizes.bias:
        return [Line("parameters", "None: made without weight and bias.")]
    features = math.prod(sizes.weight) if sizes.weight else sizes.x[1]
    both = sizes.weight is not None and sizes.bias
    kinds = f"{features:,} scales γ and as many shifts β: {2 * features:,}" if both else f"{features:,}"
    lines = [Line("parameters", f"{kinds}, one {where}.")]
    if sizes.weight is not None:
        tex = rf"\bar{{\gamma}}_{{{feature}}} = \sum_{{{over}}} \bar{{y}}_{{{at}}} \cdot \hat{{x}}_{{{at}}}"
        lines.append(Line("gradient of the scale γ", f"The sum of {count} products, one {where}.", tex))
    if sizes.bias:
        tex = rf"\bar{{\beta}}_{{{feature}}} = \sum_{{{over}}} \bar{{y}}_{{{at}}}"
        lines.append(Line("gradient of the shift β", f"The sum of {count} gradients, one {where}.", tex))
    return lines


def _batch_norm(sizes: Sizes) -> list[Line]:
    n, _, *size = sizes.x
    letters = list(OUT[: len(size)]) if len(size) <= 2 else ["i"]
    at, over = _indices("n", "c", letters), _indices("n", letters)
    m, eps, training = math.prod((n, *size)), _eps(sizes), sizes.attrs.get("training", True)
    gamma = r"\gamma_{c} \cdot " if sizes.weight is not None else ""
    beta = r" + \beta_{c}" if sizes.bias else ""
    root = rf"\sqrt{{\sigma_{{c}}^{{2}} + {eps}}}"
    top = r"\gamma_{c}" if sizes.weight is not None else "1"
    scale = rf"\frac{{{top}}}{{{root}}}"
    forward = rf"y_{{{at}}} = {gamma}\hat{{x}}_{{{at}}}{beta}, \quad \hat{{x}}_{{{at}}} = \frac{{x_{{{at}}} - \mu_{{c}}}}{{{root}}}"
    affine = _affine(sizes, "c", at, over, times((n, *size)))
    if not training:
        return [
            Line(
                "forward (evaluation)",
                "Mean μ and variance σ² are the running ones, fixed numbers: what else is in the batch does not matter.",
                forward,
            ),
            Line("multiplications", f"2 for each number, by 1/√(σ² + ε) and by γ: {times((*sizes.x, 2))}."),
            affine[0],
            Line(
                "gradient of x",
                "Only scaled: the running mean and variance do not depend on x.",
                rf"\bar{{x}}_{{{at}}} = {scale} \cdot \bar{{y}}_{{{at}}}",
            ),
            *affine[1:],
        ]
    momentum = sizes.attrs.get("momentum")
    running = []
    if momentum is not None:
        keep = short(1 - momentum)
        running = [
            Line(
                "running statistics",
                f"Kept for evaluation, not used in training. Their variance is divided by {m} - 1 instead of {m}.",
                rf"\mu_{{c}}^{{\text{{running}}}} \leftarrow {keep} \cdot \mu_{{c}}^{{\text{{running}}}} + {short(momentum)} \cdot \mu_{{c}}",
            )
        ]
    return [
        Line(
            "mean and variance (training)",
            f"Over the whole batch, {times((n, *size))} numbers per channel.",
            rf"\mu_{{c}} = \frac{{1}}{{{m}}} \sum_{{{over}}} x_{{{at}}}, \quad "
            rf"\sigma_{{c}}^{{2}} = \frac{{1}}{{{m}}} \sum_{{{over}}} (x_{{{at}}} - \mu_{{c}})^{{2}}",
        ),
        Line("forward", "Each channel gets mean 0 and variance 1, then its own scale γ and shift β.", forward),
        *running,
        Line("multiplications", f"3 for each number: its square, by 1/√(σ² + ε), by γ: {times((*sizes.x, 3))}."),
        affine[0],
        Line(
            "gradient of x",
            "Less its mean, and less its part along x̂: a shift or a scale of the whole channel changes nothing in y.",
            rf"\bar{{x}}_{{{at}}} = {scale} \cdot \left( \bar{{y}}_{{{at}}} - \frac{{1}}{{{m}}} \sum \bar{{y}} - "
            rf"\hat{{x}}_{{{at}}} \cdot \frac{{1}}{{{m}}} \sum \bar{{y}} \cdot \hat{{x}} \right)",
        ),
        *affine[1:],
    ]


def _rows_norm(sizes: Sizes, m: int, rows: int, row: str, at: str, feature: str, words: str, count: str) -> list[Line]:
    """Layer and group norm: each row (`row` its index) of `m` numbers is normalised by itself."""
    eps = _eps(sizes)
    gamma = rf"\gamma_{{{feature}}} \cdot " if sizes.weight is not None else ""
    beta = rf" + \beta_{{{feature}}}" if sizes.bias else ""
    root = rf"\sqrt{{\sigma_{{{row}}}^{{2}} + {eps}}}"
    g = rf"\gamma_{{{feature}}} \bar{{y}}" if sizes.weight is not None else r"\bar{y}"
    affine = _affine(sizes, feature, at, _indices("n", "i") if feature == "c" else row, count)
    return [
        Line(
            "mean and variance",
            f"{words}: {rows:,} times over {m:,} numbers, in training and evaluation alike.",
            rf"\mu_{{{row}}} = \frac{{1}}{{{m}}} \sum x_{{{at}}}, \quad "
            rf"\sigma_{{{row}}}^{{2}} = \frac{{1}}{{{m}}} \sum (x_{{{at}}} - \mu_{{{row}}})^{{2}}",
        ),
        Line(
            "forward",
            "Mean 0 and variance 1, then scale γ and shift β.",
            rf"y_{{{at}}} = {gamma}\hat{{x}}_{{{at}}}{beta}, \quad \hat{{x}}_{{{at}}} = \frac{{x_{{{at}}} - \mu_{{{row}}}}}{{{root}}}",
        ),
        Line("multiplications", f"3 for each number: its square, by 1/√(σ² + ε), by γ: {times((*sizes.x, 3))}."),
        affine[0],
        Line(
            "gradient of x",
            "Less its mean, and less its part along x̂: a shift or a scale of all that is normalised together changes nothing.",
            rf"\bar{{x}}_{{{at}}} = \frac{{1}}{{{root}}} \cdot \left( {g}_{{{at}}} - \frac{{1}}{{{m}}} \sum {g} - "
            rf"\hat{{x}}_{{{at}}} \cdot \frac{{1}}{{{m}}} \sum {g} \cdot \hat{{x}} \right)",
        ),
        *affine[1:],
    ]


def _layer_norm(sizes: Sizes) -> list[Line]:
    shape = per_side(sizes.attrs["normalized_shape"], 1)
    m = math.prod(shape)
    rows = math.prod(sizes.x) // max(1, m)
    words = f"Each sample by itself, over its last {'dimension' if len(shape) == 1 else f'{len(shape)} dimensions'}"
    return _rows_norm(sizes, m, rows, "n", r"n,\,k", "k", words, f"{rows:,}")


def _group_norm(sizes: Sizes) -> list[Line]:
    n, channels, *size = sizes.x
    groups = sizes.attrs["group"]
    words = f"Each sample's {channels} channels in {groups} {'group' if groups == 1 else 'groups'}"
    m = channels // groups * math.prod(size)
    return _rows_norm(sizes, m, n * groups, r"n,g", r"n,\,c,\,i", "c", words, times((n, *size)))


_CARDS = {
    "convolution": _convolution,
    "max_pool2d": _max_pool,
    "max_pool2d_with_indices": _max_pool,
    "adaptive_max_pool2d": _max_pool,
    "avg_pool2d": _avg_pool,
    "_adaptive_avg_pool2d": _avg_pool,
    "native_batch_norm": _batch_norm,
    "native_layer_norm": _layer_norm,
    "native_group_norm": _group_norm,
}
OPS = frozenset(_CARDS)
"""Names of the operations that have a card."""
