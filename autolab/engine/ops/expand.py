"""Repeat entries: expand (a view), repeat, tile, repeat_interleave."""

from __future__ import annotations

import numpy as np

from ..core.dtype import FROM_NUMPY
from ..exact.broadcasting import broadcast_error
from ..exact.refusals import check_dim, unsupported
from .checks import refuse_if
from .functions import NAMESPACES, composite, internal
from .shape import by_sizes, sizes_from


def _everywhere(number, shape):
    """Return a 0-d array or NumPy scalar at each position of `shape`, without copies."""
    return np.ndarray(shape, number.dtype, np.asarray(number), 0, (0,) * len(shape))


def everywhere(m, g, shape):
    """Return the 0-d gradient `g` at each position of `shape`. It skips the checks of `expand`, because every sum and
    mean uses it."""
    return _everywhere(g, shape) if m.xp is np else m.expand(g, shape)


def _type_of(array):
    """Return PyTorch's name for the type of a tensor with the device and dtype of `array`."""
    short = FROM_NUMPY[array.dtype].short
    return "CPUBoolType" if short == "Bool" else f"torch.{short}Tensor"


def _expand(xp, self, size):
    size, shape = tuple(size), self.shape
    if not shape and xp is np and min(size, default=0) >= 0:
        return _everywhere(self, size)
    offset = len(size) - len(shape)
    refuse_if(
        offset < 0,
        f"expand({_type_of(self)}{{{list(shape)}}}, size={list(size)}): the number of sizes provided ({len(size)}) must be "
        f"greater or equal to the number of dimensions in the tensor ({len(shape)})",
        "Expanding adds dimensions at the front only.",
    )
    old = (None,) * offset + shape
    target = tuple(n if m == -1 and n is not None else m for m, n in zip(size, old))
    for d in reversed(range(len(size))):
        refuse_if(
            target[d] < 0,
            f"The expanded size of the tensor ({size[d]}) isn't allowed in a leading, non-existing dimension {d}",
            "-1 keeps the size of a dimension that is there; other sizes count entries.",
        )
        refuse_if(
            old[d] not in (None, 1, target[d]),
            f"The expanded size of the tensor ({target[d]}) must match the existing size ({old[d]}) at non-singleton "
            f"dimension {d}.  Target sizes: {list(target)}.  Tensor sizes: {list(shape)}",
            "Only dimensions of size 1 can be expanded: their one entry is read again and again.",
        )
    strides = [
        0 if n == 1 and m != 1 else s for n, m, s in zip(shape, target[offset:], self.strides)
    ]
    # the stride of a new dimension of size 1 covers all later dimensions
    for d in reversed(range(offset)):
        behind = target[d + 1] * strides[0] if strides else self.itemsize
        strides.insert(0, 0 if target[d] != 1 else behind)
    return xp.lib.stride_tricks.as_strided(self, target, strides)


expand_op = internal(
    "expand(Tensor self, int[] size)",
    forward=_expand,
    view=True,
    vjp={"self": lambda m, g, self_sym_sizes: m.sum_to(g, self_sym_sizes)},
    latex="{self}",
    vjp_latex={"self": "{g}"},
    samples=lambda s: [(s.randn(2, 1), (3, 2, 4))],
)


by_sizes(
    "expand",
    expand_op,
    "Repeat dimensions of size 1 without copying; a view.",
    function=False,
)


@composite(method=True, function=False)
def expand_as(self, other):
    """Return `self.expand(other.size())`. Source: torch.Tensor.expand_as."""
    return expand_op.call(self, other.shape)


@composite()
def broadcast_tensors(*tensors):
    """Return all tensors expanded to their common shape. Source: torch.broadcast_tensors."""
    shapes = [t.shape for t in tensors]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise broadcast_error(shapes) from None
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
    samples=lambda s: [(s.randn(2, 3), (2, 2, 1))],
)


@composite(method=True, function=False)
def repeat(self, *sizes):
    """Return the tensor repeated along each dimension. Source: torch.Tensor.repeat."""
    times = sizes_from(sizes, "repeat")
    refuse_if(
        len(times) < self.ndim,
        "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
        "Give one count per dimension, and more to add dimensions at the front.",
    )
    shape = [n * k for n, k in zip((1,) * (len(times) - self.ndim) + self.shape, times)]
    refuse_if(
        min(times, default=0) < 0,
        f"Trying to create tensor with negative dimension {min(shape, default=0)}: {shape}",
        "Each count says how often a dimension is repeated.",
    )
    return repeat_op.call(self, times)


@composite()
def tile(input, dims):
    """Return `repeat`, where missing counts are 1. Source: torch.tile."""
    return repeat(input, (1,) * (input.ndim - len(dims)) + tuple(dims))


@composite("tile", method=True, function=False)
def tile_method(self, *dims):
    """Return `repeat`, where missing counts are 1. Source: torch.Tensor.tile."""
    return tile(self, sizes_from(dims, "tile"))


@composite(method=True)
def repeat_interleave(input, repeats=None, dim=None):
    """Return a tensor in which each entry appears `repeats` times in a row (a number, or one count per entry). Source:
    torch.repeat_interleave."""
    if repeats is None:
        raise unsupported("repeat_interleave", "input", "Give the entries and their counts.")
    if dim is None:
        input, dim = input.flatten(), 0
    n = input.shape[check_dim(dim, input.ndim)]
    counts = np.atleast_1d(repeats if isinstance(repeats, int) else repeats.numpy())
    refuse_if(
        counts.shape not in ((1,), (n,)),
        "repeats must have the same size as input along dim, but got repeats.size(0) = "
        f"{counts.size} and input.size(0) = {n}",
        "There is one whole number per entry, or one for all.",
    )
    message = "repeats can not be negative"
    refuse_if((counts < 0).any(), message, "Each count says how often the entry is repeated.")
    index = NAMESPACES[""]["tensor"](np.arange(n).repeat(counts), device=input.device)
    return NAMESPACES[""]["index_select"](input, dim, index)
