"""Run notebooks without the features that Python in a browser (Pyodide) lacks: threads, processes, ctypes,
multiprocessing, several BLAS threads, and any Graphviz.

    python tools/without.py                     # every lesson
    python tools/without.py course/01_graphs.ipynb

Each cell runs in this process, in an IPython shell like the shell of JupyterLite's kernel. A cell is reported, and the
exit status is 1, if it fails without the tag `raises-exception`, or has the tag and does not fail. The time of each
lesson and its slowest cell are printed, too. This does not test 32-bit positions, which only a browser has
(tests/engine/test_32_bit.py does).
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import types
import warnings
from pathlib import Path
from typing import Any, NoReturn

COURSE = Path(__file__).resolve().parents[1] / "course"
MISSING = (
    "ctypes",
    "_ctypes",
    "_multiprocessing",
    "multiprocessing.connection",
    "pygraphviz",
    "torch",
)
SETTINGS = {"OPENBLAS_NUM_THREADS": "1", "AUTOLAB_PROGRESS": "off", "MPLBACKEND": "agg", "PATH": ""}


def remove_features() -> None:
    """Remove the features that a browser lacks from this process. Call it after NumPy and IPython are imported, because
    here they need these features."""

    def no_thread(*_: Any, **__: Any) -> NoReturn:
        raise RuntimeError("can't start new thread")

    def no_process(*_: Any, **__: Any) -> NoReturn:
        raise OSError(138, "emscripten does not support processes.")

    threading.Thread.start = no_thread  # type: ignore[method-assign]
    subprocess.Popen.__init__ = no_process  # type: ignore[method-assign]
    for name in ("fork", "posix_spawn", "system"):
        setattr(os, name, no_process)
    for name in [
        name
        for name in sys.modules
        if name.split(".")[0] in ("ctypes", "_ctypes", "multiprocessing")
    ]:
        del sys.modules[name]
    sys.modules.update(dict.fromkeys(MISSING))  # importing these modules raises ImportError
    sys.modules["fcntl"] = types.ModuleType("fcntl")  # JupyterLite has an empty module


def run(path: Path) -> list[str]:
    """Run a notebook's cells and return their errors, one line per cell."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
    loop, wrong, slowest = (
        asyncio.new_event_loop(),
        [],
        (0.0, ""),
    )  # one shell for all cells, as in a kernel
    begun = time.perf_counter()
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        said, started = io.StringIO(), time.perf_counter()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            source = shell.transform_cell("".join(cell["source"]))
            result = loop.run_until_complete(
                shell.run_cell_async(source, store_history=True, transformed_cell=source)
            )
        slowest = max(slowest, (time.perf_counter() - started, cell["id"]))
        meant = "raises-exception" in cell["metadata"].get("tags", [])
        if (result.error_in_exec or result.error_before_exec) is not None and not meant:
            error = result.error_in_exec or result.error_before_exec
            wrong.append(f"{path.name} cell {cell['id']}: {type(error).__name__}: {error}")
        elif result.success and meant:
            wrong.append(f"{path.name} cell {cell['id']} was to fail, and did not")
    InteractiveShell.clear_instance()
    print(
        f"{path.name}: {time.perf_counter() - begun:.0f} s, of which {slowest[0]:.1f} in cell {slowest[1]}",
        flush=True,
    )
    return wrong


def main() -> int:
    """Run the given notebooks, or the course, each in its own process; return the exit status."""
    notebooks = [Path(name).resolve() for name in sys.argv[1:]] or sorted(COURSE.rglob("*.ipynb"))
    if len(notebooks) > 1:
        failed = [
            path
            for path in notebooks
            if subprocess.run([sys.executable, __file__, str(path)]).returncode
        ]
        print(f"{len(notebooks) - len(failed)} passed, {len(failed)} failed")
        return bool(failed)
    os.environ.update(SETTINGS)
    for name in (
        "IPython.core.interactiveshell",
        "matplotlib.pyplot",
        "numpy",
    ):  # these modules need more here than in a browser
        importlib.import_module(name)

    remove_features()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        wrong = run(notebooks[0])
    print("\n".join(wrong or ["every cell ran as it should"]), flush=True)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
