"""`torch.linalg`: inverse, determinant, solve, Cholesky, eigenvalues, trace.

Derivatives: Giles, 'An extended collection of matrix derivative results for forward and reverse mode AD' (2008)."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np

from ..devices import device as devices
from ..autograd.autocast import in_float32
from ..core.dtype import FROM_NUMPY
from ..exact.refusals import LinAlgError, unsupported
from ..core.errors import fail
from .checks import refuse_if
from .functions import METHODS, NAMESPACES, composite, internal
from .return_types import return_type


# -- checks ------------------------------------------------------------------------------------------------------------
def _check_square(name, a):
    """Raise PyTorch's error unless `a` contains square floating-point matrices."""
    message = f"linalg.{name}: The input tensor A must have at least 2 dimensions."
    refuse_if(a.ndim < 2, message, "A matrix has rows and columns.")
    rows, columns = a.shape[-2:]
    message = f"linalg.{name}: A must be batches of square matrices, but they are {rows} by {columns} matrices"
    refuse_if(rows != columns, message, "Only a square matrix maps a space to itself.")
    message = f"linalg.{name}: Expected a floating point or complex tensor as input. Got {FROM_NUMPY[a.dtype].short}"
    refuse_if(
        a.dtype.kind != "f",
        message,
        "Integer matrices are not supported here. Convert with .float() first.",
    )
    message = f"linalg.{name}: Low precision dtypes not supported. Got Half"
    refuse_if(
        a.dtype == np.float16,
        message,
        "float16 is not precise enough here. Convert with .float() first.",
    )


def _refused(name, a, position, words, note):
    """Return PyTorch's error for the matrix at `position` in the batch `a`."""
    element = f"(Batch element {position}): " if a.ndim > 2 else ""
    return fail(LinAlgError, f"linalg.{name}: {element}{words}", note)


def _first_failing(a, fails):
    """Return the position of the first matrix in the batch `a`, and the first k, for which fails(matrix, k) is true."""
    for position, matrix in enumerate(devices.to_host(a).reshape(-1, *a.shape[-2:])):
        for k in range(1, len(matrix) + 1):
            if fails(matrix, k):
                return position, k
    return 0, 1


def _dependent(matrix, k):
    return np.linalg.matrix_rank(matrix[:, :k]) < k


def _reporting(xp, A):
    """Return a context in which a GPU's solvers raise LinAlgError as NumPy's do. By default they return NaN, so that
    the host need not wait."""
    return nullcontext() if xp is np else devices.of(A).backend.reporting_solvers()


def _mt(m, a):
    return m.transpose(a, -2, -1)


def _public(name, function, doc):
    """Make `function` public: `torch.linalg.<name>`, and under the same name in `torch` and as a method."""
    function.__doc__ = f"Return {doc} Source: torch.linalg.{name}."
    composite(name, namespace="linalg")(function)
    old = {"inv": "inverse"}.get(name, name)
    METHODS[old] = NAMESPACES[""][old] = function


# -- inverse, determinant, equations -----------------------------------------------------------------------------------
def _inv(xp, A):
    _check_square("inv", A)
    try:
        with _reporting(xp, A):
            inverse = xp.linalg.inv(A)
    except np.linalg.LinAlgError:
        position, k = _first_failing(A, _dependent)
        words = f"The diagonal element {k} is zero, the inversion could not be completed because the input matrix is singular."
        note = "The matrix is singular: one row is a linear combination of the others, so it has no inverse."
        raise _refused("inv", A, position, words, note) from None
    # Each matrix is column-major in memory, as LAPACK returns it and torch shows it.
    return xp.swapaxes(xp.ascontiguousarray(xp.swapaxes(inverse, -1, -2)), -1, -2)


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
_public(
    "inv",
    lambda A: inv_op.call(A),
    "the inverse of square matrices (…, n, n). Raises LinAlgError when one is singular.",
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
    samples=lambda s: [(s.randn(2, 2, 3), s.randn(3, 2))],
)


def _det(xp, A):
    _check_square("det", A)
    return xp.linalg.det(A).astype(A.dtype)


def _times_inverse(m, number, A):
    """Return `number` (one per matrix) times the transposed inverse of `A`."""
    return m.unsqueeze(m.unsqueeze(number, -1), -1) * _mt(m, m.linalg_inv(A))


det_op = internal(
    "linalg_det(Tensor A)",
    forward=_det,
    node="LinalgDetBackward0",
    vjp={"A": lambda m, g, A, result: _times_inverse(m, g * result, A)},
    latex=r"\det {A}",
    vjp_latex={"A": r"{g} \, \det {A} \, {A}^{-T}"},
    samples=lambda s: [s.spd(3)],
)
_public("det", lambda A: det_op.call(A), "the determinant of square matrices.")


def _slogdet(xp, A):
    _check_square("slogdet", A)
    return tuple(xp.asarray(x, A.dtype) for x in xp.linalg.slogdet(A))


slogdet_op = internal(
    "linalg_slogdet(Tensor A)",
    forward=_slogdet,
    outputs=("sign", "logabsdet"),
    nondiff=("sign",),
    node="LinalgSlogdetBackward0",
    return_type=return_type("linalg_slogdet", ("sign", "logabsdet")),
    vjp={"A": lambda m, g, A: _times_inverse(m, g[1], A)},
    latex=r"\frac{\det {A}}{|\det {A}|}, \ln |\det {A}|",
    vjp_latex={"A": r"{g1} \, {A}^{-T}"},
    samples=lambda s: [s.spd(3)],
)
_public(
    "slogdet",
    lambda A: slogdet_op.call(A),
    "sign and logarithm of the determinant: (sign, logabsdet).",
)


def _solve(xp, A, B):
    _check_square("solve", A)
    kinds = FROM_NUMPY[A.dtype].short, FROM_NUMPY[B.dtype].short
    refuse_if(
        B.dtype != A.dtype,
        f"linalg.solve: Expected A and B to have the same dtype, but found A of type {kinds[0]} and B of type {kinds[1]} instead",
        "Convert one of them: equations are not solved in two precisions.",
    )
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])
    B = B[..., None] if vector else B
    refuse_if(
        A.shape[-1] != B.shape[-2],
        f"linalg.solve: Incompatible shapes of A and B for the equation AX = B ({A.shape[-2]}x{A.shape[-1]} and "
        f"{B.shape[-2]}x{B.shape[-1]})",
        "B needs one row per row of A.",
    )
    lead = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])  # CuPy does not broadcast
    A, B = xp.broadcast_to(A, lead + A.shape[-2:]), xp.broadcast_to(B, lead + B.shape[-2:])
    try:
        with _reporting(xp, A):
            X = xp.linalg.solve(A, B)
    except np.linalg.LinAlgError:
        position, _ = _first_failing(A, _dependent)
        words = "The solver failed because the input matrix is singular."
        note = "The matrix is singular: one row is a linear combination of the others, so there is no unique solution."
        raise _refused("solve", A, position, words, note) from None
    return X[..., 0] if vector else X


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
    """Solve A X = B for X (left=False: X A = B). Raise LinAlgError for a singular A. Source: torch.linalg.solve."""
    return solve_op.call(A, B) if left else solve_op.call(A.mT, B.mT).mT


# -- symmetric matrices ------------------------------------------------------------------------------------------------
def _cholesky(xp, A):
    _check_square("cholesky", A)
    try:
        with _reporting(xp, A):
            return xp.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        position, k = _first_failing(
            A, lambda matrix, k: np.linalg.eigvalsh(matrix[:k, :k])[0] <= 0
        )
        words = f"The factorization could not be completed because the input is not positive-definite (the leading minor of order {k} is "
        words += "not positive-definite)."
        note = "Only symmetric matrices with positive eigenvalues have a Cholesky factor."
        raise _refused("cholesky", A, position, words, note) from None


def _cholesky_rule(m, g, L):
    inner = m.matmul_raw(_mt(m, L), g)
    inner = m.tril(inner) - 0.5 * m.diag_embed(m.diagonal(inner, 0, -2, -1))
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


_public(
    "cholesky",
    lambda A, *, upper=False: cholesky_op.call(A).mT if upper else cholesky_op.call(A),
    "the lower (or upper) triangular L with A = L L^T. Raises LinAlgError when A is not positive-definite.",
)


def _eigh(xp, A):
    wrong = ~xp.isfinite(A).all(axis=(-2, -1)).reshape(-1)
    if wrong.any():  # with NaN or inf, LAPACK's iterations may never end
        words = (
            "The algorithm failed to converge because the input matrix contained non-finite values."
        )
        note = "There is a NaN or inf in the matrix: look where it comes from with torch.isfinite."
        raise _refused("eigh", A, int(wrong.argmax()), words, note)
    return tuple(xp.linalg.eigh(A))


def _no_gradient(m, g):
    raise unsupported("linalg.eigh", "A that requires grad", "Pass A.detach().")


eigh_op = internal(
    "linalg_eigh(Tensor A)",
    forward=_eigh,
    vjp={"A": _no_gradient},
    node="LinalgEighBackward0",
    outputs=("eigenvalues", "eigenvectors"),
    return_type=return_type("linalg_eigh", ("eigenvalues", "eigenvectors")),
    latex=r"\mathrm{eigh}({A})",
)


@composite(namespace="linalg")
def eigh(A, UPLO="L"):
    """Return eigenvalues (ascending) and eigenvectors of symmetric matrices. UPLO: the triangle to read.

    A backward pass through the result raises NotImplementedError. Source: torch.linalg.eigh."""
    _check_square("eigh", A._array)
    message = f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}"
    refuse_if(UPLO not in ("L", "U"), message, "It names the triangle that is read.")
    A = A.mT if UPLO == "U" else A
    return eigh_op.call(A.tril() + A.tril(-1).mT)


@composite(namespace="linalg")
def eigvalsh(A, UPLO="L"):
    """Return the eigenvalues (ascending) of symmetric matrices. Source: torch.linalg.eigvalsh."""
    return eigh(A, UPLO)[0]


@composite(method=True)
@in_float32
def trace(input):
    """Return the sum of a matrix's diagonal. Source: torch.trace."""
    message = f"trace: expected a matrix, but got tensor with dim {input.ndim}"
    refuse_if(input.ndim != 2, message, "The trace is the sum of a matrix's diagonal.")
    return input.diagonal().sum()
