"""Whole slices picked or written by a list of positions: index_select, index_add.

Source: https://docs.pytorch.org/docs/2.13/torch.html#indexing-slicing-joining-mutating-ops
"""

from __future__ import annotations


import numpy as np

from ..devices import demands
from ..core.errors import bad_argument, fail
from ..core.dtype import FROM_NUMPY
from ..exact.dtypes import as_indices
from ..exact.refusals import check_dim, no_dimensions
from ..kernels.scatter import add_at
from .functions import METHODS, internal, register
from .indexing import at, written


def as_vector(array):
    """The array; a 0-d one as a view with one dimension, which is what PyTorch takes it for along a dimension."""
    return array if array.ndim else array.reshape(1)


def _short(array):
    return FROM_NUMPY[array.dtype].short


_INDEX_NOTE = "The positions are a list of whole numbers: torch.tensor([0, 2])."


def _length(array, dim):
    """The size of `array` along `dim`, where a 0-d array counts as a list of one."""
    return array.shape[dim] if array.ndim else 1


# -- index_select ------------------------------------------------------------------------------------------------------
def _index_select(xp, self, dim, index):
    if not hasattr(index, "ndim"):
        raise bad_argument("index_select", "index", 3, "Tensor", index)
    d = check_dim(dim, self.ndim)
    if index.ndim > 1:
        raise fail(
            IndexError,
            "index_select(): Index is supposed to be a vector",
            "Give the positions as one list.",
        )
    if not self.ndim and index.size != 1:
        message = (
            f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)"
        )
        raise fail(RuntimeError, message, "A 0-d tensor has one entry, and stays 0-d.")
    if index.dtype not in _POSITIONS:
        raise fail(
            RuntimeError, "index_select(): Expected dtype int32 or int64 for index", _INDEX_NOTE
        )
    n = _length(self, d)
    if self.ndim > 1 and index.size and not n:
        message = "index_select(): self indexing axis dim should be positive"
        raise fail(RuntimeError, message, "There is nothing to pick from.")
    demands.in_range(
        xp, index, 0, n, lambda bad: _outside_columns(bad, n) if d == 1 else _out_of_range(n)
    )
    return xp.take(self, as_indices(xp.atleast_1d(index)), axis=d) if self.ndim else self.copy()


_POSITIONS = (np.dtype("int64"), np.dtype("int32"))


def _out_of_range(n):
    return fail(IndexError, "index out of range in self", f"Positions count from 0 to {n - 1}.")


def _outside_columns(bad, n):
    """PyTorch's kernel for dimension 1 has words of its own."""
    message = f"INDICES element is out of DATA bounds, id={bad} axis_dim={n}"
    return fail(RuntimeError, message, f"Positions count from 0 to {n - 1}.")


index_select = register(
    "index_select(Tensor self, int dim, Tensor index)",
    forward=_index_select,
    vjp={
        "self": lambda m, g, self_sym_sizes, dim, index: m.index_select_spread(
            g, self_sym_sizes, dim, index
        )
    },
    latex=r"{self}[{index}]",
    vjp_latex={"self": r"\sum {g} \text{ at } {index}"},
    samples=lambda s: [(s.randn(2, 3), 1, s.index([0, 2, 2]))],
    doc="Slices picked along a dimension. Source: torch.index_select",
)
index_select_spread = internal(
    "index_select_spread(Tensor self, int[] shape, int dim, Tensor index)",
    forward=lambda xp, self, shape, dim, index: (
        _index_add(xp, xp.zeros(shape, self.dtype), dim, index, self, 1) if shape else self.copy()
    ),
    vjp={"self": lambda m, g, dim, index: m.index_select(g, dim, index)},
    latex=r"\sum {self} \text{ at } {index}",
    vjp_latex={"self": r"{g}[{index}]"},
    samples=lambda s: [(s.randn(2, 3), (2, 4), 1, s.index([0, 2, 2]))],
)


# -- index_add ---------------------------------------------------------------------------------------------------------
def _check_index_add(self, d, index, source):
    if index.ndim > 1:
        message = (
            f"index_add_(): Index is supposed to be a vector, but got dim: {index.ndim} with type: {_short(index)} "
            f"and size: {list(index.shape)}"
        )
        raise fail(IndexError, message, _INDEX_NOTE)
    if index.dtype not in _POSITIONS:
        raise fail(
            RuntimeError,
            f"index_add_(): Expected dtype int32/int64 for index but got: {_short(index)}",
            _INDEX_NOTE,
        )
    if self.dtype != source.dtype:
        message = f"index_add_(): self ({_short(self)}) and source ({_short(source)}) must have the same scalar type"
        raise fail(RuntimeError, message, "Convert the source first: source.to(x.dtype).")
    if d and d >= source.ndim:
        message = f"index_add_(): Indexing dim {d} is out of bounds of the source tensor with dim {source.ndim}"
        raise fail(RuntimeError, message, "The source has a slice for each position.")
    if index.size != _length(source, d):
        if not source.ndim:
            raise no_dimensions(d)
        message = (
            f"index_add_(): Number of indices ({index.size}) should be equal to source.size(dim): ({source.shape[d]}), "
            f"for dim: {d}"
        )
        raise fail(RuntimeError, message, "The source has a slice for each position.")
    if source.ndim != self.ndim or any(
        a != b for k, (a, b) in enumerate(zip(self.shape, source.shape)) if k != d
    ):
        message = (
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(self.shape)} source.shape = {list(source.shape)}"
        )
        raise fail(
            RuntimeError, message, "Each slice of the source is added to a slice of the tensor."
        )


def _index_add(xp, self, dim, index, source, alpha):
    d = check_dim(dim, self.ndim)
    _check_index_add(self, d, index, source)
    n = _length(self, d)
    demands.in_range(
        xp,
        index,
        0,
        n,
        lambda bad: (
            _outside(bad, d, n) if d in (0, self.ndim - 1) and self.ndim > 1 else _out_of_range(n)
        ),
    )
    out = xp.array(self, order="C")
    add_at(
        xp,
        as_vector(out),
        at(d, as_vector(index)),
        as_vector(source if alpha == 1 else source * alpha),
    )
    return out


def _outside(bad, dim, n):
    """PyTorch adds along the first and the last of several dimensions with another kernel, which has words of its
    own."""
    message = f"index {bad} is out of bounds for dimension {dim} with size {n}"
    return fail(RuntimeError, message, f"Positions count from 0 to {n - 1}.")


def _times(g, factor):
    return g if factor == 1 else g * factor


index_add = register(
    "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Number alpha=1)",
    forward=_index_add,
    inplace=False,
    vjp={
        "self": lambda m, g, dim: g,
        "source": lambda m, g, dim, index, alpha: _times(m.index_select(g, dim, index), alpha),
    },
    latex=r"{self}[{index}] \mathrel{+}= {source}",
    vjp_latex={"self": r"{g}", "source": r"{g}[{index}]"},
    samples=lambda s: [
        (s.randn(3), 0, s.index([0, 0]), s.randn(2)),
        (s.randn(), 0, s.index([0]), s.randn()),
    ],
    doc="A copy with slices added. Source: torch.index_add",
)


# -- index_copy --------------------------------------------------------------------------------------------------------


def _out_of_bounds(function, bad, dim, n, lowest):
    message = f"{function}index {bad} is out of bounds for dimension {dim} with size {n}"
    return fail(IndexError, message, f"Positions count from {lowest} to {n - 1}.")


# -- index_fill --------------------------------------------------------------------------------------------------------


# -- in place ----------------------------------------------------------------------------------------------------------
def _in_place(op):
    def method(self, *args, **kwargs):
        bound = dict(op.defaults) | dict(zip(op.params[1:], args)) | kwargs
        return written(op, (self, *(bound[p] for p in op.params[1:])))

    method.__name__, method.__doc__ = (
        op.name + "_",
        f"`{op.name}` in place. Source: torch.Tensor.{op.name}_",
    )
    METHODS[op.name + "_"] = method


_in_place(index_add)
