"""Cards of max and average pooling, with fixed and adaptive window sizes."""

from __future__ import annotations

import math

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


def _pool_sizes(
    sizes: Sizes,
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    attrs = sizes.attrs
    kernel = per_side(attrs["kernel_size"], 2)
    stride = per_side(attrs.get("stride") or kernel, 2)
    return (
        kernel,
        stride,
        per_side(attrs.get("padding", 0), 2),
        per_side(attrs.get("dilation", 1), 2),
    )


def _windowed(sizes: Sizes) -> tuple[str, str, list[Line]]:
    """Return (the numbers that a window reads, in TeX; the same as a range of u, v; lines about the output size)."""
    kernel, stride, padding, dilation = _pool_sizes(sizes)
    x = rf"x_{{{indices('c', [place(*p) for p in zip(OUT, KERNEL, stride, dilation, padding)])}}}"
    window = r",\, ".join(rf"0 \le {u} < {k}" for u, k in zip(KERNEL, kernel))
    ceil, size, out = bool(sizes.attrs.get("ceil_mode")), sizes.x[-2:], sizes.y[-2:]
    note = f"k window {by(kernel)}, s stride {by(stride)}, p padding {by(padding)}, d dilation {by(dilation)}"
    spans = [n + 2 * p - d * (k - 1) - 1 for n, p, d, k in zip(size, padding, dilation, kernel)]
    full = [(-(-span // s) if ceil else span // s) + 1 for span, s in zip(spans, stride)]
    if tuple(full) != tuple(out):
        note += "; one window less where it would start in the padding at the end"

    def side_size(side: int, letter: str) -> str:
        tex = floor_size(
            letter,
            size[side],
            kernel[side],
            stride[side],
            padding[side],
            dilation[side],
            full[side],
            ceil=ceil,
        )
        return tex if full[side] == out[side] else rf"{tex} \rightarrow {out[side]}"

    return x, window, lines_per_side(2, side_size, note)


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


def max_pool(sizes: Sizes) -> list[Line]:
    x, window, lines = _windowed(sizes)
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


def avg_pool(sizes: Sizes) -> list[Line]:
    adaptive = sizes.op == "_adaptive_avg_pool2d"
    x, window, lines = _adaptive(sizes) if adaptive else _windowed(sizes)
    if adaptive:
        even = all(n % o == 0 for n, o in zip(sizes.x[-2:], sizes.y[-2:]))
        share = (
            str(math.prod(n // o for n, o in zip(sizes.x[-2:], sizes.y[-2:])))
            if even
            else "m_{i,j}"
        )
        how = (
            f"window of {share} numbers"
            if even
            else "window; windows may differ by a row or column, m counts their numbers"
        )
    else:
        kernel = _pool_sizes(sizes)[0]
        share = str(sizes.attrs.get("divisor_override") or math.prod(kernel))
        how = f"window of {times(kernel)} numbers"
        if sizes.attrs.get("divisor_override"):
            how += f", divided by {share} because divisor_override says so"
        elif any(_pool_sizes(sizes)[2]):
            counted = sizes.attrs.get("count_include_pad", True)
            how += (
                "; zeros of the padding count too"
                if counted
                else "; at the border only those inside the input count"
            )
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
