"""The learner's folder: a copy of the course without answers, which is updated without losing the
learner's work.

Only the sources of the cells count. Running or saving a notebook changes its outputs and metadata,
so it still counts as unchanged, and a new version replaces it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..engine.core.errors import fail
from ..progress import Event, events
from ..installation import command
from ..language import translate
from .book import overview
from . import registry
from .registry import LESSONS

OWN = (".ipynb", ".py")
"""Kinds of files that lessons never write. So `my_lesson.ipynb` is the author's work, but
`my_digit.npz` was left by a lesson."""
RECORD = ".autolab.json"  # in the learner's folder: the digest of each file as it was last copied
START, SECOND = (
    "start.md",
    "autolab-start.md",
)  # the second name is used if the learner has a start.md already


def course_source() -> Path:
    """Return the folder of the course as shipped: inside the wheel, or beside the package in a
    clone."""
    package = Path(__file__).parents[1]
    for folder in (package / "_course", package.parent / "course"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(
        "the course is not part of this installation of autolab; install autolab-kit again"
    )


def copy_course(source: Path, target: Path, reset: str = "") -> Iterator[str]:
    """Bring `target` up to date with `source`, and yield sentences for the learner.

    Missing files are written, unchanged files are updated, and files that the learner changed are
    kept; a new version of a kept file is written beside it, once. `.autolab.json` in `target`
    records what was copied. reset: the name of a file to start again; the learner's version is kept
    beside it.
    """
    fresh = not target.exists() or not any(target.iterdir())
    target.mkdir(parents=True, exist_ok=True)
    offered, trouble = _read_record(target)
    yield from trouble
    for path in course_files(source):
        name = path.relative_to(source).as_posix()
        content, mine = _for_learners(path), target / name
        if obstacle := _obstacle(target, mine):
            yield f"left alone: {mine}, because {obstacle}"
            continue
        if name == reset and mine.exists() and _digest(mine.read_bytes()) != _digest(content):
            aside = _free_name(mine, "mine")
            mine.rename(aside)
            yield f"started again: {mine}; what you wrote in it is in {aside.name}"
        new = _digest(content)
        current = _digest(mine.read_bytes()) if mine.exists() else None
        if current is None or (current == offered.get(name) and current != new):
            mine.parent.mkdir(parents=True, exist_ok=True)
            _write(mine, content)
            if not fresh and name != reset:
                yield f"{'added' if current is None else 'updated'}: {mine}"
        elif current != new and offered.get(name) != new:
            beside = _free_name(mine, "new", content)
            _write(beside, content)
            yield f"kept: {mine}, which you changed; its new version is {beside.name}"
        offered[name] = new
    _write_record(target, offered)
    yield f"The course is in {target.resolve()}"


def _read_record(target: Path) -> tuple[dict[str, str], list[str]]:
    """Return what was copied before, and sentences about problems with the record."""
    record = target / RECORD
    if obstacle := _obstacle(target, record):
        note = "Remove it, or name another folder: autolab remembers in this file which lessons you changed."
        raise fail(OSError, f"{record} cannot be used, because {obstacle}", note)
    try:
        offered = json.loads(record.read_bytes()) if record.exists() else {}
        if all(isinstance(digest, str) for digest in offered.values()):
            return offered, []
    except (ValueError, AttributeError, RecursionError):
        pass
    said = f"{record} was damaged and is written again; a lesson of yours that differs is kept, with the course's beside it"
    return {}, [said]


def _write_record(target: Path, offered: dict[str, str]) -> None:
    text = json.dumps(offered, indent=1, sort_keys=True) + "\n"
    _write(target / RECORD, text.encode())


def _obstacle(target: Path, path: Path) -> str:
    """Return why a path in the learner's folder cannot be written. The kit writes to regular files
    only, and never through links."""
    for part in [*reversed(path.relative_to(target).parents[:-1]), path.relative_to(target)]:
        place = target / part
        if place.is_symlink():
            return f"{part.as_posix()} is a link"
        if place.exists() and not (place.is_file() if place == path else place.is_dir()):
            return f"{part.as_posix()} is not a {'file' if place == path else 'folder'}"
    return ""


def _write(path: Path, content: bytes) -> None:
    """Write a file, but never through a link."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o666), "wb") as file:
        file.write(content)


def course_files(source: Path) -> list[Path]:
    """Return the notebooks and the files that they need, without their sources and without what
    Jupyter and Python leave behind."""
    left_out = {".ipynb_checkpoints", "__pycache__", "src", "plans"}
    copies = [record.parent for record in source.rglob(f"*/{RECORD}")]  # folders of learners
    files = (
        path
        for path in source.rglob("*")
        if path.is_file() and (path.suffix in OWN or not path.match("my_*"))
    )
    return sorted(
        path
        for path in files
        if not left_out.intersection(path.relative_to(source).parts)
        and not any(path.is_relative_to(copy) for copy in copies)
    )


def lessons(folder: Path) -> dict[str, str]:
    """Return the notebook of each lesson in a folder: `{"01": "01_graphs.ipynb"}`, and by name those registered."""
    numbered = {
        path.name[:2]: path.name
        for path in sorted(folder.glob("[0-9][0-9]_*.ipynb"))
        if "." not in path.stem and path.is_file()
    }
    own = {name: f"{one.file.stem}.ipynb" for name, one in LESSONS.items() if one.file}
    registered = {name: notebook for name, notebook in own.items() if (folder / notebook).is_file()}
    taken = set(registered.values())
    return {n: name for n, name in numbered.items() if name not in taken} | registered


def further(folder: Path) -> dict[str, str]:
    """Return the notebooks in `more/` by name: `{"01_vectors": "more/01_vectors.ipynb"}`."""
    paths = sorted((folder / "more").glob("[0-9][0-9]_*.ipynb"))
    return {p.stem: f"more/{p.name}" for p in paths if "." not in p.stem and p.is_file()}


def notebooks(folder: Path, number: str) -> list[str]:
    """Return the notebooks of a lesson: its core, then those of `more/`. Raises KeyError if it has none."""
    more = [path for name, path in further(folder).items() if name.startswith(f"{number}_")]
    return [lessons(folder)[number], *more]


def start_page(folder: Path, lab: str = "") -> str:
    """Write the start page, which lists the lessons and what is solved; return the name of the file to open: the
    notebook in which the learner last worked, or the start page before any work.

    lab: the command that opens this folder, such as "lab my-course". With it, the page tells how to start a lesson
    again.
    """
    numbers, last_asked = lessons(folder), _last_asked()
    worked = _asked_in(folder, numbers, last_asked)
    name = worked or next(iter(numbers.values()), "")
    place = _place(folder / name, name, last_asked) if name else ""
    begin = (
        translate("Continue with {place}", place=place)
        if worked
        else translate("Begin with {place}", place=place)
    )
    lines = [f"# {translate('Start')}", "", *([f"**{begin}**", ""] if name else [])]
    if name and not worked:
        lines += [
            translate(
                "You predict before you run. A wrong guess costs nothing, and you remember best what surprised you."
            ),
            "",
        ]
    for number in numbers:
        lines += _entry(folder, number)
    lines += [*_news(folder, numbers), *_others(folder, numbers)]
    if any(map(registry.is_the_kits, numbers)):
        lines += [_about_the_inventory(), ""]
    there = (folder / "glossary.md").is_file()
    words = [translate("The [glossary](glossary.md) explains the terms.")] if there else []
    kept = translate(
        "Your answers are kept where Python runs: on your computer, or on your class's server."
    )
    shown = translate("`autolab.progress()` shows them.")
    again = (
        translate(
            "To start a lesson again, type `{command}`; what you wrote is kept in a file beside it.",
            command=command(f"{lab} --reset {next(iter(numbers))}"),
        )
        if lab and numbers
        else ""
    )
    lines += [" ".join([*words, kept, shown, again]).rstrip(), ""]
    page = _write_start(folder, "\n".join(lines).encode())
    return worked or page or next(iter(numbers.values()), START)


def _entry(folder: Path, number: str) -> list[str]:
    """Return the lines of the start page about one lesson: its title, picture, question, time and progress."""
    core, *more = notebooks(folder, number)
    picture = f"pictures/{Path(core).stem}.png"
    shown = (
        [f"[![{_title(folder / core)}]({picture})]({core})", ""]
        if (folder / picture).is_file()
        else []
    )
    last = max((e.time[:10] for e in events() if _of(e, number)), default=translate("none yet"))
    solved, exercises, predicted, questions = overview(number, _ids_in(folder / core) or None)
    counts = [
        translate("Exercises solved: {solved} of {exercises}.", solved=solved, exercises=exercises),
        translate("Predictions made: {made} of {questions}.", made=predicted, questions=questions),
        translate("Last visit: {day}.", day=last),
    ]
    links = ", ".join(f"[{_title(folder / path)}]({path})" for path in more)
    return [
        f"## [{_title(folder / core)}]({core})",
        "",
        *shown,
        " ".join([*_promise(folder / core), *counts]),
        "",
        *([translate("To go further: {links}.", links=links), ""] if links else []),
    ]


def _about_the_inventory() -> str:
    return translate(
        "Twenty questions before the first lesson and after the last one show you what you learned. In a terminal, type "
        "`{before}` and later `{after}`; in a notebook, run "
        '`autolab.inventory("before")` and later `autolab.inventory("after")`.',
        before=command("inventory before"),
        after=command("inventory after"),
    )


def _write_start(folder: Path, content: bytes) -> str:
    """Write the start page, unless the learner has a file of that name. Return the name of the
    written file, or "" if both names are taken."""
    offered, _ = _read_record(folder)
    for name in (START, SECOND):
        page = folder / name
        if _obstacle(folder, page):
            continue
        if not page.exists() or _digest(page.read_bytes()) == offered.get(f"page {name}"):
            _write(page, content)
            _write_record(folder, offered | {f"page {name}": _digest(content)})
            return name
    return ""


def _others(folder: Path, numbers: dict[str, str]) -> list[str]:
    """Return the lines about notebooks that are not named like lessons."""
    names = (path.name for path in sorted(folder.glob("*.ipynb")) if path.is_file())
    links = [
        f"[{name}]({quote(name)})"
        for name in names
        if name not in numbers.values() and "." not in name[:-6]
    ]
    return (
        [translate("Other notebooks here: {links}.", links=", ".join(links)), ""] if links else []
    )


def _news(folder: Path, numbers: dict[str, str]) -> list[str]:
    """Return the lines about new versions that lie beside lessons which the learner changed."""
    links = []
    for mine in (folder / name for name in [*numbers.values(), *further(folder).values()]):
        beside, now = (
            sorted(mine.parent.glob(f"{mine.stem}.new*.ipynb")),
            _digest(mine.read_bytes()),
        )
        links += [
            f"[{path.name}]({path.relative_to(folder).as_posix()})"
            for path in beside
            if path.is_file() and _digest(path.read_bytes()) != now
        ]
    listed = ", ".join(links)
    said = translate(
        "New versions of lessons that you changed; your own stay as they are: {links}.",
        links=listed,
    )
    return [said, ""] if links else []


def _last_asked() -> str:
    """Return the id of the latest answer in a lesson, such as "01.q3", or "" before any answer."""
    return next((e.id for e in reversed(events()) if _of_a_lesson(e.id)), "")


def _of_a_lesson(id: str) -> bool:
    return id[:2].isdigit() or id.split(".")[0] in LESSONS


def _asked_in(folder: Path, numbers: dict[str, str], id: str) -> str:
    """Return the notebook that asks a question or exercise; the lesson's core if none does, "" for no lesson."""
    number = id.split(".")[0]
    if number not in numbers:
        return ""
    there = notebooks(folder, number)
    return next((path for path in there if id in _ids_in(folder / path)), there[0])


def _cells(path: Path) -> list[str]:
    """Return the sources of a notebook's cells; none for a file that is not a notebook."""
    found = _notebook(path.read_bytes()) or {"cells": []}
    return ["".join(cell["source"]) for cell in found["cells"]]


def _ids_in(path: Path) -> set[str]:
    """Return the names of the questions and exercises in a notebook, such as {"01.q3", "01.2"}."""
    return set(re.findall(r'"(\w+\.\w+)"', "\n".join(_cells(path))))


def _promise(path: Path) -> list[str]:
    """Return the question in bold with which a lesson begins, and the time that it takes, if it says them."""
    text = " ".join(next(iter(_cells(path)), "").split())
    question, time = re.search(r"\*\*(.+?)\*\*", text), re.search(r"about (\d+ minutes)", text)
    takes = [translate("It takes about {time}.", time=time[1])] if time else []
    return [*([question[1]] if question else []), *takes]


def _place(path: Path, link: str, id: str) -> str:
    """Return a link to a notebook, and one to its section that asks `id`, if there is one."""
    lesson, section = f"[{_title(path)}]({link})", ""
    for source in _cells(path):
        section = source.splitlines()[0][3:] if source.startswith("## ") else section
        if section and f'"{id}"' in source:
            return f"{lesson}, {translate('in')} [{section}]({link}#{section.replace(' ', '-')})"
    return lesson


def _of(event: Event, number: str) -> bool:
    return event.id.split(".")[0] == number


def _title(path: Path) -> str:
    """Return the first heading of a notebook, or its file name if it has none."""
    try:
        first = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
    except (OSError, ValueError, LookupError, TypeError):
        return path.stem
    return first.splitlines()[0].lstrip("# ") if first.startswith("# ") else path.stem


def _for_learners(path: Path) -> bytes:
    """Return a file of the course as learners get it: notebooks without outputs, because outputs
    contain the answers."""
    content = path.read_bytes()
    notebook = _notebook(content) if path.suffix == ".ipynb" else None
    if notebook is None:
        return content
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    return (json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()


def _notebook(content: bytes) -> Any:
    """Return the parsed notebook, or None if the content is not a notebook."""
    try:
        notebook = json.loads(content)
        return (
            notebook
            if all({"cell_type", "source"} <= cell.keys() for cell in notebook["cells"])
            else None
        )
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def _digest(content: bytes) -> str:
    """Return the digest of a notebook's cell sources, or of a whole file of another kind."""
    if (notebook := _notebook(content)) is not None:
        cells = [
            (cell["cell_type"], "".join(cell["source"]).rstrip()) for cell in notebook["cells"]
        ]
        content = json.dumps([cell for cell in cells if cell[1]]).encode()
    return hashlib.sha256(content).hexdigest()


def _free_name(path: Path, word: str, content: bytes | None = None) -> Path:
    """Return a free name such as `01.new.ipynb`, with a number if that name is taken by other
    content."""
    number = 1
    while True:
        beside = path.with_suffix(f".{word}{number if number > 1 else ''}{path.suffix}")
        if not os.path.lexists(beside) or (
            content is not None
            and not beside.is_symlink()
            and beside.is_file()
            and beside.read_bytes() == content
        ):
            return beside
        number += 1
