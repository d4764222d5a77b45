"""Batch, layer and group normalisation. The kernels are in `engine/kernels/normalization.py`.

Each op has one rule per argument, composed of other ops, for derivatives of every order. For an ordinary backward pass
it has one function that computes all gradients in one pass over the memory. Sources: Ioffe and Szegedy, "Batch
Normalization" (2015); Ba, Kiros and Hinton, "Layer Normalization" (2016); Wu and He, "Group Normalization" (2018).
"""

from __future__ import annotations

import math

import numpy as np

from ..core import namespaces
from ..core.errors import fail
from ..exact.dtype_errors import not_implemented
from ..exact.refusals import check_dim
from ..kernels import normalization as kernels
from .checks import refuse_if
from .functions import METHODS, composite, internal


def _norm(schema, **record):
    """Register a normalisation with three results: the output, the subtracted means, and the scale factors."""
    return internal(
        schema,
        outputs=("result", "result1", "result2"),
        nondiff=("result1", "result2"),
        latex=r"\frac{{input} - \mu}{\sqrt{\sigma^2 + {eps}}} \cdot {weight} + {bias}",
        **record,
    )


def _gradients_latex(of_input):
    return {
        "input": of_input,
        "weight": r"\sum_{\text{positions}} {g} \cdot \hat x",
        "bias": r"\sum_{\text{positions}} {g}",
    }


# -- layouts -----------------------------------------------------------------------------------------------------------
def _over_channels(view):
    """Return all dimensions except the channels, which are the second one."""
    return (0, *range(2, len(view)))


def _of_layer(normalized_shape):
    """Return the layouts of a layer normalisation: the shape `rows` and the dimensions to standardize over, and the
    shape `view` whose second dimension matches the weights."""
    n = math.prod(normalized_shape)
    return (-1, n), (1,), (-1, n)


def _of_groups(N, C, HxW, group):
    return (N * group, C // group * HxW), (1,), (N, C, HxW)


def _of_batch(x):
    return tuple(x.shape), _over_channels(x.shape), tuple(x.shape)


def _per_channel(m, v, view):
    return m.reshape_raw(v, (1, -1) + (1,) * (len(view) - 2))


# -- rules -------------------------------------------------------------------------------------------------------------
def _standardized(m, x, eps, rows, axes, view):
    """Return (x - mean) / sqrt(variance + eps) and 1 / sqrt(variance + eps) in the shape `rows`; both are
    differentiable."""
    x = m.reshape_raw(x, rows)
    centred = x - m.mean(x, axes, True)
    inverse = m.rsqrt(m.mean(centred * centred, axes, True) + eps)
    return centred * inverse, inverse


def _weighted(m, g, weight, view):
    g = m.reshape_raw(g[0], view)
    return g if weight is None else g * _per_channel(m, weight, view)


def _input_rule(m, g, input, weight, eps, rows, axes, view):
    g = m.reshape_raw(_weighted(m, g, weight, view), rows)
    standard, inverse = _standardized(m, input, eps, rows, axes, view)
    dx = inverse * (g - m.mean(g, axes, True) - standard * m.mean(g * standard, axes, True))
    return m.reshape_raw(dx, tuple(input.shape))


def _summed(m, g, shape, rows, axes, view, standard=None):
    """Return the gradient of the bias, or of the weight that multiplies the `standard` values."""
    g = m.reshape_raw(g[0], view)
    g = g if standard is None else g * m.reshape_raw(standard, view)
    return m.reshape_raw(m.sum(g, _over_channels(view)), shape)


def _weight_rule(m, g, input, eps, shape, *layout):
    return _summed(m, g, shape, *layout, _standardized(m, input, eps, *layout)[0])


# -- kernels -----------------------------------------------------------------------------------------------------------
def _as_float32(array):
    """Return `array` (or None), with float16 converted to float32."""
    half = array is not None and array.dtype.itemsize == 2
    return array.astype(np.float32) if half else array


def _check_floats(name, x):
    if x.dtype.kind != "f":
        raise not_implemented(name, x.dtype)


def _standard_rows(xp, x, weight, bias, eps, rows, axes, view):
    """Standardize rows; return (result, mean, inverse of the standard deviation)."""
    m = namespaces.raw(xp)
    y = xp.ascontiguousarray(_as_float32(x)).reshape(rows)
    y, mean, _, inverse = kernels.standardize(y, None, None, eps)
    y = y.reshape(view)
    if weight is not None:
        y *= _per_channel(m, weight, view)
    if bias is not None:
        y += _per_channel(m, bias, view)
    return y.reshape(x.shape).astype(x.dtype, copy=False), mean, inverse


def _row_gradients(m, g, wanted, input, weight, mean, inverse, shape, rows, axes, view):
    """Return the gradients of input, weight and bias for standardized rows. shape: the shape of the weight."""
    xp, dx, dweight, dbias = m.xp, None, None, None
    g, x = (xp.ascontiguousarray(_as_float32(a)) for a in (g[0], input))
    g, x = g.reshape(view), x.reshape(rows)
    mean, inverse = mean.reshape(-1), inverse.reshape(-1)
    if wanted[0]:
        weighted = g if weight is None else g * _per_channel(m, _as_float32(weight), view)
        dx = kernels.standardize_backward(weighted.reshape(x.shape), x, mean, inverse, None)[0]
        dx = dx.reshape(input.shape).astype(input.dtype, copy=False)
    if wanted[1]:
        standard = ((x - mean[:, None]) * inverse[:, None]).reshape(view)
        letters = "ncs"[: g.ndim]
        dweight = xp.einsum(f"{letters},{letters}->c", g, standard).reshape(shape)
    if wanted[2]:
        dbias = xp.add.reduce(g, axis=_over_channels(view)).reshape(shape)
    return dx, dweight, dbias


# -- batch norm --------------------------------------------------------------------------------------------------------
def _batch_norm(xp, x, weight, bias, running_mean, running_var, training, momentum, eps):
    _check_floats("batch_norm", x)
    rows = kernels.channel_rows(_as_float32(x))
    mean = inverse = xp.empty(0, rows.dtype)
    changes = ()
    if not training:
        scale = 1 / xp.sqrt(running_var + running_var.dtype.type(eps))
        scale = scale if weight is None else scale * weight
        shift = -running_mean * scale if bias is None else bias - running_mean * scale
        rows = kernels.scaled(rows, scale.astype(rows.dtype), shift.astype(rows.dtype))
    else:
        count = rows.shape[1]
        rows, mean, variance, inverse = kernels.standardize(rows, weight, bias, eps)
        variance = variance * variance.dtype.type(count / (count - 1) if count > 1 else math.nan)
        # These are the terms of (1 - momentum) * running + momentum * new, as PyTorch's kernel computes it.
        changes = [
            None if old is None else old.dtype.type(momentum) * (new.astype(old.dtype) - old)
            for old, new in ((running_mean, mean), (running_var, variance))
        ]
    result = kernels.from_channel_rows(rows, x.shape).astype(x.dtype, copy=False)
    # Update only now, when nothing can run out of memory any more.
    for running, change in zip((running_mean, running_var), changes):
        if change is not None:
            running += change
    return result, mean, inverse


def _inverse(m, x, running_var, eps):
    return m.rsqrt(_per_channel(m, running_var, x.shape) + eps)


def _batch_input(m, g, input, weight, running_mean, running_var, training, eps):
    if training:
        return _input_rule(m, g, input, weight, eps, *_of_batch(input))
    return _weighted(m, g, weight, tuple(input.shape)) * _inverse(m, input, running_var, eps)


def _batch_weight(m, g, input, running_mean, running_var, training, eps):
    if training:
        return _weight_rule(m, g, input, eps, (-1,), *_of_batch(input))
    centred = input - _per_channel(m, running_mean, input.shape)
    standard = centred * _inverse(m, input, running_var, eps)
    return _summed(m, g, (-1,), *_of_batch(input), standard)


def _batch_fused(
    m, g, wanted, *, input, weight, running_mean, running_var, training, eps, result1, result2
):
    if not training:
        fixed = running_mean, running_var, training, eps
        return (
            _batch_input(m, g, input, weight, *fixed) if wanted[0] else None,
            _batch_weight(m, g, input, *fixed) if wanted[1] else None,
            _summed(m, g, (-1,), *_of_batch(input)) if wanted[2] else None,
        )
    rows, arrived = (kernels.channel_rows(_as_float32(a)) for a in (input, g[0]))
    dx, product, total = kernels.standardize_backward(
        arrived, rows, result1, result2, _as_float32(weight), wanted[0]
    )
    if wanted[0]:
        dx = kernels.from_channel_rows(dx, input.shape).astype(input.dtype, copy=False)
    return dx, product if wanted[1] else None, total if wanted[2] else None


batch_norm_op = _norm(
    "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
    "Tensor? running_var, bool training, float momentum, float eps)",
    forward=_batch_norm,
    fused=_batch_fused,
    vjp={
        "input": _batch_input,
        "weight": _batch_weight,
        "bias": lambda m, g, input: _summed(m, g, (-1,), *_of_batch(input)),
    },
    also_saves=(
        *("input", "weight", "running_mean", "running_var", "training", "eps"),
        *("result1", "result2"),
    ),
    vjp_latex=_gradients_latex(
        r"\frac{{weight}}{\sqrt{\sigma^2 + {eps}}} \cdot ({g} - \mathrm{mean}({g}) - \hat x \cdot \mathrm{mean}({g} \cdot \hat x))"
    ),
    samples=lambda s: [
        (s.randn(3, 2), s.randn(2), s.randn(2), None, None, True, 0.1, 1e-5),
        (s.randn(2, 2, 3), s.randn(2), None, None, None, True, 0.1, 1e-3),
        (s.randn(2, 3, 2, 2), s.randn(3), s.randn(3), s.randn(3), s.positive(3), False, 0.1, 1e-5),
    ],
)


# Multiply {g} by {weight} first, because a mean runs over several weights.
_WEIGHTED = (
    r"\frac{1}{\sqrt{\sigma^2 + {eps}}} \cdot "
    r"({g} \cdot {weight} - \mathrm{mean}({g} \cdot {weight}) - \hat x \cdot \mathrm{mean}({g} \cdot {weight} \cdot \hat x))"
)


# -- layer norm --------------------------------------------------------------------------------------------------------
def _layer_norm(xp, x, normalized_shape, weight, bias, eps):
    _check_floats("LayerNormKernelImpl", x)
    y, *rest = _standard_rows(xp, x, weight, bias, eps, *_of_layer(normalized_shape))
    ones = (1,) * len(normalized_shape)
    return y, *(a.reshape((*x.shape[: x.ndim - len(ones)], *ones)) for a in rest)


layer_norm_op = _norm(
    "native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps)",
    forward=_layer_norm,
    fused=lambda m, g, wanted, *, input, normalized_shape, weight, eps, result1, result2, bias: (
        _row_gradients(
            *(m, g, wanted, input, weight, result1, result2, normalized_shape),
            *_of_layer(normalized_shape),
        )
    ),
    vjp={
        "input": lambda m, g, input, normalized_shape, weight, eps: _input_rule(
            m, g, input, weight, eps, *_of_layer(normalized_shape)
        ),
        "weight": lambda m, g, input, normalized_shape, eps: _weight_rule(
            m, g, input, eps, normalized_shape, *_of_layer(normalized_shape)
        ),
        "bias": lambda m, g, normalized_shape: _summed(
            m, g, normalized_shape, *_of_layer(normalized_shape)
        ),
    },
    also_saves=("input", "normalized_shape", "weight", "eps", "result1", "result2", "bias"),
    hidden=("eps",),
    vjp_latex=_gradients_latex(_WEIGHTED),
    samples=lambda s: [
        (s.randn(2, 2, 3), (2, 3), None, None, 1e-5),
        (s.randn(4), (4,), s.randn(4), s.randn(4), 1e-5),
    ],
)


# -- group norm --------------------------------------------------------------------------------------------------------
def _group_norm(xp, x, weight, bias, N, C, HxW, group, eps):
    _check_floats("GroupNormKernelImpl", x)
    y, *rest = _standard_rows(xp, x, weight, bias, eps, *_of_groups(N, C, HxW, group))
    return y, *(a.reshape(N, group) for a in rest)


group_norm_op = _norm(
    "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps)",
    forward=_group_norm,
    fused=lambda m, g, wanted, *, input, weight, N, C, HxW, group, eps, result1, result2: (
        _row_gradients(
            m, g, wanted, input, weight, result1, result2, (C,), *_of_groups(N, C, HxW, group)
        )
    ),
    vjp={
        "input": lambda m, g, input, weight, N, C, HxW, group, eps: _input_rule(
            m, g, input, weight, eps, *_of_groups(N, C, HxW, group)
        ),
        "weight": lambda m, g, input, N, C, HxW, group, eps: _weight_rule(
            m, g, input, eps, (C,), *_of_groups(N, C, HxW, group)
        ),
        "bias": lambda m, g, N, C, HxW, group: _summed(m, g, (C,), *_of_groups(N, C, HxW, group)),
    },
    also_saves=("input", "weight", "N", "C", "HxW", "group", "eps", "result1", "result2"),
    vjp_latex=_gradients_latex(_WEIGHTED),
    samples=lambda s: [
        (s.randn(2, 4, 3), s.randn(4), s.randn(4), 2, 4, 3, 2, 1e-5),
        (s.randn(1, 2, 2, 2), None, None, 1, 2, 4, 1, 1e-5),
    ],
)


# -- public functions --------------------------------------------------------------------------------------------------
def _check_one_dtype(input, *others):
    """Raise PyTorch's error for two different dtypes; float16 input may have float32 parameters."""
    dtypes = {v.dtype for v in others if v is not None} - {input.dtype}
    half = input.dtype.itemsize == 2 and {d.name for d in dtypes} == {"float32"}
    note = "Convert the input with .float(), or the module with .to(dtype)."
    refuse_if(dtypes and not half, "mixed dtype (CPU): all inputs must share same datatype.", note)


def batch_normalized(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """Return the op's result, after PyTorch's checks. If `training`, the running statistics are updated in place."""
    if input.ndim < 2:
        check_dim(1, input.ndim)
    features = input.shape[1]
    for name, value in {
        "running_mean": running_mean,
        "running_var": running_var,
        "weight": weight,
        "bias": bias,
    }.items():
        if value is None:
            note = "Without training=True the running statistics are used."
            refuse_if(
                name.startswith("running") and not training,
                f"{name} must be defined in evaluation mode",
                note,
            )
        elif value.numel() != features:
            message = f"{name} should contain {features} elements not {value.numel()}"
            note = f"One number per channel: dimension 1 of the input has {features}."
            raise fail(RuntimeError, message, note)
    if input.dtype.is_floating_point:
        _check_one_dtype(input, weight, bias, running_mean, running_var)
    if not input.numel():
        return METHODS["clone"](input)
    given = running_mean, running_var, training, momentum, eps
    return batch_norm_op.call(input, weight, bias, *given)[0]


@composite()
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Return (input - mean) / sqrt(variance + eps) * weight + bias over the last dimensions, whose sizes are
    `normalized_shape`.

    Raise RuntimeError if the shapes do not match. Source: torch.nn.functional.layer_norm."""
    shape = [normalized_shape] if isinstance(normalized_shape, int) else [*normalized_shape]
    refuse_if(
        not shape,
        "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
        "normalized_shape = []",
        "Name the sizes of the dimensions that are normalised together.",
    )
    for name, value in (("weight", weight), ("bias", bias)):
        refuse_if(
            value is not None and list(value.shape) != shape,
            f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
            f"{list(value.shape) if value is not None else ''} and normalized_shape = {shape}",
            "There is one number per normalised element.",
        )
    refuse_if(
        list(input.shape[max(0, input.ndim - len(shape)) :]) != shape,
        f"Given normalized_shape={shape}, expected input with shape [*, {', '.join(map(str, shape))}], but got input of size"
        f"{list(input.shape)}",
        "The last dimensions are normalised; their sizes are given when the layer is made.",
    )
    _check_one_dtype(input, weight, bias)
    return layer_norm_op.call(input, tuple(shape), weight, bias, eps)[0]


@composite()
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Normalise each sample's channels in `num_groups` groups, each with its own mean and variance.

    Raise RuntimeError if the channels cannot be divided evenly. Source: torch.nn.functional.group_norm."""
    refuse_if(
        input.ndim < 2,
        f"Expected at least 2 dimensions for input tensor but received {input.ndim}",
        "The channels must be dimension 1 of the input.",
    )
    sizes = list(input.shape)
    refuse_if(
        sizes[1] % num_groups,
        f"Expected number of channels in input to be divisible by num_groups, but got input of shape {sizes} and num_groups={num_groups}",
        "The number of channels must be divisible by the number of groups.",
    )
    for name, value in (("weight", weight), ("bias", bias)):
        refuse_if(
            value is not None and list(value.shape) != sizes[1:2],
            f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
            f"{list(value.shape) if value is not None else ''} and input of shape {sizes}",
            "There is one number per channel.",
        )
    _check_one_dtype(input, weight, bias)
    sizes = *sizes[:2], math.prod(sizes[2:]), num_groups
    return group_norm_op.call(input, weight, bias, *sizes, eps)[0]
