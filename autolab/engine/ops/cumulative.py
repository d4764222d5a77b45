"""Cumulative sums and products along a dimension: cumsum and cumprod."""

from __future__ import annotations

import numpy as np

from ..exact.dtype_errors import not_implemented
from ..exact.dtypes import as_dtype
from ..exact.refusals import check_dim
from .functions import composite, internal
from .reduction import differentiable_dtype
from .shape import row_major


def reversed_cumsum(m, x, dim):
    """Return at each position the sum of the elements from there to the end."""
    return m.flip(m.cumsum(m.flip(x, (dim,)), dim), (dim,)) if len(x.shape) else x


def _cumprod_rule(m, g, self, dim):
    ndim = len(self.shape)
    if ndim == 0:
        return g
    # Compute every product with one factor left out, as a matrix.
    dim = dim % ndim
    place = m.cumsum(m.ones_like(self), dim)
    one, factor = m.unsqueeze(place, dim + 1), m.unsqueeze(place, dim)
    products = m.cumprod(m.where(factor == one, 1.0, m.unsqueeze(self, dim)), dim + 1)
    return m.sum(m.where(factor >= one, products * m.unsqueeze(g, dim), 0.0), (dim + 1,), False)


def _running(name, rule, tex, gradient, samples, doc):
    def forward(xp, self, dim, dtype):
        d = self.dtype if dtype is None else as_dtype(dtype).np
        if dtype is None and d.kind in "biu":
            d = np.dtype("int64")
        if d.kind == "b":
            raise not_implemented(f"{name}_out_cpu", d)
        self = row_major(xp, self.astype(d, copy=False))
        if self.ndim == 0:
            return self.copy()
        # torch's CPU kernel accumulates floats in float64.
        wide = np.dtype("float64") if d.kind == "f" else d
        return getattr(xp, name)(self, axis=dim, dtype=wide).astype(d, copy=False)

    op = internal(
        f"{name}(Tensor self, int dim, *, dtype? dtype=None)",
        forward=forward,
        vjp={"self": rule},
        latex=tex,
        vjp_latex={"self": gradient},
        samples=samples,
    )

    @composite(name, method=True)
    def call(input, dim, *, dtype=None):
        check_dim(dim, input._array.ndim)
        differentiable_dtype(input, dtype)
        return op.call(input, dim, dtype)

    call.__doc__ = (
        f"Return the running {doc} along `dim`. dtype: converts first. Source: torch.{name}"
    )


_running(
    "cumsum",
    lambda m, g, dim: reversed_cumsum(m, g, dim),
    r"\sum_{j \le i} {self}_j",
    r"\sum_{j \ge i} {g}_j",
    lambda s: [(s.randn(2, 3), -2)],
    "sum",
)
_running(
    "cumprod",
    _cumprod_rule,
    r"\prod_{j \le i} {self}_j",
    r"\sum_{k \ge i} {g}_k \cdot \prod_{j \le k, j \ne i} {self}_j",
    lambda s: [
        (s.away_from_zero(2, 3), 1),
        (np.array([[0.0, 2.0, 3.0], [1.5, 2.0, 0.5]]), -1),
    ],
    "product",
)
