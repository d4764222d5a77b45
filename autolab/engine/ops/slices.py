"""Whole slices selected or written by a list of positions: index_select, index_add.

Source: https://docs.pytorch.org/docs/2.13/torch.html#indexing-slicing-joining-mutating-ops
"""

from __future__ import annotations

import numpy as np

from ..devices import demands
from ..core.errors import fail
from ..core.dtype import FROM_NUMPY
from ..exact.dtypes import as_indices
from ..exact.refusals import check_dim
from ..kernels.scatter import add_at
from .checks import refuse_if
from .functions import composite, register
from .indexing import at, written
from .matmul import times

_POSITIONS = (np.dtype("int64"), np.dtype("int32"))
_INDEX_NOTE = "The positions are a list of whole numbers: torch.tensor([0, 2])."


def _check(name, xp, index, n):
    """Raise PyTorch's error for an index that is not a list of positions from 0 to n - 1."""
    refuse_if(
        index.ndim > 1, f"{name}(): Index is supposed to be a vector", _INDEX_NOTE, IndexError
    )
    refuse_if(
        index.dtype not in _POSITIONS,
        f"{name}(): Expected dtype int32 or int64 for index",
        _INDEX_NOTE,
    )
    note = f"Positions count from 0 to {n - 1}."
    demands.in_range(
        xp, index, 0, n, lambda bad: fail(IndexError, "index out of range in self", note)
    )


def _index_select(xp, self, dim, index):
    d = check_dim(dim, self.ndim)
    refuse_if(
        not self.ndim,
        "index_select(): self is a 0-d tensor, which has nothing to pick from",
        "unsqueeze(0) makes a list of one of it.",
    )
    _check("index_select", xp, index, self.shape[d])
    return xp.take(self, as_indices(xp.atleast_1d(index)), axis=d)


def _index_select_rule(m, g, self_sym_sizes, dim, index):
    places = [None] * (dim % len(self_sym_sizes)) + [m.reshape_raw(index, (-1,))]
    return m.index_spread(g, self_sym_sizes, places)


index_select = register(
    "index_select(Tensor self, int dim, Tensor index)",
    forward=_index_select,
    vjp={"self": _index_select_rule},
    latex=r"{self}[{index}]",
    vjp_latex={"self": r"\sum {g} \text{ at } {index}"},
    samples=lambda s: [(s.randn(2, 3), 1, s.index([0, 2, 2]))],
    doc="Return the slices at given positions along a dimension. Source: torch.index_select",
)


def _index_add(xp, self, dim, index, source, alpha):
    d, out = check_dim(dim, self.ndim), xp.array(self, order="C")
    kinds = [FROM_NUMPY[a.dtype].short for a in (self, source)]
    refuse_if(
        kinds[0] != kinds[1],
        f"index_add_(): self ({kinds[0]}) and source ({kinds[1]}) must have the same scalar type",
        "Convert the source first: source.to(x.dtype).",
    )
    refuse_if(
        source.shape != (*self.shape[:d], index.size, *self.shape[d + 1 :]),
        "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
        f"{list(self.shape)} source.shape = {list(source.shape)}",
        f"The source has a slice for each of the {index.size} positions.",
    )
    _check("index_add_", xp, index, self.shape[d])
    add_at(xp, out, at(d, index), source if alpha == 1 else source * alpha)
    return out


index_add = register(
    "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Number alpha=1)",
    forward=_index_add,
    vjp={
        "self": lambda m, g, dim: g,
        "source": lambda m, g, dim, index, alpha: times(m.index_select(g, dim, index), alpha),
    },
    latex=r"{self}[{index}] \mathrel{+}= {source}",
    vjp_latex={"self": r"{g}", "source": r"{g}[{index}]"},
    samples=lambda s: [(s.randn(3), 0, s.index([0, 0]), s.randn(2))],
    doc="Return a copy with slices of `source` added at given positions. Source: torch.index_add",
)


@composite(method=True, function=False)
def index_add_(self, dim, index, source, *, alpha=1):
    """Add slices of `source` to this tensor at the positions `index`, in place. Source: torch.Tensor.index_add_."""
    return written(index_add, (self, dim, index, source, alpha))
