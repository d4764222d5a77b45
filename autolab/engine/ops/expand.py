"""Repeating entries: expand (a view), repeat, tile, repeat_interleave."""

from __future__ import annotations

import numpy as np

from ..core.dtype import FROM_NUMPY, int64
from ..core.errors import fail
from ..exact.refusals import check_dim
from .functions import METHODS, NAMESPACES, composite, internal
from .shape import sizes_from, unsqueeze, view_op


def _everywhere(number, shape):
    """A 0-d array or scalar of NumPy at each place of `shape`, without copies."""
    return np.ndarray(shape, number.dtype, np.asarray(number), 0, (0,) * len(shape))


def everywhere(m, g, shape):
    """The 0-d gradient `g` at each place of `shape`: the gradient of every sum and mean, so without the questions of
    `expand`."""
    return _everywhere(g, shape) if m.xp is np else m.expand(g, shape)


def _type_of(array):
    """What PyTorch calls the type of a tensor with the dtype of `array` here."""
    short = FROM_NUMPY[array.dtype].short
    return "CPUBoolType" if short == "Bool" else f"torch.{short}Tensor"


def _expand(xp, self, size):
    size, shape = tuple(size), self.shape
    if not shape and xp is np and min(size, default=0) >= 0:
        return _everywhere(self, size)
    if len(size) < len(shape):
        raise fail(
            RuntimeError,
            f"expand({_type_of(self)}{{{list(shape)}}}, size={list(size)}): the number of sizes provided ({len(size)}) must be "
            f"greater or equal to the number of dimensions in the tensor ({len(shape)})",
            "Expanding adds dimensions at the front only.",
        )
    offset = len(size) - len(shape)
    if min(size, default=0) < 0:
        _check_negative(size, offset, shape)
    target = tuple(shape[i - offset] if n == -1 and i >= offset else n for i, n in enumerate(size))
    for i, n in reversed(list(enumerate(shape))):
        if n != target[i + offset] and n != 1:
            raise fail(
                RuntimeError,
                f"The expanded size of the tensor ({target[i + offset]}) must match the existing size ({n}) at non-singleton "
                f"dimension {i + offset}.  Target sizes: {list(target)}.  Tensor sizes: {list(shape)}",
                "Only dimensions of size 1 can be expanded: their one entry is read again and again.",
            )
    strides = [
        0 if n == 1 and target[i + offset] != 1 else s
        for i, (n, s) in enumerate(zip(shape, self.strides))
    ]
    for d in reversed(range(offset)):  # a new dimension of size 1 steps over all that is behind it
        strides.insert(
            0, 0 if target[d] != 1 else target[d + 1] * strides[0] if strides else self.itemsize
        )
    return xp.lib.stride_tricks.as_strided(self, target, strides)


def _check_negative(size, offset, shape):
    """Raises torch's errors for negative sizes: -1 keeps a size that is there, others mean nothing."""
    note = "-1 keeps the size of a dimension that is there; other sizes count entries."
    for d in reversed(range(len(size))):
        if d < offset and size[d] == -1:
            message = f"The expanded size of the tensor ({size[d]}) isn't allowed in a leading, non-existing dimension {d}"
            raise fail(RuntimeError, message, note)
        if size[d] < -1 and (d < offset or shape[d - offset] == 1):
            raise fail(RuntimeError, "numel: integer multiplication overflow", note)


expand_op = internal(
    "expand(Tensor self, int[] size)",
    forward=_expand,
    view=True,
    vjp={"self": lambda m, g, self_sym_sizes: m.sum_to(g, self_sym_sizes)},
    latex="{self}",
    vjp_latex={"self": "{g}"},
    samples=lambda s: [(s.randn(3), (2, 3)), (s.randn(2, 1), (2, 4))],
)


@composite(method=True, function=False)
def expand(self, *size, **named):
    """Repeats dimensions of size 1 without copying; a view. Source: torch.Tensor.expand."""
    return expand_op.call(self, sizes_from(size, "expand", named))


@composite(method=True, function=False)
def expand_as(self, other):
    """`self.expand(other.size())`. Source: torch.Tensor.expand_as."""
    return expand_op.call(self, other.shape)


@composite()
def broadcast_to(input, shape):
    """`input.expand(shape)`. Source: torch.broadcast_to."""
    return expand_op.call(input, tuple(shape))


METHODS["broadcast_to"] = broadcast_to


@composite()
def broadcast_tensors(*tensors):
    """All tensors expanded to their common shape. Source: torch.broadcast_tensors."""
    from ..exact.broadcasting import broadcast_error

    try:
        shape = np.broadcast_shapes(*(t.shape for t in tensors))
    except ValueError:
        raise broadcast_error([t.shape for t in tensors]) from None
    return tuple(t if t.shape == shape else expand_op.call(t, shape) for t in tensors)


def _repeat_rule(m, g, repeats, self_sym_sizes):
    padded = (1,) * (len(repeats) - len(self_sym_sizes)) + tuple(self_sym_sizes)
    split = tuple(n for r, s in zip(repeats, padded) for n in (r, s))
    summed = m.sum_to(
        m.reshape_raw(g, split), tuple(1 if i % 2 == 0 else n for i, n in enumerate(split))
    )
    return m.reshape_raw(summed, self_sym_sizes)


repeat_op = internal(
    "repeat(Tensor self, int[] repeats)",
    forward=lambda xp, self, repeats: xp.tile(self, repeats),
    vjp={"self": _repeat_rule},
    latex=r"\mathrm{repeat}({self})",
    vjp_latex={"self": r"\sum_{\text{copies}} {g}"},
    samples=lambda s: [(s.randn(2, 3), (2, 1)), (s.randn(3), (2, 2))],
)


@composite(method=True, function=False)
def repeat(self, *sizes):
    """Copies of the tensor side by side. Source: torch.Tensor.repeat."""
    sizes = sizes_from(sizes, "repeat")
    if len(sizes) < self.ndim:
        raise fail(
            RuntimeError,
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
            "Give one count per dimension, and more to add dimensions at the front.",
        )
    return _repeated(self, sizes)


def _repeated(self, times):
    shape = [n * k for n, k in zip((1,) * (len(times) - self.ndim) + tuple(self.shape), times)]
    if min(shape, default=0) < 0 or min(times, default=0) < 0:
        negative = next((n for n in shape if n < 0), min(times))
        message = f"Trying to create tensor with negative dimension {negative}: {shape}"
        raise fail(RuntimeError, message, "Each count says how often a dimension is repeated.")
    return repeat_op.call(self, times)


@composite()
def tile(input, dims):
    """`repeat` with missing counts taken as 1. Source: torch.tile."""
    dims = tuple(dims)
    return _repeated(input, (1,) * (input.ndim - len(dims)) + dims)


def _tile(self, *dims):
    """`repeat` with missing counts taken as 1. Source: torch.Tensor.tile."""
    return tile(self, sizes_from(dims, "tile"))


METHODS["tile"] = _tile


def _check_repeats(repeats, n):
    note = "There is one count per entry, or one for all."
    if repeats._array.ndim > 1:
        raise fail(RuntimeError, "repeats must be 0-dim or 1-dim tensor", note)
    if repeats.numel() != 1 and repeats.numel() != n:
        message = (
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{repeats.shape[0]} and input.size(0) = {n}"
        )
        raise fail(RuntimeError, message, note)
    if repeats.dtype.name not in ("int32", "int64"):
        message = f"\"repeat_interleave_cpu\" not implemented for '{repeats.dtype.short}'"
        raise fail(NotImplementedError, message, "Counts are whole numbers.")
    if bool((repeats < 0).any()):
        raise fail(RuntimeError, "repeats can not be negative", note)


def _positions(repeats, output_size):
    """The numbers of the entries of `repeats`, the counts of a `repeat_interleave` of nothing else."""
    if repeats.dtype.name not in ("int32", "int64"):
        message = f"\"repeat_interleave_cpu\" not implemented for '{repeats.dtype.short}'"
        raise fail(NotImplementedError, message, "Counts are whole numbers.")
    if repeats._array.ndim != 1:
        raise fail(
            RuntimeError,
            "repeat_interleave only accept 1D vector as repeat",
            "It has one count per position.",
        )
    _check_repeats(repeats, repeats.numel())
    if output_size not in (None, int(repeats.sum())):
        raise fail(
            RuntimeError,
            "allocated size does not match required size",
            f"The counts add up to {int(repeats.sum())}.",
        )
    return NAMESPACES[""]["arange"](repeats.numel(), dtype=repeats.dtype, device=repeats.device)


@composite(method=True)
def repeat_interleave(input=None, repeats=None, dim=None, *, output_size=None):
    """Each entry `repeats` times in a row (a number, or one count per entry); of counts alone, each position as often
    as it says.

    Source: torch.repeat_interleave."""
    if input is None or repeats is None:
        repeats = input if repeats is None else repeats
        input = _positions(repeats, output_size)
    if dim is None:
        input, dim = input.flatten(), 0
    dim = check_dim(dim, input.ndim)
    if isinstance(repeats, int):
        if repeats < 0:
            raise fail(
                RuntimeError, "Repeats must be non-negative", "It says how often each entry comes."
            )
        inserted = unsqueeze.call(input, dim + 1)
        size = [*inserted.shape]
        size[dim + 1] = repeats
        shape = list(input.shape)
        shape[dim] *= repeats
        if output_size not in (None, shape[dim]):
            message = f"repeat_interleave: Invalid output_size, expected {shape[dim]} but got {output_size}"
            raise fail(
                RuntimeError,
                message,
                "It is the size that the dimension will have, where one knows it.",
            )
        return view_op.call(expand_op.call(inserted, tuple(size)).clone_contiguous(), tuple(shape))
    _check_repeats(repeats, input.shape[dim])
    times = repeats.reshape(-1).tolist() * (input.shape[dim] if repeats.numel() == 1 else 1)
    index = [i for i, n in enumerate(times) for _ in range(n)]
    from .creation import tensor

    return NAMESPACES[""]["index_select"](
        input, dim, tensor(index, dtype=int64, device=input.device)
    )
