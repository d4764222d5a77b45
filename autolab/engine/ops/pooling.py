"""Pooling: the maximum or mean of each window. The kernels are in `engine/kernels/pooling.py`.

Sources: https://docs.pytorch.org/docs/2.13/nn.functional.html#pooling-functions
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..core import observe
from ..core.dtype import FROM_NUMPY
from ..core.errors import fail
from ..core.record import OPS
from ..core.tensor import Tensor
from ..exact.arguments import check_tensors, ints_argument
from ..exact.dtype_errors import not_implemented
from ..exact.refusals import unsupported
from ..kernels import pooling as kernels
from ..kernels.pooling import Windows
from .checks import refuse_if
from .functions import composite, internal
from .reduction import mean_op
from .shape import squeeze_dim, unsqueeze
from .with_backward import flat, with_backward


# -- windows -----------------------------------------------------------------------------------------------------------
def pooled(n, kernel, stride, padding, dilation, ceil_mode):
    """Return the number of windows along a dimension of `n` positions."""
    span = n + 2 * padding - dilation * (kernel - 1) - 1
    out = (span + (stride - 1 if ceil_mode else 0)) // stride + 1
    # A window must not start in the padding at the end.
    return out - 1 if ceil_mode and (out - 1) * stride >= n + padding else out


def windows(x, kernel_size, stride, padding, dilation=(1, 1), ceil_mode=False):
    """Return the sizes for pooling `x`; if stride is empty, it equals the kernel's size."""
    given = x.shape[-2:], kernel_size, stride or kernel_size, padding, dilation
    return _windows(tuple(map(tuple, given)), ceil_mode)


@lru_cache(512)
def _windows(given, ceil_mode):
    size, *others = given
    return Windows(size, tuple(pooled(*args, ceil_mode) for args in zip(*given)), *others)


def _refuse_dtypes(name, x, kinds="biu"):
    """Raise PyTorch's error for dtypes of these kinds, which its kernel `name` does not support."""
    if x.dtype.kind in kinds:
        message = f"\"{name}\" not implemented for '{FROM_NUMPY[x.dtype].short}'"
        raise fail(NotImplementedError, message, "Convert with .float() first.")


_MEAN_LATEX: dict[str, Any] = {
    "latex": r"\frac{1}{n} \sum_{\text{window}} {self}",
    "vjp_latex": {"self": r"\frac{1}{n} \cdot {g} \text{ at all of each window}"},
}
_MAX_LATEX: dict[str, Any] = {
    "latex": r"\max_{\text{window}} {self}",
    "vjp_latex": {"self": r"{g} \text{ at the largest of each window}"},
}


# -- maximum -----------------------------------------------------------------------------------------------------------
_MAX_ARGUMENTS = (
    "Tensor self, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode"
)


def _max_pool(xp, x, *settings):
    _refuse_dtypes("max_pool2d", x, "b")
    return kernels.maximum(x, windows(x, *settings))


def _max_rule(m, g, self, result, kernel_size, stride, padding, dilation, ceil_mode):
    settings = kernel_size, stride, padding, dilation, ceil_mode
    if m.traced:
        return m.max_pool2d_with_indices_backward(g, self, m.max_pool2d_indices(self, *settings))
    win = windows(self, *settings)
    largest = kernels.maximum(self, win) if result is None else result
    return kernels.max_backward(g, self, largest, win)


def _max_samples(s):
    return [
        (s.distinct(1, 2, 4, 4), (2, 2), (), (0, 0), (1, 1), False),
        (s.distinct(1, 1, 6, 5), (2, 2), (2, 2), (1, 0), (2, 1), True),
        (s.distinct(1, 2, 1, 5), (1, 2), (1, 2), (0, 0), (1, 1), True),
    ]


def _indices(xp, x, *settings):
    return kernels.max_indices(x, windows(x, *settings))


def _max_indices(node):
    """Return the indices of the maxima. PyTorch saves them; here they are computed again from the saved tensors."""
    node.unpack(0)  # raises an error if the tensor was freed
    names = "self", "kernel_size", "stride", "padding", "dilation", "ceil_mode"
    x, *settings = (node._saved_attribute(name) for name in names)
    with observe.unwatched():
        return OPS["max_pool2d_indices"].call(x, *settings)


max_pool = internal(
    f"max_pool2d({_MAX_ARGUMENTS})",
    forward=_max_pool,
    node="MaxPool2DWithIndicesBackward0",
    vjp={"self": _max_rule},
    hidden=("result",),
    constants={"result1": property(_max_indices)},
    samples=_max_samples,
    **_MAX_LATEX,
)

internal(f"max_pool2d_indices({_MAX_ARGUMENTS})", forward=_indices, samples=_max_samples)


def _picked(m, g, indices):
    """Return g (…, H, W) at the flat indices (…, rows, columns): the adjoint of `kernels.scatter`."""
    shape = tuple(indices.shape)
    g, places = (m.reshape_raw(t, (*t.shape[:-2], -1)) for t in (g, indices))
    return m.reshape_raw(m.gather(g, g.ndim - 1, places), shape)


internal(
    "max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, Tensor indices)",
    forward=lambda xp, g, x, indices: kernels.scatter(g, indices, x.shape[-2:]),
    vjp={"grad_output": _picked, "self": flat},
    node="MaxPool2DWithIndicesBackwardBackward0",
    samples=lambda s: [
        (s.randn(1, 2, 2, 3), x := s.distinct(1, 2, 5, 4), kernels.adaptive_maximum(x, (2, 3))[1])
    ],
)


# -- mean --------------------------------------------------------------------------------------------------------------
def _mean_of(xp, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    win = windows(x, kernel_size, stride, padding, (1, 1), ceil_mode)
    return win, kernels.divisors(xp, win, count_include_pad, divisor_override)


def _compute_in_float32(kernel, x, *rest):
    """Return `kernel(x, *rest)`; float16 is summed in float32, as in PyTorch."""
    _refuse_dtypes("avg_pool2d", x)
    if x.dtype == np.float16:
        return kernel(x.astype(np.float32), *rest).astype(x.dtype)
    return kernel(x, *rest)


_MEAN_SETTINGS = "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"
avg_pool = with_backward(
    "avg_pool2d(Tensor self, int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, bool count_include_pad, "
    "int? divisor_override)",
    forward=lambda xp, x, *settings: _compute_in_float32(
        kernels.mean, x, *_mean_of(xp, x, *settings)
    ),
    backward=lambda xp, g, x, *settings: _compute_in_float32(
        kernels.mean_backward, g, *_mean_of(xp, x, *settings)
    ),
    again=("avg_pool2d", *_MEAN_SETTINGS, "divisor_override"),
    node="AvgPool2DBackward0",
    samples=lambda s: [
        (s.randn(1, 2, 4, 4), (2, 2), (), (0, 0), False, True, None),
        (s.randn(1, 1, 5, 6), (2, 3), (2, 2), (1, 1), True, False, None),
        (s.randn(1, 1, 4, 4), (2, 2), (1, 1), (0, 0), False, True, 3),
    ],
    **_MEAN_LATEX,
)


# -- adaptive windows --------------------------------------------------------------------------------------------------
_ADAPTIVE_SAMPLES = lambda s: [(s.distinct(1, 2, 5, 4), (2, 3)), (s.distinct(2, 4, 4), (2, 2))]

adaptive_avg_pool = with_backward(
    "_adaptive_avg_pool2d(Tensor self, int[] output_size)",
    forward=lambda xp, x, output_size: _compute_in_float32(kernels.adaptive_mean, x, output_size),
    backward=lambda xp, g, x, size: _compute_in_float32(
        kernels.adaptive_mean_backward, g, x.shape[-2:]
    ),
    again=("_adaptive_avg_pool2d", "output_size"),
    node="AdaptiveAvgPool2DBackward0",
    hidden=("output_size",),
    samples=_ADAPTIVE_SAMPLES,
    **_MEAN_LATEX,
)


def _adaptive_max_pool(xp, x, output_size):
    _refuse_dtypes("adaptive_max_pool2d", x)
    return kernels.adaptive_maximum(x, output_size)


adaptive_max_pool = internal(
    "adaptive_max_pool2d(Tensor self, int[] output_size)",
    forward=_adaptive_max_pool,
    outputs=("result0", "result1"),
    nondiff=("result1",),
    node="AdaptiveMaxPool2DBackward0",
    vjp={
        "self": lambda m, g, self, result1: m.max_pool2d_with_indices_backward(g[0], self, result1)
    },
    samples=_ADAPTIVE_SAMPLES,
    **_MAX_LATEX,
)


# -- arguments ---------------------------------------------------------------------------------------------------------
def pairs_of(function, **given):
    """Return the arguments `given`, in the order of `function`'s signature after its first argument, as pairs of ints;
    an omitted stride is ()."""
    found = []
    for position, (name, value) in enumerate(given.items(), 2):
        if name == "stride" and (value is None or value == ()):
            found.append(())
            continue
        value = ints_argument(function, name, position, value)
        value = (value,) if value.__class__ is int else value
        value = value * 2 if len(value) == 1 else value
        refuse_if(
            len(value) != 2,
            f"{function}: {name} must either be a single int, or a tuple of two ints",
            "One number for both dimensions, or (height, width).",
        )
        found.append(value)
    return found


@lru_cache(512)
def _check_windows(shape, kernel_size, stride, padding, dilation, ceil_mode):
    """Raise RuntimeError in PyTorch's words if the windows do not fit images of this shape."""
    moved = stride or kernel_size
    refuse_if(0 in moved, "stride should not be zero", "The window would never move on.")
    refuse_if(
        len(shape) not in (3, 4) or 0 in shape[-3:],
        f"non-empty 3D or 4D (batch mode) tensor expected for input, but got:[{', '.join(map(str, shape))}]",
        "Images are (N, C, H, W), or (C, H, W) without a batch.",
    )
    for values, what in ((kernel_size, "kernel size"), (moved, "stride"), (dilation, "dilation")):
        refuse_if(
            min(values) < 1,
            f"{what} should be greater than zero, but got {values[0]} and {values[1]}",
            "A window has a size and moves forwards.",
        )
    for k, p, d in zip(kernel_size, padding, dilation):
        refuse_if(
            not 0 <= p <= (d * (k - 1) + 1) // 2,
            f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}",
            "With more padding some windows would see nothing but padding.",
        )
    out = _windows((shape[-2:], kernel_size, moved, padding, dilation), ceil_mode).out
    sizes = ["x".join(map(str, (shape[-3], *area))) for area in (shape[-2:], out)]
    refuse_if(
        min(out) < 1,
        f"Given input size: ({sizes[0]}). Calculated output size: ({sizes[1]}). Output size is too small",
        "The image is smaller than the window: use less pooling before this layer, or padding.",
    )


def _pool_sequences(function, pool, x, *args, **sizes):
    """Return a two-dimensional pooling of sequences (N, C, L) or (C, L), treated as images of height 1. sizes: for each
    name (its value along the height, the user's value)."""
    check_tensors(function, input=x)
    refuse_if(
        x.ndim not in (2, 3),
        f"{function}() Expected 2D or 3D (batch mode) tensor for input, but got {x.ndim}D",
        "Sequences are (N, C, L), or (C, L) without a batch.",
    )
    pairs = []
    for position, (name, (height, value)) in enumerate(sizes.items(), 2):
        value = ints_argument(function, name, position, value)
        pairs.append((height, value if value.__class__ is int else value[0]))
    return squeeze_dim.call(pool(unsqueeze.call(x, -2), *pairs, *args), -2)


# -- public functions --------------------------------------------------------------------------------------------------
def _refuse_indices(name, return_indices):
    if return_indices:
        note = "return_indices is only needed for unpooling, which autolab does not have. Leave it out."
        raise unsupported(name, "return_indices", note)


@composite(namespace="nn.functional")
def max_pool2d(
    input,
    kernel_size,
    stride=None,
    padding=0,
    dilation=1,
    ceil_mode=False,
    return_indices=False,
):
    """Return the maximum of each window of images (N, C, H, W) or (C, H, W).

    H' = floor((H + 2 padding - dilation (kernel - 1) - 1) / stride) + 1 (`ceil_mode`: rounded up). Raise TypeError for
    sizes that are not ints, RuntimeError if the windows do not fit. Source: torch.nn.functional.max_pool2d."""
    check_tensors("max_pool2d", input=input)
    _refuse_indices("max_pool2d", return_indices)
    given = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation}
    pairs = pairs_of("max_pool2d", **given)
    _check_windows(input._array.shape, *pairs, ceil_mode)
    return max_pool.call(input, *pairs, ceil_mode)


@composite(namespace="nn.functional")
def max_pool1d(
    input,
    kernel_size,
    stride=None,
    padding=0,
    dilation=1,
    ceil_mode=False,
    return_indices=False,
):
    """Return the maximum of each window of sequences (N, C, L) or (C, L).

    Raise TypeError for sizes that are not ints, RuntimeError if the windows do not fit. Source:
    torch.nn.functional.max_pool1d."""
    _refuse_indices("max_pool1d", return_indices)
    if isinstance(input, Tensor) and input._array.dtype.kind not in "f":
        raise not_implemented("max_pool1d_impl", input._array.dtype)
    sizes = {"kernel_size": (1, kernel_size), "stride": (1, stride or kernel_size)}
    sizes |= {"padding": (0, padding), "dilation": (1, dilation)}
    return _pool_sequences("max_pool1d", max_pool2d, input, ceil_mode, **sizes)


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
    """Return the mean of each window of images (N, C, H, W) or (C, H, W); padding zeros count unless
    `count_include_pad` is False.

    `divisor_override` replaces the number of elements. Raise TypeError for sizes that are not ints, RuntimeError if the
    windows do not fit. Source: torch.nn.functional.avg_pool2d."""
    pairs = pairs_of("avg_pool2d", kernel_size=kernel_size, stride=stride, padding=padding)
    refuse_if(
        divisor_override == 0, "divisor must be not zero", "None divides by the size of the window."
    )
    _check_windows(input._array.shape, *pairs, (1, 1), ceil_mode)
    return avg_pool.call(input, *pairs, ceil_mode, count_include_pad, divisor_override)


@composite(namespace="nn.functional")
def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """Return the mean of each window of sequences (N, C, L) or (C, L).

    Raise TypeError for sizes that are not ints, RuntimeError if the windows do not fit. Source:
    torch.nn.functional.avg_pool1d."""
    sizes = {"kernel_size": (1, kernel_size), "stride": (1, stride or kernel_size)}
    sizes["padding"] = 0, padding
    return _pool_sequences("avg_pool1d", avg_pool2d, input, ceil_mode, count_include_pad, **sizes)


def _adaptive_size(function, input, output_size):
    """Return (rows, columns) of an adaptive pooling; None keeps a size. Raise RuntimeError for wrong sizes."""
    check_tensors(function, input=input)
    refuse_if(
        input.ndim not in (3, 4) or 0 in input.shape[-2:],
        f"{function}(): Expected 3D or 4D tensor, but got [{', '.join(map(str, input.shape))}]",
        "Images are (N, C, H, W), or (C, H, W) without a batch.",
    )
    if isinstance(output_size, (tuple, list)):
        output_size = [n if k is None else k for n, k in zip(input.shape[-2:], output_size)]
    (size,) = pairs_of(function, output_size=output_size)
    refuse_if(
        min(size) < 0,
        f"{function}: elements of output_size must be greater than or equal to 0 but received {size}",
        "It is the size of the result.",
    )
    return size


@composite(namespace="nn.functional")
def adaptive_avg_pool2d(input, output_size):
    """Return the means of images (N, C, H, W) or (C, H, W) over `output_size` = (rows, columns) windows that divide
    them evenly; None keeps a size.

    Raise RuntimeError for other shapes. Source: torch.nn.functional.adaptive_avg_pool2d."""
    size = _adaptive_size("adaptive_avg_pool2d", input, output_size)
    if size == (1, 1):
        return mean_op.call(input, (-1, -2), True, None)
    return adaptive_avg_pool.call(input, size)


@composite(namespace="nn.functional")
def adaptive_avg_pool1d(input, output_size):
    """Return the means of sequences (N, C, L) or (C, L) over `output_size` windows that divide them evenly. Source:
    torch.nn.functional.adaptive_avg_pool1d."""
    return _pool_sequences(
        "adaptive_avg_pool1d", adaptive_avg_pool2d, input, output_size=(1, output_size)
    )


@composite(namespace="nn.functional")
def adaptive_max_pool2d(input, output_size, return_indices=False):
    """Return the maximum of each of `output_size` = (rows, columns) windows that divide images evenly.

    Raise RuntimeError for shapes other than (N, C, H, W) and (C, H, W). Source:
    torch.nn.functional.adaptive_max_pool2d."""
    _refuse_indices("adaptive_max_pool2d", return_indices)
    return adaptive_max_pool.call(input, _adaptive_size("adaptive_max_pool2d", input, output_size))[
        0
    ]
