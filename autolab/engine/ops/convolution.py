"""Convolution and transposed convolution in one and two dimensions.

One op, `convolution`, serves all of them, as in PyTorch. It and its two adjoints (towards the input, towards the
weight) are closed under differentiation: the rule of each is made of the other two, so that derivatives of every order
exist. The kernels are in `engine/kernels/convolution.py`. Sources:
https://docs.pytorch.org/docs/2.13/nn.functional.html#convolution-functions; Dumoulin and Visin, "A guide to convolution
arithmetic for deep learning" (2016).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..exact.arguments import Passed
from ..core.errors import fail
from ..kernels import convolution as kernels
from ..kernels import threads
from ..kernels.layout import Geometry
from .functions import composite, internal
from .convolution_arguments import (
    check_dtypes,
    check_numbers,
    check_shapes,
    check_transposed,
    named_padding,
    numbers,
    output_size,
)
from .shape import unsqueeze


def geometry(
    input_shape, weight_shape, stride, padding, dilation, transposed, output_padding, groups
):
    """The sizes of a convolution; of a transposed one, those of the convolution that it is the adjoint of."""
    return _geometry(
        tuple(input_shape),
        tuple(weight_shape),
        *map(tuple, (stride, padding, dilation, output_padding)),
        transposed,
        groups,
    )


@lru_cache(512)
def _geometry(
    input_shape, weight_shape, stride, padding, dilation, output_padding, transposed, groups
):
    spatial, kernel = input_shape[2:], weight_shape[2:]
    padding *= len(kernel) // len(
        padding
    )  # for 'valid' PyTorch gives the op one 0 for all dimensions
    other = output_size(spatial, kernel, stride, padding, dilation, transposed, output_padding)
    size, out = (other, spatial) if transposed else (spatial, other)
    return Geometry(size, out, kernel, stride, padding, dilation, groups)


def _planar(geo):
    """`geo` with two dimensions: a sequence is an image of width 1, so that its rows can be cut into blocks."""
    if len(geo.size) == 2:
        return geo
    return Geometry(
        (*geo.size, 1),
        (*geo.out, 1),
        (*geo.kernel, 1),
        (*geo.stride, 1),
        (*geo.padding, 0),
        (*geo.dilation, 1),
        geo.groups,
    )


def _on_images(xp, kernel, geo, *arrays):
    """`kernel(*arrays, geometry)` with sequences made images, and float16 computed in float32 as PyTorch does."""
    d = arrays[0].dtype
    if d.itemsize == 2 and d.kind == "f":
        arrays = [None if a is None else a.astype(np.float32) for a in arrays]
    sequence = len(geo.size) == 1
    if sequence:
        arrays = [a[..., None] if a is not None and a.ndim == 3 else a for a in arrays]
    result = kernel(*arrays, _planar(geo))
    if sequence and result.ndim == 4:
        result = xp.ascontiguousarray(result[..., 0])
    return result.astype(d, copy=False)


def _transposed(x, weight, bias, geo):
    y = kernels.grad_input(x, weight, geo)
    if bias is not None:
        y += bias[:, None, None]
    return y


def _convolution(
    xp, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups
):
    geo = geometry(
        x.shape, weight.shape, stride, padding, dilation, transposed, output_padding, groups
    )
    return _on_images(xp, _transposed if transposed else kernels.forward, geo, x, weight, bias)


def _for_input(m, g, input, weight, stride, padding, dilation, transposed, output_padding, groups):
    geo = geometry(
        input.shape, weight.shape, stride, padding, dilation, transposed, output_padding, groups
    )
    return (
        m.convolution_apply(g, weight, geo)
        if transposed
        else m.convolution_grad_input(g, weight, geo)
    )


def _for_weight(m, g, input, weight, stride, padding, dilation, transposed, output_padding, groups):
    geo = geometry(
        input.shape, weight.shape, stride, padding, dilation, transposed, output_padding, groups
    )
    return (
        m.convolution_grad_weight(input, g, geo)
        if transposed
        else m.convolution_grad_weight(g, input, geo)
    )


def _gradients(m, g, wanted, *, input, weight, bias_sym_sizes_opt, **sizes):
    """All gradients of raw arrays: those of input and weight side by side."""
    given = m, g, input, weight, *sizes.values()
    towards = [
        lambda: _for_input(*given) if wanted[0] else None,
        lambda: _for_weight(*given) if wanted[1] else None,
    ]
    if wanted[0] and wanted[1] and g.__class__ is np.ndarray and len(weight):
        dx, dw = threads.both(*towards, 2.0 * g.size * weight.size / len(weight))
    else:
        dx, dw = (gradient() for gradient in towards)
    return dx, dw, m.convolution_grad_bias(g) if wanted[2] else None


def _samples(s):
    plain = (1, 1), (0, 0), (1, 1), False, (0, 0), 1
    return [
        (s.randn(2, 2, 4, 3), s.randn(3, 2, 2, 2), s.randn(3), *plain),
        (s.randn(1, 2, 5, 5), s.randn(2, 2, 3, 3), None, (2, 1), (1, 2), (1, 2), False, (0, 0), 1),
        (
            s.randn(1, 4, 3, 3),
            s.randn(4, 2, 2, 2),
            s.randn(4),
            (1, 1),
            (0, 1),
            (1, 1),
            False,
            (0, 0),
            2,
        ),
        (s.randn(2, 3, 2, 2), s.randn(3, 1, 1, 1), None, (1, 1), (0, 0), (1, 1), False, (0, 0), 3),
        (s.randn(1, 2, 6), s.randn(3, 2, 3), s.randn(3), (2,), (1,), (1,), False, (0,), 1),
        (
            s.randn(1, 2, 3, 2),
            s.randn(2, 3, 2, 3),
            s.randn(3),
            (2, 1),
            (1, 0),
            (1, 1),
            True,
            (1, 0),
            1,
        ),
        (s.randn(1, 4, 2, 2), s.randn(4, 1, 2, 2), None, (1, 2), (0, 0), (2, 1), True, (1, 1), 2),
        (s.randn(2, 2, 3), s.randn(2, 2, 2), s.randn(2), (2,), (0,), (1,), True, (0,), 1),
    ]


def _inside(schema, **record):
    return internal(schema, **record)


convolution_op = _inside(
    "convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, "
    "int[] dilation, bool transposed, int[] output_padding, int groups)",
    forward=_convolution,
    vjp={
        "input": lambda m, g, input, weight, stride, padding, dilation, transposed, output_padding, groups: (
            _for_input(
                m, g, input, weight, stride, padding, dilation, transposed, output_padding, groups
            )
        ),
        "weight": lambda m, g, input, weight, stride, padding, dilation, transposed, output_padding, groups: (
            _for_weight(
                m, g, input, weight, stride, padding, dilation, transposed, output_padding, groups
            )
        ),
        "bias": lambda m, g: m.convolution_grad_bias(g),
    },
    also_saves=(
        "input",
        "weight",
        "bias_sym_sizes_opt",
        "stride",
        "padding",
        "dilation",
        "transposed",
        "output_padding",
        "groups",
    ),
    latex=r"{weight} \ast {input} + {bias}",
    vjp_latex={
        "input": r"{weight} \star {g}",
        "weight": r"{input} \ast {g}",
        "bias": r"\sum_{\text{positions}} {g}",
    },
    fused=_gradients,
    samples=_samples,
)


# -- the map and its adjoints, for a geometry that is known ------------------------------------------------------------
def _geometries(s):
    """Geometries with arrays of the sizes that they ask for: (x, weight, result, geometry)."""
    two = Geometry((4, 3), (2, 4), (3, 2), (2, 1), (1, 1), (1, 1), 1)
    one = Geometry((5,), (3,), (3,), (1,), (0,), (1,), 1)
    grouped = Geometry((3, 3), (2, 2), (2, 2), (1, 1), (0, 0), (1, 1), 2)
    return [
        (s.randn(1, 2, 4, 3), s.randn(3, 2, 3, 2), s.randn(1, 3, 2, 4), two),
        (s.randn(2, 2, 5), s.randn(2, 2, 3), s.randn(2, 2, 3), one),
        (s.randn(1, 2, 3, 3), s.randn(4, 1, 2, 2), s.randn(1, 4, 2, 2), grouped),
    ]


def _apply(xp, x, weight, geo):
    return _on_images(
        xp, lambda x, weight, geo: kernels.forward(x, weight, None, geo), geo, x, weight
    )


_inside(
    "convolution_apply(Tensor input, Tensor weight, object geometry)",
    forward=_apply,
    node="ConvolutionBackwardBackward0",
    vjp={
        "input": lambda m, g, weight, geometry: m.convolution_grad_input(g, weight, geometry),
        "weight": lambda m, g, input, geometry: m.convolution_grad_weight(g, input, geometry),
    },
    samples=lambda s: [(x, w, geo) for x, w, _, geo in _geometries(s)],
)

_inside(
    "convolution_grad_input(Tensor grad_output, Tensor weight, object geometry)",
    node="ConvolutionBackwardBackward0",
    forward=lambda xp, g, weight, geo: _on_images(xp, kernels.grad_input, geo, g, weight),
    vjp={
        "grad_output": lambda m, g, weight, geometry: m.convolution_apply(g, weight, geometry),
        "weight": lambda m, g, grad_output, geometry: m.convolution_grad_weight(
            grad_output, g, geometry
        ),
    },
    samples=lambda s: [(y, w, geo) for _, w, y, geo in _geometries(s)],
)

_inside(
    "convolution_grad_weight(Tensor grad_output, Tensor input, object geometry)",
    node="ConvolutionBackwardBackward0",
    forward=lambda xp, g, x, geo: _on_images(xp, kernels.grad_weight, geo, g, x),
    vjp={
        "grad_output": lambda m, g, input, geometry: m.convolution_apply(input, g, geometry),
        "input": lambda m, g, grad_output, geometry: m.convolution_grad_input(
            grad_output, g, geometry
        ),
    },
    samples=lambda s: [(y, x, geo) for x, _, y, geo in _geometries(s)],
)


def _grad_bias(xp, g):
    return kernels.grad_bias(g if g.ndim == 4 else g[..., None]).astype(g.dtype, copy=False)


_inside(
    "convolution_grad_bias(Tensor grad_output)",
    forward=_grad_bias,
    node="ConvolutionBackwardBackward0",
    vjp={
        "grad_output": lambda m, g, grad_output_sym_sizes: m.expand(
            m.reshape_raw(g, (1, -1) + (1,) * (len(grad_output_sym_sizes) - 2)),
            grad_output_sym_sizes,
        )
    },
    samples=lambda s: [s.randn(2, 3, 2, 2), s.randn(2, 3, 4)],
)


# -- arguments ---------------------------------------------------------------------------------------------------------
_passed = Passed()


def _convolved(
    name,
    dims,
    input,
    weight,
    bias,
    stride,
    padding,
    dilation,
    groups,
    output_padding=0,
    transposed=False,
):
    """Checks in PyTorch's order, then the op; an input without batch dimension gets one for the op."""
    given = stride, padding, dilation, groups, output_padding
    about = (
        name,
        input._array.shape,
        input.dtype,
        weight._array.shape,
        weight.dtype,
        bias if bias is None else (bias._array.shape, bias.dtype),
    )
    settings = _passed.find(given, about)
    if settings is not None:
        return convolution_op.call(input, weight, bias, *settings)
    if input.ndim not in (dims + 1, dims + 2):
        raise fail(
            RuntimeError,
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: {list(input.shape)}",
            "The dimensions are samples, channels, then what the kernel moves along.",
        )
    batched = input.ndim == dims + 2
    if not batched:
        input = unsqueeze.call(input, 0)
    n = weight.ndim - 2
    if n < 1:
        raise fail(
            RuntimeError,
            "weight should have at least three dimensions",
            "Filters are (filters, channels, then what the kernel moves along).",
        )
    stride, dilation = numbers("stride", stride, dims, n), numbers("dilation", dilation, dims, n)
    valid = padding == "valid"
    if isinstance(padding, str):
        input, padding = named_padding(input, weight, stride, padding, dilation)
    padding, output_padding = (
        numbers("padding", padding, dims, n),
        numbers("output_padding", output_padding, dims, n),
    )
    check_numbers(input, weight, stride, padding, dilation, output_padding, groups)
    check_shapes(input, weight, bias, padding, dilation, transposed, groups)
    if not transposed and 0 in input.shape[2:]:
        raise fail(
            RuntimeError,
            f"Only zero batch or zero channel inputs are supported, but got input shape: {list(input.shape)}",
            "The image is empty.",
        )
    if 0 in weight.shape[2:]:
        height, width = (1, *weight.shape[2:])[-2:]
        message = f"kernel size should be greater than zero, but got kernel_height: {height} kernel_width: {width}"
        raise fail(RuntimeError, message, "A kernel of size 0 sees nothing.")
    if not transposed and not input.shape[1]:
        # of no channels there is nothing to add up; PyTorch gives a result without channels, whatever the filters
        out = output_size(input.shape[2:], weight.shape[2:], stride, padding, dilation)
        return (input.reshape(-1) * weight.reshape(-1)).reshape(
            *(input.shape[:1] if batched else ()), 0, *out
        )
    check_dtypes(input, weight, bias)
    if transposed:
        check_transposed(input, weight, stride, padding, dilation, output_padding)
    if valid:
        padding = output_padding = (0,)
    elif batched:
        _passed.keep(given, about, (stride, padding, dilation, transposed, output_padding, groups))
    y = convolution_op.call(
        input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )
    return y if batched else y.squeeze(0)


# -- public functions --------------------------------------------------------------------------------------------------
@composite()
@composite(namespace="nn.functional")
def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation of sequences (N, C, L) with filters (O, C / groups, K): (N, O, L'); without N too.

    L' = floor((L + 2 padding - dilation (K - 1) - 1) / stride) + 1; padding may be 'valid' or 'same'. Raises
    RuntimeError when sizes, channels or dtypes do not fit. Source: torch.nn.functional.conv1d."""
    return _convolved("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@composite()
@composite(namespace="nn.functional")
def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation of images (N, C, H, W) with filters (O, C / groups, KH, KW): (N, O, H', W'); without N too.

    H' = floor((H + 2 padding - dilation (KH - 1) - 1) / stride) + 1; padding may be 'valid' or 'same'. Raises
    RuntimeError when sizes, channels or dtypes do not fit. Source: torch.nn.functional.conv2d."""
    return _convolved("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@composite()
@composite(namespace="nn.functional")
def conv_transpose1d(
    input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1
):
    """The adjoint of `conv1d`: (N, C, L) and (C, O / groups, K) give (N, O, L').

    L' = (L - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1. Raises RuntimeError when sizes, channels or
    dtypes do not fit. Source: torch.nn.functional.conv_transpose1d."""
    return _convolved(
        "conv_transpose1d",
        1,
        input,
        weight,
        bias,
        stride,
        padding,
        dilation,
        groups,
        output_padding,
        True,
    )


@composite()
@composite(namespace="nn.functional")
def conv_transpose2d(
    input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1
):
    """The adjoint of `conv2d`: (N, C, H, W) and (C, O / groups, KH, KW) give (N, O, H', W').

    H' = (H - 1) stride - 2 padding + dilation (KH - 1) + output_padding + 1. Raises RuntimeError when sizes, channels
    or dtypes do not fit. Source: torch.nn.functional.conv_transpose2d."""
    return _convolved(
        "conv_transpose2d",
        2,
        input,
        weight,
        bias,
        stride,
        padding,
        dilation,
        groups,
        output_padding,
        True,
    )
