"""`torch.linalg`: singular values, QR, pseudo-inverse, rank, least squares."""

from __future__ import annotations


import numpy as np

from ...devices import device as devices
from ...exact.refusals import LinAlgError
from ...core.errors import fail
from ...exact.refusals import unsupported
from ...exact.dtype_errors import not_implemented
from ..functions import METHODS, NAMESPACES, composite, internal
from ..return_types import return_type
from ...core.tensor import Tensor
from ..linalg import _mt, all_finite, batch_element


def _matrices(name, a):
    if a.ndim < 2:
        raise fail(
            RuntimeError,
            f"{name}: The input tensor A must have at least 2 dimensions.",
            "A matrix has rows and columns.",
        )
    if a.dtype.kind != "f":
        from ...core.dtype import FROM_NUMPY

        raise fail(
            RuntimeError,
            f"{name}: Expected a floating point or complex tensor as input. Got {FROM_NUMPY[a.dtype].short}",
            "Convert it with .float() first.",
        )
    if a.dtype == np.float16:
        raise not_implemented("geqrf_cpu" if name == "linalg.qr" else "linalg_svd_cpu", a.dtype)


# -- singular values ---------------------------------------------------------------------------------------------------
def _svd(xp, A, full_matrices):
    _matrices("linalg.svd", A)
    return singular_vectors(xp, A, full_matrices)


def singular_vectors(xp, A, full_matrices):
    """(U, S, Vh) of matrices; NaN for one with inf in it, where LAPACK's iterations may never end. Raises LinAlgError
    for one with NaN."""
    if not all_finite(xp, A):
        if bool(xp.isnan(A).any()):
            first = int(devices.to_host(xp.isnan(A)).any(axis=(-2, -1)).reshape(-1).argmax())
            message = f"linalg.svd: {batch_element(A, first)}The algorithm failed to converge because the input matrix contained non-finite values."
            raise fail(
                LinAlgError,
                message,
                "There is a NaN in the matrix: look for where it comes from with torch.isnan.",
            )
        hidden = xp.where(
            xp.isfinite(A).all(axis=(-2, -1), keepdims=True), A.dtype.type(0), A.dtype.type(np.nan)
        )
        U, S, Vh = xp.linalg.svd(
            xp.where(hidden == 0, A, A.dtype.type(0)), full_matrices=full_matrices
        )
        return U + hidden, S + hidden[..., 0], Vh + hidden
    return tuple(xp.linalg.svd(A, full_matrices=full_matrices))


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
    if driver is not None:
        raise fail(
            RuntimeError,
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


def _tolerance(A, largest, atol, rtol):
    """What counts as zero among singular values: the larger of atol and rtol times the largest."""
    if rtol is None:
        rtol = (
            0.0
            if atol is not None and np.any(np.asarray(_plain(atol)) > 0)
            else np.finfo(A.dtype.np).eps * max(A.shape[-2:])
        )
    atol = 0.0 if atol is None else atol
    nothing = NAMESPACES[""]["zeros_like"](largest)
    return NAMESPACES[""]["maximum"](nothing + atol, nothing + rtol * largest)


def _plain(x):
    return x.tolist() if isinstance(x, Tensor) else x


def _sizes_of_values(A, hermitian):
    """The sizes of the singular values; of symmetric matrices those of the eigenvalues."""
    return NAMESPACES["linalg"]["eigvalsh"](A).abs() if hermitian else svdvals(A)


@composite(namespace="linalg")
def matrix_rank(A, tol=None, *, atol=None, rtol=None, hermitian=False):
    """How many singular values of matrices (…, m, n) are above max(atol, rtol * the largest).

    rtol: eps * max(m, n) when neither is given; tol: the same as atol, and NumPy's name. Source:
    torch.linalg.matrix_rank."""
    if A._array.ndim < 2:
        raise fail(
            RuntimeError,
            "torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.",
            "A matrix has rows and columns.",
        )
    A = A.detach()
    if not A.numel():
        return A.new_zeros(A.shape[:-2]).long()
    values = _sizes_of_values(A, hermitian)
    if tol is not None:
        atol, rtol = tol, 0.0
    limit = _tolerance(A, values.amax(-1), atol, rtol)
    return (values > limit.unsqueeze(-1)).sum(-1)


def _pinv(xp, A, atol, rtol):
    if A.size == 0:
        return xp.zeros((*A.shape[:-2], A.shape[-1], A.shape[-2]), A.dtype)
    U, S, Vh = singular_vectors(xp, A, False)
    limit = xp.maximum(atol, rtol * S[..., :1])
    inverse = xp.where(S > limit, 1 / xp.where(S > limit, S, xp.ones_like(S)), xp.zeros_like(S))
    return xp.matmul(
        xp.swapaxes(Vh, -1, -2) * inverse[..., None, :], xp.swapaxes(U, -1, -2)
    ).astype(A.dtype)


def _pinv_rule(m, g, A, result):
    inverse, transposed, gt = result, _mt(m, result), _mt(m, g)
    times = m.matmul_raw
    if A.shape[-2] <= A.shape[-1]:
        k = times(gt, inverse)
        kt = times(k, transposed)
        rest = times(times(transposed, inverse), gt - times(k, A))
        return kt - _mt(m, times(inverse, k)) - times(times(A, inverse), kt) + rest
    k = times(inverse, gt)
    kt = times(transposed, k)
    rest = times(times(gt - times(A, k), inverse), transposed)
    return kt - _mt(m, times(k, inverse)) - times(times(kt, inverse), A) + rest


pinv_op = internal(
    "linalg_pinv(Tensor A, float? atol, float? rtol)",
    forward=_pinv,
    node="LinalgPinvBackward0",
    hidden=("A",),
    vjp={"A": _pinv_rule},
    latex=r"{A}^{+}",
    vjp_latex={"A": r"-({A}^{+})^{T} {g} \, ({A}^{+})^{T} + \ldots"},
    samples=lambda s: [
        (s.randn(3, 2), 0.0, 1e-6),
        (s.randn(2, 3), 0.0, 1e-6),
        (s.randn(2, 2, 2), 0.0, 1e-6),
    ],
)


@composite(namespace="linalg")
def pinv(A, rcond=None, *, atol=None, rtol=None, hermitian=False):
    """The pseudo-inverse (…, n, m) of matrices (…, m, n): singular values up to max(atol, rtol * the largest) count as
    0.

    rtol (rcond): eps * max(m, n) when neither is given. Raises RuntimeError for fewer than two dimensions.
    Source: torch.linalg.pinv."""
    if hermitian:
        raise unsupported(
            "linalg.pinv",
            "hermitian",
            "Symmetric matrices have the same pseudo-inverse without it.",
        )
    if A._array.ndim < 2 or not A.is_floating_point():
        raise fail(
            RuntimeError,
            f"linalg.pinv({A.dtype.short}{{{list(A.shape)}}}): expected a tensor with 2 or more dimensions of float, double, "
            "cfloat or cdouble types",
            "A matrix has rows and columns.",
        )
    rtol = rcond if rcond is not None else rtol
    atol = _plain(atol)
    if rtol is None:
        rtol = 0.0 if atol else float(np.finfo(A.dtype.np).eps) * max(A.shape[-2:])
    return pinv_op.call(A, float(atol or 0.0), float(_plain(rtol)))


METHODS["pinverse"] = NAMESPACES[""]["pinverse"] = pinv


# -- QR ----------------------------------------------------------------------------------------------------------------
def _qr(xp, A, mode):
    _matrices("linalg.qr", A)
    if mode == "r":
        return xp.zeros((0,), A.dtype), xp.linalg.qr(A, mode="r")
    Q, R = xp.linalg.qr(A, mode=mode)
    return Q, R


def _qr_rule(m, g, Q, R, mode):
    rows, columns = Q.shape[-2] if mode != "r" else 0, R.shape[-1]
    if mode == "r":
        raise fail(
            RuntimeError,
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, "
            "mode='reduced') if you are going to differentiate through linalg.qr.",
            "mode='r' saves the work for Q.",
        )
    if mode == "complete" and rows > columns:
        raise fail(
            RuntimeError,
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols.",
            "The last columns of Q are any basis of what is left.",
        )
    g_q, g_r = g
    if rows >= columns:
        return _tall_qr(m, g_q, g_r, Q, R)
    # A = [X | Y], R = [U | V] with X = Q U and Y = Q V: Q depends on X alone, and V = Q^T Y.
    last = len(R.shape) - 1
    part = lambda x, start, end: m.slice(x, last, start, end, 1)
    V, g_v = part(R, rows, columns), part(g_r, rows, columns)
    g_q = g_q + m.matmul_raw(m.matmul_raw(Q, V), _mt(m, g_v))
    return m.cat(
        [_tall_qr(m, g_q, part(g_r, 0, rows), Q, part(R, 0, rows)), m.matmul_raw(Q, g_v)], last
    )


def _tall_qr(m, g_q, g_r, Q, R):
    inner = m.triu(m.matmul_raw(g_r, _mt(m, R)) - m.matmul_raw(_mt(m, Q), g_q))
    inner = inner + _mt(m, inner) - m.diag_embed(m.diagonal(inner, 0, -2, -1))
    return _mt(m, m.linalg_solve(R, _mt(m, g_q + m.matmul_raw(Q, inner))))


qr_op = internal(
    "linalg_qr(Tensor A, str mode='reduced')",
    forward=_qr,
    outputs=("Q", "R"),
    node="LinalgQrBackward0",
    return_type=return_type("linalg_qr", ("Q", "R")),
    vjp={"A": _qr_rule},
    latex=r"\mathrm{qr}({A})",
    vjp_latex={"A": r"({g} + Q \ldots) R^{-T}"},
    samples=lambda s: [
        (s.randn(3, 2), "reduced"),
        (s.randn(2, 3), "complete"),
        (s.randn(2, 2, 2), "reduced"),
    ],
)


@composite(namespace="linalg")
def qr(A, mode="reduced"):
    """(Q, R) with A = Q R, the columns of Q orthonormal, R upper triangular. A: (…, m, n).

    mode: 'reduced', 'complete' (Q square), 'r' (Q empty, no gradient). Raises RuntimeError for another.
    Source: torch.linalg.qr."""
    if mode not in ("reduced", "complete", "r"):
        raise fail(
            RuntimeError,
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'",
            "It says how many columns Q has.",
        )
    return qr_op.call(A, mode)


# -- least squares -----------------------------------------------------------------------------------------------------
_LSTSQ = return_type("linalg_lstsq", ("solution", "residuals", "rank", "singular_values"))


@composite(namespace="linalg")
def lstsq(A, B, rcond=None, *, driver=None):
    """X that makes |A X - B| smallest, and of those the shortest: (solution, residuals, rank, singular_values).

    A: (…, m, n), B: (…, m, k) or, of one matrix, (m,). driver: 'gelsy' (default), 'gels' (full rank; no rank), 'gelsd'
    or 'gelss' (also residuals and singular values). Raises RuntimeError for shapes that do not fit. Source:
    torch.linalg.lstsq."""
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise fail(
            RuntimeError,
            "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)",
            "All give the same solution here.",
        )
    if A.dtype is not B.dtype:
        message = (
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype "
            f"{A.dtype.short} and other's dtype {B.dtype.short}"
        )
        raise fail(
            RuntimeError,
            message,
            "Convert one of them: equations are not solved in two precisions.",
        )
    if A.dtype.np not in (np.float32, np.float64):
        raise fail(
            RuntimeError,
            "This function doesn't handle types other than float and double",
            "Convert A with .float() first.",
        )
    vector = B._array.ndim == A._array.ndim - 1
    right = B.unsqueeze(-1) if vector else B
    if A.shape[-2] != right.shape[-2]:
        raise fail(
            RuntimeError,
            "torch.linalg.lstsq: input.size(-2) should match other.size(-2)",
            "One equation for each row of A.",
        )
    rtol = float(np.finfo(A.dtype.np).eps) * max(A.shape[-2:]) if rcond is None else rcond
    solution = pinv(A, rtol=rtol) @ right
    nothing = A.new_zeros((0,))
    residuals, values = nothing, nothing.detach()
    rank = nothing.detach().long() if driver == "gels" else matrix_rank(A, rtol=rtol)
    if driver in ("gelsd", "gelss"):
        values = svdvals(A.detach())
    if (
        driver in ("gels", "gelsd", "gelss")
        and A.shape[-2] > A.shape[-1]
        and bool((matrix_rank(A) == A.shape[-1]).all())
    ):
        residuals = ((A @ solution - right) ** 2).sum(-2)
    return _LSTSQ((solution.squeeze(-1) if vector else solution, residuals, rank, values))


# -- triangular systems ------------------------------------------------------------------------------------------------
