"""Records that are made when somebody looks at them: of a big graph few nodes and steps are ever looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any


class Records(Sequence[Any]):
    """A tuple of records of which each is made when somebody looks at it: `make(place, what it is made of)`."""

    def __init__(self, rough: Sequence[Any], make: Callable[[int, Any], Any]) -> None:
        self.rough, self._make = rough, make
        self._made: list[Any] = [None] * len(rough)

    def __len__(self) -> int:
        return len(self._made)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return tuple(self[i] for i in range(*place.indices(len(self))))
        found = self._made[place]
        if found is None:
            found = self._made[place] = self._make(place % len(self), self.rough[place])
        return found

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return (
            tuple(self) == tuple(other) if isinstance(other, (tuple, Records)) else NotImplemented
        )

    def __repr__(self) -> str:
        return repr(tuple(self))


def rough(records: Any) -> Any:
    """Return what records are made of, where they are made when somebody looks at them: their fields that need no
    writing have the same names there. Else the records."""
    return getattr(records, "rough", records)
