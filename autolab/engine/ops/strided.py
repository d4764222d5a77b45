"""Strided pieces of memory: how changes in place on views are differentiated."""

from __future__ import annotations

from ..devices.device import address
from ..core.errors import fail
from ..kernels.scatter import add_at
from .functions import composite, internal
from ..core.tensor import materialise
from ..inplace.views import extent, laid_out


def _strided(xp, self, size, stride, storage_offset, ahead):
    start = self
    if ahead and 0 not in size:  # it may lie before `self`, whose owner then has to be asked
        owner = _root(self)
        first = (address(self) - address(owner)) // self.itemsize + ahead
        start = xp.lib.stride_tricks.as_strided(owner, (first + 1,), (self.itemsize,))[first:]
    return xp.lib.stride_tricks.as_strided(start, size, [s * self.itemsize for s in stride])


def _root(a):
    return (
        a
        if a.base is None or a.base.__class__ is not a.__class__ or a.base.dtype != a.dtype
        else _root(a.base)
    )


as_strided_op = internal(
    # ahead: how many elements behind the first of `self` it begins
    "as_strided(Tensor self, int[] size, int[] stride, int? storage_offset, int ahead)",
    forward=_strided,
    view=True,
    also_saves=("storage_offset",),
    hidden=("self_sym_sizes", "self_sym_strides", "ahead"),
    vjp={
        "self": lambda m, g, size, stride, ahead, self_sym_sizes, self_sym_strides: (
            m.strided_spread(g, (self_sym_sizes, self_sym_strides, size, stride, ahead))
        )
    },
    latex=r"\mathrm{piece}({self})",
    vjp_latex={"self": r"\mathrm{spread}({g})"},
    samples=lambda s: [(s.randn(6), (2, 2), (3, 1), None, 0), (s.randn(2, 3), (2,), (3,), 1, 1)],
)


def strided_arguments(t, size, stride, storage_offset):
    """(size, stride, storage_offset, ahead) for the op. Raises RuntimeError for a piece that does not lie in the memory
    of `t`."""
    size, stride = tuple(size), tuple(stride)
    if len(size) != len(stride):
        raise fail(
            RuntimeError,
            "mismatch in length of strides and shape",
            "Every dimension has one size and one stride.",
        )
    if any(s < 0 for s in stride):
        raise fail(
            RuntimeError,
            f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}",
            "flip() copies the elements in the other order.",
        )
    if storage_offset is not None and storage_offset < 0:
        raise fail(
            RuntimeError,
            f"Tensor: invalid storage offset {storage_offset}",
            "Memory is counted from 0.",
        )
    if any(n < 0 for n in size):
        raise fail(
            RuntimeError,
            f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}",
            "Sizes are counts: as_strided does not infer -1.",
        )
    materialise(t)
    own, owner = t.storage_offset(), t._storage.array
    offset = own if storage_offset is None else storage_offset
    needed, there = (offset + extent(size, stride)) * t.itemsize, _bytes(owner)
    if 0 not in size and needed > there:
        raise fail(
            RuntimeError,
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {t.itemsize} requiring a "
            f"storage size of {needed} are out of bounds for storage of size {there}",
            "The last element of the piece would lie behind the end of the tensor's memory.",
        )
    return size, stride, storage_offset, offset - own


def _bytes(array):
    """How many bytes lie from the first to the end of the last element of `array`."""
    return array.itemsize * extent(array.shape, [s // array.itemsize for s in array.strides])


@composite(method=True)
def as_strided(input, size, stride, storage_offset=None):
    """The piece of the tensor's memory with these sizes and strides, in elements; a view. storage_offset: where it
    begins, counted from the beginning of the memory (None: where `input` begins). Elements that are shown several times
    add up in the gradient.

    Raises RuntimeError for a piece that does not lie in the memory. Source: torch.as_strided."""
    return as_strided_op.call(input, *strided_arguments(input, size, stride, storage_offset))


_SAMPLE = ((2, 3), (3, 1), (2, 2), (3, 1), 1)  # the last two columns of a (2, 3) matrix
_OVERLAP = ((2, 3), (3, 1), (2, 2), (1, 1), 0)  # windows that share an element


_TWICE = ((2, 3), (0, 1), (2, 2), (1, 1), 0)  # windows of a row that is shown twice
_BEFORE = ((3,), (1,), (2, 2), (3, 1), -1)  # begins before its base and ends behind it


def _take(xp, self, geometry):
    whole, part = laid_out(xp, geometry, self.dtype)
    _add(xp, whole, self, geometry[0], geometry[1])
    _share(xp, whole, geometry)
    return part.copy()


def _put(xp, self, source, geometry):
    whole, part = laid_out(xp, geometry, self.dtype)
    whole[...] = self
    part[...] = source
    return whole.copy()


def _spread(xp, self, geometry):
    whole, part = laid_out(xp, geometry, self.dtype)
    _add(xp, part, self, geometry[2], geometry[3])
    _share(xp, whole, geometry)
    return whole.copy()


def _add(xp, target, values, shape, strides):
    """Puts `values` into the strided `target`, zeros before; what lies in one place is added."""
    if _disjoint(shape, strides):
        target[...] = values
    elif values.size:
        flat = xp.zeros(extent(shape, strides), values.dtype)
        add_at(xp, flat, _positions(xp, shape, strides), values)
        xp.lib.stride_tricks.as_strided(target, flat.shape, (target.itemsize,))[...] = flat


def _share(xp, whole, geometry):
    """Where a base shows one element several times, as after `expand()`, each gets its share of what belongs to the
    element."""
    shape, strides = geometry[0], geometry[1]
    if _disjoint(shape, strides) or not whole.size:
        return
    positions = _positions(xp, shape, strides)
    count = xp.zeros(extent(shape, strides), whole.dtype)
    add_at(xp, count, positions, xp.ones(shape, whole.dtype))
    flat = xp.lib.stride_tricks.as_strided(whole, count.shape, (whole.itemsize,))
    flat /= xp.maximum(count, 1)


def _positions(xp, shape, strides):
    """Where in memory the elements of a strided array lie."""
    steps = [
        xp.arange(n).reshape((-1,) + (1,) * (len(shape) - 1 - i)) * s
        for i, (n, s) in enumerate(zip(shape, strides))
    ]
    return xp.broadcast_to(sum(steps), shape)


def _disjoint(shape, strides):
    reach = 0
    for s, n in sorted((s, n) for n, s in zip(shape, strides) if n > 1):
        if s <= reach:
            return False
        reach += (n - 1) * s
    return True


strided_take = internal(
    "strided_take(Tensor self, object geometry)",
    forward=_take,
    vjp={"self": lambda m, g, geometry: m.strided_spread(g, geometry)},
    latex=r"\mathrm{piece}({self})",
    vjp_latex={"self": r"\mathrm{spread}({g})"},
    samples=lambda s: [
        (s.randn(2, 3), _SAMPLE),
        (s.randn(2, 3), _OVERLAP),
        (s.randn(2, 3), _TWICE),
        (s.randn(3), _BEFORE),
    ],
)
strided_spread = internal(
    "strided_spread(Tensor self, object geometry)",
    forward=_spread,
    vjp={"self": lambda m, g, geometry: m.strided_take(g, geometry)},
    latex=r"\mathrm{spread}({self})",
    vjp_latex={"self": r"\mathrm{piece}({g})"},
    samples=lambda s: [(s.randn(2, 2), g) for g in (_SAMPLE, _OVERLAP, _TWICE, _BEFORE)],
)
strided_put = internal(
    "strided_put(Tensor self, Tensor source, object geometry)",
    forward=_put,
    vjp={
        "self": lambda m, g, geometry: m.strided_put(
            g, m.zeros_like(m.strided_take(g, geometry)), geometry
        ),
        "source": lambda m, g, geometry: m.strided_take(g, geometry),
    },
    latex=r"\mathrm{put}({self}, {source})",
    vjp_latex={"self": r"\mathrm{put}({g}, 0)", "source": r"\mathrm{piece}({g})"},
    samples=lambda s: [(s.randn(2, 3), s.randn(2, 2), _SAMPLE)],
)
