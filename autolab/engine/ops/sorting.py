"""Order and frequency: sort, argsort, topk, unique, bincount, histc, histogram."""

from __future__ import annotations

import numpy as np

from ..exact.arguments import check_tensors
from ..core.errors import fail
from ..exact.refusals import check_dim, unsupported
from ..exact.dtype_errors import no_complex, not_implemented
from .functions import composite
from .return_types import return_type
from ..core.tensor import Tensor, wrap
from ..exact.kinds import check_settings
from ..exact.dtypes import as_indices, positions
from .extremes import only_element, picked, picked_rule
from .remainder import not_differentiable


# -- sort, topk --------------------------------------------------------------------------------------------------------
def _order(xp, self, dim, descending):
    """Return the indices that sort `self` along `dim`, equal elements in their original order; nan counts as
    largest."""
    if not descending:
        return positions(xp.argsort(self, axis=dim, kind="stable"))
    # the reverse of a stable sort of the reverse: descending, and still stable
    last = self.shape[dim] - 1
    return last - xp.flip(positions(xp.argsort(xp.flip(self, dim), axis=dim, kind="stable")), dim)


def _sort(xp, self, dim, descending):
    no_complex(self, " Sort does not support complex dtypes on CPU", RuntimeError)
    if self.ndim == 0:
        return only_element(xp, self)
    order = _order(xp, self, dim, descending)
    return _like(xp, self, xp.take_along_axis(self, order, dim)), _like(xp, self, order)


def _like(xp, self, array):
    """Return `array` in the memory order of `self`."""
    if self.flags.c_contiguous and array.flags.c_contiguous:
        return array
    out = xp.empty_like(self, array.dtype)
    out[...] = array
    return out


def _topk(xp, self, k, dim, largest, sorted):
    no_complex(self, " topk does not support complex dtypes on CPU", RuntimeError)
    if self.dtype == bool:
        raise fail(
            RuntimeError,
            "topk does not support bool dtypes on CPU",
            "Convert the mask to numbers first: mask.int().",
        )
    if self.ndim == 0:
        return only_element(xp, self)
    order = xp.moveaxis(xp.moveaxis(_order(xp, self, dim, largest), dim, -1)[..., :k], -1, dim)
    return xp.take_along_axis(self, order, dim), xp.ascontiguousarray(order)


def _spread_rule(m, g, dim, indices, self_sym_sizes):
    return picked_rule(m, g, dim, indices, True, self_sym_sizes)


# torch records the stable form of sort under another name
sort_op, sort_stable = (
    picked(
        "sort",
        f"{name}(Tensor self, int dim=-1, bool descending=False)",
        _sort,
        node,
        _spread_rule,
        latex=r"\mathrm{sort}({self})",
        samples=lambda s: [s.distinct(4), (s.distinct(2, 3), 0, True)],
    )
    for name, node in (("sort", "SortBackward0"), ("sort_stable", "SortBackward1"))
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
    """Return (values, indices) sorted along `dim`; equal elements keep their order, nan counts as largest. Source:
    torch.sort."""
    check_dim(dim, input._array.ndim)
    return (sort_op if stable is None else sort_stable).call(input, dim, bool(descending))


@composite(method=True)
def argsort(input, dim=-1, descending=False, stable=False):
    """Return the indices that sort along `dim`. Source: torch.argsort."""
    return sort(input, dim, descending)[1]


@composite(method=True)
def topk(input, k, dim=-1, largest=True, sorted=True):
    """Return (values, indices) of the k largest (or smallest) elements along `dim`, in order. Source: torch.topk."""
    check_dim(dim, input._array.ndim)
    if not 0 <= k <= (input._array.shape[dim] if input._array.ndim else 1):
        raise fail(
            RuntimeError,
            "selected index k out of range",
            "k can be at most the size of the dimension.",
        )
    return topk_op.call(input, k, dim, largest, sorted)


# -- unique ------------------------------------------------------------------------------------------------------------
def _unique(xp, self, dim):
    values, inverse, counts = xp.unique(
        self, return_inverse=True, return_counts=True, axis=dim, equal_nan=False
    )
    return values, positions(inverse).reshape(self.shape if dim is None else -1), positions(counts)


unique_op, unique_dim_op = (
    not_differentiable(
        schema,
        name,
        node=node,
        forward=_unique,
        differentiable=("self",),
        outputs=("values", "inverse", "counts"),
        nondiff=("inverse", "counts"),
        latex=r"\mathrm{unique}({self})",
        samples=samples,
    )
    for schema, name, node, samples in (
        (
            "unique_values(Tensor self, object? dim=None)",
            "_unique2",
            "Unique2Backward0",
            lambda s: [np.array([2.0, 1.0, 2.0])],
        ),
        (
            "unique_dim(Tensor self, int dim)",
            "unique_dim",
            "UniqueDimBackward0",
            lambda s: [(np.array([[2.0, 1.0], [2.0, 1.0]]), 0)],
        ),
    )
)


@composite(method=True)
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """Return the different elements (or slices along `dim`) in rising order; on request also where each went, and how
    often it occurs.

    sorted=False may return any order in torch; here it is the same. Source: torch.unique."""
    check_tensors("_unique2", input=input)
    if dim is None:
        given = {"sorted": sorted, "return_inverse": return_inverse, "return_counts": return_counts}
        check_settings("_unique2", *[(name, None, "bool", flag) for name, flag in given.items()])
    else:
        check_settings("unique_dim", ("dim", 2, "int", dim))
    values, *rest = (unique_op if dim is None else unique_dim_op).call(input, dim)
    asked = [t for t, wanted in zip(rest, (return_inverse, return_counts)) if wanted]
    return (values, *asked) if asked else values


# -- counting ----------------------------------------------------------------------------------------------------------
@composite(method=True)
def bincount(input, weights=None, minlength=0):
    """Return how often each of 0, 1, 2 … occurs in a 1-d integer tensor; with `weights` the sum of the weights there.
    Source: torch.bincount."""
    d = input._array
    if d.dtype.kind not in "iu":
        raise not_implemented("bincount_cpu", d.dtype)
    for wrong, message, note in (
        (
            d.ndim != 1 or (d.size and d.min() < 0),
            "bincount only supports 1-d non-negative integral inputs.",
            "The elements are positions in the result.",
        ),
        (
            weights is not None and weights._array.shape != d.shape,
            "weights should be 1-d and have the same length as input",
            "Each element carries one weight.",
        ),
        (minlength < 0, "minlength should be >= 0", "It is the smallest length of the result."),
    ):
        if wrong:
            raise fail(RuntimeError, message, note)
    xp = input.device.xp
    if weights is None:
        return wrap(positions(xp.bincount(as_indices(d), None, minlength)))
    sums = xp.bincount(as_indices(d), weights._array, minlength)
    return wrap(sums.astype(np.float32) if weights.dtype.name == "float32" else sums)


def _check_bins(bins):
    if bins <= 0:
        raise fail(
            RuntimeError,
            f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0",
            "A histogram needs at least one bar.",
        )


@composite(method=True)
def histc(input, bins=100, min=0, max=0):
    """Return a histogram: how many elements fall into each of `bins` bars of equal width from min to max (from the
    data's when both are equal).

    Elements outside are not counted. Raises RuntimeError when the range is empty or infinite. Source: torch.histc."""
    d = input._array.reshape(-1)
    if d.dtype.kind != "f":
        raise not_implemented("histogram_cpu", d.dtype)
    _check_bins(bins)
    if min == max and d.size:
        min, max = float(d.min()), float(d.max())
    if min == max:
        min, max = min - 1, max + 1
    if not (np.isfinite(min) and np.isfinite(max)):
        message = f"torch.histc: range of [{min:g}, {max:g}] is not finite"
        raise fail(RuntimeError, message, "Give min and max, or remove nan and inf first.")
    if min > max:
        message = "torch.histc: max must be larger than min"
        raise fail(RuntimeError, message, "The range runs from min to max.")
    inside = d[(d >= min) & (d <= max)]
    low, high, n = map(d.dtype.type, (min, max, bins))
    place = np.minimum(((inside - low) * n / (high - low)).astype(np.int64), bins - 1)
    counted = input.device.xp.bincount(as_indices(place), minlength=bins)
    return wrap(counted.astype(d.dtype))


def _histogram(xp, self, bins, range, density):
    flat = self.reshape(-1)
    edges = _edges(xp, flat, bins, range)
    inside = flat[(flat >= edges[0]) & (flat <= edges[-1])]
    # the last bar includes its right end, too
    place = xp.clip(xp.searchsorted(edges, inside, side="right") - 1, 0, bins - 1)
    counted = xp.bincount(as_indices(place), minlength=bins).astype(self.dtype)
    return (counted / counted.sum() / (edges[1:] - edges[:-1]) if density else counted), edges


def _edges(xp, flat, bins, range):
    """Return the ends of `bins` bars of equal width, counted from the nearer end as torch.linspace does."""
    kind = flat.dtype.type
    if range is not None or not flat.size:
        low, high = map(kind, range or (0, 1))
    else:
        low, high = flat.min(), flat.max()
    if not bool(xp.isfinite(low) & xp.isfinite(high)):
        message = f"torch.histogramdd: dimension 0's range [{float(low):g}, {float(high):g}] is not finite"
        raise fail(RuntimeError, message, "Give range, or remove nan and inf first.")
    if range is not None and low > high:
        message = f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension 0"
        raise fail(RuntimeError, message, "The range runs from min to max.")
    half = xp.where(low == high, kind(0.5), kind(0))
    low, high = low - half, high + half
    step, k = (high - low) / kind(bins), xp.arange(bins + 1)
    return xp.where(
        k < (bins + 1) // 2,
        low + step * k.astype(flat.dtype),
        high - step * (bins - k).astype(flat.dtype),
    )


histogram_op = not_differentiable(
    "histogram(Tensor self, int bins, float[]? range, bool density)",
    "histogram",
    forward=_histogram,
    differentiable=("self",),
    outputs=("hist", "bin_edges"),
    return_type=return_type("histogram", ("hist", "bin_edges")),
    latex=r"\mathrm{histogram}({self})",
    samples=lambda s: [(np.array([0.5, 1.0, 3.0]), 2, None, False)],
)


@composite(method=True)
def histogram(input, bins=100, *, range=None, density=False):
    """Return (hist, bin_edges): how many elements fall into each bar, and where the bars end, one number more than
    bars.

    bins: the number of bars of equal width over range (min, max; from the data's where it is None). density: divide so
    that the bars' areas add up to 1. Elements outside are not counted. Not differentiable. Raises RuntimeError for an
    empty or infinite range. Source: torch.histogram."""
    if isinstance(bins, Tensor):
        raise unsupported("histogram", "bins", "Give the number of bars, and their range.")
    _check_bins(bins)
    if range is not None and len(range) != 2:
        message = f"torch.histogramdd: for a 1-dimensional histogram range should have 2 elements, but got {len(range)}"
        raise fail(RuntimeError, message, "range is (min, max).")
    if not input.dtype.is_floating_point:
        raise not_implemented("histogramdd", input._array.dtype)
    return histogram_op.call(input, bins, range, density)
