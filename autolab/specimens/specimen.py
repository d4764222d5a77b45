"""A specimen: the engine with one changed rule, the belief behind it, and programs that expose it."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import autolab

from .exchange import Place, exchanged
from .outcome import Outcome, as_program

MARK = "# wrong"
"""Marks the changed lines of a rule. Learners see the rule without the mark."""

SPECIMENS: dict[int, Specimen] = {}
"""All specimens by the number of their misconception."""

Program = Callable[..., Any]


class Specimen:
    """A wrong engine: the core's own engine with one changed rule.

    number, misconception: which of the 25 it is. name: its name. belief: the misconception that predicts its behaviour.
        rule: the source of the replacement. lines: the numbers of its wrong lines. stands_for: the replaced function.
        instead: the engine's own code there. shows: the kind of program that exposes it. goes_wrong, goes_right: an
        `Example` of a program on which it differs from the right engine, and of one on which it agrees.

    Example:

        >>> s = torch.specimens["set instead of add"]
        >>> def twice():
        ...     x = torch.tensor(3., requires_grad=True)
        ...     (x * x).backward()
        ...     return x.grad
        >>> s.run(twice), twice()
        (tensor(3.), tensor(6.))
    """

    def __init__(
        self, number: int, name: str, level: int, belief: str, shows: str, instead: str, rules: dict[Place, Any],
        source: str,
        wrong: Program, right: Program,
    ) -> None:  # fmt: skip
        self.number = self.misconception = number
        self.name, self.level, self.belief, self.shows, self.instead = (
            name,
            level,
            belief,
            shows,
            instead,
        )
        self._rules = rules
        marked = textwrap.dedent(source).rstrip().splitlines()
        first = next(i for i, line in enumerate(marked) if line.startswith(("def ", "class ")))
        marked = marked[first:]
        self.lines = tuple(i for i, line in enumerate(marked, 1) if line.endswith(MARK))
        self.rule = "\n".join(line.removesuffix(MARK).rstrip() for line in marked)
        self.goes_wrong, self.goes_right = Example(self, wrong), Example(self, right)

    @property
    def stands_for(self) -> tuple[str, ...]:
        """Return what the rule replaces, such as 'autolab.engine.core.backward.BackwardPass.add'."""
        return tuple(dict.fromkeys(_written(place) for place in self._rules))

    def run(self, program: Program) -> Any:
        """Return the result of `program` with this engine.

        program: a function of no arguments, or of the module torch. Its errors are raised here.
        Afterwards the engine is the right one again; other threads, also those that the program
        starts, always use the right one. Raises TypeError if `program` is not such a function.
        """
        return _run(as_program(program), self._rules)

    def outcome(self, program: Program) -> Outcome:
        """Return the outcome of `program` with this engine: a result or an error."""
        run = as_program(program)
        return Outcome.of(lambda: _run(run, self._rules))

    @property
    def listing(self) -> str:
        """Return the rule with line numbers."""
        return "\n".join(
            f"{i:2}  {line}".rstrip() for i, line in enumerate(self.rule.splitlines(), 1)
        )

    def __repr__(self) -> str:
        where = ", ".join(self.stands_for[:2]) + (" …" if len(self.stands_for) > 2 else "")
        return f"{self.number}. {self.name}\nBelief: {self.belief}\nIn the place of {where}:\n\n{self.listing}"

    def _repr_markdown_(self) -> str:
        return f"**{self.number}. {self.name}**\n\nBelief: {self.belief}\n\n```text\n{self.listing}\n```"


@dataclass(frozen=True, repr=False)
class Example:
    """A program and its results: `right` with the right engine, `wrong` with the specimen. Each is
    computed when it is read.

    >>> torch.specimens[3].goes_right
    def chain(torch):
        x = torch.tensor(3.0, requires_grad=True)
        y = torch.exp(x * 2) + 1
        y.backward()
        return x.grad
    <BLANKLINE>
    right engine:   tensor(806.8576)
    this specimen:  tensor(806.8576)
    """

    specimen: Specimen
    program: Program

    @property
    def source(self) -> str:
        """Return the program's text."""
        return textwrap.dedent(inspect.getsource(self.program)).rstrip()

    @property
    def right(self) -> Outcome:
        """Return the result with the right engine."""
        return RIGHT.outcome(self.program)

    @property
    def wrong(self) -> Outcome:
        """Return the result with the specimen."""
        return self.specimen.outcome(self.program)

    @property
    def differs(self) -> bool:
        """Return whether the two results differ."""
        return not self.right.same_as(self.wrong)

    def __repr__(self) -> str:
        return f"{self.source}\n\nright engine:   {self.right}\nthis specimen:  {self.wrong}"

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.source}\n```\n\n```text\nright engine:   {self.right}\nthis specimen:  {self.wrong}\n```"


def _run(program: Callable[[], Any], rules: dict[Place, Any]) -> Any:
    """Return the result of `program` with changed `rules`, and restore the thread's grad mode
    afterwards."""
    with exchanged(rules), autolab.set_grad_enabled(autolab.is_grad_enabled()):
        return program()


class _Right:
    """The right engine, in the form of a specimen."""

    name, level, lines, rule, number = "the right engine", 0, (), "", 0

    def outcome(self, program: Program) -> Outcome:
        run = as_program(program)
        return Outcome.of(lambda: _run(run, {}))


RIGHT = _Right()


def specimen(
    number: int, name: str, *, level: int, belief: str, shows: str, instead: str, places: Any, wrong: Program,
    right: Program
) -> Callable[[Any], Any]:  # fmt: skip
    """Return a decorator that makes a specimen of a rule.

    The rule is a function whose first parameter, `right`, is the engine's own code; if several are
    changed, it is a class of such functions. places: where they belong, as pairs (owner, name) or
    triples with "get" or "set"; for a class a dict of them by function name.
    """

    def make(rule: Any) -> Any:
        named = (
            {name: (vars(rule)[name], where) for name, where in places.items()}
            if isinstance(places, dict)
            else {"": (rule, places)}
        )
        rules = {_place(one): function for function, where in named.values() for one in where}
        SPECIMENS[number] = Specimen(
            number,
            name,
            level,
            belief,
            shows,
            instead,
            rules,
            inspect.getsource(rule),
            wrong,
            right,
        )
        return rule

    return make


def _place(where: Iterable[Any]) -> Place:
    owner, name, *kind = where
    return owner, name, kind[0] if kind else "call"


def _written(place: Place) -> str:
    owner, name, kind = place
    home = owner.__name__ if inspect.ismodule(owner) else f"{owner.__module__}.{owner.__qualname__}"
    return f"{home}.{name}" + ("" if kind == "call" else f" ({kind})")
