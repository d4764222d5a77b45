"""Whole slices picked or written by a list of positions: index_select, index_add.

Source: https://docs.pytorch.org/docs/2.13/torch.html#indexing-slicing-joining-mutating-ops
"""

from __future__ import annotations

import numpy as np

from ..devices import demands
from ..core.errors import bad_argument, fail
from ..core.dtype import FROM_NUMPY
from ..exact.dtypes import as_indices
from ..exact.refusals import check_dim
from ..kernels.scatter import add_at
from .functions import composite, internal, register
from .indexing import at, written

_POSITIONS = (np.dtype("int64"), np.dtype("int32"))
_INDEX_NOTE = "The positions are a list of whole numbers: torch.tensor([0, 2])."


def _row(array):
    """Return the array; a 0-d one as a view with one dimension, as PyTorch takes it along a dimension."""
    return array if array.ndim else array.reshape(1)


def _index_select(xp, self, dim, index):
    if not hasattr(index, "ndim"):
        raise bad_argument("index_select", "index", 3, "Tensor", index)
    d, row = check_dim(dim, self.ndim), _row(self)
    if index.ndim > 1:
        message = "index_select(): Index is supposed to be a vector"
        raise fail(IndexError, message, _INDEX_NOTE)
    if not self.ndim and index.size != 1:
        message = (
            f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)"
        )
        raise fail(RuntimeError, message, "A 0-d tensor has one entry, and stays 0-d.")
    if index.dtype not in _POSITIONS:
        message = "index_select(): Expected dtype int32 or int64 for index"
        raise fail(RuntimeError, message, _INDEX_NOTE)
    n = row.shape[d]
    if self.ndim > 1 and index.size and not n:
        message = "index_select(): self indexing axis dim should be positive"
        raise fail(RuntimeError, message, "There is nothing to pick from.")
    demands.in_range(xp, index, 0, n, lambda bad: _outside(bad, n, d == 1))
    return xp.take(self, as_indices(xp.atleast_1d(index)), axis=d) if self.ndim else self.copy()


def _outside(bad, n, columns=False):
    """Return the error for a position that does not exist; PyTorch's kernel for dimension 1 has words of its own."""
    note = f"Positions count from 0 to {n - 1}."
    if columns:
        message = f"INDICES element is out of DATA bounds, id={bad} axis_dim={n}"
        return fail(RuntimeError, message, note)
    return fail(IndexError, "index out of range in self", note)


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
    doc="Return slices picked along a dimension. Source: torch.index_select",
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


def _index_add(xp, self, dim, index, source, alpha):
    d, out = check_dim(dim, self.ndim), _row(xp.array(self, order="C"))
    place, added = _row(index), _row(source)
    n, kinds = out.shape[d], [FROM_NUMPY[a.dtype].short for a in (self, source, index)]
    if index.ndim > 1 or index.dtype not in _POSITIONS:
        message = f"index_add_(): Expected dtype int32/int64 for index but got: {kinds[2]}"
        raise fail(RuntimeError, message, _INDEX_NOTE)
    if self.dtype != source.dtype:
        message = f"index_add_(): self ({kinds[0]}) and source ({kinds[1]}) must have the same scalar type"
        raise fail(RuntimeError, message, "Convert the source first: source.to(x.dtype).")
    if source.ndim != self.ndim or added.shape != (*out.shape[:d], place.size, *out.shape[d + 1 :]):
        raise fail(
            RuntimeError,
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(self.shape)} source.shape = {list(source.shape)}",
            f"The source has a slice for each of the {place.size} positions.",
        )
    demands.in_range(xp, index, 0, n, lambda bad: _outside(bad, n))
    add_at(xp, out, at(d, place), added if alpha == 1 else added * alpha)
    return out.reshape(self.shape)


index_add = register(
    "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Number alpha=1)",
    forward=_index_add,
    vjp={
        "self": lambda m, g, dim: g,
        "source": lambda m, g, dim, index, alpha: (
            m.index_select(g, dim, index) if alpha == 1 else m.index_select(g, dim, index) * alpha
        ),
    },
    latex=r"{self}[{index}] \mathrel{+}= {source}",
    vjp_latex={"self": r"{g}", "source": r"{g}[{index}]"},
    samples=lambda s: [
        (s.randn(3), 0, s.index([0, 0]), s.randn(2)),
        (s.randn(), 0, s.index([0]), s.randn()),
    ],
    doc="Return a copy with slices added. Source: torch.index_add",
)


@composite(method=True, function=False)
def index_add_(self, dim, index, source, *, alpha=1):
    """Add slices in place. Source: torch.Tensor.index_add_."""
    return written(index_add, (self, dim, index, source, alpha))
