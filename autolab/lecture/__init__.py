"""Turn notebooks into lecture slides: one file that needs neither a kernel nor a network. The
command is `autolab-kit lecture`.

    write("01_graphs.ipynb", "deck.html")     # runs the notebook, then writes its slides

`slides.py` decides what becomes a slide, `kernel.py` stores the widgets, and `notes.py` reads the
speaker notes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from html import escape
from pathlib import Path

from .running import Tell

__all__ = ["write", "write_all"]


def write(
    notebook: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    notes: str | os.PathLike[str] | None = None,
    run: bool = True,
    tell: Tell | None = None,
    room: str = "",
    code: str = "",
    core: bool = False,
) -> Path:
    """Write the slides of a notebook to one HTML file and return its path.

    notebook: an .ipynb file, run from top to bottom in its own folder; nothing in it is changed.
    notes: a plan in Markdown for the speaker; by default `plans/<name of the notebook>.md` beside it, where there is
    one. run: False takes the outputs that are stored in the notebook, in which widgets are pictures. tell: called
    before each cell that runs, with the notebook's name, the cell's number and how many there are. room: the address of
    a room such as "http://192.168.1.5:8765", where phones answer the predictions that have a name: each has a QR code
    beside it. code: of that room; without it phones ask for it. core: leave out exercises and
    everything else that learners do alone.

    Raises FileNotFoundError where a file is missing, ValueError where `notebook`, `room` or `code` is none, and
    RuntimeError, naming the cell, where one fails that is not tagged "raises-exception", or where segno, which makes QR
    codes, is not installed.
    """
    return _write(
        Path(notebook),
        Path(path),
        None if notes is None else Path(notes),
        run,
        tell,
        room,
        code,
        core,
    )[0]


def write_all(
    notebooks: Iterable[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    *,
    run: bool = True,
    tell: Tell | None = None,
    room: str = "",
    code: str = "",
    core: bool = False,
) -> Path:
    """Write the slides of several notebooks into `folder`, and a page `index.html` that names them; returns its path.
    run, tell, room, code, core: as of `write`."""
    from . import deck

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for notebook in map(Path, notebooks):
        name = f"{notebook.stem}.html"
        title, sections = _write(notebook, folder / name, None, run, tell, room, code, core)[1:]
        items = "".join(
            f'<li><a href="{escape(name)}#/{escape(id)}">{escape(words)}</a></li>'
            for id, words in sections
        )
        rows.append(
            f'<section><h2><a href="{escape(name)}">{escape(title)}</a></h2><ol>{items}</ol></section>'
        )
    index = folder / "index.html"
    index.write_text(deck.index("Lectures", rows), encoding="utf-8")
    return index


def _write(
    notebook: Path,
    path: Path,
    plan: Path | None,
    run: bool,
    tell: Tell | None,
    room: str,
    code: str,
    core: bool,
) -> tuple[Path, str, list[tuple[str, str]]]:
    from . import deck, markdown, notes, running, slides

    if room:
        from ..room import phone

        phone.figure(
            phone.address(room, code)
        )  # what is wrong with it is said before the notebook runs
    cells = running.cells(notebook, run, tell)
    if core:
        cells = [cell for cell in cells if not slides.is_for_learners_alone(cell)]
    beside = notebook.parent / "plans" / f"{notebook.stem}.md"
    if plan is None and markdown.within(notebook.parent, beside):
        plan = beside
    plan_notes = notes.Plan(plan.read_text(encoding="utf-8")) if plan else None
    made = slides.Slides(cells, notebook, plan_notes)
    path.write_text(deck.page(made, room, code), encoding="utf-8")
    return path, made.title, [(column[0].id, column[0].heading) for column in made.columns[1:]]
