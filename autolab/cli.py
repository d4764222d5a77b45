"""The `autolab` command: open the course, say the version, say what this machine can do.

`autolab lab [folder]` copies the course into a folder of the student's and opens JupyterLab there. A file the student
has changed is never written over: its new version is put beside it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from ._version import __version__

DEFAULT_FOLDER = "autolab-course"
RECORD = ".autolab.json"  # in the student's folder: the digest of each file as it was last offered


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(prog="autolab", description="Learn automatic differentiation in Jupyter.")
    parser.add_argument("--version", action="version", version=f"autolab {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    lab = commands.add_parser(
        "lab",
        help="copy the course to a folder and open it in JupyterLab",
        epilog="Further arguments go to JupyterLab, for example --no-browser or --port=9999.",
    )
    lab.add_argument("folder", nargs="?", default=DEFAULT_FOLDER, type=Path, help="where you work (%(default)s)")
    lab.add_argument("--copy-only", action="store_true", help="copy the course, do not open JupyterLab")
    commands.add_parser("doctor", help="say what was found on this machine")
    chosen, rest = parser.parse_known_args(arguments)
    if chosen.command == "doctor":
        if rest:
            parser.error(f"unrecognized arguments: {' '.join(rest)}")
        return doctor()
    return open_lab(chosen.folder, copy_only=chosen.copy_only, options=rest)


def open_lab(folder: Path, copy_only: bool = False, options: list[str] | None = None) -> int:
    """Copy the course into `folder`, then run JupyterLab there until it is stopped; returns the exit status."""
    if folder.exists() and not folder.is_dir():
        print(f"autolab: {folder} is a file; name a folder for the course", file=sys.stderr)
        return 1
    for message in copy_course(course_source(), folder):
        print(message, flush=True)
    trust_course(course_source(), folder)
    if copy_only:
        return 0
    try:
        from jupyterlab.labapp import LabApp
    except ImportError:
        print(
            f"autolab: JupyterLab is not installed. Install it with\n    {sys.executable} -m pip install jupyterlab\n"
            f"and run `autolab lab {folder}` again, or open {folder} in the notebook program you have.",
            file=sys.stderr,
        )
        return 1
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0  # in a container there is often no other user
    arguments = [f"--ServerApp.root_dir={folder.resolve()}", *(["--allow-root"] if as_root else []), *(options or [])]
    LabApp.launch_instance(arguments)
    return 0


def course_source() -> Path:
    """The folder of the course as it was shipped: inside the wheel, or beside the package in a clone."""
    package = Path(__file__).parent
    for folder in (package / "_course", package.parent / "course"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError("the course is not part of this installation of autolab; install autolab-kit again")


def copy_course(source: Path, target: Path) -> Iterator[str]:
    """Bring `target` up to date with `source`, yielding what there is to tell.

    Missing files are written, files the student left as they were are updated, files the student changed are kept. What
    is new about a kept file is written beside it, once. `.autolab.json` in `target` remembers what was offered.
    """
    record_file = target / RECORD
    offered = json.loads(record_file.read_text(encoding="utf-8")) if record_file.exists() else {}
    fresh = not target.exists()
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(_course_files(source)):
        name = path.relative_to(source).as_posix()
        content, mine = path.read_bytes(), target / name
        new = _digest(content)
        current = _digest(mine.read_bytes()) if mine.exists() else None
        if current is None or (current == offered.get(name) and current != new):
            mine.parent.mkdir(parents=True, exist_ok=True)
            mine.write_bytes(content)
            if not fresh:
                yield f"{'added' if current is None else 'updated'}: {mine}"
        elif current != new and offered.get(name) != new:
            beside = _free_name(mine, content)
            beside.write_bytes(content)
            yield f"kept: {mine}, which you changed; its new version is {beside.name}"
        offered[name] = new
    record_file.write_text(json.dumps(offered, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    yield f"The course is in {target.resolve()}"


def trust_course(source: Path, target: Path) -> None:
    """Sign the notebooks in `target` that are still as they were shipped, so that JupyterLab shows their stored widgets
    before anything is run. A notebook the student changed keeps the trust it has. Source: nbformat.sign."""
    try:
        import nbformat
        from nbformat.sign import NotebookNotary
    except ImportError:  # no notebook program, then nobody asks
        return
    notary = NotebookNotary()
    for path in _course_files(source):
        copy = target / path.relative_to(source)
        if path.suffix == ".ipynb" and copy.exists() and copy.read_bytes() == path.read_bytes():
            notary.sign(nbformat.read(copy, as_version=4))


def doctor() -> int:
    """Print what autolab finds on this machine, one line each."""
    from .engine.kernels import blas
    from .viz import layout

    chosen = ", as OPENBLAS_CORETYPE says" if "OPENBLAS_CORETYPE" in os.environ else ""
    drawing = {"dot": "system Graphviz (dot)", "pygraphviz": "pygraphviz", "browser": "in the browser only (viz.js)"}
    lines = {
        "autolab": __version__,
        "Python": f"{platform.python_version()} ({sys.executable})",
        "numpy": _version_of("numpy"),
        "BLAS": f"OpenBLAS, kernels for {blas.core()}{chosen}" if blas.core() else "not OpenBLAS",
        "graph layout": drawing[layout.which()],
        "JupyterLab": _version_of("jupyterlab"),
        "GPU (cupy)": _gpu(),
        "PyTorch": _version_of("torch"),
        "course": str(course_source()),
    }
    for name, finding in lines.items():
        print(f"{name:<14}{finding}")
    return 0


def _course_files(source: Path) -> Iterator[Path]:
    """The notebooks and what they need; not their sources, nor what Jupyter and Python leave behind."""
    left_out = {".ipynb_checkpoints", "__pycache__", "src", "plans"}
    for path in source.rglob("*"):
        if path.is_file() and not left_out.intersection(path.relative_to(source).parts):
            yield path


def _free_name(path: Path, content: bytes) -> Path:
    """`01.new.ipynb`, or with a number where that name is taken by something else."""
    number = 1
    while True:
        beside = path.with_suffix(f".new{number if number > 1 else ''}{path.suffix}")
        if not beside.exists() or beside.read_bytes() == content:
            return beside
        number += 1


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _version_of(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


def _gpu() -> str:
    try:
        import cupy
    except ImportError:
        return "not installed (pip install 'autolab-kit[gpu]' for CUDA 12, 'autolab-kit[gpu13]' for CUDA 13)"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"cupy {cupy.__version__}, but no usable GPU ({error})"
    return f"cupy {cupy.__version__}, {count} device{'s' if count != 1 else ''}"
