"""Yes and no, and sums that leave nan out: all any nansum nanmean."""

from __future__ import annotations

import numpy as np

from ..core.errors import fail
from ..kernels.reduce import reduce
from .functions import METHODS, composite, internal
from .reduction import _sum, axes, differentiable_dtype, spread, sum_op, the_dims
from .shape import row_major


def _truth(name, ufunc, tex, doc):
    def forward(xp, self, dim, keepdim):
        if dim == ():
            return self.astype(bool)
        truth = reduce(xp, ufunc, self.astype(bool, copy=False), axes(self, dim), keepdim)
        return row_major(xp, truth.astype(self.dtype) if self.dtype == np.uint8 else truth)

    op = internal(
        f"{name}(Tensor self, int[]? dim=None, bool keepdim=False)",
        forward=forward,
        latex=tex,
        samples=lambda s: [s.booleans(4), (s.booleans(2, 3), (1,), True), (s.integers(2, 3), (0,))],
    )

    @composite(name, method=True)
    def call(input, dim=None, keepdim=False):
        return op.call(input, the_dims(dim, input._array.ndim), keepdim)

    call.__doc__ = f"Return {doc} along `dim`, or of all: a bool tensor (uint8 for uint8). Source: torch.{name}"


_truth("all", "logical_and", r"\prod_{{dim}} [{self} \ne 0]", "whether no element is zero")
_truth("any", "logical_or", r"[\sum_{{dim}} [{self} \ne 0] > 0]", "whether some element is nonzero")


def _nansum(xp, self, dim, keepdim, dtype):
    if self.dtype.kind == "f":
        self = xp.where(xp.isnan(self), 0, self).astype(self.dtype)
    return _sum(xp, self, dim, keepdim, dtype)


def _nansum_rule(m, g, self, dim, keepdim):
    return m.masked_fill(spread(m, g, dim, keepdim, tuple(self.shape)), m.isnan(self), 0)


nansum_op = internal(
    "nansum(Tensor self, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)",
    forward=_nansum,
    vjp={"self": _nansum_rule},
    latex=r"\sum_{{dim}} {self}",
    vjp_latex={"self": r"{g} \cdot [{self} = {self}]"},
    samples=lambda s: [s.randn(3), (s.randn(2, 3), (1,), True)],
)


@composite(method=True)
def nansum(input, dim=None, keepdim=False, *, dtype=None):
    """Return the sum, with nan counted as 0. Source: torch.nansum."""
    dims = the_dims(dim, input._array.ndim)
    differentiable_dtype(input, dtype)
    return nansum_op.call(input, dims, keepdim, dtype)


@composite(method=True)
def nanmean(input, dim=None, keepdim=False, *, dtype=None):
    """Return the mean of the elements that are not nan. Raises RuntimeError for whole numbers. Source:
    torch.nanmean."""
    if not input.dtype.is_inexact:
        raise fail(
            RuntimeError,
            f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype.short}",
            "Whole numbers are never nan.",
        )
    present = METHODS["logical_not"](METHODS["isnan"](input))
    dims = the_dims(dim, input._array.ndim)
    return nansum(input, dim, keepdim, dtype=dtype) / sum_op.call(present, dims, keepdim, None)
