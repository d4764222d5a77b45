"""Kernels of OpenBLAS that this processor can run: each rounds sums in its own way, as another machine would."""

import os
import platform
import subprocess
import sys
from pathlib import Path

_NEEDED = {
    "Prescott": " sse3 | pni ",
    "Sandybridge": " avx ",
    "Haswell": " avx2 ",
    "Zen": " avx2 ",
    "SkylakeX": " avx512vl ",
}
"""Name -> the processor's flags, one of which it needs."""


def processors() -> list[str]:
    """Names for `OPENBLAS_CORETYPE`; [] where they cannot be told."""
    path = Path("/proc/cpuinfo")
    if platform.machine() != "x86_64" or not path.exists():
        return []
    flags = path.read_text()
    return [
        name
        for name, needed in _NEEDED.items()
        if any(flag in flags for flag in needed.split("|")) and works(name)
    ]


def works(name: str) -> bool:
    """Whether a plain product of NumPy's survives these kernels: chosen by name, OpenBLAS 0.3.34 crashes in some of
    them on AMD's Zen 4 and 5 (https://github.com/OpenMathLib/OpenBLAS/issues/6021)."""
    product = "import numpy as np; assert (np.ones((32, 512)) @ np.ones((512, 2)) == 512).all()"
    return subprocess.run([sys.executable, "-c", product], env=environment(name, 1)).returncode == 0


def environment(name: str, threads: int) -> dict[str, str]:
    """The environment of a process that computes with these kernels ("": what OpenBLAS finds) and so many threads."""
    chosen = {"OPENBLAS_CORETYPE": name} if name else {}
    return (
        os.environ
        | chosen
        | {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    )
