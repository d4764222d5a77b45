"""Batch, layer and group normalisation. The kernels are in `engine/kernels/normalization.py`.

Each op has one rule per argument, made of other ops, for derivatives of every order, and for the backward pass itself
one function that finds all gradients in the same pass over the memory. Sources: Ioffe and Szegedy, "Batch
Normalization" (2015); Ba, Kiros and Hinton, "Layer Normalization" (2016); Wu and He, "Group Normalization" (2018).
"""

from __future__ import annotations

import math

import numpy as np

from ..core.errors import fail
from ..exact.dtype_errors import not_implemented
from ..exact.refusals import check_dim
from ..kernels import normalization as kernels
from .functions import METHODS, composite, internal


def _norm(schema, **record):
    """Register a normalisation: its result, the means that it subtracted, and the factors that it multiplied with."""
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


# -- in rules ----------------------------------------------------------------------------------------------------------
def _standardized(m, x, axes, eps):
    """Return (x - mean) / sqrt(variance + eps) and 1 / sqrt(variance + eps), along `axes`, so that derivatives pass
    through both."""
    centred = x - m.mean(x, axes, True)
    inverse = m.rsqrt(m.mean(centred * centred, axes, True) + eps)
    return centred * inverse, inverse


def _through(m, g, x, axes, eps):
    """Return the gradient of x for a gradient g of the standardized x."""
    standard, inverse = _standardized(m, x, axes, eps)
    return inverse * (g - m.mean(g, axes, True) - standard * m.mean(g * standard, axes, True))


# -- in kernels --------------------------------------------------------------------------------------------------------
def _wide(*arrays):
    """Return these arrays, or None, with float16 as float32."""
    return [a.astype(np.float32) if a is not None and a.dtype.itemsize == 2 else a for a in arrays]


def _standard_rows(xp, x, count, n, eps, view, weight, bias):
    """Return (result, mean, inverse) of `count` rows of `n` numbers, standardized.

    view: the shape that weight and bias broadcast to. Where there are no numbers, nothing is computed."""
    wide = xp.ascontiguousarray(x, np.float32 if x.dtype.itemsize == 2 else None)
    y = wide.reshape(count, n)
    mean, inverse = xp.zeros(count, wide.dtype), xp.zeros(count, wide.dtype)
    if y.size:
        y, mean, _, inverse = kernels.standardize(y, None, None, eps)
    y = y.reshape(view)
    if weight is not None:
        y *= weight
    if bias is not None:
        y += bias
    return y.reshape(x.shape).astype(x.dtype, copy=False), mean, inverse


def _no_gradients(xp, input, wanted, shape):
    """Return the gradients with respect to an input without numbers, and to its weight and bias, which no number was
    multiplied with."""
    shapes = input.shape, shape, shape
    return tuple(xp.zeros(s, input.dtype) if w else None for s, w in zip(shapes, wanted))


def _row_gradients(xp, g, wanted, input, weight, mean, inverse, view, per, letters, shape):
    """Return the gradients of input, weight and bias for rows that were standardized.

    view: the shape in which weights are multiplied, per: the shape of the weight there. letters: how `einsum` sums over
    all but the weight's dimensions. shape: the shape of weight and bias."""
    if not input.size:
        return _no_gradients(xp, input, wanted, shape)
    d, (g, input) = input.dtype, _wide(g, input)
    mean, inverse = mean.reshape(-1), inverse.reshape(-1)
    rows, g = (
        xp.ascontiguousarray(input).reshape(len(mean), -1),
        xp.ascontiguousarray(g).reshape(view),
    )
    dx = dweight = dbias = None
    if wanted[0]:
        weighted = g if weight is None else g * weight.reshape(per).astype(g.dtype, copy=False)
        weighted = weighted.reshape(rows.shape)
        dx = kernels.standardize_backward(weighted, rows, mean, inverse, None)[0]
        dx = dx.reshape(input.shape).astype(d, copy=False)
    if wanted[1]:
        standard = ((rows - mean[:, None]) * inverse[:, None]).reshape(view)
        dweight = xp.einsum(letters, g, standard).reshape(shape)
    if wanted[2]:
        summed = tuple(k for k, letter in enumerate(letters[: g.ndim]) if letter != letters[-1])
        dbias = xp.add.reduce(g, axis=summed).reshape(shape)
    return dx, dweight, dbias


def _check_floats(name, x):
    if x.dtype.kind != "f":
        raise not_implemented(name, x.dtype)


# -- batch norm --------------------------------------------------------------------------------------------------------
def _batch_norm(xp, x, weight, bias, running_mean, running_var, training, momentum, eps):
    _check_floats("batch_norm", x)
    rows = kernels.channel_rows(*_wide(x))
    none, changes = xp.empty(0, rows.dtype), ()
    if not training:
        scale = 1 / xp.sqrt(running_var + running_var.dtype.type(eps))
        scale = scale if weight is None else scale * weight
        shift = -running_mean * scale if bias is None else bias - running_mean * scale
        rows = kernels.scaled(rows, scale.astype(rows.dtype), shift.astype(rows.dtype))
        mean = inverse = none
    else:
        count = rows.shape[1]
        rows, mean, variance, inverse = kernels.standardize(rows, weight, bias, eps)
        variance = variance * variance.dtype.type(count / (count - 1) if count > 1 else math.nan)
        # for (1 - momentum) * running + momentum * new, as PyTorch's kernel computes it
        changes = [
            None if old is None else old.dtype.type(momentum) * (new.astype(old.dtype) - old)
            for old, new in ((running_mean, mean), (running_var, variance))
        ]
    result = kernels.from_channel_rows(rows, x.shape).astype(x.dtype, copy=False)
    # now that nothing is left to run out of memory
    for running, change in zip((running_mean, running_var), changes):
        if change is not None:
            running += change
    return result, mean, inverse


def _channel_axes(x):
    return (0, *range(2, x.ndim))


def _per_channel(m, v, x):
    return m.reshape_raw(v, (1, -1) + (1,) * (x.ndim - 2))


def _batch_input(m, g, input, weight, running_mean, running_var, training, eps):
    g = g[0] if weight is None else g[0] * _per_channel(m, weight, input)
    if training:
        return _through(m, g, input, _channel_axes(input), eps)
    return g * m.rsqrt(_per_channel(m, running_var, input) + eps)


def _batch_weight(m, g, input, running_mean, running_var, training, eps):
    if training:
        standard = _standardized(m, input, _channel_axes(input), eps)[0]
    else:
        inverse = m.rsqrt(_per_channel(m, running_var, input) + eps)
        standard = (input - _per_channel(m, running_mean, input)) * inverse
    return m.sum(g[0] * standard, _channel_axes(input))


def _batch_fused(
    m, g, wanted, *, input, weight, running_mean, running_var, training, eps, result1, result2
):
    if not input.size:
        return _no_gradients(m.xp, input, wanted, input.shape[1:2])
    d, shape = input.dtype, input.shape
    if d.itemsize == 2:
        g, input, weight = _wide(g[0], input, weight)
    else:
        g = g[0]
    rows, g2 = kernels.channel_rows(input), kernels.channel_rows(g)
    if training:
        gradients = kernels.standardize_backward(g2, rows, result1, result2, weight, wanted[0])
    else:
        inverse = (1 / m.xp.sqrt(running_var + running_var.dtype.type(eps))).astype(rows.dtype)
        scale, mean = (
            inverse if weight is None else inverse * weight,
            running_mean.astype(rows.dtype),
        )
        gradients = kernels.fixed_backward(g2, rows, mean, scale, inverse, wanted[0])
    dx, product, total = gradients
    return (
        kernels.from_channel_rows(dx, shape).astype(d, copy=False) if wanted[0] else None,
        product if wanted[1] else None,
        total if wanted[2] else None,
    )


batch_norm_op = _norm(
    "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
    "Tensor? running_var, bool training, float momentum, float eps)",
    forward=_batch_norm,
    fused=_batch_fused,
    vjp={
        "input": _batch_input,
        "weight": _batch_weight,
        "bias": lambda m, g, input: m.sum(g[0], _channel_axes(input)),
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
        (s.randn(2, 3, 2, 2), None, None, None, None, True, 0.1, 1e-5),
        (s.randn(2, 2, 3), s.randn(2), None, None, None, True, 0.1, 1e-3),
        (s.randn(2, 3, 2, 2), s.randn(3), s.randn(3), s.randn(3), s.positive(3), False, 0.1, 1e-5),
        (s.randn(3, 2), None, None, s.randn(2), s.positive(2), False, 0.1, 1e-5),
    ],
)


# {g} times {weight} first, because a mean runs over several weights.
_WEIGHTED = (
    r"\frac{1}{\sqrt{\sigma^2 + {eps}}} \cdot "
    r"({g} \cdot {weight} - \mathrm{mean}({g} \cdot {weight}) - \hat x \cdot \mathrm{mean}({g} \cdot {weight} \cdot \hat x))"
)


# -- layer norm --------------------------------------------------------------------------------------------------------
def _layer_norm(xp, x, normalized_shape, weight, bias, eps):
    _check_floats("LayerNormKernelImpl", x)
    lead, n = x.shape[: x.ndim - len(normalized_shape)], math.prod(normalized_shape)
    y, *rest = _standard_rows(xp, x, math.prod(lead), n, eps, x.shape, weight, bias)
    return y, *(a.reshape((*lead, *(1,) * len(normalized_shape))) for a in rest)


def _last_axes(normalized_shape):
    return tuple(range(-len(normalized_shape), 0))


def _layer_input(m, g, input, normalized_shape, weight, eps):
    g = g[0] if weight is None else g[0] * weight
    return _through(m, g, input, _last_axes(normalized_shape), eps)


def _layer_bias(m, g, input, normalized_shape):
    axes = tuple(range(input.ndim - len(normalized_shape)))
    return m.sum(g[0], axes) if axes else g[0]


def _layer_weight(m, g, input, normalized_shape, eps):
    standard, _ = _standardized(m, input, _last_axes(normalized_shape), eps)
    return _layer_bias(m, (g[0] * standard,), input, normalized_shape)


def _layer_fused(m, g, wanted, *, input, normalized_shape, weight, eps, result1, result2, bias):
    n = math.prod(normalized_shape)
    view, per, letters = (-1, n), (-1,), "ij,ij->j"
    given = g[0], wanted, input, weight, result1, result2
    return _row_gradients(m.xp, *given, view, per, letters, normalized_shape)


layer_norm_op = _norm(
    "native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps)",
    forward=_layer_norm,
    fused=_layer_fused,
    vjp={"input": _layer_input, "weight": _layer_weight, "bias": _layer_bias},
    also_saves=("input", "normalized_shape", "weight", "eps", "result1", "result2", "bias"),
    hidden=("eps",),
    vjp_latex=_gradients_latex(_WEIGHTED),
    samples=lambda s: [
        (s.randn(2, 3), (3,), s.randn(3), s.randn(3), 1e-5),
        (s.randn(2, 2, 3), (2, 3), None, None, 1e-5),
        (s.randn(2, 2, 3), (3,), s.randn(3), None, 1e-3),
        (s.randn(4), (4,), s.randn(4), s.randn(4), 1e-5),
    ],
)


# -- group norm --------------------------------------------------------------------------------------------------------
def _group_norm(xp, x, weight, bias, N, C, HxW, group, eps):
    _check_floats("GroupNormKernelImpl", x)
    factors = (None if v is None else v.reshape(C, 1) for v in (weight, bias))
    view = N, C, HxW
    y, *rest = _standard_rows(xp, x, N * group, C // group * HxW, eps, view, *factors)
    return y, *(a.reshape(N, group) for a in rest)


def _grouped(m, x, N, group):
    return m.reshape_raw(x, (N, group, -1))


def _group_input(m, g, input, weight, N, C, HxW, group, eps):
    g = m.reshape_raw(g[0], (N, C, HxW))
    if weight is not None:
        g = g * m.reshape_raw(weight, (1, C, 1))
    rows = _grouped(m, input, N, group)
    return m.reshape_raw(_through(m, _grouped(m, g, N, group), rows, (2,), eps), tuple(input.shape))


def _group_weight(m, g, input, N, C, HxW, group, eps):
    standard, _ = _standardized(m, _grouped(m, input, N, group), (2,), eps)
    return m.sum(m.reshape_raw(g[0], (N, C, HxW)) * m.reshape_raw(standard, (N, C, HxW)), (0, 2))


def _group_fused(m, g, wanted, *, input, weight, N, C, HxW, group, eps, result1, result2):
    view, per, letters = (N, C, HxW), (C, 1), "ncs,ncs->c"
    given = g[0], wanted, input, weight, result1, result2
    return _row_gradients(m.xp, *given, view, per, letters, (C,))


group_norm_op = _norm(
    "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps)",
    forward=_group_norm,
    fused=_group_fused,
    vjp={
        "input": _group_input,
        "weight": _group_weight,
        "bias": lambda m, g, N, C, HxW: m.sum(m.reshape_raw(g[0], (N, C, HxW)), (0, 2)),
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
    """Raise PyTorch's error for two dtypes; float16 goes with parameters in float32."""
    dtypes = {v.dtype for v in others if v is not None} - {input.dtype}
    if dtypes and (input.dtype.itemsize != 2 or any(d.name != "float32" for d in dtypes)):
        message = "mixed dtype (CPU): all inputs must share same datatype."
        note = "Convert the input with .float(), or the module with .to(dtype)."
        raise fail(RuntimeError, message, note)


def _first(parameter):
    if not parameter.numel():
        message = f"select(): index 0 out of range for tensor of size {list(parameter.shape)} at dimension 0"
        note = "There are no samples, so instance_norm has repeated the parameters no times."
        raise fail(IndexError, message, note)
    return METHODS["select"](parameter, 0, 0)


def batch_normalized(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """Return the op's result, after PyTorch's checks. Statistics are updated in place when `training`."""
    if input.ndim < 2:
        check_dim(1, input.ndim)
    if not math.prod(input.shape):
        # PyTorch asks for nothing else here. The parameters get gradients of zero.
        out = METHODS["clone"](input)
        out = out if weight is None else out * _first(weight)
        return out if bias is None else out + _first(bias)
    statistics = {"running_mean": running_mean, "running_var": running_var}
    for name, value in statistics.items():
        if value is None and not training:
            message = f"{name} must be defined in evaluation mode"
            note = "Without training=True the running statistics are used."
            raise fail(RuntimeError, message, note)
    features = input.shape[1]
    for name, value in (statistics | {"weight": weight, "bias": bias}).items():
        if value is not None and value.numel() != features:
            message = f"{name} should contain {features} elements not {value.numel()}"
            note = f"One number per channel: dimension 1 of the input has {features}."
            raise fail(RuntimeError, message, note)
    if input.dtype.is_floating_point:
        _check_one_dtype(input, weight, bias, running_mean, running_var)
    given = running_mean, running_var, training, momentum, eps
    return batch_norm_op.call(input, weight, bias, *given)[0]


@composite()
def batch_norm(
    input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled
):
    """Batch norm with the arguments in the order of `torch.batch_norm`; see `nn.functional.batch_norm`."""
    return batch_normalized(input, weight, bias, running_mean, running_var, training, momentum, eps)


@composite()
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    """Return (input - mean) / sqrt(variance + eps) * weight + bias over the last dimensions, whose sizes are
    `normalized_shape`.

    Raises RuntimeError when shapes do not fit. Source: torch.nn.functional.layer_norm."""
    whole = isinstance(normalized_shape, int)
    shape = [normalized_shape] if whole else [int(n) for n in normalized_shape]
    message, note = "", "There is one number per normalised element."
    if not shape:
        message = (
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
        note = "Name the sizes of the dimensions that are normalised together."
    for name, value in (("weight", weight), ("bias", bias)):
        if not message and value is not None and list(value.shape) != shape:
            message = (
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(value.shape)} and "
                f"normalized_shape = {shape}"
            )
    if not message and list(input.shape[max(0, input.ndim - len(shape)) :]) != shape:
        message = (
            f"Given normalized_shape={shape}, expected input with shape [*, {', '.join(map(str, shape))}], but got input of size"
            f"{list(input.shape)}"
        )
        note = "The last dimensions are normalised; their sizes are given when the layer is made."
    if message:
        raise fail(RuntimeError, message, note)
    _check_one_dtype(input, weight, bias)
    return layer_norm_op.call(input, tuple(shape), weight, bias, eps)[0]


@composite()
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    """Return each sample's channels in `num_groups` groups, each normalised with its own mean and variance.

    Raises RuntimeError when the channels cannot be divided evenly. Source: torch.nn.functional.group_norm."""
    message, note = "", "There is one number per channel."
    N, C = (*input.shape[:2], 0, 0)[:2]
    if input.ndim < 2:
        message = f"Expected at least 2 dimensions for input tensor but received {input.ndim}"
        note = "Channels are dimension 1."
    elif C % num_groups:
        message = (
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
        note = "Groups have the same number of channels."
    for name, value in (("weight", weight), ("bias", bias)):
        if not message and value is not None and list(value.shape) != [C]:
            message = (
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{list(value.shape)} and input of shape {list(input.shape)}"
            )
    if message:
        raise fail(RuntimeError, message, note)
    _check_one_dtype(input, weight, bias)
    sizes = N, C, math.prod(input.shape[2:]), num_groups
    return group_norm_op.call(input, weight, bias, *sizes, eps)[0]
