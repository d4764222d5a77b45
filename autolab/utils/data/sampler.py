"""Samplers: in which order a data set's samples come.

They draw from the random stream exactly as PyTorch does, so the same seed gives the same order.
Source: https://docs.pytorch.org/docs/2.13/data.html#data-loading-order-and-sampler
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any

import autolab
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.engine.exact.random import Generator


class Sampler:
    """Base class: define `__iter__` (indices) and usually `__len__`."""

    def __class_getitem__(cls, item: object) -> type:
        return cls  # Sampler[int] is for type checkers only

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError


class SequentialSampler(Sampler):
    """0, 1, 2, …"""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


def _check_count(num_samples):
    if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
        raise fail(
            ValueError,
            f"num_samples should be a positive integer value, but got num_samples={num_samples}",
            "Check that the data set is not empty.",
        )


class RandomSampler(Sampler):
    """A random order without repetition, or (replacement=True) random draws. num_samples: how many, by default all."""

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source, self.replacement, self._num_samples, self.generator = (
            data_source,
            replacement,
            num_samples,
            generator,
        )
        if not isinstance(replacement, bool):
            raise fail(
                TypeError,
                f"replacement should be a boolean value, but got replacement={replacement}",
                "Pass True or False.",
            )
        _check_count(self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many indices come."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n, generator = len(self.data_source), self.generator
        if generator is None:  # a generator of its own, seeded from the default stream
            generator = autolab.Generator()
            generator.manual_seed(draw_seed(None))
        if self.replacement:
            for size in [32] * (self.num_samples // 32) + [self.num_samples % 32]:
                yield from autolab.randint(0, n, (size,), generator=generator).tolist()
        else:
            for _ in range(self.num_samples // n):
                yield from autolab.randperm(n, generator=generator).tolist()
            yield from autolab.randperm(n, generator=generator).tolist()[: self.num_samples % n]

    def __len__(self) -> int:
        return self.num_samples


def draw_seed(generator):
    """A random 63-bit integer."""
    return int(autolab.empty((), dtype=autolab.int64).random_(generator=generator).item())


class SubsetRandomSampler(Sampler):
    """The given indices in random order."""

    def __init__(self, indices: Sequence[Any], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[Any]:
        for i in autolab.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """`num_samples` indices drawn with probabilities proportional to `weights`."""

    def __init__(
        self,
        weights: Sequence[float] | Tensor,
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        _check_count(num_samples)
        if not isinstance(replacement, bool):
            raise fail(
                ValueError,
                f"replacement should be a boolean value, but got replacement={replacement}",
                "Pass True or False.",
            )
        weights = autolab.as_tensor(weights, dtype=autolab.float64)
        if weights.dim() != 1:  # type: ignore[union-attr]
            raise fail(
                ValueError,
                f"weights should be a 1d sequence but given weights have shape {tuple(weights.shape)}",  # type: ignore[union-attr]
                "Pass one weight for each sample.",
            )
        self.weights, self.num_samples, self.replacement, self.generator = (
            weights,
            num_samples,
            replacement,
            generator,
        )

    def __iter__(self) -> Iterator[int]:
        # drawn with the first index: the loader draws its own seed before
        yield from autolab.multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        ).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of `batch_size` indices of another sampler; the last one may be shorter, or is dropped."""

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise fail(
                ValueError,
                f"batch_size should be a positive integer value, but got batch_size={batch_size}",
                "The number of samples in one batch.",
            )
        if not isinstance(drop_last, bool):
            raise fail(
                ValueError,
                f"drop_last should be a boolean value, but got drop_last={drop_last}",
                "Pass True or False.",
            )
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[Any]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        whole, rest = divmod(len(self.sampler), self.batch_size)  # type: ignore[arg-type]
        return whole + (rest > 0 and not self.drop_last)
