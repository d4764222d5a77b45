"""Reductions that test elements or skip nan: all, any, nansum, nanmean."""

from __future__ import annotations

import numpy as np

from ..kernels.reduce import reduce
from .checks import refuse_if
from .functions import composite, internal
from .reduction import axes, the_dims
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
        samples=lambda s: [s.booleans(4), (s.integers(2, 2, 3), (1,), True)],
    )

    @composite(name, method=True)
    def call(input, dim=None, keepdim=False):
        return op.call(input, the_dims(dim, input._array.ndim), keepdim)

    call.__doc__ = f"Return {doc} along `dim`, or of all: a bool tensor (uint8 for uint8). Source: torch.{name}"


_truth("all", "logical_and", r"\prod_{{dim}} [{self} \ne 0]", "whether no element is zero")
_truth("any", "logical_or", r"[\sum_{{dim}} [{self} \ne 0] > 0]", "whether some element is nonzero")


@composite(method=True)
def nansum(input, dim=None, keepdim=False, *, dtype=None):
    """Return the sum, with nan counted as 0. Source: torch.nansum."""
    return input.masked_fill(input.isnan(), 0).sum(dim, keepdim, dtype=dtype)


@composite(method=True)
def nanmean(input, dim=None, keepdim=False, *, dtype=None):
    """Return the mean of the elements that are not nan. Raise RuntimeError for integers. Source: torch.nanmean."""
    refuse_if(
        not input.dtype.is_floating_point,
        f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype.short}",
        "Whole numbers are never nan.",
    )
    return nansum(input, dim, keepdim, dtype=dtype) / (~input.isnan()).sum(dim, keepdim)
