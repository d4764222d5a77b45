"""Exercises as data, and the judge that tries an answer on the inputs of its exercise and reports
the result."""

from __future__ import annotations

import functools
import itertools
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .compare import Unfit, difference, same, show


class Unanswered(Exception):
    """Raised when the learner's function still returns the `...` of its skeleton."""


@dataclass(frozen=True)
class Case:
    """One input. `make` returns fresh arguments for each call, so that no call can change the
    arguments of the next one.

    A public case is named in the notebook. The other cases are tried only if all public cases
    agree. `why` is shown if this case differs and no known mistake explains the difference.
    """

    text: str
    make: Callable[[], tuple]
    public: bool = True
    why: str = ""


@dataclass(frozen=True)
class Mistake:
    """A typical wrong answer, and the sentence that says why it is wrong.

    A mistake is recognized by its results: an answer that gives the same results on every input
    made this mistake. answer: the wrong answer, or switches for the exercise's `variant`; two
    mistakes with different switches can be recognized together. `why` may be a function of the
    arguments of the first input that differs.
    """

    answer: Any
    why: str | Callable[..., str]


def call(answer: Any, *args: Any) -> dict[str, Any]:
    """Return what the learner's function returns for these arguments; the default way to observe an
    answer."""
    return {"result": answer(*args)}


@dataclass(frozen=True)
class Exercise:
    """An exercise. `observe(answer, *args)` runs an answer on one input and returns everything that
    is compared, by label.

    `reference` is a right answer. `given` is the broken code that the learner starts from, if there
    is any. `leaves_out` says what the cases do not try. `tell=False` never shows the expected
    results, for answers that are plain values. `variant(**switches)` returns the answer that makes
    the mistakes of these switches. `avoid` maps a name to the reason why an answer whose code uses
    it does not count, even if its results are right.
    """

    id: str
    title: str
    reference: Any
    cases: tuple[Case, ...]
    hints: tuple[str, ...] = ()
    leaves_out: str = ""
    mistakes: tuple[Mistake, ...] = ()
    observe: Callable[..., dict[str, Any]] = call
    given: Any = None
    tell: bool = True
    variant: Callable[..., Any] | None = None
    avoid: Mapping[str, str] = field(default_factory=dict)

    def wrong(self, mistake: Mistake, *others: Mistake) -> Any:
        """Return the answer that makes this mistake, together with other mistakes."""
        if self.variant is None or not isinstance(mistake.answer, dict):
            return mistake.answer
        return self.variant(
            **functools.reduce(lambda all, one: all | one.answer, others, mistake.answer)
        )


@dataclass(frozen=True)
class Outcome:
    """The result of one try. `state` is "agrees", "differs" or "open" (nothing was answered)."""

    case: Case
    state: str
    got: Any
    want: Any


@dataclass(frozen=True)
class Verdict:
    """The verdict on an answer. `status` is "open", "differs" or "agrees"."""

    exercise: Exercise
    status: str
    outcomes: tuple[Outcome, ...] = ()
    why: str = ""
    given: bool = False
    tell: bool = True

    @property
    def waiting(self) -> int:
        """Return how many inputs were not tried."""
        return len(self.exercise.cases) - len(self.outcomes)


def judge(exercise: Exercise, answer: Any, first: bool = False, tell: bool = True) -> Verdict:
    """Try the public inputs and, if they agree, the others. Never raises for anything the learner
    wrote.

    On the `first` try, an answer that behaves like the given code counts as not answered: running a
    whole notebook must not reveal what is wrong with code that the learner has not read yet. tell:
    whether expected results may be shown.
    """
    if answer is None or answer is Ellipsis:
        return Verdict(exercise, "open")
    if callable(exercise.reference) and not callable(answer):
        kind = "class" if isinstance(exercise.reference, type) else "function"
        why = (
            f"A {kind} is wanted, this is {show(answer)}. Pass the {kind} itself, without calling it: "
            f'check("{exercise.id}", {getattr(exercise.reference, "__name__", "f")}).'
        )
        return Verdict(exercise, "differs", (), why)
    outcomes: list[Outcome] = []
    for public in (True, False):
        outcomes += (
            _try(exercise, answer, case) for case in exercise.cases if case.public is public
        )
        states = {o.state for o in outcomes}
        if states == {"open"}:
            return Verdict(exercise, "open")
        if states != {"agrees"}:
            break
    else:
        why = " ".join(why for name, why in exercise.avoid.items() if name in names_in(answer))
        return Verdict(exercise, "differs" if why else "agrees", tuple(outcomes), why)
    if "differs" not in states:
        return Verdict(exercise, "open", tuple(outcomes))
    if first and exercise.given is not None and _does_the_same(exercise, exercise.given, outcomes):
        return Verdict(exercise, "open", tuple(outcomes), given=True, tell=tell and exercise.tell)
    tell = tell and exercise.tell
    return Verdict(
        exercise, "differs", tuple(outcomes), _explain(exercise, outcomes, tell), tell=tell
    )


def _try(exercise: Exercise, answer: Any, case: Case) -> Outcome:
    want = observation(exercise, exercise.reference, case)
    if not isinstance(want, dict):
        raise RuntimeError(
            f"the checker of {exercise.id} cannot run its own solution on {case.text}"
        ) from want
    got = observation(exercise, answer, case)
    if got is Ellipsis:
        return Outcome(case, "open", got, want)
    return Outcome(case, "agrees" if same(got, want) else "differs", got, want)


def observation(exercise: Exercise, answer: Any, case: Case) -> Any:
    """Return what `answer` does on `case`: labelled results, the exception it raised, or `...` if
    nothing is answered.

    Raises Unfit if the result cannot be checked although the answer raised nothing.
    """
    back = [] if callable(answer) and not isinstance(exercise.reference, type) else [answer]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = exercise.observe(_guarded(answer, back), *case.make())
    except Unanswered:
        return Ellipsis
    except KeyboardInterrupt as error:
        error.add_note(
            f"Your answer was still running, on this input: {case.text}. Does each of its loops come to an end?"
        )
        raise
    except Exception as error:  # noqa: BLE001  what the learner's code raises is a result, not a reason to stop
        return _unusable(exercise, back[-1], error) if back and _raised_here(error) else error
    return Ellipsis if any(value is Ellipsis for value in got.values()) else got


def _guarded(answer: Any, back: list[Any]) -> Any:
    """Return a plain function that raises `Unanswered` instead of returning `...`, and stores its
    result in `back`."""
    if not callable(answer) or isinstance(answer, type):
        return answer

    @functools.wraps(answer)
    def run(*args: Any, **kwargs: Any) -> Any:
        back.clear()
        result = answer(*args, **kwargs)
        if result is Ellipsis:
            raise Unanswered
        back.append(result)
        return result

    return run


def _raised_here(error: Exception) -> bool:
    """Return whether a line of the checker itself raised the error, and not the learner's code or
    the engine."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return (
        trace is not None
        and Path(__file__).parent in Path(trace.tb_frame.f_code.co_filename).parents
    )


def _unusable(exercise: Exercise, came: Any, error: Exception) -> Exception:
    if isinstance(error, Unfit) or isinstance(came, type):
        return error
    if isinstance(exercise.reference, type):
        return Unfit(f"A class is wanted, this is of the type {type(came).__name__}")
    if isinstance(exercise.reference, dict) and not isinstance(came, dict):
        return Unfit(f"A dict is wanted, this is {show(came)}")
    if isinstance(error, KeyError):
        return Unfit(f"There is no {error} in {show(came)}")
    return Unfit(
        "This is None. A function without `return` gives None"
        if came is None
        else f"{show(came)} came back, which is not of the kind that is wanted"
    )


def _does_the_same(exercise: Exercise, other: Any, outcomes: list[Outcome]) -> bool:
    return all(same(o.got, observation(exercise, other, o.case)) for o in outcomes)


def names_in(answer: Any) -> set[str]:
    """Return the names that the code of a function, or of a class's methods, looks up: globals,
    attributes, and the names in nested functions."""
    parts = (answer, *getattr(answer, "__dict__", {}).values())
    codes = [f.__code__ for f in parts if isinstance(f, types.FunctionType)]
    found: set[str] = set()
    while codes:
        code = codes.pop()
        found |= {*code.co_names}
        codes += [inner for inner in code.co_consts if isinstance(inner, types.CodeType)]
    return found


def _explain(exercise: Exercise, outcomes: list[Outcome], tell: bool) -> str:
    first = next(o for o in outcomes if o.state == "differs")
    for mistakes in _suspected(exercise):
        if _does_the_same(exercise, exercise.wrong(*mistakes), outcomes):
            said = [m.why(*first.case.make()) if callable(m.why) else m.why for m in mistakes]
            return (
                said[0]
                if len(said) == 1
                else f"There are two mistakes. First: {said[0]} Second: {said[1]}"
            )
    if first.case.why and isinstance(first.got, dict):
        return first.case.why
    return " ".join(_differences(first, tell))


def _suspected(exercise: Exercise) -> Iterator[tuple[Mistake, ...]]:
    """Yield each mistake alone, then the pairs of mistakes that can be made together."""
    yield from ((mistake,) for mistake in exercise.mistakes)
    switched = [mistake for mistake in exercise.mistakes if isinstance(mistake.answer, dict)]
    yield from (
        two
        for two in itertools.combinations(switched, 2)
        if not two[0].answer.keys() & two[1].answer.keys()
    )


def _differences(outcome: Outcome, tell: bool) -> Iterator[str]:
    """Return one or two sentences about the first two results that differ."""
    if not isinstance(outcome.got, dict):
        yield difference(outcome.got, outcome.want, tell)
        return
    differ = [
        label for label, want in outcome.want.items() if not same(outcome.got.get(label), want)
    ]
    differ = [
        label for label in differ if label in outcome.got
    ] or differ  # the result has a wrong type, so not every check applies
    for label in differ[:2]:
        if len(outcome.want) > 1 or label != "result":
            yield f"Look at {label}."
        yield (
            difference(outcome.got[label], outcome.want[label], tell)
            if label in outcome.got
            else ("What came back is not of the kind that is wanted.")
        )
