"""`Size`: the shape of a tensor, a tuple of ints that prints as torch's does."""

import functools
import math
import operator


class Size(tuple):
    """The shape of a tensor; a tuple in every respect, and `Size` stays `Size` under slicing, `+` and `*`.

    `Size([2, 3])` prints as ``torch.Size([2, 3])``. Items are anything with ``__index__``.

    Raises TypeError when an item is not an integer.
    Source: https://pytorch.org/docs/stable/size.html
    """

    __slots__ = ()

    def __new__(cls, sizes=()):
        items = list(sizes)
        for position, item in enumerate(items):
            try:
                items[position] = operator.index(item)
            except TypeError:
                kind = type(item).__name__
                raise TypeError(f"torch.Size() takes an iterable of 'int' (item {position} is '{kind}')") from None
        return tuple.__new__(cls, items)

    def numel(self):
        """The number of elements of a tensor of this shape: the product of the sizes, 1 for no dimensions."""
        return math.prod(self)

    def __repr__(self):
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index):
        item = tuple.__getitem__(self, index)
        return size_of(item) if isinstance(index, slice) else item

    def __add__(self, other):
        if not isinstance(other, tuple):
            raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")
        return Size(tuple.__add__(self, other))

    def __radd__(self, other):
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times):
        return size_of(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __reduce__(self):
        return Size, (tuple(self),)


size_of = functools.partial(tuple.__new__, Size)  # no checks: for shapes that are known to be tuples of ints
