"""The shape of a tensor: view, reshape, squeeze, unsqueeze, flatten, narrow. No values are computed here. The order of
dimensions is in `transposition.py`, joining and splitting in `joining.py`, expand and repeat in `expand.py`."""

from __future__ import annotations

import math

import numpy as np

from ..core.errors import fail
from ..exact.refusals import check_dim, check_dims
from .functions import METHODS, NAMESPACES, composite, internal, register
from ..core.tensor import Tensor, materialise


def sizes_from(args, function, named=()):
    """`f(2, 3)`, `f((2, 3))` and `f(torch.Size([2, 3]))` mean the same, and `f(size=(2, 3))`, which stands in `named`,
    does too.

    Raises PyTorch's TypeError for what is no list of ints."""
    given = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
    for a in given:
        if a.__class__ is not int:
            break
    else:
        if args and not named:
            return tuple(given)
    from ..exact.signatures import sizes

    return sizes(function, args, dict(named))


def inferred(shape, numel):
    """`shape` with its -1 replaced. Raises RuntimeError in torch's words when the sizes do not fit `numel`."""
    if math.prod(shape) == numel and (not shape or min(shape) >= 0):
        return shape
    if shape.count(-1) > 1:
        raise fail(
            RuntimeError,
            "only one dimension can be inferred",
            "Leave one size as -1 at most; the others determine it.",
        )
    known = math.prod(n for n in shape if n != -1)
    for n in shape:
        if n < -1:
            raise fail(
                RuntimeError,
                f"invalid shape dimension {n}",
                "A size is 0 or more, or -1 for the one to be inferred.",
            )
    if -1 in shape:
        if known and numel % known == 0:
            return tuple(numel // known if n == -1 else n for n in shape)
        if not known:
            raise fail(
                RuntimeError,
                f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 can "
                "be any value and is ambiguous",
                "Give that size explicitly.",
            )
    elif known == numel:
        return shape
    raise fail(
        RuntimeError,
        f"shape '{list(shape)}' is invalid for input of size {numel}",
        f"A reshape keeps the number of elements, here {numel}.",
    )


def _is_copied(reshaped, array, xp=np):
    # `copy=False` would raise, from NumPy 2.1 on; Colab has 2.0.
    return reshaped.size and not xp.may_share_memory(reshaped, array)


def _view(xp, self, size):
    reshaped = self.reshape(inferred(tuple(size), self.size))
    if _is_copied(reshaped, self, xp):
        raise fail(
            RuntimeError,
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead.",
            "view() only reads the same memory differently; this tensor's memory is not in that order (it was transposed, say), and reshape() "
            "copies when it must.",
        )
    return reshaped


view_op = internal(
    "view(Tensor self, int[] size)",
    forward=_view,
    view=True,
    vjp={"self": lambda m, g, self_sym_sizes: m.reshape_raw(g, self_sym_sizes)},
    latex=r"\mathrm{view}({self})",
    vjp_latex={"self": r"\mathrm{view}({g})"},
    samples=lambda s: [(s.randn(2, 3), (6,))],
)
unsafe_view = internal(
    "unsafe_view(Tensor self, int[] size)",
    forward=lambda xp, self, size: self.reshape(tuple(size)),
    vjp={"self": lambda m, g, self_sym_sizes: m.reshape_raw(g, self_sym_sizes)},
    latex=r"\mathrm{view}({self})",
    vjp_latex={"self": r"\mathrm{view}({g})"},
    samples=lambda s: [(s.randn(2, 3), (3, 2))],
)
reshape_raw = internal(
    "reshape_raw(Tensor self, int[] size)",
    forward=lambda xp, self, size: self.reshape(tuple(size)),
    node="ReshapeAliasBackward0",
    vjp={"self": lambda m, g, self_sym_sizes: m.reshape_raw(g, self_sym_sizes)},
    latex=r"\mathrm{view}({self})",
    vjp_latex={"self": r"\mathrm{view}({g})"},
    samples=lambda s: [(s.randn(2, 3), (6,))],
)


@composite(method=True, function=False)
def view(self, *size, **named):
    """The same memory with another shape. Raises RuntimeError when that is impossible without copying. Source:
    torch.Tensor.view."""
    return view_op.call(self, sizes_from(size, "view", named))


@composite(method=True, function=False, name="reshape")
def reshape_method(self, *shape, **named):
    """Another shape: a view where the memory allows it, else a copy. Source: torch.reshape."""
    shape = inferred(sizes_from(shape, "reshape", named), self._array.size)
    if isinstance(self._array, np.generic) or self._array.flags.c_contiguous:
        return view_op.call(self, shape)
    if (
        self._array.__class__ is np.ndarray
    ):  # asked before: an error that nobody sees takes as long as a small kernel
        d = materialise(self)
        return (
            unsafe_view.call(self.clone_contiguous(), shape)
            if _is_copied(d.reshape(shape), d)
            else view_op.call(self, shape)
        )
    try:
        return view_op.call(self, shape)
    except RuntimeError:
        return unsafe_view.call(self.clone_contiguous(), shape)


@composite()
def reshape(input, shape):
    """Another shape: a view where the memory allows it, else a copy. Source: torch.reshape."""
    return reshape_method(input, shape)


@composite(method=True, function=False)
def clone_contiguous(self):
    """A row-major copy."""
    from .copies import ROW_MAJOR, clone

    return clone.call(self, ROW_MAJOR)


@composite(method=True, function=False)
def view_as(self, other):
    """`self.view(other.size())`. Source: torch.Tensor.view_as."""
    return view_op.call(self, other.shape)


@composite(method=True, function=False)
def reshape_as(self, other):
    """`self.reshape(other.size())`. Source: torch.Tensor.reshape_as."""
    return reshape_method(self, other.shape)


# -- dimensions of size one --------------------------------------------------------------------------------------------
def row_major(xp, array):
    """The array in row-major order, as many of PyTorch's kernels give it; images may keep the batch innermost (see
    kernels/)."""
    return array if array.ndim == 4 or array.flags.c_contiguous else xp.ascontiguousarray(array)


def _unsqueezed(xp, self, dim):
    d = check_dim(dim, self.ndim + 1)
    # PyTorch has a last stride of 1 here
    if xp is np and d == self.ndim and d and self.strides[-1] not in (self.itemsize, 0):
        return np.lib.stride_tricks.as_strided(
            self, (*self.shape, 1), (*self.strides, self.itemsize)
        )
    return xp.expand_dims(self, d)


unsqueeze = register(
    "unsqueeze(Tensor self, int dim)",
    view=True,
    forward=_unsqueezed,
    vjp={"self": lambda m, g, dim: m.squeeze_dim(g, dim)},
    latex=r"\mathrm{unsqueeze}({self})",
    vjp_latex={"self": r"\mathrm{squeeze}({g})"},
    samples=lambda s: [(s.randn(2, 3), 0), (s.randn(2, 3), -1)],
    doc="Inserts a dimension of size 1; a view. Source: torch.unsqueeze",
)


def _squeeze(xp, self, dims):
    return self.squeeze(tuple(i for i, n in enumerate(self.shape) if n == 1 and i in dims))


squeeze_op = internal(
    "squeeze(Tensor self)",
    forward=lambda xp, self: _squeeze(xp, self, range(self.ndim)),
    view=True,
    vjp={"self": lambda m, g, self_sym_sizes: m.reshape_raw(g, self_sym_sizes)},
    latex=r"\mathrm{squeeze}({self})",
    vjp_latex={"self": r"\mathrm{unsqueeze}({g})"},
    samples=lambda s: [s.randn(1, 3, 1)],
)
squeeze_dim = internal(
    "squeeze_dim(Tensor self, int dim)",
    node="SqueezeBackward1",
    view=True,
    forward=lambda xp, self, dim: _squeeze(xp, self, (check_dim(dim, self.ndim),)),
    vjp={"self": lambda m, g, dim, self_sym_sizes: m.reshape_raw(g, self_sym_sizes)},
    latex=r"\mathrm{squeeze}({self})",
    vjp_latex={"self": r"\mathrm{unsqueeze}({g})"},
    samples=lambda s: [(s.randn(1, 3), 0), (s.randn(2, 3), 0)],
)
squeeze_product = internal(
    "squeeze_product(Tensor self, int dim)",
    node="SqueezeBackward4",
    view=True,
    # of vector @ matrix
    forward=lambda xp, self, dim: _squeeze(xp, self, (check_dim(dim, self.ndim),)),
    vjp={"self": lambda m, g, dim, self_sym_sizes: m.reshape_raw(g, self_sym_sizes)},
    latex=r"\mathrm{squeeze}({self})",
    vjp_latex={"self": r"\mathrm{unsqueeze}({g})"},
    samples=lambda s: [(s.randn(1, 3), 0)],
)
squeeze_dims = internal(
    "squeeze_dims(Tensor self, int[] dim)",
    node="SqueezeBackward2",
    view=True,
    forward=lambda xp, self, dim: _squeeze(xp, self, check_dims(dim, self.ndim)),
    vjp={"self": lambda m, g, dim, self_sym_sizes: m.reshape_raw(g, self_sym_sizes)},
    latex=r"\mathrm{squeeze}({self})",
    vjp_latex={"self": r"\mathrm{unsqueeze}({g})"},
    samples=lambda s: [(s.randn(1, 3, 1), (0, 2))],
)


@composite(method=True)
def squeeze(input, dim=None):
    """Removes dimensions of size 1 (all, or those named); a view. Source: torch.squeeze."""
    if dim is None:
        return squeeze_op.call(input)
    return (
        squeeze_dim.call(input, dim)
        if isinstance(dim, int)
        else squeeze_dims.call(input, tuple(dim))
    )


# -- flatten -----------------------------------------------------------------------------------------------------------
@composite(method=True)
def flatten(input, start_dim=0, end_dim=-1):
    """Dimensions start_dim … end_dim as one. Source: torch.flatten."""
    ndim = input._array.ndim
    a, b = check_dim(start_dim, ndim), check_dim(end_dim, ndim)
    if not ndim:
        return view_op.call(input, (1,))
    if a > b:
        raise fail(
            RuntimeError,
            "flatten() has invalid args: start_dim cannot come after end_dim",
            "Name the first dimension first.",
        )
    if a == b:
        return input
    shape = input._array.shape
    return reshape_method(input, (*shape[:a], math.prod(shape[a : b + 1]), *shape[b + 1 :]))


@composite(method=True)
def ravel(input):
    """All entries in one dimension. Source: torch.ravel."""
    return input.contiguous().view(-1)


@composite(method=True)
def unflatten(input, dim, sizes):
    """One dimension as several. Source: torch.unflatten."""
    if not input._array.ndim:
        raise fail(
            IndexError,
            f"Dimension specified as {dim} but tensor has no dimensions",
            "A 0-d tensor is a single number.",
        )
    d = check_dim(dim, input.ndim)
    sizes = tuple(sizes)
    if not sizes:
        raise fail(
            RuntimeError,
            "unflatten: sizes must be non-empty",
            "Name the sizes of the new dimensions.",
        )
    n = input.shape[d]
    known = math.prod(s for s in sizes if s != -1)
    if (-1 not in sizes and known != n) or (-1 in sizes and (not known or n % known)):
        raise fail(
            RuntimeError,
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({n}) in the input tensor",
            "The product of the new sizes is the old size.",
        )
    return view_op.call(input, (*input.shape[:d], *sizes, *input.shape[d + 1 :]))


def _narrow_start(start):
    """Where a piece begins, as a number. Raises torch's error for a tensor that is no single whole number."""
    if isinstance(start, Tensor) and (start.ndim or not start.dtype.is_integer):
        message = "start must be an 0-dim integral Tensor."
        raise fail(RuntimeError, message, "Pass a number, or a 0-d tensor of whole numbers.")
    return int(start)


@composite(method=True)
def narrow(input, dim, start, length):
    """`length` entries from `start` along a dimension; a view. Source: torch.narrow."""
    if not input._array.ndim:
        raise fail(
            RuntimeError,
            "narrow() cannot be applied to a 0-dim tensor.",
            "A 0-d tensor is a single number.",
        )
    d = check_dim(dim, input.ndim)
    n = input.shape[d]
    start = _narrow_start(start)
    if not -n <= start <= n:
        raise fail(
            IndexError,
            f"start out of range (expected to be in range of [{-n}, {n}], but got {start})",
            "Count entries from 0.",
        )
    start = start + n if start < 0 else start
    if length < 0 or start + length > n:
        raise fail(
            RuntimeError,
            f"start ({start}) + length ({length}) exceeds dimension size ({n}).",
            "The piece must lie inside the dimension.",
        )
    return NAMESPACES["Tensor"]["slice"](input, d, start, start + length, 1)


@composite(method=True)
def atleast_1d(input):
    """With one dimension at least. Source: torch.atleast_1d."""
    return view_op.call(input, (1,)) if not input.ndim else input


@composite(method=True, function=False)
def sum_to_size(self, *size):
    """Summed over the dimensions that broadcasting from `size` would have expanded. Source:
    torch.Tensor.sum_to_size."""
    shape, given = tuple(sizes_from(size, "sum_to_size")), tuple(self._array.shape)
    extra = len(given) - len(shape)
    if extra < 0 or any(n not in (1, m) for n, m in zip(shape, given[extra:])):
        message = f"size {{{list(shape)}}} is not expandable to size {{{list(given)}}}."
        raise fail(
            RuntimeError, message, "Each size is that of the tensor, from the last one on, or 1."
        )
    axes = (
        *range(extra),
        *(k + extra for k, n in enumerate(shape) if n == 1 and given[k + extra] != 1),
    )
    if not shape:
        return METHODS["sum"](self)
    summed = METHODS["sum"](self, axes, True) if axes else self
    return view_op.call(summed, shape) if extra else summed
