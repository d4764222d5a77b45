"""Strided pieces of memory: how changes in place on views are differentiated."""

from __future__ import annotations

from ..kernels.scatter import add_at
from ..registry import register
from ..views import laid_out


def _strided(xp, self, size, stride, storage_offset):
    base = self if storage_offset is None or self.base is None else _root(self)
    start = base.reshape(-1)[storage_offset:] if storage_offset else base
    return xp.lib.stride_tricks.as_strided(start, size, [s * self.itemsize for s in stride])


def _root(a):
    return a if a.base is None or a.base.__class__ is not a.__class__ or a.base.dtype != a.dtype else _root(a.base)


as_strided = register(
    "as_strided(self, size, stride, storage_offset=None)",
    forward=_strided,
    view=True,
    hidden=("self_sym_sizes", "self_sym_strides"),
    vjp={
        "self": lambda m, g, size, stride, storage_offset, self_sym_sizes, self_sym_strides: m.strided_spread(
            g, (self_sym_sizes, self_sym_strides, tuple(size), tuple(stride), storage_offset or 0)
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
    shape, strides = geometry[2], geometry[3]
    if all(s > 0 or n <= 1 for n, s in zip(shape, strides)) and _disjoint(shape, strides):
        part[...] = self
    else:
        # overlapping pieces add up: go through flat positions
        positions = sum(
            xp.arange(n).reshape((-1,) + (1,) * (len(shape) - 1 - i)) * s
            for i, (n, s) in enumerate(zip(shape, strides))
        )
        flat = xp.zeros(1 + sum((n - 1) * s for n, s in zip(shape, strides)), self.dtype)
        add_at(xp, flat, xp.broadcast_to(positions, shape), self)
        target = xp.lib.stride_tricks.as_strided(part, flat.shape, (part.itemsize,))
        target[...] = flat
    return whole.copy()


def _disjoint(shape, strides):
    reach = 0
    for s, n in sorted((s, n) for n, s in zip(shape, strides) if n > 1):
        if s <= reach:
            return False
        reach += (n - 1) * s
    return True


strided_take = register(
    "strided_take(self, geometry)",
    forward=_take,
    method=False,
    function=False,
    vjp={"self": lambda m, g, geometry: m.strided_spread(g, geometry)},
    latex=r"\mathrm{piece}({self})",
    vjp_latex={"self": r"\mathrm{spread}({g})"},
    samples=lambda s: [(s.randn(2, 3), _SAMPLE), (s.randn(2, 3), _OVERLAP)],
)
strided_spread = register(
    "strided_spread(self, geometry)",
    forward=_spread,
    method=False,
    function=False,
    vjp={"self": lambda m, g, geometry: m.strided_take(g, geometry)},
    latex=r"\mathrm{spread}({self})",
    vjp_latex={"self": r"\mathrm{piece}({g})"},
    samples=lambda s: [(s.randn(2, 2), _SAMPLE), (s.randn(2, 2), _OVERLAP)],
)
strided_put = register(
    "strided_put(self, source, geometry)",
    forward=_put,
    method=False,
    function=False,
    vjp={
        "self": lambda m, g, geometry: m.strided_put(g, m.zeros_like(m.strided_take(g, geometry)), geometry),
        "source": lambda m, g, geometry: m.strided_take(g, geometry),
    },
    latex=r"\mathrm{put}({self}, {source})",
    vjp_latex={"self": r"\mathrm{put}({g}, 0)", "source": r"\mathrm{piece}({g})"},
    samples=lambda s: [(s.randn(2, 3), s.randn(2, 2), _SAMPLE)],
)
