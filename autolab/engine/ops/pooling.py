"""Pooling: the largest number or the mean of each window. The kernels are in `engine/kernels/pooling.py`.

Sources: https://docs.pytorch.org/docs/2.13/nn.functional.html#pooling-functions
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..core.dtype import FROM_NUMPY
from ..core.errors import fail
from ..core.tensor import Tensor, wrap
from ..exact.arguments import Passed, as_int, bool_argument, check_tensors, ints_argument
from ..exact.refusals import check_dim, unsupported
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
    # a window must not start in the padding at the end
    return out - 1 if ceil_mode and (out - 1) * stride >= n + padding else out


def windows(x, kernel_size, stride, padding, dilation=(1, 1), ceil_mode=False):
    """Return the sizes for pooling `x`; an empty stride means the kernel's size."""
    given = x.shape[-2:], kernel_size, stride or kernel_size, padding, dilation
    given = tuple(map(tuple, given))
    # with the classes of the numbers, as 2.0 is no 2 here
    return _windows(given, ceil_mode, tuple([n.__class__ for pair in given for n in pair]))


@lru_cache(512)
def _windows(given, ceil_mode, kinds):
    size, *others = given
    out = tuple(pooled(*args, ceil_mode) for args in zip(*given))
    return Windows(size, out, *others)


def _refuse(name, x, kinds):
    """Raise PyTorch's error for dtypes of these kinds, which it has no kernel `name` for."""
    if x.dtype.kind in kinds:
        message = f"\"{name}\" not implemented for '{FROM_NUMPY[x.dtype].short}'"
        raise fail(NotImplementedError, message, "Convert with .float() first.")


def _picked(m, g, indices):
    """The adjoint of `scatter`: g (…, H, W) at the flat indices (…, rows, columns)."""
    shape = tuple(indices.shape)
    rows = m.reshape_raw(g, (*g.shape[:-2], -1))
    return m.reshape_raw(
        m.gather(rows, g.ndim - 2, m.reshape_raw(indices, (*shape[:-2], -1))), shape
    )


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
    _refuse("max_pool2d", x, "b")
    return kernels.maximum(x, windows(x, *settings))


def _max_rule(m, g, self, result, kernel_size, stride, padding, dilation, ceil_mode):
    settings = kernel_size, stride, padding, dilation, ceil_mode
    if m.traced:
        indices = m.max_pool2d_indices(self, *settings)
        return m.max_pool2d_with_indices_backward(g, self, *settings, indices)
    win = windows(self, *settings)
    largest = kernels.maximum(self, win) if result is None else result
    return kernels.max_backward(g, self, largest, win)


def _max_samples(s):
    return [
        (s.distinct(1, 2, 4, 4), (2, 2), (), (0, 0), (1, 1), False),
        (s.distinct(2, 5, 4), (3, 2), (2, 1), (1, 1), (1, 1), False),
        (s.distinct(1, 1, 6, 5), (2, 2), (2, 2), (1, 0), (2, 1), True),
        (s.distinct(1, 2, 1, 5), (1, 2), (1, 2), (0, 0), (1, 1), True),
    ]


def _indices(xp, x, *settings):
    return kernels.max_indices(x, windows(x, *settings))


def _winners(node):
    """Return the winners' indices, which PyTorch keeps; here they are found again from what was saved."""
    node.unpack(0)  # raises where it was freed
    names = "self", "kernel_size", "stride", "padding", "dilation", "ceil_mode"
    x, *settings = (node._saved_attribute(name) for name in names)
    return wrap(_indices(np, x._array, *settings))


max_pool = internal(
    f"max_pool2d({_MAX_ARGUMENTS})",
    forward=_max_pool,
    node="MaxPool2DWithIndicesBackward0",
    vjp={"self": _max_rule},
    hidden=("result",),
    constants={"result1": property(_winners)},
    samples=_max_samples,
    **_MAX_LATEX,
)

internal(f"max_pool2d_indices({_MAX_ARGUMENTS})", forward=_indices, samples=_max_samples)


def _winner_samples(s):
    found = []
    for x, *settings in _max_samples(s):
        indices = _indices(np, x, *settings)
        found.append((s.randn(*indices.shape), x, *settings, indices))
    return found


internal(
    f"max_pool2d_with_indices_backward(Tensor grad_output, {_MAX_ARGUMENTS}, Tensor indices)",
    forward=lambda xp, g, x, *settings: kernels.scatter(g, settings[-1], x.shape[-2:]),
    vjp={"grad_output": _picked, "self": flat},
    node="MaxPool2DWithIndicesBackwardBackward0",
    samples=_winner_samples,
)


# -- mean --------------------------------------------------------------------------------------------------------------
def _mean_of(xp, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    win = windows(x, kernel_size, stride, padding, (1, 1), ceil_mode)
    return win, kernels.divisors(xp, win, count_include_pad, divisor_override)


def _wide(kernel, x, *rest):
    """Return `kernel(x, *rest)`; float16 is summed in float32, as in PyTorch."""
    if x.dtype == np.float16:
        return kernel(x.astype(np.float32), *rest).astype(x.dtype)
    return kernel(x, *rest)


def _avg_pool(xp, x, *settings):
    if x.dtype != np.int64:
        _refuse("avg_pool2d", x, "biu")
        return _wide(kernels.mean, x, *_mean_of(xp, x, *settings))
    # the mean of whole numbers loses its digits after the point, as in C
    mean = kernels.mean(x.astype(np.float64), *_mean_of(xp, x, *settings))
    return xp.trunc(mean).astype(x.dtype)


_MEAN_SETTINGS = "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"
avg_pool = with_backward(
    "avg_pool2d(Tensor self, int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, bool count_include_pad, "
    "int? divisor_override)",
    forward=_avg_pool,
    backward=lambda xp, g, x, *settings: _wide(
        kernels.mean_backward, g, *_mean_of(xp, x, *settings)
    ),
    again=("avg_pool2d", *_MEAN_SETTINGS, "divisor_override"),
    node="AvgPool2DBackward0",
    samples=lambda s: [
        (s.randn(1, 2, 4, 4), (2, 2), (), (0, 0), False, True, None),
        (s.randn(2, 5, 4), (3, 2), (2, 1), (1, 1), False, True, None),
        (s.randn(1, 1, 5, 6), (2, 3), (2, 2), (1, 1), True, False, None),
        (s.randn(1, 1, 5, 5), (2, 2), (2, 2), (0, 1), True, True, None),
        (s.randn(1, 1, 4, 4), (2, 2), (1, 1), (0, 0), False, True, 3),
    ],
    **_MEAN_LATEX,
)


# -- windows that share the input out ----------------------------------------------------------------------------------
_ADAPTIVE_SAMPLES = lambda s: [(s.distinct(1, 2, 5, 4), (2, 3)), (s.distinct(2, 4, 4), (2, 2))]


def _adaptive_mean_again(m, g, grad_output_sym_sizes):
    return m._adaptive_avg_pool2d(g, tuple(grad_output_sym_sizes[-2:]))


adaptive_avg_pool = internal(
    "_adaptive_avg_pool2d(Tensor self, int[] output_size)",
    forward=lambda xp, x, output_size: _wide(kernels.adaptive_mean, x, output_size),
    node="AdaptiveAvgPool2DBackward0",
    vjp={"self": lambda m, g, self: m._adaptive_avg_pool2d_backward(g, self)},
    samples=_ADAPTIVE_SAMPLES,
    **_MEAN_LATEX,
)

internal(
    "_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self)",
    forward=lambda xp, g, x: _wide(kernels.adaptive_mean_backward, g, x.shape[-2:]),
    node="AdaptiveAvgPool2DBackwardBackward0",
    vjp={"grad_output": _adaptive_mean_again, "self": flat},
    samples=lambda s: [(s.randn(1, 2, 2, 3), s.randn(1, 2, 5, 4))],
)


def _adaptive_max_pool(xp, x, output_size):
    _refuse("adaptive_max_pool2d", x, "biu")
    if not x.size and min(x.shape[-2:]):  # no images
        shape = (*x.shape[:-2], *output_size)
        return xp.empty(shape, x.dtype), xp.empty(shape, np.int64)
    return kernels.adaptive_maximum(x, output_size)


adaptive_max_pool = internal(
    "adaptive_max_pool2d(Tensor self, int[] output_size)",
    forward=_adaptive_max_pool,
    outputs=("result0", "result1"),
    nondiff=("result1",),
    node="AdaptiveMaxPool2DBackward0",
    vjp={"self": lambda m, g, self, result1: m.adaptive_max_pool2d_backward(g[0], self, result1)},
    samples=_ADAPTIVE_SAMPLES,
    **_MAX_LATEX,
)

internal(
    "adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices)",
    forward=lambda xp, g, x, indices: kernels.scatter(g, indices, x.shape[-2:]),
    vjp={"grad_output": _picked, "self": flat},
    node="AdaptiveMaxPool2DBackwardBackward0",
    samples=lambda s: [
        (s.randn(1, 2, 2, 3), x := s.distinct(1, 2, 5, 4), kernels.adaptive_maximum(x, (2, 3))[1])
    ],
)


# -- arguments ---------------------------------------------------------------------------------------------------------
_NO_BATCH = "Images are (N, C, H, W), or (C, H, W) without a batch."
_SEQUENCE = "Sequences are (N, C, L), or (C, L) without a batch."
_ONE_WAY = "A sequence has one dimension to move along."


def _sizes(function, **given):
    """Return these arguments, in the order of `function`'s signature from its second on, as tuples of ints; an omitted
    stride is (). Raises PyTorch's TypeError for what are no ints."""
    found = []
    for position, (name, value) in enumerate(given.items(), 2):
        omitted = name == "stride" and value is None
        value = () if omitted else ints_argument(function, name, position, value)
        found.append((value,) if value.__class__ is int else value)
    return found


def _pairs(function, **given):
    """Return these arguments as pairs of ints; see `_sizes`. Raises RuntimeError for more than two of them."""
    words = {
        "stride": "must either be omitted, a single int, or a tuple of two ints",
        "dilation": "must be either a single int, or a tuple of two ints",
    }
    found = []
    for name, value in zip(given, _sizes(function, **given)):
        value = value * 2 if len(value) == 1 else value
        asked = words.get(name, "must either be a single int, or a tuple of two ints")
        refuse_if(
            len(value) != 2 and not (name == "stride" and not value),
            f"{function}: {name} {asked}",
            "One number for both dimensions, or (height, width).",
        )
        found.append(value)
    return found


def _singles(function, **given):
    """Return these arguments as one int each; see `_sizes`. Raises RuntimeError for several."""
    found = []
    for name, value in zip(given, _sizes(function, **given)):
        message = f"{function}() argument '{name}' should contain one int (got {len(value)})"
        if function == "max_pool1d":
            kinds = {
                "stride": "None, an int, list of ints, or tuple of ints",
                "padding": "an int, list of ints, or tuple of ints",
            }.get(name, "an int, list of ints or tuple of ints")
            message = f"max_pool1d() {name} must be {kinds} of size 1 but got size {len(value)}"
        refuse_if(len(value) != 1, message, _ONE_WAY)
        found += value
    return found


def _stride_or(kernel_size, stride):
    return (
        kernel_size
        if stride is None or stride.__class__ in (tuple, list) and not stride
        else stride
    )


def _check_windows(x, kernel_size, stride, padding, dilation, ceil_mode):
    """Raise RuntimeError, in PyTorch's words and order, when the windows do not fit."""
    moved = stride or kernel_size
    refuse_if(0 in moved, "stride should not be zero", "The window would never move on.")
    for values, what, letters, note in (
        (kernel_size, "kernel size", ("kH", "kW"), "A window needs a size."),
        (moved, "stride", ("dH", "dW"), "Windows move forwards."),
        (dilation, "dilation", ("dilationH", "dilationW"), "1 means that the window has no gaps."),
    ):
        shown = " ".join(f"{letter}: {value}" for letter, value in zip(letters, values))
        message = f"{what} should be greater than zero, but got {shown}"
        refuse_if(min(values) < 1, message, note)
    for k, p, d in zip(kernel_size, padding, dilation):
        message = f"pad must be non-negative, but got pad: {p}"
        refuse_if(p < 0, message, "Cut the input with slices instead.")
        refuse_if(
            p > (d * (k - 1) + 1) // 2,
            f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}",
            "With more padding some windows would see nothing but padding.",
        )
    out = windows(x, kernel_size, stride, padding, dilation, ceil_mode).out
    sizes = ["x".join(map(str, (x.shape[-3], *area))) for area in (x.shape[-2:], out)]
    refuse_if(
        min(out) < 1,
        f"Given input size: ({sizes[0]}). Calculated output size: ({sizes[1]}). Output size is too small",
        "The image is smaller than the window: use less pooling before this layer, or padding.",
    )


def _shown(x):
    return ", ".join(map(str, x.shape))


def _check_images(x):
    message = "non-empty 3D or 4D (batch mode) tensor expected for input"
    refuse_if(x.ndim not in (3, 4), message, _NO_BATCH)
    _check_not_empty(x)


def _check_not_empty(x):
    """Raise PyTorch's error for images, or sequences as images of height 1, of no pixels or no channels."""
    refuse_if(
        0 in x.shape[x.ndim - 3 :],
        f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:[{_shown(x)}]",
        "Only the number of images may be 0.",
    )


# -- the largest of each window, as it is called -----------------------------------------------------------------------
_passed = Passed()


def _max_settings(input, *given):
    """Return (kernel_size, stride, padding, dilation, ceil_mode) for the op, checked."""
    about = input._array.shape if isinstance(input, Tensor) else None
    settings = _passed.find(given, about)
    if settings is not None:
        return settings
    check_tensors("max_pool2d", input=input)
    names = "kernel_size", "stride", "padding", "dilation"
    pairs = _pairs("max_pool2d", **dict(zip(names, given)))
    settings = *pairs, bool_argument("max_pool2d", "ceil_mode", 6, given[4])
    if input.ndim in (3, 4):
        _check_windows(input, *settings)
    _check_images(input)
    _passed.keep(given, about, settings)
    return settings


def max_pool2d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """Return the largest number of each window of images (N, C, H, W) or (C, H, W).

    H' = floor((H + 2 padding - dilation (kernel - 1) - 1) / stride) + 1 (`ceil_mode`: rounded up). Raises TypeError for
    what are no ints, RuntimeError when the windows do not fit. Source: torch.nn.functional.max_pool2d."""
    settings = _max_settings(input, kernel_size, stride, padding, dilation, ceil_mode)
    return max_pool.call(input, *settings)


def _on_rows(op, x, *args):
    """Return what a two-dimensional pooling gives for sequences, which are images of height 1."""
    return squeeze_dim.call(op(unsqueeze.call(x, -2), *args), -2)


def max_pool1d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """Return the largest number of each window of sequences (N, C, L) or (C, L).

    Raises TypeError for what are no ints, RuntimeError when the windows do not fit. Source:
    torch.nn.functional.max_pool1d."""
    check_tensors("max_pool1d", input=input)
    given = {"kernel_size": kernel_size, "stride": _stride_or(kernel_size, stride)}
    given |= {"padding": padding, "dilation": dilation}
    k, s, p, d = _singles("max_pool1d", **given)
    bool_argument("max_pool1d", "ceil_mode", 6, ceil_mode)
    refuse_if(
        input.ndim not in (2, 3) or 0 in input.shape[input.ndim - 2 :],
        f"max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:[{_shown(input)}]",
        _SEQUENCE,
    )
    for problem, message, note in (
        (k < 1, f"kernel_size must be greater than zero, but got {k}", "A window needs a size."),
        (s < 1, f"stride must be greater than zero, but got {s}", "Windows move forwards."),
        (p < 0, f"padding must be non-negative, but got {p}", "Cut the input with slices instead."),
        (
            p > k // 2,
            f"padding should be at most half of kernel size, but got padding={p} and kernel_size={k}",
            "With more padding some windows would see nothing but padding.",
        ),
        (
            d < 1,
            f"dilation must be greater than zero, but got {d}",
            "1 means that the window has no gaps.",
        ),
    ):
        refuse_if(problem, f"max_pool1d() {message}", note)
    out = pooled(input.shape[-1], k, s, p, d, ceil_mode)
    message = f"max_pool1d() Invalid computed output size: {out}"
    refuse_if(out < 1, message, "The sequence is shorter than the window.")
    _refuse("max_pool1d_impl", input._array, "biu")
    return _on_rows(max_pool.call, input, (1, k), (1, s), (0, p), (1, d), ceil_mode)


def _without_indices(function):
    """Make a max pooling public: in torch, and in nn.functional, where it can be asked for indices."""
    name = function.__name__

    @composite(name, namespace="nn.functional")
    def call(
        input,
        kernel_size,
        stride=None,
        padding=0,
        dilation=1,
        ceil_mode=False,
        return_indices=False,
    ):
        if return_indices:
            note = "Only unpooling needs indices, and autolab has none. Leave it out."
            raise unsupported(name, "return_indices", note)
        return function(input, kernel_size, stride, padding, dilation, ceil_mode)

    call.__doc__ = function.__doc__
    composite()(function)


_without_indices(max_pool2d)
_without_indices(max_pool1d)


# -- means, as they are called -----------------------------------------------------------------------------------------
def _public(f):
    """Put the function into `torch.nn.functional`, and under the same name into `torch`."""
    return composite()(composite(namespace="nn.functional")(f))


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
    """Return the mean of each window of images (N, C, H, W) or (C, H, W); zeros of the padding count unless
    `count_include_pad` is False.

    `divisor_override` replaces the number of elements. Raises TypeError for what are no ints, RuntimeError when the
    windows do not fit. Source: torch.nn.functional.avg_pool2d."""
    pairs = _pairs("avg_pool2d", kernel_size=kernel_size, stride=stride, padding=padding)
    message = "divisor must be not zero"
    refuse_if(divisor_override == 0, message, "None divides by the size of the window.")
    if input.ndim < 3:
        check_dim(-3, input.ndim)
    _check_windows(input, *pairs, (1, 1), ceil_mode)
    _check_images(input)
    return avg_pool.call(input, *pairs, ceil_mode, count_include_pad, divisor_override)


def _check_sequence(function, input):
    check_tensors(function, input=input)
    refuse_if(
        input.ndim not in (2, 3),
        f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument #1 'self' (while checking arguments "
        f"for {function})",
        _SEQUENCE,
    )


@_public
def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """Return the mean of each window of sequences (N, C, L) or (C, L).

    Raises TypeError for what are no ints, RuntimeError when the windows do not fit. Source:
    torch.nn.functional.avg_pool1d."""
    given = {"kernel_size": kernel_size, "stride": _stride_or(kernel_size, stride)}
    k, s, p = _singles("avg_pool1d", **given, padding=padding)
    _check_sequence("avg_pool1d", input)
    rows, pairs = unsqueeze.call(input, -2), ((1, k), (1, s), (0, p))
    _check_not_empty(rows)
    _check_windows(rows, *pairs, (1, 1), ceil_mode)
    return squeeze_dim.call(avg_pool.call(rows, *pairs, ceil_mode, count_include_pad, None), -2)


def _wanted(function, input, output_size, message):
    """Return (rows, columns) of an adaptive pooling; None keeps a size. Raises TypeError for what are no ints."""
    check_tensors(function, input=input)
    size = (output_size,) * 2 if as_int(output_size) is not None else output_size
    shape = input.shape[-len(size) :]  # PyTorch's TypeError for what has no length is Python's
    filled = [shape[i] if n is None and len(shape) == len(size) else n for i, n in enumerate(size)]
    size = ints_argument(function, "output_size", 2, filled)
    note = "One number for both dimensions, or (height, width)."
    refuse_if(len(size) != 2, f"{function}{message}", note)
    return size


def _check_adaptive(function, input, colon):
    shown = f"[{_shown(input)}]"
    message = f"{function}(): Expected 3D or 4D tensor, but got{colon} {shown}"
    refuse_if(input.ndim not in (3, 4), message, _NO_BATCH)
    for dim in (-2, -1):
        refuse_if(
            input.shape[dim] == 0,
            f"{function}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {shown} with "
            f"dimension {input.ndim + dim} being empty",
            "There is nothing to share out.",
        )


@composite(namespace="nn.functional")
def adaptive_avg_pool2d(input, output_size):
    """Return means of images (N, C, H, W) or (C, H, W) over windows that share them out into `output_size` = (rows,
    columns); None keeps a size.

    Raises RuntimeError for other shapes. Source: torch.nn.functional.adaptive_avg_pool2d."""
    function = "adaptive_avg_pool2d"
    size = _wanted(function, input, output_size, ": output_size must be 2")
    refuse_if(
        min(size) < 0,
        "adaptive_avg_pool2d: elements of output_size must be greater than or equal to 0 but received "
        f"{{{size[0]}, {size[1]}}}",
        "It is the size of the result.",
    )
    if size == (1, 1) and input.ndim in (3, 4):
        return mean_op.call(input, (-1, -2), True, None)
    _check_adaptive(function, input, "")
    _refuse(function, input._array, "biuc")
    return adaptive_avg_pool.call(input, size)


@_public
def adaptive_avg_pool1d(input, output_size):
    """Return means of sequences (N, C, L) or (C, L) over `output_size` windows that share them out. Source:
    torch.nn.functional.adaptive_avg_pool1d."""
    _check_sequence("adaptive_avg_pool1d", input)
    (n,) = _singles("adaptive_avg_pool1d", output_size=output_size)
    return _on_rows(adaptive_avg_pool2d, input, (1, n))


@composite(namespace="nn.functional")
def adaptive_max_pool2d(input, output_size, return_indices=False):
    """Return the largest number of each of `output_size` = (rows, columns) windows that share images out; with
    `return_indices` also where it lies.

    Raises RuntimeError for shapes other than (N, C, H, W) and (C, H, W). Source:
    torch.nn.functional.adaptive_max_pool2d."""
    function = "adaptive_max_pool2d"
    message = "(): internal error: output_size.size() must be 2"
    size = _wanted(function, input, output_size, message)
    _check_adaptive(function, input, ":")
    shape = [*input.shape[:-2], *size]
    refuse_if(
        min(size) < 0,
        f"Trying to create tensor with negative dimension {min(size)}: {shape}",
        "It is the size of the result.",
    )
    out = adaptive_max_pool.call(input, size)
    return out if return_indices else out[0]
