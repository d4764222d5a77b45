"""Data sets: objects with a length and items. Source: https://docs.pytorch.org/docs/2.13/data.html#dataset-types"""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import autolab
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.engine.exact.random import Generator


class Indexed(Protocol):
    """What may be a data set: whatever has `__getitem__`, such as a list or a tensor."""

    def __getitem__(self, index: Any, /) -> Any:
        """One sample."""


class Dataset:
    """Base class of data sets: define `__getitem__` and `__len__`. `a + b` is one after the other.

    Example:

        >>> class Squares(torch.utils.data.Dataset):
        ...     def __len__(self):
        ...         return 3
        ...     def __getitem__(self, i):
        ...         return i * i
        >>> [batch.tolist() for batch in torch.utils.data.DataLoader(Squares(), batch_size=2)]
        [[0, 1], [4]]
    """

    def __class_getitem__(cls, item: object) -> type:
        return cls  # Dataset[Tensor] is for type checkers only

    def __getitem__(self, index: Any) -> Any:
        raise fail(
            NotImplementedError,
            "Subclasses of Dataset should implement __getitem__.",
            "Define __getitem__(self, index) and return one sample.",
        )

    def __add__(self, other: Indexed) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset, ABC):
    """Base class of data sets that are only gone through: define `__iter__`. Raises TypeError when made without."""

    @abstractmethod
    def __iter__(self) -> Iterator[Any]:
        """A pass through the samples."""


class TensorDataset(Dataset):
    """Samples are the rows of tensors with the same first size: item i is a tuple of row i of each.

    Example:

        >>> data = torch.utils.data.TensorDataset(torch.tensor([[1.], [2.]]), torch.tensor([10, 20]))
        >>> len(data), data[1]
        (2, (tensor([2.]), tensor(20)))
    """

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            raise fail(
                AssertionError,
                "Size mismatch between tensors",
                "Every tensor holds one row for each sample.",
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


def _samples(dataset, indices):
    """The samples at `indices`, by the data set's own `__getitems__` where it has one."""
    many = getattr(dataset, "__getitems__", None)
    return many(indices) if callable(many) else [dataset[i] for i in indices]


class ConcatDataset(Dataset):
    """Several data sets one after the other."""

    def __init__(self, datasets: Iterable[Indexed]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise fail(
                AssertionError,
                "datasets should not be an empty iterable",
                "Pass at least one data set.",
            )
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise fail(
                AssertionError,
                "ConcatDataset does not support IterableDataset",
                "Go through one after the other with itertools.chain.",
            )
        self.cumulative_sizes = list(itertools.accumulate(map(len, self.datasets)))  # type: ignore[arg-type]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: Any) -> Any:
        if index < 0:
            if -index > len(self):
                raise fail(
                    ValueError,
                    "absolute value of index should not exceed dataset length",
                    f"There are {len(self)} samples.",
                )
            index += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]


class Subset(Dataset):
    """The samples of a data set at the given indices."""

    def __init__(self, dataset: Indexed, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """Several samples at once, as the data set itself gives them if it can."""
        return _samples(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Indexed,
    lengths: Sequence[int] | Sequence[float],
    generator: Generator | None = None,
) -> list[Subset]:
    """Random disjoint subsets of the given lengths, or of the given fractions if they add up to 1.

    Raises ValueError when the lengths do not add up to the data set's.

    Example:

        >>> parts = torch.utils.data.random_split(range(10), [8, 2])
        >>> [len(part) for part in parts]
        [8, 2]
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_of(lengths, len(dataset))  # type: ignore[arg-type]
    if sum(lengths) != len(dataset):  # type: ignore[arg-type]
        raise fail(
            ValueError,
            "Sum of input lengths does not equal the length of the input dataset!",
            f"They add up to {sum(lengths)}, the data set has {len(dataset)} samples.",  # type: ignore[arg-type]
        )
    order = autolab.randperm(sum(lengths), generator=generator).tolist()
    ends = itertools.accumulate(lengths)
    return [Subset(dataset, order[end - length : end]) for end, length in zip(ends, lengths)]


def _lengths_of(fractions, total):
    """Whole numbers in these proportions; what rounding left over goes to the first ones."""
    for i, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise fail(
                ValueError,
                f"Fraction at index {i} is not between 0 and 1",
                "The fractions add up to 1.",
            )
    lengths = [math.floor(total * fraction) for fraction in fractions]
    for i in range(total - sum(lengths)):
        lengths[i % len(lengths)] += 1
    for i, length in enumerate(lengths):
        if length == 0:
            warnings.warn(
                f"Length of split at index {i} is 0. This might result in an empty dataset.",
                stacklevel=3,
            )
    return lengths
