"""`SimArray`: the array of a simulated GPU. It follows the rules of CuPy's `ndarray`, but NumPy computes it in host
memory.

It refuses the same things as CuPy: conversion to a NumPy array without `get()`, arrays of the host or of another device
in one operation, and functions and keywords that CuPy lacks (`module.py`). It also differs from NumPy where CuPy does:
reductions return 0-d arrays, and integer arrays that index out of range wrap around. Source:
https://docs.cupy.dev/en/stable/user_guide/difference.html
"""

from __future__ import annotations

import threading
from math import prod
from operator import attrgetter
from types import SimpleNamespace

import numpy as np

from ...exact import sums as cascade
from .cupy_names import METHODS, UFUNCS


class _Current(threading.local):
    """`device`: the current SimDevice of this thread, as in `cupy.cuda.Device`; `before`: the devices to restore when
    `with` blocks end."""

    def __init__(self):
        self.device = None
        self.before = []


current = _Current()
_CONVERSION = "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array explicitly."


class SimArray:
    """An array in the memory of a simulated GPU. `_host` holds the numbers, `_block` is the device memory that they
    count as, `_owner` the device (a SimDevice). The functions of `xp` and `SimDevice.from_host` make it."""

    __slots__ = ("_host", "_block", "_owner", "__weakref__")
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, *args, **kwargs):
        raise TypeError("use xp.array, xp.empty …")

    @classmethod
    def over(cls, owner, host):
        """Return a new array on `owner` with the numbers of the NumPy array `host`, which then belongs to it. Raise
        OutOfMemoryError if the memory is full."""
        block = owner.allocate(host.nbytes, (host.shape, host.dtype))
        return _array(owner, host if host.base is None else host.copy("K"), block)

    # -- leaving the device --------------------------------------------------------------------------------------------
    def get(self, stream=None, order="C", out=None, blocking=True):
        """Return the values as a NumPy array: a transfer, for which the host waits."""
        return self._owner.to_host(self, non_blocking=not blocking)

    def item(self, *index):
        """Return one element as a Python number: a transfer."""
        return self.get().item(*index)

    def tolist(self):
        return self.get().tolist()

    def __array__(self, dtype=None, copy=None):
        raise TypeError(_CONVERSION)

    def __bool__(self):
        return bool(self.get())

    def __int__(self):
        return int(self.get())

    def __float__(self):
        return float(self.get())

    def __repr__(self):
        return repr(self._host)

    def __str__(self):
        return str(self._host)

    def __reduce__(self):
        return self._owner.from_host, (self.get(),)

    # -- properties ----------------------------------------------------------------------------------------------------
    @property
    def device(self):
        """The SimDevice that owns the memory."""
        return self._owner

    @property
    def data(self):
        """The address of the memory: `.data.ptr`, as in CuPy."""
        offset = address(self._host) - address(root(self._host))
        return SimpleNamespace(ptr=self._block.address + offset, mem=self)

    @property
    def base(self):
        """The array whose memory this one views; None if the memory is its own."""
        owner = root(self._host)
        return None if owner is self._host else _array(self._owner, owner, self._block)

    @property
    def flags(self):
        """CuPy's flags of the array's layout; there is no `writeable`."""
        names = ("c_contiguous", "f_contiguous", "owndata", "forc")
        return SimpleNamespace(**{name: getattr(self._host.flags, name) for name in names})

    def __len__(self):
        return len(self._host)

    def __array_ufunc__(self, ufunc, method, *args, **kwargs):
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        if ufunc.__name__ not in UFUNCS:
            return NotImplemented
        out = kwargs.get("out", ())
        # NumPy's own numbers arrive as 0-d arrays: convert them to Python numbers.
        args = [a.item() if isinstance(a, np.ndarray) and not a.ndim else a for a in args]
        function = total if name == "add.reduce" else getattr(ufunc, method)
        return run(name, function, args, kwargs | ({"out": out[0]} if len(out) == 1 else {}))

    # -- elements ------------------------------------------------------------------------------------------------------
    def __getitem__(self, key):
        owner_of([self])
        key, advanced = host_key(self, key)
        found = self._host[key]
        return (
            wrap(self._owner, found, [self], "take")
            if advanced
            else view(self, _as_array(found, self._host, key))
        )

    def __setitem__(self, key, value):
        owner_of([self])
        key, _ = host_key(self, key)
        with np.errstate(all="ignore"):
            self._host[key] = inputs([value], self._owner)[0]
        part = self._host[key]
        self._owner.launch("copy", 2 * part.nbytes)


def _array(owner, host, block):
    a = object.__new__(SimArray)
    a._host, a._block, a._owner = host, block, owner
    return a


def root(a):
    """Return the array that owns the memory of the NumPy array `a`."""
    while (base := getattr(a, "base", None)) is not None:
        a = base
    return a


def address(host):
    return host.__array_interface__["data"][0]


def view(a, host):
    """Return a SimArray for `host`, which is a view of the memory of `a`."""
    return _array(a._owner, host, a._block)


def _as_array(found, host, key):
    """Return the result of basic indexing; a single element is a 0-d view, not a scalar."""
    return (
        found
        if isinstance(found, np.ndarray)
        else host[(*(key if key.__class__ is tuple else (key,)), ...)]
    )


WAITS = set(
    "nonzero flatnonzero argwhere unique compress extract bincount histogram array_equal allclose".split()
)
"""Functions whose result decides a shape or a Python value, so the host must wait for it."""
HOST_RESULT = set(
    """
    shares_memory may_share_memory ndim size shape isscalar result_type can_cast broadcast_shapes issubdtype min_scalar_type
    promote_types common_type iscomplexobj isrealobj isfortran
    """.split()
)


def run(name, function, args, kwargs, launches=True):
    """Return the result of a NumPy function on the device, and put its work into the stream."""
    sources = arrays_in([*args, *kwargs.values()])
    owner = owner_of(sources)
    if name in WAITS:
        owner.queue.synchronize()
    plain, named = inputs(args, owner), dict(zip(kwargs, inputs(kwargs.values(), owner)))
    with np.errstate(all="ignore"):
        result = function(*plain, **named)
    if name in HOST_RESULT:
        return result
    flops = _flops(name, sources, result)
    if kwargs.get("out") is not None:
        owner.launch(name, sum(s.nbytes for s in sources), flops)
        return kwargs["out"]
    if result is None:  # copyto, sort, fill, put …: these write into their first argument
        owner.launch(name, 2 * sources[0].nbytes if sources else 0)
        return None
    if isinstance(result, (bool, int, float, complex)):
        result = np.asarray(result)
    for source in sources:
        if result is source._host:
            return source
    return wrap(owner, result, sources, name, flops, launches)


def _flops(name, sources, result):
    """Return the floating-point operations of a matrix product; 0 for functions limited by memory."""
    product = name in ("matmul", "dot", "einsum", "tensordot", "inner", "vdot")
    if not product or len(sources) < 2 or not isinstance(result, np.ndarray):
        return 0
    return 2 * round((prod(sources[0].shape) * prod(sources[1].shape) * max(result.size, 1)) ** 0.5)


def wrap(owner, result, sources, name, flops=0, launches=True):
    """Return the result of a NumPy function, moved to the device: arrays and scalars become SimArrays, views share
    their source's memory, and the work is put into the stream. sources: the SimArrays from which it was computed."""
    blocks = {id(root(s._host)): s._block for s in sources}
    made, moved = _wrapped(owner, result, blocks)
    if moved and launches:
        owner.launch(name, moved + sum(s._host.nbytes for s in sources), flops)
    return made


def _wrapped(owner, result, blocks):
    """Return a result on the device, and the number of its bytes that are new memory."""
    if isinstance(result, (tuple, list)):
        items, moved = zip(*[_wrapped(owner, r, blocks) for r in result])
        kind = type(result)
        return kind(*items) if hasattr(result, "_fields") else kind(items), sum(moved)
    if not isinstance(result, (np.ndarray, np.generic)):
        return result, 0
    block = blocks.get(id(root(result))) if result.__class__ is np.ndarray else None
    if block is not None:
        return _array(owner, result, block), 0
    host = np.asarray(result)
    return SimArray.over(owner, host), max(host.nbytes, 1)


def total(host, axis=None, dtype=None, out=None, keepdims=False):
    """Return the sum of a NumPy array in the order of the CPU kernels, so that a simulated GPU prints the same last
    digit as the CPU."""
    if dtype in (None, host.dtype) and out is None and axis != () and host.dtype.kind == "f":
        return cascade.add(host, axis, keepdims)
    return np.add.reduce(host, axis=axis, dtype=dtype, out=out, keepdims=keepdims)


# -- operands of an operation ------------------------------------------------------------------------------------------
def arrays_in(values):
    """Return all SimArrays in nested arguments."""
    found = []
    for v in values:
        if v.__class__ is SimArray:
            found.append(v)
        elif isinstance(v, (list, tuple)):
            found += arrays_in(v)
    return found


def owner_of(arrays):
    """Return the device on which an operation on `arrays` runs. Raise ValueError, as CuPy does, for arrays that are not
    on the current device."""
    now = current.device
    for a in arrays:
        owner = a._owner
        if owner is now or (now is None and owner.device.index == 0 and owner is arrays[0]._owner):
            continue
        here = 0 if now is None else now.device.index
        raise ValueError(
            f"Array device must be same as the current device: array device = {owner.device.index} while current = {here}"
        )
    if arrays:
        return arrays[0]._owner
    if now is None:
        raise RuntimeError("say where: `with torch.device('cuda').backend:`")
    return now


def inputs(values, owner):
    """Return arguments in the form that NumPy takes. Raise TypeError for a NumPy array, because it would have to be
    copied to the device without the program's request."""
    plain = []
    for v in values:
        if v.__class__ is SimArray:
            if v._owner is not owner:
                owner_of([v])
            plain.append(v._host)
        elif isinstance(v, np.ndarray):
            raise TypeError(f"Unsupported type {type(v)}")
        elif isinstance(v, (list, tuple)) and not hasattr(v, "_fields"):
            plain.append(type(v)(inputs(v, owner)))
        else:
            plain.append(v)
    return plain


def host_key(a, key):
    """Return an index in the form that NumPy takes, and whether it is an advanced index (the result is then a copy).
    Integer arrays wrap around, as in CuPy."""
    parts = list(key) if isinstance(key, tuple) else [key]
    parts = [np.asarray(p, None if p else np.intp) if isinstance(p, list) else p for p in parts]
    used = sum(p.ndim if _is_mask(p) else 0 if p is None or p is Ellipsis else 1 for p in parts)
    axis, advanced = 0, False
    for k, p in enumerate(parts):
        if p is Ellipsis:
            axis += a.ndim - used
        elif isinstance(p, np.ndarray) and not isinstance(
            (key if key.__class__ is not tuple else key[k]), list
        ):
            raise TypeError(f"Unsupported type {type(p)}")
        elif p.__class__ is SimArray or isinstance(p, np.ndarray):
            advanced = True
            host = inputs([p], a._owner)[0] if p.__class__ is SimArray else p
            if host.dtype == bool:
                # the number of chosen elements decides the result's shape
                a._owner.queue.synchronize()
                axis += host.ndim
            else:
                if host.dtype.kind not in "iu":
                    raise IndexError(
                        f"arrays used as indices must be of integer or boolean type. (actual: {host.dtype})"
                    )
                host = np.mod(host, a.shape[axis]) if axis < a.ndim and a.shape[axis] else host
                axis += 1
            parts[k] = host
        elif isinstance(p, (bool, np.bool_)):
            advanced = True
        elif p is not None:
            axis += 1
    return (tuple(parts) if isinstance(key, tuple) else parts[0]), advanced


def _is_mask(p):
    return p.__class__ in (SimArray, np.ndarray) and p.dtype == bool


# -- methods and operators ---------------------------------------------------------------------------------------------
_ATTRIBUTES = set("shape dtype ndim size nbytes itemsize strides".split())
_VIEWS = set("T mT real imag".split())
_REDUCTIONS = set("all any argmax argmin max mean min prod ptp std sum var".split())
_REDUCTION_KEYWORDS = set("axis dtype out keepdims ddof".split())
_NOT_SIMULATED = set("dump dumps tofile tobytes flat choose byteswap".split())


def _method(name):
    function = total if name == "sum" else getattr(np.ndarray, name)

    def method(self, *args, **kwargs):
        unknown = set(kwargs) - _REDUCTION_KEYWORDS if name in _REDUCTIONS else ()
        if unknown:
            raise TypeError(f"{name}() got an unexpected keyword argument '{min(unknown)}'")
        return run(name, function, (self, *args), kwargs)

    return method


def _view(name):
    return lambda a: wrap(a._owner, getattr(a._host, name), [a], name)


for _name in _ATTRIBUTES:
    setattr(SimArray, _name, property(attrgetter(f"_host.{_name}")))
for _name in _VIEWS:
    setattr(SimArray, _name, property(_view(_name)))
for _name in METHODS - set(vars(SimArray)) - _NOT_SIMULATED:
    setattr(SimArray, _name, _method(_name))

_BINARY = dict(
    add=np.add, sub=np.subtract, mul=np.multiply, truediv=np.true_divide, floordiv=np.floor_divide, mod=np.remainder,
    pow=np.power, lshift=np.left_shift, rshift=np.right_shift, matmul=np.matmul, lt=np.less, le=np.less_equal,
    gt=np.greater, ge=np.greater_equal, eq=np.equal, ne=np.not_equal,
)  # fmt: skip
_BINARY |= {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
_UNARY = dict(neg=np.negative, pos=np.positive, abs=np.absolute, invert=np.invert)


def _operator(ufunc, kind):
    def operator(self, *other):
        # The Tensor's own method handles this.
        if other and getattr(other[0], "__array_priority__", 0) > SimArray.__array_priority__:
            return NotImplemented
        args = (*other, self) if kind == "r" else (self, *other)
        return run(ufunc.__name__, ufunc, args, {"out": self} if kind == "i" else {})

    return operator


for _name, _ufunc in _BINARY.items():
    for _kind in ("", "r", "i"):
        setattr(SimArray, f"__{_kind}{_name}__", _operator(_ufunc, _kind))
for _name, _ufunc in _UNARY.items():
    setattr(SimArray, f"__{_name}__", _operator(_ufunc, ""))
