"""Each lesson from its first cell to its last in JupyterLab, in the copy that a learner gets, by learners who answer
right, wrong and not at all. Minutes each: `make test` has the shortest that does all three, `make test-walks` has all.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Iterator

import pytest
from lab import PATIENCE, ROOT, Notebook, Server
from playwright.sync_api import Browser, expect
from walker import MENDED, NOTHING, RIGHT, SOON, WRONG, Key, Walk, flat

from autolab import progress
from autolab.lessons import folder

sys.path.insert(0, str(ROOT / "tools"))
import build_notebook  # noqa: E402

LEARNERS = {
    "right": (RIGHT,),
    "wrong first": (MENDED,),
    "by turns": (RIGHT, WRONG, NOTHING),
    "not at all": (NOTHING,),
}
SHORT = ("04_engine", "by turns")
"""The walk that `make test` has."""
WALKS = [
    pytest.param(name, learner, marks=() if (name, learner) == SHORT else pytest.mark.walks)
    for name, learner in itertools.product(build_notebook.sources(), LEARNERS)
]
# Trainings as short as in a browser, and answers kept in a file; wrong answers are those of the lessons' tests.
BEFORE = """import os, sys
sys.path.append({tests!r})
os.environ["AUTOLAB_PROGRESS"] = {kept!r}
import autolab.lessons.notebook
autolab.lessons.notebook.threads_start = lambda: False"""
TEXT = """(() => {
  const inner = (root) => [...root.querySelectorAll("*")].flatMap(({ shadowRoot }) => shadowRoot ?? []);
  const of = (root) => [root.textContent, ...inner(root).map(of)].join(" ");
  return of(document.body);
})()"""


def folder_of(name: str, learner: str) -> str:
    """Return the name of a learner's folder."""
    return f"{learner} {name.replace('/', ' ')}"


@pytest.fixture
def opened(server: Server, browser: Browser) -> Iterator[Callable[[str, str], Walk]]:
    """A lesson open in JupyterLab, in a learner's folder of its own; shut down afterwards."""
    context, notebooks = browser.new_context(viewport={"width": 1366, "height": 768}), []
    expect.set_options(timeout=SOON)

    def open(name: str, learner: str) -> Walk:
        mine = server.folder / folder_of(name, learner)
        list(folder.copy_course(folder.course_source(), mine))
        notebooks.append(notebook := Notebook(server, context, f"{mine.name}/{Key(name).name}"))
        notebook.execute(
            BEFORE.format(tests=str(ROOT / "tests"), kept=str(mine / "progress.jsonl"))
        )
        turns = itertools.cycle(LEARNERS[learner])
        return Walk(notebook, name, lambda: next(turns))

    yield open
    for notebook in notebooks:
        notebook.shut_down()
    context.close()
    expect.set_options(timeout=PATIENCE)


@pytest.mark.parametrize(("name", "learner"), WALKS)
def test_a_lesson_is_walked(
    opened: Callable[[str, str], Walk],
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    learner: str,
) -> None:
    walk = opened(name, learner)
    model = walk.notebook._panel("return panel.content.model.toJSON();")
    assert (
        not any(cell.get("outputs") for cell in model["cells"])
        and "widgets" not in model["metadata"]
    )
    sources = ["".join(cell["source"]) for cell in model["cells"]]
    everything = flat(
        " ".join([walk.notebook.page.evaluate(TEXT), *sources, json.dumps(model["metadata"])])
    )
    assert not [secret for secret in walk.key.secrets() if secret in everything]
    if learner == "not at all":
        walk.all_at_once()
    else:
        walk.through()
    walk.left_open()
    walk.counted()
    monkeypatch.setenv(
        "AUTOLAB_PROGRESS", str(server.folder / folder_of(name, learner) / "progress.jsonl")
    )
    answered = {
        id for id, manner in walk.did.items() if manner != NOTHING and not id.startswith("catch")
    }
    assert {event.id for event in progress.events() if event.kind != "practice"} == answered
