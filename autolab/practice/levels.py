"""Twelve levels: small programs with fresh numbers, for which no two rules give the same answer."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..engine.core.errors import fail
from ..trace import record
from ..trace.model import Trace
from .decisions import Ambiguous, Decision, Decisions

TRIES = 400  # programs to draw until one is suitable


@dataclass(frozen=True)
class Level:
    """One level. number, title; trains: what it trains. kinds: the learner's decisions.
    draw(random): returns a program. only: operations whose contributions are asked for, () for all.
    raises: whether to ask which node raises an error."""

    number: int
    title: str
    trains: str
    kinds: tuple[str, ...]
    draw: Callable[[random.Random], str]
    only: tuple[str, ...] = ()
    raises: bool = False


@dataclass(frozen=True)
class Task:
    """A graph to practise on: the program, its trace, its decisions. seed: draws the same graph
    again."""

    program: str
    trace: Trace
    asked: Decisions
    decisions: list[Decision]
    seed: int = 0


def task(number: int, seed: int, forward: bool = False) -> Task:
    """Return a graph of a level. Programs are drawn until no two rules give the same answer and no
    answer is 0 by accident."""
    level, dice = LEVELS[number], random.Random(seed * 100 + number)
    for _ in range(TRIES):
        program = level.draw(dice)
        try:
            trace = run(program)
            kinds = ("value",) if forward else level.kinds
            asked = Decisions(
                trace,
                kinds,
                strict=not forward,
                only=level.only,
                raises=level.raises and not forward,
            )
            decisions = asked.all()
        except Ambiguous:
            continue
        if {one.decision for one in decisions} >= set(kinds) & {
            "who",
            "what",
            "how",
            "then",
            "value",
        }:
            return Task(program, trace, asked, decisions, seed)
    raise RuntimeError(f"level {number}: no graph was fit in {TRIES} tries")


def run(program: str) -> Trace:
    """Return the recording of a program, even if it raises."""
    import autolab

    names: dict[str, Any] = {"tensor": autolab.tensor, "no_grad": autolab.no_grad}
    try:
        with record() as recording:
            exec(compile(program, "<practice>", "exec"), names)
    except RuntimeError:
        pass  # the recording contains the error
    return recording.trace()


def level_of(level: Any) -> Level:
    """Return the level with this number. Raises ValueError for an unknown number."""
    if isinstance(level, bool) or not isinstance(level, int) or level not in LEVELS:
        raise fail(
            ValueError,
            f"level should be a whole number from 1 to {len(LEVELS)}, but is {level!r}",
            "print(autolab.practice) lists the levels.",
        )
    return LEVELS[level]


def _small(dice: random.Random, *without: float) -> float:
    """Return a number other than 0 and ±1: 2 to 5, sometimes with a half, of either sign."""
    return dice.choice(
        [n for n in (2, 3, 4, 5, 1.5, 2.5, 0.5, -2, -3, -4, -1.5, -0.5) if n not in without]
    )


def _whole(dice: random.Random, *without: float) -> int:
    return dice.choice([n for n in (2, 3, 4, 5, -2, -3) if n not in without])


def _leaf(name: str, value: Any) -> str:
    text = f"{value:g}" if isinstance(value, int | float) else str(value)
    text += "." if isinstance(value, int | float) and float(value).is_integer() else ""
    return f"{name} = tensor({text}, requires_grad=True)"


def _plus(name: str, number: float) -> str:
    return f"{name} + {number}" if number > 0 else f"{name} - {-number}"


def _lines(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def _chain(dice: random.Random) -> str:
    return _lines(
        _leaf("x", _small(dice)),
        f"a = x * {_whole(dice)}",
        f"b = {_plus('a', _whole(dice))}",
        "y = b ** 2",
        "y.backward()",
    )


def _product(dice: random.Random) -> str:
    leaves = [_leaf(name, _small(dice)) for name in "abc"]
    return _lines(*leaves, "p = a * b", "s = p + c", f"y = s * {_whole(dice)}", "y.backward()")


def _fork(dice: random.Random) -> str:
    first = _whole(dice)
    return _lines(
        _leaf("x", _small(dice)),
        f"a = x * {first}",
        f"b = x * {_whole(dice, first, -first)}",
        "s = a + b",
        f"y = s * {_whole(dice)}",
        "y.backward()",
    )


def _twice(dice: random.Random) -> str:
    cube = dice.random() < 0.5
    return _lines(
        _leaf("x", _small(dice)),
        "v = x * x",
        f"y = v * {'x' if cube else _whole(dice)}",
        "y.backward()",
    )


def _diamond(dice: random.Random) -> str:
    return _lines(
        _leaf("x", _small(dice)),
        f"a = x * {_whole(dice)}",
        f"b = {_plus('x', _whole(dice))}",
        "p = a * b",
        "y = p + b",
        "y.backward()",
    )


def _cut(dice: random.Random) -> str:
    return _lines(
        _leaf("x", _small(dice)),
        _leaf("w", _small(dice)),
        f"a = x * {_whole(dice)}",
        "d = a.detach()",
        f"with no_grad():\n    e = w * {_whole(dice)}",
        "p = a * d",
        "q = a * e",
        "y = p + q",
        "y.backward()",
    )


def _kinks(dice: random.Random) -> str:
    down, up, s, t = (
        dice.choice(of) for of in ((-2, -3, -1.5), (2, 3, 1.5), (0.5, 1.5, -0.5), (0.5, -0.5, 1.5))
    )
    return _lines(
        *(_leaf(name, value) for name, value in zip("uvst", (down, up, s, t))),
        "a = u.relu()",
        "b = v.relu()",
        "c = s.exp()",
        "d = t.tanh()",
        f"y = {_whole(dice)} * a + {_whole(dice)} * b + {_whole(dice)} * c + {_whole(dice)} * d",
        "y.backward()",
    )


def _vectors(dice: random.Random) -> str:
    end = dice.choice(["mean", "sum"])
    return _lines(
        _leaf("x", _row(dice, 3)),
        f"c = tensor({_row(dice, 3)})",
        "p = x * c",
        f"m = p.{end}()",
        f"y = m * {_whole(dice, 3, -3)}",
        "y.backward()",
    )


def _batch(dice: random.Random) -> str:
    return _lines(
        f"x = tensor({_matrix(dice, 3, 2)})",
        f"c = tensor({_matrix(dice, 3, 2, (2, 0.5, -2, 4, -4, -0.5, 0.25))})",
        _leaf("s", _small(dice)),
        _leaf("b", _row(dice, 2)),
        "h = x * s",
        "z = h + b",
        "q = z / c",
        "y = q.sum()",
        "y.backward()",
    )


def _matrices(dice: random.Random) -> str:
    return _lines(
        _leaf("x", _matrix(dice, 2, 3)),
        _leaf("W", _matrix(dice, 3, 2)),
        _leaf("V", _matrix(dice, 2, 2)),
        f"c = tensor({_matrix(dice, 2, 2)})",
        "h = x @ W",
        "o = h @ V",
        "p = o * c",
        "y = p.sum()",
        "y.backward()",
    )


def _in_place(dice: random.Random) -> str:
    x, k, c = _leaf("x", _small(dice, 5, -4)), _whole(dice), _whole(dice)
    return dice.choice(
        [
            _lines(x, "a = x.exp()", f"y = a * {k}", f"a.add_({c})", "y.backward()"),
            _lines(x, f"a = x * {k}", "b = a.tanh()", f"a.add_({c})", "y = b + a", "y.backward()"),
            _lines(
                x,
                f"a = {_plus('x', c)}",
                "b = a * a",
                f"y = b * {k}",
                f"a.mul_({k})",
                "y.backward()",
            ),
            _lines(
                x,
                f"a = x * {k}",
                f"b = {_plus('a', c)}",
                "b.add_(1)",
                "y = b.tanh()",
                "y.backward()",
            ),
            _lines(
                x,
                f"a = {_plus('x', c)}",
                "b = a * x",
                f"y = {_plus('b', k)}",
                "y.backward()",
                "y.backward()",
            ),
            _lines(
                x,
                f"a = {_plus('x', c)}",
                f"b = a - {k}",
                "y = b + a",
                "y.backward()",
                "y.backward()",
            ),
        ]
    )


def _passes(dice: random.Random) -> str:
    clear = dice.choice(["", "x.grad = None", "x.grad.zero_()"])
    return _lines(
        _leaf("x", _small(dice)),
        f"a = x * {_whole(dice)}",
        "first = a * a",
        f"second = a * {_whole(dice)}",
        "first.backward(retain_graph=True)",
        *([clear] if clear else []),
        "second.backward()",
        f"third = x * {_whole(dice)}",
        "third.backward()",
    )


def _row(dice: random.Random, n: int, of: tuple[float, ...] = ()) -> str:
    return f"[{', '.join(str(float(dice.choice(of) if of else _small(dice))) for _ in range(n))}]"


def _matrix(dice: random.Random, rows: int, columns: int, of: tuple[float, ...] = ()) -> str:
    return f"[{', '.join(_row(dice, columns, of) for _ in range(rows))}]"


LEVELS = {
    level.number: level
    for level in (
        Level(1, "a chain", "what arrives, times the local derivative", ("what",), _chain),
        Level(2, "a product", "whose value is sent to whom", ("what",), _product),
        Level(3, "a leaf used twice", "contributions are added", ("how",), _fork),
        Level(4, "an operand used twice", "two edges, two contributions", ("what", "how"), _twice),
        Level(5, "a diamond", "order, and waiting", ("who", "what", "how"), _diamond),
        Level(6, "cuts", "where nothing goes, and what None is", ("who", "how", "then"), _cut),
        Level(
            7,
            "relu, exp, tanh",
            "the saved result, on both sides of 0",
            ("what",),
            _kinks,
            ("relu", "exp", "tanh"),
        ),
        Level(8, "vectors", "shapes; a sum expands, a mean divides", ("what",), _vectors),
        Level(
            9, "broadcasting", "sums over what was spread", ("how", "what"), _batch, ("add", "mul")
        ),
        Level(
            10,
            "matrix products",
            "which factor is transposed",
            ("what",),
            _matrices,
            ("matmul", "mm"),
        ),
        Level(
            11,
            "in place, and again",
            "what was saved, changed or freed, and what would have helped",
            ("who", "free", "changed", "after"),
            _in_place,
            (),
            True,
        ),
        Level(12, "two losses", "accumulating and clearing", ("then",), _passes),
    )
}
