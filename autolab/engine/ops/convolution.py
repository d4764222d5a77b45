"""Convolution and transposed convolution in one and two dimensions.

One op, `convolution`, serves all of them, as in PyTorch. It and its two adjoints (with respect to the input, with
respect to the weight) are closed under differentiation: the rule of each is made of the other two, so that derivatives
of every order exist. The kernels are in `engine/kernels/convolution.py`. Sources:
https://docs.pytorch.org/docs/2.13/nn.functional.html#convolution-functions; Dumoulin and Visin, "A guide to convolution
arithmetic for deep learning" (2016).
"""

from __future__ import annotations

import warnings
from functools import lru_cache

import numpy as np

from ..exact.arguments import Passed
from ..kernels import convolution as kernels
from ..kernels import threads
from ..kernels.layout import Geometry
from .checks import refuse_if
from .functions import NAMESPACES, composite, internal
from .shape import unsqueeze
from .with_backward import rule


# -- sizes -------------------------------------------------------------------------------------------------------------
def output_size(spatial, kernel, stride, padding, dilation, transposed=False, output_padding=None):
    """Return the sizes of the result, for sizes of the input and of the kernel (tuples of one length)."""
    if transposed:
        sizes = zip(spatial, kernel, stride, padding, dilation, output_padding)
        return tuple((n - 1) * s - 2 * p + d * (k - 1) + more + 1 for n, k, s, p, d, more in sizes)
    sizes = zip(spatial, kernel, stride, padding, dilation)
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes)


def geometry(input_shape, weight_shape, *settings):
    """Return the sizes of a convolution; of a transposed one, those of the convolution that it is the adjoint of.

    settings: stride, padding, dilation, transposed, output_padding, groups."""
    lists = (tuple(s) if isinstance(s, list) else s for s in settings)
    return _geometry(tuple(input_shape), tuple(weight_shape), *lists)


@lru_cache(512)
def _geometry(
    input_shape, weight_shape, stride, padding, dilation, transposed, output_padding, groups
):
    spatial, kernel = input_shape[2:], weight_shape[2:]
    padding *= len(kernel) // len(padding)  # for 'valid' PyTorch gives one 0 for all dimensions
    other = output_size(spatial, kernel, stride, padding, dilation, transposed, output_padding)
    size, out = (other, spatial) if transposed else (spatial, other)
    return Geometry(size, out, kernel, stride, padding, dilation, groups)


def _on_images(xp, kernel, geo, *arrays):
    """Return `kernel(*arrays, geometry)` with sequences made images of width 1, so that their rows can be cut into
    blocks, and float16 computed in float32 as PyTorch does."""
    d = arrays[0].dtype
    if d.itemsize == 2 and d.kind == "f":
        arrays = [None if a is None else a.astype(np.float32) for a in arrays]
    sequence = len(geo.size) == 1
    if sequence:
        arrays = [a[..., None] if a is not None and a.ndim == 3 else a for a in arrays]
        pairs = (geo.size, 1), (geo.out, 1), (geo.kernel, 1), (geo.stride, 1), (geo.padding, 0)
        pairs += ((geo.dilation, 1),)
        geo = Geometry(*((*numbers, last) for numbers, last in pairs), geo.groups)
    result = kernel(*arrays, geo)
    if sequence and result.ndim == 4:
        result = xp.ascontiguousarray(result[..., 0])
    return result.astype(d, copy=False)


# -- the operation -----------------------------------------------------------------------------------------------------
def _transposed(x, weight, bias, geo):
    y = kernels.grad_input(x, weight, geo)
    if bias is not None:
        y += bias[:, None, None]
    return y


def _convolution(
    xp, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups
):
    settings = stride, padding, dilation, transposed, output_padding, groups
    geo = geometry(x.shape, weight.shape, *settings)
    return _on_images(xp, _transposed if transposed else kernels.forward, geo, x, weight, bias)


def _for_input(m, g, input, weight, stride, padding, dilation, transposed, output_padding, groups):
    settings = stride, padding, dilation, transposed, output_padding, groups
    gradient = m.convolution_apply if transposed else m.convolution_grad_input
    return gradient(g, weight, geometry(input.shape, weight.shape, *settings))


def _for_weight(m, g, input, weight, stride, padding, dilation, transposed, output_padding, groups):
    settings = stride, padding, dilation, transposed, output_padding, groups
    pair = (input, g) if transposed else (g, input)
    return m.convolution_grad_weight(*pair, geometry(input.shape, weight.shape, *settings))


def _gradients(m, g, wanted, *, input, weight, bias_sym_sizes_opt, **sizes):
    """Return all gradients of raw arrays: those of input and weight are computed side by side."""
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
    def sample(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, out=None):
        """A call of the op: `out` is the output padding of a transposed convolution."""
        n = len(x) - 2
        lists = [(v,) * n if isinstance(v, int) else v for v in (stride, padding, dilation)]
        transposed = out is not None
        bias = None if bias is None else s.randn(bias)
        return s.randn(*x), s.randn(*weight), bias, *lists, transposed, out or (0,) * n, groups

    return [
        sample((2, 2, 4, 3), (3, 2, 2, 2), 3),
        sample((1, 2, 5, 5), (2, 2, 3, 3), None, (2, 1), (1, 2), (1, 2)),
        sample((1, 4, 3, 3), (4, 2, 2, 2), 4, padding=(0, 1), groups=2),
        sample((2, 3, 2, 2), (3, 1, 1, 1), groups=3),
        sample((1, 2, 6), (3, 2, 3), 3, 2, 1),
        sample((1, 2, 3, 2), (2, 3, 2, 3), 3, (2, 1), (1, 0), out=(1, 0)),
        sample((1, 4, 2, 2), (4, 1, 2, 2), None, (1, 2), dilation=(2, 1), groups=2, out=(1, 1)),
        sample((2, 2, 3), (2, 2, 2), 2, 2, out=(0,)),
    ]


convolution_op = internal(
    "convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, "
    "int[] dilation, bool transposed, int[] output_padding, int groups)",
    forward=_convolution,
    vjp={"input": _for_input, "weight": _for_weight, "bias": rule("convolution_grad_bias")},
    also_saves=(
        *("input", "weight", "bias_sym_sizes_opt", "stride", "padding", "dilation"),
        *("transposed", "output_padding", "groups"),
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
    """Return geometries with arrays of the sizes that they ask for: (x, weight, result, geometry)."""
    two = Geometry((4, 3), (2, 4), (3, 2), (2, 1), (1, 1), (1, 1), 1)
    one = Geometry((5,), (3,), (3,), (1,), (0,), (1,), 1)
    grouped = Geometry((3, 3), (2, 2), (2, 2), (1, 1), (0, 0), (1, 1), 2)
    return [
        (s.randn(1, 2, 4, 3), s.randn(3, 2, 3, 2), s.randn(1, 3, 2, 4), two),
        (s.randn(2, 2, 5), s.randn(2, 2, 3), s.randn(2, 2, 3), one),
        (s.randn(1, 2, 3, 3), s.randn(4, 1, 2, 2), s.randn(1, 4, 2, 2), grouped),
    ]


def _map(name, kernel, first, second, samples, **vjp):
    """Register one of the three bilinear maps of the input, the weight and the result's gradient."""
    internal(
        f"convolution_{name}(Tensor {first}, Tensor {second}, object geometry)",
        forward=lambda xp, a, b, geo: _on_images(xp, kernel, geo, a, b),
        node="ConvolutionBackwardBackward0",
        vjp=vjp,
        samples=lambda s: [samples(*case) for case in _geometries(s)],
    )


_map(
    "apply",
    lambda x, weight, geo: kernels.forward(x, weight, None, geo),
    "input",
    "weight",
    lambda x, w, y, geo: (x, w, geo),
    input=rule("convolution_grad_input", "weight", "geometry"),
    weight=rule("convolution_grad_weight", "input", "geometry"),
)
_map(
    "grad_input",
    kernels.grad_input,
    "grad_output",
    "weight",
    lambda x, w, y, geo: (y, w, geo),
    grad_output=rule("convolution_apply", "weight", "geometry"),
    weight=lambda m, g, grad_output, geometry: m.convolution_grad_weight(grad_output, g, geometry),
)
_map(
    "grad_weight",
    kernels.grad_weight,
    "grad_output",
    "input",
    lambda x, w, y, geo: (y, x, geo),
    grad_output=lambda m, g, input, geometry: m.convolution_apply(input, g, geometry),
    input=lambda m, g, grad_output, geometry: m.convolution_grad_input(grad_output, g, geometry),
)


def _grad_bias(xp, g):
    return kernels.grad_bias(g if g.ndim == 4 else g[..., None]).astype(g.dtype, copy=False)


def _spread(m, g, grad_output_sym_sizes):
    ones = (1,) * (len(grad_output_sym_sizes) - 2)
    return m.expand(m.reshape_raw(g, (1, -1, *ones)), grad_output_sym_sizes)


internal(
    "convolution_grad_bias(Tensor grad_output)",
    forward=_grad_bias,
    node="ConvolutionBackwardBackward0",
    vjp={"grad_output": _spread},
    samples=lambda s: [s.randn(2, 3, 2, 2), s.randn(2, 3, 4)],
)


# -- arguments ---------------------------------------------------------------------------------------------------------
def _numbers(name, value, dims, n):
    """Return `value` as a tuple of `n` ints; one number counts for every one of the `dims` dimensions that a function
    moves along."""
    values = (value,) * dims if value.__class__ is int else tuple(value)
    if len(values) == 1:
        return values * n
    refuse_if(
        len(values) != n,
        f"expected {name} to be a single integer value or a list of {n} values to match the convolution dimensions, but got "
        f"{name}={list(values)}",
        "Give one number, or one per dimension that the kernel moves along.",
    )
    return values


def _named_padding(input, weight, stride, padding, dilation):
    """Return (input, padding) for 'valid' and 'same'; an odd total is padded at the end first, as PyTorch does."""
    if padding == "valid":
        return input, (0,)
    refuse_if(
        padding != "same",
        f"Invalid padding string: '{padding}'",
        "It is 'same', 'valid', or a number of rows and columns.",
    )
    refuse_if(
        max(stride) > 1,
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
        more = tuple(n for t in reversed(totals) for n in (0, t % 2))
        input = NAMESPACES["nn.functional"]["pad"](input, more)
    return input, tuple(t // 2 for t in totals)


def _check_numbers(stride, padding, dilation, output_padding, groups):
    for name, value in (("padding", padding), ("output_padding", output_padding)):
        message = f"negative {name} is not supported"
        refuse_if(min(value, default=0) < 0, message, f"{name} is {list(value)}.")
    refuse_if(
        min(stride, default=1) < 1,
        "non-positive stride is not supported",
        f"stride is {list(stride)}.",
    )
    refuse_if(
        min(dilation, default=1) < 1,
        f"dilation should be greater than zero, but got {list(dilation)}",
        "1 means that the kernel has no gaps.",
    )
    refuse_if(
        groups < 1,
        "non-positive groups is not supported",
        "groups=1 connects every input channel to every output channel.",
    )


def _by(sizes):
    return " x ".join(map(str, sizes))


def _check_shapes(input, weight, bias, padding, dilation, transposed, groups):
    shape, w = list(input.shape), list(weight.shape)
    refuse_if(
        len(w) != len(shape),
        f"Expected {len(w)}-dimensional input for {len(w)}-dimensional weight {w}, but got {len(shape)}-dimensional input of size "
        f"{shape} instead",
        "Filters have as many dimensions as a batch: filters, channels, then what the kernel moves along.",
    )
    refuse_if(
        w[0] < groups,
        f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size {w} instead",
        "Every group needs at least one filter.",
    )
    refuse_if(
        w[0] % groups,
        f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
        f"[{w}] instead",
        "The filters are shared out evenly over the groups.",
    )
    channels, filters = (w[0], w[1] * groups) if transposed else (w[1] * groups, w[0])
    given = "transposed=1" if transposed else f"groups={groups}"
    refuse_if(
        shape[1] != channels,
        f"Given {given}, weight of size {w}, expected input{shape} to have {channels} channels, but got {shape[1]} channels "
        "instead",
        "Dimension 1 of the input counts its channels, and the layer was made for another number of them.",
    )
    if bias is not None:
        refuse_if(
            tuple(bias.shape) != (filters,),
            f"Given {'transposed=1, ' * transposed}weight of size {w}, expected bias to be 1-dimensional with {filters} elements, "
            f"but got bias of size {list(bias.shape)} instead",
            "One number per output channel is added.",
        )
    if transposed:
        return
    padded = [n + 2 * p for n, p in zip(shape[2:], padding)]
    extent = [d * (k - 1) + 1 for k, d in zip(w[2:], dilation)]
    refuse_if(
        any(p < e for p, e in zip(padded, extent)),
        f"Calculated padded input size per channel: ({_by(padded)}). Kernel size: ({_by(extent)}). Kernel size can't be greater "
        "than actual input size",
        "Use a smaller kernel or more padding, or do less pooling before this layer.",
    )
    refuse_if(
        0 in shape[2:],
        f"Only zero batch or zero channel inputs are supported, but got input shape: {shape}",
        "The image is empty.",
    )


def _check_dtypes(input, weight, bias):
    if bias is not None:
        refuse_if(
            input.dtype is not bias.dtype,
            f"Input type ({input.dtype.cpp_name}) and bias type ({bias.dtype.cpp_name}) should be the same",
            "Convert the input with .float(), or the module with .to(dtype).",
        )
    refuse_if(
        input.dtype is not weight.dtype,
        f"expected scalar type {input.dtype.short} but found {weight.dtype.short}",
        "Input and weight need one dtype: convert the input with .float(), or the module with .to(dtype).",
    )


def _check_transposed(input, weight, stride, padding, dilation, output_padding):
    given = {"output_padding": output_padding, "stride": stride, "dilation": dilation}
    axes = ("height", "width")[-len(stride) :]
    text = " ".join(f"{k}_{a}: {v}" for k, values in given.items() for a, v in zip(axes, values))
    refuse_if(
        any(extra >= max(s, d) for extra, s, d in zip(output_padding, stride, dilation)),
        f"output padding must be smaller than either stride or dilation, but got {text}",
        "output_padding chooses among the sizes that a strided convolution maps to the same size.",
    )
    spatial = input.shape[2:]
    out = output_size(spatial, weight.shape[2:], stride, padding, dilation, True, output_padding)
    refuse_if(
        min(out) < 1,
        f"Given input size per channel: ({_by(spatial)}). Calculated output size per channel: ({_by(out)}). Output size is "
        "too small",
        "Padding is cut off from the result of a transposed convolution; use less of it.",
    )


_passed = Passed()


def _convolved(name, dims, input, weight, bias, *given, transposed=False):
    """Check the arguments in PyTorch's order, then run the op; an input without batch dimension gets one for the op.

    given: stride, padding, dilation, groups, output_padding."""
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
    stride, padding, dilation, groups, output_padding = given
    refuse_if(
        input.ndim not in (dims + 1, dims + 2),
        f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: {list(input.shape)}",
        "The dimensions are samples, channels, then what the kernel moves along.",
    )
    batched = input.ndim == dims + 2
    if not batched:
        input = unsqueeze.call(input, 0)
    n = weight.ndim - 2
    refuse_if(
        n < 1,
        "weight should have at least three dimensions",
        "Filters are (filters, channels, then what the kernel moves along).",
    )
    stride, dilation = _numbers("stride", stride, dims, n), _numbers("dilation", dilation, dims, n)
    valid = padding == "valid"
    if isinstance(padding, str):
        input, padding = _named_padding(input, weight, stride, padding, dilation)
    padding = _numbers("padding", padding, dims, n)
    output_padding = _numbers("output_padding", output_padding, dims, n)
    _check_numbers(stride, padding, dilation, output_padding, groups)
    _check_shapes(input, weight, bias, padding, dilation, transposed, groups)
    height, width = (1, *weight.shape[2:])[-2:]
    refuse_if(
        0 in weight.shape[2:],
        f"kernel size should be greater than zero, but got kernel_height: {height} kernel_width: {width}",
        "A kernel of size 0 sees nothing.",
    )
    if not transposed and not input.shape[1]:
        # of no channels there is nothing to add up; PyTorch gives a result without channels, whatever the filters
        out = output_size(input.shape[2:], weight.shape[2:], stride, padding, dilation)
        shape = *(input.shape[:1] if batched else ()), 0, *out
        return (input.reshape(-1) * weight.reshape(-1)).reshape(shape)
    _check_dtypes(input, weight, bias)
    if transposed:
        _check_transposed(input, weight, stride, padding, dilation, output_padding)
    if valid:
        padding = output_padding = (0,)
    settings = stride, padding, dilation, transposed, output_padding, groups
    if batched and not valid:
        _passed.keep(given, about, settings)
    y = convolution_op.call(input, weight, bias, *settings)
    return y if batched else y.squeeze(0)


# -- public functions --------------------------------------------------------------------------------------------------
def _public(f):
    """Put the function into `torch.nn.functional`, and under the same name into `torch`."""
    return composite()(composite(namespace="nn.functional")(f))


@_public
def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Return the cross-correlation of sequences (N, C, L) with filters (O, C / groups, K): (N, O, L'); without N too.

    L' = floor((L + 2 padding - dilation (K - 1) - 1) / stride) + 1; padding may be 'valid' or 'same'. Raises
    RuntimeError when sizes, channels or dtypes do not fit. Source: torch.nn.functional.conv1d."""
    return _convolved("conv1d", 1, input, weight, bias, stride, padding, dilation, groups, 0)


@_public
def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Return the cross-correlation of images (N, C, H, W) with filters (O, C / groups, KH, KW): (N, O, H', W'); without
    N too.

    H' = floor((H + 2 padding - dilation (KH - 1) - 1) / stride) + 1; padding may be 'valid' or 'same'. Raises
    RuntimeError when sizes, channels or dtypes do not fit. Source: torch.nn.functional.conv2d."""
    return _convolved("conv2d", 2, input, weight, bias, stride, padding, dilation, groups, 0)


def _transposed_function(name, dims, doc):
    def call(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        given = stride, padding, dilation, groups, output_padding
        return _convolved(name, dims, input, weight, bias, *given, transposed=True)

    call.__doc__ = f"""Return the adjoint of {doc}

    L' = (L - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1 for each size. Raises RuntimeError when
    sizes, channels or dtypes do not fit. Source: torch.nn.functional.{name}."""
    composite(name)(composite(name, namespace="nn.functional")(call))


_transposed_function(
    "conv_transpose1d", 1, "`conv1d`: (N, C, L) and (C, O / groups, K) give (N, O, L')."
)
_transposed_function(
    "conv_transpose2d", 2, "`conv2d`: (N, C, H, W) and (C, O / groups, KH, KW) give (N, O, H', W')."
)
