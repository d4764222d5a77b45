"""Show the receptive field of one number in a feature map, back through several layers to the image."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import traitlets as t

from ..engine.kernels.pooling import adaptive_edges
from ..trace.layers.cards import per_side
from ..trace.layers.panels import encoded
from ..viz import html
from ..viz.mime import Bundle, instead
from . import assets
from .displayed import Displayed

MOST_SIDE, MOST_LAYERS = 64, 16  # pixels along a side of the image; layers
MOST_GRADIENTS = 150_000  # numbers: one picture of the image for every output, one byte each
WINDOWED = ("Conv2d", "MaxPool2d", "AvgPool2d")
ADAPTIVE = ("AdaptiveAvgPool2d", "AdaptiveMaxPool2d")
POINTWISE = ("ReLU", "LeakyReLU", "ELU", "GELU", "SiLU", "Tanh", "Sigmoid", "Softplus", "ReLU6",
    "Identity",
             "BatchNorm2d", "Dropout", "Dropout2d")  # fmt: skip


class ReceptiveField(Displayed):
    """Shows which part of `image` a chosen number of a feature map depends on, and how strongly.

    image   : (H, W), (C, H, W) or (1, C, H, W), H and W at most 64: a tensor of autolab or PyTorch, an array, or lists.
    network : an `nn.Sequential` of autolab or PyTorch, or a list of modules, up to 16: Conv2d, max and average pooling,
              adaptive pooling, activations, BatchNorm2d and dropout (both as in evaluation). It is run once and left as
              it was.
    channel : which channel of every feature map is shown.

    The frame in each earlier map holds everything that can affect the chosen number, computed from kernel sizes,
    strides, padding and dilation alone. For a number of the last map, its gradient shows which pixels within the frame
    did affect it.

    selected : [map, row, column]; map 0 is the image, 1 the result of the first layer. Python and the page can both set
        it.

    Raises TypeError for a module of another kind, ValueError for sizes that cannot be shown.
    Source: Araujo, Norris and Sim, "Computing Receptive Fields of Convolutional Neural Networks", Distill (2019).
    """

    _esm = assets.loader("field")
    _script = t.Unicode(assets.module("field")).tag(sync=True)
    selected = t.List(t.Int()).tag(sync=True)
    data = t.Dict().tag(sync=True)

    def __init__(
        self, image: Any, network: Any, *, channel: int = 0, selected: Sequence[int] | None = None
    ):
        data = look(image, _flat(network), channel)
        *_, rows, columns = data["maps"][-1]["size"]
        middle = [len(data["maps"]) - 1, rows // 2, columns // 2]
        super().__init__(data=data, selected=middle if selected is None else list(selected))

    @t.validate("selected")
    def _selected_place(self, proposal: Any) -> list[int]:
        place, maps = list(proposal["value"]), self.data["maps"]
        if len(place) != 3 or not 0 <= place[0] < len(maps):
            raise t.TraitError(
                f"selected is [map, row, column], map from 0 to {len(maps) - 1}; this is {place}"
            )
        size = maps[place[0]]["size"][1:]
        if not all(0 <= i < n for i, n in zip(place[1:], size)):
            raise t.TraitError(
                f"map {place[0]} has {size[0]} rows and {size[1]} columns; there is no {place[1:]}"
            )
        return place

    def field(self, selected: list[int] | None = None) -> list[tuple[int, int, int, int]]:
        """Return (first row, last row, first column, last column) in every map from the image to that of `selected`."""
        number, row, column = self.selected if selected is None else selected
        fields = [(row, row, column, column)]
        for layer in reversed(self.data["maps"][1 : number + 1]):
            top, bottom, left, right = fields[0]
            (rows, columns) = layer["rows"], layer["columns"]
            fields.insert(0, (rows[top][0], rows[bottom][1], columns[left][0], columns[right][1]))
        return fields

    def to_html(self, path: str | os.PathLike[str], title: str = "Receptive field") -> Path:
        """Write the widget in its present state to one HTML file that needs no kernel or network; return the path."""
        return html.write(path, [self], title=title)

    def _repr_mimebundle_(self, **kwargs: Any) -> Bundle:
        return instead(
            super()._repr_mimebundle_(**kwargs),
            self,
            "a view of what each number of a layer has seen of the image",
        )

    def __repr__(self) -> str:
        number, row, column = self.selected
        top, bottom, left, right = self.field()[0]
        name = self.data["maps"][number]["name"]
        return f"ReceptiveField([{row}, {column}] of {name} sees rows {top} to {bottom}, columns {left} to {right} of the image)"


def _flat(network: Any) -> list[Any]:
    """Return the layers in order, with containers opened."""
    layers: list[Any] = []
    for module in (
        network
        if isinstance(network, (list, tuple)) or type(network).__name__ == "Sequential"
        else [network]
    ):
        layers += _flat(module) if type(module).__name__ == "Sequential" else [module]
    for module in layers:
        if type(module).__name__ not in (*WINDOWED, *ADAPTIVE, *POINTWISE):
            raise TypeError(
                f"ReceptiveField follows convolution, pooling and layers that work number by number; not "
                f"{type(module).__name__}. Give the layers before it: network[:n]."
            )
    if not 0 < len(layers) <= MOST_LAYERS:
        raise ValueError(f"there are {len(layers)} layers; ReceptiveField shows 1 to {MOST_LAYERS}")
    return layers


def reach(module: Any, size: tuple[int, int], out: tuple[int, int]) -> list[list[list[int]]]:
    """Return, for rows and then for columns, the [first, last] input position that each output position depends on."""
    kind, both = type(module).__name__, []
    if kind in ADAPTIVE:
        for n, o in zip(size, out):
            both.append([[int(a), int(b) - 1] for a, b in zip(*adaptive_edges(n, o))])
        return both
    if kind in POINTWISE:
        return [[[i, i] for i in range(n)] for n in out]
    kernel = per_side(module.kernel_size, 2)
    dilation = per_side(getattr(module, "dilation", 1), 2)
    stride = per_side(kernel if module.stride is None or module.stride == () else module.stride, 2)
    padding = module.padding
    if padding in ("same", "valid"):
        padding = [d * (k - 1) // 2 if padding == "same" else 0 for k, d in zip(kernel, dilation)]
    for n, o, k, s, p, d in zip(size, out, kernel, stride, per_side(padding, 2), dilation):
        starts = [i * s - p for i in range(o)]
        both.append([[min(max(a, 0), n - 1), max(min(a + d * (k - 1), n - 1), 0)] for a in starts])
    return both


@contextmanager
def _evaluating(layers: list[Any]) -> Iterator[None]:
    """Set dropout and batch norm to evaluation mode; restore them after the block."""
    before = [layer.training for layer in layers]
    for layer in layers:
        layer.train(False)
    try:
        yield
    finally:
        for layer, training in zip(layers, before):
            layer.train(training)


def look(image: Any, layers: list[Any], channel: int) -> dict[str, Any]:
    """Return maps, reaches and gradients, JSON-ready. `maps[0]` is the image; a map has `size` (channels, rows,
    columns), one channel as `numbers` or `bytes` (see `trace/layers/panels.py`), and the `rows` and `columns` of the
    map before that each position depends on."""
    real = any(
        c.__module__.partition(".")[0] == "torch" for layer in layers for c in type(layer).__mro__
    )
    torch = importlib.import_module("torch" if real else "autolab")
    array = np.array(
        image.detach().cpu().tolist() if hasattr(image, "detach") else image, dtype=np.float64
    )
    array = (
        array[0]
        if array.ndim == 4 and len(array) == 1
        else array[None]
        if array.ndim == 2
        else array
    )
    if array.ndim != 3 or not 0 < max(array.shape[1:]) <= MOST_SIDE:
        raise ValueError(
            f"image is (H, W) or (C, H, W), H and W at most {MOST_SIDE}; this has shape {list(array.shape)}"
        )
    dtype = next((p.dtype for layer in layers for p in layer.parameters()), torch.float32)
    with torch.enable_grad(), _evaluating(layers):
        x = torch.tensor(array[None], dtype=dtype).requires_grad_()
        tensors = [x]
        for layer in layers:
            tensors.append(layer(tensors[-1].clone()))  # a clone: an activation may work in place
        last = tensors[-1]
        if not 0 <= channel < min(m.shape[1] for m in tensors[1:]):
            raise ValueError(
                f"channel {channel}: every map must have it, and one has {min(m.shape[1] for m in tensors[1:])}"
            )
        rows, columns = last.shape[2:]
        cells = rows * columns if rows * columns * array[0].size <= MOST_GRADIENTS else 0
        gradients = [
            torch.autograd.grad(last[0, channel, i // columns, i % columns], x, retain_graph=True)[
                0
            ]
            for i in range(cells)
        ]
    maps = [_map("image", tensors[0], 0)]
    for i, (layer, before, after) in enumerate(zip(layers, tensors, tensors[1:])):
        rows_, columns_ = reach(layer, tuple(before.shape[2:]), tuple(after.shape[2:]))
        windowed = type(layer).__name__ not in POINTWISE
        maps.append(
            _map(f"{i}: {type(layer).__name__}", after, channel)
            | {"rows": rows_, "columns": columns_, "windowed": windowed}
        )
    strength = []
    for gradient in gradients:
        magnitudes = np.abs(_array(gradient)[0]).sum(0)
        strength.append(_plane(magnitudes) | {"count": int(np.count_nonzero(magnitudes))})
    return {"maps": maps, "gradients": strength, "channel": channel}


def _array(tensor: Any) -> np.ndarray:
    return np.array(tensor.detach().cpu().tolist(), dtype=np.float64)


def _map(name: str, tensor: Any, channel: int) -> dict[str, Any]:
    return {
        "name": name,
        "size": [int(n) for n in tensor.shape[1:]],
        **_plane(_array(tensor[0, channel])),
    }


def _plane(array: np.ndarray) -> dict[str, Any]:
    plane = encoded(array[None])
    return plane if plane["numbers"] is None else plane | {"numbers": plane["numbers"][0]}
