"""Copies, casts, strided pieces, fills: ops that move values without computing new ones."""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.lib.stride_tricks import as_strided as np_as_strided

from .. import cascade
from .. import device as devices
from ..autograd.grad_mode import per_thread
from ..dispatch import apply, check_inplace, write_inplace
from ..dtype import ALL, as_dtype, bool_, complex64, float16, float32, float64, int8, int16, int32, int64, uint8
from ..dtype import dtype as dtype_class
from ..errors import fail, unsupported
from ..registry import METHODS, NAMESPACES, composite, register
from ..tensor import Tensor, wrap
from ..views import laid_out

clone = register(
    "clone(self, *, memory_format=None)",
    forward=lambda xp, self, memory_format: xp.array(self),
    vjp={"self": lambda m, g: g},
    latex=r"{self}",
    vjp_latex={"self": "{g}"},
    samples=lambda s: [s.randn(2, 3)],
    doc="A copy with memory of its own; gradients pass through. Source: torch.clone",
)

alias = register(
    "alias(self)",
    forward=lambda xp, self: self[...],
    view=True,
    vjp={"self": lambda m, g: g},
    function=False,
    latex=r"{self}",
    vjp_latex={"self": "{g}"},
    samples=lambda s: [s.randn(3)],
)

to_copy = register(
    "to_copy(self, dtype)",
    forward=lambda xp, self, dtype: self.astype(dtype.np),
    vjp={"self": lambda m, g: g},
    method=False,
    function=False,
    latex=r"{self}",
    vjp_latex={"self": "{g}"},
)

zeros_like_op = register(
    "zeros_like(self)",
    forward=lambda xp, self: xp.zeros_like(self),
    method=False,
    function=False,
    latex="0",
    samples=lambda s: [s.randn(2)],
)
ones_like_op = register(
    "ones_like(self)",
    forward=lambda xp, self: xp.ones_like(self),
    method=False,
    function=False,
    latex="1",
    samples=lambda s: [s.randn(2)],
)


def _sum_to(xp, self, shape):
    if math.prod(shape) == 1 and xp is np:
        return cascade.add(self).reshape(shape)
    axes = _broadcast_axes(self.shape, tuple(shape))
    if not axes:
        return self
    return (cascade.add(self, axes) if xp is np else xp.add.reduce(self, axis=axes)).reshape(shape)


@functools.lru_cache(maxsize=1024)
def _broadcast_axes(shape, target):
    """The dimensions of `shape` that broadcasting from `target` made."""
    extra = len(shape) - len(target)
    return (*range(extra), *(i + extra for i, n in enumerate(target) if n == 1 and shape[i + extra] != 1))


sum_to = register(
    "sum_to(self, shape)",
    forward=_sum_to,
    vjp={"self": lambda m, g, self_sym_sizes: m.expand(g, self_sym_sizes)},
    method=False,
    function=False,
    latex=r"\sum {self}",
    vjp_latex={"self": "{g}"},
    samples=lambda s: [(s.randn(2, 3), (3,)), (s.randn(2, 3), (2, 1)), (s.randn(2, 3), ())],
)


# -- strided pieces: how in-place on views is differentiated ---------------------------------------------------------------
def _strided(xp, self, size, stride, storage_offset):
    base = self if storage_offset is None or self.base is None else _root(self)
    start = base.reshape(-1)[storage_offset:] if storage_offset else base
    return np_as_strided(start, size, [s * self.itemsize for s in stride])


def _root(a):
    return a if a.base is None or not isinstance(a.base, np.ndarray) or a.base.dtype != a.dtype else _root(a.base)


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
        flat = xp.zeros(int(positions.max()) + 1, self.dtype)
        xp.add.at(flat, xp.broadcast_to(positions, shape), self)
        target = np_as_strided(part, flat.shape, (part.itemsize,))
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


# -- writing into memory ---------------------------------------------------------------------------------------------------
copy_op = register(
    "copy(self, source)",
    forward=lambda xp, self, source: xp.broadcast_to(source, self.shape),
    method=False,
    function=False,
    vjp={"self": lambda m, g: m.zeros_like(g), "source": lambda m, g: g},
    operands=("source",),
    node="CopyBackwards",
    latex=r"{source}",
    vjp_latex={"self": "0", "source": "{g}"},
    samples=lambda s: [(s.randn(2, 3), s.randn(2, 3))],
)
copy_op.node_class._name = "torch::autograd::CopyBackwards"
zero_op = register(
    "zero(self)",
    forward=lambda xp, self: xp.zeros_like(self),
    vjp={"self": lambda m, g: m.zeros_like(g)},
    method=False,
    function=False,
    latex="0",
    vjp_latex={"self": "0"},
    samples=lambda s: [s.randn(3)],
)
fill_op = register(
    "fill(self, value)",
    forward=lambda xp, self, value: xp.full_like(self, value),
    vjp={"self": lambda m, g: m.zeros_like(g)},
    node="FillBackward2",
    method=False,
    function=False,
    latex="{value}",
    vjp_latex={"self": "0"},
    samples=lambda s: [(s.randn(3), 2.5)],
)
fill_tensor_op = register(
    "fill_tensor(self, value)",
    forward=lambda xp, self, value: xp.full_like(self, value),
    vjp={"self": lambda m, g: m.zeros_like(g), "value": lambda m, g: m.sum(g)},
    node="FillBackward3",
    method=False,
    function=False,
    latex="{value}",
    vjp_latex={"self": "0", "value": r"\sum {g}"},
    samples=lambda s: [(s.randn(3), s.randn())],
)


def _write(op, args, result):
    target = args[0]
    state = per_thread.state
    check_inplace(target, state, any(isinstance(a, Tensor) and a._req for a in args), overlapping=op is copy_op)
    write_inplace(op, args, result, state)
    return target


@composite(method=True, function=False)
def copy_(self, src, non_blocking=False):
    """Copies the values of `src` (broadcast, cast) into this tensor. Source: torch.Tensor.copy_."""
    if not isinstance(src, Tensor):
        raise fail(
            TypeError,
            f"copy_(): argument 'other' (position 1) must be Tensor, not {type(src).__name__}",
            "Use fill_ for a number.",
        )
    try:
        values = np.broadcast_to(src._d, self._d.shape)
    except ValueError:
        from ..dispatch import broadcast_error

        raise broadcast_error([self._d.shape, src._d.shape]) from None
    return _write(copy_op, (self, src), values)


@composite(method=True)
def zero_(input):
    """Sets every element to 0 in place. Source: torch.Tensor.zero_."""
    return _write(zero_op, (input,), np.zeros_like(input._d))


@composite(method=True)
def fill_(input, value):
    """Sets every element to `value` (a number or a 0-d tensor) in place. Source: torch.Tensor.fill_."""
    if isinstance(value, Tensor):
        if value._d.ndim:
            raise fail(
                RuntimeError,
                f"fill_ only supports 0-dimension value tensor but got tensor with {value._d.ndim} dimensions.",
                "Use copy_ to write a whole tensor.",
            )
        return _write(fill_tensor_op, (input, value), np.full(input._d.shape, value._d, input.dtype.np))
    return _write(
        fill_op, (input, value), np.full(input._d.shape, np.asarray(value).astype(input.dtype.np), input.dtype.np)
    )


@composite(method=True, function=False)
def clone_by_copy(self):
    """A copy recorded as torch records it under create_graph: `CopyBackwards` into new memory."""
    return wrap(np.empty_like(self._d), self.dtype).copy_(self)


# -- casts and moves -------------------------------------------------------------------------------------------------------
def _cast(self, dtype, copy=False):
    if dtype is self.dtype:
        return clone.call(self, None) if copy else self
    if self.dtype.is_floating_point and dtype.is_floating_point:
        return to_copy.call(self, dtype)
    return (
        wrap(per_thread.state.run(self._d.astype, dtype.np), dtype, self.device)
        if not (self._req and dtype.is_floating_point)
        else to_copy.call(self, dtype)
    )


@composite(method=True, function=False)
def to(self, *args, device=None, dtype=None, non_blocking=False, copy=False, memory_format=None):
    """The tensor with another dtype and/or on another device; itself when nothing changes. Source: torch.Tensor.to."""
    if memory_format is not None:
        raise unsupported("to", "memory_format")
    for a in args:
        if isinstance(a, dtype_class) or a in (int, float, bool):
            dtype = as_dtype(a)
        elif isinstance(a, Tensor):
            dtype, device = a.dtype, a.device
        elif isinstance(a, (str, devices.device)):
            device = a
        elif not isinstance(a, bool) and a is not None:
            raise fail(
                TypeError,
                f"to() received an invalid combination of arguments - got ({type(a).__name__})",
                "Give a dtype (torch.float64), a device ('cpu') or another tensor to imitate.",
            )
    if device is not None and devices.device(device) != self.device:
        devices.usable(device)
    return _cast(self, self.dtype if dtype is None else as_dtype(dtype), copy)


def _cast_method(name, dtype):
    def method(self, memory_format=None):
        return _cast(self, dtype)

    method.__name__, method.__doc__ = name, f"`self.to({dtype!r})`. Source: torch.Tensor.{name}"
    METHODS[name] = method


for _name, _dtype in {
    "float": float32,
    "double": float64,
    "half": float16,
    "long": int64,
    "int": int32,
    "short": int16,
    "char": int8,
    "byte": uint8,
    "bool": bool_,
    "cfloat": complex64,
}.items():
    _cast_method(_name, _dtype)


@composite(method=True, function=False)
def cpu(self, memory_format=None):
    """The tensor in host memory; itself when it is there already. Source: torch.Tensor.cpu."""
    return to(self, device="cpu")


@composite(method=True, function=False)
def cuda(self, device=None, non_blocking=False, memory_format=None):
    """The tensor on a GPU. Raises AssertionError where there is none. Source: torch.Tensor.cuda."""
    return to(self, device="cuda" if device is None else device)


@composite(method=True, function=False)
def type_as(self, other):
    """`self.to(other.dtype)`. Source: torch.Tensor.type_as."""
    return _cast(self, other.dtype)


@composite(method=True, function=False)
def type(self, dtype=None, non_blocking=False):
    """Without argument the type's name ('torch.FloatTensor'); with one, the tensor cast to it. Source: torch.Tensor.type."""
    if dtype is None:
        prefix = "" if self.device.type == "cpu" else f"{self.device.type}."
        return f"torch.{prefix}{self.dtype.short}Tensor"
    if isinstance(dtype, str):
        dtype = next((d for d in ALL if f"torch.{d.short}Tensor" == dtype), dtype)
    return _cast(self, as_dtype(getattr(dtype, "dtype", dtype)))


@composite(method=True, function=False)
def contiguous(self, memory_format=None):
    """A row-major tensor of the same values; itself when it already is. Source: torch.Tensor.contiguous."""
    return self if self.is_contiguous() else apply(clone, (self, None))


for _name in ("detach", "numel", "is_floating_point", "is_complex"):
    NAMESPACES[""][_name] = (lambda n: lambda input: getattr(input, n)())(_name)
