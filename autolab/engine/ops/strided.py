"""Strided pieces of memory: the ops that differentiate in-place changes of views."""

from __future__ import annotations

from ..kernels.scatter import add_at
from .functions import internal
from ..inplace.views import extent, laid_out


def _strided(xp, self, size, stride, storage_offset):
    start, step = self.reshape(-1)[storage_offset or 0 :], self.itemsize
    return xp.lib.stride_tricks.as_strided(start, size, [s * step for s in stride])


as_strided_op = internal(
    "as_strided(Tensor self, int[] size, int[] stride, int? storage_offset=None)",
    forward=_strided,
    view=True,
    hidden=("self_sym_sizes", "self_sym_strides"),
    vjp={
        "self": lambda m, g, size, stride, storage_offset, self_sym_sizes, self_sym_strides: (
            m.strided_spread(
                g, (self_sym_sizes, self_sym_strides, size, stride, storage_offset or 0)
            )
        )
    },
    latex=r"\mathrm{piece}({self})",
    vjp_latex={"self": r"\mathrm{spread}({g})"},
    samples=lambda s: [(s.randn(6), (2, 2), (3, 1)), (s.randn(2, 3), (2,), (3,), 1)],
)

_SAMPLE = ((2, 3), (3, 1), (2, 2), (3, 1), 1)  # the last two columns of a (2, 3) matrix
_OVERLAP = ((2, 3), (3, 1), (2, 2), (1, 1), 0)  # windows that share an element


def _take(xp, self, geometry):
    whole, part = laid_out(xp, geometry, self.dtype)
    whole[...] = self
    return part.copy()


def _put(xp, self, source, geometry):
    whole, part = laid_out(xp, geometry, self.dtype)
    whole[...] = self
    part[...] = source
    return whole.copy()


def _spread(xp, self, geometry):
    whole, part = laid_out(xp, geometry, self.dtype)
    shape, strides = geometry[2:4]
    if _disjoint(shape, strides):
        part[...] = self
    elif self.size:  # add values for the same place
        flat = xp.lib.stride_tricks.as_strided(part, (extent(shape, strides),), (part.itemsize,))
        add_at(xp, flat, _positions(xp, shape, strides), self)
    return whole.copy()


def _positions(xp, shape, strides):
    """Return the memory positions of the elements of a strided array."""
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
    samples=lambda s: [(s.randn(2, 3), g) for g in (_SAMPLE, _OVERLAP)],
)
strided_spread = internal(
    "strided_spread(Tensor self, object geometry)",
    forward=_spread,
    vjp={"self": lambda m, g, geometry: m.strided_take(g, geometry)},
    samples=lambda s: [(s.randn(2, 2), g) for g in (_SAMPLE, _OVERLAP)],
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
    samples=lambda s: [(s.randn(2, 3), s.randn(2, 2), _SAMPLE)],
)
