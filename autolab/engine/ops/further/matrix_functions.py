"""The exponential of a matrix.

Source: https://docs.pytorch.org/docs/2.13/linalg.html
"""

from __future__ import annotations

import numpy as np

from ..functions import composite, internal
from ..linalg import _check_square, _mt

_TERMS = 18  # enough in float64 for a norm of 1.09, as in PyTorch
_SMALL = 1.09


def _matrix_exp(xp, self):
    _check_square("matrix_exp", self)
    if self.shape[-1] == 1:
        return xp.exp(self.astype(np.float64)).astype(self.dtype)
    finite = xp.isfinite(self).all((-2, -1), keepdims=True)
    wide = xp.where(finite, self, 0).astype(np.float64)
    norm, halvings = abs(wide).sum(-2).max() if self.size else 0.0, 0
    while halvings < 1000 and bool(norm / 2.0**halvings > _SMALL):
        halvings += 1
    small, one = wide / 2.0**halvings, xp.eye(self.shape[-1])
    total = one + small / _TERMS
    for k in range(_TERMS - 1, 0, -1):  # Horner's scheme: 1 + A (1 + A/2 (1 + A/3 (…)))
        total = one + xp.matmul(small, total) / k
    for _ in range(halvings):  # exp(A) = exp(A/2)^2
        total = xp.matmul(total, total)
    return xp.where(finite, total, np.nan).astype(self.dtype)


def _matrix_exp_rule(m, g, self):
    # The upper right corner of exp [[A, G], [0, A]] is the derivative of exp at A in the direction G (Mathias 1996);
    # this uses the transpose.
    adjoint, n, last = _mt(m, self), self.shape[-1], len(self.shape) - 1
    upper, lower = m.cat([adjoint, g], last), m.cat([m.zeros_like(g), adjoint], last)
    both = m.linalg_matrix_exp(m.cat([upper, lower], last - 1))
    return m.slice(m.slice(both, last - 1, 0, n, 1), last, n, 2 * n, 1)


matrix_exp_op = internal(
    "linalg_matrix_exp(Tensor self)",
    forward=_matrix_exp,
    vjp={"self": _matrix_exp_rule},
    latex=r"\sum_k \frac{{self}^k}{k!}",
    vjp_latex={"self": r"D e^{{self}^{T}}({g})"},
    samples=lambda s: [s.randn(2, 2), s.randn(2, 2, 2) * 0.3, s.randn(1, 1)],
)


@composite(method=True)
@composite(namespace="linalg")
def matrix_exp(A):
    """Return 1 + A + A^2/2 + A^3/6 + … of square matrices. Raise RuntimeError for other matrices and for integers.

    Source:
    torch.linalg.matrix_exp."""
    return matrix_exp_op.call(A)
