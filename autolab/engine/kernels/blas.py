"""The OpenBLAS that came with NumPy: its threads, and for which processor its kernels were written.

OpenBLAS picks its kernels by the processor, unless the environment variable OPENBLAS_CORETYPE says otherwise when NumPy
is first imported: with `Haswell` a processor with AVX-512 multiplies matrices at half of its speed. Source: OpenBLAS,
USAGE.md, "DYNAMIC_ARCH".
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

try:
    import ctypes
except (
    ImportError
):  # some Pythons have none, such as one in a browser: there BLAS has one thread anyway
    ctypes = None  # type: ignore[assignment]


@cache
def library():
    """(the library, prefix and suffix of its names) of the OpenBLAS that came with NumPy; None when there is none."""
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
    """(get, set) for the number of threads; None where NumPy's BLAS is not OpenBLAS."""
    if library() is None:
        return None
    found, prefix, suffix = library()
    return (
        getattr(found, f"{prefix}openblas_get_num_threads{suffix}"),
        getattr(found, f"{prefix}openblas_set_num_threads{suffix}"),
    )


def core() -> str:
    """The processor for which the kernels in use were written, as OpenBLAS calls it; '' when it is not OpenBLAS."""
    if library() is None:
        return ""
    found, prefix, suffix = library()
    try:
        name = getattr(found, f"{prefix}openblas_get_corename{suffix}")
    except AttributeError:
        return ""
    name.restype = ctypes.c_char_p
    return (name() or b"").decode()
