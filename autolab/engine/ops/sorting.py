"""Order and frequency: sort, argsort, topk, unique, bincount, histc, histogram."""

from __future__ import annotations

import numpy as np

from ..exact.arguments import check_tensors, mismatch
from ..core.errors import fail
from ..exact.refusals import check_dim
from ..exact.dtype_errors import no_complex, not_implemented
from ..kernels.scatter import add_at
from .functions import composite
from .return_types import return_type
from ..core.tensor import Tensor, wrap
from ..exact.dtypes import as_indices, positions
from .extremes import picked, picked_rule
from .remainder import not_differentiable


# -- sort, topk --------------------------------------------------------------------------------------------------------
def _order(xp, self, dim, descending):
    """Indices that sort `self` along `dim`, equal elements in their original order; nan counts as largest."""
    if not descending:
        return positions(xp.argsort(self, axis=dim, kind="stable"))
    # the reverse of a stable sort of the reverse: descending, and still stable
    last = self.shape[dim] - 1
    return last - xp.flip(positions(xp.argsort(xp.flip(self, dim), axis=dim, kind="stable")), dim)


def _sort(xp, self, dim, descending):
    no_complex(self, " Sort does not support complex dtypes on CPU", RuntimeError)
    if self.ndim == 0:
        return self.copy(), xp.zeros((), np.int64)[()]
    order = _order(xp, self, dim, descending)
    return _like(xp, self, xp.take_along_axis(self, order, dim)), _like(xp, self, order)


def _like(xp, self, array):
    """`array` in the order of memory that `self` has."""
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
        return self.copy(), xp.zeros((), np.int64)[()]
    order = xp.moveaxis(xp.moveaxis(_order(xp, self, dim, largest), dim, -1)[..., :k], -1, dim)
    return xp.take_along_axis(self, order, dim), xp.ascontiguousarray(order)


def _spread_rule(m, g, dim, indices, self_sym_sizes):
    return picked_rule(m, g, dim, indices, True, self_sym_sizes)


sort_op = picked(
    "sort",
    "sort(Tensor self, int dim=-1, bool descending=False)",
    _sort,
    "SortBackward0",
    vjp={"self": _spread_rule},
    latex=r"\mathrm{sort}({self})",
    samples=lambda s: [s.distinct(4), (s.distinct(2, 3), 0, True)],
)
sort_stable = picked(
    "sort",
    "sort_stable(Tensor self, int dim=-1, bool descending=False)",
    _sort,
    "SortBackward1",
    vjp={"self": _spread_rule},
    latex=r"\mathrm{sort}({self})",
    samples=lambda s: [s.distinct(4), (s.distinct(2, 3), 0, True)],
)
topk_op = picked(
    "topk",
    "topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True)",
    _topk,
    "TopkBackward0",
    vjp={"self": _spread_rule},
    latex=r"\mathrm{top}_{{k}}({self})",
    samples=lambda s: [(s.distinct(5), 2), (s.distinct(3, 2), 2, 0, False)],
)


@composite(method=True)
def sort(input, dim=-1, descending=False, stable=None):
    """(values, indices) sorted along `dim`; equal elements keep their order, nan counts as largest. Source:
    torch.sort."""
    check_dim(dim, input._array.ndim)
    return (sort_op if stable is None else sort_stable).call(input, dim, bool(descending))


@composite(method=True)
def argsort(input, dim=-1, descending=False, stable=False):
    """The indices that sort along `dim`. Source: torch.argsort."""
    return sort(input, dim, descending)[1]


@composite(method=True)
def topk(input, k, dim=-1, largest=True, sorted=True):
    """(values, indices) of the k largest (or smallest) elements along `dim`, in order. Source: torch.topk."""
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


_UNIQUE = {
    "forward": _unique,
    "differentiable": ("self",),
    "outputs": ("values", "inverse", "counts"),
    "nondiff": ("inverse", "counts"),
    "latex": r"\mathrm{unique}({self})",
}
unique_op = not_differentiable(
    "unique_values(Tensor self, object? dim=None)",
    "_unique2",
    node="Unique2Backward0",
    **_UNIQUE,
    samples=lambda s: [np.array([2.0, 1.0, 2.0])],
)
unique_dim_op = not_differentiable(
    "unique_dim(Tensor self, int dim)",
    "unique_dim",
    node="UniqueDimBackward0",
    **_UNIQUE,
    samples=lambda s: [(np.array([[2.0, 1.0], [2.0, 1.0]]), 0)],
)


def _wanted(values, inverse, counts, return_inverse, return_counts):
    results = (values, *([inverse] if return_inverse else []), *([counts] if return_counts else []))
    return results if len(results) > 1 else values


@composite(method=True)
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements (or slices along `dim`) in rising order; on request where each went, and how often it
    occurs.

    sorted=False may return any order in torch; here it is the same. Source: torch.unique."""
    check_tensors("_unique2", input=input)
    found = unique_op.call(input, None) if dim is None else unique_dim_op.call(input, dim)
    return _wanted(*found, return_inverse, return_counts)


# -- counting ----------------------------------------------------------------------------------------------------------
@composite(method=True)
def bincount(input, weights=None, minlength=0):
    """How often each of 0, 1, 2 … occurs in a 1-d integer tensor; with `weights` the sum of the weights there. Source:
    torch.bincount."""
    d = input._array
    if d.dtype.kind not in "iu":
        raise not_implemented("bincount_cpu", d.dtype)
    if d.ndim != 1 or (d.size and d.min() < 0):
        raise fail(
            RuntimeError,
            "bincount only supports 1-d non-negative integral inputs.",
            "The elements are positions in the result.",
        )
    if weights is not None and weights._array.shape != d.shape:
        raise fail(
            RuntimeError,
            "weights should be 1-d and have the same length as input",
            "Each element carries one weight.",
        )
    if minlength < 0:
        raise fail(
            RuntimeError, "minlength should be >= 0", "It is the smallest length of the result."
        )
    xp = input.device.xp
    counted = xp.bincount(as_indices(d), None if weights is None else weights._array, minlength)
    if weights is None:
        return wrap(positions(counted))
    return wrap(counted.astype(np.float32) if weights.dtype.name == "float32" else counted)


@composite(method=True)
def histc(input, bins=100, min=0, max=0):
    """A histogram with `bins` bars of equal width from min to max (from the data's when both are equal): how many
    elements fall into each.

    Elements outside are not counted. Raises RuntimeError when the range is empty or infinite. Source: torch.histc."""
    d = input._array.reshape(-1)
    if d.dtype.kind != "f":
        raise not_implemented("histogram_cpu", d.dtype)
    if bins <= 0:
        raise fail(
            RuntimeError,
            f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0",
            "A histogram needs at least one bar.",
        )
    if min == max and d.size:
        min, max = float(d.min()), float(d.max())
    if min == max:
        min, max = min - 1, max + 1
    if not (np.isfinite(min) and np.isfinite(max)):
        raise fail(
            RuntimeError,
            f"torch.histc: range of [{min:g}, {max:g}] is not finite",
            "Give min and max, or remove nan and inf first.",
        )
    if min > max:
        raise fail(
            RuntimeError,
            "torch.histc: max must be larger than min",
            "The range runs from min to max.",
        )
    inside = d[(d >= min) & (d <= max)]
    low, high = d.dtype.type(min), d.dtype.type(max)
    place = np.minimum(
        ((inside - low) * d.dtype.type(bins) / (high - low)).astype(np.int64), bins - 1
    )
    return wrap(input.device.xp.bincount(as_indices(place), minlength=bins).astype(d.dtype))


def _histogram(xp, self, bins, range, weight, density):
    flat = self.reshape(-1)
    edges = bins.copy() if hasattr(bins, "ndim") else _edges(xp, flat, bins, range)
    inside = (flat >= edges[0]) & (flat <= edges[-1])
    # the last bar has its right end, too
    place = xp.clip(xp.searchsorted(edges, flat, side="right") - 1, 0, len(edges) - 2)
    counted = xp.zeros(len(edges) - 1, self.dtype)
    add_at(
        xp,
        counted,
        (place,),
        xp.where(
            inside, flat.dtype.type(1) if weight is None else weight.reshape(-1), flat.dtype.type(0)
        ),
    )
    return (counted / counted.sum() / (edges[1:] - edges[:-1]) if density else counted), edges


def _edges(xp, flat, bins, range):
    """The ends of `bins` bars of equal width, counted from the nearer end as torch.linspace does."""
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
    "histogram(Tensor self, int bins, float[]? range, Tensor? weight, bool density)",
    "histogram",
    forward=_histogram,
    differentiable=("self",),
    outputs=("hist", "bin_edges"),
    return_type=return_type("histogram", ("hist", "bin_edges")),
    latex=r"\mathrm{histogram}({self})",
    samples=lambda s: [(np.array([0.5, 1.0, 3.0]), 2, None, None, False)],
)


@composite(method=True)
def histogram(input, bins=100, *, range=None, weight=None, density=False):
    """(hist, bin_edges): how many elements fall into each bar, and where the bars end, one number more than bars.

    bins: so many bars of equal width over range (min, max; from the data's where it is None), or the ends themselves,
    rising. weight: what each element counts; density: divide so that the bars' areas add up to 1. Elements outside are
    not counted. Not differentiable. Raises RuntimeError for an empty or infinite range. Source: torch.histogram."""
    name = "torch.histogramdd"
    if isinstance(bins, Tensor):
        if range is not None:
            raise mismatch()
        if bins._array.ndim != 1:
            message = f"{name}: bins tensor should have one dimension, but got {bins._array.ndim} dimensions in the bins tensor for dimension 0"
            raise fail(RuntimeError, message, "The ends of bars are a rising list.")
        if bins.dtype is not input.dtype:
            kinds = [
                {"float32": "float", "float64": "double"}.get(t.dtype.name, t.dtype.name)
                for t in (input, bins)
            ]
            message = (
                f"{name}: input tensor and bins tensors should have the same dtype, but got input with dtype {kinds[0]} and bins for "
                f"dimension 0 with dtype {kinds[1]}"
            )
            raise fail(RuntimeError, message, "Convert the ends: bins.to(input.dtype).")
    elif bins <= 0:
        raise fail(
            RuntimeError,
            f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0",
            "A histogram needs at least one bar.",
        )
    if range is not None and len(range) != 2:
        message = f"{name}: for a 1-dimensional histogram range should have 2 elements, but got {len(range)}"
        raise fail(RuntimeError, message, "range is (min, max).")
    if weight is not None and weight.shape != input.shape:
        message = (
            f"{name}: if weight tensor is provided it should have the same shape as the input tensor excluding its innermost dimension, but "
            f"got input with shape [{input.numel()}, 1] and weight with shape {[weight.numel()]}"
        )
        raise fail(RuntimeError, message, "Each element has a weight.")
    if not input.dtype.is_floating_point:
        raise not_implemented("histogramdd", input._array.dtype)
    return histogram_op.call(input, bins, range, weight, density)


# -- binary search -----------------------------------------------------------------------------------------------------
