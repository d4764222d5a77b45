"""Rearranged entries: flipped, rolled, triangular and diagonal tensors (diag, diag_embed), and windows."""

from __future__ import annotations

import numpy as np

from ..exact.refusals import check_dim, check_dims, no_dimensions
from .checks import refuse_if
from .functions import composite, internal, register
from .shape import by_sizes, row_major


# -- mirrored, rolled, triangular, diagonal ----------------------------------------------------------------------------
def _flip(xp, self, dims):
    # The memory order is kept, except for expanded tensors, which have none.
    return xp.array(
        xp.flip(self, check_dims(dims, self.ndim)[: self.ndim]),
        order="C" if 0 in self.strides else "K",
    )


flip_op = internal(
    "flip(Tensor self, int[] dims)",
    forward=_flip,
    vjp={"self": lambda m, g, dims: m.flip(g, dims)},
    latex=r"\mathrm{flip}({self})",
    vjp_latex={"self": r"\mathrm{flip}({g})"},
    samples=lambda s: [(s.randn(2, 3), (0,)), (s.randn(2, 3), (0, 1))],
)


by_sizes("flip", flip_op, "Reverse the entries along dimensions; a copy.")


roll_op = internal(
    "roll(Tensor self, int[] shifts, int[] dims)",
    forward=lambda xp, self, shifts, dims: xp.roll(self, shifts, dims if dims else None),
    vjp={"self": lambda m, g, shifts, dims: m.roll(g, tuple(-s for s in shifts), dims)},
    latex=r"\mathrm{roll}({self})",
    vjp_latex={"self": r"\mathrm{roll}^{-1}({g})"},
    samples=lambda s: [(s.randn(4), (1,), ()), (s.randn(2, 3), (1,), (1,))],
)


@composite(method=True)
def roll(input, shifts, dims=()):
    """Shift entries along dimensions; entries that leave at one end come in at the other. Source: torch.roll."""
    shifts = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    dims = check_dims(dims, input.ndim)
    if dims and not input.ndim:
        raise no_dimensions(dims[0])
    refuse_if(
        len(shifts) != (len(dims) or 1),
        f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}",
        "Give one shift for each dimension; without dims one shift for the flattened tensor.",
    )
    return roll_op.call(input, shifts, dims)


def _matrices(name, a):
    refuse_if(
        a.ndim < 2,
        f"{name}: input tensor must have at least 2 dimensions",
        "A triangle is a part of a matrix.",
    )
    return a


def _triangle(name, rest, doc):
    register(
        f"{name}(Tensor self, int diagonal=0)",
        forward=lambda xp, self, diagonal: row_major(
            xp, getattr(xp, name)(_matrices(name, self), diagonal)
        ),
        inplace=True,
        vjp={"self": lambda m, g, diagonal: getattr(m, name)(g, diagonal)},
        latex=rf"\mathrm{{{name}}}_{{{{diagonal}}}}({{self}})",
        vjp_latex={"self": rf"\mathrm{{{name}}}_{{{{diagonal}}}}({{g}})"},
        samples=lambda s: [s.randn(3, 3), (s.randn(2, 3), rest)],
        doc=f"{doc} Source: torch.{name}",
    )


_triangle("tril", 1, "Return the lower triangle, with zeros above.")
_triangle("triu", -1, "Return the upper triangle, with zeros below.")


def _writable_diagonal(xp, self, offset, dim1, dim2):
    same = check_dim(dim1, self.ndim) == check_dim(dim2, self.ndim)
    refuse_if(
        same,
        f"diagonal dimensions cannot be identical {dim1}, {dim2}",
        "A diagonal runs through two dimensions.",
    )
    d = xp.diagonal(self, offset, dim1, dim2)
    if xp is np:  # NumPy's view is read-only
        d.flags.writeable = self.flags.writeable
    return d


def _diagonal_spread(xp, self, shape, *place):
    out = xp.zeros(shape, self.dtype)
    _writable_diagonal(xp, out, *place)[...] = self
    return out


diagonal = register(
    "diagonal(Tensor self, int offset=0, int dim1=0, int dim2=1)",
    forward=_writable_diagonal,
    view=True,
    vjp={
        "self": lambda m, g, self_sym_sizes, offset, dim1, dim2: m.diagonal_spread(
            g, self_sym_sizes, offset, dim1, dim2
        )
    },
    latex=r"\mathrm{diag}({self})",
    vjp_latex={"self": r"\mathrm{diag}({g})"},
    samples=lambda s: [s.randn(3, 3), (s.randn(2, 3), 1)],
    doc="Return the entries on a diagonal; a view. Source: torch.diagonal",
)
diagonal_spread = internal(
    "diagonal_spread(Tensor self, int[] shape, int offset, int dim1, int dim2)",
    forward=_diagonal_spread,
    node="DiagonalBackwardBackward0",
    vjp={"self": lambda m, g, offset, dim1, dim2: m.diagonal(g, offset, dim1, dim2)},
    samples=lambda s: [(s.randn(2), (2, 3), 1, 0, 1)],
)


def _diag_embed(xp, self, offset, dim1, dim2):
    n = self.shape[-1] + abs(offset)
    out = xp.zeros((*self.shape[:-1], n, n), self.dtype)
    i = xp.arange(self.shape[-1])
    out[..., i + max(-offset, 0), i + max(offset, 0)] = self
    return xp.moveaxis(out, (-2, -1), (dim1, dim2))


diag_embed = register(
    "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1)",
    forward=_diag_embed,
    vjp={"self": lambda m, g, offset, dim1, dim2: m.diagonal(g, offset, dim1, dim2)},
    latex=r"\mathrm{diag}({self})",
    vjp_latex={"self": r"\mathrm{diag}({g})"},
    samples=lambda s: [s.randn(3), s.randn(2, 3)],
    doc="Return matrices with the given diagonals. Source: torch.diag_embed",
)


@composite(method=True)
def diag(input, diagonal=0):
    """Return the diagonal of a matrix, or a matrix with the given diagonal. Source: torch.diag."""
    refuse_if(
        input.ndim not in (1, 2),
        f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D",
        "Use diagonal or diag_embed for more dimensions.",
    )
    if input.ndim == 1:
        return diag_embed.call(input, diagonal, -2, -1)
    return input.diagonal(diagonal).clone()


def _unfold(xp, self, dimension, size, step):
    d = check_dim(dimension, self.ndim)
    n = self.shape[d] if self.ndim else 0
    refuse_if(
        not 0 <= size <= n,
        f"maximum size for tensor at dimension {d} is {n} but size is {size}",
        "A window is not longer than the data.",
    )
    refuse_if(step <= 0, f"step is {step} but must be > 0", "The next window begins later.")
    shape, strides = list(self.shape), list(self.strides)
    shape[d] = (n - size) // step + 1
    strides[d] *= step
    return xp.lib.stride_tricks.as_strided(self, (*shape, size), (*strides, self.strides[d]))


def _unfold_spread(xp, self, shape, dimension, size, step):
    out, d = xp.zeros(shape, self.dtype), dimension % len(shape)
    along, windows = xp.moveaxis(out, d, 0), xp.moveaxis(self, (-1, d), (0, 1))
    for i in range(size):
        along[i : i + step * (windows.shape[1] - 1) + 1 : step] += windows[i]
    return out


unfold = register(
    "unfold(Tensor self, int dimension, int size, int step)",
    forward=_unfold,
    view=True,
    function=False,
    vjp={
        "self": lambda m, g, self_sym_sizes, dimension, size, step: m.unfold_spread(
            g, self_sym_sizes, dimension, size, step
        )
    },
    latex=r"\mathrm{windows}({self})",
    vjp_latex={"self": r"\sum \mathrm{windows}({g})"},
    samples=lambda s: [(s.randn(5), 0, 2, 1), (s.randn(2, 6), 1, 3, 2)],
    doc="Return sliding windows along a dimension; a view. Source: torch.Tensor.unfold",
)
unfold_spread = internal(
    "unfold_spread(Tensor self, int[] shape, int dimension, int size, int step)",
    forward=_unfold_spread,
    node="UnfoldBackwardBackward0",
    vjp={"self": lambda m, g, dimension, size, step: m.unfold(g, dimension, size, step)},
    samples=lambda s: [(s.randn(4, 2), (5,), 0, 2, 1), (s.randn(2, 2, 3), (2, 6), 1, 3, 2)],
)
