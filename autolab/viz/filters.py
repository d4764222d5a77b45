"""Plot what a convolution has learned and its output: filters and feature maps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..engine.core.errors import fail
from .panels import broken, chosen, colour_bar, how_many, mosaic, numbers, signed_scale, whole


def plot_filters(
    conv: Any,
    *,
    filters: Any = None,
    channels: Any = None,
    columns: int | None = None,
    ax: Any = None,
    title: str = "",
) -> Any:
    """Draw the filters of a convolution as heat maps on one scale and return the matplotlib Axes.

    conv     : a Conv1d, Conv2d or ConvTranspose module, or a weight (out_channels, in_channels / groups, height,
               width). A filter of a Conv1d, weight (out_channels, in_channels / groups, width), is one picture, channel
               by row.
    filters  : output channels to draw; default: the first 64, or the first 8 when a filter has several input channels.
    channels : positions along the weight's second dimension to draw; default: the first 8.
    columns  : pictures in a row; default: the input channels of one filter, or as near to a square as possible.
    ax       : Axes to draw into; default: a new figure.

    Above each picture stands its filter and, when there are several, the input channel it reads: "3 ← 1". Purple is
    negative, white 0, green positive, grey NaN or infinite.

    Raises TypeError, ValueError or IndexError naming the argument that does not fit. Source of the layout of weights:
    https://docs.pytorch.org/docs/stable/generated/torch.nn.Conv2d.html"""
    weight, groups = _weight(conv)
    flat = weight.ndim == 3
    out_count, in_count = weight.shape[0], 1 if flat else weight.shape[1]
    if flat and channels is not None:
        raise fail(
            ValueError,
            "channels must be left out for a Conv1d",
            "All channels of a filter are rows of its picture.",
        )
    outs = chosen(filters, out_count, "filters", 64 if in_count == 1 else 8)
    ins = chosen(channels, in_count, "channels", 8)
    several = not flat and in_count * groups > 1
    first_read = [
        o // (out_count // groups) * in_count for o in outs
    ]  # a group reads the channels after those before
    pictures = [weight[o] if flat else weight[o, i] for o in outs for i in ins]
    labels = [
        f"{o} ← {first + i}" if several else f"{o}"
        for o, first in zip(outs, first_read)
        for i in ins
    ]
    if not title:
        title = how_many(len(outs), out_count, "filters")
        if several:
            title += f", {how_many(len(ins), in_count, 'input channels')} each (filter ← channel)"
    shown = np.stack(pictures)
    row = _columns(columns, len(pictures), len(ins))
    return _heat_maps(ax, shown, labels, row, title, "weight")


def plot_feature_maps(
    activations: Any,
    *,
    image: int = 0,
    channels: Any = None,
    columns: int | None = None,
    ax: Any = None,
    title: str = "",
) -> Any:
    """Draw the channels of a layer's output as heat maps on one scale and return the matplotlib Axes.

    activations : (batch, channels, height, width), or (channels, height, width) of one image.
    image       : which image of the batch.
    channels    : channels to draw; default: the first 64.
    columns     : pictures in a row; default: as near to a square as possible.
    ax          : Axes to draw into; default: a new figure.

    A channel that is 0 everywhere, as after a ReLU that is never active, is marked "all 0". Colours as in
    `plot_filters`. Raises TypeError, ValueError or IndexError naming the argument that does not fit."""
    maps = numbers(activations, "activations")
    if maps.ndim not in (3, 4) or not maps.size:
        raise fail(
            ValueError,
            f"activations must have shape (batch, channels, height, width) or (channels, height, width), got {maps.shape}",
            "Only the output of a convolution or a pooling layer has maps; a Linear layer's has no height and width.",
        )
    batched = maps.ndim == 4
    (index,) = chosen([image], len(maps) if batched else 1, "image", 1)
    one = maps[index] if batched else maps
    picked = chosen(channels, len(one), "channels", 64)
    labels = [f"{c}" if one[c].any() else f"{c}: all 0" for c in picked]
    if not title:
        title = how_many(len(picked), len(one), "channels") + (
            f" of image {index}" if batched else ""
        )
    return _heat_maps(
        ax, one[picked], labels, _columns(columns, len(picked), 1), title, "activation"
    )


def _weight(conv: Any) -> tuple[np.ndarray, int]:
    """Return the weight as (out_channels, in_channels / groups, ...) and the number of groups."""
    tensor = conv if not hasattr(conv, "named_parameters") else getattr(conv, "weight", None)
    if tensor is None:
        raise fail(
            TypeError,
            f"conv must be a convolution or its weight, got {type(conv).__name__}, which has no weight",
            "Pick one layer of the network, for example plot_filters(model.conv1) or plot_filters(model[0]).",
        )
    weight = numbers(tensor, "conv")
    if weight.ndim not in (3, 4) or not weight.size:
        raise fail(
            ValueError,
            "conv must have a weight of shape (out_channels, in_channels, height, width) or (out_channels, in_channels, "
            f"width), got {weight.shape}",
            "Only convolutions have filters. plot_weight_histograms(model) shows the weights of any layer.",
        )
    groups = getattr(conv, "groups", 1)
    if getattr(
        conv, "transposed", False
    ):  # its weight is (in_channels, out_channels / groups, ...)
        split = weight.reshape(groups, -1, *weight.shape[1:]).swapaxes(1, 2)
        weight = split.reshape(-1, *split.shape[2:])
    return weight, groups


def _columns(columns: int | None, count: int, natural: int) -> int:
    if columns is not None:
        return whole(columns, "columns")
    return natural if natural > 1 else math.ceil(math.sqrt(count))


def _heat_maps(
    ax: Any, maps: np.ndarray, labels: list[str], columns: int, title: str, unit: str
) -> Any:
    colours, norm = signed_scale(maps)
    ax = mosaic(ax, maps, labels, columns, title=title + broken(maps), cmap=colours, norm=norm)
    colour_bar(ax, unit)
    return ax
