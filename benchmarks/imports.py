"""How long `import autolab` takes over `import numpy`, and what it must not load."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile

TARGET_MS = 150
HEAVY = ("matplotlib", "ipywidgets", "anywidget", "IPython", "graphviz", "torch")
_CODE = (
    "import sys, time; t = time.perf_counter(); import {module}; print(1e3 * (time.perf_counter() - t)); "
    "print([m for m in {heavy!r} if m in sys.modules])"
)


def once(module: str, cache: str | None = None) -> tuple[float, list[str]]:
    """Milliseconds of `import module` in a fresh process, and the heavy modules it loaded. cache: the folder for
    bytecode."""
    code = _CODE.format(module=module, heavy=HEAVY)
    kept = {
        key: value
        for key, value in os.environ.items()
        if key != "PYTHONDONTWRITEBYTECODE" or cache is None
    }
    environment = kept | ({"PYTHONPYCACHEPREFIX": cache} if cache else {})
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    lines = done.stdout.splitlines()
    return float(lines[0]), json.loads(lines[1].replace("'", '"'))


def run(times: int = 7) -> dict:
    """Medians in milliseconds over `times` fresh processes each, in turns; the first of each, which fills the caches of
    the disk and of bytecode, is left out."""
    found = {"numpy": [], "autolab": []}
    loaded = []
    with tempfile.TemporaryDirectory() as cache:
        for k in range(times + 1):
            for module, list_of_times in found.items():
                milliseconds, heavy = once(module, cache)
                if k:
                    list_of_times.append(milliseconds)
                loaded = heavy if module == "autolab" else loaded
    numpy, autolab = (statistics.median(v) for v in found.values())
    return {
        "numpy_ms": round(numpy, 1),
        "autolab_ms": round(autolab, 1),
        "over_numpy_ms": round(autolab - numpy, 1),
        "target_ms": TARGET_MS,
        "met": autolab - numpy <= TARGET_MS and not loaded,
        "heavy_modules_loaded": loaded,
    }
