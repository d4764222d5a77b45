"""Try autolab on a CUDA GPU: every operation against the CPU, the cells of lesson 2, and the time of a training step.

    python3 tools/gpu.py                 # needs numpy, cupy and pytest, and downloads nothing
    python3 tools/gpu.py --device sim    # a rehearsal on a simulated GPU; times are not measured and not saved

The report is written to benchmarks/results/<date>-<device>.md. If PyTorch has CUDA, it is timed on the same GPU.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
PRESENTATION = {
    "IPython", "anywidget", "graphviz", "ipywidgets", "latex2mathml", "matplotlib", "tqdm", "traitlets"
}  # fmt: skip
COMPUTES = {"code", "setup", "exercise"}
"""The tags of a lesson's cells that run without a learner."""


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """An importer that replaces packages for display by objects that accept every call, whether or not the packages are
    installed."""

    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in PRESENTATION:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return mock.MagicMock(name=spec.name, __version__="8.1", __path__=[])

    def exec_module(self, module):
        pass


def run_lesson() -> list[str]:
    """Run the computing cells of lesson 2. Return one sentence for each cell that failed or gave a wrong result."""
    sys.meta_path.insert(0, StandIns())
    os.chdir(ROOT / "course")
    cells = json.loads(Path("02_gpu.ipynb").read_text(encoding="utf-8"))["cells"]
    names, wrong, ran = {"__name__": "__main__"}, [], 0
    for number, cell in enumerate(cells):
        tags = set(cell["metadata"].get("tags", ()))
        if cell["cell_type"] != "code" or not tags & COMPUTES or "colab" in tags:
            continue
        source = "".join(line for line in cell["source"] if not line.startswith(("%", "!")))
        raises, ran = "raises-exception" in tags, ran + 1
        try:
            exec(compile(source, f"<cell {number} of lesson 2>", "exec"), names)
        except Exception as error:
            if not raises:
                traceback.print_exc()
                wrong.append(f"cell {number}: {type(error).__name__}: {str(error)[:200]}")
        else:
            if raises:
                wrong.append(f"cell {number} should have raised an error")
    print(*wrong, f"{ran} cells of lesson 2 ran, {len(wrong)} of them wrong", sep="\n")
    return wrong


def run(*command: str) -> tuple[bool, str]:
    """Run a Python program and show its output. Return whether it succeeded, and its last line."""
    last = ""
    with subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
    return process.returncode == 0, last


def operation_tests(device: str) -> list[str]:
    """Return the command-line arguments that run the tests of operations on the device."""
    names = [f"tests/engine/test_{name}.py" for name in ("ops_devices", "devices_demands")]
    chosen = ["-m", "gpu"] if device == "cuda" else ["-k", "sim"]
    if importlib.util.find_spec("xdist"):
        chosen += ["-n", str(min(12, os.cpu_count() or 1))]
    return ["-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", *chosen, *names]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--device", choices=("cuda", "sim"), default="cuda")
    parser.add_argument("--lesson-only", action="store_true", help="run the cells of lesson 2 here")
    options = parser.parse_args()
    if options.lesson_only:
        return bool(run_lesson())
    import autolab

    if options.device == "cuda" and not autolab.cuda.is_available():
        print("No CUDA GPU is usable here. For a rehearsal: python3 tools/gpu.py --device sim")
        return 1
    from benchmarks import gpu

    os.environ["AUTOLAB_ORACLE"] = "stored"
    began = time.perf_counter()
    checks = {
        "operations": run(*operation_tests(options.device)),
        "lesson 2": run(str(Path(__file__).resolve()), "--lesson-only"),
    }
    report = gpu.main(["--quick", "--device", options.device])
    lines = [
        f"- {name}: {'passed' if passed else 'FAILED'}. {last}"
        for name, (passed, last) in checks.items()
    ]
    text = "\n".join(
        ["## checks", "", *lines, f"- the whole run: {time.perf_counter() - began:.0f} s", ""]
    )
    print(text)
    if report is not None:
        report.write_text(f"{report.read_text()}\n{text}")
    return not all(passed for passed, _ in checks.values())


if __name__ == "__main__":
    sys.exit(main())
