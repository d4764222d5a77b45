"""Wrong engines, each with one changed rule: one for each of 25 misconceptions, and a game.

autolab.specimens                       # all of them, with the belief behind each
autolab.specimens["set instead of add"] # one, with the rule that was exchanged; by its number, too
game = autolab.specimens.catch()        # which of them is it?
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator

from ..engine.core.errors import fail
from . import history, passes, rules, surroundings, training  # noqa: F401 (they fill SPECIMENS)
from .game import Game, Trial, Verdict, catch
from .outcome import Outcome
from .specimen import SPECIMENS, Example, Specimen

__all__ = ["Example", "Game", "Outcome", "Specimen", "Trial", "Verdict", "catch"]


class _Catalogue(types.ModuleType):
    """The package `autolab.specimens`, which is also the collection of its specimens: it has a
    length, an order and an index."""

    def __iter__(self) -> Iterator[Specimen]:
        return iter([SPECIMENS[number] for number in sorted(SPECIMENS)])

    def __len__(self) -> int:
        return len(SPECIMENS)

    def __getitem__(self, key: str | int) -> Specimen:
        for one in self:
            if key in (one.number, one.name):
                return one
        raise fail(
            KeyError,
            f"key should be the name of a specimen or its number, 1 to {len(self)}, but is {key!r}",
            "print(autolab.specimens) lists the wrong engines.",
        )

    def __repr__(self) -> str:
        width = max(len(one.name) for one in self)
        return "\n".join(f"{one.number:2}  {one.name:<{width}}  {one.belief}" for one in self)

    def _repr_markdown_(self) -> str:
        rows = "\n".join(f"| {one.number} | {one.name} | {one.belief} |" for one in self)
        return f"| | specimen | the belief behind it |\n|---|---|---|\n{rows}"


sys.modules[__name__].__class__ = _Catalogue
