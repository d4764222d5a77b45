"""Copies with one piece replaced: select_scatter, slice_scatter, diagonal_scatter, as_strided_scatter. Where `x[1] = y`
changes x, these leave it.

Source: https://docs.pytorch.org/docs/2.13/torch.html#indexing-slicing-joining-mutating-ops"""

from __future__ import annotations

from typing import Any

from ...core.errors import fail
from ...exact.refusals import check_dim
from ..functions import composite, internal
from ...inplace.views import laid_out
from ..indexing import at
from ..rearrange import _writable_diagonal
from ..strided import strided_arguments


def _replaced(piece):
    """A forward: a copy of `self` in the same order of memory, in which `piece(xp, copy, …)` is `src`."""

    def forward(xp, self, src, *where):
        out = xp.empty_like(self)
        out[...] = self
        view = piece(xp, out, *where)
        _check_size(src, view.shape)
        view[...] = src
        return out

    return forward


def _check_size(src, shape):
    if src.shape != tuple(shape):
        message = f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = {list(shape)}"
        raise fail(
            RuntimeError,
            message,
            "The new piece has the shape of what it replaces: nothing is broadcast here.",
        )


_TEX: dict[str, Any] = {
    "latex": r"{self} \text{ with } {src} \text{ as a piece}",
    "vjp_latex": {
        "self": r"{g} \text{ with } 0 \text{ as that piece}",
        "src": r"\mathrm{piece}({g})",
    },
}

select_scatter_op = internal(
    "select_scatter(Tensor self, Tensor src, int dim, int index)",
    # `...`: of one dimension an array, too
    forward=_replaced(lambda xp, self, dim, index: self[(*at(dim, index), ...)]),
    vjp={
        "self": lambda m, g, dim, index: m.select_scatter(
            g, m.zeros_like(m.select(g, dim, index)), dim, index
        ),
        "src": lambda m, g, dim, index: m.select(g, dim, index),
    },
    samples=lambda s: [(s.randn(2, 3), s.randn(3), 0, 1), (s.randn(2, 3), s.randn(2), 1, -1)],
    **_TEX,
)
slice_scatter_op = internal(
    "slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1)",
    forward=_replaced(
        lambda xp, self, dim, start, end, step: self[at(dim, slice(start, end, step))]
    ),
    vjp={
        "self": lambda m, g, dim, start, end, step: m.slice_scatter(
            g, m.zeros_like(m.slice(g, dim, start, end, step)), dim, start, end, step
        ),
        "src": lambda m, g, dim, start, end, step: m.slice(g, dim, start, end, step),
    },
    samples=lambda s: [
        (s.randn(4), s.randn(2), 0, 1, 3, 1),
        (s.randn(2, 5), s.randn(2, 3), 1, None, None, 2),
    ],
    **_TEX,
)
diagonal_scatter_op = internal(
    "diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1)",
    forward=_replaced(_writable_diagonal),
    vjp={
        "self": lambda m, g, offset, dim1, dim2: m.diagonal_scatter(
            g, m.zeros_like(m.diagonal(g, offset, dim1, dim2)), offset, dim1, dim2
        ),
        "src": lambda m, g, offset, dim1, dim2: m.diagonal(g, offset, dim1, dim2),
    },
    samples=lambda s: [(s.randn(3, 3), s.randn(3)), (s.randn(2, 3), s.randn(2), 1)],
    **_TEX,
)


def _strided_replaced(xp, self, src, size, stride, storage_offset, geometry):
    _check_size(src, size)
    whole, part = laid_out(xp, geometry, self.dtype)
    whole[...] = self
    part[...] = src
    out = xp.empty_like(self)
    out[...] = whole
    return out


as_strided_scatter_op = internal(
    "as_strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, int? storage_offset, object geometry)",
    forward=_strided_replaced,
    also_saves=("size", "stride", "storage_offset"),
    hidden=("geometry",),
    vjp={
        "self": lambda m, g, geometry: m.strided_put(
            g, m.zeros_like(m.strided_take(g, geometry)), geometry
        ),
        "src": lambda m, g, geometry: m.strided_take(g, geometry),
    },
    samples=lambda s: [
        (s.randn(2, 3), s.randn(2, 2), (2, 2), (3, 1), 1, ((2, 3), (3, 1), (2, 2), (3, 1), 1))
    ],
    **_TEX,
)


@composite(method=True)
def select_scatter(input, src, dim, index):
    """A copy of `input` in which the entry `index` of dimension `dim` is `src`.

    Raises RuntimeError for a `src` of another shape, IndexError for an entry that is not there. Source:
    torch.select_scatter."""
    if not input.ndim:
        raise fail(
            IndexError,
            "select() cannot be applied to a 0-dim tensor.",
            "A 0-d tensor is a single number.",
        )
    d = check_dim(dim, input.ndim)
    n = input.shape[d]
    if not -n <= index < n:
        message = f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {dim}"
        raise fail(IndexError, message, "Entries are counted from 0, or from -1 backwards.")
    return select_scatter_op.call(input, src, d, int(index))


@composite(method=True)
def slice_scatter(input, src, dim=0, start=None, end=None, step=1):
    """A copy of `input` in which `input[start:end:step]` along `dim` is `src`. Raises RuntimeError for a `src` of
    another shape. Source: torch.slice_scatter."""
    dim = check_dim(dim, input.ndim)
    if step <= 0:
        raise fail(RuntimeError, "slice step must be positive", "flip() reverses a tensor.")
    return slice_scatter_op.call(input, src, dim, start, end, step)


@composite(method=True)
def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    """A copy of `input` in which a diagonal is `src`. Raises RuntimeError for a `src` of another shape. Source:
    torch.diagonal_scatter."""
    first, second = check_dim(dim1, input.ndim), check_dim(dim2, input.ndim)
    if first == second:
        message = f"diagonal dimensions cannot be identical {dim1}, {dim2}"
        raise fail(RuntimeError, message, "A diagonal runs through two dimensions.")
    return diagonal_scatter_op.call(input, src, offset, dim1, dim2)


@composite(method=True)
def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """A copy of `input` in which the piece of memory `input.as_strided(size, stride, storage_offset)` is `src`.

    Raises RuntimeError for a piece that does not lie in the memory and for a `src` of another shape. Source:
    torch.as_strided_scatter."""
    size, stride, storage_offset, ahead = strided_arguments(input, size, stride, storage_offset)
    geometry = (tuple(input.shape), tuple(input.stride()), size, stride, ahead)
    return as_strided_scatter_op.call(input, src, size, stride, storage_offset, geometry)
