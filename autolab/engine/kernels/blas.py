"""NumPy's OpenBLAS: its number of threads, and the processor for which its kernels were written.

OpenBLAS chooses its kernels by the processor. The environment variable OPENBLAS_CORETYPE overrides the choice when
NumPy is first imported: with `Haswell`, a processor with AVX-512 multiplies matrices at half its speed. Source:
OpenBLAS, USAGE.md, "DYNAMIC_ARCH".
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

try:
    import ctypes
except (
    ImportError
):  # some Pythons lack it, for example in a browser, where BLAS has one thread anyway
    ctypes = None  # type: ignore[assignment]


@cache
def library():
    """Return (the library, prefix and suffix of its names) for NumPy's OpenBLAS; None if there is none."""
    if ctypes is None:
        return None
    package = Path(np.__file__).parent
    for folder in (package.parent / "numpy.libs", package / ".dylibs", package / ".libs"):
        for path in sorted(folder.glob("*openblas*")) if folder.is_dir() else ():
            try:
                found = ctypes.CDLL(str(path))
            except OSError:
                continue
            for prefix in ("scipy_", ""):
                for suffix in ("64_", ""):
                    if hasattr(found, f"{prefix}openblas_get_num_threads{suffix}"):
                        return found, prefix, suffix
    return None


def thread_functions():
    """Return the functions (get, set) for the number of threads; None if NumPy's BLAS is not OpenBLAS."""
    if library() is None:
        return None
    found, prefix, suffix = library()
    return (
        getattr(found, f"{prefix}openblas_get_num_threads{suffix}"),
        getattr(found, f"{prefix}openblas_set_num_threads{suffix}"),
    )


def core() -> str:
    """Return OpenBLAS's name of the processor for which the kernels in use were written; '' if BLAS is not OpenBLAS."""
    if library() is None:
        return ""
    found, prefix, suffix = library()
    try:
        name = getattr(found, f"{prefix}openblas_get_corename{suffix}")
    except AttributeError:
        return ""
    name.restype = ctypes.c_char_p
    return (name() or b"").decode()
