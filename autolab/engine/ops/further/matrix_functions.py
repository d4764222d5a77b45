"""The exponential of a matrix.

Source: https://docs.pytorch.org/docs/2.13/linalg.html
"""

from __future__ import annotations

import numpy as np

from ...core.errors import bad_argument, fail
from ...core.dtype import FROM_NUMPY
from ..functions import METHODS, NAMESPACES, internal
from ...core.tensor import Tensor
from ..linalg import _mt, _check_square

_TORCH = NAMESPACES[""]


_TERMS = 18  # enough for a norm of 1.09 to double precision: what PyTorch takes, too
_SMALL = 1.09


def _matrix_exp(xp, self):
    if self.dtype.kind not in "fc":
        message = f"linalg.matrix_exp: Expected a floating point or complex tensor as input. Got {FROM_NUMPY[self.dtype].short}"
        raise fail(
            RuntimeError,
            message,
            "The exponential is seldom a whole number: write x.float() first.",
        )
    _check_square("matrix_exp", self)
    if not self.size:
        return self.copy()
    wide = self.astype(np.float64) if self.dtype.kind == "f" else self
    if self.shape[-1] == 1:
        return xp.exp(wide).astype(self.dtype)
    norm = xp.abs(wide).sum(-2).max(-1)
    halvings = xp.maximum(xp.ceil(xp.log2(xp.maximum(norm, 1e-300) / _SMALL)), 0)[..., None, None]
    small = xp.where(xp.isfinite(halvings), wide, np.nan) / 2.0**halvings
    halvings = xp.where(xp.isfinite(halvings), halvings, 0)
    one = xp.broadcast_to(xp.eye(self.shape[-1], dtype=wide.dtype), wide.shape)
    total = one + small / _TERMS
    for k in range(_TERMS - 1, 0, -1):  # Horner: 1 + A (1 + A/2 (1 + A/3 (…)))
        total = one + xp.matmul(small, total) / k
    while bool((halvings > 0).any()):  # exp(A) = exp(A/2)^2, as often as each matrix was halved
        total = xp.where(halvings > 0, xp.matmul(total, total), total)
        halvings = halvings - 1
    return xp.ascontiguousarray(total.astype(self.dtype, copy=False))


def _matrix_exp_rule(m, g, self):
    # exp [[A, G], [0, A]] has the derivative of exp at A towards G in its upper right corner (Mathias 1996); here of
    # the transpose
    adjoint, n, last = _mt(m, self), self.shape[-1], len(self.shape) - 1
    upper, lower = m.cat([adjoint, g], last), m.cat([m.zeros_like(g), adjoint], last)
    both = m.linalg_matrix_exp(m.cat([upper, lower], last - 1))
    return m.narrow_raw(m.narrow_raw(both, last - 1, 0, n), last, n, n)


matrix_exp_op = internal(
    "linalg_matrix_exp(Tensor self)",
    forward=_matrix_exp,
    vjp={"self": _matrix_exp_rule},
    latex=r"\sum_k \frac{{self}^k}{k!}",
    vjp_latex={"self": r"D e^{{self}^{T}}({g})"},
    samples=lambda s: [s.randn(2, 2), s.randn(2, 2, 2) * 0.3, s.randn(1, 1)],
)


def matrix_exp(A):
    """1 + A + A^2/2 + A^3/6 + … of square matrices. Raises RuntimeError for others and for whole numbers. Source:
    torch.linalg.matrix_exp."""
    if not isinstance(A, Tensor):
        raise bad_argument("linalg_matrix_exp", "A", 1, "Tensor", A)
    return matrix_exp_op.call(A)


NAMESPACES["linalg"]["matrix_exp"] = _TORCH["matrix_exp"] = METHODS["matrix_exp"] = matrix_exp
