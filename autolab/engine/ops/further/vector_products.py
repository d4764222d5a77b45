"""Products of vectors: cross, vecdot, outer, addr; and the diagonals of matrices under the name that `torch.linalg` has
for them.

Source: https://docs.pytorch.org/docs/2.13/linalg.html
"""

from __future__ import annotations

import warnings

from ...core.errors import fail
from ...exact.refusals import check_dim
from ...exact.dtype_errors import no_kernel
from ..functions import METHODS, NAMESPACES, composite, internal
from ..indexing import written
from ..matmul import check_expand, times
from ..shape import view_op


cross_op = internal(
    "linalg_cross(Tensor self, Tensor other, int dim=-1)",
    forward=lambda xp, self, other, dim: xp.cross(self, other, axis=dim),
    dtype="promote",
    operands=("self", "other"),
    check=no_kernel("cross", "Bool"),
    node="LinalgCrossBackward0",
    vjp={
        "self": lambda m, g, other, dim: m.linalg_cross(other, g, dim),
        "other": lambda m, g, self, dim: m.linalg_cross(g, self, dim),
    },
    latex=r"{self} \times {other}",
    vjp_latex={"self": r"{other} \times {g}", "other": r"{g} \times {self}"},
    samples=lambda s: [
        (s.randn(3), s.randn(3)),
        (s.randn(2, 3), s.randn(2, 3), 1),
        (s.randn(3, 2), s.randn(3, 2), 0),
    ],
)


@composite(namespace="linalg", name="cross")
def linalg_cross(input, other, *, dim=-1):
    """The cross product of vectors of three numbers lying along `dim`. Raises RuntimeError for others. Source:
    torch.linalg.cross."""
    if input._array.ndim != other._array.ndim:
        raise fail(
            RuntimeError,
            "linalg.cross: inputs must have the same number of dimensions.",
            "Add dimensions by unsqueeze.",
        )
    check_dim(dim, input._array.ndim)
    sizes = input.shape[dim], other.shape[dim]
    if sizes != (3, 3):
        raise fail(
            RuntimeError,
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {sizes[0]} and {sizes[1]}",
            "Only in three dimensions two vectors have one perpendicular direction.",
        )
    if input.dtype is not other.dtype:
        raise fail(
            RuntimeError,
            f"expected scalar type {input.dtype.short} but found {other.dtype.short}",
            "Convert one of them: .to(other.dtype).",
        )
    return cross_op.call(input, other, dim)


@composite(method=True)
def cross(input, other, dim=None):
    """`torch.linalg.cross`; without `dim` along the first dimension of size 3. Source: torch.cross."""
    if dim is None:
        warnings.warn(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply use "
            "torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future release.",
            UserWarning,
            stacklevel=3,
        )
        dim = next((d for d, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise fail(
                RuntimeError,
                "no dimension of size 3 in input",
                "A cross product is one of three numbers each.",
            )
    return linalg_cross(input, other, dim=dim)


@composite(namespace="linalg")
def vecdot(x, y, *, dim=-1):
    """Sums of products along `dim`; the rest broadcasts. Source: torch.linalg.vecdot."""
    return (x * y).sum(dim)


@composite(namespace="linalg", name="diagonal")
def linalg_diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """Diagonals of matrices; a view. Source: torch.linalg.diagonal."""
    return METHODS["diagonal"](A, offset, dim1, dim2)


# -- outer products ----------------------------------------------------------------------------------------------------
@composite(method=True)
def outer(input, vec2):
    """All products of the entries of two vectors. Source: torch.outer."""
    for x in (input, vec2):
        if x.ndim != 1:
            raise fail(
                RuntimeError,
                f"outer: Expected 1-D argument {'self' if x is input else 'vec2'}, but got {x.ndim}-D",
                "outer takes two vectors.",
            )
    return view_op.call(input, (input.numel(), 1)) * vec2


METHODS["ger"] = NAMESPACES[""]["ger"] = outer


def _addr(xp, self, vec1, vec2, beta, alpha):
    product = times(xp.multiply(vec1[:, None], vec2[None, :]), alpha)
    return times(self, beta) + product if beta else product


addr_op = internal(
    "addr(Tensor self, Tensor vec1, Tensor vec2, *, Number beta=1, Number alpha=1)",
    forward=_addr,
    dtype="promote",
    operands=("self", "vec1", "vec2"),
    vjp={
        "self": lambda m, g, beta: times(g, beta),
        "vec1": lambda m, g, vec2, alpha: times(m.mv(g, vec2), alpha),
        "vec2": lambda m, g, vec1, alpha: times(m.mv(m.t(g), vec1), alpha),
    },
    latex=r"{beta} \cdot {self} + {alpha} \cdot {vec1} {vec2}^{T}",
    vjp_latex={
        "self": r"{beta} \cdot {g}",
        "vec1": r"{alpha} \cdot {g} \, {vec2}",
        "vec2": r"{alpha} \cdot {g}^{T} \, {vec1}",
    },
    samples=lambda s: [
        (s.randn(2, 3), s.randn(2), s.randn(3)),
        (s.randn(3), s.randn(2), s.randn(3), {"beta": 0.5, "alpha": 2.0}),
    ],
)


def _check_factors(tensors, beta, alpha):
    whole = all(not t.dtype.is_inexact for t in tensors)
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if whole and isinstance(factor, float):
            message = (
                f"For integral input tensors, argument {name} must not be a floating point number."
            )
            raise fail(
                RuntimeError, message, "Whole numbers stay whole; convert them with .float() first."
            )
        if isinstance(factor, bool) and any(not t.dtype.is_bool for t in tensors):
            raise fail(
                RuntimeError,
                f"Boolean {name} only supported for Boolean results.",
                "A factor of numbers is a number: 1 for True.",
            )


@composite(method=True)
def addr(input, vec1, vec2, *, beta=1, alpha=1):
    """`beta * input + alpha * outer(vec1, vec2)`; `input` broadcasts. Source: torch.addr."""
    for name, v in (("vec1", vec1), ("vec2", vec2)):
        if v._array.ndim != 1:
            message = f"addr: Expected 1-D argument {name}, but got {v._array.ndim}-D"
            raise fail(
                RuntimeError,
                message,
                "The rows and columns of the product are numbered by one vector each.",
            )
    check_expand(input.shape, (len(vec1), len(vec2)))
    _check_factors((input, vec1, vec2), beta, alpha)
    return addr_op.call(input, vec1, vec2, beta, alpha)


@composite(method=True, function=False)
def addr_(self, vec1, vec2, *, beta=1, alpha=1):
    """`addr` in place. Source: torch.Tensor.addr_."""
    if self._array.ndim != 2:
        message = f"2D tensor expected, got {self._array.ndim}D tensor for input"
        raise fail(
            RuntimeError,
            message,
            "An outer product is a matrix, and a tensor keeps its shape in place.",
        )
    if self._array.shape != (*vec1._array.shape, *vec2._array.shape):
        message = f"size mismatch, input: {list(self.shape)}, v1: {list(vec1.shape)}, v2: {list(vec2.shape)}"
        raise fail(RuntimeError, message, "A tensor keeps its shape when it is changed in place.")
    _check_factors((self, vec1, vec2), beta, alpha)
    return written(addr_op, (self, vec1, vec2, beta, alpha), apart=False)
