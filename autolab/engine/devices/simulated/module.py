"""`xp` of the simulated GPU: the same names as CuPy, and the same errors.

Each function runs NumPy's function of the same name on the numbers, and puts one kernel into the device's stream.
"""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np

from ...kernels import threads
from ...kernels.products import matmul
from .array import SimArray, arrays_in, current, host_key, inputs, owner_of, run, total
from .cupy_names import FUNCTIONS, LINALG, SIGNATURES, TYPES, UFUNCS

_FROM_HOST = {"array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray"}
"""Functions that take a NumPy array and copy it to the device."""
_ATOMIC = {
    "add": {"int32", "uint32", "uint64", "float16", "float32", "float64"}, "subtract": {"int32", "uint32"},
    "maximum": {"int32", "uint32", "uint64"}, "minimum": {"int32", "uint32", "uint64"},
    "bitwise_and": {"int32", "int64", "uint32", "uint64"}, "bitwise_or": {"int32", "int64", "uint32", "uint64"},
    "bitwise_xor": {"int32", "int64", "uint32", "uint64"},
}  # fmt: skip
"""The ufuncs that have `at`, with the dtypes in which CuPy 14 computes it correctly: its `maximum.at` and `minimum.at`
round float64 to float32 (seen with CuPy 14.2 on an H200)."""
_FREE = {"empty", "empty_like"}
"""Functions that launch no kernel."""


class Function:
    """One function of `xp`."""

    def __init__(self, name, numpy_function, keywords=None):
        self.name = self.__name__ = name.rpartition(".")[2]
        self.numpy, self.keywords = numpy_function, keywords

    def __call__(self, *args, **kwargs):
        name = self.name
        if self.keywords is not None and "*" not in self.keywords:
            for k in kwargs:
                if k not in self.keywords:
                    raise TypeError(f"{name}() got an unexpected keyword argument '{k}'")
        if name in _FROM_HOST and args and args[0].__class__ is not SimArray:
            sources = arrays_in([*args, *kwargs.values()])
            if not sources:
                kwargs.pop("blocking", None)
                with np.errstate(all="ignore"):
                    return owner_of(sources).from_host(self.numpy(*args, **kwargs))
        return run(name, self.numpy, args, kwargs, name not in _FREE)


# -- functions that differ from NumPy's --------------------------------------------------------------------------------
def _where(condition, *args):
    """Call `where`; as in CuPy, the condition must be an array."""
    if isinstance(condition, bool):
        raise AttributeError("'bool' object has no attribute 'astype'")
    return np.where(condition, *args)


def _take(*args, **kwargs):
    """Call `take`; as in CuPy, out-of-range indices wrap around."""
    return np.take(*args, **kwargs, mode="wrap")


def _along(function, names):
    """Return `take_along_axis` or `put_along_axis`; as in CuPy, out-of-range indices wrap around."""

    def along(*args, **kwargs):
        bound = dict(zip(names, args)) | kwargs
        size = bound["arr"].size if bound["axis"] is None else bound["arr"].shape[bound["axis"]]
        bound["indices"] = np.mod(bound["indices"], max(size, 1))
        return function(**bound)

    return along


def _product(function):
    """Return a matrix product that uses one thread unless it is big (`kernels/threads.py` says why)."""

    def product(a, b, **kwargs):
        flops = 2.0 * np.size(a) * (np.shape(b) or (1,))[-1]
        small = threads.TINY < flops < threads.WORTH_IT and threads.available() > 1
        with threads.one_blas_thread() if small else nullcontext():
            return function(a, b, **kwargs)

    return product


def _diagonal(*args, **kwargs):
    """Return a writable diagonal, as CuPy does."""
    found = np.diagonal(*args, **kwargs)
    found.flags.writeable = True
    return found


def _sorted(function):
    """Return `sort` or `argsort`; as in CuPy, they accept no 0-d arrays and only one `kind`."""

    def sort(a, *args, **kwargs):
        if not a.ndim:
            raise np.exceptions.AxisError("Sorting arrays with the rank of zero is not supported")
        if kwargs.get("kind") not in (None, "stable"):
            raise ValueError("kind can only be None or 'stable'")
        return function(a, *args, **kwargs | {"kind": "stable"})

    return sort


def _solver(function):
    """Return a function of `linalg` that may have no solution. It then returns NaN, unless the device must report it
    (`reporting_solvers`)."""

    def solve(a, *args, **kwargs):
        owner = current.device or owner_of([])
        if args and args[0].ndim > 1 and a.shape[:-1] != args[0].shape[:-1]:
            message = (
                "a must have (..., M, M) shape and b must have (..., M, K) for multidimensional b"
            )
            raise ValueError(message)
        if owner.solvers_report:
            owner.queue.synchronize()
        try:
            return function(a, *args, **kwargs)
        except np.linalg.LinAlgError:
            if owner.solvers_report or a.ndim < 2 or a.shape[-1] != a.shape[-2]:
                raise
            return np.full_like(args[0] if args else a, np.nan)

    return solve


_SPECIAL = {
    "sum": total, "where": _where, "take": _take, "diagonal": _diagonal, "matmul": _product(matmul), "dot": _product(np.dot),
    "take_along_axis": _along(np.take_along_axis, ("arr", "indices", "axis")),
    "put_along_axis": _along(np.put_along_axis, ("arr", "indices", "values", "axis")),
    "sort": _sorted(np.sort), "argsort": _sorted(np.argsort), "linalg.inv": _solver(np.linalg.inv),
    "linalg.solve": _solver(np.linalg.solve), "linalg.cholesky": _solver(np.linalg.cholesky),
}  # fmt: skip


_METHODS = {"reduce": ("add", "multiply"), "accumulate": ("add", "multiply"), "reduceat": ("add",)}
"""The ufuncs that have each of these methods; all ufuncs have `outer`."""


class Ufunc(Function):
    """A universal function of `xp` with CuPy's methods: only the ufuncs of sums and products have reductions."""

    def __init__(self, name, numpy_function):
        super().__init__(name, numpy_function, frozenset(("out", "dtype", "casting")))

    def __getattr__(self, method):
        """Return `reduce`, `accumulate`, `reduceat` or `outer`."""
        if self.name not in _METHODS.get(method, (self.name,)):
            self._refuse(method)
        bound = total if method == "reduce" and self.name == "add" else getattr(self.numpy, method)
        return lambda *args, **kwargs: run(f"{self.name}.{method}", bound, args, kwargs)

    def _refuse(self, method):
        raise NotImplementedError(f"`cupy_{self.name}.{method}` is not supported yet")

    def at(self, a, indices, b=None):
        if self.name not in _ATOMIC:
            self._refuse("at")
        if a.dtype.name not in _ATOMIC[self.name]:
            raise TypeError(
                f"cupy.{self.name}.at only supports {', '.join(sorted(_ATOMIC[self.name]))} as data type"
            )
        key, _ = host_key(a, indices)
        owner = owner_of([a])
        with np.errstate(all="ignore"):
            self.numpy.at(a._host, key, inputs([b], owner)[0])
        owner.launch(f"{self.name}.at", 2 * a.nbytes)


class Namespace:
    """A module of `xp`. Its names are resolved on first use, and names that CuPy lacks raise AttributeError."""

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
                found = Function(full, _SPECIAL.get(full, found), SIGNATURES.get(full))
        setattr(self, name, found)
        return found


def asnumpy(a, *args, **kwargs):
    """Return a copy of `a` in host memory."""
    return a.get() if a.__class__ is SimArray else np.asarray(a)


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
    lib=Namespace("cupy.lib", np.lib, frozenset(), stride_tricks=_stride_tricks),
    asnumpy=asnumpy,
)
