"""Records that are created on first access, because only few nodes and steps of a big graph are ever read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any


class Records(Sequence[Any]):
    """A tuple of records, each created on first access by `make(place, data)`."""

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
    """Return the data behind records that are created on first access; fields that need no text have the same names
    there. For other records, return the records themselves."""
    return getattr(records, "rough", records)
