"""The outcome of a program: its result or its error, which can be compared and shown in one line."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import autolab

from ..engine.core.errors import fail
from ..engine.core.tensor import Tensor

# the first words of an error's message identify it; numbers and versions may follow
SAME_WORDS = 60


class Outcome:
    """The outcome of a program with one engine: `value`, or the `error` that it raised.

    >>> from autolab.specimens.outcome import Outcome
    >>> Outcome.of(lambda: torch.ones(2) * 2)
    tensor([2., 2.])
    >>> Outcome.of(lambda: 1 / 0)
    ZeroDivisionError: division by zero
    """

    def __init__(self, value: Any = None, error: Exception | None = None) -> None:
        self.value, self.error = value, error

    @classmethod
    def of(cls, action: Callable[[], Any]) -> Outcome:
        """Run `action` and return its outcome."""
        try:
            return cls(action())
        except Exception as error:  # noqa: BLE001 (what the learner's program raises is a result)
            return cls(error=error)

    def same_as(self, other: Outcome) -> bool:
        """Return whether both are equal: errors by type and first words; numbers up to rounding,
        with shape and dtype."""
        if self.error is None or other.error is None:
            return self.error is other.error and _equal(self.value, other.value)
        words = [str(outcome.error)[:SAME_WORDS] for outcome in (self, other)]
        return type(self.error) is type(other.error) and words[0] == words[1]

    def __repr__(self) -> str:
        if self.error is None:
            return _shown(self.value)
        first, _, rest = str(self.error).partition("\n")
        return _short(f"{type(self.error).__name__}: {first}{' …' if rest else ''}")


def as_program(program: Any, argument: str = "program") -> Callable[[], Any]:
    """Return `program`, a function of no arguments or of the module `torch`, as a function of no
    arguments. Raises TypeError for anything else, naming `argument`.

    >>> from autolab.specimens.outcome import as_program
    >>> as_program(lambda torch: torch.zeros(1))()
    tensor([0.])
    """
    if not callable(program):
        raise fail(
            TypeError,
            f"{argument} should be a function, but is {_short(repr(program))} ({type(program).__name__})",
            "Write the computation into a function that returns what you want to compare, and pass it without calling it.",
        )
    try:
        parameters = inspect.signature(program).parameters.values()
    except (TypeError, ValueError):  # a function written in C
        return program
    needed = [
        p
        for p in parameters
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if len(needed) > 1 or any(
        p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in parameters
    ):
        raise fail(
            TypeError,
            f"{argument} should be a function of no arguments, or of the module torch, but "
            f"{getattr(program, '__name__', type(program).__name__)} takes {', '.join(p.name for p in parameters)}",
            "It runs several times, so it makes its own tensors, anew each time.",
        )
    return functools.partial(program, autolab) if needed else program


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        if not (isinstance(a, Tensor) and isinstance(b, Tensor)):
            return False
        alike = a.dtype is b.dtype and a.device == b.device and a.requires_grad == b.requires_grad
        return alike and _equal(a.detach().cpu().numpy(), b.detach().cpu().numpy())
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(_equal(a[k], b[k]) for k in a)
    if isinstance(a, (np.ndarray, np.generic, float, complex)):
        one, other = np.asarray(a), np.asarray(b)
        if type(a) is not type(b) or one.shape != other.shape or one.dtype != other.dtype:
            return False
        return (
            np.allclose(one, other, 1e-5, 1e-7, equal_nan=True)
            if one.dtype.kind in "fc"
            else bool((one == other).all())
        )
    return type(a) is type(b) and (a is b or bool(a == b))


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return _short(", ".join(f"{key}: {_shown(v)}" for key, v in value.items()) or "{}")
    return _short(" ".join(repr(value).split()))


def _short(text: str, limit: int = 160) -> str:
    return text if len(text) <= limit else text[: limit - 2].rstrip() + " …"
