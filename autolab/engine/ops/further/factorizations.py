"""`torch.linalg`: singular values and QR."""

from __future__ import annotations

import numpy as np

from ...exact.refusals import LinAlgError
from ...core.errors import fail
from ...exact.refusals import unsupported
from ...exact.dtype_errors import not_implemented
from ...core.dtype import FROM_NUMPY
from ..checks import refuse_if
from ..functions import composite, internal
from ..return_types import return_type
from ..linalg import _mt, all_finite, batch_element, first_matrix, hidden_by_nan


def _check_matrices(name, a, kernel):
    message = f"{name}: The input tensor A must have at least 2 dimensions."
    refuse_if(a.ndim < 2, message, "A matrix has rows and columns.")
    message = f"{name}: Expected a floating point or complex tensor as input. Got {FROM_NUMPY[a.dtype].short}"
    refuse_if(a.dtype.kind != "f", message, "Convert it with .float() first.")
    if a.dtype == np.float16:
        raise not_implemented(kernel, a.dtype)


# -- singular values ---------------------------------------------------------------------------------------------------
def _svd(xp, A, full_matrices):
    _check_matrices("linalg.svd", A, "linalg_svd_cpu")
    if not all_finite(xp, A) and bool(xp.isnan(A).any()):
        element = batch_element(A, first_matrix(xp, xp.isnan(A)))
        message = f"linalg.svd: {element}The algorithm failed to converge because the input matrix contained non-finite values."
        note = "There is a NaN in the matrix: look for where it comes from with torch.isnan."
        raise fail(LinAlgError, message, note)
    svd = lambda a: tuple(xp.linalg.svd(a, full_matrices=full_matrices))
    return hidden_by_nan(xp, A, svd)


def _safe_quotient(m, a, b):
    """a / b, 0 where b is 0: there the singular vectors are not determined."""
    nothing = b == 0
    return m.where(nothing, m.zeros_like(a), a / m.where(nothing, m.ones_like(b), b))


def _svd_rule(m, g, A, U, S, Vh, full_matrices):
    g_u, g_s, g_vh = g
    k, last = S.shape[-1], len(U.shape) - 1
    if full_matrices:  # what is beyond the first k vectors is any basis: no gradient
        U, g_u = m.slice(U, last, 0, k, 1), m.slice(g_u, last, 0, k, 1)
        Vh, g_vh = m.slice(Vh, last - 1, 0, k, 1), m.slice(g_vh, last - 1, 0, k, 1)
    row, column = m.unsqueeze(S, -2), m.unsqueeze(S, -1)
    gap = row * row - column * column
    skew = lambda x: x - _mt(m, x)
    left = _safe_quotient(m, skew(m.matmul_raw(_mt(m, U), g_u)), gap)
    right = _safe_quotient(m, skew(m.matmul_raw(Vh, _mt(m, g_vh))), gap)
    inner = left * row + column * right + m.diag_embed(g_s)
    result = m.matmul_raw(U, m.matmul_raw(inner, Vh))
    if A.shape[-2] > k:
        beside = _safe_quotient(
            m, g_u - m.matmul_raw(U, m.matmul_raw(_mt(m, U), g_u)), row + m.zeros_like(g_u)
        )
        result = result + m.matmul_raw(beside, Vh)
    if A.shape[-1] > k:
        beside = g_vh - m.matmul_raw(m.matmul_raw(g_vh, _mt(m, Vh)), Vh)
        result = result + m.matmul_raw(U, _safe_quotient(m, beside, column + m.zeros_like(g_vh)))
    return result


svd_op = internal(
    "linalg_svd(Tensor A, bool full_matrices=True)",
    forward=_svd,
    outputs=("U", "S", "Vh"),
    node="LinalgSvdBackward0",
    return_type=return_type("linalg_svd", ("U", "S", "Vh")),
    vjp={"A": _svd_rule},
    latex=r"\mathrm{svd}({A})",
    vjp_latex={"A": r"U (\ldots) V^{T}"},
)


@composite(namespace="linalg")
def svd(A, full_matrices=True, *, driver=None):
    """(U, S, Vh) with A = U diag(S) Vh, S falling; U and Vh square, or with full_matrices=False as many vectors as S.

    A: (…, m, n). The gradient of U and Vh is only meaningful for functions that do not depend on their signs. Raises
    RuntimeError for fewer than two dimensions and for `driver`. Source: torch.linalg.svd."""
    refuse_if(
        driver is not None,
        "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.",
        "Leave it out.",
    )
    return svd_op.call(A, bool(full_matrices))


@composite(namespace="linalg")
def svdvals(A, *, driver=None):
    """The singular values of matrices (…, m, n), falling. Source: torch.linalg.svdvals."""
    return svd(A, False, driver=driver)[1]


_SVD = return_type("svd", ("U", "S", "V"))


@composite(method=True, name="svd")
def old_svd(input, some=True, compute_uv=True):
    """(U, S, V) with input = U diag(S) V^T; V, not its transpose. Source: torch.svd, which torch.linalg.svd
    replaces."""
    if not compute_uv:
        raise unsupported(
            "svd", "compute_uv", "For the singular values alone call torch.linalg.svdvals."
        )
    U, S, Vh = svd_op.call(input, not some)
    return _SVD((U, S, Vh.mT))


# -- QR ----------------------------------------------------------------------------------------------------------------
def _qr(xp, A):
    _check_matrices("linalg.qr", A, "geqrf_cpu")
    return tuple(xp.linalg.qr(A))


def _qr_rule(m, g, Q, R):
    (g_q, g_r), (rows, columns) = g, R.shape[-2:]
    if rows == columns:
        return _tall_qr(m, g_q, g_r, Q, R)
    # A = [X | Y], R = [U | V] with X = Q U and Y = Q V: Q depends on X alone, and V = Q^T Y.
    last = len(R.shape) - 1
    part = lambda x, start, end: m.slice(x, last, start, end, 1)
    V, g_v = part(R, rows, columns), part(g_r, rows, columns)
    g_q = g_q + m.matmul_raw(m.matmul_raw(Q, V), _mt(m, g_v))
    first = _tall_qr(m, g_q, part(g_r, 0, rows), Q, part(R, 0, rows))
    return m.cat([first, m.matmul_raw(Q, g_v)], last)


def _tall_qr(m, g_q, g_r, Q, R):
    inner = m.triu(m.matmul_raw(g_r, _mt(m, R)) - m.matmul_raw(_mt(m, Q), g_q))
    inner = inner + _mt(m, inner) - m.diag_embed(m.diagonal(inner, 0, -2, -1))
    return _mt(m, m.linalg_solve(R, _mt(m, g_q + m.matmul_raw(Q, inner))))


qr_op = internal(
    "linalg_qr(Tensor A)",
    forward=_qr,
    outputs=("Q", "R"),
    node="LinalgQrBackward0",
    return_type=return_type("linalg_qr", ("Q", "R")),
    vjp={"A": _qr_rule},
    constants={"mode": "reduced"},
    latex=r"\mathrm{qr}({A})",
    vjp_latex={"A": r"({g} + Q \ldots) R^{-T}"},
    samples=lambda s: [s.randn(3, 2), s.randn(2, 3), s.randn(2, 2, 2)],
)


@composite(namespace="linalg")
def qr(A, mode="reduced"):
    """Return (Q, R) with A = Q R, the columns of Q orthonormal, R upper triangular. A: (…, m, n).

    Raises RuntimeError for fewer than two dimensions, NotImplementedError for a mode other than 'reduced'. Source:
    torch.linalg.qr."""
    if mode != "reduced":
        raise unsupported("linalg.qr", "mode", "Q has as many columns as R has rows: 'reduced'.")
    return qr_op.call(A)
