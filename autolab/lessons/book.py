"""The learner's side: check an answer, ask for a hint, see how far one has come, make a prediction."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from ..widgets.message import Message
from .compare import same, show
from .exercise import Exercise, Outcome, Verdict, judge

NUMBER_WORDS = ("no", "one", "two", "three")


class Record:
    """What this session has seen: status of each exercise tried, hints shown, predictions made. Kept until restart."""

    def __init__(self) -> None:
        self.status: dict[str, str] = {}
        self.hints: dict[str, int] = {}
        self.predictions: dict[str, Any] = {}


record = Record()


@cache
def lesson(number: str) -> Any:
    """The module of one lesson, with its `EXERCISES` and `QUESTIONS`."""
    try:
        return importlib.import_module(f".lesson{number}", __package__)
    except ModuleNotFoundError:
        raise KeyError(f'there is no lesson "{number}"') from None


def _find(table: str, id: str) -> Any:
    items = getattr(lesson(id.split(".")[0]), table)
    if id not in items:
        raise KeyError(f'there is no "{id}"; there are {", ".join(items)}')
    return items[id]


def exercise(id: str) -> Exercise:
    """The exercise of this name, such as "01.3". Raises KeyError, naming those there are."""
    return _find("EXERCISES", id)


def check(id: str, answer: Any = None) -> Message:
    """Try an answer and say what was tried, what differs and why.

    id: the exercise, such as "01.3". answer: what the exercise asks for; `...` or None counts as not answered yet.
    Nothing the answer does can raise here, so a notebook runs to its end whatever is written.
    """
    verdict = judge(exercise(id), answer, first=id not in record.status)
    if record.status.get(id) != "agrees":
        record.status[id] = verdict.status
    return _message(verdict)


def hint(id: str) -> Message:
    """The next hint for an exercise: one more at each call, at most three."""
    hints = exercise(id).hints
    seen = record.hints[id] = min(record.hints.get(id, 0) + 1, len(hints))
    rest = len(hints) - seen
    rows = tuple((f"hint {i}", text) for i, text in enumerate(hints[:seen], 1))
    more = f'Call hint("{id}") again for the next one; {NUMBER_WORDS[rest]} left.'
    after = more if rest else "That was the last hint."
    return Message(f"Exercise {id}: {seen} of {len(hints)} hints", rows, (after,))


def progress(number: str = "01") -> Message:
    """Which exercises of a lesson are solved, tried or open, and how the predictions went."""
    module = lesson(number)
    words = {"agrees": "solved", "differs": "tried", "open": "open"}
    rows = tuple((words[record.status.get(id, "open")], f"{id}  {e.title}") for id, e in module.EXERCISES.items())
    answers = [p for id, p in record.predictions.items() if id in module.QUESTIONS and p.made]
    right = sum(p.came_true is True for p in answers)
    counted = f"Predictions: {len(answers)} of {len(module.QUESTIONS)} made, {right} of them came true."
    return Message(f"Lesson {number}: {_solved(number)}", rows, (counted,))


def predict(id: str) -> Any:
    """The prediction widget for a question of the lesson: show it, answer, and call its `reveal` afterwards."""
    from ..widgets.predict import Prediction
    question = _find("QUESTIONS", id)
    record.predictions[id] = Prediction(question.ask, choices=question.choices, kind=question.kind,
                                        because=question.because)
    return record.predictions[id]


def _solved(number: str) -> str:
    exercises = lesson(number).EXERCISES
    return f"{sum(record.status.get(id) == 'agrees' for id in exercises)} of {len(exercises)} exercises solved"


def _message(verdict: Verdict) -> Message:
    e = verdict.exercise
    head = f"Exercise {e.id} ({e.title}): "
    stuck = f'Stuck? hint("{e.id}") gives the first of {NUMBER_WORDS[len(e.hints)]} hints.'
    rows = tuple((o.state, _row(e, o)) for o in verdict.outcomes)
    if verdict.given:
        return Message(head + "not answered yet, it still does what the given code does", rows, (stuck,))
    if verdict.status == "open":
        done = sum(o.state == "agrees" for o in verdict.outcomes)
        part = f", {done} of {len(rows)} filled in" if done else ""
        return Message(head + f"not answered yet{part}", rows,
                       ("Put your answer in place of the ... and run the cell again.", stuck))
    if verdict.status == "differs":
        plural = "s" * (verdict.waiting != 1)
        waiting = f"Not tried: {verdict.waiting} further input{plural}, waiting until these agree."
        said = (f"Why: {verdict.why}", *([waiting] if verdict.waiting else []), stuck)
        return Message(head + "not yet", rows, said, "differs")
    tried = (f"Tried: {sum(c.public for c in e.cases)} public and {sum(not c.public for c in e.cases)} further inputs, "
             f"all agree. Not tried: {e.leaves_out}.")
    return Message(head + "solved", rows, (tried, _solved(e.id.split(".")[0]).capitalize() + "."), "agrees")


def _row(e: Exercise, outcome: Outcome) -> str:
    kind = "" if outcome.case.public else "further: "
    if outcome.state == "open":
        return f"{kind}{outcome.case.text}"
    got, want = outcome.got if isinstance(outcome.got, dict) else {"": outcome.got}, outcome.want
    if outcome.state == "differs" and isinstance(want, dict) and got.keys() == want.keys():
        # What is right already need not be read again.
        want = {label: value for label, value in want.items() if not same(got[label], value)}
        got = {label: got[label] for label in want}
    text = ", ".join(f"{label + ' ' if label not in ('', 'result') else ''}{show(v)}" for label, v in got.items())
    if outcome.state == "differs" and e.tell and isinstance(outcome.got, dict):
        expected = ", ".join(f"{label + ' ' if label != 'result' else ''}{show(v)}" for label, v in want.items())
        text += f" (wanted: {expected})"
    return f"{kind}{outcome.case.text}  gives  {text}"
