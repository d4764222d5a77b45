"""Cards of convolutions, with or without groups, in one or two dimensions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from .sizes import (
    IN,
    KERNEL,
    OUT,
    Line,
    Sizes,
    by,
    floor_size,
    indices,
    lines_per_side,
    per_side,
    place,
    times,
)


class _Conv:
    """The numbers of one convolution, by name."""

    def __init__(self, sizes: Sizes) -> None:
        attrs, weight = sizes.attrs, sizes.weight or ()
        self.dims = len(sizes.x) - 2
        self.n, self.c, *self.size = sizes.x
        self.o, self.out = sizes.y[1], sizes.y[2:]
        self.kernel, self.groups = weight[2:], attrs["groups"]
        self.bias, self.weight = sizes.bias, weight
        self.stride, self.padding, self.dilation = (
            per_side(attrs[name], self.dims) for name in ("stride", "padding", "dilation")
        )
        self.i, self.u, self.r = (list(letters[: self.dims]) for letters in (OUT, KERNEL, IN))

    def places(self, i: Sequence[str], u: Sequence[str]) -> list[str]:
        return [place(*parts) for parts in zip(i, u, self.stride, self.dilation, self.padding)]


def _channel(c: _Conv) -> str:
    """Return the channel of x that filter o reads with its channel c."""
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


def _sums(letters: Sequence[str], counts: Sequence[int]) -> str:
    r"""Return sum signs with limits: r"\sum_{u=0}^{2} \sum_{v=0}^{1}"."""
    return " ".join(
        rf"\sum_{{{letter}=0}}^{{{count - 1}}}" for letter, count in zip(letters, counts)
    )


def _where(conditions: Iterable[str]) -> str:
    r"""Return conditions to put under a sum sign, one below the other."""
    return r"\substack{" + r" \\ ".join(conditions) + "}"


def convolution(sizes: Sizes) -> list[Line]:
    """Return the lines of a convolution's card."""
    c = _Conv(sizes)
    read, one = c.c // c.groups, (c.c // c.groups, *c.kernel)
    y, w = rf"y_{{{indices('n', 'o', c.i)}}}", rf"w_{{{indices('o', 'c', c.u)}}}"
    x = rf"x_{{{indices('n', _channel(c), c.places(c.i, c.u))}}}"
    products = rf"{_sums(['c', *c.u], [read, *c.kernel])} {w} \cdot {x}"
    outside = " Outside the input x counts as 0." if any(c.padding) else ""
    forward = Line(
        "forward",
        f"Each output number is the sum of {times(one)} products of the kernel and the window it lies on"
        f"{', plus the bias of its filter' if c.bias else ''}.{outside}{_groups(c)}",
        f"{y} = {'b_{o} + ' if c.bias else ''}{products}",
    )
    size = lines_per_side(
        c.dims,
        lambda side, letter: floor_size(
            letter,
            c.size[side],
            c.kernel[side],
            c.stride[side],
            c.padding[side],
            c.dilation[side],
            c.out[side],
        ),
        f"k kernel {by(c.kernel)}, s stride {by(c.stride)}, p padding {by(c.padding)}, d dilation {by(c.dilation)}",
    )
    total = times((c.n, c.o, *c.out, *one))
    back = [
        Line(
            "gradient of x",
            f"Each input number gets, from every window it lay in, that output's gradient times the weight it met: "
            f"at most {times((c.o // c.groups, *c.kernel))} products.",
            rf"\bar{{x}}_{{{indices('n', _channel(c), c.r)}}} = \sum_{{o}} "
            rf"\sum_{{{_where(f'{p}={r}' for p, r in zip(c.places(c.i, c.u), c.r))}}} {w} \cdot \bar{{y}}_{{{indices('n', 'o', c.i)}}}",
        ),
        Line(
            "gradient of w",
            "Each weight met one input number at every output position of every image: the sum of "
            f"{times((c.n, *c.out))} products.",
            rf"\bar{{w}}_{{{indices('o', 'c', c.u)}}} = {_sums(['n', *c.i], [c.n, *c.out])} "
            rf"\bar{{y}}_{{{indices('n', 'o', c.i)}}} \cdot {x}",
        ),
    ]
    return [forward, *size, _cost(total), _parameters(c), *back, *_bias_line(c)]


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
    tex = rf"\bar{{b}}_{{o}} = {_sums(['n', *c.i], [c.n, *c.out])} \bar{{y}}_{{{indices('n', 'o', c.i)}}}"
    return [
        Line(
            "gradient of b",
            f"The bias was added everywhere: the sum of all {times((c.n, *c.out))} gradients.",
            tex,
        )
    ]
