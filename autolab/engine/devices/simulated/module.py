"""`xp` of the simulated GPU: it offers what CuPy offers, under CuPy's names, and raises where CuPy raises.

Each function runs NumPy's function of that name on the arrays' numbers and puts one kernel into the device's stream.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ...kernels import threads
from .array import SimArray, arrays_in, inputs, owner_of, total, wrap
from .cupy_names import FFT, FUNCTIONS, LINALG, SIGNATURES, TYPES, UFUNCS
from .device import current

_FROM_HOST = {"array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray"}
"""Functions that take a NumPy array and copy it to the device."""
_WAITS = {
    "nonzero",
    "flatnonzero",
    "argwhere",
    "unique",
    "compress",
    "extract",
    "bincount",
    "histogram",
    "array_equal",
    "allclose",
}
"""Functions whose result decides a shape or a Python value, so that the host has to wait for it."""
_HOST_RESULT = {
    "shares_memory",
    "may_share_memory",
    "ndim",
    "size",
    "shape",
    "isscalar",
    "result_type",
    "can_cast",
    "broadcast_shapes",
}
_HOST_RESULT |= {
    "issubdtype",
    "min_scalar_type",
    "promote_types",
    "common_type",
    "iscomplexobj",
    "isrealobj",
    "isfortran",
}
_ATOMIC = {
    "add": {"int32", "uint32", "uint64", "float16", "float32", "float64"}, "subtract": {"int32", "uint32"},
    "maximum": {"int32", "uint32", "uint64"}, "minimum": {"int32", "uint32", "uint64"},
    "bitwise_and": {"int32", "int64", "uint32", "uint64"}, "bitwise_or": {"int32", "int64", "uint32", "uint64"},
    "bitwise_xor": {"int32", "int64", "uint32", "uint64"},
}  # fmt: skip
"""The ufuncs that have `at`, and the dtypes in which CuPy 14 computes it correctly: its `maximum.at` and `minimum.at`
round float64 to float32 (seen with CuPy 14.2 on an H200)."""
_FREE = {"empty", "empty_like"}
"""Functions that launch no kernel."""


class Function:
    """One function of `xp`."""

    def __init__(self, name, numpy_function, keywords=None):
        self.__name__ = self.__qualname__ = name.rsplit(".", 1)[-1]
        self.__doc__ = numpy_function.__doc__
        self.name, self.numpy, self.keywords = self.__name__, numpy_function, keywords

    def __repr__(self):
        return f"<simulated function {self.name}>"

    def __call__(self, *args, **kwargs):
        name = self.name
        if self.keywords is not None and "*" not in self.keywords:
            for k in kwargs:
                if k not in self.keywords:
                    raise TypeError(f"{name}() got an unexpected keyword argument '{k}'")
        sources = arrays_in([*args, *kwargs.values()])
        owner = owner_of(sources)
        if name in _FROM_HOST and args and args[0].__class__ is not SimArray and not sources:
            with np.errstate(all="ignore"):
                return owner.from_host(
                    self.numpy(*args, **{k: v for k, v in kwargs.items() if k != "blocking"})
                )
        if name in _WAITS:
            owner.queue.synchronize()
        plain, named = inputs(args, owner), dict(zip(kwargs, inputs(kwargs.values(), owner)))
        with np.errstate(all="ignore"):
            result = self.call(plain, named)
        if name in _HOST_RESULT:
            return result
        flops = _flops(name, sources, result)
        out = kwargs.get("out")
        if out is not None:
            owner.launch(name, sum(s.nbytes for s in sources), flops)
            return out
        if result is None:  # copyto, put …: they write into their first argument
            owner.launch(name, 2 * sources[0].nbytes if sources else 0)
            return None
        if isinstance(result, (bool, int, float, complex)):
            result = np.asarray(result)
        return wrap(owner, result, sources, name, flops, launches=name not in _FREE)

    def call(self, args, kwargs):
        return self.numpy(*args, **kwargs)


class Where(Function):
    """`where`, whose condition must be an array in CuPy."""

    def call(self, args, kwargs):
        if isinstance(args[0], bool):
            raise AttributeError("'bool' object has no attribute 'astype'")
        return self.numpy(*args, **kwargs)


class Take(Function):
    """`take`, whose out-of-range indices wrap around in CuPy."""

    def call(self, args, kwargs):
        return self.numpy(*args, **kwargs, mode="wrap")


class Product(Function):
    """A product of matrices; by one thread unless it is big (`kernels/threads.py` says why)."""

    def call(self, args, kwargs):
        a = args[0]
        small = (
            a.__class__ is np.ndarray
            and threads.TINY < 2.0 * a.size * getattr(args[1], "shape", (1,))[-1] < threads.WORTH_IT
        )
        if small and threads.available() > 1:
            with threads.one_blas_thread():
                return self.numpy(*args, **kwargs)
        return self.numpy(*args, **kwargs)


class Diagonal(Function):
    """`diagonal`, through which CuPy writes."""

    def call(self, args, kwargs):
        found = self.numpy(*args, **kwargs)
        found.flags.writeable = True
        return found


class Sorted(Function):
    """`sort` and `argsort`, which take no 0-d arrays and only one kind."""

    def call(self, args, kwargs):
        if not args[0].ndim:
            raise np.exceptions.AxisError("Sorting arrays with the rank of zero is not supported")
        if kwargs.get("kind") not in (None, "stable"):
            raise ValueError("kind can only be None or 'stable'")
        return self.numpy(*args, **kwargs | {"kind": "stable"})


class Solver(Function):
    """A function of `linalg` that has no answer for some matrices: NaN, unless the device was told to report
    (`reporting_solvers`)."""

    def call(self, args, kwargs):
        owner = current.device or owner_of([])
        if self.name == "solve" and args[1].ndim > 1 and args[0].shape[:-1] != args[1].shape[:-1]:
            raise ValueError(
                "a must have (..., M, M) shape and b must have (..., M, K) for multidimensional b"
            )
        if owner.solvers_report:
            owner.queue.synchronize()
        try:
            return self.numpy(*args, **kwargs)
        except np.linalg.LinAlgError:
            if owner.solvers_report or args[0].ndim < 2 or args[0].shape[-1] != args[0].shape[-2]:
                raise
            return np.full_like(args[-1], np.nan)


class Along(Function):
    """`take_along_axis` and `put_along_axis`, whose out-of-range indices wrap around in CuPy too."""

    def call(self, args, kwargs):
        bound = (
            dict(
                zip(
                    (
                        "arr",
                        "indices",
                        *(("axis",) if self.name.startswith("take") else ("values", "axis")),
                    ),
                    args,
                )
            )
            | kwargs
        )
        size = bound["arr"].size if bound["axis"] is None else bound["arr"].shape[bound["axis"]]
        bound["indices"] = np.mod(bound["indices"], max(size, 1))
        return self.numpy(**bound)


class Ufunc(Function):
    """A universal function of `xp`, with the methods that CuPy has: of all ufuncs, only those of sums and products
    reduce."""

    def __init__(self, name, numpy_function):
        super().__init__(name, numpy_function, frozenset(("out", "dtype", "casting")))
        for attribute in ("nin", "nout", "nargs"):
            setattr(self, attribute, getattr(numpy_function, attribute, None))

    def _part(self, method, *args, **kwargs):
        bound = total if method == "reduce" and self.name == "add" else getattr(self.numpy, method)
        run = Function(f"{self.name}.{method}", lambda *a, **k: bound(*a, **k))
        run.name = f"{self.name}.{method}"
        return run(*args, **kwargs)

    def _refuse(self, method):
        raise NotImplementedError(f"`cupy_{self.name}.{method}` is not supported yet")

    def reduce(self, array, axis=0, dtype=None, out=None, keepdims=False):
        if self.name not in ("add", "multiply"):
            self._refuse("reduce")
        return self._part("reduce", array, axis=axis, dtype=dtype, out=out, keepdims=keepdims)

    def accumulate(self, array, axis=0, dtype=None, out=None):
        if self.name not in ("add", "multiply"):
            self._refuse("accumulate")
        return self._part("accumulate", array, axis=axis, dtype=dtype, out=out)

    def reduceat(self, array, indices, axis=0, dtype=None, out=None):
        if self.name != "add":
            self._refuse("reduceat")
        return self._part("reduceat", array, indices, axis=axis, dtype=dtype, out=out)

    def outer(self, a, b, **kwargs):
        return self._part("outer", a, b, **kwargs)

    def at(self, a, indices, b=None):
        if self.name not in _ATOMIC:
            self._refuse("at")
        if a.dtype.name not in _ATOMIC[self.name]:
            raise TypeError(
                f"cupy.{self.name}.at only supports {', '.join(sorted(_ATOMIC[self.name]))} as data type"
            )
        from .array import _key

        key, _ = _key(a, indices)
        owner = owner_of([a])
        with np.errstate(all="ignore"):
            self.numpy.at(a._host, key, inputs([b], owner)[0])
        owner.launch(f"{self.name}.at", 2 * a.nbytes)


def _flops(name, sources, result):
    """Floating-point operations of a product of matrices; 0 for what memory decides."""
    if (
        name not in ("matmul", "dot", "einsum", "tensordot", "inner", "vdot")
        or len(sources) < 2
        or not isinstance(result, np.ndarray)
    ):
        return 0
    total = prod(sources[0].shape) * prod(sources[1].shape) * max(result.size, 1)
    return 2 * round(total**0.5)


_SPECIAL = {
    "where": Where, "matmul": Product, "dot": Product, "take": Take, "take_along_axis": Along, "put_along_axis": Along, "sort": Sorted,
    "argsort": Sorted, "diagonal": Diagonal, "linalg.inv": Solver, "linalg.solve": Solver, "linalg.cholesky": Solver,
}  # fmt: skip


class Namespace:
    """A module of `xp`: its names are resolved when asked for, and those that CuPy lacks raise AttributeError."""

    def __init__(self, title, place, names, prefix="", **members):
        self._title, self._place, self._names, self._prefix = title, place, names, prefix
        self.__dict__.update(members)

    def __getattr__(self, name):
        if name.startswith("__") or name not in self._names:
            raise AttributeError(f"module '{self._title}' has no attribute '{name}'")
        found = getattr(self._place, name)
        if not isinstance(found, type) and callable(found) and name not in TYPES:
            full = self._prefix + name
            if name in UFUNCS and not self._prefix:
                found = Ufunc(name, found)
            else:
                kind = _SPECIAL.get(full, Function)
                found = kind(full, total if full == "sum" else found, SIGNATURES.get(full))
        setattr(self, name, found)
        return found

    def __dir__(self):
        return sorted(self._names)

    def __repr__(self):
        return f"<simulated module '{self._title}'>"


def asnumpy(a, *args, **kwargs):
    """A copy of `a` in host memory."""
    return a.get() if a.__class__ is SimArray else np.asarray(a)


def _array_module(*args):
    return xp if any(a.__class__ is SimArray for a in args) else np


_stride_tricks = Namespace(
    "cupy.lib.stride_tricks",
    np.lib.stride_tricks,
    frozenset(("as_strided",)),
    "stride.",
)
xp = Namespace(
    "cupy",
    np,
    UFUNCS | FUNCTIONS | TYPES,
    ndarray=SimArray,
    linalg=Namespace("cupy.linalg", np.linalg, LINALG, "linalg."),
    fft=Namespace("cupy.fft", np.fft, FFT, "fft."),
    lib=Namespace("cupy.lib", np.lib, frozenset(), stride_tricks=_stride_tricks),
    asnumpy=asnumpy,
    get_array_module=_array_module,
)
