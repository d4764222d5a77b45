"""Elements read or written by index tensors: gather, scatter, take, masked_select, nonzero. Whole slices are in
`slices.py`."""

from __future__ import annotations


import numpy as np

from ..devices import demands
from ..exact.arguments import held_by
from ..exact.dtypes import positions
from ..core.errors import fail
from ..exact.refusals import check_dim
from ..kernels.scatter import add_at
from .checks import refuse_if
from .functions import NAMESPACES, composite, internal, register
from ..core.tensor import Tensor, wrap
from .indexing import written


# -- gather, scatter ---------------------------------------------------------------------------------------------------
def _check(name, self, d, index, src=None):
    """Raise torch's error if `index` does not match the tensor, or the source of a scatter."""
    refuse_if(
        index.dtype not in (np.int64, np.int32),
        f"{name}(): Expected dtype int32/int64 for index",
        "Write index.long().",
    )
    refuse_if(
        index.ndim != self.ndim,
        f"Index tensor must have the same number of dimensions as {'input' if name == 'gather' else 'self'} tensor",
        f"The tensor has {self.ndim} dimensions, the index {index.ndim}.",
    )
    sizes = [n if k != d else index.shape[k] for k, n in enumerate(self.shape)]
    message = f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} apart from dimension {d}"
    if src is not None:
        different = "scatter(): Expected self.dtype to be equal to src.dtype"
        refuse_if(src.dtype != self.dtype, different, "Convert the source: src.to(x.dtype).")
        message += f" and to be no larger size than src {list(src.shape)}"
        short = "Index tensor must have the same number of dimensions as src tensor"
        refuse_if(src.ndim != index.ndim, short, "Each entry of the index has one of the source.")
        sizes = map(min, sizes, src.shape)
    note = "The index may only be longer than the tensor along `dim`."
    refuse_if(any(k > n for k, n in zip(index.shape, sizes)), message, note)


def _key_along(xp, self, dim, index):
    """Return the NumPy index of the entries that `index` selects along a dimension; a 0-d array has one entry."""
    n = self.shape[dim] if self.ndim else 1
    message = "index {} is out of bounds for dimension {} with size {}"
    note = f"Each index counts from 0 to {n - 1}."
    error = lambda bad: fail(RuntimeError, message.format(bad, dim, n), note)
    demands.in_range(xp, index, 0, n, error)
    if not index.ndim:
        return ()
    grid = [
        xp.arange(k).reshape(-1, *(1,) * (index.ndim - 1 - i)) for i, k in enumerate(index.shape)
    ]
    grid[dim] = index
    return tuple(grid)


def _gather(xp, self, dim, index, sparse_grad):
    d = check_dim(dim, self.ndim)
    if not index.size:
        return xp.empty(index.shape, self.dtype)
    _check("gather", self, d, index)
    return xp.array(self[_key_along(xp, self, d, index)])


gather = register(
    "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False)",
    forward=_gather,
    vjp={"self": lambda m, g, self, dim, index: m.scatter_add(m.zeros_like(self), dim, index, g)},
    also_saves=("sparse_grad",),
    latex=r"{self}[{index}]",
    vjp_latex={"self": r"\sum {g} \text{ at } {index}"},
    samples=lambda s: [(s.randn(2, 3), 1, s.index([[0, 2], [1, 1]]))],
    doc="Return the entries at the positions in an index tensor along a dimension. Source: torch.gather",
)


def _scatter(xp, self, dim, index, src, add=False):
    d = check_dim(dim, self.ndim)
    out = xp.array(self, order="C")
    if not index.size:
        return out
    listed = hasattr(src, "ndim")
    _check("scatter", self, d, index, src if listed else None)
    place = _key_along(xp, out, d, index)
    used = src[tuple(slice(n) for n in index.shape)] if listed else src
    if add:
        add_at(xp, out, place, used)
    else:
        out[place] = used
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
    if isinstance(src, Tensor):
        return scatter_op, (input, dim, index, src)
    return scatter_value, (input, dim, index, held_by(src, input.dtype))


@composite(method=True)
def scatter(input, dim, index, src=None, *, value=None):
    """Return a copy with entries of `src` (or `value`) written at `index` along a dimension. Source: torch.scatter."""
    op, args = _scatter_call(input, dim, index, src, value)
    return op.call(*args)


@composite(method=True, function=False)
def scatter_(self, dim, index, src=None, *, value=None):
    """Write entries at `index` along a dimension, in place. Source: torch.Tensor.scatter_."""
    return written(*_scatter_call(self, dim, index, src, value))


# -- by flat position, by mask -----------------------------------------------------------------------------------------
@composite(method=True)
def take(input, index):
    """Return the entries at positions in the flattened tensor. Source: torch.take."""
    return input.reshape(-1)[index]


@composite(method=True)
def masked_select(input, mask):
    """Return the entries where the mask, which is broadcast, is True. Source: torch.masked_select."""
    refuse_if(
        not mask.dtype.is_bool,
        "masked_select: expected BoolTensor for mask",
        "Compare to get a mask: x > 0.",
    )
    if input._array.shape != mask._array.shape:
        input, mask = NAMESPACES[""]["broadcast_tensors"](input, mask)
    return input[mask]


@composite(method=True)
def nonzero(input, *, as_tuple=False):
    """Return the positions of the entries that are not zero: (n, dims), or one vector per dimension. Source:
    torch.nonzero."""
    xp = input.device.xp
    with input.device.backend:
        found = xp.nonzero(input._array if input.ndim else input._array.reshape(1))
        if as_tuple:
            return tuple(wrap(positions(i)) for i in found)
        # As in PyTorch, the positions are column-major in memory, which is visible in the strides.
        return wrap(
            positions(xp.stack(found)).T if input.ndim else xp.zeros((len(found[0]), 0), np.int64)
        )


@composite(method=True)
def argwhere(input):
    """Return the positions of the entries that are not zero, one row each. Source: torch.argwhere."""
    return nonzero(input)
