"""The arguments of convolutions: PyTorch's checks in its words, named padding, and the size of the result."""

from __future__ import annotations

import warnings

from ..core.errors import fail
from .functions import NAMESPACES


def output_size(spatial, kernel, stride, padding, dilation, transposed=False, output_padding=None):
    """Sizes of the result, for sizes of the input and of the kernel (tuples of one length)."""
    if transposed:
        return tuple(
            (n - 1) * s - 2 * p + d * (k - 1) + extra + 1
            for n, k, s, p, d, extra in zip(
                spatial, kernel, stride, padding, dilation, output_padding
            )
        )
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(spatial, kernel, stride, padding, dilation)
    )


def numbers(name, value, dims, n):
    """`value` as a tuple of `n` ints; one number counts for every one of the `dims` dimensions that a function moves
    along."""
    values = (value,) * dims if value.__class__ is int else tuple(value)
    if len(values) == 1:
        return values * n
    if len(values) != n:
        raise fail(
            RuntimeError,
            f"expected {name} to be a single integer value or a list of {n} values to match the convolution dimensions, but got "
            f"{name}={list(values)}",
            "Give one number, or one per dimension that the kernel moves along.",
        )
    return values


def check_numbers(input, weight, stride, padding, dilation, output_padding, groups):
    for name, value, low in (
        ("padding", padding, 0),
        ("output_padding", output_padding, 0),
        ("stride", stride, 1),
    ):
        if min(value, default=low) < low:
            raise fail(
                RuntimeError,
                f"{'negative' if low == 0 else 'non-positive'} {name} is not supported",
                f"{name} is {list(value)}.",
            )
    if min(dilation, default=1) < 1:
        raise fail(
            RuntimeError,
            f"dilation should be greater than zero, but got {list(dilation)}",
            "1 means that the kernel has no gaps.",
        )
    if groups < 1:
        raise fail(
            RuntimeError,
            "non-positive groups is not supported",
            "groups=1 connects every input channel to every output channel.",
        )


def check_shapes(input, weight, bias, padding, dilation, transposed, groups):
    shape, w = list(input.shape), list(weight.shape)
    if len(w) != len(shape):
        raise fail(
            RuntimeError,
            f"Expected {len(w)}-dimensional input for {len(w)}-dimensional weight {w}, but got {len(shape)}-dimensional input of size "
            f"{shape} instead",
            "Filters have as many dimensions as a batch: filters, channels, then what the kernel moves along.",
        )
    if w[0] < groups:
        raise fail(
            RuntimeError,
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size {w} instead",
            "Every group needs at least one filter.",
        )
    if w[0] % groups:
        raise fail(
            RuntimeError,
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
            f"[{w}] instead",
            "The filters are shared out evenly over the groups.",
        )
    channels = w[0] if transposed else w[1] * groups
    given = f"transposed={int(transposed)}" if transposed else f"groups={groups}"
    if shape[1] != channels:
        raise fail(
            RuntimeError,
            f"Given {given}, weight of size {w}, expected input{shape} to have {channels} channels, but got {shape[1]} channels "
            "instead",
            "Dimension 1 of the input counts its channels, and the layer was made for another number of them.",
        )
    filters = w[1] * groups if transposed else w[0]
    if bias is not None and (bias.ndim != 1 or bias.shape[0] != filters):
        given = f"transposed={int(transposed)}, " if transposed else ""
        raise fail(
            RuntimeError,
            f"Given {given}weight of size {w}, expected bias to be 1-dimensional with {filters} elements, but got bias of size "
            f"{list(bias.shape)} instead",
            "One number per output channel is added.",
        )
    if transposed:
        return
    padded = [n + 2 * p for n, p in zip(shape[2:], padding)]
    extent = [d * (k - 1) + 1 for k, d in zip(w[2:], dilation)]
    if any(p < e for p, e in zip(padded, extent)):
        by = lambda sizes: " x ".join(map(str, sizes))
        raise fail(
            RuntimeError,
            f"Calculated padded input size per channel: ({by(padded)}). Kernel size: ({by(extent)}). Kernel size can't be greater "
            "than actual input size",
            "Use a smaller kernel or more padding, or do less pooling before this layer.",
        )


def check_transposed(input, weight, stride, padding, dilation, output_padding):
    if any(extra >= s and extra >= d for extra, s, d in zip(output_padding, stride, dilation)):
        names = ("height", "width") if len(stride) == 2 else ("width",)
        text = " ".join(
            f"{what}_{axis}: {v}"
            for what, values in (
                ("output_padding", output_padding),
                ("stride", stride),
                ("dilation", dilation),
            )
            for axis, v in zip(names, values)
        )
        raise fail(
            RuntimeError,
            f"output padding must be smaller than either stride or dilation, but got {text}",
            "output_padding chooses among the sizes that a strided convolution maps to the same size.",
        )
    out = output_size(
        input.shape[2:], weight.shape[2:], stride, padding, dilation, True, output_padding
    )
    if min(out) < 1:
        by = lambda sizes: " x ".join(map(str, sizes))
        raise fail(
            RuntimeError,
            f"Given input size per channel: ({by(input.shape[2:])}). Calculated output size per channel: ({by(out)}). Output size is "
            "too small",
            "Padding is cut off from the result of a transposed convolution; use less of it.",
        )


def check_dtypes(input, weight, bias):
    if bias is not None and input.dtype is not bias.dtype:
        raise fail(
            RuntimeError,
            f"Input type ({input.dtype.cpp_name}) and bias type ({bias.dtype.cpp_name}) should be the same",
            "Convert the input with .float(), or the module with .to(dtype).",
        )
    if input.dtype is not weight.dtype:
        raise fail(
            RuntimeError,
            f"expected scalar type {input.dtype.short} but found {weight.dtype.short}",
            "Input and weight need one dtype: convert the input with .float(), or the module with .to(dtype).",
        )


def named_padding(input, weight, stride, padding, dilation):
    """(input, padding) for 'valid' and 'same'; an odd total is padded at the end first, as PyTorch does."""
    if padding == "valid":
        return input, (0,)
    if padding != "same":
        raise fail(
            RuntimeError,
            f"Invalid padding string: '{padding}'",
            "It is 'same', 'valid', or a number of rows and columns.",
        )
    if max(stride) > 1:
        raise fail(
            RuntimeError,
            "padding='same' is not supported for strided convolutions",
            "A stride makes the output smaller than the input.",
        )
    totals = [d * (k - 1) for k, d in zip(weight.shape[2:], dilation)]
    if any(t % 2 for t in totals):
        warnings.warn(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the input be created",
            UserWarning,
            stacklevel=5,
        )
        input = NAMESPACES["nn.functional"]["pad"](
            input, tuple(n for t in reversed(totals) for n in (0, t % 2))
        )
    return input, tuple(t // 2 for t in totals)
