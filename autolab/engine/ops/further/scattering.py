"""Entries written by mask, by position among all, or together with what is there: masked_scatter, put, scatter_reduce,
index_reduce.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.scatter_reduce.html"""

from __future__ import annotations

import numpy as np

from ...devices import demands
from ...exact.broadcasting import broadcast_error
from ...core.dtype import FROM_NUMPY
from ...core.errors import fail
from ...exact.refusals import check_dim
from ...kernels.scatter import add_at
from ..functions import composite, internal
from ..indexing import written
from ..picking import _along, _check_scatter, _row, _used


# -- by mask -----------------------------------------------------------------------------------------------------------
def _check_mask(self, mask, source):
    if self.dtype != source.dtype:
        kinds = " and ".join(FROM_NUMPY[a.dtype].short for a in (self, source))
        message = f"masked_scatter: expected self and source to have same dtypes but got{kinds}"
        raise fail(RuntimeError, message, "Convert the source first: source.to(x.dtype).")
    if mask.dtype != bool:
        message = f"masked_scatter_ only supports boolean masks, but got mask with dtype {FROM_NUMPY[mask.dtype].short}"
        raise fail(RuntimeError, message, "Compare to get a mask: x > 0.")


def _masked_scatter(xp, self, mask, source):
    try:
        shape = np.broadcast_shapes(self.shape, mask.shape)
    except ValueError:
        raise broadcast_error([self.shape, mask.shape]) from None
    _check_mask(self, mask, source)
    out = xp.array(xp.broadcast_to(self, shape), order="C")
    places = xp.nonzero(xp.broadcast_to(mask, shape).reshape(-1))[0]
    if len(places) > source.size:
        message = "Number of elements of source < number of ones in mask"
        raise fail(
            RuntimeError,
            message,
            f"The mask names {len(places)} places, the source has {source.size} numbers.",
        )
    out.reshape(-1)[places] = source.reshape(-1)[: len(places)]
    return out


def _masked_scatter_source(m, g, mask, source_sym_sizes):
    # the gradients at the places of the mask, in order; what was left over of the source has none
    taken = m.masked_select(g, mask)
    count = int(np.prod(source_sym_sizes))
    return m.reshape_raw(
        m.slice_spread(taken, (count,), 0, 0, taken.shape[0], 1), tuple(source_sym_sizes)
    )


masked_scatter_op = internal(
    "masked_scatter(Tensor self, Tensor mask, Tensor source)",
    forward=_masked_scatter,
    hidden=("self_sym_sizes",),
    vjp={
        "self": lambda m, g, mask, self_sym_sizes: m.sum_to(
            m.masked_fill(g, mask, 0), tuple(self_sym_sizes)
        ),
        "source": _masked_scatter_source,
    },
    latex=r"{self}[{mask}] := {source}",
    vjp_latex={"self": r"{g} \text{ without } {mask}", "source": r"{g}[{mask}]"},
    samples=lambda s: [
        (s.randn(3), s.index([1, 0, 1]) > 0, s.randn(2)),
        (s.randn(2, 3), s.index([1, 0, 1]) > 0, s.randn(5)),
        (s.randn(3), s.index([[1, 0, 1], [0, 1, 1]]) > 0, s.randn(2, 2)),
    ],
)


@composite(method=True)
def masked_scatter(input, mask, source):
    """A copy with numbers of `source`, in order, where `mask` (which broadcasts) is True.

    Raises RuntimeError for too few numbers and for another dtype. Source: torch.masked_scatter."""
    return masked_scatter_op.call(input, mask, source)


@composite(method=True, function=False)
def masked_scatter_(self, mask, source):
    """`masked_scatter` in place; the mask broadcasts to the tensor. Source: torch.Tensor.masked_scatter_."""
    return written(masked_scatter_op, (self, mask.expand(self.shape), source))


# -- by position among all ---------------------------------------------------------------------------------------------
def _check_put(xp, self, index, source):
    if index.dtype != np.int64:
        message = (
            f"put_(): Expected a long tensor for index, but got {FROM_NUMPY[index.dtype].short}"
        )
        raise fail(RuntimeError, message, "Positions are whole numbers: index.long().")
    if self.dtype != source.dtype:
        kinds = [FROM_NUMPY[a.dtype].short for a in (self, source)]
        message = "put_(): self and source expected to have the same dtype, but got self.dtype = {} and source.dtype = {}"
        raise fail(
            RuntimeError, message.format(*kinds), "Convert the source first: source.to(x.dtype)."
        )
    if index.size != source.size:
        message = (
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.size}, index.numel() = {index.size}"
        )
        raise fail(IndexError, message, "Each position gets one number.")
    n = self.size
    if index.size and not n:
        raise fail(
            IndexError,
            "put_(): Tried to put elements into an empty tensor",
            "It has no place for them.",
        )
    message = "out of range: tried to access index {} on a tensor of {} elements."
    note = "put counts over all elements."
    demands.in_range(xp, index, -n, n, lambda bad: fail(IndexError, message.format(bad, n), note))


def _put(xp, self, index, source, accumulate):
    _check_put(xp, self, index, source)
    flat, positions, numbers = (
        xp.array(self, order="C").reshape(-1),
        index.reshape(-1),
        source.reshape(-1),
    )
    if accumulate:
        add_at(xp, flat, (positions,), numbers)
    else:
        flat[positions] = numbers
    out = xp.empty_like(self)  # the order in memory stays
    out[...] = flat.reshape(self.shape)
    return out


put_op = internal(
    "put(Tensor self, Tensor index, Tensor source, bool accumulate=False)",
    forward=_put,
    also_saves=("source",),
    vjp={
        "self": lambda m, g, index, accumulate: (
            g if accumulate else m.put(g, index, m.zeros_like(m.take(g, index)), False)
        ),
        "source": lambda m, g, index, source: m.reshape_raw(m.take(g, index), tuple(source.shape)),
    },
    latex=r"{self}[{index}] := {source}",
    vjp_latex={"self": r"{g} \text{ without } {index}", "source": r"{g}[{index}]"},
    samples=lambda s: [
        (s.randn(2, 3), s.index([0, 4]), s.randn(2), False),
        (s.randn(4), s.index([[1], [-3]]), s.randn(2), True),
    ],
)


@composite(method=True)
def put(input, index, source, accumulate=False):
    """A copy with numbers of `source` at positions counted over all elements; `accumulate` adds them instead.

    Raises IndexError for positions out of range and numbers that do not fit. Source: torch.put."""
    return put_op.call(input, index, source, accumulate)


@composite(method=True, function=False)
def put_(self, index, source, accumulate=False):
    """`put` in place. Source: torch.Tensor.put_."""
    return written(put_op, (self, index, source, accumulate))


# -- together with what is there ---------------------------------------------------------------------------------------
_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def _neutral(dtype, reduce):
    """The number that a reduction of none starts from."""
    if reduce in ("sum", "mean", "prod"):
        return dtype.type(reduce == "prod")
    if dtype.kind == "f":
        return dtype.type(-np.inf if reduce == "amax" else np.inf)
    if dtype.kind == "b":
        return reduce == "amin"
    return getattr(np.iinfo(dtype), "min" if reduce == "amax" else "max")


def _combine(xp, out, d, key, values, reduce):
    if reduce in ("sum", "mean"):
        add_at(xp, out, key, values)
    else:
        combine = {"prod": xp.multiply, "amax": xp.maximum, "amin": xp.minimum}[reduce]
        if xp is np:
            combine.at(out, key, values)
            return
        # CuPy's atomics cannot multiply, and they round a float64 maximum to float32. Within one slice along d no place
        # repeats.
        for k in range(values.shape[d]):
            one = (slice(None),) * d + (slice(k, k + 1),)
            places = tuple(xp.broadcast_to(i, values.shape)[one] for i in key)
            out[places] = combine(out[places], values[one])


def _scatter_reduce(xp, self, dim, index, src, reduce, include_self):
    if reduce not in _REDUCTIONS:
        message = f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        raise fail(RuntimeError, message, "It says what becomes of numbers that meet at one place.")
    d = check_dim(dim, self.ndim)
    if not index.size:
        return xp.array(self, order="C")
    _check_scatter(self, d, index, src)
    if reduce == "mean" and self.dtype == bool:
        message = "\"scatter_gather_tensor_cpu_reduce_mean\" not implemented for 'Bool'"
        raise fail(NotImplementedError, message, "Masks have no mean: convert them with .float().")
    # half floats are added up as floats, as in torch
    out = xp.array(self, order="C", dtype=np.float32 if self.dtype == np.float16 else self.dtype)
    row = _row(out)
    key = _along(xp, row, d, index)
    if not include_self:
        row[key] = _neutral(out.dtype, reduce)
    _combine(xp, row, d, key, _used(src, index), reduce)
    if reduce == "mean":
        count = _row(xp.full(self.shape, include_self, out.dtype))
        add_at(xp, count, key, xp.ones(index.shape, out.dtype))
        count[count == 0] = 1
        row[...] = row / count if out.dtype.kind == "f" else row // count
    return out.astype(self.dtype)


def _without_own(m, g, dim, index, include_self):
    """The gradient of `self` where the result has nothing of it."""
    return g if include_self else m.scatter_value(g, dim, index, 0.0)


def _own_share(m, g, self, dim, index, src, reduce, include_self, result):
    if reduce == "prod":
        filled = m.masked_fill(
            self, self == 0, 1
        )  # the product of the others, also where this number is 0
        g = (g * m.scatter_reduce(filled, dim, index, src, reduce, include_self)) / filled
    elif reduce == "mean":
        g = g / _counts(m, g, dim, index, src, include_self)
    elif reduce != "sum":
        # NaN where NaN won, for it equals nothing; as in torch
        g = (self == result) * (g / _winners(m, self, dim, index, src, result))
    return _without_own(m, g, dim, index, include_self)


def _check_source(index, src, reduce):
    """Raises torch's error for a source longer than the index: forward leaves the rest out, backward cannot."""
    got, wanted = list(index.shape), list(src.shape)
    if reduce in ("sum", "mean") and got != wanted:
        message = (
            f"Function ScatterReduceBackward0 returned an invalid gradient at index 1 - got {got} but expected shape "
            f"compatible with {wanted}"
        )
        raise fail(RuntimeError, message, "Cut the source to the shape of the index before.")
    if got != wanted:
        raise broadcast_error([src.shape, index.shape])


def _source_share(m, g, self, dim, index, src, reduce, include_self, result):
    if reduce in ("sum", "mean"):
        _check_source(index, src, reduce)
    if reduce == "sum":
        return m.gather(g, dim, index)
    if reduce == "mean":
        return m.gather(g, dim, index) / m.gather(
            _counts(m, g, dim, index, src, include_self), dim, index
        )
    if reduce == "prod":
        return _factor_share(m, g, self, dim, index, src, include_self, result)
    shared = m.gather(g / _winners(m, self, dim, index, src, result), dim, index)
    return (src == m.gather(result, dim, index)) * shared


def _counts(m, g, dim, index, src, include_self):
    """How many numbers were averaged at each place, at least 1."""
    start = m.zeros_like(g) + 1 if include_self else m.zeros_like(g)
    count = m.scatter_add(start, dim, index, m.zeros_like(src) + 1)
    return m.masked_fill(count, count == 0, 1)


def _winners(m, self, dim, index, src, result):
    """How many numbers equal the extreme at their place; `self` counts even where it was left out, as in torch."""
    _check_source(index, src, "amax")
    own = m.where(self == result, m.zeros_like(self) + 1, 0.0)
    return m.scatter_add(
        own, dim, index, m.where(src == m.gather(result, dim, index), m.zeros_like(src) + 1, 0.0)
    )


def _factor_share(m, g, self, dim, index, src, include_self, result):
    # the only 0 at its place gets the product of the others; two of them leave each other none
    zero = src == 0
    zeros = m.scatter_add(m.zeros_like(self), dim, index, m.where(zero, m.zeros_like(src) + 1, 0.0))
    single = m.logical_and(zero, m.gather(zeros, dim, index) == 1)
    others = m.scatter_reduce(self, dim, index, m.masked_fill(src, single, 1), "prod", include_self)
    return m.where(
        single,
        m.gather(g * others, dim, index),
        m.gather(g * result, dim, index) / m.masked_fill(src, zero, 1),
    )


scatter_reduce_op = internal(
    "scatter_reduce(Tensor self, int dim, Tensor index, Tensor src, str reduce, bool include_self=True)",
    forward=_scatter_reduce,
    vjp={
        "self": lambda m, g, self, dim, index, src, reduce, include_self, result: _own_share(
            m, g, self, dim, index, src, reduce, include_self, result
        ),
        "src": lambda m, g, self, dim, index, src, reduce, include_self, result: _source_share(
            m, g, self, dim, index, src, reduce, include_self, result
        ),
    },
    latex=r"\mathrm{{reduce}}({self}[{index}], {src})",
    vjp_latex={
        "self": r"{g} \cdot \frac{\partial {result}}{\partial {self}}",
        "src": r"({g} \cdot \frac{\partial {result}}{\partial {src}})[{index}]",
    },
    samples=lambda s: [
        (s.distinct(2, 3), 1, s.index([[0, 0], [2, 1]]), s.distinct(2, 2) + 0.1, reduce, include)
        for reduce in _REDUCTIONS
        for include in (True, False)
    ],
)


@composite(method=True)
def scatter_reduce(input, dim, index, src, reduce, *, include_self=True):
    """A copy in which what `src` puts at one place is combined, with what was there where `include_self` says so.

    reduce: 'sum', 'prod', 'mean', 'amax' or 'amin'. Raises RuntimeError for another one, and for an index that does not
    fit. Where extremes tie, each gets its share of the gradient. Source: torch.scatter_reduce."""
    return scatter_reduce_op.call(input, dim, index, src, reduce, include_self)


@composite(method=True, function=False)
def scatter_reduce_(self, dim, index, src, reduce, *, include_self=True):
    """`scatter_reduce` in place. Source: torch.Tensor.scatter_reduce_."""
    return written(scatter_reduce_op, (self, dim, index, src, reduce, include_self))


# -- whole slices together with what is there --------------------------------------------------------------------------
def _check_index_reduce(self, d, index, source, reduce):
    if reduce not in _REDUCTIONS[1:]:
        message = f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}."
        raise fail(RuntimeError, message, "index_add adds.")
    if index.ndim > 1:
        kind = FROM_NUMPY[index.dtype].short
        message = f"index_reduce_(): Index is supposed to be a vector, but got dim: {index.ndim} with type: {kind} and size: {list(index.shape)}"
        raise fail(IndexError, message, "The positions are a list of whole numbers.")
    if index.dtype not in (np.int32, np.int64):
        message = f"index_reduce_(): Expected dtype int32/int64 for index but got: {FROM_NUMPY[index.dtype].short}"
        raise fail(RuntimeError, message, "The positions are a list of whole numbers.")
    if self.dtype != source.dtype:
        kinds = [FROM_NUMPY[a.dtype].short for a in (self, source)]
        message = (
            "index_reduce_(): self ({}) and source ({}) must have the same scalar type".format(
                *kinds
            )
        )
        raise fail(RuntimeError, message, "Convert the source first: source.to(x.dtype).")
    if d and d >= source.ndim:
        message = f"index_reduce_(): Indexing dim {d} is out of bounds of tensor"
        raise fail(RuntimeError, message, "The source has a slice for each position.")
    n = source.shape[d] if source.ndim else 1
    if index.size != n:
        message = f"index_reduce_(): Number of indices ({index.size}) should be equal to source.size(dim): ({n}), for dim: {d}"
        raise fail(RuntimeError, message, "The source has a slice for each position.")
    if source.ndim != self.ndim or any(
        a != b for k, (a, b) in enumerate(zip(self.shape, source.shape)) if k != d
    ):
        message = (
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(self.shape)} source.shape = {list(source.shape)}"
        )
        raise fail(RuntimeError, message, "Each slice of the source meets a slice of the tensor.")


def _spread_index(reshape, expand, index, dim, source):
    """The list of positions as the index that `scatter_reduce` takes: the same position for a whole slice."""
    shape = tuple(source.shape)
    return expand(reshape(index, tuple(n if k == dim else 1 for k, n in enumerate(shape))), shape)


def _index_reduce(xp, self, dim, index, source, reduce, include_self):
    d = check_dim(dim, self.ndim)
    _check_index_reduce(self, d, index, source, reduce)
    n = self.shape[d] if self.ndim else 1
    message = "index out of range in self"
    demands.in_range(
        xp,
        index,
        0,
        n,
        lambda bad: fail(IndexError, message, f"Positions count from 0 to {n - 1}."),
    )
    if not self.ndim:
        return _scatter_reduce(
            xp,
            self.reshape(1),
            0,
            index.reshape(1).astype(np.int64),
            source.reshape(1),
            reduce,
            include_self,
        ).reshape(())
    spread = _spread_index(xp.reshape, xp.broadcast_to, index.astype(np.int64), d, source)
    return _scatter_reduce(xp, self, d, spread, source, reduce, include_self)


def _index_reduce_rule(share):
    def rule(m, g, self, dim, index, source, reduce, include_self, result):
        if not len(self.shape):
            parts = [m.reshape_raw(x, (1,)) for x in (g, self, source, result)]
            return m.reshape_raw(
                share(
                    m,
                    parts[0],
                    parts[1],
                    0,
                    m.reshape_raw(index, (1,)),
                    parts[2],
                    reduce,
                    include_self,
                    parts[3],
                ),
                (),
            )
        dim = dim % len(self.shape)
        return share(
            m,
            g,
            self,
            dim,
            _spread_index(m.reshape_raw, m.expand, index, dim, source),
            source,
            reduce,
            include_self,
            result,
        )

    return rule


index_reduce_op = internal(
    "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, bool include_self=True)",
    forward=_index_reduce,
    vjp={"self": _index_reduce_rule(_own_share), "source": _index_reduce_rule(_source_share)},
    latex=r"\mathrm{{reduce}}({self}[{index}], {source})",
    vjp_latex={
        "self": r"{g} \cdot \frac{\partial {result}}{\partial {self}}",
        "source": r"({g} \cdot \frac{\partial {result}}{\partial {source}})[{index}]",
    },
    samples=lambda s: [
        (s.distinct(3, 2), 0, s.index([2, 2]), s.distinct(2, 2) + 0.1, reduce, include)
        for reduce in _REDUCTIONS[1:]
        for include in (True, False)
    ],
)


@composite(method=True)
def index_reduce(input, dim, index, source, reduce, *, include_self=True):
    """A copy in which slices of `source` are combined with the slices at the positions `index`: `scatter_reduce` for
    whole slices.

    reduce: 'prod', 'mean', 'amax' or 'amin'; include_self: whether what was there counts. Raises RuntimeError for
    another one, and for a source that does not fit. Source: torch.index_reduce."""
    return index_reduce_op.call(input, dim, index, source, reduce, include_self)


@composite(method=True, function=False)
def index_reduce_(self, dim, index, source, reduce, *, include_self=True):
    """`index_reduce` in place. Source: torch.Tensor.index_reduce_."""
    return written(index_reduce_op, (self, dim, index, source, reduce, include_self))
