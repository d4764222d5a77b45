"""Order and frequency: sort argsort msort topk, quantile, unique, bincount, histc, searchsorted."""
from __future__ import annotations

import numpy as np

from ..arguments import bad_argument, mismatch
from ..errors import check_dim, fail, no_complex, not_implemented
from ..overloading import public
from ..registry import METHODS, composite
from ..tensor import Tensor, scalar_tensor, wrap
from .extremes import picked, picked_rule
from .reduction import is_int, one_dim
from .remainder import not_differentiable


# -- sort, topk --------------------------------------------------------------------------------------------------------
def _order(xp, self, dim, descending):
    """Indices that sort `self` along `dim`, equal elements in their original order; nan counts as largest."""
    if not descending:
        return xp.argsort(self, axis=dim, kind="stable")
    # the reverse of a stable sort of the reverse: descending, and still stable
    last = self.shape[dim] - 1
    return last - xp.flip(xp.argsort(xp.flip(self, dim), axis=dim, kind="stable"), dim)


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
        raise fail(RuntimeError, "topk does not support bool dtypes on CPU", "Convert the mask to numbers first: mask.int().")
    if self.ndim == 0:
        return self.copy(), xp.zeros((), np.int64)[()]
    order = xp.moveaxis(xp.moveaxis(_order(xp, self, dim, largest), dim, -1)[..., :k], -1, dim)
    return xp.take_along_axis(self, order, dim), xp.ascontiguousarray(order)


def _spread_rule(m, g, dim, indices, self_sym_sizes):
    return picked_rule(m, g, dim, indices, True, self_sym_sizes)


sort_op = picked("sort", "sort(self, dim=-1, descending=False)", _sort, "SortBackward0", vjp={"self": _spread_rule},
                 latex=r"\mathrm{sort}({self})",
                 samples=lambda s: [s.distinct(4), (s.distinct(2, 3), 0, True)])
sort_stable = picked("sort", "sort_stable(self, dim=-1, descending=False)", _sort, "SortBackward1",
                     vjp={"self": _spread_rule},
                     latex=r"\mathrm{sort}({self})", samples=lambda s: [s.distinct(4), (s.distinct(2, 3), 0, True)])
topk_op = picked("topk", "topk(self, k, dim=-1, largest=True, sorted=True)", _topk, "TopkBackward0",
                 vjp={"self": _spread_rule},
                 latex=r"\mathrm{top}_{{k}}({self})", samples=lambda s: [(s.distinct(5), 2),
                                                                         (s.distinct(3, 2), 2, 0, False)])


_SORT = ("*, bool stable, int dim = -1, bool descending = False", "int dim = -1, bool descending = False")


@public("sort", (f"Tensor input, {_SORT[0]}, tuple of Tensors out = None",
                 f"Tensor input, {_SORT[1]}, *, tuple of Tensors out = None"), _SORT, op=sort_op)
def sort(input, dim=-1, descending=False, stable=None):
    """(values, indices) sorted along `dim`; equal elements keep their order, nan counts as largest. Source:
    torch.sort."""
    if not is_int(dim):
        raise mismatch("dim")
    check_dim(dim, input._d.ndim)
    return (sort_op if stable is None else sort_stable).call(input, dim, bool(descending))


@public("argsort", (f"Tensor input, {_SORT[0]}, Tensor out = None", f"Tensor input, {_SORT[1]}"), _SORT)
def argsort(input, dim=-1, descending=False, stable=False):
    """The indices that sort along `dim`. Source: torch.argsort."""
    return sort(input, dim, descending)[1]


@composite(method=True)
def msort(input):
    """Sorted along the first dimension. Source: torch.msort."""
    return sort(input, 0)[0]


@public("topk", op=topk_op)
def topk(input, k, dim=-1, largest=True, sorted=True):
    """(values, indices) of the k largest (or smallest) elements along `dim`, in order. Source: torch.topk."""
    if not is_int(k):
        raise bad_argument("topk", "k", 2, "int", k)
    one_dim("topk", dim, input._d.ndim, 3)
    if not 0 <= k <= (input._d.shape[dim] if input._d.ndim else 1):
        raise fail(RuntimeError, "selected index k out of range", "k can be at most the size of the dimension.")
    return topk_op.call(input, k, dim, largest, sorted)


# -- quantile ----------------------------------------------------------------------------------------------------------
@public("quantile")
def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The value below which the share `q` (a number or a 1-d tensor, from 0 to 1) of the elements lies, along `dim` or
    of all.

    Between two elements: 'linear', 'lower', 'higher', 'nearest' or 'midpoint'. Source: torch.quantile."""
    if interpolation not in ("linear", "lower", "higher", "nearest", "midpoint"):
        raise fail(RuntimeError, f"quantile() interpolation must be one of linear, lower, higher, midpoint or "
                                 f"nearest, but got {interpolation}",
                   "It says what to do between two elements.")
    shares = np.asarray(q.tolist() if isinstance(q, Tensor) else q, input.dtype.np)
    if np.any((shares < 0) | (shares > 1)):
        which, got = ("values ", "") if shares.ndim else ("", f" but got {float(shares):g}")
        raise fail(RuntimeError, f"quantile() q {which}must be in the range [0, 1]{got}", "q is a share: 0.5 is the median.")
    flat = METHODS["reshape"](input, (-1,)) if dim is None or not input._d.ndim else METHODS["movedim"](input, dim, -1)
    ordered, n = sort(flat, -1)[0], flat._d.shape[-1]
    rank = shares.reshape(-1) * (n - 1)
    whole = {"lower": np.floor, "higher": np.ceil, "nearest": np.rint}.get(interpolation)
    rank = (rank if whole is None else whole(rank)).astype(input.dtype.np)
    low = np.floor(rank).astype(np.int64)
    weight = (rank - low) if interpolation != "midpoint" else np.where(rank > low, 0.5, 0.0)
    there = lambda a: wrap(a).to(input.device)
    below = METHODS["index_select"](ordered, -1, there(low))
    if interpolation in ("linear", "midpoint"):
        above = METHODS["index_select"](ordered, -1, there(np.ceil(rank).astype(np.int64)))
        below = METHODS["lerp"](below, above, there(weight.astype(input.dtype.np)))
    found = METHODS["movedim"](below, -1, 0)
    if dim is not None:
        check_dim(dim, input._d.ndim)
    if keepdim and dim is not None and input._d.ndim:
        found = METHODS["unsqueeze"](found, 1 + dim % input._d.ndim)
    elif keepdim:
        found = METHODS["reshape"](found, (-1, *[1] * input._d.ndim))
    return METHODS["squeeze"](found, 0) if shares.ndim == 0 else found


# -- unique ------------------------------------------------------------------------------------------------------------
def _unique(xp, self, dim):
    values, inverse, counts = xp.unique(self, return_inverse=True, return_counts=True, axis=dim, equal_nan=False)
    return values, inverse.reshape(self.shape if dim is None else -1), counts


_UNIQUE = {"forward": _unique, "differentiable": ("self",), "outputs": ("values", "inverse", "counts"),
           "nondiff": ("inverse", "counts"),
           "latex": r"\mathrm{unique}({self})"}
unique_op = not_differentiable("unique_values(self, dim=None)", "_unique2", node="Unique2Backward0", **_UNIQUE,
                               samples=lambda s: [np.array([2.0, 1.0, 2.0])])
unique_dim_op = not_differentiable("unique_dim(self, dim)", "unique_dim", node="UniqueDimBackward0", **_UNIQUE,
                                   samples=lambda s: [(np.array([[2.0, 1.0], [2.0, 1.0]]), 0)])


def _wanted(values, inverse, counts, return_inverse, return_counts):
    results = (values, *([inverse] if return_inverse else []), *([counts] if return_counts else []))
    return results if len(results) > 1 else values


@composite(method=True)
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements (or slices along `dim`) in rising order; on request where each went, and how often it
    occurs.

    sorted=False may return any order in torch; here it is the same. Source: torch.unique."""
    found = unique_op.call(input, None) if dim is None else unique_dim_op.call(input, dim)
    return _wanted(*found, return_inverse, return_counts)


@composite(method=True)
def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """Like `unique`, but only neighbours are compared: runs become one element. Source: torch.unique_consecutive."""
    xp = input.device.xp
    rows = input._d.reshape(-1) if dim is None else xp.moveaxis(input._d, dim, 0)
    starts = xp.ones(rows.shape[:1], bool)
    starts[1:] = (rows[1:] != rows[:-1]).any(tuple(range(1, rows.ndim)))
    inverse = xp.cumsum(starts) - 1
    values = rows[starts] if dim is None else xp.moveaxis(rows[starts], 0, dim)
    shape = input._d.shape if dim is None else (-1,)
    found = (wrap(a, device=input.device) for a in (values, inverse.reshape(shape), xp.bincount(inverse)))
    return _wanted(*found, return_inverse, return_counts)


# -- counting ----------------------------------------------------------------------------------------------------------
@composite(method=True)
def bincount(input, weights=None, minlength=0):
    """How often each of 0, 1, 2 … occurs in a 1-d integer tensor; with `weights` the sum of the weights there. Source:
    torch.bincount."""
    d = input._d
    if d.dtype.kind not in "iu":
        raise not_implemented("bincount_cpu", d.dtype)
    if d.ndim != 1 or (d.size and d.min() < 0):
        raise fail(RuntimeError, "bincount only supports 1-d non-negative integral inputs.",
                   "The elements are positions in the result.")
    if weights is not None and weights._d.shape != d.shape:
        raise fail(RuntimeError, "weights should be 1-d and have the same length as input",
                   "Each element carries one weight.")
    if minlength < 0:
        raise fail(RuntimeError, "minlength should be >= 0", "It is the smallest length of the result.")
    xp = input.device.xp
    counted = xp.bincount(d, None if weights is None else weights._d, minlength)
    return wrap(counted.astype(np.float32) if weights is not None and weights.dtype.name == "float32" else counted,
                device=input.device)


@composite(method=True)
def histc(input, bins=100, min=0, max=0):
    """A histogram with `bins` bars of equal width from min to max (from the data's when both are equal): how many
    elements fall into each.

    Elements outside are not counted. Raises RuntimeError when the range is empty or infinite. Source: torch.histc."""
    d = input._d.reshape(-1)
    if d.dtype.kind != "f":
        raise not_implemented("histogram_cpu", d.dtype)
    if bins <= 0:
        raise fail(RuntimeError, f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0",
                   "A histogram needs at least one bar.")
    if min == max and d.size:
        min, max = float(d.min()), float(d.max())
    if min == max:
        min, max = min - 1, max + 1
    if not (np.isfinite(min) and np.isfinite(max)):
        raise fail(RuntimeError, f"torch.histc: range of [{min:g}, {max:g}] is not finite",
                   "Give min and max, or remove nan and inf first.")
    if min > max:
        raise fail(RuntimeError, "torch.histc: max must be larger than min", "The range runs from min to max.")
    inside = d[(d >= min) & (d <= max)]
    low, high = d.dtype.type(min), d.dtype.type(max)
    place = np.minimum(((inside - low) * d.dtype.type(bins) / (high - low)).astype(np.int64), bins - 1)
    return wrap(input.device.xp.bincount(place, minlength=bins).astype(d.dtype), device=input.device)


# -- binary search -----------------------------------------------------------------------------------------------------
@composite()
def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None):
    """Where each element of `input` would go in the sorted last dimension of `sorted_sequence` (left of equal ones, or
    right).

    Raises RuntimeError when the leading dimensions differ. Source: torch.searchsorted."""
    values = input if isinstance(input, Tensor) else scalar_tensor(input)
    rows, xp = sorted_sequence._d, sorted_sequence.device.xp
    side = side or ("right" if right else "left")
    if rows.ndim == 1:
        found = xp.asarray(xp.searchsorted(rows, values._d, side=side))
    else:
        if rows.shape[:-1] != values._d.shape[:-1]:
            raise fail(RuntimeError, "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
                                     "dimensions of boundaries tensor and "
                       f"input value tensor must match, but we got boundaries tensor {list(rows.shape)} and input "
                       f"value tensor {list(values._d.shape)}",
                       "Each row is searched for its own values.")
        flat = values._d.reshape(-1, values._d.shape[-1])
        pairs = zip(rows.reshape(-1, rows.shape[-1]), flat)
        found = xp.stack([xp.searchsorted(r, v, side=side) for r, v in pairs]).reshape(values._d.shape)
    return wrap(found.astype(np.int32 if out_int32 else np.int64), device=sorted_sequence.device)


@composite()
def bucketize(input, boundaries, *, out_int32=False, right=False):
    """Which interval between the sorted `boundaries` each element falls into. Source: torch.bucketize."""
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)
