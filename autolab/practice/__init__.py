"""Practice the engine's work: a backward pass that asks the learner for every decision.

    autolab.practice(loss)        # your own graph, autolab's or PyTorch's
    autolab.practice()            # the level whose turn it is
    autolab.practice(level=1)     # a graph with fresh numbers, 12 levels
    print(autolab.practice)       # what each level trains, and which are yours

`rules.py` repeats a pass with another rule, `decisions.py` finds the decisions and the result of
each wrong answer, `levels.py` draws graphs, `due.py` chooses the level, `session.py` is the widget.
docs/practice.md explains how to play.
"""

from __future__ import annotations

import sys
import types

from .due import state as _state
from .levels import LEVELS as _LEVELS
from .session import Practice, Result, practice

__all__ = ["Practice", "Result", "practice"]


class _Package(types.ModuleType):
    """The package `autolab.practice`, which can also be called to play."""

    __call__ = staticmethod(practice)

    def __repr__(self) -> str:
        width = max(len(level.title) for level in _LEVELS.values())
        return "\n".join(
            f"{n:2}  {level.title:<{width}}  {level.trains}{_state(n)}"
            for n, level in _LEVELS.items()
        )

    def _repr_markdown_(self) -> str:
        rows = "\n".join(
            f"| {n} | {level.title} | {level.trains}{_state(n)} |" for n, level in _LEVELS.items()
        )
        return f"| | level | trains |\n|---|---|---|\n{rows}"


sys.modules[__name__].__class__ = _Package
