"""Tensors as plain data: for comparing two engines, and for storing as JSON."""

import math
import re

import numpy as np

_ADDRESS = re.compile(r"0x[0-9a-f]+")


def plain(value):
    """`value` with every tensor replaced by a NumPy array, every dtype, size and object by its text; addresses
    masked."""
    if value is None or isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(value, str):
        return _ADDRESS.sub("0x…", value)
    if isinstance(value, (np.ndarray, np.generic)):
        return np.array(value)
    if hasattr(value, "detach") and hasattr(value, "numpy"):
        value = value.detach().cpu()
        return np.array(
            value.resolve_conj().numpy() if hasattr(value, "resolve_conj") else value.numpy()
        )
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return _ADDRESS.sub("0x…", repr(value))


def encode(value):
    """Plain data as JSON-ready data; arrays keep dtype and shape, floats every digit."""
    if isinstance(value, np.ndarray):
        flat = value.ravel()
        data = (
            [[v.real, v.imag] for v in flat.tolist()] if value.dtype.kind == "c" else flat.tolist()
        )
        return {"array": value.dtype.name, "shape": list(value.shape), "data": data}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, dict):
        return {"dict": {k: encode(v) for k, v in value.items()}}
    return [encode(v) for v in value] if isinstance(value, list) else value


def decode(value):
    """The inverse of `encode`."""
    if isinstance(value, list):
        return [decode(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "dict" in value:
        return {k: decode(v) for k, v in value["dict"].items()}
    if "complex" in value:
        return complex(*value["complex"])
    data = (
        [complex(*v) for v in value["data"]]
        if value["array"].startswith("complex")
        else value["data"]
    )
    return np.array(data, dtype=value["array"]).reshape(value["shape"])


_DIGITS = {
    "float16": 2e-3,
    "float32": 2e-6,
    "complex64": 2e-6,
    "float64": 1e-12,
    "complex128": 1e-12,
}


def differences(found, expected, rtol=None, atol=None, path="result") -> list[str]:
    """What differs between two pieces of plain data, one line each, by place; empty when nothing does."""
    if isinstance(expected, np.ndarray) and isinstance(found, np.ndarray):
        return _array_differences(found, expected, rtol, atol, path)
    if isinstance(expected, float) and isinstance(found, float):
        close = math.isclose(found, expected, rel_tol=rtol or 2e-6, abs_tol=atol or 1e-30) or (
            math.isnan(found) and math.isnan(expected)
        )
        return [] if close else [f"{path}: {found!r}, PyTorch has {expected!r}"]
    if isinstance(expected, complex) and isinstance(found, complex):
        parts = zip((found.real, found.imag), (expected.real, expected.imag))
        return (
            []
            if all(not differences(f, e, rtol, rtol or atol) for f, e in parts)
            else [f"{path}: {found!r}, PyTorch has {expected!r}"]
        )
    if type(found) is not type(expected):
        return [
            f"{path}: {found!r} ({type(found).__name__}), PyTorch has {expected!r} ({type(expected).__name__})"
        ]
    if isinstance(expected, list):
        if len(found) != len(expected):
            return [
                f"{path}: {len(found)} entries, PyTorch has {len(expected)}: {found!r} against {expected!r}"
            ]
        return [
            line
            for i, (f, e) in enumerate(zip(found, expected))
            for line in differences(f, e, rtol, atol, f"{path}[{i}]")
        ]
    if isinstance(expected, dict):
        if list(found) != list(expected):
            return [f"{path}: keys {list(found)}, PyTorch has {list(expected)}"]
        return [
            line
            for k in expected
            for line in differences(found[k], expected[k], rtol, atol, f"{path}[{k!r}]")
        ]
    return (
        []
        if found == expected
        else [f"{path}: {found!r}\n{' ' * len(path)}  PyTorch has {expected!r}"]
    )


def _array_differences(found, expected, rtol, atol, path):
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return [
            f"{path}: {found.dtype}{list(found.shape)}, PyTorch has {expected.dtype}{list(expected.shape)}"
        ]
    if expected.dtype.name in _DIGITS:
        rtol = _DIGITS[expected.dtype.name] if rtol is None else rtol
        finite = np.abs(expected[np.isfinite(expected)])
        atol = rtol * float(finite.max()) if atol is None and finite.size else atol or 0.0
        with np.errstate(all="ignore"):
            same = np.isclose(found, expected, rtol=rtol, atol=atol, equal_nan=True)
    else:
        same = found == expected
    if np.all(same):
        return []
    where = tuple(int(i) for i in np.argwhere(~np.atleast_1d(same))[0])
    first = np.atleast_1d(found)[where], np.atleast_1d(expected)[where]
    return [
        f"{path}: {int((~same).sum())} of {found.size} numbers differ, first at {list(where)}: "
        f"{first[0]!r}, PyTorch has {first[1]!r}"
    ]
