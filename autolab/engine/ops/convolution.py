"""Convolution and transposed convolution in one and two dimensions.

One op, `convolution`, implements all of them, as in PyTorch. The op and its two adjoints (with respect to the input,
with respect to the weight) are closed under differentiation: the rule of each uses the other two, so derivatives of
every order exist. The kernels are in `engine/kernels/convolution.py`. Sources:
https://docs.pytorch.org/docs/2.13/nn.functional.html#convolution-functions; Dumoulin and Visin, "A guide to convolution
arithmetic for deep learning" (2016).
"""

from __future__ import annotations

import numpy as np

from ..core.grad_mode import per_thread
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
    """Return the sizes of the result, for the sizes of the input and the kernel (tuples of equal length)."""
    if transposed:
        sizes = zip(spatial, kernel, stride, padding, dilation, output_padding)
        return tuple((n - 1) * s - 2 * p + d * (k - 1) + more + 1 for n, k, s, p, d, more in sizes)
    sizes = zip(spatial, kernel, stride, padding, dilation)
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes)


def geometry(
    input_shape,
    weight_shape,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
):
    """Return the sizes of a convolution. For a transposed convolution, return the sizes of the ordinary convolution
    whose adjoint it is."""
    spatial, kernel = tuple(input_shape[2:]), tuple(weight_shape[2:])
    other = output_size(spatial, kernel, stride, padding, dilation, transposed, output_padding)
    size, out = (other, spatial) if transposed else (spatial, other)
    return Geometry(size, out, kernel, stride, padding, dilation, groups)


def _run_on_images(xp, kernel, geo, *arrays):
    """Return `kernel(*arrays, geometry)`. Sequences become images of width 1, so that their rows can be cut into
    blocks; float16 is computed in float32, as in PyTorch."""
    d = arrays[0].dtype
    if d.itemsize == 2 and d.kind == "f":
        arrays = [None if a is None else a.astype(np.float32) for a in arrays]
    sequence = len(geo.size) == 1
    if sequence:
        arrays = [a[..., None] if a is not None and a.ndim == 3 else a for a in arrays]
        sizes = geo.size, geo.out, geo.kernel, geo.stride, geo.padding, geo.dilation
        widths = 1, 1, 1, 1, 0, 1
        geo = Geometry(*((*n, width) for n, width in zip(sizes, widths)), geo.groups)
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
    return _run_on_images(xp, _transposed if transposed else kernels.forward, geo, x, weight, bias)


def _for_input(m, g, input, weight, stride, padding, dilation, transposed, output_padding, groups):
    settings = stride, padding, dilation, transposed, output_padding, groups
    gradient = m.convolution_apply if transposed else m.convolution_grad_input
    return gradient(g, weight, geometry(input.shape, weight.shape, *settings))


def _for_weight(m, g, input, weight, stride, padding, dilation, transposed, output_padding, groups):
    settings = stride, padding, dilation, transposed, output_padding, groups
    pair = (input, g) if transposed else (g, input)
    return m.convolution_grad_weight(*pair, geometry(input.shape, weight.shape, *settings))


def _gradients(m, g, wanted, *, input, weight, bias_sym_sizes_opt, **sizes):
    """Return the gradients of a convolution on raw arrays. The gradients of the input and of the weight are computed at
    the same time."""
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
    whole = s.randn(1, 4, 5, 5), s.randn(2, 2, 3, 3), s.randn(2)
    transposed = s.randn(1, 2, 3), s.randn(2, 3, 3), None
    return [
        (*whole, (2, 1), (1, 2), (1, 2), False, (0, 0), 2),
        (*transposed, (2,), (1,), (1,), True, (1,), 1),
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


# -- the op and its adjoints for a given geometry ----------------------------------------------------------------------
def _register_bilinear(name, kernel, first, second, **vjp):
    """Register one of the three bilinear maps of the input, the weight and the result's gradient."""
    internal(
        f"convolution_{name}(Tensor {first}, Tensor {second}, object geometry)",
        forward=lambda xp, a, b, geo: _run_on_images(xp, kernel, geo, a, b),
        node="ConvolutionBackwardBackward0",
        vjp=vjp,
    )


_register_bilinear(
    "apply",
    lambda x, weight, geo: kernels.forward(x, weight, None, geo),
    "input",
    "weight",
    input=rule("convolution_grad_input", "weight", "geometry"),
    weight=rule("convolution_grad_weight", "input", "geometry"),
)
_register_bilinear(
    "grad_input",
    kernels.grad_input,
    "grad_output",
    "weight",
    grad_output=rule("convolution_apply", "weight", "geometry"),
    weight=lambda m, g, grad_output, geometry: m.convolution_grad_weight(grad_output, g, geometry),
)
_register_bilinear(
    "grad_weight",
    kernels.grad_weight,
    "grad_output",
    "input",
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
)


# -- arguments ---------------------------------------------------------------------------------------------------------
def _numbers(name, value, n):
    """Return `value` as a tuple of `n` ints; a single number applies to every spatial dimension."""
    values = (value,) if value.__class__ is int else tuple(value)
    refuse_if(
        len(values) not in (1, n),
        f"expected {name} to be a single integer value or a list of {n} values to match the convolution dimensions, but got "
        f"{name}={list(values)}",
        "Give one number, or one per dimension that the kernel moves along.",
    )
    least = 0 if "padding" in name else 1
    refuse_if(
        min(values) < least,
        f"{'non-positive' if least else 'negative'} {name} is not supported",
        f"{name} is {list(values)}.",
    )
    return values * n if len(values) == 1 else values


def _named_padding(input, kernel, stride, padding, dilation):
    """Return (input, padding) for 'valid' and 'same'. For an odd total, the end is padded first, as in PyTorch."""
    if padding == "valid":
        return input, 0
    message = f"Invalid padding string: '{padding}'"
    refuse_if(padding != "same", message, "It is 'same', 'valid', or a number of rows and columns.")
    message = "padding='same' is not supported for strided convolutions"
    refuse_if(max(stride) > 1, message, "A stride makes the output smaller than the input.")
    totals = [d * (k - 1) for k, d in zip(kernel, dilation)]
    if any(t % 2 for t in totals):
        more = tuple(n for t in reversed(totals) for n in (0, t % 2))
        input = NAMESPACES["nn.functional"]["pad"](input, more)
    return input, [t // 2 for t in totals]


def _check(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """Raise PyTorch's error for sizes, channels or dtypes that do not match."""
    shape, w = list(input.shape), list(weight.shape)
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
    refuse_if(
        bias is not None and tuple(bias.shape) != (filters,),
        f"Given {'transposed=1, ' * transposed}weight of size {w}, expected bias to be 1-dimensional with {filters} elements, "
        f"but got bias of size {list(getattr(bias, 'shape', ()))} instead",
        "One number per output channel is added.",
    )
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
    pairs = zip(output_padding, stride, dilation)
    refuse_if(
        any(extra >= max(s, d) for extra, s, d in pairs),
        f"output padding must be smaller than either stride or dilation, but got output_padding {output_padding}, stride "
        f"{stride}, dilation {dilation}",
        "output_padding chooses among the sizes that a strided convolution maps to the same size.",
    )
    by = lambda sizes: " x ".join(map(str, sizes))
    out = output_size(shape[2:], w[2:], stride, padding, dilation, transposed, output_padding)
    padded = [n + 2 * p for n, p in zip(shape[2:], padding)]
    extent = [d * (k - 1) + 1 for k, d in zip(w[2:], dilation)]
    message = (
        f"Given input size per channel: ({by(shape[2:])}). Calculated output size per channel: ({by(out)}). Output size is "
        "too small"
        if transposed
        else f"Calculated padded input size per channel: ({by(padded)}). Kernel size: ({by(extent)}). Kernel size can't be "
        "greater than actual input size"
    )
    note = "Use a smaller kernel or other padding, or do less pooling before this layer."
    refuse_if(min(out) < 1, message, note)


_passed = Passed()


def _check_and_convolve(name, n, input, weight, bias, *given, transposed=False):
    """Check the arguments in PyTorch's order, then run the op. An input without a batch dimension gets one for the op.

    given: stride, padding, dilation, groups, output_padding."""
    if (casting := per_thread.state.autocast) is not None:
        input, weight, bias = casting.lowered(input, weight, bias)
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
        input.ndim not in (n + 1, n + 2),
        f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of size: {list(input.shape)}",
        "The input has the shape (samples, channels, *sizes); the sample dimension may be left out.",
    )
    refuse_if(
        weight.ndim != n + 2 or 0 in weight.shape,
        f"{name} expects weight with {n + 2} dimensions, none of size 0, but got weight of size {list(weight.shape)}",
        "The weight has the shape (filters, channels, *kernel size).",
    )
    batched = input.ndim == n + 2
    if not batched:
        input = unsqueeze.call(input, 0)
    stride, dilation = _numbers("stride", stride, n), _numbers("dilation", dilation, n)
    named = isinstance(padding, str)
    if named:
        input, padding = _named_padding(input, weight.shape[2:], stride, padding, dilation)
    padding = _numbers("padding", padding, n)
    output_padding = _numbers("output_padding", output_padding, n)
    _numbers("groups", groups, 1)
    settings = stride, padding, dilation, transposed, output_padding, groups
    _check(input, weight, bias, *settings)
    if batched and not named:
        _passed.keep(given, about, settings)
    y = convolution_op.call(input, weight, bias, *settings)
    return y if batched else y.squeeze(0)


# -- public functions --------------------------------------------------------------------------------------------------
def _public(name, n, shapes):
    """Make a convolution over `n` dimensions, and its adjoint, public in `torch` and `torch.nn.functional`."""

    def convolve(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        return _check_and_convolve(
            name, n, input, weight, bias, stride, padding, dilation, groups, 0
        )

    def transpose(
        input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1
    ):
        given = stride, padding, dilation, groups, output_padding
        return _check_and_convolve(adjoint, n, input, weight, bias, *given, transposed=True)

    adjoint = name.replace("conv", "conv_transpose")
    convolve.__doc__ = f"""Return the cross-correlation of {shapes}; without N too.

    L' = floor((L + 2 padding - dilation (K - 1) - 1) / stride) + 1 for each size; padding may be 'valid' or 'same'.
    Raise RuntimeError if sizes, channels or dtypes do not match. Source: torch.nn.functional.{name}."""
    transpose.__doc__ = f"""Return the adjoint of `{name}`: from the shape of its result to the shape of its input.

    L' = (L - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1 for each size. Raises RuntimeError when
    sizes, channels or dtypes do not fit. Source: torch.nn.functional.{adjoint}."""
    for public, function in ((name, convolve), (adjoint, transpose)):
        composite(public)(composite(public, namespace="nn.functional")(function))


_public("conv1d", 1, "sequences (N, C, L) with filters (O, C / groups, K): (N, O, L')")
_public("conv2d", 2, "images (N, C, H, W) with filters (O, C / groups, KH, KW): (N, O, H', W')")
