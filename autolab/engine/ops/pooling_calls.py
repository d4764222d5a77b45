"""Pooling as it is called: arguments as PyTorch takes them, its checks, then the ops of `pooling.py`.

Sources: https://docs.pytorch.org/docs/2.13/nn.functional.html#pooling-functions
"""

from __future__ import annotations

import numpy as np

from ..arguments import bad_argument
from ..errors import check_dim, fail
from ..registry import composite
from ..tensor import Tensor
from .pooling import (
    adaptive_avg_pool,
    adaptive_max_pool,
    avg_pool,
    max_pool,
    max_pool_with_indices,
    pair,
    pooled,
    refuse_whole,
    windows,
)
from .reduction import mean_op
from .shape import squeeze_dim, unsqueeze


def _public(f):
    """In `torch.nn.functional`, and under the same name in `torch`."""
    return composite()(composite(namespace="nn.functional")(f))


def _tensor_argument(function, value):
    if not isinstance(value, Tensor):
        raise fail(
            TypeError,
            f"{function}(): argument 'input' (position 1) must be Tensor, not {type(value).__name__}",
            "Make a tensor of it first: torch.tensor(...).",
        )


def _pairs(function, *, kernel_size, stride, padding, dilation=1):
    """The arguments as pairs; an omitted stride is ()."""
    given = {
        "kernel_size": kernel_size,
        "stride": () if stride is None else stride,
        "padding": padding,
        "dilation": dilation,
    }
    words = {
        "stride": "must either be omitted, a single int, or a tuple of two ints",
        "dilation": "must be either a single int, or a tuple of two ints",
    }
    found = []
    for position, (name, value) in enumerate(given.items(), 2):
        if isinstance(value, str):
            raise bad_argument(function, name, position, "tuple of ints", value)
        value = pair(value)
        if len(value) != 2 and not (name == "stride" and not value):
            raise fail(
                RuntimeError,
                f"{function}: {name} {words.get(name, 'must either be a single int, or a tuple of two ints')}",
                "One number for both dimensions, or (height, width).",
            )
        found.append(value)
    return found


def _check_windows(x, kernel_size, stride, padding, dilation, ceil_mode):
    """Raises RuntimeError, in PyTorch's words and order, when the windows do not fit."""
    if 0 in (stride or kernel_size):
        raise fail(RuntimeError, "stride should not be zero", "The window would never move on.")
    if min(kernel_size) < 1:
        raise fail(
            RuntimeError,
            f"kernel size should be greater than zero, but got kH: {kernel_size[0]} kW: {kernel_size[1]}",
            "A window needs a size.",
        )
    if stride and min(stride) < 1:
        raise fail(
            RuntimeError,
            f"stride should be greater than zero, but got dH: {stride[0]} dW: {stride[1]}",
            "Windows move forwards.",
        )
    if min(dilation) < 1:
        raise fail(
            RuntimeError,
            f"dilation should be greater than zero, but got dilationH: {dilation[0]} dilationW: {dilation[1]}",
            "1 means that the window has no gaps.",
        )
    for k, p, d in zip(kernel_size, padding, dilation):
        if p < 0:
            raise fail(
                RuntimeError, f"pad must be non-negative, but got pad: {p}", "Cut the input with slices instead."
            )
        if p > (d * (k - 1) + 1) // 2:
            raise fail(
                RuntimeError,
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}",
                "With more padding some windows would see nothing but padding.",
            )
    out = windows(x, kernel_size, stride, padding, dilation, ceil_mode).out
    if min(out) < 1:
        planes = x.shape[-3]
        text = "x".join(map(str, (planes, *x.shape[-2:]))), "x".join(map(str, (planes, *out)))
        raise fail(
            RuntimeError,
            f"Given input size: ({text[0]}). Calculated output size: ({text[1]}). Output size is too small",
            "The image is smaller than the window: use less pooling before this layer, or padding.",
        )


def _check_images(x):
    if x.ndim not in (3, 4):
        raise fail(
            RuntimeError,
            "non-empty 3D or 4D (batch mode) tensor expected for input",
            "Images are (N, C, H, W), or (C, H, W) without a batch.",
        )
    if 0 in x.shape[x.ndim - 3 :]:
        raise fail(
            RuntimeError,
            "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:"
            f"[{', '.join(map(str, x.shape))}]",
            "Only the number of images may be 0.",
        )


@composite()
def max_pool2d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """The largest number of each window of images (N, C, H, W) or (C, H, W).

    H' = floor((H + 2 padding - dilation (kernel - 1) - 1) / stride) + 1 (`ceil_mode`: rounded up). Raises RuntimeError when the windows do not
    fit. Source: torch.nn.functional.max_pool2d."""
    return max_pool.call(*_max_arguments(input, kernel_size, stride, padding, dilation, ceil_mode))


_checked: dict = {}
"""The settings that passed for these sizes before: the checks take a third of a small pooling."""


def _max_arguments(input, kernel_size, stride, padding, dilation, ceil_mode):
    _tensor_argument("max_pool2d", input)
    given = kernel_size, stride, padding, dilation, ceil_mode
    try:
        key = input._d.shape, given, *[tuple(map(type, v)) if v.__class__ is tuple else v.__class__ for v in given]  # 2.0 equals 2
        settings = _checked.get(key)
    except TypeError:  # lists
        key = settings = None
    if settings is not None:
        return input, *settings
    if not isinstance(ceil_mode, bool):
        raise fail(
            TypeError,
            f"max_pool2d(): argument 'ceil_mode' (position 6) must be bool, not {type(ceil_mode).__name__}",
            "Write True or False.",
        )
    kernel_size, stride, padding, dilation = _pairs(
        "max_pool2d", kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation
    )
    if input.ndim in (3, 4):
        _check_windows(input, kernel_size, stride, padding, dilation, ceil_mode)
    _check_images(input)
    settings = kernel_size, stride, padding, dilation, ceil_mode
    if key is not None:
        if len(_checked) >= 512:
            _checked.clear()
        _checked[key] = settings
    return input, *settings


@composite(namespace="nn.functional", name="max_pool2d")
def _max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    if not return_indices:
        return max_pool2d(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)
    return max_pool_with_indices.call(*_max_arguments(input, kernel_size, stride, padding, dilation, ceil_mode))


_max_pool2d.__doc__ = max_pool2d.__doc__.replace(
    "\n\n", " With `return_indices`\n    also where it lies, as h * W + w.\n\n", 1
)


@composite(namespace="nn.functional")
def max_pool2d_with_indices(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """`max_pool2d(..., return_indices=True)`. Source: torch.nn.functional.max_pool2d_with_indices."""
    return _max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def _single(function, name, value):
    if isinstance(value, str):
        position = {"stride": 3, "padding": 4, "dilation": 5}.get(name, 2)
        raise bad_argument(function, name, position, "tuple of ints", value)
    values = (value,) if isinstance(value, (int, np.integer)) else tuple(value)
    if len(values) != 1:
        if function == "max_pool1d":
            raise fail(
                RuntimeError,
                f"max_pool1d() {name} must be an int, list of ints or tuple of ints of size 1 but got size {len(values)}",
                "A sequence has one dimension to move along.",
            )
        raise fail(
            RuntimeError,
            f"{function}() argument '{name}' should contain one int (got {len(values)})",
            "A sequence has one dimension to move along.",
        )
    return values[0]


def _on_rows(op, x, *args):
    """A two-dimensional pooling of sequences, as images of height 1; gives what the op gives."""
    out = op(unsqueeze.call(x, -2), *args)
    return tuple(squeeze_dim.call(o, -2) for o in out) if isinstance(out, tuple) else squeeze_dim.call(out, -2)


def _max_pool1d_arguments(input, kernel_size, stride, padding, dilation, ceil_mode):
    _tensor_argument("max_pool1d", input)
    if input.ndim not in (2, 3):
        raise fail(
            RuntimeError,
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:"
            f"[{', '.join(map(str, input.shape))}]",
            "Sequences are (N, C, L), or (C, L) without a batch.",
        )
    stride = kernel_size if stride is None or stride == () else stride
    k, s, p, d = (
        _single("max_pool1d", n, v)
        for n, v in (("kernel_size", kernel_size), ("stride", stride), ("padding", padding), ("dilation", dilation))
    )
    for name, value in (("kernel_size", k), ("stride", s)):
        if value < 1:
            raise fail(
                RuntimeError,
                f"max_pool1d() {name} must be greater than zero, but got {value}",
                "Windows have a size and move forwards.",
            )
    if p < 0:
        raise fail(
            RuntimeError,
            f"max_pool1d() padding must be non-negative, but got {p}",
            "Cut the input with slices instead.",
        )
    if p > k // 2:
        raise fail(
            RuntimeError,
            f"max_pool1d() padding should be at most half of kernel size, but got padding={p} and kernel_size={k}",
            "With more padding some windows would see nothing but padding.",
        )
    if d < 1:
        raise fail(
            RuntimeError,
            f"max_pool1d() dilation must be greater than zero, but got {d}",
            "1 means that the window has no gaps.",
        )
    out = pooled(input.shape[-1], k, s, p, d, ceil_mode)
    if out < 1:
        raise fail(
            RuntimeError,
            f"max_pool1d() Invalid computed output size: {out}",
            "The sequence is shorter than the window.",
        )
    return (1, k), (1, s), (0, p), (1, d), bool(ceil_mode)


@composite()
def max_pool1d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """The largest number of each window of sequences (N, C, L) or (C, L). Raises RuntimeError when the windows do not fit.

    Source: torch.nn.functional.max_pool1d."""
    _tensor_argument("max_pool1d", input)
    refuse_whole("max_pool1d_impl", input._d)
    return _on_rows(
        max_pool.call, input, *_max_pool1d_arguments(input, kernel_size, stride, padding, dilation, ceil_mode)
    )


@composite(namespace="nn.functional", name="max_pool1d")
def _max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    if not return_indices:
        return max_pool1d(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)
    return _on_rows(max_pool_with_indices.call, input, *_max_pool1d_arguments(input, kernel_size, stride, padding, dilation, ceil_mode))


_max_pool1d.__doc__ = max_pool1d.__doc__


@composite(namespace="nn.functional")
def max_pool1d_with_indices(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """(values, indices); see `max_pool1d`. Source: torch.nn.functional.max_pool1d_with_indices."""
    return _max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


@composite(namespace="nn.functional")
def avg_pool2d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """The mean of each window of images (N, C, H, W) or (C, H, W); zeros of the padding count unless `count_include_pad` is False.

    `divisor_override` replaces the number of elements. Raises RuntimeError when the windows do not fit. Source: torch.nn.functional.avg_pool2d."""
    _tensor_argument("avg_pool2d", input)
    kernel_size, stride, padding, _ = _pairs("avg_pool2d", kernel_size=kernel_size, stride=stride, padding=padding)
    if divisor_override == 0:
        raise fail(RuntimeError, "divisor must be not zero", "None divides by the size of the window.")
    if input.ndim < 3:
        check_dim(-3, input.ndim)
    _check_windows(input, kernel_size, stride, padding, (1, 1), ceil_mode)
    _check_images(input)
    return avg_pool.call(
        input, kernel_size, stride, padding, bool(ceil_mode), bool(count_include_pad), divisor_override
    )


def _check_sequence(function, input):
    _tensor_argument(function, input)
    if input.ndim not in (2, 3):
        raise fail(
            RuntimeError,
            f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument #1 'self' (while checking arguments "
            f"for {function})",
            "Sequences are (N, C, L), or (C, L) without a batch.",
        )


@_public
def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window of sequences (N, C, L) or (C, L). Raises RuntimeError when the windows do not fit.

    Source: torch.nn.functional.avg_pool1d."""
    _check_sequence("avg_pool1d", input)
    stride = kernel_size if stride is None or stride == () else stride
    k, s, p = (
        _single("avg_pool1d", n, v) for n, v in (("kernel_size", kernel_size), ("stride", stride), ("padding", padding))
    )
    rows = unsqueeze.call(input, -2)
    _check_windows(rows, (1, k), (1, s), (0, p), (1, 1), ceil_mode)
    return squeeze_dim.call(
        avg_pool.call(rows, (1, k), (1, s), (0, p), bool(ceil_mode), bool(count_include_pad), None), -2
    )


def _wanted(input, output_size, function, message):
    """(rows, columns) of an adaptive pooling; None keeps a size."""
    size = (
        pair(output_size) if not isinstance(output_size, (list, tuple)) or len(output_size) != 1 else tuple(output_size)
    )
    if len(size) != 2:
        raise fail(RuntimeError, f"{function}{message}", "One number for both dimensions, or (height, width).")
    return tuple(int(n if w is None else w) for w, n in zip(size, input.shape[-2:]))


def _check_adaptive(function, input, colon):
    if input.ndim not in (3, 4):
        raise fail(
            RuntimeError,
            f"{function}(): Expected 3D or 4D tensor, but got{colon} [{', '.join(map(str, input.shape))}]",
            "Images are (N, C, H, W), or (C, H, W) without a batch.",
        )
    for dim in (-2, -1):
        if input.shape[dim] == 0:
            raise fail(
                RuntimeError,
                f"{function}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{list(input.shape)} with dimension {input.ndim + dim} being empty",
                "There is nothing to share out.",
            )


@composite(namespace="nn.functional")
def adaptive_avg_pool2d(input, output_size):
    """Means of images (N, C, H, W) or (C, H, W) over windows that share them out into `output_size` = (rows, columns); None keeps a size.

    Raises RuntimeError for other shapes. Source: torch.nn.functional.adaptive_avg_pool2d."""
    size = _wanted(input, output_size, "adaptive_avg_pool2d", ": output_size must be 2")
    if min(size) < 0:
        raise fail(
            RuntimeError,
            "adaptive_avg_pool2d: elements of output_size must be greater than or equal to 0 but received "
            f"{{{size[0]}, {size[1]}}}",
            "It is the size of the result.",
        )
    if size == (1, 1) and input.ndim in (3, 4):
        return mean_op.call(input, (-1, -2), True, None)
    _check_adaptive("adaptive_avg_pool2d", input, "")
    if input.dtype.np.kind != "f":
        raise fail(
            NotImplementedError,
            f"\"adaptive_avg_pool2d\" not implemented for '{input.dtype.short}'",
            "Call .float() first.",
        )
    return adaptive_avg_pool.call(input, size)


@_public
def adaptive_avg_pool1d(input, output_size):
    """Means of sequences (N, C, L) or (C, L) over `output_size` windows that share them out. Source: torch.nn.functional.adaptive_avg_pool1d."""
    _check_sequence("adaptive_avg_pool1d", input)
    return _on_rows(adaptive_avg_pool2d, input, (1, _single("adaptive_avg_pool1d", "output_size", output_size)))


@composite(namespace="nn.functional")
def adaptive_max_pool2d(input, output_size, return_indices=False):
    """The largest number of each of `output_size` = (rows, columns) windows that share images out; with `return_indices` also where it lies.

    Raises RuntimeError for shapes other than (N, C, H, W) and (C, H, W). Source: torch.nn.functional.adaptive_max_pool2d."""
    _tensor_argument("adaptive_max_pool2d", input)
    size = _wanted(input, output_size, "adaptive_max_pool2d", "(): internal error: output_size.size() must be 2")
    _check_adaptive("adaptive_max_pool2d", input, ":")
    if min(size) < 0:
        shape = [*input.shape[:-2], *size]
        raise fail(
            RuntimeError,
            f"Trying to create tensor with negative dimension {min(size)}: {shape}",
            "It is the size of the result.",
        )
    out = adaptive_max_pool.call(input, size)
    return out if return_indices else out[0]


@composite()
@composite(namespace="nn.functional", name="adaptive_max_pool1d_with_indices")
def adaptive_max_pool1d(input, output_size, return_indices=True):
    """(values, indices) of the largest number of each of `output_size` windows that share sequences out. Source: torch.adaptive_max_pool1d."""
    _check_sequence("adaptive_max_pool1d", input)
    out = _on_rows(adaptive_max_pool.call, input, (1, _single("adaptive_max_pool1d", "output_size", output_size)))
    return out if return_indices else out[0]


@composite(namespace="nn.functional")
def adaptive_max_pool2d_with_indices(input, output_size, return_indices=False):
    """(values, indices); see `adaptive_max_pool2d`."""
    return adaptive_max_pool2d(input, output_size, True)


@composite(namespace="nn.functional", name="adaptive_max_pool1d")
def _adaptive_max_pool1d(input, output_size, return_indices=False):
    return adaptive_max_pool1d(input, output_size, return_indices)


_adaptive_max_pool1d.__doc__ = adaptive_max_pool1d.__doc__
