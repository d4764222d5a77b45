"""Chains of products, powers in columns, equations of tensors, the exponential of a matrix: multi_dot, vander,
tensorsolve, tensorinv, matrix_exp.

Source: https://docs.pytorch.org/docs/2.13/linalg.html"""

from __future__ import annotations

import functools
import math

import numpy as np

from ...core.errors import bad_argument, fail
from ...core.dtype import FROM_NUMPY, int64, promote_types
from ...exact.refusals import check_dim
from ..functions import METHODS, NAMESPACES, composite, internal
from ...core.tensor import Tensor
from ..indexing import slice_op
from ..linalg import _mt, _square, inv, solve
from ..matmul import mm
from ..shape import view_op

_TORCH = NAMESPACES[""]


# -- chains of products ------------------------------------------------------------------------------------------------
def _check_chain(tensors):
    """The matrices of a chain (vectors at the ends as rows and columns), and the shape of the product."""
    n = len(tensors)
    if n < 2:
        raise fail(
            RuntimeError,
            f"multi_dot(): expected at least 2 tensors but got {n}",
            "There is nothing to multiply.",
        )
    for which, t in (("first", tensors[0]), ("last", tensors[-1])):
        if t._array.ndim not in (1, 2):
            message = f"multi_dot(): the {which} tensor must be 1D or 2D but got {t._array.ndim}D"
            raise fail(
                RuntimeError, message, "A chain is of matrices; at its ends vectors may stand."
            )
    shape = (*tensors[0].shape[:-1], *tensors[-1].shape[1:])
    for i, t in enumerate(tensors[1:-1], 1):
        if t._array.ndim != 2:
            raise fail(
                RuntimeError,
                f"multi_dot(): tensor {i} must be 2D but got {t._array.ndim}D",
                "Between the ends there are matrices only.",
            )
    for i, t in enumerate(tensors[1:], 1):
        if t.dtype is not tensors[0].dtype:
            kinds = [
                {"float32": "float", "float64": "double"}.get(x.dtype.name, x.dtype.name)
                for x in (tensors[0], t)
            ]
            message = f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {kinds[0]} and tensor {i} {kinds[1]}"
            raise fail(
                RuntimeError, message, "Convert one of them: matrix products do not mix dtypes."
            )
    first, last = tensors[0], tensors[-1]
    matrices = [
        first if first._array.ndim == 2 else first.unsqueeze(0),
        *tensors[1:-1],
        last if last._array.ndim == 2 else last.unsqueeze(-1),
    ]
    for i, (a, b) in enumerate(zip(matrices, matrices[1:])):
        if a.shape[1] != b.shape[0]:
            message = f"multi_dot(): tensors {i} and {i + 1} with shapes {list(a.shape)} and {list(b.shape)} cannot be multiplied"
            raise fail(RuntimeError, message, "Columns of each matrix are rows of the next.")
    return matrices, shape


@composite(namespace="linalg")
def multi_dot(tensors):
    """The product of several matrices, in the order that takes the fewest multiplications; the first and the last may
    be vectors.

    Raises RuntimeError for less than two tensors and for sizes that do not follow each other. Source:
    torch.linalg.multi_dot."""
    if not isinstance(tensors, (tuple, list)):
        raise bad_argument("linalg_multi_dot", "tensors", 1, "tuple of Tensors", tensors)
    matrices, shape = _check_chain(list(tensors))
    sizes = [m.shape[0] for m in matrices] + [matrices[-1].shape[1]]

    @functools.cache
    def cheapest(i, j):
        """(multiplications, where to cut) for the matrices i … j."""
        if i == j:
            return 0, i
        return min(
            (cheapest(i, k)[0] + cheapest(k + 1, j)[0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
            for k in range(i, j)
        )

    def product(i, j):
        k = cheapest(i, j)[1]
        return matrices[i] if i == j else mm(product(i, k), product(k + 1, j))

    return view_op.call(product(0, len(matrices) - 1), shape)


@composite()
def chain_matmul(*matrices):
    """The product of several matrices; `linalg.multi_dot` replaces it. Source: torch.chain_matmul."""
    return matrices[0].clone() if len(matrices) == 1 else multi_dot(list(matrices))


# -- powers in columns -------------------------------------------------------------------------------------------------
@composite(namespace="linalg", name="vander")
def linalg_vander(x, *, N=None):
    """1, x, x^2 … in the columns of a matrix for each vector x (the last dimension): N columns, as many as entries
    where it is None.

    Raises RuntimeError for N below 2. Source: torch.linalg.vander."""
    n = N if N is not None else x.shape[-1] if x._array.ndim else 1
    if n <= 1:
        raise fail(
            RuntimeError, "N must be greater than 1.", "The first column is 1, the second x."
        )
    powers = x.unsqueeze(-1).expand((*x.shape, n - 1)).cumprod(-1)
    return _TORCH["cat"]([powers.new_ones((*x.shape, 1)), powers], powers.ndim - 1)


@composite()
def vander(x, N=None, increasing=False):
    """x^(N-1), …, x, 1 in the columns of a matrix for a vector x; with `increasing` the other way round. N: how many,
    None: as many as entries.

    Raises RuntimeError unless x is a vector and for a negative N. Source: torch.vander."""
    if x._array.ndim != 1:
        raise fail(
            RuntimeError,
            "x must be a one-dimensional tensor.",
            "linalg.vander takes several vectors.",
        )
    n = x.shape[0] if N is None else N
    if n < 0:
        raise fail(RuntimeError, "N must be non-negative.", "It counts columns.")
    result = _TORCH["empty"]((x.shape[0], n), dtype=promote_types(x.dtype, int64), device=x.device)
    if n > 0:
        result.select(1, 0).fill_(1)
    if n > 1:
        rest = 2**63 - 1
        slice_op.call(result, 1, 1, rest, 1).copy_(x.unsqueeze(1).expand((x.shape[0], n - 1)))
        slice_op.call(result, 1, 1, rest, 1).copy_(slice_op.call(result, 1, 1, rest, 1).cumprod(1))
    return result if increasing else result.flip((1,))


# -- equations of tensors ----------------------------------------------------------------------------------------------
def _check_square(of, at, across, down):
    if across != down:
        message = f"Expected self to satisfy the requirement prod(self.shape[{of}:]) == prod(self.shape[:{of}]), but got {across} != {down}"
        raise fail(
            RuntimeError, message, f"Read as a matrix, cut after {at}, the tensor has to be square."
        )


@composite(namespace="linalg")
def tensorsolve(A, B, dims=None):
    """X with tensordot(A, X, X.ndim) = B. dims: dimensions of A to move to the end first.

    Raises RuntimeError where A, read as a matrix, is not square, LinAlgError where it is singular. Source:
    torch.linalg.tensorsolve."""
    if dims is not None:
        dims = [check_dim(d, A.ndim) for d in dims]
        A = A.movedim(dims, list(range(A.ndim - len(dims), A.ndim)))
    shape = A.shape[B.ndim :]
    n = math.prod(shape)
    _check_square("other.ndim", "the dimensions of B", n, B.numel())
    return solve(A.reshape(n, n), B.flatten()).reshape(shape)


@composite(namespace="linalg")
def tensorinv(A, ind=2):
    """The inverse of A read as a matrix, whose rows are the first `ind` dimensions: of shape A.shape[ind:] +
    A.shape[:ind].

    Raises RuntimeError where that matrix is not square, LinAlgError where it is singular. Source:
    torch.linalg.tensorinv."""
    if ind <= 0:
        message = f"Expected a strictly positive integer for 'ind', but got {ind}"
        raise fail(RuntimeError, message, "So many dimensions number the rows.")
    rows, columns = A.shape[:ind], A.shape[ind:]
    n = math.prod(columns)
    _check_square("ind", "`ind` dimensions", n, math.prod(rows))
    return inv(A.reshape(n, n)).reshape((*columns, *rows))


# -- the exponential ---------------------------------------------------------------------------------------------------
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
    _square("matrix_exp", self)
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
