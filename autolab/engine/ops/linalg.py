"""`torch.linalg`: inverse, determinant, solve, Cholesky, eigenvalues, trace.

Derivatives: Giles, 'An extended collection of matrix derivative results for forward and reverse mode AD' (2008)."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np

from ..devices import device as devices
from ..core.dtype import FROM_NUMPY
from ..exact.refusals import LinAlgError
from ..core.errors import fail
from ..exact.dtype_errors import not_implemented
from .checks import refuse_if
from .functions import METHODS, NAMESPACES, composite, internal, register
from .return_types import return_type


_HALF_KERNELS = {"det": "lu_cpu", "solve": "lu_cpu", "cholesky": "cholesky_cpu"}


def _check_floats(name, a):
    """Raise PyTorch's error for matrices of whole numbers or half floats."""
    message = f"linalg.{name}: Expected a floating point or complex tensor as input. Got {FROM_NUMPY[a.dtype].short}"
    refuse_if(a.dtype.kind not in "fc", message, "Solving needs fractions: write x.float() first.")
    if a.dtype == np.float16 and name in _HALF_KERNELS:
        raise not_implemented(_HALF_KERNELS[name], a.dtype)
    message = f"linalg.{name}: Low precision dtypes not supported. Got Half"
    refuse_if(a.dtype == np.float16, message, "Solving loses digits: write x.float() first.")


def _check_square(name, a):
    message = f"linalg.{name}: The input tensor A must have at least 2 dimensions."
    refuse_if(a.ndim < 2, message, "A matrix has rows and columns.")
    rows, columns = a.shape[-2:]
    message = f"linalg.{name}: A must be batches of square matrices, but they are {rows} by {columns} matrices"
    refuse_if(rows != columns, message, "Only a square matrix maps a space to itself.")


def _mt(m, a):
    return m.transpose(a, -2, -1)


def batch_element(a, position):
    """How torch's errors say which of several matrices is meant; nothing where there is one."""
    return f"(Batch element {position}): " if a.ndim > 2 else ""


def _check_singular(name, a, words, note):
    """Raise PyTorch's error if LU elimination of a matrix meets a zero pivot; words: what it says, with {k} for the
    column."""
    for position, matrix in enumerate(devices.to_host(a).reshape(-1, *a.shape[-2:])):
        if k := _zero_pivot(matrix):
            text = f"linalg.{name}: {batch_element(a, position)}{words.format(k=k)} the input matrix is singular."
            raise fail(LinAlgError, text, f"Some row is a combination of others, so {note}.")


def _zero_pivot(matrix):
    """Return the number (from 1) of the column where LU elimination of a matrix meets nothing but zeros; 0 where it
    meets none."""
    u = np.array(matrix, np.float64)
    for k in range(len(u)):
        p = k + int(np.abs(u[k:, k]).argmax())
        if u[p, k] == 0:
            return k + 1
        u[[k, p]] = u[[p, k]]
        u[k + 1 :] -= np.outer(u[k + 1 :, k] / u[k, k], u[k])
    return 0


def _reporting(xp, A):
    """A context in which a GPU's solvers raise LinAlgError as NumPy's do; by themselves they return NaN, so that the
    host need not wait."""
    return nullcontext() if xp is np else devices.of(A).backend.reporting_solvers()


def all_finite(xp, A):
    """Whether there is neither inf nor NaN; a sum, which is fast, tells for all but very large numbers."""
    return bool(xp.isfinite(A.sum())) or bool(xp.isfinite(A).all())


def _all_nan(xp, A, X):
    """`X`, with NaN for all numbers that belong to a matrix with NaN: which of them LAPACK reaches depends on how it
    picks its pivots."""
    if xp is np and all_finite(np, X):  # NaN in A reaches some of X
        return X
    return xp.where(xp.isnan(A).any(axis=(-2, -1), keepdims=True), X.dtype.type(np.nan), X)


def _inv(xp, A):
    _check_square("inv", A)
    _check_floats("inv", A)
    try:
        with _reporting(xp, A):
            # each matrix column by column in memory, as LAPACK leaves it and torch shows it
            inverse = _all_nan(xp, A, xp.linalg.inv(A))
            return xp.swapaxes(xp.ascontiguousarray(xp.swapaxes(inverse, -1, -2)), -1, -2)
    except np.linalg.LinAlgError:
        words = "The diagonal element {k} is zero, the inversion could not be completed because"
        _check_singular("inv", A, words, "nothing can undo the matrix")
        raise


inv_op = internal(
    "linalg_inv(Tensor A)",
    forward=_inv,
    outputs=("inverse",),
    node="LinalgInvExBackward0",
    vjp={
        "A": lambda m, g, inverse: -m.matmul_raw(_mt(m, inverse), m.matmul_raw(g, _mt(m, inverse)))
    },
    latex=r"{A}^{-1}",
    vjp_latex={"A": r"-{inverse}^{T} \, {g} \, {inverse}^{T}"},
    samples=lambda s: [s.spd(3)],
)

matmul_raw = internal(
    "matmul_raw(Tensor self, Tensor other)",
    forward=lambda xp, self, other: xp.matmul(self, other),
    node="BmmBackward0",
    vjp={
        "self": lambda m, g, other, self_sym_sizes: m.sum_to(
            m.matmul_raw(g, _mt(m, other)), self_sym_sizes
        ),
        "other": lambda m, g, self, other_sym_sizes: m.sum_to(
            m.matmul_raw(_mt(m, self), g), other_sym_sizes
        ),
    },
    latex=r"{self} \, {other}",
    vjp_latex={"self": r"{g} \, {other}^{T}", "other": r"{self}^{T} \, {g}"},
    samples=lambda s: [(s.randn(2, 3), s.randn(3, 2)), (s.randn(2, 2, 3), s.randn(3, 2))],
)


@composite(namespace="linalg")
def inv(A):
    """The inverse of square matrices (…, n, n). Raises LinAlgError when one is singular. Source: torch.linalg.inv."""
    return inv_op.call(A)


METHODS["inverse"] = NAMESPACES[""]["inverse"] = inv


def _det(xp, A):
    _check_square("det", A)
    _check_floats("det", A)
    return xp.linalg.det(A).astype(A.dtype)


def _det_rule(m, g, A, result):
    return m.unsqueeze(m.unsqueeze(g * result, -1), -1) * _mt(m, m.linalg_inv(A))


det_op = internal(
    "linalg_det(Tensor A)",
    forward=_det,
    node="LinalgDetBackward0",
    vjp={"A": _det_rule},
    latex=r"\det {A}",
    vjp_latex={"A": r"{g} \, \det {A} \, {A}^{-T}"},
    samples=lambda s: [s.spd(3)],
)


@composite(namespace="linalg")
def det(A):
    """The determinant of square matrices. Source: torch.linalg.det."""
    return det_op.call(A)


METHODS["det"] = NAMESPACES[""]["det"] = det


def _slogdet(xp, A):
    _check_square("slogdet", A)
    _check_floats("slogdet", A)
    sign, log = xp.linalg.slogdet(A)
    sign = xp.where(xp.isnan(log), 0, sign)
    return xp.asarray(sign, A.dtype), xp.asarray(log, A.dtype)


slogdet_op = internal(
    "linalg_slogdet(Tensor A)",
    forward=_slogdet,
    outputs=("sign", "logabsdet"),
    nondiff=("sign",),
    node="LinalgSlogdetBackward0",
    return_type=return_type("linalg_slogdet", ("sign", "logabsdet")),
    vjp={"A": lambda m, g, A: m.unsqueeze(m.unsqueeze(g[1], -1), -1) * _mt(m, m.linalg_inv(A))},
    latex=r"\frac{\det {A}}{|\det {A}|}, \ln |\det {A}|",
    vjp_latex={"A": r"{g1} \, {A}^{-T}"},
    samples=lambda s: [s.spd(3)],
)


@composite(namespace="linalg")
def slogdet(A):
    """Sign and logarithm of the determinant: (sign, logabsdet). Source: torch.linalg.slogdet."""
    return slogdet_op.call(A)


METHODS["slogdet"] = NAMESPACES[""]["slogdet"] = slogdet


def _solve(xp, A, B):
    _check_square("solve", A)
    if A.dtype != np.float16:
        _check_floats("solve", A)
    kinds = FROM_NUMPY[A.dtype].short, FROM_NUMPY[B.dtype].short
    refuse_if(
        B.dtype != A.dtype,
        f"linalg.solve: Expected A and B to have the same dtype, but found A of type {kinds[0]} and B of type {kinds[1]} instead",
        "Convert one of them: equations are not solved in two precisions.",
    )
    _check_floats("solve", A)
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])
    try:
        B = B[..., None] if vector else B
        if xp is not np:  # CuPy does not broadcast
            lead = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
            A, B = xp.broadcast_to(A, lead + A.shape[-2:]), xp.broadcast_to(B, lead + B.shape[-2:])
        with _reporting(xp, A):
            X = _all_nan(xp, A, xp.linalg.solve(A, B))
        return X[..., 0] if vector else X
    except np.linalg.LinAlgError:
        words = "The solver failed because"
        _check_singular("solve", A, words, "there is no unique solution")
        raise
    except ValueError:
        raise fail(
            RuntimeError,
            f"linalg.solve: Incompatible shapes of A and B for the equation AX = B ({A.shape[-2]}x{A.shape[-1]} and "
            f"{B.shape[-2] if B.ndim > 1 else B.shape[0]}x{B.shape[-1] if B.ndim > 1 else 1})",
            "B needs one row per row of A.",
        ) from None


def _solve_rule_A(m, g, A, result):
    gb = m.linalg_solve(_mt(m, A), g)
    if len(gb.shape) == len(A.shape) - 1:
        return -m.unsqueeze(gb, -1) * m.unsqueeze(result, -2)
    return -m.matmul_raw(gb, _mt(m, result))


solve_op = internal(
    "linalg_solve(Tensor A, Tensor B)",
    forward=_solve,
    node="LinalgSolveExBackward0",
    vjp={"A": _solve_rule_A, "B": lambda m, g, A: m.linalg_solve(_mt(m, A), g)},
    latex=r"{A}^{-1} {B}",
    vjp_latex={"A": r"-{A}^{-T} {g} \, {result}^{T}", "B": r"{A}^{-T} {g}"},
    samples=lambda s: [(s.spd(3), s.randn(3)), (s.spd(3), s.randn(3, 2))],
)


@composite(namespace="linalg")
def solve(A, B, *, left=True):
    """X with A X = B (left=False: X A = B). Raises LinAlgError for a singular A. Source: torch.linalg.solve."""
    return solve_op.call(A, B) if left else solve_op.call(A.mT, B.mT).mT


def _cholesky(xp, A):
    _check_square("cholesky", A)
    _check_floats("cholesky", A)
    try:
        with _reporting(xp, A):
            L = xp.linalg.cholesky(A)
        if xp is not np or not np.isnan(L).any():
            return L
    except np.linalg.LinAlgError:
        pass
    matrices = devices.to_host(A).reshape(-1, *A.shape[-2:])
    position, k = next(((i, k) for i, k in enumerate(map(_bad_minor, matrices)) if k), (0, 1))
    raise fail(
        LinAlgError,
        f"linalg.cholesky: {batch_element(A, position)}The factorization could not be completed because the input is not positive-definite (the "
        f"leading minor of order {k} is not positive-definite).",
        "Only symmetric matrices with positive eigenvalues have a Cholesky factor.",
    )


def _bad_minor(matrix):
    """The number (from 1) of the first pivot that is not positive, by the lower triangle of a matrix; 0 where all
    are."""
    left = np.array(matrix, np.float64)
    for k in range(len(left)):
        if not left[k, k] > 0:
            return k + 1
        column = left[k + 1 :, k]
        left[k + 1 :, k + 1 :] -= np.outer(column, column) / left[k, k]
    return 0


def _half_lower(m, a):
    """The lower triangle with its diagonal halved."""
    return m.tril(a) - 0.5 * m.diag_embed(m.diagonal(a, 0, -2, -1))


def _cholesky_rule(m, g, L):
    inner = _half_lower(m, m.matmul_raw(_mt(m, L), g))
    back = m.linalg_inv(L)
    s = m.matmul_raw(_mt(m, back), m.matmul_raw(inner, back))
    return 0.5 * (s + _mt(m, s))


cholesky_op = internal(
    "linalg_cholesky(Tensor A)",
    forward=_cholesky,
    outputs=("L",),
    node="LinalgCholeskyExBackward0",
    vjp={"A": _cholesky_rule},
    latex=r"\mathrm{chol}({A})",
    vjp_latex={"A": r"{L}^{-T} \Phi({L}^{T} {g}) {L}^{-1}"},
)


@composite(namespace="linalg")
def cholesky(A, *, upper=False):
    """The lower (or upper) triangular L with A = L L^T. Raises LinAlgError when A is not positive-definite. Source:
    torch.linalg.cholesky."""
    L = cholesky_op.call(A)
    return L.mT if upper else L


NAMESPACES[""]["cholesky"] = METHODS["cholesky"] = cholesky


def hidden_by_nan(xp, A, decompose):
    """Return `decompose(A)`, with NaN for all numbers of a matrix with inf or NaN: on such LAPACK's iterations may
    never end."""
    if all_finite(xp, A):
        return tuple(decompose(A))
    finite = xp.isfinite(A).all(axis=(-2, -1), keepdims=True)
    found = decompose(xp.where(finite, A, A.dtype.type(0)))
    hidden = xp.where(finite, A.dtype.type(0), A.dtype.type(np.nan))
    return tuple(a + (hidden if a.ndim == A.ndim else hidden[..., 0]) for a in found)


def first_matrix(xp, places):
    """Return the position of the first matrix in which `places` is true somewhere."""
    return int(devices.to_host(places).any(axis=(-2, -1)).reshape(-1).argmax())


def _eigh(xp, A):
    if A.shape[-1] > 2 and not all_finite(xp, A):
        element = batch_element(A, first_matrix(xp, ~xp.isfinite(A)))
        message = (
            f"linalg.eigh: {element}The algorithm failed to converge because the input matrix is ill-conditioned or has too "
            f"many repeated eigenvalues (error code: {A.shape[-1] - 1})."
        )
        note = (
            "There is a NaN or inf in the matrix: look for where it comes from with torch.isfinite."
        )
        raise fail(LinAlgError, message, note)
    if A.shape[-1] > 1:
        return hidden_by_nan(xp, A, xp.linalg.eigh)
    return tuple(xp.linalg.eigh(A))


def _eigh_rule(m, g, eigenvalues, eigenvectors):
    gw, gv = g
    gap = m.unsqueeze(eigenvalues, -2) - m.unsqueeze(eigenvalues, -1)
    inner = m.where(
        gap == 0,
        m.zeros_like(gap),
        m.matmul_raw(_mt(m, eigenvectors), gv) / m.where(gap == 0, m.ones_like(gap), gap),
    )
    s = m.matmul_raw(eigenvectors, m.matmul_raw(inner + m.diag_embed(gw), _mt(m, eigenvectors)))
    return 0.5 * (s + _mt(m, s))


eigh_op = internal(
    "linalg_eigh(Tensor A)",
    forward=_eigh,
    outputs=("eigenvalues", "eigenvectors"),
    node="LinalgEighBackward0",
    return_type=return_type("linalg_eigh", ("eigenvalues", "eigenvectors")),
    vjp={"A": _eigh_rule},
    latex=r"\mathrm{eigh}({A})",
    vjp_latex={"A": r"V (\ldots) V^{T}"},
)


@composite(namespace="linalg")
def eigh(A, UPLO="L"):
    """Eigenvalues (ascending) and eigenvectors of symmetric matrices. Source: torch.linalg.eigh."""
    _check_square("eigh", A._array)
    if not A.dtype.is_inexact or A.dtype.np == np.float16:
        raise not_implemented("linalg_eigh_cpu", A.dtype.np)
    message = f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}"
    note = "Which triangle is read: the lower or the upper one."
    refuse_if(UPLO.upper() not in ("L", "U"), message, note)
    if UPLO.upper() == "U":
        A = A.mT
    return eigh_op.call(A.tril() + A.tril(-1).mT)


@composite(namespace="linalg")
def eigvalsh(A, UPLO="L"):
    """Eigenvalues (ascending) of symmetric matrices. Source: torch.linalg.eigvalsh."""
    return eigh(A, UPLO)[0]


def _trace(xp, self):
    message = f"trace: expected a matrix, but got tensor with dim {self.ndim}"
    refuse_if(self.ndim != 2, message, "The trace is the sum of a matrix's diagonal.")
    if self.dtype == bool:
        raise not_implemented("trace", self.dtype)
    total = xp.trace(self)
    return total if self.dtype.kind == "f" else xp.asarray(total, np.int64)


trace = register(
    "trace(Tensor self)",
    forward=_trace,
    vjp={
        "self": lambda m, g, self_sym_sizes: m.diagonal_spread(
            m.expand(g, (min(self_sym_sizes),)), self_sym_sizes, 0, 0, 1
        )
    },
    latex=r"\mathrm{tr}({self})",
    vjp_latex={"self": r"{g} \, I"},
    samples=lambda s: [s.randn(3, 3), s.randn(2, 3)],
    doc="The sum of a matrix's diagonal. Source: torch.trace",
)
