"""`DataLoader`: batches of a data set, fetched in this process or in workers.

Source: https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.DataLoader
"""

from __future__ import annotations

import itertools
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from autolab.engine.devices.device import accelerator
from autolab.engine.core.errors import fail
from autolab.utils.data.collate import default_collate, default_convert
from autolab.utils.data.dataset import Indexed, IterableDataset
from autolab.utils.data.fetch import Fetching
from autolab.utils.data.pin import pinned
from autolab.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler, draw_seed
from autolab.engine.exact.random import Generator
from autolab.engine.exact.refusals import unsupported

_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class DataLoader:
    """Goes through `dataset` in batches; every `for` starts a new pass.

    shuffle: a new random order each pass, PyTorch's for the same seed. sampler, batch_sampler: give indices or lists
    of them instead. collate_fn: makes a batch of a list of samples. generator: draws the order. batch_size=None: single
    samples.

    num_workers: how many processes fetch batches ahead, 0 for none. The batches and their order do not depend on it.
    Each is one batch ahead, whatever prefetch_factor says. worker_init_fn: called in each worker with its number.
    persistent_workers: keep them from pass to pass.
    pin_memory: batches lie in page-locked memory; without a GPU it warns, as PyTorch does.

    Raises ValueError for options that exclude each other. An exception in a worker is raised in the loop, with the
    worker's traceback as its message; RuntimeError when a worker is killed.

    Example:

        >>> loader = torch.utils.data.DataLoader(torch.arange(5), batch_size=2)
        >>> for batch in loader:
        ...     print(batch)
        tensor([0, 1])
        tensor([2, 3])
        tensor([4])
    """

    def __init__(
        self,
        dataset: Indexed,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Sequence[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: None = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
    ) -> None:
        if multiprocessing_context is not None:
            raise unsupported("DataLoader", "multiprocessing_context")
        if timeout:
            raise unsupported(
                "DataLoader", "timeout", "A worker is waited for as long as it takes."
            )
        _check_workers(num_workers, prefetch_factor, persistent_workers)
        self.dataset, self.generator, self.pin_memory = dataset, generator, pin_memory
        self.num_workers, self.worker_init_fn = num_workers, worker_init_fn
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self._iterator: _Pass | None = None
        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable:
            _check_iterable(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            message = "sampler option is mutually exclusive with shuffle"
            raise fail(ValueError, message, "The sampler already says the order.")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                message = "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                raise fail(ValueError, message, "The batch sampler already says the batches.")
            batch_size = None
        elif batch_size is None and drop_last:
            message = "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
            raise fail(ValueError, message, "Without batches there is no last one.")
        if sampler is None:
            if self._iterable:
                sampler = itertools.repeat(None)
            else:
                sampler = (
                    RandomSampler(dataset, generator=generator)  # type: ignore[arg-type]
                    if shuffle
                    else SequentialSampler(dataset)  # type: ignore[arg-type]
                )
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.collate_fn = collate_fn or (
            default_convert if batch_sampler is None else default_collate
        )
        self.persistent_workers = persistent_workers
        _warn_of_many_workers(num_workers)
        self._initialized = True

    def __class_getitem__(cls, item: object) -> type:
        return cls  # DataLoader[Tensor] is for type checkers only

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and self.__dict__.get("_initialized"):
            raise fail(
                ValueError,
                f"{name} attribute should not be set after {type(self).__name__} is initialized",
                "Make a new DataLoader.",
            )
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator[Any]:
        if self.pin_memory and accelerator() is None:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
                "used.",
                stacklevel=2,
            )
        if self.persistent_workers and self._iterator is not None:
            self._iterator.restart(self)
            return self._iterator
        started = _Pass(self)
        if self.persistent_workers:
            self._iterator = started
        return started

    @property
    def _index_sampler(self):
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __len__(self) -> int:
        if not self._iterable:
            return len(self._index_sampler)
        length = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)


class _Pass:
    """One pass through the data set: what `iter(loader)` returns. It does not hold the loader, which may hold it."""

    def __init__(self, loader):
        self._dataset, self._index_sampler = loader.dataset, loader._index_sampler
        self._workers, self._kept = loader.num_workers, loader.persistent_workers
        self._pins = loader.pin_memory and accelerator() is not None
        self._source: Any
        if self._workers:
            self._source = _processes().WorkerPass(loader)
        else:
            indices = iter(loader._index_sampler)
            draw_seed(
                loader.generator
            )  # PyTorch draws a seed for workers even without any: the stream must move on
            self._source = map(Fetching(loader).start(), indices)

    def restart(self, loader):
        """Begin the next pass with the same workers, or with new ones when an error has ended them."""
        if self._source.ended:
            self._source = _processes().WorkerPass(loader)
        else:
            self._source.restart(loader)

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._index_sampler)

    def __next__(self):
        try:
            batch = next(self._source)
        except StopIteration:
            if self._workers and not self._kept:
                self._source.end()
            raise
        return pinned(batch) if self._pins else batch


def _check_workers(num_workers, prefetch_factor, persistent_workers):
    if num_workers < 0:
        message = "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
        raise fail(ValueError, message, "Leave it out to load in this process.")
    note = (
        "Without workers the samples are loaded in this process: leave the options of workers out."
    )
    if not num_workers and prefetch_factor is not None:
        message = "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
        message += "multiprocessing, otherwise set prefetch_factor to None."
        raise fail(ValueError, message, note)
    if not num_workers and persistent_workers:
        raise fail(ValueError, "persistent_workers option needs num_workers > 0", note)


def _processes():
    """The module of the worker processes; RuntimeError where Python has none, as in a browser."""
    if sys.platform not in ("emscripten", "wasi"):
        try:
            from autolab.utils.data import workers

            return workers
        except ImportError:
            pass
    message = f"DataLoader: this Python ({sys.platform}) cannot start worker processes"
    raise fail(RuntimeError, message, "num_workers=0 fetches the same batches in this process.")


def _warn_of_many_workers(num_workers):
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if cores is not None and num_workers > cores:
        warnings.warn(
            f"This DataLoader will create {num_workers} worker processes in total. Our suggested max number of worker in "
            f"current system is {cores}, which is smaller than what this DataLoader is going to create. Please be "
            "aware that excessive worker creation might get DataLoader running slow or even freeze, lower the worker number "
            "to avoid potential slowness/freeze if necessary.",
            stacklevel=3,
        )


def _check_iterable(shuffle, sampler, batch_sampler):
    options = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in options.items():
        if value is not None:
            message = f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
            raise fail(ValueError, message, "An iterable data set says its own order.")
