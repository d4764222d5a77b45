"""Whole slices selected by a list of positions: index_select.

Source: https://docs.pytorch.org/docs/2.13/torch.html#indexing-slicing-joining-mutating-ops
"""

from __future__ import annotations

import numpy as np

from ..devices import demands
from ..core.errors import fail
from ..exact.dtypes import as_indices
from ..exact.refusals import check_dim
from .checks import refuse_if
from .functions import register

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
    index, scalar = xp.atleast_1d(index), not self.ndim
    refuse_if(
        scalar and index.size != 1,
        f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)",
        "A tensor without dimensions holds one number.",
    )
    _check("index_select", xp, index, 1 if scalar else self.shape[d])
    return self.copy() if scalar else xp.take(self, as_indices(index), axis=d)


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
