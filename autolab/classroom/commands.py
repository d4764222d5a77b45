"""The instructor's commands of `autolab.cli`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..installation import command, install

OWN = (".py", ".ipynb")
"""How the names of a lesson of one's own end, where a command also accepts numbers such as 01."""


def add(commands: Any) -> None:
    """Add the commands' parsers; each one stores its function as `run`."""
    asking = commands.add_parser(
        "inventory",
        help="ask twenty questions before the course and after it, and show what was learned",
    )
    asking.add_argument(
        "when",
        nargs="?",
        choices=("before", "after"),
        help="the sitting to answer now; without it, a report on both sittings",
    )
    asking.add_argument(
        "--hand-in",
        nargs="?",
        const="",
        metavar="FILE",
        help="write your answers into a file for your instructor",
    )
    asking.add_argument(
        "--reset",
        choices=("before", "after"),
        help="delete the answers of a sitting, so that you can answer again",
    )
    asking.add_argument(
        "--class",
        dest="folder",
        type=Path,
        metavar="FOLDER",
        help="show a table of the class, made from the files in FOLDER",
    )
    asking.add_argument(
        "-o", "--output", type=Path, help="with --class, also write the table into this CSV file"
    )
    asking.set_defaults(run=inventory)
    for name, run, words in (
        ("plans", plans, "a lesson plan"),
        ("solutions", solutions, "solutions of a lesson"),
    ):
        parser = commands.add_parser(name, help=f"for instructors: show {words}")
        exercise = ", an exercise such as 01.3" if name == "solutions" else ""
        number = f"a lesson such as 01{exercise}, or the notebook of your own lesson"
        parser.add_argument(
            "which", nargs="?", default="", help=f"{number}; without it, a list of lessons"
        )
        parser.add_argument(
            "-o",
            "--output",
            type=Path,
            metavar="FOLDER",
            help=f"write the {name} of all lessons into this folder",
        )
        parser.set_defaults(run=run)
    _add_grading(commands)
    sheet = commands.add_parser(
        "cheatsheet", help="write the takeaways of the course on one page to print"
    )
    written = Path("cheatsheet.html")
    sheet.add_argument(
        "-o", "--output", type=Path, default=written, help="the page to write (%(default)s)"
    )
    sheet.set_defaults(run=cheatsheet)
    checked = commands.add_parser(
        "check-course",
        help="for instructors: run notebooks and compare the results with the stored outputs",
    )
    checked.add_argument(
        "folder",
        nargs="?",
        type=Path,
        help="a folder of notebooks; without it, the course as shipped",
    )
    checked.add_argument(
        "--jobs",
        type=int,
        default=1,
        help="the number of notebooks that run at the same time (%(default)d)",
    )
    checked.set_defaults(run=check_course)
    _add_room(commands)


def _add_grading(commands: Any) -> None:
    out = commands.add_parser(
        "release", help="for instructors: write a lesson or an exam that you can hand out and grade"
    )
    out.add_argument("which", help="a lesson such as 01, the notebook of your own lesson, or exam")
    out.add_argument(
        "--nbgrader",
        action="store_true",
        help="write it for nbgrader: a folder source/ and a configuration",
    )
    out.add_argument(
        "--variant",
        default="1",
        help="with exam: the number of the variant, or a range such as 1-30",
    )
    out.add_argument(
        "--solved", action="store_true", help="with exam: add the answers, for your own use"
    )
    where = Path("release")
    out.add_argument(
        "-o",
        "--output",
        type=Path,
        default=where,
        metavar="FOLDER",
        help="the folder to write into (%(default)s)",
    )
    out.set_defaults(run=release)
    parser = commands.add_parser(
        "grade", help="for instructors: grade notebooks and write a table of the results"
    )
    parser.add_argument(
        "folder", type=Path, help="a folder with the notebooks, also in its subfolders"
    )
    table = Path("grades.csv")
    own = "the file or notebook of your own lesson; repeat the option for each lesson"
    parser.add_argument(
        "--lesson", action="append", type=Path, default=[], metavar="FILE", help=own
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=table, help="the table to write (%(default)s)"
    )
    book = "also write a table of totals that this platform can import"
    parser.add_argument("--for", dest="platform", choices=("canvas", "moodle"), help=book)
    parser.add_argument(
        "--feedback",
        type=Path,
        metavar="FOLDER",
        help="also write a text with feedback for each learner",
    )
    parser.add_argument(
        "--time",
        type=float,
        default=60,
        help="seconds allowed for each cell and for each answer (%(default)g)",
    )
    parser.add_argument(
        "--total", type=float, default=900, help="seconds allowed for each notebook (%(default)g)"
    )
    parser.add_argument(
        "--memory",
        type=float,
        default=4,
        help="GiB of memory for each process (%(default)g); only Linux enforces it",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=1,
        help="the number of notebooks that run at the same time (%(default)d)",
    )
    parser.set_defaults(run=grade)
    bank = commands.add_parser(
        "questions", help="for instructors: write the questions of a lesson for Moodle or Canvas"
    )
    bank.add_argument("which", help="a lesson such as 01, or the file of your own lesson")
    bank.add_argument(
        "--format",
        choices=("gift", "qti"),
        default="gift",
        help="gift, a text for Moodle, or qti, a ZIP file for Canvas and others (%(default)s)",
    )
    bank.add_argument("-o", "--output", type=Path, help="the file to write")
    bank.set_defaults(run=questions)


def _add_room(commands: Any) -> None:
    parser = commands.add_parser(
        "room", help="for instructors: show the answers of the class while it answers"
    )
    serving = parser.add_subparsers(dest="room", required=True, metavar="command").add_parser(
        "serve",
        help="open a room on this machine",
        epilog="Students join with autolab.room(address, code). No names are kept. docs/room.md explains the room.",
    )
    serving.add_argument(
        "--port", type=int, default=8765, help="the port to listen at (%(default)d)"
    )
    kept = "the file to keep the answers in; an existing file is continued (%(default)s)"
    serving.add_argument("--file", type=Path, default=Path("room.jsonl"), help=kept)
    serving.add_argument(
        "--code",
        type=str.upper,
        default="",
        help="the code that students type to join; without it, a random code",
    )
    serving.add_argument(
        "--interface",
        default="",
        metavar="ADDRESS",
        help="listen at this address only, for example 127.0.0.1",
    )
    serving.add_argument(
        "--name",
        action="append",
        default=[],
        help="the name of this machine in the network, shown to students",
    )
    own = "a notebook, or a folder of notebooks, with questions of your own to show"
    serving.add_argument(
        "--questions", action="append", type=Path, default=[], metavar="PATH", help=own
    )
    serving.set_defaults(run=room)
    house = commands.add_parser(
        "wheelhouse",
        help="for instructors: collect all packages, to install in a room without the internet",
    )
    house.add_argument(
        "folder",
        type=Path,
        help="the folder to write packages and a README into, for example on a USB stick",
    )
    house.set_defaults(run=wheelhouse)


def inventory(chosen: argparse.Namespace) -> int:
    """Run `autolab-kit inventory`."""
    from .. import inventory as asked
    from ..inventory.asking import in_terminal

    if chosen.folder:
        group = asked.read_group(chosen.folder)
        print(group)
        if chosen.output:
            chosen.output.write_text(group.csv, encoding="utf-8")
            print(f"wrote {chosen.output}")
    elif chosen.hand_in is not None:
        print(
            f"wrote {asked.hand_in(chosen.hand_in or None)}: your answers to the inventory, and nothing else. Give it to your instructor."
        )
    elif chosen.reset:
        print(asked.reset(chosen.reset))
    else:
        if chosen.when:
            in_terminal(asked.sitting(chosen.when))
        print(asked.report())
    return 0


def plans(chosen: argparse.Namespace) -> int:
    """Run `autolab-kit plans`."""
    from . import papers

    if chosen.output:
        return _wrote(papers.write_plans(chosen.output))
    if chosen.which.endswith(OWN):
        print(papers.own_plan(Path(chosen.which)).read_text(encoding="utf-8"))
        return 0
    if chosen.which and chosen.which not in papers.plans():
        raise KeyError(
            f"no plan is called {chosen.which!r}; type one of {', '.join(papers.plans())}"
        )
    print(
        papers.plans()[chosen.which].read_text(encoding="utf-8")
        if chosen.which
        else papers.plans_in_short()
    )
    return 0


def solutions(chosen: argparse.Namespace) -> int:
    """Run `autolab-kit solutions`."""
    from ..lessons import registry
    from . import papers

    if chosen.output:
        return _wrote(papers.write_solutions(chosen.output))
    if chosen.which.endswith(OWN):
        print(papers.solved_text(registry.load(Path(chosen.which)).name), end="")
    elif chosen.which:
        tell: Callable[[str], str] = (
            papers.solution_text if "." in chosen.which else papers.solved_text
        )
        print(tell(chosen.which), end="")
    else:
        shows = f"`{command('solutions 01')}` shows the solutions of one lesson"
        print(
            f"Solutions of the lessons {', '.join(papers.known())}. {shows}, `-o FOLDER` writes all."
        )
    return 0


def release(chosen: argparse.Namespace) -> int:
    """Run `autolab-kit release`."""
    from . import release as out

    if chosen.which != "exam":
        return _wrote(out.release(chosen.which, chosen.output, chosen.nbgrader))
    first, _, last = chosen.variant.partition("-")
    if not first.isdecimal() or last and not last.isdecimal():
        raise ValueError(
            f"--variant should be a number such as 7, or several such as 1-30, but is {chosen.variant!r}"
        )
    return _wrote(
        out.release_exam(range(int(first), int(last or first) + 1), chosen.output, chosen.solved)
    )


def grade(chosen: argparse.Namespace) -> int:
    """Run `autolab-kit grade`."""
    from ..lessons import registry
    from . import grades
    from .sandbox import Limits

    if (
        find_spec("matplotlib") is None
    ):  # without the lesson file the importing cell would raise, and the cells after it
        raise RuntimeError(
            f"Lessons 2 and 3 need matplotlib, which is not installed. Install it with\n    {install('matplotlib')}"
        )

    for path in chosen.lesson:
        registry.load(path)
    limits = Limits(chosen.time, int(chosen.memory * 2**30), chosen.total)
    tell = lambda line: print(line, flush=True)
    rows = grades.grade(chosen.folder, limits, chosen.jobs, tell, chosen.output)
    _gradebook(chosen, rows)
    print(f"wrote {chosen.output}. docs/grading.md explains the limits of automatic grading.")
    return 0


def _gradebook(chosen: argparse.Namespace, rows: list[Any]) -> None:
    """Write the totals for a platform and the feedback, if they are asked for."""
    from . import gradebook

    several = gradebook.totals(rows)
    if chosen.platform:
        path = chosen.output.with_stem(f"{chosen.output.stem}_{chosen.platform}")
        text = (
            gradebook.moodle(several)
            if chosen.platform == "moodle"
            else gradebook.canvas(several, chosen.folder.resolve().name)
        )
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
    if chosen.feedback:
        written = gradebook.write_feedback(several, chosen.feedback)
        print(f"wrote {len(written)} texts for learners into {chosen.feedback}")


def questions(chosen: argparse.Namespace) -> int:
    """Run `autolab-kit questions`."""
    from ..lessons import registry
    from . import question_bank

    name = chosen.which
    if name.endswith(OWN):
        name = registry.load(Path(name)).name
    known, unknown = question_bank.items(name)
    suffix = {"gift": "gift", "qti": "zip"}[chosen.format]
    path = chosen.output or Path(f"questions_{name}.{suffix}")
    path.write_bytes(question_bank.export(known, chosen.format, f"autolab {name}"))
    print(f"wrote {len(known)} questions into {path}")
    if unknown:
        print(f"left out, because their answers depend on a run: {', '.join(unknown)}")
    return 0


def cheatsheet(chosen: argparse.Namespace) -> int:
    """Run `autolab-kit cheatsheet`."""
    from .cheatsheet import page

    chosen.output.write_text(page(), encoding="utf-8")
    print(f"wrote {chosen.output}; open it in a browser and print it: one side of A4")
    return 0


def check_course(chosen: argparse.Namespace) -> int:
    """Run `autolab-kit check-course`."""
    from .course_check import check

    return 0 if check(chosen.folder, chosen.jobs, lambda line: print(line, flush=True)) else 1


def room(chosen: argparse.Namespace) -> int:
    """Run `autolab-kit room serve`."""
    try:
        from ..room import server
    except ImportError as error:
        raise RuntimeError(
            f"{error.name} is not installed. Install it with\n    {install('tornado')}"
        ) from None
    server.serve(
        chosen.file,
        chosen.port,
        chosen.code,
        chosen.interface,
        tuple(chosen.name),
        tuple(chosen.questions),
    )
    return 0


def wheelhouse(chosen: argparse.Namespace) -> int:
    """Run `autolab-kit wheelhouse`."""
    from .wheelhouse import collect

    print(collect(chosen.folder, lambda line: print(line, flush=True)))
    return 0


def run(chosen: argparse.Namespace) -> int:
    """Run an instructor's command. If it fails, print the error with its note, and return 1."""
    try:
        return int(chosen.run(chosen))
    except (KeyError, ValueError, OSError, RuntimeError) as error:
        said = error.args[0] if isinstance(error, KeyError) else error
        print(
            "\n".join([f"autolab-kit: {said}", *getattr(error, "__notes__", [])]), file=sys.stderr
        )
        return 1


def _wrote(paths: list[Path]) -> int:
    print("\n".join(f"wrote {path}" for path in paths))
    return 0
