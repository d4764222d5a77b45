"""A game: you get an engine, which is one of the specimens or the right one. Which one is it, and
which line is wrong?"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..engine.core.errors import fail
from .outcome import Outcome, as_program
from .specimen import RIGHT, SPECIMENS, Specimen

LEVELS = (1, 2, 3)


def catch(seed: int | None = None, level: int = 3) -> Game:
    """Start a game: it gives you an engine, one of the specimens or the right one, and you find out
    which one.

    seed: a whole number makes the same choice each time. level: 1 has the rules of the backward pass and of its check
    to choose from, 2 also those of what is recorded, 3 all 25. Raises TypeError or ValueError for other arguments.

    Example:

        >>> game = torch.specimens.catch(seed=4, level=1)
        >>> len(game.left)
        10
        >>> def diamond():
        ...     x = torch.tensor(2., requires_grad=True)
        ...     a, b = x * x, x * 3
        ...     (a * b).backward()
        ...     return x.grad
        >>> trial = game.try_(diamond)
        >>> len(game.left) < 10
        True
    """
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
        raise fail(
            TypeError,
            f"seed should be an int or None, but is {seed!r} ({type(seed).__name__})",
            "With None, each game chooses another one.",
        )
    if level not in LEVELS or isinstance(level, bool):
        raise fail(
            ValueError,
            f"level should be 1, 2 or 3, but is {level!r}",
            "1 has the fewest engines to choose from, 3 all of them.",
        )
    candidates = [RIGHT, *(SPECIMENS[n] for n in sorted(SPECIMENS) if SPECIMENS[n].level <= level)]
    return Game(candidates, random.Random(seed).choice(candidates))


class Game:
    """A game of `catch`: try programs, then name the changed rule.

    candidates: the names of all possible engines. left: those that are still possible. over:
    whether you have named one.
    """

    def __init__(self, candidates: list[Any], given: Any) -> None:
        self._candidates = {one.name: one for one in candidates}
        self._given = given
        self._excluded: dict[str, int] = {}  # name -> the number of the try that excluded it
        self._tries = 0
        self.over = False

    @property
    def candidates(self) -> list[str]:
        """Return the names of all possible engines."""
        return list(self._candidates)

    @property
    def left(self) -> list[str]:
        """Return the names of the engines that agree with everything you have seen."""
        return [name for name in self._candidates if name not in self._excluded]

    def try_(self, function: Callable[..., Any]) -> Trial:
        """Run a function with the right engine, with the engine that you were given, and with all
        that are still possible.

        function: takes no arguments, or the module torch. It creates its own tensors and returns
        what is compared; it runs once for each engine, so it should not print. Raises TypeError for
        other functions, and ValueError if the result changes from run to run.
        """
        as_program(function, "function")
        right, given = RIGHT.outcome(function), self._given.outcome(function)
        if not right.same_as(again := RIGHT.outcome(function)):
            raise fail(
                ValueError,
                f"function should give the same each time with the right engine, but gave {right}, then {again}",
                "Make all tensors inside the function; where it draws numbers, begin it with torch.manual_seed(0).",
            )
        before = self.left
        told = [
            name for name in before if not self._candidates[name].outcome(function).same_as(given)
        ]
        self._tries += 1
        self._excluded.update(dict.fromkeys(told, self._tries))
        return Trial(self._tries, right, given, tuple(before), tuple(self.left))

    @property
    def hint(self) -> str:
        """Return which kind of program to try next, but never the rule.

        >>> torch.specimens.catch(seed=1, level=1).hint
        'Try two backward passes in a row, and .grad after them.'
        """
        wrong = [self._candidates[name] for name in self.left if name != RIGHT.name]
        if len(self.left) < 2:
            return "One engine is left: name it, and its line."
        return f"Try {wrong[0].shows}."

    def rule(self, name: str | int) -> str:
        """Return the changed code of the engine called `name`, with line numbers. Raises ValueError
        for a name that is not a candidate."""
        one = self._candidate(name)
        return one.listing if isinstance(one, Specimen) else "Nothing was exchanged."

    def name(self, name: str | int, line: int | None = None) -> Verdict:
        """Judge a guess: `name` of the engine, or its number (0 is the right engine), and the
        number of the wrong line in its rule.

        The right engine has no wrong line. Raises ValueError for an unknown name or line.
        """
        one = self._candidate(name)
        last = len(one.rule.splitlines())
        if line is not None and (
            not isinstance(line, int) or isinstance(line, bool) or not 1 <= line <= last
        ):
            expected = (
                f"the number of a line, 1 to {last}"
                if last
                else "None, for the right engine has no wrong line"
            )
            raise fail(
                ValueError,
                f"line should be {expected}, but is {line!r}",
                f"game.rule({one.name!r}) shows the lines.",
            )
        if one is not self._given:
            return self._not_it(one)
        if isinstance(one, Specimen) and line not in one.lines:
            said = "Which line is it?" if line is None else f"Line {line} is not the one."
            return Verdict(
                False,
                f"“{one.name}” is right. {said} In the place of {one.stands_for[0]} stands:\n\n{one.listing}",
            )
        self.over = True
        rest = [n for n in self.left if n != one.name]
        luck = "" if not rest else f" Your tries had not excluded {_listed(rest)}."
        if not isinstance(one, Specimen):
            return Verdict(True, f"Right: nothing was exchanged.{luck}")
        return Verdict(
            True,
            f"Right: “{one.name}”.{luck} Line {line} is `{one.rule.splitlines()[line - 1].strip()}`; "  # type: ignore[operator]
            f"in its place the engine has: {one.instead}.\nThe belief behind it: {one.belief} It shows on {one.shows}.",
        )

    def _not_it(self, one: Any) -> Verdict:
        told = self._excluded.get(one.name)
        if told is not None:
            return Verdict(False, f"No: try {told} had told it from “{one.name}”.")
        self._excluded[one.name] = self._tries
        return Verdict(
            False,
            f"No, it is not “{one.name}”, although no try had told the two apart. {self.hint}",
        )

    def _candidate(self, name: str | int) -> Any:
        """Return the candidate with this name or number. Raises ValueError if there is none."""
        for one in self._candidates.values():
            if name == one.name or (type(name) is int and name == one.number):
                return one
        raise fail(
            ValueError,
            f"name should be one of the candidates, or its number, but is {name!r}",
            f"They are: {_listed(self.candidates, 30)}.",
        )

    def __repr__(self) -> str:
        tries = f"{self._tries} {'try' if self._tries == 1 else 'tries'}"
        if self.over:
            return f"Catch it: named after {tries}: {self._given.name}."
        return (
            f"Catch it: you were given one of {len(self.candidates)} engines; after {tries} {len(self.left)} are possible:\n{_listed(self.left)}.\n"
            "game.try_(function) runs a program, game.rule(name) shows what was exchanged, game.hint helps, game.name(name, line=…) ends it."
        )

    def _repr_markdown_(self) -> str:
        return repr(self).replace("\n", "\n\n")


@dataclass(frozen=True, repr=False)
class Trial:
    """The result of a try: `right` and `given`, the outcomes of the two engines, and the candidates
    `before` and `after`."""

    number: int
    right: Outcome
    given: Outcome
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def tells(self) -> bool:
        """Return whether the program excluded any candidates."""
        return self.before != self.after

    @property
    def said(self) -> str:
        """Return in words what follows from the try."""
        if self.tells:
            n = len(self.before) - len(self.after)
            return f"{n} {'engine is' if n == 1 else 'engines are'} excluded; {len(self.after)} still possible: {_listed(self.after)}."
        return f"This graph gives the same with every engine still possible ({len(self.after)}): {_listed(self.after)}."

    def __repr__(self) -> str:
        verb = "gives the same" if self.right.same_as(self.given) else f"gives {self.given}"
        return f"Try {self.number}. The right engine gives {self.right}; yours {verb}.\n{self.said}"

    def _repr_markdown_(self) -> str:
        same = self.right.same_as(self.given)
        lines = f"the right engine:  {self.right}\nyours:             {self.given}"
        return f"Try {self.number}: {'the same' if same else 'they differ'}.\n\n```text\n{lines}\n```\n\n{self.said}"


@dataclass(frozen=True, repr=False)
class Verdict:
    """The verdict on a guess: `right`, and why."""

    right: bool
    why: str

    def __repr__(self) -> str:
        return self.why

    def _repr_markdown_(self) -> str:
        text, _, code = self.why.partition("\n\n")
        return text if not code else f"{text}\n\n```text\n{code}\n```"


def _listed(names: Sequence[str], most: int = 8) -> str:
    """Return names as text, the first few of many."""
    more = f", and {len(names) - most + 1} more" if len(names) > most else ""
    return "; ".join(names[: most - 1] if more else names) + more
