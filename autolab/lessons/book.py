"""What a learner calls in a lesson: check an answer, ask for a hint, predict, show the progress."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from .. import progress as store
from ..engine.core.errors import fail
from ..progress.store import WATCHERS
from ..widgets.message import Message
from .compare import same, show
from .exercise import Exercise, Outcome, Verdict, judge
from .registry import LESSONS
from .solutions import solutions


@dataclass(frozen=True, repr=False)
class Checked(Message):
    """The result of `check`; it is true only if the exercise is solved. status: "open", "differs"
    or "agrees". why: the sentence that says what is wrong."""

    status: str = "open"
    why: str = ""

    @property
    def solved(self) -> bool:
        """Return whether the answer is right for every input."""
        return self.status == "agrees"

    def __bool__(self) -> bool:
        return self.solved


class Record:
    """What happened in this session: the status of each exercise, the exercise that was checked
    last, the source of unchanged skeletons, the hints shown, the predictions. Answers are also kept
    in `autolab.progress`."""

    def __init__(self) -> None:
        self.status: dict[str, str] = {}
        self.given: dict[str, str] = {}
        self.last = ""
        self.hints: dict[str, int] = {}
        self.predictions: dict[str, Any] = {}


record = Record()
NUMBER_WORDS = ("no", "one", "two", "three")


def _in_words(count: int) -> str:
    return NUMBER_WORDS[count] if count < len(NUMBER_WORDS) else str(count)


def lesson(number: str) -> Any:
    """Return a lesson with its `EXERCISES` and `QUESTIONS`: a module of the kit, or one that was registered."""
    return LESSONS[number] if number in LESSONS else _of_the_kit(number)


@cache
def _of_the_kit(number: str) -> Any:
    try:
        return importlib.import_module(f".lesson{number}", __package__)
    except ModuleNotFoundError:
        note = "If the lesson is your own, import the file that registers it before you ask for it."
        known = ", ".join(
            f'"{path.name[6:]}"' for path in sorted(Path(__file__).parent.glob("lesson0*"))
        )
        raise fail(KeyError, f'no lesson is called "{number}"; the kit has {known}', note) from None


def _find(table: str, id: str) -> Any:
    number = id.split(".")[0]
    items = getattr(lesson(number), table, {})
    if id not in items:
        kinds = {"EXERCISES": "exercise", "QUESTIONS": "question", "WORDS": "question in words"}
        has = f"it has {', '.join(items)}" if items else "it has none"
        raise fail(
            KeyError,
            f'lesson "{number}" has no {kinds[table]} "{id}"; {has}',
            "Check the name for a slip.",
        )
    return items[id]


def exercise(id: str) -> Exercise:
    """Return the exercise of this id, such as "01.3". Raises KeyError with the known ids."""
    return _find("EXERCISES", id)


def check(id: str, answer: Any = None) -> Checked:
    """Try an answer and say what was tried, what differs and why. Expected results are shown only
    after the last hint.

    id: the exercise, such as "01.3". answer: what the exercise asks for; `...` or None means that
    it is not answered yet. The message is true if the exercise is solved; it has `solved`, `status`
    and `why`. No answer can make this function raise, so a notebook always runs to its end.
    """
    all_hints = record.hints.get(id, 0) >= len(exercise(id).hints)
    source = _source(answer)
    # Checking the skeleton twice in a row asks for a verdict; after other checks it is a rerun of the notebook.
    untouched = source != "" and source == record.given.get(id) and record.last != id
    first, record.last = id not in record.status or untouched, id
    verdict = judge(exercise(id), answer, first=first, tell=all_hints)
    if verdict.given:
        record.given[id] = source
    if record.status.get(id) != "agrees":
        record.status[id] = verdict.status
    if verdict.status != "open" and not verdict.given:
        _keep(id, source or show(answer), verdict)
    said = _message(verdict)
    return Checked(
        **{field.name: getattr(said, field.name) for field in fields(said)},
        status=verdict.status,
        why=verdict.why,
    )


def _source(answer: Any) -> str:
    """Return the source of a function, or of the methods of a class; "" if it is not available."""
    parts = (
        [getattr(one, "__func__", one) for one in vars(answer).values()]
        if isinstance(answer, type)
        else [answer]
    )
    try:
        return "\n".join(inspect.getsource(one) for one in parts if inspect.isfunction(one))
    except (OSError, TypeError):
        return ""


def _keep(id: str, given: str, verdict: Verdict) -> None:
    """Record an answer, unless it equals the previous one, because notebooks are rerun many times."""
    before = [event for event in _since_reset("exercise") if event.id == id]
    right, hints = verdict.status == "agrees", record.hints.get(id, 0)
    if not before or (before[-1].given, before[-1].right) != (given, right):
        help = _help(hints, exercise(id))
        store.record(
            "exercise",
            id,
            given=given,
            right=right,
            belief=verdict.why,
            tries=len(before) + 1,
            help=help,
        )


def _help(hints: int, e: Exercise) -> str:
    shown = min(hints, len(e.hints))
    return f"{shown} hint{'s' * (shown != 1)}{', a solution' * (hints > shown)}" if hints else ""


def hint(id: str) -> Message:
    """Return the next hint for an exercise, one more at each call; a call after the last hint shows a solution."""
    e = exercise(id)
    before = record.hints.get(id, 0)
    seen = record.hints[id] = min(before + 1, len(e.hints) + bool(solutions(id)))
    if seen > before:
        store.record("hint", id, help=f"hint {seen}" if seen <= len(e.hints) else "a solution")
    rest = len(e.hints) - seen
    rows = tuple((f"hint {i}", text) for i, text in enumerate(e.hints[:seen], 1))
    if rest > 0:
        return Message(
            f"Exercise {id}: {seen} of {len(e.hints)} hints",
            rows,
            (f'Call hint("{id}") again for the next one; {_in_words(rest)} left.',),
        )
    if rest < 0:
        head = f"Exercise {id}: given up, which is fine; type it yourself, then change it"
        return Message(head, rows, code=_ways(id))
    give_up = (
        f' Call hint("{id}") once more to give up and see a solution.' if solutions(id) else ""
    )
    return Message(
        f"Exercise {id}: {seen} of {len(e.hints)} hints",
        rows,
        (("That was the last hint." if e.hints else "This exercise has no hints.") + give_up,),
    )


def _ways(id: str) -> tuple[tuple[str, str], ...]:
    """Return a solution and another way to write it, each with its heading."""
    heads = lambda way: f"Another way, {way}:" if way else "A solution:"
    return tuple((heads(one.way), one.source) for one in solutions(id)[:2])


def progress(number: str = "01") -> Message:
    """Return which exercises of a lesson are solved, tried or open, and how many predictions came
    true, from this session and from `autolab.progress`."""
    module = lesson(number)
    words = {"agrees": "solved", "differs": "tried", "open": "open"}
    status = _status()
    rows = tuple(
        (words[status.get(id, "open")], f"{id}  {e.title}") for id, e in module.EXERCISES.items()
    )
    answers = _answers(number)
    right = sum(came_true is True for came_true in answers.values())
    counted = (
        f"Predictions: {len(answers)} of {len(module.QUESTIONS)} made, {right} of them came true."
    )
    return Message(f"Lesson {number}: {_solved(number)}", rows, (counted,))


def solved(id: str) -> bool:
    """Return whether `check` has accepted an answer to an exercise in this session. Raises KeyError
    for an unknown id."""
    exercise(id)
    return record.status.get(id) == "agrees"


def overview(number: str, ids: set[str] | None = None) -> tuple[int, int, int, int]:
    """Return how many exercises of a lesson are solved, how many there are, how many predictions were made, and how
    many there are; all 0 if there is no such lesson. ids: count only these."""
    try:
        module = lesson(number)
    except KeyError:
        return 0, 0, 0, 0
    count = lambda known: [id for id in known if ids is None or id in ids]  # noqa: E731
    exercises, questions, status = count(module.EXERCISES), count(module.QUESTIONS), _status()
    solved = sum(status.get(id) == "agrees" for id in exercises)
    return solved, len(exercises), len(count(_answers(number))), len(questions)


def reset(id: str) -> Message:
    """Start an exercise such as "01.3" again, or a whole lesson, "01": it counts as never tried, and its hints come one
    by one again. Your earlier answers stay in `autolab.progress`. Raises KeyError for an id that does not exist."""
    number = id.split(".")[0]
    if id != number and id not in lesson(number).QUESTIONS:
        exercise(id)
    store.record("reset", id)
    for known in (record.status, record.given, record.hints, record.predictions):
        for one in [one for one in known if one == id or id == one.split(".")[0]]:
            del known[one]
    what = (
        "Lesson" if id == number else "Question" if id in lesson(number).QUESTIONS else "Exercise"
    )
    return Message(f"{what} {id} starts again: it counts as not answered yet")


def _since_reset(kind: str) -> list[store.Event]:
    """Return the events of a kind that still count: the events after the last `reset` of the same
    exercise or lesson."""
    count: dict[str, list[store.Event]] = {}
    for event in store.events():
        if event.kind == kind:
            count.setdefault(event.id, []).append(event)
        elif event.kind == "reset":
            for id in [id for id in count if event.id in (id, id.split(".")[0])]:
                del count[id]
    return [event for events in count.values() for event in events]


def _answers(number: str) -> dict[str, bool | None]:
    """Return, for each prediction of a lesson, whether its latest answer came true."""
    answers = {event.id: event.right for event in _since_reset("prediction")}
    made = {id: p.came_true for id, p in record.predictions.items() if p.made}
    answers |= {id: right for id, right in made.items() if right is not None or id not in answers}
    return {id: right for id, right in answers.items() if id in lesson(number).QUESTIONS}


def predict(id: str) -> Any:
    """Return the prediction widget for a question of the lesson. Show it, answer it, and later call
    its `reveal`. It begins with your earlier answer, if there is one, which you can change until
    `reveal` compares it."""
    from ..widgets.predict import Prediction

    question = _find("QUESTIONS", id)
    record.predictions[id] = Prediction(
        question.ask,
        question.shuffled(id, store.learner()),
        question.kind,
        question.because,
        id,
        question.key,
    )
    return _recalled(record.predictions[id], "prediction", id)


def _recalled(prediction: Any, kind: str, id: str) -> Any:
    """Return a prediction with the latest recorded answer. In a room it begins without an answer,
    because the class answers together."""
    for event in [event for event in _since_reset(kind) if event.id == id and not WATCHERS][-1:]:
        prediction.recall(event.given, event.confidence, event.because)
    return prediction


def in_words(id: str) -> Any:
    """Ask for an explanation in the learner's own words, then show the lesson's explanation beside
    it. An earlier answer is shown again. Raises KeyError for an unknown id."""
    from ..widgets.predict import Prediction

    asked = _find("WORDS", id)
    return _recalled(Prediction(asked.ask, kind="words", id=id, key=asked.ours), "ask", id)


def _solved(number: str) -> str:
    exercises, status = lesson(number).EXERCISES, _status()
    return f"{sum(status.get(id) == 'agrees' for id in exercises)} of {len(exercises)} exercises solved"


def _status() -> dict[str, str]:
    """Return the status of each exercise that was tried, now or in an earlier session. A solved
    exercise stays solved."""
    kept = _since_reset("exercise")
    status = {event.id: "differs" for event in kept} | record.status
    return status | {event.id: "agrees" for event in kept if event.right}


def _message(verdict: Verdict) -> Message:
    e = verdict.exercise
    head = f"Exercise {e.id} ({e.title}): "
    stuck = _help_with(e)
    rows = tuple((o.state, _row(o, verdict.tell)) for o in verdict.outcomes)
    if verdict.given:
        return Message(
            head + "not answered yet, it still does what the given code does", rows, stuck
        )
    if verdict.status == "open":
        done = sum(o.state == "agrees" for o in verdict.outcomes)
        part = f", {done} of {len(rows)} filled in" if done else ""
        return Message(
            head + f"not answered yet{part}",
            rows,
            ("Put your answer in place of the ... and run the cell again.", *stuck),
        )
    if verdict.status == "differs":
        plural = "s" * (verdict.waiting != 1)
        waiting = f"Not tried: {verdict.waiting} further input{plural}, waiting until these agree."
        said = (f"Why: {verdict.why}", *([waiting] if verdict.waiting else []), *stuck)
        return Message(head + "not yet", rows, said, "differs")
    tried = (
        f"Tried: {sum(c.public for c in e.cases)} public and {sum(not c.public for c in e.cases)} further inputs, "
        f"all agree.{f' Not tried: {e.leaves_out}.' if e.leaves_out else ''}"
    )
    count = _solved(e.id.split(".")[0]).capitalize() + "."
    return Message(head + "solved", rows, (tried, count), "agrees", _ways(e.id))


def _help_with(e: Exercise) -> tuple[str, ...]:
    """Return what another call of `hint` shows, as a sentence; () if it shows nothing new."""
    seen, hints = record.hints.get(e.id, 0), len(e.hints)
    if seen < hints:
        first = "the only hint" if hints == 1 else f"the first of {_in_words(hints)} hints"
        gives = "the next hint" if seen else first
    elif solutions(e.id):
        gives = "a solution"
    else:
        return ()
    return (f'Stuck? hint("{e.id}") gives {gives}.',)


def _row(outcome: Outcome, tell: bool) -> str:
    kind = "" if outcome.case.public else "further: "
    if outcome.state == "open":
        return f"{kind}{outcome.case.text}"
    got, want = outcome.got if isinstance(outcome.got, dict) else {"": outcome.got}, outcome.want
    if outcome.state == "differs" and isinstance(want, dict) and got.keys() == want.keys():
        # labels whose results agree are left out
        want = {label: value for label, value in want.items() if not same(got[label], value)}
        got = {label: got[label] for label in want}
    text = ", ".join(
        f"{label + ' ' if label not in ('', 'result') else ''}{show(v)}" for label, v in got.items()
    )
    if outcome.state == "differs" and tell and isinstance(outcome.got, dict):
        expected = ", ".join(
            f"{label + ' ' if label != 'result' else ''}{show(v)}" for label, v in want.items()
        )
        text += f" (wanted: {expected})"
    return f"{kind}{outcome.case.text}  gives  {text}"
