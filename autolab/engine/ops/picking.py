"""Entries picked or written by index tensors: gather, scatter, take, masked_select, nonzero. Whole slices are in
`slices.py`."""

from __future__ import annotations

import math

import numpy as np

from ..devices import demands
from ..exact.arguments import as_number, held_by
from ..exact.broadcasting import broadcast_error
from ..exact.dtypes import positions
from ..core.dtype import FROM_NUMPY
from ..core.errors import fail
from ..exact.refusals import check_dim
from ..kernels.scatter import add_at
from .functions import composite, internal, register
from ..core.tensor import Tensor, wrap
from .indexing import written


# -- gather, scatter ---------------------------------------------------------------------------------------------------
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
    grid = [
        xp.arange(k).reshape(-1, *(1,) * (index.ndim - 1 - i)) for i, k in enumerate(index.shape)
    ]
    grid[dim] = index
    return tuple(grid)


def _row(x):
    """Return a view of `x` with one dimension at least: an index of a 0-d tensor counts in a list of one."""
    return x if x.ndim else x.reshape(1)


def _check_positions(name, index):
    if index.dtype not in (np.dtype("int64"), np.dtype("int32")):
        message = f"{name}(): Expected dtype int32/int64 for index"
        raise fail(RuntimeError, message, "Positions are whole numbers: index.long().")


def _matching(index, other, called):
    if max(other.ndim, 1) != max(index.ndim, 1):
        raise fail(
            RuntimeError,
            f"Index tensor must have the same number of dimensions as {called} tensor",
            f"The tensor has {other.ndim} dimensions, the index {index.ndim}.",
        )


def _gather(xp, self, dim, index, sparse_grad):
    d = check_dim(dim, self.ndim)
    if not index.size:
        return xp.empty(index.shape, self.dtype)
    _check_positions("gather", index)
    _matching(index, self, "input")
    for k in range(min(self.ndim, index.ndim)):
        if k != d and index.shape[k] > self.shape[k]:
            raise fail(
                RuntimeError,
                f"Size does not match at dimension {k} expected index {list(index.shape)} to be no larger than self "
                f"{list(self.shape)} apart from dimension {d}",
                "Only the gathered dimension of the index may be longer.",
            )
    row = _row(self)
    return xp.array(row[_along(xp, row, d, index)])


gather = register(
    "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False)",
    forward=_gather,
    vjp={"self": lambda m, g, self, dim, index: m.scatter_add(m.zeros_like(self), dim, index, g)},
    also_saves=("sparse_grad",),
    latex=r"{self}[{index}]",
    vjp_latex={"self": r"\sum {g} \text{ at } {index}"},
    samples=lambda s: [(s.randn(2, 3), 1, s.index([[0, 2], [1, 1]]))],
    doc="Return entries picked along a dimension by an index tensor. Source: torch.gather",
)


def _check_scatter(self, d, index, src):
    """Raise torch's error where `index` does not fit the tensor or the source (None where a number is scattered)."""
    _check_positions("scatter", index)
    if src is not None and src.dtype != self.dtype:
        message = "scatter(): Expected self.dtype to be equal to src.dtype"
        raise fail(RuntimeError, message, "Convert the source first: src.to(x.dtype).")
    _matching(index, self, "self")
    message = f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} apart from dimension {d}"
    long = any(k > n for i, (k, n) in enumerate(zip(index.shape, self.shape)) if i != d)
    if src is not None:
        if index.ndim < src.ndim:
            _matching(index, src, "src")
        if src.ndim and index.ndim > src.ndim:
            check_dim(index.ndim - 1, src.ndim)
        message += f" and to be no larger size than src {list(src.shape)}"
        long = long or any(k > n for k, n in zip(index.shape, src.shape))
    if long:
        note = "Each entry of the index says where the entry of the source at its place goes."
        raise fail(RuntimeError, message, note)


def _used(src, index):
    """Return the entries of `src` that `index` names places for."""
    return _row(src)[tuple(slice(0, n) for n in index.shape)] if index.ndim else src.reshape(-1)[0]


def _scatter(xp, self, dim, index, src, add=False):
    d = check_dim(dim, self.ndim)
    out = xp.array(self, order="C")
    if index.size:
        source = src if hasattr(src, "ndim") else None
        _check_scatter(self, d, index, source)
        row = _row(out)
        place = _along(xp, row, d, index)
        if add:
            add_at(xp, row, place, _used(src, index))
        else:
            row[place] = src if source is None else _used(src, index)
    return out


scatter_op = internal(
    "scatter(Tensor self, int dim, Tensor index, Tensor src)",
    forward=_scatter,
    vjp={
        "self": lambda m, g, dim, index: m.scatter_value(g, dim, index, 0.0),
        "src": lambda m, g, dim, index: m.gather(g, dim, index),
    },
    latex=r"{self}[{index}] := {src}",
    vjp_latex={"self": r"{g} \text{ without } {index}", "src": r"{g}[{index}]"},
    samples=lambda s: [(s.randn(2, 3), 1, s.index([[0, 2], [1, 0]]), s.randn(2, 2))],
)
scatter_value = internal(
    "scatter_value(Tensor self, int dim, Tensor index, Number value)",
    forward=_scatter,
    node="ScatterBackward1",
    vjp={"self": lambda m, g, dim, index: m.scatter_value(g, dim, index, 0.0)},
    latex=r"{self}[{index}] := {value}",
    vjp_latex={"self": r"{g} \text{ without } {index}"},
    samples=lambda s: [(s.randn(2, 3), 1, s.index([[0, 2], [1, 0]]), 1.5)],
)
scatter_add_op = internal(
    "scatter_add(Tensor self, int dim, Tensor index, Tensor src)",
    forward=lambda xp, self, dim, index, src: _scatter(xp, self, dim, index, src, True),
    vjp={"self": lambda m, g, dim: g, "src": lambda m, g, dim, index: m.gather(g, dim, index)},
    latex=r"{self}[{index}] \mathrel{+}= {src}",
    vjp_latex={"self": r"{g}", "src": r"{g}[{index}]"},
    samples=lambda s: [(s.randn(2, 3), 1, s.index([[0, 0], [1, 0]]), s.randn(2, 2))],
)


def _scatter_call(input, dim, index, src, value):
    src = value if src is None else src
    plain = None if isinstance(src, Tensor) or not isinstance(input, Tensor) else as_number(src)
    src = src if plain is None else held_by(plain, input.dtype)
    return (
        (scatter_op, (input, dim, index, src))
        if isinstance(src, Tensor)
        else (scatter_value, (input, dim, index, src))
    )


@composite(method=True)
def scatter(input, dim, index, src=None, *, value=None):
    """Return a copy with entries of `src` (or `value`) written along a dimension where `index` says. Source:
    torch.scatter."""
    op, args = _scatter_call(input, dim, index, src, value)
    return op.call(*args)


@composite(method=True, function=False)
def scatter_(self, dim, index, src=None, *, value=None):
    """Write entries along a dimension where `index` says, in place. Source: torch.Tensor.scatter_."""
    return written(*_scatter_call(self, dim, index, src, value))


@composite(method=True)
def scatter_add(input, dim, index, src):
    """Return a copy with entries of `src` added along a dimension where `index` says. Source: torch.scatter_add."""
    return scatter_add_op.call(input, dim, index, src)


@composite(method=True, function=False)
def scatter_add_(self, dim, index, src):
    """Add entries along a dimension where `index` says, in place. Source: torch.Tensor.scatter_add_."""
    return written(scatter_add_op, (self, dim, index, src))


# -- by position among all, by mask ------------------------------------------------------------------------------------
def _take(xp, self, index):
    if index.dtype != np.int64:
        message = (
            f"take(): Expected a long tensor for index, but got {FROM_NUMPY[index.dtype].short}"
        )
        raise fail(RuntimeError, message, "Positions are whole numbers: index.long().")
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
    "take(Tensor self, Tensor index)",
    forward=_take,
    vjp={
        "self": lambda m, g, self, index: m.reshape_raw(
            m.index_spread(
                m.reshape_raw(g, (-1,)), (math.prod(self.shape),), [m.reshape_raw(index, (-1,))]
            ),
            tuple(self.shape),
        )
    },
    latex=r"{self}[{index}]",
    vjp_latex={"self": r"\sum {g} \text{ at } {index}"},
    samples=lambda s: [(s.randn(2, 3), s.index([0, 4]))],
    doc="Return entries by position in the flattened tensor. Source: torch.take",
)


def _masked_select(xp, self, mask):
    if mask.dtype != bool:
        message = "masked_select: expected BoolTensor for mask"
        raise fail(RuntimeError, message, "Compare to get a mask: x > 0.")
    try:
        a, b = xp.broadcast_arrays(self, mask)
    except ValueError:
        raise broadcast_error([mask.shape, self.shape]) from None
    return a[b]


def _masked_spread(xp, self, shape, mask):
    full = np.broadcast_shapes(shape, mask.shape)
    out = xp.zeros(full, self.dtype)
    out[xp.broadcast_to(mask, full)] = self
    return out


masked_select = register(
    "masked_select(Tensor self, Tensor mask)",
    forward=_masked_select,
    vjp={
        "self": lambda m, g, self, mask: m.sum_to(
            m.masked_spread(g, tuple(self.shape), mask), tuple(self.shape)
        )
    },
    latex=r"{self}[{mask}]",
    vjp_latex={"self": r"{g} \text{ at } {mask}"},
    samples=lambda s: [(s.randn(3), s.index([1, 0, 1]) > 0)],
    doc="Return the entries where the mask is True. Source: torch.masked_select",
)
masked_spread = internal(
    "masked_spread(Tensor self, int[] shape, Tensor mask)",
    forward=_masked_spread,
    vjp={"self": lambda m, g, mask: m.masked_select(g, mask)},
    latex=r"{self} \text{ at } {mask}",
    vjp_latex={"self": r"{g}[{mask}]"},
    samples=lambda s: [(s.randn(2), (3,), s.index([1, 0, 1]).astype(bool))],
)


@composite(method=True)
def nonzero(input, *, as_tuple=False):
    """Return the positions of the entries that are not zero: (n, dims), or one vector per dimension. Source:
    torch.nonzero."""
    xp = input.device.xp
    with input.device.backend:
        found = xp.nonzero(input._array if input.ndim else input._array.reshape(1))
        if as_tuple:
            return tuple(wrap(positions(i)) for i in found)
        # one list of positions after the other in memory, which shows in the strides: as PyTorch has it
        return wrap(
            positions(xp.stack(found)).T if input.ndim else xp.zeros((len(found[0]), 0), np.int64)
        )


@composite(method=True)
def argwhere(input):
    """Return the positions of the entries that are not zero, one row each. Source: torch.argwhere."""
    return nonzero(input)
