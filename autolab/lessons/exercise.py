"""An exercise as data, and the judge that tries an answer on its inputs and says what it found."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .compare import difference, same, show


class Unanswered(Exception):
    """The learner's function still returns the `...` of its skeleton."""


@dataclass(frozen=True)
class Case:
    """One input. `make` gives fresh arguments at each call, so that no try can spoil the next.

    A public case is named in the notebook; the others are tried only when the public ones agree.
    `why` is said when this case differs and no known mistake explains it.
    """

    text: str
    make: Callable[[], tuple]
    public: bool = True
    why: str = ""


@dataclass(frozen=True)
class Mistake:
    """A typical wrong answer, and the sentence that tells why it is wrong.

    It is recognised by what it *does*: an answer that gives the same results on every input tried made this mistake.
    `why` may be a function of the arguments of the first input that differs.
    """

    answer: Any
    why: str | Callable[..., str]


def call(answer: Any, *args: Any) -> dict[str, Any]:
    """The usual observation: what the learner's function returns."""
    return {"result": answer(*args)}


@dataclass(frozen=True)
class Exercise:
    """`observe(answer, *args)` runs an answer on one input and returns everything that is compared, by label.

    `reference` is a right answer, `given` the broken code the learner starts from (if any), `leaves_out` names what the
    cases do not try. `tell=False` keeps the wanted results out of the messages (for answers that are a plain value).
    """

    id: str
    title: str
    reference: Any
    cases: tuple[Case, ...]
    hints: tuple[str, ...]
    leaves_out: str
    mistakes: tuple[Mistake, ...] = ()
    observe: Callable[..., dict[str, Any]] = call
    given: Any = None
    tell: bool = True


@dataclass(frozen=True)
class Outcome:
    """What one try gave: `state` is "agrees", "differs" or "open" (nothing was answered)."""

    case: Case
    state: str
    got: Any
    want: Any


@dataclass(frozen=True)
class Verdict:
    """The judgement of an answer: `status` is "open", "differs" or "agrees"."""

    exercise: Exercise
    status: str
    outcomes: tuple[Outcome, ...] = ()
    why: str = ""
    given: bool = False
    tell: bool = True

    @property
    def waiting(self) -> int:
        """How many inputs were not tried."""
        return len(self.exercise.cases) - len(self.outcomes)


def judge(exercise: Exercise, answer: Any, first: bool = False, tell: bool = True) -> Verdict:
    """Try the public inputs, then (when those agree) the further ones. Never raises for what the learner wrote.

    On the `first` try, an answer that does what the given code does counts as not answered yet: running a whole
    notebook must not tell what is wrong with code that the learner has not looked at. tell: whether wanted results may be said.
    """
    if answer is None or answer is Ellipsis:
        return Verdict(exercise, "open")
    if callable(exercise.reference) and not callable(answer):
        why = (f"A function is wanted, this is {show(answer)}. Pass the function itself, without calling it: "
               f'check("{exercise.id}", {getattr(exercise.reference, "__name__", "f")}).')
        return Verdict(exercise, "differs", (), why)
    outcomes: list[Outcome] = []
    for public in (True, False):
        outcomes += (_try(exercise, answer, case) for case in exercise.cases if case.public is public)
        states = {o.state for o in outcomes}
        if states == {"open"}:
            return Verdict(exercise, "open")
        if states != {"agrees"}:
            break
    else:
        return Verdict(exercise, "agrees", tuple(outcomes))
    if "differs" not in states:
        return Verdict(exercise, "open", tuple(outcomes))
    if first and exercise.given is not None and _does_the_same(exercise, exercise.given, outcomes):
        return Verdict(exercise, "open", tuple(outcomes), given=True)
    tell = tell and exercise.tell
    return Verdict(exercise, "differs", tuple(outcomes), _explain(exercise, outcomes, tell), tell=tell)


def _try(exercise: Exercise, answer: Any, case: Case) -> Outcome:
    want = observation(exercise, exercise.reference, case)
    if not isinstance(want, dict):
        raise RuntimeError(f"the checker of {exercise.id} cannot run its own solution on {case.text}") from want
    got = observation(exercise, answer, case)
    if got is Ellipsis:
        return Outcome(case, "open", got, want)
    return Outcome(case, "agrees" if same(got, want) else "differs", got, want)


def observation(exercise: Exercise, answer: Any, case: Case) -> Any:
    """What `answer` does on `case`: labelled results, the exception it raised, or `...` when nothing is answered."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = exercise.observe(_guarded(answer), *case.make())
    except Unanswered:
        return Ellipsis
    except Exception as error:      # noqa: BLE001  what the learner's code raises is a result, not a reason to stop
        return error
    return Ellipsis if any(value is Ellipsis for value in got.values()) else got


def _guarded(answer: Any) -> Any:
    """A plain function that raises `Unanswered` instead of returning `...`."""
    if not callable(answer) or isinstance(answer, type):
        return answer

    @functools.wraps(answer)
    def run(*args: Any, **kwargs: Any) -> Any:
        result = answer(*args, **kwargs)
        if result is Ellipsis:
            raise Unanswered
        return result
    return run


def _does_the_same(exercise: Exercise, other: Any, outcomes: list[Outcome]) -> bool:
    return all(same(o.got, observation(exercise, other, o.case)) for o in outcomes)


def _explain(exercise: Exercise, outcomes: list[Outcome], tell: bool) -> str:
    first = next(o for o in outcomes if o.state == "differs")
    for mistake in exercise.mistakes:
        if _does_the_same(exercise, mistake.answer, outcomes):
            return mistake.why(*first.case.make()) if callable(mistake.why) else mistake.why
    if first.case.why and isinstance(first.got, dict):
        return first.case.why
    return " ".join(_differences(first, tell))


def _differences(outcome: Outcome, tell: bool) -> Iterator[str]:
    """One sentence about the first result that differs."""
    if not isinstance(outcome.got, dict):
        yield difference(outcome.got, outcome.want, tell)
        return
    for label, want in outcome.want.items():
        got = outcome.got.get(label)
        if not same(got, want):
            if len(outcome.want) > 1 or label != "result":
                yield f"Look at {label}."
            yield difference(got, want, tell)
            return
