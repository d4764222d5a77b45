"""Pooling as it is called: arguments as PyTorch takes them, its checks, then the ops of `pooling.py`.

Sources: https://docs.pytorch.org/docs/2.13/nn.functional.html#pooling-functions
"""

from __future__ import annotations

from ..exact.arguments import Passed, as_int, bool_argument, check_tensors, ints_argument
from ..core.errors import fail
from ..exact.refusals import check_dim
from .functions import composite
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


def _pairs(function, **given):
    """These arguments, in the order of `function`'s signature from its second on, as pairs of ints; an omitted stride
    is ().

    Raises PyTorch's TypeError for what are no ints, RuntimeError for more than two of them."""
    given = {
        name: ()
        if name == "stride" and value is None
        else ints_argument(function, name, position, value)
        for position, (name, value) in enumerate(given.items(), 2)
    }
    words = {
        "stride": "must either be omitted, a single int, or a tuple of two ints",
        "dilation": "must be either a single int, or a tuple of two ints",
    }
    found = []
    for name, value in given.items():
        value = pair(value)
        if len(value) != 2 and not (name == "stride" and not value):
            raise fail(
                RuntimeError,
                f"{function.removesuffix('_with_indices')}: {name} {words.get(name, 'must either be a single int, or a tuple of two ints')}",
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
                RuntimeError,
                f"pad must be non-negative, but got pad: {p}",
                "Cut the input with slices instead.",
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
    _check_not_empty(x)


def _check_not_empty(x):
    """Raises PyTorch's error for images, or sequences as images of height 1, of no pixels or no channels."""
    if 0 in x.shape[x.ndim - 3 :]:
        raise fail(
            RuntimeError,
            "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:"
            f"[{', '.join(map(str, x.shape))}]",
            "Only the number of images may be 0.",
        )


def max_pool2d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """The largest number of each window of images (N, C, H, W) or (C, H, W).

    H' = floor((H + 2 padding - dilation (kernel - 1) - 1) / stride) + 1 (`ceil_mode`: rounded up). Raises TypeError for
    what are no ints, RuntimeError when the windows do not fit. Source: torch.nn.functional.max_pool2d."""
    return max_pool.call(
        input,
        *_max_arguments("max_pool2d", input, kernel_size, stride, padding, dilation, ceil_mode),
    )


# not that of nn.functional: it hands its arguments on in order, so that errors name their positions
composite()(max_pool2d)

_passed = Passed()


def _max_arguments(function, input, *given):
    """(kernel_size, stride, padding, dilation, ceil_mode) for the op, checked."""
    try:
        about = input._array.shape
        settings = _passed.find(given, about)
    except AttributeError:  # no tensor
        settings = None
    if settings is not None:
        return settings
    check_tensors(function, input=input)
    kernel_size, stride, padding, dilation, ceil_mode = given
    kernel_size, stride, padding, dilation = _pairs(
        function, kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation
    )
    bool_argument(function, "ceil_mode", 6, ceil_mode)
    if input.ndim in (3, 4):
        _check_windows(input, kernel_size, stride, padding, dilation, ceil_mode)
    _check_images(input)
    settings = kernel_size, stride, padding, dilation, ceil_mode
    _passed.keep(given, about, settings)
    return settings


@composite(namespace="nn.functional", name="max_pool2d")
def _max_pool2d(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    if not return_indices:
        return max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)
    arguments = _max_arguments(
        "max_pool2d_with_indices", input, kernel_size, stride, padding, dilation, ceil_mode
    )
    return max_pool_with_indices.call(input, *arguments)


_max_pool2d.__doc__ = (max_pool2d.__doc__ or "").replace(
    "\n\n", " With `return_indices`\n    also where it lies, as h * W + w.\n\n", 1
)


@composite(namespace="nn.functional")
def max_pool2d_with_indices(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """`max_pool2d(..., return_indices=True)`. Source: torch.nn.functional.max_pool2d_with_indices."""
    return _max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def _single(function, name, position, value):
    """`value` as one int. Raises PyTorch's TypeError for what is none, RuntimeError for several."""
    value = ints_argument(function, name, position, value)
    if value.__class__ is int:
        return value
    if len(value) != 1:
        if function == "max_pool1d":
            words = {
                "stride": "None, an int, list of ints, or tuple of ints",
                "padding": "an int, list of ints, or tuple of ints",
            }.get(name, "an int, list of ints or tuple of ints")
            raise fail(
                RuntimeError,
                f"max_pool1d() {name} must be {words} of size 1 but got size {len(value)}",
                "A sequence has one dimension to move along.",
            )
        raise fail(
            RuntimeError,
            f"{function.removesuffix('_with_indices')}() argument '{name}' should contain one int (got {len(value)})",
            "A sequence has one dimension to move along.",
        )
    return value[0]


def _on_rows(op, x, *args):
    """A two-dimensional pooling of sequences, as images of height 1; gives what the op gives."""
    out = op(unsqueeze.call(x, -2), *args)
    return (
        tuple(squeeze_dim.call(o, -2) for o in out)
        if isinstance(out, tuple)
        else squeeze_dim.call(out, -2)
    )


def _max_pool1d_arguments(function, input, kernel_size, stride, padding, dilation, ceil_mode):
    """(kernel_size, stride, padding, dilation, ceil_mode) for the op on images of height 1, checked."""
    check_tensors(function, input=input)
    stride = (
        kernel_size
        if stride is None or stride.__class__ in (tuple, list) and not stride
        else stride
    )
    k, s, p, d = (
        _single(function, name, position, value)
        for position, (name, value) in enumerate(
            (
                ("kernel_size", kernel_size),
                ("stride", stride),
                ("padding", padding),
                ("dilation", dilation),
            ),
            2,
        )
    )
    bool_argument(function, "ceil_mode", 6, ceil_mode)
    if input.ndim not in (2, 3) or 0 in input.shape[input.ndim - 2 :]:
        raise fail(
            RuntimeError,
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:"
            f"[{', '.join(map(str, input.shape))}]",
            "Sequences are (N, C, L), or (C, L) without a batch.",
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
    return (1, k), (1, s), (0, p), (1, d), ceil_mode


def max_pool1d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """The largest number of each window of sequences (N, C, L) or (C, L). Raises TypeError for what are no ints,
    RuntimeError when the windows do not fit.

    Source: torch.nn.functional.max_pool1d."""
    check_tensors("max_pool1d", input=input)
    arguments = _max_pool1d_arguments(
        "max_pool1d", input, kernel_size, stride, padding, dilation, ceil_mode
    )
    refuse_whole("max_pool1d_impl", input._array)
    return _on_rows(max_pool.call, input, *arguments)


composite()(max_pool1d)


@composite(namespace="nn.functional", name="max_pool1d")
def _max_pool1d(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    if not return_indices:
        return max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)
    arguments = _max_pool1d_arguments(
        "max_pool1d_with_indices", input, kernel_size, stride, padding, dilation, ceil_mode
    )
    return _on_rows(max_pool_with_indices.call, input, *arguments)


_max_pool1d.__doc__ = max_pool1d.__doc__


@composite(namespace="nn.functional")
def max_pool1d_with_indices(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """(values, indices); see `max_pool1d`. Source: torch.nn.functional.max_pool1d_with_indices."""
    return _max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


@composite(namespace="nn.functional")
def avg_pool2d(
    input,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=None,
):
    """The mean of each window of images (N, C, H, W) or (C, H, W); zeros of the padding count unless
    `count_include_pad` is False.

    `divisor_override` replaces the number of elements. Raises TypeError for what are no ints, RuntimeError when the
    windows do not fit. Source: torch.nn.functional.avg_pool2d."""
    kernel_size, stride, padding = _pairs(
        "avg_pool2d", kernel_size=kernel_size, stride=stride, padding=padding
    )
    if divisor_override == 0:
        raise fail(
            RuntimeError, "divisor must be not zero", "None divides by the size of the window."
        )
    if input.ndim < 3:
        check_dim(-3, input.ndim)
    _check_windows(input, kernel_size, stride, padding, (1, 1), ceil_mode)
    _check_images(input)
    return avg_pool.call(
        input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def _check_sequence(function, input):
    check_tensors(function, input=input)
    if input.ndim not in (2, 3):
        raise fail(
            RuntimeError,
            f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument #1 'self' (while checking arguments "
            f"for {function})",
            "Sequences are (N, C, L), or (C, L) without a batch.",
        )


@_public
def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window of sequences (N, C, L) or (C, L). Raises TypeError for what are no ints, RuntimeError
    when the windows do not fit.

    Source: torch.nn.functional.avg_pool1d."""
    stride = (
        kernel_size
        if stride is None or stride.__class__ in (tuple, list) and not stride
        else stride
    )
    k, s, p = (
        _single("avg_pool1d", name, position, value)
        for position, (name, value) in enumerate(
            (("kernel_size", kernel_size), ("stride", stride), ("padding", padding)), 2
        )
    )
    _check_sequence("avg_pool1d", input)
    rows = unsqueeze.call(input, -2)
    _check_not_empty(rows)
    _check_windows(rows, (1, k), (1, s), (0, p), (1, 1), ceil_mode)
    return squeeze_dim.call(
        avg_pool.call(rows, (1, k), (1, s), (0, p), ceil_mode, count_include_pad, None), -2
    )


def _wanted(input, output_size, function, message):
    """(rows, columns) of an adaptive pooling; None keeps a size. Raises TypeError for what are no ints."""
    check_tensors(function, input=input)
    size = (output_size,) * 2 if as_int(output_size) is not None else output_size
    count = len(size)  # PyTorch's TypeError for what has no length is Python's
    shape = input.shape
    filled = [
        shape[i - count] if w is None and count <= len(shape) else w for i, w in enumerate(size)
    ]
    size = ints_argument(function, "output_size", 2, filled)
    if len(size) != 2:
        raise fail(
            RuntimeError,
            f"{function}{message}",
            "One number for both dimensions, or (height, width).",
        )
    return size


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
    """Means of images (N, C, H, W) or (C, H, W) over windows that share them out into `output_size` = (rows, columns);
    None keeps a size.

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
    """Means of sequences (N, C, L) or (C, L) over `output_size` windows that share them out. Source:
    torch.nn.functional.adaptive_avg_pool1d."""
    _check_sequence("adaptive_avg_pool1d", input)
    return _on_rows(
        adaptive_avg_pool2d,
        input,
        (1, _single("adaptive_avg_pool1d", "output_size", 2, output_size)),
    )


@composite(namespace="nn.functional")
def adaptive_max_pool2d(input, output_size, return_indices=False):
    """The largest number of each of `output_size` = (rows, columns) windows that share images out; with
    `return_indices` also where it lies.

    Raises RuntimeError for shapes other than (N, C, H, W) and (C, H, W). Source:
    torch.nn.functional.adaptive_max_pool2d."""
    size = _wanted(
        input,
        output_size,
        "adaptive_max_pool2d",
        "(): internal error: output_size.size() must be 2",
    )
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


@composite(namespace="nn.functional")
def adaptive_max_pool2d_with_indices(input, output_size, return_indices=False):
    """(values, indices); see `adaptive_max_pool2d`."""
    return adaptive_max_pool2d(input, output_size, True)
