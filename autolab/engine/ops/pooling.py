"""Pooling: the largest number or the mean of each window. The kernels are in `engine/kernels/pooling.py`.

Sources: https://docs.pytorch.org/docs/2.13/nn.functional.html#pooling-functions
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..core.dtype import FROM_NUMPY
from ..core.errors import fail
from ..kernels import pooling as kernels
from ..kernels.pooling import Windows
from .functions import internal
from ..core.tensor import wrap


def pair(value):
    """A number or a tuple of one as (height, width)."""
    return (
        (value, value)
        if isinstance(value, (int, np.integer))
        else tuple(value) * (2 if len(value) == 1 else 1)
    )


def pooled(n, kernel, stride, padding, dilation, ceil_mode):
    """The number of windows along a dimension of `n` positions."""
    span = n + 2 * padding - dilation * (kernel - 1) - 1
    out = (span + (stride - 1 if ceil_mode else 0)) // stride + 1
    return (
        out - 1 if ceil_mode and (out - 1) * stride >= n + padding else out
    )  # a window must not start in the padding at the end


def windows(x, kernel_size, stride, padding, dilation=(1, 1), ceil_mode=False):
    """The sizes for pooling `x`; an empty stride means the kernel's size."""
    given = (
        tuple(x.shape[-2:]),
        tuple(kernel_size),
        tuple(stride or kernel_size),
        tuple(padding),
        tuple(dilation),
    )
    return _windows(given, ceil_mode, tuple([n.__class__ for pair in given for n in pair]))


@lru_cache(512)
def _windows(given, ceil_mode, kinds):
    """`kinds`: the classes of these numbers, as 2.0 is no 2 here."""
    size, *others = given
    out = tuple(pooled(*args, ceil_mode) for args in zip(*given))
    kernel, stride, padding, dilation = others
    return Windows(size, out, kernel, stride, padding, dilation)


def _inside(schema, **record):
    return internal(schema, **record)


def _refuse_bool(name, x):
    if x.dtype.kind == "b":
        raise fail(
            NotImplementedError,
            f"\"{name}\" not implemented for 'Bool'",
            "Convert with .float() first.",
        )


def refuse_whole(name, x):
    """Raises torch's error for whole numbers and masks, which it has no such kernel for."""
    if x.dtype.kind not in "fc":
        short = FROM_NUMPY[x.dtype].short
        raise fail(
            NotImplementedError,
            f"\"{name}\" not implemented for '{short}'",
            "Convert with .float() first.",
        )


def _adaptive_max_pool(xp, x, output_size):
    refuse_whole("adaptive_max_pool2d", x)
    if not x.size and min(x.shape[-2:]):  # no images
        shape = (*x.shape[:-2], *output_size)
        return xp.empty(shape, x.dtype), xp.empty(shape, np.int64)
    return kernels.adaptive_maximum(x, output_size)


# -- maximum -----------------------------------------------------------------------------------------------------------
def _max_pool(xp, x, kernel_size, stride, padding, dilation, ceil_mode):
    _refuse_bool("max_pool2d", x)
    return kernels.maximum(x, windows(x, kernel_size, stride, padding, dilation, ceil_mode))


def _max_rule(m, g, self, result, kernel_size, stride, padding, dilation, ceil_mode):
    if not m.traced:
        win = windows(self, kernel_size, stride, padding, dilation, ceil_mode)
        return kernels.max_backward(
            g, self, kernels.maximum(self, win) if result is None else result, win
        )
    return m.max_pool2d_with_indices_backward(
        g,
        self,
        kernel_size,
        stride,
        padding,
        dilation,
        ceil_mode,
        m.max_pool2d_indices(self, kernel_size, stride, padding, dilation, ceil_mode),
    )


def _max_samples(s):
    return [
        (s.distinct(1, 2, 4, 4), (2, 2), (), (0, 0), (1, 1), False),
        (s.distinct(2, 5, 4), (3, 2), (2, 1), (1, 1), (1, 1), False),
        (s.distinct(1, 1, 6, 5), (2, 2), (2, 2), (1, 0), (2, 1), True),
        (s.distinct(1, 2, 1, 5), (1, 2), (1, 2), (0, 0), (1, 1), True),
    ]


def _winners(node):
    """PyTorch keeps the winners' indices; here they are found again from what was saved."""
    node.unpack(0)  # raises where it was freed
    x, *options = (
        node._saved_attribute(name)
        for name in ("self", "kernel_size", "stride", "padding", "dilation", "ceil_mode")
    )
    return wrap(kernels.max_indices(x._array, windows(x._array, *options)))


max_pool = _inside(
    "max_pool2d(Tensor self, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode)",
    forward=_max_pool,
    node="MaxPool2DWithIndicesBackward0",
    vjp={
        "self": lambda m, g, self, result, kernel_size, stride, padding, dilation, ceil_mode: (
            _max_rule(m, g, self, result, kernel_size, stride, padding, dilation, ceil_mode)
        )
    },
    hidden=("result",),
    constants={"result1": property(_winners)},
    latex=r"\max_{\text{window}} {self}",
    vjp_latex={"self": r"{g} \text{ at the largest of each window}"},
    samples=_max_samples,
)


def _max_pool_with_indices(xp, x, kernel_size, stride, padding, dilation, ceil_mode):
    _refuse_bool("max_pool2d", x)
    win = windows(x, kernel_size, stride, padding, dilation, ceil_mode)
    return kernels.maximum(x, win), kernels.max_indices(x, win)


max_pool_with_indices = _inside(
    "max_pool2d_with_indices(Tensor self, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode)",
    forward=_max_pool_with_indices,
    outputs=("result0", "result1"),
    nondiff=("result1",),
    node="MaxPool2DWithIndicesBackward0",
    vjp={
        "self": lambda m, g, self, kernel_size, stride, padding, dilation, ceil_mode, result1: (
            m.max_pool2d_with_indices_backward(
                g[0], self, kernel_size, stride, padding, dilation, ceil_mode, result1
            )
        )
    },
    latex=r"\max_{\text{window}} {self}",
    vjp_latex={"self": r"{g} \text{ at the largest of each window}"},
    samples=_max_samples,
)

_inside(
    "max_pool2d_indices(Tensor self, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode)",
    forward=lambda xp, x, *options: kernels.max_indices(x, windows(x, *options)),
    samples=_max_samples,
)


def _picked(m, g, indices):
    """The adjoint of `scatter`: g (…, H, W) at the flat indices (…, rows, columns)."""
    shape = tuple(indices.shape)
    flat = m.gather(
        m.reshape_raw(g, (*g.shape[:-2], -1)), g.ndim - 2, m.reshape_raw(indices, (*shape[:-2], -1))
    )
    return m.reshape_raw(flat, shape)


def _winner_samples(s):
    found = []
    for x, *options in _max_samples(s):
        indices = kernels.max_indices(x, windows(x, *options))
        found.append((s.randn(*indices.shape), x, *options, indices))
    return found


_inside(
    "max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[] kernel_size, "
    "int[] stride, int[] padding, int[] dilation, bool ceil_mode, Tensor indices)",
    forward=lambda xp, g, x, kernel_size, stride, padding, dilation, ceil_mode, indices: (
        kernels.scatter(g, indices, x.shape[-2:])
    ),
    vjp={
        "grad_output": lambda m, g, indices: _picked(m, g, indices),
        "self": lambda m, g: m.zeros_like(g),
    },
    node="MaxPool2DWithIndicesBackwardBackward0",
    samples=_winner_samples,
)


# -- mean --------------------------------------------------------------------------------------------------------------
def _mean_of(xp, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    win = windows(x, kernel_size, stride, padding, (1, 1), ceil_mode)
    return win, kernels.divisors(xp, win, count_include_pad, divisor_override)


def _wide(kernel, x, *rest):
    """float16 is summed in float32, as in PyTorch."""
    return (
        kernel(x.astype(np.float32), *rest).astype(x.dtype)
        if x.dtype == np.float16
        else kernel(x, *rest)
    )


def _avg_pool(xp, x, *options):
    if x.dtype != np.int64:
        refuse_whole("avg_pool2d", x)
    if x.dtype == np.int64:  # the mean of whole numbers loses its digits after the point, as in C
        return xp.trunc(kernels.mean(x.astype(np.float64), *_mean_of(xp, x, *options))).astype(
            x.dtype
        )
    return _wide(kernels.mean, x, *_mean_of(xp, x, *options))


def _avg_samples(s):
    return [
        (s.randn(1, 2, 4, 4), (2, 2), (), (0, 0), False, True, None),
        (s.randn(2, 5, 4), (3, 2), (2, 1), (1, 1), False, True, None),
        (s.randn(1, 1, 5, 6), (2, 3), (2, 2), (1, 1), True, False, None),
        (s.randn(1, 1, 5, 5), (2, 2), (2, 2), (0, 1), True, True, None),
        (s.randn(1, 1, 4, 4), (2, 2), (1, 1), (0, 0), False, True, 3),
    ]


avg_pool = _inside(
    "avg_pool2d(Tensor self, int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, bool count_include_pad, int? divisor_override)",
    forward=_avg_pool,
    node="AvgPool2DBackward0",
    vjp={
        "self": lambda m, g, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: (
            m.avg_pool2d_backward(
                g,
                self,
                kernel_size,
                stride,
                padding,
                ceil_mode,
                count_include_pad,
                divisor_override,
            )
        )
    },
    latex=r"\frac{1}{n} \sum_{\text{window}} {self}",
    vjp_latex={"self": r"\frac{1}{n} \cdot {g} \text{ at all of each window}"},
    samples=_avg_samples,
)

_inside(
    "avg_pool2d_backward(Tensor grad_output, Tensor self, int[] kernel_size, int[] stride, "
    "int[] padding, bool ceil_mode, bool count_include_pad, int? divisor_override)",
    forward=lambda xp, g, x, *options: _wide(kernels.mean_backward, g, *_mean_of(xp, x, *options)),
    node="AvgPool2DBackwardBackward0",
    vjp={
        "grad_output": lambda m, g, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: (
            m.avg_pool2d(
                g, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
            )
        ),
        "self": lambda m, g: m.zeros_like(g),
    },
    samples=lambda s: [
        (s.randn(*x.shape[:-2], *windows(x, o[0], o[1], o[2], ceil_mode=o[3]).out), x, *o)
        for x, *o in _avg_samples(s)
    ],
)


# -- windows that share the input out ----------------------------------------------------------------------------------
def _adaptive_avg(xp, x, output_size):
    return _wide(kernels.adaptive_mean, x, output_size)


def _adaptive_avg_backward(xp, g, x):
    return _wide(kernels.adaptive_mean_backward, g, x.shape[-2:])


adaptive_avg_pool = _inside(
    "_adaptive_avg_pool2d(Tensor self, int[] output_size)",
    forward=_adaptive_avg,
    node="AdaptiveAvgPool2DBackward0",
    vjp={"self": lambda m, g, self: m._adaptive_avg_pool2d_backward(g, self)},
    latex=r"\frac{1}{n} \sum_{\text{window}} {self}",
    vjp_latex={"self": r"\frac{1}{n} \cdot {g} \text{ at all of each window}"},
    samples=lambda s: [(s.randn(1, 2, 5, 4), (2, 3)), (s.randn(2, 4, 4), (2, 2))],
)

_inside(
    "_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self)",
    forward=_adaptive_avg_backward,
    node="AdaptiveAvgPool2DBackwardBackward0",
    vjp={
        "grad_output": lambda m, g, grad_output_sym_sizes: m._adaptive_avg_pool2d(
            g, tuple(grad_output_sym_sizes[-2:])
        ),
        "self": lambda m, g: m.zeros_like(g),
    },
    samples=lambda s: [(s.randn(1, 2, 2, 3), s.randn(1, 2, 5, 4))],
)

adaptive_max_pool = _inside(
    "adaptive_max_pool2d(Tensor self, int[] output_size)",
    forward=_adaptive_max_pool,
    outputs=("result0", "result1"),
    nondiff=("result1",),
    node="AdaptiveMaxPool2DBackward0",
    vjp={"self": lambda m, g, self, result1: m.adaptive_max_pool2d_backward(g[0], self, result1)},
    latex=r"\max_{\text{window}} {self}",
    vjp_latex={"self": r"{g} \text{ at the largest of each window}"},
    samples=lambda s: [(s.distinct(1, 2, 5, 4), (2, 3)), (s.distinct(2, 4, 4), (2, 2))],
)

_inside(
    "adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices)",
    forward=lambda xp, g, x, indices: kernels.scatter(g, indices, x.shape[-2:]),
    vjp={
        "grad_output": lambda m, g, indices: _picked(m, g, indices),
        "self": lambda m, g: m.zeros_like(g),
    },
    node="AdaptiveMaxPool2DBackwardBackward0",
    samples=lambda s: [
        (s.randn(1, 2, 2, 3), x := s.distinct(1, 2, 5, 4), kernels.adaptive_maximum(x, (2, 3))[1])
    ],
)
