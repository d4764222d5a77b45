"""Singular value decomposition: `torch.linalg.svd` and `torch.svd`."""

from __future__ import annotations

import numpy as np

from ...core.dtype import FROM_NUMPY
from ...core.errors import fail
from ...exact.refusals import LinAlgError, unsupported
from ..checks import refuse_if
from ..functions import composite, internal
from ..linalg import _mt
from ..return_types import return_type


def _svd(xp, A, full_matrices):
    refuse_if(
        A.ndim < 2,
        "linalg.svd: The input tensor A must have at least 2 dimensions.",
        "A matrix has rows and columns.",
    )
    refuse_if(
        A.dtype not in (np.float32, np.float64),
        f"linalg.svd: Expected a floating point or complex tensor as input. Got {FROM_NUMPY[A.dtype].short}",
        "Convert it with .float() first.",
    )
    try:
        return tuple(xp.linalg.svd(A, full_matrices=full_matrices))
    except np.linalg.LinAlgError:
        message = "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values."
        note = "There is a NaN or inf in the matrix: look for it with torch.isfinite."
        raise fail(LinAlgError, message, note) from None


def _safe_quotient(m, a, b):
    """Return a / b, and 0 where b is 0, because the singular vectors are not determined there."""
    return m.masked_fill(a / m.masked_fill(b, b == 0, 1), b == 0, 0)


def _svd_rule(m, g, U, S, Vh):
    g_u, g_s, g_vh = g
    k, last, dot = S.shape[-1], len(U.shape) - 1, m.matmul_raw
    # With full_matrices, the additional vectors are an arbitrary basis, so they have no gradient.
    U, g_u = (m.slice(x, last, 0, k, 1) for x in (U, g_u))
    Vh, g_vh = (m.slice(x, last - 1, 0, k, 1) for x in (Vh, g_vh))
    row, column = m.unsqueeze(S, -2), m.unsqueeze(S, -1)
    skew = lambda x: _safe_quotient(m, x - _mt(m, x), row * row - column * column)
    left, right = skew(dot(_mt(m, U), g_u)), skew(dot(Vh, _mt(m, g_vh)))
    result = dot(U, dot(left * row + column * right + m.diag_embed(g_s), Vh))
    if U.shape[-2] > k:
        beside = g_u - dot(U, dot(_mt(m, U), g_u))
        result = result + dot(_safe_quotient(m, beside, row), Vh)
    if Vh.shape[-1] > k:
        beside = g_vh - dot(dot(g_vh, _mt(m, Vh)), Vh)
        result = result + dot(U, _safe_quotient(m, beside, column))
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
def svd(A, full_matrices=True):
    """Return (U, S, Vh) with A = U diag(S) Vh and S in descending order. U and Vh are square, or with
    full_matrices=False have as many vectors as S.

    A: (…, m, n). The gradient of U and Vh is only meaningful for functions that do not depend on their signs. Raise
    RuntimeError for fewer than two dimensions. Source: torch.linalg.svd."""
    return svd_op.call(A, bool(full_matrices))


@composite(method=True, name="svd")
def old_svd(input, some=True, compute_uv=True):
    """Return (U, S, V) with input = U diag(S) V^T. This returns V, not its transpose. Source: torch.svd, which
    torch.linalg.svd replaces."""
    if not compute_uv:
        raise unsupported("svd", "compute_uv", "Take the singular values alone: svd(x).S.")
    U, S, Vh = svd_op.call(input, not some)
    return return_type("svd", ("U", "S", "V"))((U, S, Vh.mT))
