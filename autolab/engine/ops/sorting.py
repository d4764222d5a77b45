"""Sorting and counting values: sort, argsort, topk, unique, bincount, histc, histogram."""

from __future__ import annotations

import math

import numpy as np

from ..core.tensor import Tensor, wrap
from ..exact.arguments import check_tensors
from ..exact.dtype_errors import not_implemented
from ..exact.dtypes import as_indices, positions
from ..exact.kinds import check_settings
from ..exact.refusals import check_dim, unsupported
from .checks import refuse_if
from .extremes import only_element, picked, picked_rule
from .filling import linspace
from .functions import composite
from .return_types import return_type


# -- sort, topk --------------------------------------------------------------------------------------------------------
def _order(xp, self, dim, descending):
    """Return the indices that sort `self` along `dim`. Equal elements keep their order; nan counts as largest."""
    if not descending:
        return positions(xp.argsort(self, axis=dim, kind="stable"))
    # Reverse, sort stably, and reverse again: the order is descending and still stable.
    last = self.shape[dim] - 1
    return last - xp.flip(positions(xp.argsort(xp.flip(self, dim), axis=dim, kind="stable")), dim)


def _sort(xp, self, dim, descending):
    if self.ndim == 0:
        return only_element(xp, self)
    order = _order(xp, self, dim, descending)
    return xp.take_along_axis(self, order, dim), order


def _topk(xp, self, k, dim, largest, sorted):
    refuse_if(
        self.dtype == bool,
        "topk does not support bool dtypes on CPU",
        "Convert the mask to numbers first: mask.int().",
    )
    if self.ndim == 0:
        return only_element(xp, self)
    order = xp.take(_order(xp, self, dim, largest), xp.arange(k), dim)
    return xp.take_along_axis(self, order, dim), order


def _spread_rule(m, g, dim, indices, self_sym_sizes):
    return picked_rule(m, g, dim, indices, True, self_sym_sizes)


sort_op = picked(
    "sort",
    "sort(Tensor self, int dim=-1, bool descending=False)",
    _sort,
    "SortBackward0",
    _spread_rule,
    latex=r"\mathrm{sort}({self})",
    samples=lambda s: [s.distinct(4), (s.distinct(2, 3), 0, True)],
)
topk_op = picked(
    "topk",
    "topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True)",
    _topk,
    "TopkBackward0",
    _spread_rule,
    latex=r"\mathrm{top}_{{k}}({self})",
    samples=lambda s: [(s.distinct(5), 2), (s.distinct(3, 2), 2, 0, False)],
)


@composite(method=True)
def sort(input, dim=-1, descending=False, stable=None):
    """Return (values, indices) sorted along `dim`. Equal elements keep their order (with or without `stable`); nan
    counts as largest. Source: torch.sort."""
    check_dim(dim, input._array.ndim)
    return sort_op.call(input, dim, bool(descending))


@composite(method=True)
def argsort(input, dim=-1, descending=False, stable=False):
    """Return the indices that sort the tensor along `dim`. Source: torch.argsort."""
    return sort(input, dim, descending)[1]


@composite(method=True)
def topk(input, k, dim=-1, largest=True, sorted=True):
    """Return (values, indices) of the k largest (or smallest) elements along `dim`, in order. Source: torch.topk."""
    check_dim(dim, input._array.ndim)
    size = input._array.shape[dim] if input._array.ndim else 1
    refuse_if(
        not 0 <= k <= size,
        "selected index k out of range",
        "k can be at most the size of the dimension.",
    )
    return topk_op.call(input, k, dim, largest, sorted)


# -- unique ------------------------------------------------------------------------------------------------------------
@composite(method=True)
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """Return the distinct elements (or slices along `dim`) in ascending order; on request also the index of each input
    element in the result, and the counts. Not differentiable.

    In torch, sorted=False may return any order; here the order is the same. Source: torch.unique."""
    check_tensors("_unique2", input=input)
    check_settings("_unique2", ("sorted", None, "bool", sorted))
    with input.device.backend:
        values, inverse, counts = input.device.xp.unique(
            input._array, return_inverse=True, return_counts=True, axis=dim, equal_nan=False
        )
    inverse = inverse.reshape(input.shape if dim is None else -1)
    asked = ((inverse, return_inverse), (counts, return_counts))
    found = [wrap(values), *(wrap(positions(t)) for t, wanted in asked if wanted)]
    return tuple(found) if len(found) > 1 else found[0]


# -- counting ----------------------------------------------------------------------------------------------------------
@composite(method=True)
def bincount(input, weights=None, minlength=0):
    """Return the number of occurrences of each of 0, 1, 2 … in a 1-d integer tensor; with `weights`, the sum of their
    weights. Source: torch.bincount."""
    d, xp = input._array, input.device.xp
    if d.dtype.kind not in "iu":
        raise not_implemented("bincount_cpu", d.dtype)
    message = "bincount only supports 1-d non-negative integral inputs."
    negative = d.ndim != 1 or d.size and d.min() < 0
    refuse_if(
        negative, message, "bincount counts non-negative integers of a one-dimensional tensor."
    )
    if weights is None:
        return wrap(positions(xp.bincount(as_indices(d), None, minlength)))
    refuse_if(
        weights._array.shape != d.shape,
        "weights should be 1-d and have the same length as input",
        "Each element carries one weight.",
    )
    sums = xp.bincount(as_indices(d), weights._array, minlength)
    return wrap(sums.astype(np.float32) if weights.dtype.name == "float32" else sums)


def _range(name, d, low, high, given):
    """Return the limits of a histogram; by default the smallest and largest value of the data."""
    if not given and d.size:
        low, high = d.min(), d.max()
    refuse_if(
        not -math.inf < low <= high < math.inf,
        f"torch.{name}: range of [{float(low):g}, {float(high):g}] is not finite or falls",
        "Give the range from low to high, or remove nan and inf first.",
    )
    return float(low), float(high)


def _flat(name, input, bins):
    if not input.dtype.is_floating_point:
        raise not_implemented(name, input._array.dtype)
    refuse_if(
        bins <= 0,
        f"torch.{name}(): bins must be > 0, but got {bins}",
        "`bins` must be at least 1.",
    )
    return input._array.reshape(-1)


@composite(method=True)
def histc(input, bins=100, min=0, max=0):
    """Return a histogram: the number of elements in each of `bins` bins of equal width from min to max (if both are
    equal, the limits of the data).

    Elements outside the range are not counted. Raise RuntimeError if the range is empty or infinite. Source:
    torch.histc."""
    d = _flat("histc", input, bins)
    min, max = _range("histc", d, min, max, min != max)
    if min == max:
        min, max = min - 1, max + 1
    inside = d[(d >= min) & (d <= max)]
    low, high, n = map(d.dtype.type, (min, max, bins))
    place = np.minimum(((inside - low) * n / (high - low)).astype(np.int64), bins - 1)
    counted = input.device.xp.bincount(as_indices(place), minlength=bins)
    return wrap(counted.astype(d.dtype))


_HISTOGRAM = return_type("histogram", ("hist", "bin_edges"))


@composite(method=True)
def histogram(input, bins=100, *, range=None, density=False):
    """Return (hist, bin_edges): the number of elements in each bin, and the edges of the bins (one more than bins).

    bins: the number of bins of equal width over range (min, max; the limits of the data if None). density: divide so
    that the areas of the bins add up to 1. Elements outside the range are not counted. Not differentiable. Raise
    RuntimeError for an empty or infinite range. Source: torch.histogram."""
    if isinstance(bins, Tensor):
        raise unsupported("histogram", "bins", "Pass the number of bins and their range.")
    d = _flat("histogram", input, bins)
    message = "torch.histogramdd: for a 1-dimensional histogram range should have 2 elements"
    wrong = range is not None and len(range) != 2
    refuse_if(wrong, f"{message}, but got {len(range or ())}", "Pass range=(lowest, highest).")
    low, high = _range("histogram", d, *(range or (0.0, 1.0)), range is not None)
    half = 0.5 if low == high else 0.0
    edges = linspace(low - half, high + half, bins + 1, dtype=input.dtype, device=input.device)
    ends, xp = edges._array, input.device.xp
    inside = d[(d >= ends[0]) & (d <= ends[-1])]
    # The last bin includes its right edge, too.
    place = xp.clip(xp.searchsorted(ends, inside, side="right") - 1, 0, bins - 1)
    counted = xp.bincount(as_indices(place), minlength=bins).astype(d.dtype)
    counted = counted / counted.sum() / (ends[1:] - ends[:-1]) if density else counted
    return _HISTOGRAM((wrap(counted), edges))
