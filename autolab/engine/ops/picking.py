"""Entries and slices picked or written by index tensors: gather, scatter, index_select, take, masked_select, nonzero."""

from __future__ import annotations

import numpy as np

from .. import demands
from ..dtype import FROM_NUMPY
from ..errors import check_dim, fail, unsupported
from ..kernels.scatter import add_at
from ..registry import METHODS, composite, register
from ..tensor import Tensor, wrap
from .indexing import at, written


# -- gather, scatter -------------------------------------------------------------------------------------------------------
def _along(xp, self, dim, index):
    n = self.shape[dim]
    demands.in_range(
        xp,
        index,
        0,
        n,
        lambda bad: fail(
            RuntimeError,
            f"index {bad} is out of bounds for dimension {dim} with size {n}",
            f"Each index counts from 0 to {n - 1}.",
        ),
    )
    if not index.ndim:
        return (index,)
    grid = [xp.arange(k).reshape(-1, *(1,) * (index.ndim - 1 - i)) for i, k in enumerate(index.shape)]
    grid[dim] = index
    return tuple(grid)


def _row(x):
    """A view of `x` with one dimension at least: an index of a 0-d tensor counts in a list of one."""
    return x if x.ndim else x.reshape(1)


def _matching(name, self, index):
    if self.ndim != index.ndim and max(self.ndim, 1) != max(index.ndim, 1):
        raise fail(
            RuntimeError,
            "Index tensor must have the same number of dimensions as "
            + ("input tensor" if name == "gather" else "self tensor"),
            f"The tensor has {self.ndim} dimensions, the index {index.ndim}.",
        )


def _gather(xp, self, dim, index, sparse_grad):
    _matching("gather", self, index)
    d = check_dim(dim, self.ndim)
    for i, (n, k) in enumerate(zip(self.shape, index.shape)):
        if i != d and k > n:
            raise fail(
                RuntimeError,
                f"Size does not match at dimension {i} expected index {list(index.shape)} to be no larger than self {list(self.shape)} "
                f"apart from dimension {d}",
                "Only the gathered dimension of the index may be longer.",
            )
    row = _row(self)
    return xp.array(row[_along(xp, row, d, index)])


gather = register(
    "gather(self, dim, index, *, sparse_grad=False)",
    forward=_gather,
    vjp={"self": lambda m, g, self, dim, index: m.scatter_add(m.zeros_like(self), dim, index, g)},
    also_saves=("sparse_grad",),
    latex=r"{self}[{index}]",
    vjp_latex={"self": r"\sum {g} \text{ at } {index}"},
    samples=lambda s: [(s.randn(2, 3), 1, s.index([[0, 2], [1, 1]]))],
    doc="Entries picked along a dimension by an index tensor. Source: torch.gather",
)


def _scatter(xp, self, dim, index, src):
    _matching("scatter", self, index)
    d = check_dim(dim, self.ndim)
    out = xp.array(self)
    source = src if not getattr(src, "ndim", 0) else src[tuple(slice(0, n) for n in index.shape)]
    row = _row(out)
    row[_along(xp, row, d, index)] = source
    return out


def _scatter_add(xp, self, dim, index, src):
    _matching("scatter", self, index)
    out = xp.array(self)
    source = src[tuple(slice(0, n) for n in index.shape)] if index.ndim else src
    row = _row(out)
    add_at(xp, row, _along(xp, row, check_dim(dim, self.ndim), index), source)
    return out


scatter_op = register(
    "scatter(self, dim, index, src)",
    forward=_scatter,
    method=False,
    function=False,
    vjp={
        "self": lambda m, g, dim, index: m.scatter_value(g, dim, index, 0.0),
        "src": lambda m, g, dim, index: m.gather(g, dim, index),
    },
    latex=r"{self}[{index}] := {src}",
    vjp_latex={"self": r"{g} \text{ without } {index}", "src": r"{g}[{index}]"},
    samples=lambda s: [(s.randn(2, 3), 1, s.index([[0, 2], [1, 0]]), s.randn(2, 2))],
)
scatter_value = register(
    "scatter_value(self, dim, index, value)",
    forward=_scatter,
    node="ScatterBackward1",
    method=False,
    function=False,
    vjp={"self": lambda m, g, dim, index: m.scatter_value(g, dim, index, 0.0)},
    latex=r"{self}[{index}] := {value}",
    vjp_latex={"self": r"{g} \text{ without } {index}"},
    samples=lambda s: [(s.randn(2, 3), 1, s.index([[0, 2], [1, 0]]), 1.5)],
)
scatter_add_op = register(
    "scatter_add(self, dim, index, src)",
    forward=_scatter_add,
    method=False,
    function=False,
    vjp={"self": lambda m, g, dim: g, "src": lambda m, g, dim, index: m.gather(g, dim, index)},
    latex=r"{self}[{index}] \mathrel{+}= {src}",
    vjp_latex={"self": r"{g}", "src": r"{g}[{index}]"},
    samples=lambda s: [(s.randn(2, 3), 1, s.index([[0, 0], [1, 0]]), s.randn(2, 2))],
)


def _scatter_call(input, dim, index, src, value):
    src = value if src is None else src
    return (
        (scatter_op, (input, dim, index, src)) if isinstance(src, Tensor) else (scatter_value, (input, dim, index, src))
    )


def _no_reduce(reduce):
    if reduce is not None:
        raise unsupported("scatter", "reduce", "Use scatter_add for sums.")


@composite(method=True)
def scatter(input, dim, index, src=None, *, value=None, reduce=None):
    """A copy with entries of `src` (or `value`) written along a dimension where `index` says. Source: torch.scatter."""
    _no_reduce(reduce)
    op, args = _scatter_call(input, dim, index, src, value)
    return op.call(*args)


@composite(method=True, function=False)
def scatter_(self, dim, index, src=None, *, value=None, reduce=None):
    """`scatter` in place. Source: torch.Tensor.scatter_."""
    _no_reduce(reduce)
    return written(*_scatter_call(self, dim, index, src, value))


@composite(method=True)
def scatter_add(input, dim, index, src):
    """A copy with entries of `src` added along a dimension where `index` says. Source: torch.scatter_add."""
    return scatter_add_op.call(input, dim, index, src)


@composite(method=True, function=False)
def scatter_add_(self, dim, index, src):
    """`scatter_add` in place. Source: torch.Tensor.scatter_add_."""
    return written(scatter_add_op, (self, dim, index, src))


# -- whole slices by index -------------------------------------------------------------------------------------------------
def _index_select(xp, self, dim, index):
    if index.ndim > 1:
        raise fail(IndexError, "index_select(): Index is supposed to be a vector", "Give the positions as one list.")
    d = check_dim(dim, self.ndim)
    n = self.shape[d] if self.ndim else 1
    demands.in_range(
        xp, index, 0, n, lambda bad: fail(IndexError, "index out of range in self", f"Positions count from 0 to {n - 1}.")
    )
    return xp.take(self, xp.atleast_1d(index), axis=d) if self.ndim else self.copy()


def as_vector(array):
    """The array; a 0-d one as a view with one dimension, which is what PyTorch takes it for along a dimension."""
    return array if array.ndim else array.reshape(1)


def _index_add(xp, self, dim, index, source, alpha):
    out = xp.array(self)
    if source.ndim != self.ndim or any(
        a != b for k, (a, b) in enumerate(zip(self.shape, source.shape)) if k != check_dim(dim, self.ndim)
    ):
        raise fail(
            RuntimeError,
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(self.shape)} source.shape = {list(source.shape)}",
            "Each slice of the source is added to a slice of the tensor.",
        )
    add_at(xp, as_vector(out), at(check_dim(dim, self.ndim), as_vector(index)), as_vector(source if alpha == 1 else source * alpha))
    return out


index_select = register(
    "index_select(self, dim, index)",
    forward=_index_select,
    vjp={"self": lambda m, g, self_sym_sizes, dim, index: m.index_select_spread(g, self_sym_sizes, dim, index)},
    latex=r"{self}[{index}]",
    vjp_latex={"self": r"\sum {g} \text{ at } {index}"},
    samples=lambda s: [(s.randn(2, 3), 1, s.index([0, 2, 2]))],
    doc="Slices picked along a dimension. Source: torch.index_select",
)
index_select_spread = register(
    "index_select_spread(self, shape, dim, index)",
    method=False,
    function=False,
    forward=lambda xp, self, shape, dim, index: (
        _index_add(xp, xp.zeros(shape, self.dtype), dim, index, self, 1) if shape else self.copy()
    ),
    vjp={"self": lambda m, g, dim, index: m.index_select(g, dim, index)},
    latex=r"\sum {self} \text{ at } {index}",
    vjp_latex={"self": r"{g}[{index}]"},
    samples=lambda s: [(s.randn(2, 3), (2, 4), 1, s.index([0, 2, 2]))],
)
index_add = register(
    "index_add(self, dim, index, source, *, alpha=1)",
    forward=_index_add,
    inplace=False,
    vjp={
        "self": lambda m, g, dim: g,
        "source": lambda m, g, dim, index, alpha: _times(m.index_select(g, dim, index), alpha),
    },
    latex=r"{self}[{index}] \mathrel{+}= {source}",
    vjp_latex={"self": r"{g}", "source": r"{g}[{index}]"},
    samples=lambda s: [(s.randn(3), 0, s.index([0, 0]), s.randn(2)), (s.randn(), 0, s.index([0]), s.randn())],
    doc="A copy with slices added. Source: torch.index_add",
)


def _times(g, factor):
    return g if factor == 1 else g * factor


def _filled(xp, self, dim, index, value):
    out = xp.array(self)
    as_vector(out)[at(check_dim(dim, self.ndim), index)] = value
    return out


index_fill = register(
    "index_fill(self, dim, index, value)",
    forward=_filled,
    vjp={"self": lambda m, g, dim, index: m.index_fill(g, dim, index, 0)},
    latex=r"{self}[{index}] := {value}",
    vjp_latex={"self": r"{g} \text{ without } {index}"},
    samples=lambda s: [(s.randn(3), 0, s.index([0, 2]), 1.5), (s.randn(), 0, s.index([0]), 1.5)],
    doc="A copy with slices set to a number. Source: torch.index_fill",
)
index_copy = register(
    "index_copy(self, dim, index, source)",
    forward=_filled,
    vjp={
        "self": lambda m, g, dim, index: m.index_fill(g, dim, index, 0),
        "source": lambda m, g, dim, index: m.index_select(g, dim, index),
    },
    latex=r"{self}[{index}] := {source}",
    vjp_latex={"self": r"{g} \text{ without } {index}", "source": r"{g}[{index}]"},
    samples=lambda s: [(s.randn(3), 0, s.index([0, 2]), s.randn(2)), (s.randn(), 0, s.index([0]), s.randn())],
    doc="A copy with slices replaced. Source: torch.index_copy",
)

for _op in (index_add, index_fill, index_copy):

    def _method(op):
        def method(self, *args, **kwargs):
            bound = dict(op.defaults) | dict(zip(op.params[1:], args)) | kwargs
            return written(op, (self, *(bound[p] for p in op.params[1:])))

        method.__name__, method.__doc__ = op.name + "_", f"`{op.name}` in place. Source: torch.Tensor.{op.name}_"
        return method

    METHODS[_op.name + "_"] = _method(_op)


def _take(xp, self, index):
    n = self.size
    demands.in_range(
        xp,
        index,
        -n,
        n,
        lambda bad: fail(
            IndexError,
            f"out of range: tried to access index {bad} on a tensor of {n} elements.",
            "take counts over all elements.",
        ),
    )
    return self.reshape(-1)[index]


take = register(
    "take(self, index)",
    forward=_take,
    vjp={
        "self": lambda m, g, self, index: m.reshape_raw(
            m.index_spread(m.reshape_raw(g, (-1,)), (_size(self),), [m.reshape_raw(index, (-1,))]), tuple(self.shape)
        )
    },
    latex=r"{self}[{index}]",
    vjp_latex={"self": r"\sum {g} \text{ at } {index}"},
    samples=lambda s: [(s.randn(2, 3), s.index([0, 4]))],
    doc="Entries by position in the flattened tensor. Source: torch.take",
)


def _size(x):
    return int(np.prod(x.shape))


def _masked_select(xp, self, mask):
    _bool_mask("masked_select", mask)
    a, b = xp.broadcast_arrays(self, mask)
    return a[b]


def _bool_mask(name, mask):
    if mask.dtype != bool:
        raise fail(
            RuntimeError,
            f"{name}: expected BoolTensor for mask"
            if name != "masked_fill_"
            else f"masked_fill_ only supports boolean masks, but got mask with dtype {FROM_NUMPY[mask.dtype].np_name}",
            "Compare to get a mask: x > 0.",
        )


def _masked_spread(xp, self, shape, mask):
    full = np.broadcast_shapes(shape, mask.shape)
    out = xp.zeros(full, self.dtype)
    out[xp.broadcast_to(mask, full)] = self
    return out


masked_select = register(
    "masked_select(self, mask)",
    forward=_masked_select,
    vjp={"self": lambda m, g, self, mask: m.sum_to(m.masked_spread(g, tuple(self.shape), mask), tuple(self.shape))},
    latex=r"{self}[{mask}]",
    vjp_latex={"self": r"{g} \text{ at } {mask}"},
    samples=lambda s: [(s.randn(3), s.index([1, 0, 1]) > 0)],
    doc="The entries where the mask is True. Source: torch.masked_select",
)
masked_spread = register(
    "masked_spread(self, shape, mask)",
    forward=_masked_spread,
    method=False,
    function=False,
    vjp={"self": lambda m, g, mask: m.masked_select(g, mask)},
    latex=r"{self} \text{ at } {mask}",
    vjp_latex={"self": r"{g}[{mask}]"},
    samples=lambda s: [(s.randn(2), (3,), s.index([1, 0, 1]).astype(bool))],
)


@composite(method=True)
def nonzero(input, *, as_tuple=False):
    """Positions of the entries that are not zero: (n, dims), or one vector per dimension. Source: torch.nonzero."""
    xp = input.device.xp
    with input.device.backend:
        found = xp.nonzero(input._d if input.ndim else input._d.reshape(1))
        if as_tuple:
            return tuple(wrap(i) for i in found)
        return wrap(xp.stack(found, 1) if input.ndim else xp.zeros((len(found[0]), 0), np.int64))


@composite()
def argwhere(input):
    """Positions of the entries that are not zero, one row each. Source: torch.argwhere."""
    return nonzero(input)


METHODS["argwhere"] = argwhere


@composite(method=True)
def take_along_dim(input, indices, dim=None):
    """`gather` with broadcasting; without `dim` over the flattened tensor. Source: torch.take_along_dim."""
    if dim is None:
        return gather.call(input.reshape(-1), 0, indices.reshape(-1), False)
    d = check_dim(dim, input.ndim)
    shape = list(
        np.broadcast_shapes(*[tuple(1 if i == d else n for i, n in enumerate(t.shape)) for t in (input, indices)])
    )
    a, b = list(shape), list(shape)
    a[d], b[d] = input.shape[d], indices.shape[d]
    return gather.call(input.expand(*a), d, indices.expand(*b), False)
