"""The convolution explorer: a kernel slides over a small image, and the gradient comes back the same way."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import traitlets as t

import autolab as torch

from ..trace.values import exact, number, short, sign
from ..viz import html, palette
from ..viz.mime import Bundle, instead
from . import assets, heat
from .displayed import Displayed
from .svg import FONT, element, label

MOST_SIDE, MOST_PADDED, MOST_KERNEL = (
    16,
    24,
    7,
)  # pixels along one side that still fit a readable cell
MOST_CHANNELS, MOST_FILTERS = 4, 8
MOST_PRODUCTS = 8000  # all products of all steps: 400 kB in the notebook
DIRECTIONS = ("forward", "backward")


class ConvExplorer(Displayed):
    """Shows what `conv2d(image, weight, bias, stride, padding, dilation, groups)` does, one output number at a time.

    image  : (H, W) or (C, H, W): a tensor of autolab or of PyTorch, an array or nested lists. H, W at most 16, C at
             most 4.
    weight : (O, C / groups, kh, kw), or (kh, kw) for one filter of one channel, at most 8 filters of 7x7; or an
             `nn.Conv2d` of either library, which brings its own bias, stride, padding, dilation and groups.
    bias   : (O,), or None.
    stride, padding, dilation, groups : as for `torch.nn.functional.conv2d`; padding may be "same" or "valid".
    gradient : (O, H', W'): what `backward` starts with, d loss / d output; ones (as from `output.sum()`) when None.

    Step s shows output number s, row by row and filter by filter. Forward, it is the sum of the products of window and
    kernel; backward, it sends its gradient to both, where the contributions add up. Everything is computed once, in
    float64, by the engine; nothing below needs the kernel of the notebook. Each of these is set from either side:

    step      : from 0; a number outside is moved to the nearest step.
    direction : "forward" or "backward".
    selected  : [filter, row, column] of the output number whose receptive field is marked and which Details describes;
                [] for the one the step is about.
    playing   : True while it steps on by itself.
    interval  : milliseconds between two steps of playing, at least 50.

    Raises ValueError when something is larger than can be shown or a layer is of another kind, TypeError for what is
    neither numbers nor Conv2d, and RuntimeError, in PyTorch's words, when sizes do not fit. Source:
    https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.conv2d.html
    """

    _esm = assets.loader("conv")
    _script = t.Unicode(assets.module("conv")).tag(sync=True)
    step = t.Int(0).tag(sync=True)
    direction = t.Enum(DIRECTIONS, "forward").tag(sync=True)
    selected = t.List(t.Int()).tag(sync=True)
    playing = t.Bool(False).tag(sync=True)
    interval = t.Int(1200).tag(sync=True)
    data = t.Dict().tag(sync=True)

    def __init__(
        self,
        image: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        *,
        gradient: Any = None,
        step: int = 0,
        direction: str = "forward",
        selected: Sequence[int] = (),
        playing: bool = False,
        interval: int = 1200,
    ) -> None:
        data = walk(_read(image, weight, bias, stride, padding, dilation, groups), gradient)
        playback = {"step": step, "direction": direction, "playing": playing, "interval": interval}
        super().__init__(data=data, selected=list(selected), **playback)

    @t.validate("step")
    def _step_within(self, proposal: Any) -> int:
        return max(0, min(proposal["value"], len(self.data["frames"]) - 1))

    @t.validate("interval")
    def _interval_enough(self, proposal: Any) -> int:
        return max(50, proposal["value"])

    @t.validate("selected")
    def _selected_cell(self, proposal: Any) -> list[int]:
        cell, shape = list(proposal["value"]), self.data["output_shape"]
        if cell and (len(cell) != 3 or not all(0 <= i < n for i, n in zip(cell, shape))):
            raise t.TraitError(
                f"there is no output{cell}; the output's shape is {shape}: [filter, row, column]"
            )
        return cell

    def to_html(
        self, path: str | os.PathLike[str], title: str = "Convolution, step by step"
    ) -> Path:
        """Write the widget in its present state to one HTML file that needs no kernel or network; return the path."""
        return html.write(path, [self], title=title)

    def _repr_mimebundle_(self, **kwargs: Any) -> Bundle:
        return instead(
            super()._repr_mimebundle_(**kwargs),
            self,
            "a convolution to step through",
            still(self.data, self.step),
        )

    def __repr__(self) -> str:
        channels, (height, width) = len(self.data["image"]), self.data["size"]
        (kh, kw), filters = self.data["kernel"], len(self.data["weight"])
        read = channels // self.data["groups"]
        kernels = f"{filters} {'filter' if filters == 1 else 'filters'} of {read}x{kh}x{kw}"
        return f"ConvExplorer({channels}x{height}x{width} image, {kernels}: {len(self.data['frames'])} steps)"


@dataclass(frozen=True)
class _Conv:
    """The float64 tensors of one convolution, in full rank; `pads` are top, bottom, left, right."""

    image: Any
    weight: Any
    bias: Any
    stride: tuple[int, int]
    dilation: tuple[int, int]
    pads: tuple[int, int, int, int]
    groups: int
    output: Any

    def channels(self, filter_: int) -> slice:
        """Return the channels of the image that a filter reads."""
        filters, read = self.weight.shape[:2]
        first = filter_ // (filters // self.groups) * read
        return slice(first, first + read)


def _read(
    image: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> _Conv:
    if hasattr(weight, "weight"):
        if bias is not None or (stride, padding, dilation, groups) != (1, 0, 1, 1):
            raise TypeError(
                "a Conv2d brings its own bias, stride, padding, dilation and groups: leave them out here"
            )
        layer = weight
        if (
            getattr(layer, "transposed", False)
            or getattr(layer, "padding_mode", "zeros") != "zeros"
        ):
            raise ValueError(
                f"ConvExplorer shows nn.Conv2d with padding_mode='zeros', not {type(layer).__name__} with "
                f"padding_mode={getattr(layer, 'padding_mode', 'zeros')!r}"
            )
        try:
            weight, bias = layer.weight, layer.bias
            stride, padding, dilation, groups = (
                layer.stride,
                layer.padding,
                layer.dilation,
                layer.groups,
            )
        except AttributeError:
            raise TypeError(
                f"weight: numbers or an nn.Conv2d, not {type(layer).__name__}"
            ) from None
    image, weight = _tensor("image", image), _tensor("weight", weight)
    bias = None if bias is None else _tensor("bias", bias)
    image = image.unsqueeze(0) if image.dim() == 2 else image
    weight = weight.unsqueeze(0).unsqueeze(0) if weight.dim() == 2 else weight
    if image.dim() != 3 or weight.dim() != 4:
        raise ValueError(
            f"image is (H, W) or (C, H, W) and weight (kh, kw) or (O, C, kh, kw); these are {list(image.shape)} and "
            f"{list(weight.shape)}. Of a batch, show one image: image[0]."
        )
    with torch.no_grad():
        output = torch.nn.functional.conv2d(image, weight, bias, stride, padding, dilation, groups)
    stride, dilation = _pair(stride), _pair(dilation)
    pads = _pads(padding, weight.shape[2:], dilation)
    conv = _Conv(image, weight, bias, stride, dilation, pads, groups, output)
    _check_sizes(conv)
    return conv


def _tensor(name: str, values: Any) -> Any:
    """Return the values as a float64 tensor of autolab, whichever library they come from."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().double().numpy()
    try:
        return torch.tensor(np.array(values, dtype=np.float64))
    except (TypeError, ValueError):
        kind = "numbers or an nn.Conv2d" if name == "weight" else "numbers"
        raise TypeError(f"{name}: {kind}, not {type(values).__name__}") from None


def _pair(value: Any) -> tuple[int, int]:
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return (int(values[0]), int(values[-1]))


def _pads(padding: Any, kernel: Any, dilation: tuple[int, int]) -> tuple[int, int, int, int]:
    if padding == "valid":
        return (0, 0, 0, 0)
    if padding == "same":  # the odd pixel goes to the end, as in PyTorch
        total = [d * (k - 1) for k, d in zip(kernel, dilation)]
        return (total[0] // 2, total[0] - total[0] // 2, total[1] // 2, total[1] - total[1] // 2)
    rows, columns = _pair(padding)
    return (rows, rows, columns, columns)


def _check_sizes(conv: _Conv) -> None:
    channels, height, width = conv.image.shape
    filters, read, kh, kw = conv.weight.shape
    top, bottom, left, right = conv.pads
    side = max(height + top + bottom, width + left + right)
    products = prod(conv.output.shape) * read * kh * kw
    for what, size, most, shown in (
        (f"the image is {height}x{width}", max(height, width), MOST_SIDE, "pixels along a side"),
        (
            f"the image and its padding have {side} pixels along a side",
            side,
            MOST_PADDED,
            "of them",
        ),
        (f"the image has {channels} channels", channels, MOST_CHANNELS, "channels"),
        (f"there are {filters} filters", filters, MOST_FILTERS, "filters"),
        (f"the kernel is {kh}x{kw}", max(kh, kw), MOST_KERNEL, "weights along a side"),
        (f"this takes {products:,} products", products, MOST_PRODUCTS, "products"),
    ):
        if size > most:
            raise ValueError(
                f"{what}; ConvExplorer shows up to {most:,} {shown}. Show a part, such as image[:2, :8, :8] and weight[:1, :2]"
            )
    if 0 in conv.output.shape or products == 0:
        raise ValueError("there is nothing to show: the image, the kernel or the output is empty")


def walk(conv: _Conv, gradient: Any = None) -> dict[str, Any]:
    """Return every step of a convolution and of its backward pass, JSON-ready; numbers have seven digits.

    The image is given with its padding. A frame holds, for output number `cell` = [filter, row, column]: `corner`
    (row, column of its window in the padded image); `products`, their `sum` and the output's `value`; what it sends,
    `to_kernel` and `to_image`, and what has arrived there up to and with this step, `kernel_total`, `image_total`,
    `bias_total`. These are flat, in the order of the window: channel (of the filter's group), row, column.

    Raises ValueError when `gradient` has not the shape of the output.
    """
    sent = torch.ones_like(conv.output) if gradient is None else _tensor("gradient", gradient)
    if sent.shape != conv.output.shape:
        raise ValueError(
            f"gradient has shape {list(sent.shape)}; the output has {list(conv.output.shape)}"
        )
    top, bottom, left, right = conv.pads
    kh, kw = conv.weight.shape[2:]
    image = torch.tensor(
        np.pad(conv.image.numpy(), ((0, 0), (top, bottom), (left, right)))
    ).requires_grad_()
    leaves = [image, conv.weight.detach().requires_grad_()]
    if conv.bias is not None:
        leaves.append(conv.bias.detach().requires_grad_())
    totals = [np.zeros(leaf.shape) for leaf in leaves]
    frames = []
    with torch.enable_grad():
        for cell in np.ndindex(*conv.output.shape):
            o, r, c = cell
            corner = (r * conv.stride[0], c * conv.stride[1])
            rows, columns = (
                slice(at, at + d * (k - 1) + 1, d)
                for at, d, k in zip(corner, conv.dilation, (kh, kw))
            )
            window = (conv.channels(o), rows, columns)
            products = leaves[0][window] * leaves[1][o]
            total = products.sum()
            value = total + leaves[2][o] if conv.bias is not None else total
            arrived = [g.numpy() for g in torch.autograd.grad(value, leaves, sent[cell])]
            for so_far, more in zip(totals, arrived):
                so_far += more
            frames.append(
                {
                    "cell": list(cell),
                    "corner": list(corner),
                    "products": _flat(products.detach().numpy()),
                    "sum": _digits(total.item()),
                    "value": _digits(value.item()),
                    "to_kernel": _flat(arrived[1][o]),
                    "kernel_total": _flat(totals[1][o]),
                    "to_image": _flat(arrived[0][window]),
                    "image_total": _flat(totals[0][window]),
                    "bias_total": _digits(totals[2][o]) if conv.bias is not None else None,
                }
            )
    return {
        "frames": frames,
        "image": _nested(image.detach().numpy()),
        "size": list(conv.image.shape[1:]),
        "pads": list(conv.pads),
        "weight": _nested(conv.weight.numpy()),
        "kernel": [kh, kw],
        "bias": None if conv.bias is None else _nested(conv.bias.numpy()),
        "output_shape": list(conv.output.shape),
        "gradient": _nested(sent.numpy()),
        "stride": list(conv.stride),
        "dilation": list(conv.dilation),
        "groups": conv.groups,
    }


def _digits(value: Any) -> Any:
    """Return a number with seven digits, all that a float32 has; NaN and inf as words; -0 as 0."""
    return number(float(f"{value + 0.0:.7g}"))


def _flat(array: np.ndarray) -> list[Any]:
    return [_digits(v) for v in array.ravel()]


def _nested(array: np.ndarray) -> list[Any]:
    return [_nested(part) for part in array] if array.ndim > 1 else _flat(array)


# -- the still picture ------------------------------------------------------------------------------------------------
CELL, SMALL, GAP, TOP = 44, 22, 44, 26


def still(data: dict[str, Any], step: int) -> str:
    """Return one SVG picture of a step: the first channel that the filter reads, its kernel there, the filter's whole
    output, with the window framed."""
    frame = data["frames"][step]
    o, r, c = frame["cell"]
    _, rows, columns = data["output_shape"]
    outputs = [
        [f["value"] for f in data["frames"] if f["cell"][:2] == [o, row]] for row in range(rows)
    ]
    spans = [d * (k - 1) + 1 for d, k in zip(data["dilation"], data["kernel"])]
    many, read = len(data["image"]) > 1, len(data["weight"][0])
    first = o // (len(data["weight"]) // data["groups"]) * read
    grids = (
        (
            f"image{f'[{first}]' if many else ''}{' and padding' if any(data['pads']) else ''}",
            data["image"][first],
            (*frame["corner"], *spans),
        ),
        (f"weight[{o}{', 0' if many else ''}]", data["weight"][o][0], None),
        (f"output[{o}]", outputs, (r, c, 1, 1)),
    )
    parts, x, height = [], 6, 0
    for name, table, framed in grids:
        size = CELL if len(table[0]) <= 10 else SMALL
        parts += [label("al-name", x, 18, name), _cells(table, x, size)]
        if framed:
            top, left, tall, wide = (v * size for v in framed)
            ring = dict(x=x + left, y=TOP + top, width=wide, height=tall, fill="none")
            parts += [
                element("rect", **ring, stroke=palette.PAPER, stroke_width=6),
                element("rect", **ring, stroke=palette.INK, stroke_width=3),
            ]
        x, height = x + max(size * len(table[0]), 60) + GAP, max(height, size * len(table))
    width, height = x - GAP + 6, height + TOP + 34
    said = f"output[{o}, {r}, {c}] {sign(exact(frame['value']))} {short(frame['value'])}: the sum of {len(frame['products'])} products"
    said += "" if data["bias"] is None else " and the bias"
    paper = element("rect", width=width, height=height, fill=palette.PAPER)
    words = label("al-said", 6, height - 10, said)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="Convolution: {said}" font-family="{FONT}">{paper}{"".join(parts)}{words}</svg>'
    )


def _cells(table: list[list[Any]], x: int, size: int) -> str:
    top, parts = heat.scale(table), []
    for r, row in enumerate(table):
        for c, value in enumerate(row):
            fill = heat.color(value, top)
            at = dict(x=x + c * size, y=TOP + r * size)
            parts.append(
                element("rect", **at, width=size, height=size, fill=fill, stroke=palette.DATA)
            )
            if size == CELL:
                place = (at["x"] + size / 2, at["y"] + size / 2 + 4)
                ink = palette.PAPER if _dark(fill) else palette.BLACK
                parts.append(
                    label(
                        "al-v", *place, brief(value), fill=ink, font_size=12, text_anchor="middle"
                    )
                )
    return "".join(parts)


def brief(value: Any) -> str:
    """Return a number short enough for a cell: .125, 5e-3; `cellText` in static/conv.js is the same function."""
    text = short(value)
    if isinstance(value, str) or value == 0:
        return text
    if abs(value) < 0.01:
        return f"{value:.0e}".replace("e-0", "e-")
    return (
        f"{value:.1e}".replace("e+0", "e").replace("e+", "e")
        if "e" in text
        else text.replace("0.", ".", text.find("0.") < 2)
    )


def _dark(color: str) -> bool:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return (0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05) ** 2 < 0.05 * 1.05
