"""Batch, layer and group normalisation. The kernels are in `engine/kernels/normalization.py`.

Each op has one rule per argument, made of other ops, for derivatives of every order, and for the backward pass itself
one function that finds all gradients in the same pass over the memory. Sources: Ioffe and Szegedy, "Batch
Normalization" (2015); Ba, Kiros and Hinton, "Layer Normalization" (2016); Wu and He, "Group Normalization" (2018).
"""

from __future__ import annotations

import math

import numpy as np

from ..core.dtype import FROM_NUMPY
from ..core.errors import fail
from ..kernels import normalization as kernels
from .functions import METHODS, composite, internal


def _inside(schema, **record):
    return internal(schema, **record)


def _refuse_integers(name, x):
    if x.dtype.kind != "f":
        raise fail(
            NotImplementedError,
            f"\"{name}\" not implemented for '{FROM_NUMPY[x.dtype].short}'",
            "Call .float() first.",
        )


def _standardized(m, x, axes, eps):
    """(x - mean) / sqrt(variance + eps) and 1 / sqrt(variance + eps), along `axes`, so that derivatives pass through
    both."""
    centred = x - m.mean(x, axes, True)
    inverse = m.rsqrt(m.mean(centred * centred, axes, True) + eps)
    return centred * inverse, inverse


def _through(m, g, x, axes, eps):
    """The gradient of x for a gradient g of the standardized x."""
    standard, inverse = _standardized(m, x, axes, eps)
    return inverse * (g - m.mean(g, axes, True) - standard * m.mean(g * standard, axes, True))


def _standard_rows(xp, x, count, n, eps):
    """(rows, mean, inverse) of `count` rows of `n` numbers, standardized; where there are no numbers, nothing is
    computed."""
    rows = x.reshape(count, n)
    if not rows.size:
        return rows, xp.zeros(count, x.dtype), xp.zeros(count, x.dtype)
    rows, mean, _, inverse = kernels.standardize(rows, None, None, eps)
    return rows, mean, inverse


def _no_gradients(xp, input, wanted, shape):
    """The gradients by an input without numbers and by its weight and bias, which no number was multiplied with."""
    zeros = [
        xp.zeros(input.shape, input.dtype),
        xp.zeros(shape, input.dtype),
        xp.zeros(shape, input.dtype),
    ]
    return tuple(z if w else None for z, w in zip(zeros, wanted))


# -- batch norm --------------------------------------------------------------------------------------------------------
def _change(running, new, momentum):
    """What to add to `running` for (1 - momentum) * running + momentum * new, as PyTorch's kernel computes it; None
    without one."""
    return (
        None
        if running is None
        else running.dtype.type(momentum) * (new.astype(running.dtype) - running)
    )


def _batch_norm(xp, x, weight, bias, running_mean, running_var, training, momentum, eps):
    _refuse_integers("batch_norm", x)
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    rows = kernels.channel_rows(wide)
    none, changes = xp.empty(0, rows.dtype), ()
    if not training:
        scale = 1 / xp.sqrt(running_var + running_var.dtype.type(eps))
        if weight is not None:
            scale = scale * weight
        shift = -running_mean * scale if bias is None else bias - running_mean * scale
        rows, mean, inverse = (
            kernels.scaled(rows, scale.astype(rows.dtype), shift.astype(rows.dtype)),
            none,
            none,
        )
    else:
        count = rows.shape[1]
        rows, mean, variance, inverse = kernels.standardize(rows, weight, bias, eps)
        variance = variance * variance.dtype.type(count / (count - 1) if count > 1 else math.nan)
        changes = (_change(running_mean, mean, momentum), _change(running_var, variance, momentum))
    result = kernels.from_channel_rows(rows, x.shape).astype(x.dtype, copy=False)
    for running, change in zip(
        (running_mean, running_var), changes
    ):  # now that nothing is left to run out of memory
        if change is not None:
            running += change
    return result, mean, inverse


def _channel_axes(x):
    return (0, *range(2, x.ndim))


def _per_channel(m, v, x):
    return m.reshape_raw(v, (1, -1) + (1,) * (x.ndim - 2))


def _batch_standard(m, x, running_mean, running_var, training, eps):
    if training:
        return _standardized(m, x, _channel_axes(x), eps)
    inverse = m.rsqrt(_per_channel(m, running_var, x) + eps)
    return (x - _per_channel(m, running_mean, x)) * inverse, inverse


def _batch_input(m, g, input, weight, running_mean, running_var, training, eps):
    g = g[0] if weight is None else g[0] * _per_channel(m, weight, input)
    if training:
        return _through(m, g, input, _channel_axes(input), eps)
    return g * m.rsqrt(_per_channel(m, running_var, input) + eps)


def _batch_weight(m, g, input, running_mean, running_var, training, eps):
    standard, _ = _batch_standard(m, input, running_mean, running_var, training, eps)
    return m.sum(g[0] * standard, _channel_axes(input))


def _batch_fused(
    m, g, wanted, *, input, weight, running_mean, running_var, training, eps, result1, result2
):
    if not input.size:
        return _no_gradients(m.xp, input, wanted, input.shape[1:2])
    g, d = g[0], input.dtype
    if d.itemsize == 2:
        g, input, weight = (
            g.astype(np.float32),
            input.astype(np.float32),
            None if weight is None else weight.astype(np.float32),
        )
    rows, g2 = kernels.channel_rows(input), kernels.channel_rows(g)
    if training:
        dx, product, total = kernels.standardize_backward(
            g2, rows, result1, result2, weight, wanted[0]
        )
    else:
        inverse = (1 / m.xp.sqrt(running_var + running_var.dtype.type(eps))).astype(rows.dtype)
        scale = inverse if weight is None else inverse * weight
        dx, product, total = kernels.fixed_backward(
            g2, rows, running_mean.astype(rows.dtype), scale, inverse, wanted[0]
        )
    return (
        kernels.from_channel_rows(dx, input.shape).astype(d, copy=False) if wanted[0] else None,
        product if wanted[1] else None,
        total if wanted[2] else None,
    )


batch_norm_op = _inside(
    "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
    "Tensor? running_var, bool training, float momentum, float eps)",
    forward=_batch_norm,
    outputs=("result", "result1", "result2"),
    nondiff=("result1", "result2"),
    fused=_batch_fused,
    vjp={
        "input": lambda m, g, input, weight, running_mean, running_var, training, eps: _batch_input(
            m, g, input, weight, running_mean, running_var, training, eps
        ),
        "weight": lambda m, g, input, running_mean, running_var, training, eps: _batch_weight(
            m, g, input, running_mean, running_var, training, eps
        ),
        "bias": lambda m, g, input: m.sum(g[0], _channel_axes(input)),
    },
    also_saves=(
        "input",
        "weight",
        "running_mean",
        "running_var",
        "training",
        "eps",
        "result1",
        "result2",
    ),
    latex=r"\frac{{input} - \mu}{\sqrt{\sigma^2 + {eps}}} \cdot {weight} + {bias}",
    vjp_latex={
        "input": r"\frac{{weight}}{\sqrt{\sigma^2 + {eps}}} \cdot ({g} - \mathrm{mean}({g}) - \hat x \cdot \mathrm{mean}({g} \cdot \hat x))",
        "weight": r"\sum_{\text{positions}} {g} \cdot \hat x",
        "bias": r"\sum_{\text{positions}} {g}",
    },
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
    _refuse_integers("LayerNormKernelImpl", x)
    n = math.prod(normalized_shape)
    wide = xp.ascontiguousarray(x, np.float32 if x.dtype.itemsize == 2 else None)
    rows, mean, inverse = _standard_rows(
        xp, wide, math.prod(x.shape[: x.ndim - len(normalized_shape)]), n, eps
    )
    y = rows.reshape(x.shape)
    if weight is not None:
        y *= weight
    if bias is not None:
        y += bias
    shape = (*x.shape[: x.ndim - len(normalized_shape)], *(1,) * len(normalized_shape))
    return y.astype(x.dtype, copy=False), mean.reshape(shape), inverse.reshape(shape)


def _last_axes(normalized_shape):
    return tuple(range(-len(normalized_shape), 0))


def _first_axes(x, normalized_shape):
    return tuple(range(x.ndim - len(normalized_shape)))


def _sum_over(m, g, axes):
    return m.sum(g, axes) if axes else g


def _layer_fused(m, g, wanted, *, input, normalized_shape, weight, eps, result1, result2, bias):
    if not input.size:
        return _no_gradients(m.xp, input, wanted, normalized_shape)
    g, d, n = g[0], input.dtype, math.prod(normalized_shape)
    if d.itemsize == 2:
        g, input = g.astype(np.float32), input.astype(np.float32)
    rows, mean, inverse = (
        m.xp.ascontiguousarray(input).reshape(-1, n),
        result1.reshape(-1),
        result2.reshape(-1),
    )
    g2 = m.xp.ascontiguousarray(g).reshape(-1, n)
    dx = dweight = None
    if wanted[0]:
        weighted = g2 if weight is None else g2 * weight.reshape(-1).astype(g2.dtype, copy=False)
        dx = (
            kernels.standardize_backward(weighted, rows, mean, inverse, None)[0]
            .reshape(input.shape)
            .astype(d, copy=False)
        )
    if wanted[1]:
        dweight = m.xp.einsum("ij,ij->j", g2, (rows - mean[:, None]) * inverse[:, None]).reshape(
            normalized_shape
        )
    return dx, dweight, m.xp.add.reduce(g2, axis=0).reshape(normalized_shape) if wanted[2] else None


layer_norm_op = _inside(
    "native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps)",
    forward=_layer_norm,
    outputs=("result", "result1", "result2"),
    nondiff=("result1", "result2"),
    fused=_layer_fused,
    vjp={
        "input": lambda m, g, input, normalized_shape, weight, eps: _through(
            m, g[0] if weight is None else g[0] * weight, input, _last_axes(normalized_shape), eps
        ),
        "weight": lambda m, g, input, normalized_shape, eps: _sum_over(
            m,
            g[0] * _standardized(m, input, _last_axes(normalized_shape), eps)[0],
            _first_axes(input, normalized_shape),
        ),
        "bias": lambda m, g, input, normalized_shape: _sum_over(
            m, g[0], _first_axes(input, normalized_shape)
        ),
    },
    also_saves=("input", "normalized_shape", "weight", "eps", "result1", "result2", "bias"),
    hidden=("eps",),
    latex=r"\frac{{input} - \mu}{\sqrt{\sigma^2 + {eps}}} \cdot {weight} + {bias}",
    vjp_latex={
        "input": _WEIGHTED,
        "weight": r"\sum_{\text{positions}} {g} \cdot \hat x",
        "bias": r"\sum_{\text{positions}} {g}",
    },
    samples=lambda s: [
        (s.randn(2, 3), (3,), s.randn(3), s.randn(3), 1e-5),
        (s.randn(2, 2, 3), (2, 3), None, None, 1e-5),
        (s.randn(2, 2, 3), (3,), s.randn(3), None, 1e-3),
        (s.randn(4), (4,), s.randn(4), s.randn(4), 1e-5),
    ],
)


# -- group norm --------------------------------------------------------------------------------------------------------
def _group_norm(xp, x, weight, bias, N, C, HxW, group, eps):
    _refuse_integers("GroupNormKernelImpl", x)
    wide = xp.ascontiguousarray(x, np.float32 if x.dtype.itemsize == 2 else None)
    rows, mean, inverse = _standard_rows(xp, wide, N * group, C // group * HxW, eps)
    y = rows.reshape(N, C, HxW)
    if weight is not None:
        y *= weight.reshape(C, 1)
    if bias is not None:
        y += bias.reshape(C, 1)
    return (
        y.reshape(x.shape).astype(x.dtype, copy=False),
        mean.reshape(N, group),
        inverse.reshape(N, group),
    )


def _grouped(m, x, N, group):
    return m.reshape_raw(x, (N, group, -1))


def _group_input(m, g, input, weight, N, C, HxW, group, eps):
    g = m.reshape_raw(g[0], (N, C, HxW))
    if weight is not None:
        g = g * m.reshape_raw(weight, (1, C, 1))
    return m.reshape_raw(
        _through(m, _grouped(m, g, N, group), _grouped(m, input, N, group), (2,), eps),
        tuple(input.shape),
    )


def _group_weight(m, g, input, N, C, HxW, group, eps):
    standard, _ = _standardized(m, _grouped(m, input, N, group), (2,), eps)
    return m.sum(m.reshape_raw(g[0], (N, C, HxW)) * m.reshape_raw(standard, (N, C, HxW)), (0, 2))


def _group_fused(m, g, wanted, *, input, weight, N, C, HxW, group, eps, result1, result2):
    if not input.size:
        return _no_gradients(m.xp, input, wanted, (C,))
    g, d = g[0], input.dtype
    if d.itemsize == 2:
        g, input = g.astype(np.float32), input.astype(np.float32)
    mean, inverse, x, g3 = (
        result1.reshape(-1),
        result2.reshape(-1),
        m.xp.ascontiguousarray(input),
        m.xp.ascontiguousarray(g).reshape(N, C, HxW),
    )
    dx = dweight = None
    if wanted[0]:
        weighted = g3 if weight is None else g3 * weight.reshape(C, 1).astype(g3.dtype, copy=False)
        dx = kernels.standardize_backward(
            weighted.reshape(N * group, -1), x.reshape(N * group, -1), mean, inverse, None
        )[0]
        dx = dx.reshape(input.shape).astype(d, copy=False)
    if wanted[1]:
        standard = (x.reshape(N * group, -1) - mean[:, None]) * inverse[:, None]
        dweight = m.xp.einsum("ncs,ncs->c", g3, standard.reshape(N, C, HxW))
    return dx, dweight, m.xp.add.reduce(g3, axis=(0, 2)) if wanted[2] else None


group_norm_op = _inside(
    "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps)",
    forward=_group_norm,
    outputs=("result", "result1", "result2"),
    nondiff=("result1", "result2"),
    fused=_group_fused,
    vjp={
        "input": lambda m, g, input, weight, N, C, HxW, group, eps: _group_input(
            m, g, input, weight, N, C, HxW, group, eps
        ),
        "weight": lambda m, g, input, N, C, HxW, group, eps: _group_weight(
            m, g, input, N, C, HxW, group, eps
        ),
        "bias": lambda m, g, N, C, HxW: m.sum(m.reshape_raw(g[0], (N, C, HxW)), (0, 2)),
    },
    also_saves=("input", "weight", "N", "C", "HxW", "group", "eps", "result1", "result2"),
    latex=r"\frac{{input} - \mu}{\sqrt{\sigma^2 + {eps}}} \cdot {weight} + {bias}",
    vjp_latex={
        "input": _WEIGHTED,
        "weight": r"\sum_{\text{positions}} {g} \cdot \hat x",
        "bias": r"\sum_{\text{positions}} {g}",
    },
    samples=lambda s: [
        (s.randn(2, 4, 3), s.randn(4), s.randn(4), 2, 4, 3, 2, 1e-5),
        (s.randn(1, 2, 2, 2), None, None, 1, 2, 4, 1, 1e-5),
    ],
)


# -- public functions --------------------------------------------------------------------------------------------------
def _check_features(name, value, features):
    if value is not None and value.numel() != features:
        raise fail(
            RuntimeError,
            f"{name} should contain {features} elements not {value.numel()}",
            f"One number per channel: dimension 1 of the input has {features}.",
        )


def _check_one_dtype(input, *others):
    """Raises torch's error for two dtypes; float16 goes with parameters in float32."""
    dtypes = {v.dtype for v in others if v is not None}
    if dtypes <= {input.dtype} or (
        input.dtype.itemsize == 2 and all(d.name == "float32" for d in dtypes)
    ):
        return
    raise fail(
        RuntimeError,
        "mixed dtype (CPU): all inputs must share same datatype.",
        "Convert the input with .float(), or the module with .to(dtype).",
    )


def _nothing_normalized(input, weight, bias):
    """Batch norm of no numbers: a copy, with parts of the graph where the parameters are, so that they get gradients of
    zero.

    PyTorch asks for nothing else here: neither statistics nor dtypes nor numbers of channels."""
    out = METHODS["clone"](input)
    if weight is not None:
        out = out * _first(weight)
    return out if bias is None else out + _first(bias)


def _first(parameter):
    if not parameter.numel():
        message = f"select(): index 0 out of range for tensor of size {list(parameter.shape)} at dimension 0"
        raise fail(
            IndexError,
            message,
            "There are no samples, so instance_norm has repeated the parameters no times.",
        )
    return METHODS["select"](parameter, 0, 0)


def batch_normalized(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """The op after PyTorch's checks. Statistics are updated in place when `training`."""
    if input.ndim < 2:
        raise fail(
            IndexError,
            f"Dimension out of range (expected to be in range of [-{max(1, input.ndim)}, {max(0, input.ndim - 1)}], but got 1)",
            "Channels are dimension 1.",
        )
    features = input.shape[1]
    if not math.prod(input.shape):
        return _nothing_normalized(input, weight, bias)
    for name, value in (("running_mean", running_mean), ("running_var", running_var)):
        if value is None and not training:
            raise fail(
                RuntimeError,
                f"{name} must be defined in evaluation mode",
                "Without training=True the running statistics are used.",
            )
    for name, value in (
        ("running_mean", running_mean),
        ("running_var", running_var),
        ("weight", weight),
        ("bias", bias),
    ):
        _check_features(name, value, features)
    if input.dtype.is_floating_point:
        _check_one_dtype(input, weight, bias, running_mean, running_var)
    return batch_norm_op.call(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )[0]


@composite()
def batch_norm(
    input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled
):
    """Batch norm with the arguments in the order of `torch.batch_norm`; see `nn.functional.batch_norm`."""
    return batch_normalized(input, weight, bias, running_mean, running_var, training, momentum, eps)


@composite()
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    """(input - mean) / sqrt(variance + eps) * weight + bias over the last dimensions, whose sizes are
    `normalized_shape`.

    Raises RuntimeError when shapes do not fit. Source: torch.nn.functional.layer_norm."""
    shape = (
        [normalized_shape]
        if isinstance(normalized_shape, int)
        else [int(n) for n in normalized_shape]
    )
    if not shape:
        raise fail(
            RuntimeError,
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []",
            "Name the sizes of the dimensions that are normalised together.",
        )
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and list(value.shape) != shape:
            raise fail(
                RuntimeError,
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(value.shape)} and "
                f"normalized_shape = {shape}",
                "There is one number per normalised element.",
            )
    if list(input.shape[max(0, input.ndim - len(shape)) :]) != shape:
        raise fail(
            RuntimeError,
            f"Given normalized_shape={shape}, expected input with shape [*, {', '.join(map(str, shape))}], but got input of size"
            f"{list(input.shape)}",
            "The last dimensions are normalised; their sizes are given when the layer is made.",
        )
    _check_one_dtype(input, weight, bias)
    return layer_norm_op.call(input, tuple(shape), weight, bias, eps)[0]


@composite()
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    """Each sample's channels in `num_groups` groups, each normalised with its own mean and variance.

    Raises RuntimeError when the channels cannot be shared out. Source: torch.nn.functional.group_norm."""
    if input.ndim < 2:
        raise fail(
            RuntimeError,
            f"Expected at least 2 dimensions for input tensor but received {input.ndim}",
            "Channels are dimension 1.",
        )
    N, C = input.shape[:2]
    if C % num_groups:
        raise fail(
            RuntimeError,
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}",
            "Groups have the same number of channels.",
        )
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and list(value.shape) != [C]:
            raise fail(
                RuntimeError,
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{list(value.shape)} and input of shape {list(input.shape)}",
                "There is one number per channel.",
            )
    _check_one_dtype(input, weight, bias)
    return group_norm_op.call(
        input, weight, bias, N, C, math.prod(input.shape[2:]), num_groups, eps
    )[0]
