"""Which results are their operand, or look into its memory: programs for the engine and for PyTorch."""

from __future__ import annotations

import warnings

import numpy as np

DTYPES = ("float32", "int64", "bool")
SHAPES = ((), (1,), (2, 2))
CALLS = {
    "f(x)": lambda f, x: f(x),
    "f(x, x)": lambda f, x: f(x, x),
    "f(x, x, x)": lambda f, x: f(x, x, x),
    "f(x, 0)": lambda f, x: f(x, 0),
    "f(x, 1)": lambda f, x: f(x, 1),
    "f(x, 0, 0)": lambda f, x: f(x, 0, 0),
    "f(x, 0, 1)": lambda f, x: f(x, 0, 1),
    "f(x, ())": lambda f, x: f(x, ()),
    "f(x, (0,))": lambda f, x: f(x, (0,)),
    "f(x, shape)": lambda f, x: f(x, tuple(x.shape)),
    "f(x, dtype)": lambda f, x: f(x, x.dtype),
    "f(x, 0, x)": lambda f, x: f(x, 0, x),
    "f(x, 0, index)": lambda f, x: f(x, 0, x.long() * 0),
    "f(x, 0.0)": lambda f, x: f(x, 0.0),
    "f(x, 0.0, False)": lambda f, x: f(x, 0.0, False),
    "f([x])": lambda f, x: f([x]),
    "f([x, x])": lambda f, x: f([x, x]),
    "f(equation)": lambda f, x: f("...->...", x),
}


def shared(out, x) -> str:
    """`s` for the same object, `v` for another one that looks into the same memory, `.` for neither."""
    if out is x:
        return "s"
    if hasattr(out, "_array"):
        arrays = [a for a in (out._array, x._array) if isinstance(a, np.ndarray)]
        seen = (
            out._memory is not None
            and out._memory is x._memory
            or len(arrays) == 2
            and np.shares_memory(*arrays)
        )
    else:
        seen = (
            out.untyped_storage().nbytes()
            and out.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        )
    return "v" if seen else "."


def outcome(torch, call, f, dtype: str, shape: tuple) -> str:
    """What `call(f, x)` shares with x: of several results the most; `-` for an error, ` ` where nothing is a tensor."""
    torch.default_generator.manual_seed(
        0
    )  # torch.manual_seed keeps a stack of each call for a GPU that is not there yet
    x = torch.ones(shape).to(getattr(torch, dtype))
    try:
        out = call(f, x)
    except Exception:
        return "-"
    outs = [
        o for o in (out if isinstance(out, (tuple, list)) else [out]) if isinstance(o, torch.Tensor)
    ]
    return max((shared(o, x) for o in outs), key=".vs".index) if outs else " "


def table(torch, space: str, name: str) -> str | None:
    """A character for each dtype, shape and call, in the order of DTYPES, SHAPES and CALLS; None where there is no such
    function."""
    owner = torch
    for part in filter(None, space.split(".")):
        owner = getattr(owner, part)
    f = getattr(owner, name, None)
    if f is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return "".join(
            outcome(torch, call, f, dtype, shape)
            for dtype in DTYPES
            for shape in SHAPES
            for call in CALLS.values()
        )


def differing(found: str, expected: str) -> list[str]:
    """What differs of two tables, where both have an answer."""
    cases = [
        f"{call} of {dtype}{list(shape)}" for dtype in DTYPES for shape in SHAPES for call in CALLS
    ]
    return [
        f"{case}: {a!r}, PyTorch {b!r}"
        for case, a, b in zip(cases, found, expected)
        if a != b and "-" not in (a, b) and " " not in (a, b)
    ]
