"""Mirrored, rolled, triangular and diagonal tensors (diag, diag_embed, fill_diagonal_), and windows."""

from __future__ import annotations

import numpy as np

from ..exact.arguments import bool_argument
from ..core.dtype import NUMBERS
from ..core.errors import bad_argument, fail
from ..exact.refusals import check_dim, check_dims, no_dimensions
from .functions import composite, internal, register
from ..core.tensor import Tensor
from .shape import row_major, sizes_from


# -- mirrored, rolled, triangular, diagonal ----------------------------------------------------------------------------
def _flip(xp, self, dims):
    # the order in memory stays, but for expanded tensors, which have none
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


@composite(method=True, function=False, name="flip")
def flip_method(self, *dims):
    """Reversed along dimensions; a copy. Source: torch.flip."""
    return flip_op.call(self, sizes_from(dims, "flip"))


@composite()
def flip(input, dims):
    """Reversed along dimensions; a copy. Source: torch.flip."""
    return flip_op.call(input, tuple(dims))


@composite(method=True)
def fliplr(input):
    """Reversed left to right. Source: torch.fliplr."""
    if input._array.ndim < 2:
        raise fail(RuntimeError, "Input must be >= 2-d.", "Columns are dimension 1.")
    return flip_op.call(input, (1,))


@composite(method=True)
def flipud(input):
    """Reversed upside down. Source: torch.flipud."""
    if not input._array.ndim:
        raise fail(RuntimeError, "Input must be >= 1-d.", "Rows are dimension 0.")
    return flip_op.call(input, (0,))


def _as_tuple(x):
    return (x,) if isinstance(x, int) else tuple(x)


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
    """Entries shifted along dimensions, falling in again at the other end. Source: torch.roll."""
    shifts, dims = _as_tuple(shifts), _as_tuple(dims)
    if dims and not input._array.ndim:
        raise no_dimensions(dims[0])
    if len(shifts) != (len(dims) or 1):
        if not shifts:
            raise fail(
                RuntimeError, "`shifts` required", "It says how far to go along each dimension."
            )
        raise fail(
            RuntimeError,
            f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}",
            "Give one shift for each dimension; without dims one shift for the flattened tensor.",
        )
    if not input._array.size:
        return roll_op.call(input, shifts, ())
    return roll_op.call(input, shifts, tuple(check_dim(d, input._array.ndim) for d in dims))


def _matrices(name, a):
    if a.ndim < 2:
        raise fail(
            RuntimeError,
            f"{name}: input tensor must have at least 2 dimensions",
            "A triangle is a part of a matrix.",
        )
    return a


tril = register(
    "tril(Tensor self, int diagonal=0)",
    forward=lambda xp, self, diagonal: row_major(xp, xp.tril(_matrices("tril", self), diagonal)),
    inplace=True,
    vjp={"self": lambda m, g, diagonal: m.tril(g, diagonal)},
    latex=r"\mathrm{tril}_{{diagonal}}({self})",
    vjp_latex={"self": r"\mathrm{tril}_{{diagonal}}({g})"},
    samples=lambda s: [s.randn(3, 3), (s.randn(2, 3), 1)],
    doc="The lower triangle, zeros above. Source: torch.tril",
)
triu = register(
    "triu(Tensor self, int diagonal=0)",
    forward=lambda xp, self, diagonal: row_major(xp, xp.triu(_matrices("triu", self), diagonal)),
    inplace=True,
    vjp={"self": lambda m, g, diagonal: m.triu(g, diagonal)},
    latex=r"\mathrm{triu}_{{diagonal}}({self})",
    vjp_latex={"self": r"\mathrm{triu}_{{diagonal}}({g})"},
    samples=lambda s: [s.randn(3, 3), (s.randn(2, 3), -1)],
    doc="The upper triangle, zeros below. Source: torch.triu",
)


def _writable_diagonal(xp, self, offset, dim1, dim2):
    if check_dim(dim1, self.ndim) == check_dim(dim2, self.ndim):
        message = f"diagonal dimensions cannot be identical {dim1}, {dim2}"
        raise fail(RuntimeError, message, "A diagonal runs through two dimensions.")
    d = xp.diagonal(self, offset, dim1, dim2)
    if xp is np:  # NumPy's is read-only
        d.flags.writeable = self.flags.writeable
    return d


def _diagonal_spread(xp, self, shape, offset, dim1, dim2):
    out = xp.zeros(shape, self.dtype)
    d = xp.diagonal(out, offset, dim1, dim2)
    if xp is np:
        d.flags.writeable = True
    d[...] = self
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
    doc="The entries on a diagonal; a view. Source: torch.diagonal",
)
diagonal_copy = register(
    "diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1)",
    forward=lambda xp, self, offset, dim1, dim2: _writable_diagonal(
        xp, self, offset, dim1, dim2
    ).copy(),
    method=False,
    node="DiagonalBackward0_copy",
    vjp=diagonal.vjp,
    latex=r"\mathrm{diag}({self})",
    vjp_latex={"self": r"\mathrm{diag}({g})"},
    samples=lambda s: [s.randn(3, 3), (s.randn(2, 3), 1)],
    doc="The entries on a diagonal; a copy. Source: torch.diagonal_copy",
)
diagonal_spread = internal(
    "diagonal_spread(Tensor self, int[] shape, int offset, int dim1, int dim2)",
    forward=_diagonal_spread,
    node="DiagonalBackwardBackward0",
    vjp={"self": lambda m, g, offset, dim1, dim2: m.diagonal(g, offset, dim1, dim2)},
    latex=r"\mathrm{diag}({self})",
    vjp_latex={"self": r"\mathrm{diag}({g})"},
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
    doc="Matrices with the given diagonals. Source: torch.diag_embed",
)


@composite(method=True)
def diag(input, diagonal=0):
    """The diagonal of a matrix, or the matrix with the given diagonal. Source: torch.diag."""
    if input.ndim == 1:
        return diag_embed.call(input, diagonal, -2, -1)
    if input.ndim == 2:
        return diagonal_copy.call(input, diagonal, 0, 1)
    raise fail(
        RuntimeError,
        f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D",
        "Use diagonal or diag_embed for more dimensions.",
    )


@composite(method=True, function=False)
def fill_diagonal_(self, fill_value, wrap=False):
    """Sets the main diagonal to a number, in place: [0, 0], [1, 1] …, of more than two dimensions [0, 0, 0] …

    wrap: go on below a tall matrix, after one row left out. Raises RuntimeError for a vector, and for more than two
    dimensions of different sizes. Source: torch.Tensor.fill_diagonal_."""
    value = (
        fill_value.item()
        if isinstance(fill_value, Tensor) and not fill_value._array.ndim
        else fill_value
    )
    if not isinstance(value, NUMBERS):
        raise bad_argument("fill_diagonal_", "fill_value", 1, "Number", fill_value)
    bool_argument("fill_diagonal_", "wrap", 2, wrap)
    shape = self._array.shape
    if len(shape) < 2:
        raise fail(RuntimeError, "dimensions must larger than 1", "A vector has no diagonal.")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise fail(
            RuntimeError,
            "all dimensions of input must be of equal length",
            "Only of a matrix the sides may differ.",
        )
    start, step, n = self.storage_offset(), sum(self.stride()), min(shape)
    self.as_strided((n,), (step,), start).fill_(value)
    rows, columns = shape[:2]
    if wrap and len(shape) == 2 and rows > columns + 1:
        further = -(-self.numel() // (columns + 1)) - n
        self.as_strided((further,), (step,), start + self.stride(0) * (columns + 1)).fill_(value)
    return self


def _unfold(xp, self, dimension, size, step):
    d = check_dim(dimension, self.ndim)
    if not self.ndim and 0 <= size <= 1:  # one window over the one number
        return self.reshape(1)[:size]
    self = self if self.ndim else self.reshape(1)
    if size > self.shape[d]:
        raise fail(
            RuntimeError,
            f"maximum size for tensor at dimension {d} is {self.shape[d]} but size is {size}",
            "The window is longer than the data.",
        )
    if size < 0 or step <= 0:
        wrong = (
            f"size is {size} but must be >= 0" if size < 0 else f"step is {step} but must be > 0"
        )
        raise fail(
            RuntimeError, wrong, "A window has at least no numbers, and the next one begins later."
        )
    shape, strides = list(self.shape), list(self.strides)
    shape[d] = (shape[d] - size) // step + 1
    strides[d] *= step
    return xp.lib.stride_tricks.as_strided(self, (*shape, size), (*strides, self.strides[d]))


def _unfold_spread(xp, self, shape, dimension, size, step):
    out = xp.zeros(shape, self.dtype)
    if not shape:
        return self.reshape(()) if size else out
    d = dimension % out.ndim
    windows = xp.moveaxis(self, -1, 0)
    for i in range(size):
        out[(slice(None),) * d + (slice(i, i + step * (self.shape[d] - 1) + 1, step),)] += windows[
            i
        ]
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
    samples=lambda s: [(s.randn(5), 0, 2, 1), (s.randn(2, 6), 1, 3, 2), (s.randn(), 0, 1, 1)],
    doc="Sliding windows along a dimension; a view. Source: torch.Tensor.unfold",
)
unfold_spread = internal(
    "unfold_spread(Tensor self, int[] shape, int dimension, int size, int step)",
    forward=_unfold_spread,
    node="UnfoldBackwardBackward0",
    vjp={"self": lambda m, g, dimension, size, step: m.unfold(g, dimension, size, step)},
    latex=r"\sum \mathrm{windows}({self})",
    vjp_latex={"self": r"\mathrm{windows}({g})"},
    samples=lambda s: [(s.randn(4, 2), (5,), 0, 2, 1), (s.randn(2, 2, 3), (2, 6), 1, 3, 2)],
)
