"""Weights as a length times a direction. Source: Salimans and Kingma, "Weight Normalization" (2016);
torch.nn.utils.weight_norm."""

from ..functions import METHODS, composite, internal
from ..norm import vector_norm_op


def _others(ndim, dim):
    """The dimensions over which a norm is taken: all but `dim`."""
    return tuple(d for d in range(ndim) if d != dim)


def _forward(xp, v, g, dim):
    norm = vector_norm_op.forward(xp, v, 2, _others(v.ndim, dim), True, None)
    return v * (g / norm), norm


def _along_v(m, g, v, dim):
    return m.sum(g * v, _others(len(v.shape), dim), True)


_op = internal(
    "_weight_norm_interface(Tensor v, Tensor g, int dim=0)",
    operands=("v", "g"),
    outputs=("result0", "result1"),
    nondiff=("result1",),
    node="WeightNormInterfaceBackward0",
    forward=_forward,
    # written with the norm as a function of v, so that it can be differentiated again
    vjp={
        "v": lambda m, grad, v, g, dim, result1: _direction_rule(m, grad[0], v, g, dim),
        "g": lambda m, grad, v, g, dim, result1: _along_v(m, grad[0], v, dim) / _norm(m, v, dim),
    },
    latex=r"\frac{{g}}{\left\| {v} \right\|} \cdot {v}",
    vjp_latex={  # \gamma is the argument g, for {g} would be the gradient here
        "v": r"\frac{\gamma}{\left\| {v} \right\|} \cdot (\bar y - {v} \cdot \frac{\sum \bar y \cdot {v}}{\left\| {v} \right\|^{2}})",
        "g": r"\frac{\sum \bar y \cdot {v}}{\left\| {v} \right\|}",
    },
)


def _norm(m, v, dim):
    return m.linalg_vector_norm(v, 2, _others(len(v.shape), dim), True, None)


def _direction_rule(m, grad, v, g, dim):
    norm = _norm(m, v, dim)
    return (g / norm) * (grad - v * (_along_v(m, grad, v, dim) / (norm * norm)))


@composite()
def norm_except_dim(v, pow=2, dim=0):
    """The norm of order `pow` over all dimensions but `dim`, which keep the size 1; for dim = -1 over all of them, a
    number.

    Source: torch.norm_except_dim."""
    if dim == -1:
        return METHODS["norm"](v, pow)
    return METHODS["norm"](v, pow, _others(v.ndim, dim), True)


def weight_normalized(v, g, dim):
    """g * v / (the norm of v over all dimensions but `dim`). Source: torch._weight_norm.

    One node for the first and the last dimension; else PyTorch composes it, and so does this."""
    if v.ndim and dim in (0, v.ndim - 1):
        return _op.call(v, g, dim)[0]
    return v * (g / norm_except_dim(v, 2, dim))
