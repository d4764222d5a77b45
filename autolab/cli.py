"""The command `autolab-kit`: open the course, make slides, teach with it, and report what this machine can do.

`autolab-kit lab [folder]` copies the course into the learner's folder and opens JupyterLab there. It never overwrites a
file that the learner has changed: the new version goes beside it.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from ._version import __version__
from .installation import command, install, quoted
from .classroom import commands as classroom
from .lessons import book, folder as folders, registry

DEFAULT_FOLDER = "autolab-course"
WITH_VALUE = ("app-dir", "browser", "certfile", "client-ca", "config", "ip", "keyfile", "log-level", "notebook-dir", "port",
              "port-retries")  # fmt: skip
"""JupyterLab's options that are followed by a value, beside those with a dot in their name."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="autolab-kit", description="Learn automatic differentiation in Jupyter."
    )
    parser.add_argument("--version", action="version", version=f"autolab-kit {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    lab = commands.add_parser(
        "lab",
        help="copy the course to a folder and open it in JupyterLab",
        epilog="Further arguments go to JupyterLab, for example --no-browser or --port 9999.",
    )
    lab.add_argument(
        "folder",
        nargs="?",
        default=DEFAULT_FOLDER,
        type=Path,
        help="the folder to work in (%(default)s)",
    )
    lab.add_argument(
        "--copy-only", action="store_true", help="copy the course, but do not open JupyterLab"
    )
    lab.add_argument(
        "--reset",
        default="",
        metavar="NUMBER",
        help="start a lesson such as 01 again; what you wrote is kept in a file beside it",
    )
    own = "a folder with a course of your own, used instead of the kit's course; it is not changed"
    lab.add_argument("--course", type=Path, metavar="FOLDER", help=own)
    lecture = commands.add_parser(
        "lecture", help="make slides of a notebook: one HTML file that needs no network"
    )
    lecture.add_argument(
        "notebook", nargs="?", type=Path, help="an .ipynb file; it is run, but not changed"
    )
    lecture.add_argument(
        "--all",
        action="store_true",
        help="make slides of all lessons, with a page of links to them",
    )
    core = "leave out exercises and other work for learners; with --all, also the further notebooks"
    lecture.add_argument("--core", action="store_true", help=core)
    lecture.add_argument(
        "-o",
        "--output",
        type=Path,
        help="the file to write; with --all, the folder to write (lectures)",
    )
    lecture.add_argument("--notes", type=Path, help="a plan in Markdown, used as speaker notes")
    lecture.add_argument(
        "--no-run",
        action="store_true",
        help="use the stored outputs; widgets are then pictures",
    )
    where = (
        "the address that `autolab-kit room serve` printed; predictions get a QR code for phones"
    )
    lecture.add_argument("--room", default="", metavar="ADDRESS", help=where)
    lecture.add_argument(
        "--code", default="", help="the code of that room; without it, phones ask for the code"
    )
    commands.add_parser(
        "doctor",
        help="report what this machine has: versions, GPU, graph layout, and the command to type",
    )
    classroom.add(commands)
    chosen, rest = parser.parse_known_args(
        _with_values(sys.argv[1:] if arguments is None else arguments)
    )
    if rest and chosen.command != "lab":
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if "run" in chosen:
        return classroom.run(chosen)
    if chosen.command == "doctor":
        return doctor()
    if chosen.command == "lecture":
        if chosen.all == (chosen.notebook is not None) or (chosen.all and chosen.notes):
            lecture.error("name one notebook, or --all (which has notes of its own)")
        asked = {"run": not chosen.no_run, "room": chosen.room, "code": chosen.code}
        asked["core"] = chosen.core
        return make_lecture(chosen.notebook, chosen.output, chosen.notes, **asked)
    return open_lab(chosen.folder, chosen.copy_only, rest, chosen.reset, chosen.course)


def _with_values(arguments: list[str]) -> list[str]:
    """Join each option for JupyterLab with its value, which would otherwise be read as the folder."""
    if arguments[:1] != ["lab"]:
        return arguments
    joined: list[str] = []
    for argument in arguments:
        name = joined[-1][2:] if joined and joined[-1].startswith("--") else ""
        waits = name in WITH_VALUE or ("." in name and "=" not in name)
        if waits and not argument.startswith("--"):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def open_lab(
    folder: Path,
    copy_only: bool = False,
    options: list[str] | None = None,
    reset: str = "",
    course: Path | None = None,
) -> int:
    """Copy the course into `folder`, then run JupyterLab there until it is stopped, and return the
    exit status. It opens the lesson that was used last, or else the start page. reset: the number
    of a lesson to start again. course: a folder of lessons to use instead of the kit's."""
    if course is not None and not course.expanduser().is_dir():
        return _complain(
            f"--course {course} is not a folder. Name the folder that your notebooks are in."
        )
    folder = folder.expanduser()
    if folder.exists() and not folder.is_dir():
        return _complain(f"{folder} is a file; name a folder for the course")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return _complain(
            f"{folder} cannot be made: {error.strerror}; name a folder you may write to"
        )
    source, name = course.expanduser() if course else folders.course_source(), ""
    if course:
        for trouble in registry.load_folder(source):
            print(trouble, file=sys.stderr)
    if reset:
        known = folders.lessons(source)
        if reset not in known:
            return _complain(
                f"--reset {reset}: the course has no lesson of that number. Type one of {', '.join(known)}."
            )
        name = known[reset]
        book.reset(reset)
    try:
        for message in folders.copy_course(source, folder, name):
            print(message, flush=True)
        lab = f"lab {quoted(str(folder.resolve()))}"
        lab += f" --course {quoted(str(source.resolve()))}" if course else ""
        first = name or folders.start_page(folder, lab)
    except OSError as error:
        return _complain("\n".join([str(error), *getattr(error, "__notes__", [])]))
    if copy_only:
        return 0
    try:
        from jupyterlab.labapp import LabApp
    except ImportError:
        return _complain(
            f"JupyterLab is not installed. Install it with\n    {install('jupyterlab')}\n"
            f"and run `{command('lab')} {folder}` again, or open {folder} in the notebook program you have."
        )
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0  # containers often have no other user
    arguments = [
        f"--ServerApp.root_dir={folder.resolve()}",
        f"--LabApp.default_url=/lab/tree/{first}",
    ]
    arguments += [*(["--allow-root"] if as_root else []), *(options or [])]
    LabApp.launch_instance(arguments)
    return 0


def _in_order(course: Path) -> list[str]:
    """Return the notebooks of the course: for each lesson its main notebook, then its further ones."""
    return [
        name for number in folders.lessons(course) for name in folders.notebooks(course, number)
    ]


def make_lecture(
    notebook: Path | None, output: Path | None, notes: Path | None = None, **asked: Any
) -> int:
    """Write the slides of a notebook, or of every lesson if it is None, and return the exit status.
    asked: `run`, `room`, `code` and `core` for `lecture.write`."""
    from . import lecture

    try:
        if notebook is None:
            course = folders.course_source()
            names = folders.lessons(course).values() if asked.get("core") else _in_order(course)
            written = lecture.write_all(
                [course / name for name in names],
                output or Path("lectures"),
                **asked,
                tell=_tell_cell,
            )
        else:
            # a learner's copy of a lesson uses the plan of that lesson
            plan = folders.course_source() / "plans" / f"{notebook.stem}.md"
            notes = notes or (plan if plan.exists() else None)
            output = output or Path(f"{notebook.stem}.html")
            written = lecture.write(notebook, output, notes=notes, **asked, tell=_tell_cell)
    except ImportError as error:
        return _complain(
            f"{error.name} is not installed. Install what runs notebooks with\n    {install('jupyterlab')}"
        )
    except (OSError, ValueError, RuntimeError) as error:
        return _complain("\n".join([str(error), *getattr(error, "__notes__", [])]))
    print(f"wrote {written}; open it in a browser")
    return 0


def _tell_cell(notebook: str, cell: int, cells: int) -> None:
    """Report progress: a line that counts in a terminal, otherwise one line for each notebook."""
    if sys.stderr.isatty():
        print(
            f"\r{notebook}: cell {cell} of {cells}",
            end="\n" if cell == cells else "",
            file=sys.stderr,
            flush=True,
        )
    elif cell == 1:
        print(f"{notebook}: {cells} cells to run", file=sys.stderr, flush=True)


def _complain(message: str) -> int:
    print(f"autolab-kit: {message}", file=sys.stderr)
    return 1


def doctor() -> int:
    """Print what autolab finds on this machine, one line each."""
    from .engine.kernels import blas
    from .viz import layout

    chosen = ", as OPENBLAS_CORETYPE says" if "OPENBLAS_CORETYPE" in os.environ else ""
    in_browser = f"in the browser; pictures of make_dot and draw need Graphviz: {layout.install()}"
    drawing = {"dot": "system Graphviz (dot)", "pygraphviz": "pygraphviz", "browser": in_browser}
    lines = {
        "autolab-kit": __version__,
        "Python": f"{platform.python_version()} ({sys.executable})",
        "numpy": _version_of("numpy"),
        "BLAS": f"OpenBLAS, kernels for {blas.core()}{chosen}" if blas.core() else "not OpenBLAS",
        "graph layout": drawing[layout.which()],
        "JupyterLab": _version_of("jupyterlab"),
        "GPU (cupy)": _gpu(),
        "PyTorch": _version_of("torch"),
        "course": str(folders.course_source()),
        "start with": command("lab"),
    }
    for name, finding in lines.items():
        print(f"{name:<14}{finding}")
    import autolab_kit

    if autolab_kit.namesake():
        print(f"\n{autolab_kit.BESIDE} {autolab_kit.MEND}")
    return 0


def _version_of(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


def _gpu() -> str:
    try:
        import cupy
    except ImportError:
        return f"not installed (CUDA 12: {install('autolab-kit[gpu]')}; CUDA 13: {install('autolab-kit[gpu13]')})"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"cupy {cupy.__version__}, but no usable GPU ({error})"
    return f"cupy {cupy.__version__}, {count} device{'s' if count != 1 else ''}"
