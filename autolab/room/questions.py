"""What the room knows about a question before anybody answers: the choices and the right answer.

The course's questions are in the kit, the instructor's in the notebooks of `--questions`. A right
answer comes from the kit or from a stored output of the notebook, never from a student's machine.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass, replace
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

from ..language import translate
from ..lessons import book, registry
from ..lessons.folder import course_source, lessons, notebooks
from ..trace.captions.sentences import STATE_WORDS
from ..widgets.predict import agree, numbers

# stands for answers that are neither a choice nor a number; the class does not see their text
OTHER = "another answer"
SHOWN = "no answer: it was shown"
STATES = {
    *STATE_WORDS,
    *(word for words in STATE_WORDS.values() for word in words),
    "returned by grad()",
}
NUMBERS = ("number", "value", "grad", "shape")  # kinds of questions that are answered with numbers


@dataclass(frozen=True)
class Asked:
    """A question. ask: its text, "" if only its id is known. choices: the answers offered, () if
    the answer is typed. key: the right answer, "" if the room does not know it. kind: a kind of
    number, or anything else."""

    id: str
    ask: str = ""
    choices: tuple[str, ...] = ()
    key: str = ""
    kind: str = ""

    def counted(self, given: str) -> str:
        """Return the form in which an answer is counted: 6, 6.0 and " 6" are the same, and invalid
        answers are `OTHER`."""
        text = given.strip()
        if not text or text in self.choices:
            return text or SHOWN
        if self.choices:
            return next((choice for choice in self.choices if agree(text, choice)), OTHER)
        if self.kind == "state":
            return text if text in STATES else OTHER
        number = _number(text)
        computed = re.fullmatch(r"[\d\s.,*/^+()\[\]e-]+", text)  # an explorer accepts 2*3*4
        return OTHER if self.kind in NUMBERS and not (number or computed) else number or text

    def right(self, text: str) -> bool:
        """Return whether a counted answer is right."""
        return bool(self.key) and agree(text, self.key)


def _number(text: str) -> str | None:
    """Return one or several numbers as one text, or None for other text."""
    try:
        found = numbers(text)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return None
    if found is None or found.ndim:
        return None if found is None else text
    number = float(found)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


@cache
def course() -> dict[str, Asked]:
    """Return the course's questions by id: its predictions, and the questions of its explorers."""
    source, found = course_source(), dict[str, Asked]()
    for number in lessons(source):
        told: dict[str, Asked] = {}
        for name in notebooks(source, number):
            told |= declared(source / name)
        found |= told
        for id, one in book.lesson(number).QUESTIONS.items():
            key = one.key if isinstance(one.key, str) else told[id].key if id in told else ""
            found[id] = Asked(id, one.ask, tuple(one.choices), key, one.kind)
    return found


def known(id: str) -> Asked | None:
    """Return the course's prediction with this id, or None."""
    number = id.partition(".")[0]
    try:
        there = re.fullmatch("[0-9]{2}", number) and id in book.lesson(number).QUESTIONS
    except KeyError:
        return None
    return course()[id] if there else None


def declared(path: Path) -> dict[str, Asked]:
    """Return the questions with an id, such as `id="my.1"`, in a notebook, in the notebooks of a
    folder, or in a Python file.

    Raises OSError if a file cannot be read, and ValueError for a file that is not a notebook.
    """
    if path.is_dir():
        return {
            id: asked for one in sorted(path.glob("*.ipynb")) for id, asked in declared(one).items()
        }
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return {one.id: one for one in _questions(text).values()}
    try:
        cells = [
            ("".join(cell["source"]), cell.get("outputs", ()))
            for cell in json.loads(text)["cells"]
            if cell["cell_type"] == "code"
        ]
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path} is not a notebook") from None
    return _registered(path, _answered(cells))


def _registered(path: Path, found: dict[str, Asked]) -> dict[str, Asked]:
    """Return a notebook's questions with the texts and right answers that the lesson file beside it
    registers."""
    if not registry.has_lesson_file(path):
        return found
    own = registry.load(path).QUESTIONS
    for id in own.keys() & found.keys():
        one = own[id]
        key = one.key if isinstance(one.key, str) else found[id].key
        found[id] = Asked(id, one.ask, tuple(one.choices), key, one.kind)
    return found


def _answered(cells: list[tuple[str, Any]]) -> dict[str, Asked]:
    """Return the questions of cells, with the answers that `guess.reveal(x.grad)` showed when the
    notebook ran."""
    found: dict[str, Asked] = {}
    called: dict[str, str] = {}  # the name of a variable -> the id of its question
    for source, outputs in cells:
        for variable, one in _questions(source).items():
            found[one.id] = one
            called[variable] = one.id
        revealed = re.search(r"(\w+)\.reveal\([^\n]*\)\s*$", source)
        id = called.get(revealed[1], "") if revealed else ""
        if id and (key := outcome(outputs)):
            found[id] = replace(found[id], key=key)
    return found


def outcome(outputs: Any) -> str:
    """Return the right answer that a stored verdict shows, or "" without a verdict."""
    for output in outputs:
        html = "".join(output.get("data", {}).get("text/html", ""))
        pattern = re.escape(translate("It is: {outcome}", outcome="@")).replace("@", "(.*?)")
        if told := re.search(rf"<strong>{pattern}</strong>", html, re.S):
            return unescape(re.sub(r"</?code[^>]*>", "`", told[1]))
    return ""


def _questions(source: str) -> dict[str, Asked]:
    """Return the questions in Python code by the variable that holds each one; without a variable
    by a space and the id."""
    lines = source.split("\n")
    try:
        tree = ast.parse("\n".join(line if line[:1] not in ("%", "!") else "" for line in lines))
    except (SyntaxError, ValueError, MemoryError, RecursionError):  # IPython's own syntax
        ids = re.findall(r"""\bid\s*=\s*["']([^"']+)["']""", source)
        return {f" {id}": Asked(id) for id in ids}
    found: dict[str, Asked] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            found |= {
                target.id: one
                for target in node.targets
                if isinstance(target, ast.Name) and (one := _question(node.value))
            }
        elif isinstance(node, ast.Call) and (one := _question(node)):
            found.setdefault(f" {one.id}", one)
    return found


def _question(call: ast.Call) -> Asked | None:
    """Return the question of a call such as `Prediction("…", […], id="my.1")`, `predict("01.q1")`
    or `explorer.ask("w", "grad", id="a")`."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    given: dict[Any, Any] = dict(enumerate(call.args))
    given |= {word.arg: word.value for word in call.keywords if word.arg}
    values = {place: _literal(value) for place, value in given.items()}
    id = values.get("id", values.get(0) if name == "predict" else None)
    if not isinstance(id, str) or not id:
        return None
    if name == "ask":
        return Asked(id, kind=str(values.get("kind", values.get(1, ""))))
    offered = values.get("choices", values.get(1))
    choices = tuple(map(str, offered)) if isinstance(offered, list | tuple) else ()
    return Asked(id, choices=choices, kind=str(values.get("kind", values.get(2, ""))))


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return None
