"""Activations: what a layer does to its scores. `sigmoid` and `tanh` are with the other pointwise functions.

Every function has an op for its backward formula too, as PyTorch has, so that the gradient of a gradient carries PyTorch's names
(`LeakyReluBackwardBackward0`) and a backward pass is one kernel. Sources: https://docs.pytorch.org/docs/2.13/nn.functional.html
"""
from __future__ import annotations

import math

import numpy as np

from ..errors import check_dim, fail
from ..registry import composite, register
from ..special import erf

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805     # Klambauer et al., "Self-Normalizing Neural Networks" (2017)
_GELU_SLOPE, _GELU_CUBE = math.sqrt(2 / math.pi), 0.044715             # Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016)
_FEW = 512


def floating(torch_name, kernel):
    """`kernel` for floating-point arrays only; float16 is computed in float32, as PyTorch does.

    Raises NotImplementedError in PyTorch's words, which name the kernel, for other dtypes."""
    def forward(xp, x, *rest):
        d = x.dtype
        if d.kind != "f":
            raise not_implemented(torch_name, d)
        if d.itemsize > 2:
            return kernel(xp, x, *rest)
        result = kernel(xp, *(a.astype(np.float32) if getattr(a, "dtype", None) == d else a for a in (x, *rest)))
        return tuple(r.astype(d) for r in result) if result.__class__ is tuple else result.astype(d)
    return forward


def not_implemented(torch_name, d):
    """The error for a dtype that PyTorch has no such kernel for."""
    from ..dtype import FROM_NUMPY
    return fail(NotImplementedError, f"\"{torch_name}\" not implemented for '{FROM_NUMPY[d].short}'",
                "This function needs floating-point numbers: call .float() first.")


def select(xp, mask, values):
    """`values` where `mask`, else zero; on big arrays without `where`, whose branches a random mask makes 15 times slower."""
    if values.size < _FEW or xp is not np or values.shape != mask.shape or values.dtype.kind != "f":
        return xp.where(mask, values, values.dtype.type(0))[()]
    word = np.dtype(f"i{values.dtype.itemsize}")
    bits = np.negative(np.ascontiguousarray(mask).view(np.int8)).astype(word)
    bits &= np.ascontiguousarray(values).view(word)
    return bits.view(values.dtype)


def _where(xp, condition, a, b):
    return xp.where(condition, a, b)[()]


def _backward_op(schema, forward, second=None, node=None):
    """Registers the backward formula of an activation, linear in `grad_output`; `second` is its derivative by `self`."""
    name, names = schema.split("(")[0], [n.split("=")[0].strip() for n in schema[:-1].split("(")[1].split(",")]
    rest = ", ".join(names[1:])
    again = eval(f"lambda m, g, {rest}: m.{name}(g, {rest})")
    kwargs = {"node": node} if node else {}
    return register(schema, forward=forward, vjp={"grad_output": again, **({"self": second} if second else {})},
                    method=False, function=False, dtype=None, **kwargs)
