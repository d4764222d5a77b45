"""`Size`: the shape of a tensor, a tuple of ints that prints as torch's does."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable
from typing import Any, SupportsIndex


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple whose slices, sums and products with `+` and `*` are a `Size` again. Raise
    TypeError for an item that is not an integer. Source: https://pytorch.org/docs/stable/size.html

    >>> torch.ones(2, 3).shape + (4,), torch.Size([2, 3]).numel()
    (torch.Size([2, 3, 4]), 6)
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[SupportsIndex] = ()) -> Size:
        return tuple.__new__(cls, map(operator.index, sizes))

    def numel(self) -> int:
        """Return the number of elements of a tensor of this shape: the product of the sizes, 1 for no dimensions."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index: Any) -> Any:
        item = tuple.__getitem__(self, index)
        return size_of(item) if isinstance(index, slice) else item

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Any:
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: SupportsIndex) -> Size:
        return size_of(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)


size_of: functools.partial[Size] = functools.partial(
    tuple.__new__, Size
)  # no checks, because the value is known to be a shape
