"""`Size`: the shape of a tensor, a tuple of ints that prints as torch's does."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from functools import partial
from typing import Any, SupportsIndex


class Size(tuple[int, ...]):
    """The shape of a tensor; a tuple in every respect, and `Size` stays `Size` under slicing, `+` and `*`.

    `Size([2, 3])` prints as ``torch.Size([2, 3])``. Items are anything with ``__index__``.

    Raises TypeError when an item is not an integer.
    Source: https://pytorch.org/docs/stable/size.html
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[SupportsIndex] = ()) -> Size:
        items: list[Any] = list(sizes)
        for position, item in enumerate(items):
            try:
                items[position] = operator.index(item)
            except TypeError:
                kind = type(item).__name__
                raise TypeError(f"torch.Size() takes an iterable of 'int' (item {position} is '{kind}')") from None
        return tuple.__new__(cls, items)

    def numel(self) -> int:
        """The number of elements of a tensor of this shape: the product of the sizes, 1 for no dimensions."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index: Any) -> Any:
        item = tuple.__getitem__(self, index)
        return size_of(item) if isinstance(index, slice) else item

    def __add__(self, other: Any) -> Size:
        if not isinstance(other, tuple):
            raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Any:
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: SupportsIndex) -> Size:
        return size_of(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)


size_of: partial[Size] = partial(tuple.__new__, Size)  # no checks: for shapes that are known to be tuples of ints
