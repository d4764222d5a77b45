"""`DataLoader`: batches of a data set, in this process.

Source: https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.DataLoader
"""

import itertools
import warnings

from autolab.engine.errors import fail, unsupported
from autolab.utils.data.collate import default_collate, default_convert
from autolab.utils.data.dataset import IterableDataset
from autolab.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler, draw_seed

_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


def get_worker_info():
    """None: samples are loaded in this process, not in a worker."""
    return None


class DataLoader:
    """Goes through `dataset` in batches; every `for` starts a new pass.

    shuffle: a new random order each pass, PyTorch's for the same seed. sampler, batch_sampler: give indices or lists
    of them
    instead. collate_fn: makes a batch of a list of samples. generator: draws the order. batch_size=None: single
    samples. Raises ValueError for options that exclude each other, NotImplementedError for num_workers > 0.
    """

    def __init__(
        self,
        dataset,
        batch_size=1,
        shuffle=None,
        sampler=None,
        batch_sampler=None,
        num_workers=0,
        collate_fn=None,
        pin_memory=False,
        drop_last=False,
        timeout=0,
        worker_init_fn=None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor=None,
        persistent_workers=False,
        pin_memory_device="",
        in_order=True,
    ):
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        self.dataset, self.generator, self.pin_memory = dataset, generator, pin_memory
        self.pin_memory_device, self.in_order = pin_memory_device, in_order
        self.num_workers, self.prefetch_factor, self.timeout = num_workers, prefetch_factor, timeout
        self.worker_init_fn, self.multiprocessing_context = worker_init_fn, multiprocessing_context
        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable:
            _check_iterable(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise fail(
                ValueError, "sampler option is mutually exclusive with shuffle", "The sampler already says the order."
            )
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise fail(
                    ValueError,
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last",
                    "The batch sampler already says the batches.",
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise fail(
                ValueError,
                "batch_size=None option disables auto-batching and is mutually exclusive with drop_last",
                "Without batches there is no last one.",
            )
        if sampler is None:
            if self._iterable:
                sampler = itertools.repeat(None)
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self.persistent_workers = persistent_workers
        self._initialized = True

    def __class_getitem__(cls, item):
        return cls  # DataLoader[Tensor] is for type checkers only

    def __setattr__(self, name, value):
        if name in _FIXED and self.__dict__.get("_initialized"):
            raise fail(
                ValueError,
                f"{name} attribute should not be set after {type(self).__name__} is initialized",
                "Make a new DataLoader.",
            )
        super().__setattr__(name, value)

    def __iter__(self):
        if self.pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
                "used.",
                stacklevel=2,
            )
        draw_seed(self.generator)  # PyTorch draws a seed for workers here, even without any: the stream must move on
        return _Pass(self)

    def __len__(self):
        if not self._iterable:
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
        length = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)


class _Pass:
    """One pass through the data set."""

    def __init__(self, loader):
        self._batches = self._iterable(loader) if loader._iterable else self._map(loader)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._batches)

    @staticmethod
    def _map(loader):
        dataset, collate = loader.dataset, loader.collate_fn
        if loader.batch_sampler is None:
            yield from (collate(dataset[index]) for index in loader.sampler)
            return
        many = getattr(dataset, "__getitems__", None)
        for indices in loader.batch_sampler:
            yield collate(many(indices) if many else [dataset[index] for index in indices])

    @staticmethod
    def _iterable(loader):
        samples, collate = iter(loader.dataset), loader.collate_fn
        if loader.batch_size is None:
            yield from map(collate, samples)
            return
        while batch := list(itertools.islice(samples, loader.batch_size)):
            if len(batch) == loader.batch_size or not loader.drop_last:
                yield collate(batch)


def _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context):
    note = "autolab loads data in this process: leave the options of workers out."
    if num_workers < 0:
        raise fail(
            ValueError, "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.", note
        )
    if timeout < 0:
        raise fail(ValueError, "timeout option should be non-negative", note)
    if num_workers > 0:
        raise unsupported("DataLoader", "num_workers", "autolab loads data in this process: use num_workers=0.")
    if prefetch_factor is not None:
        raise fail(
            ValueError,
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
            "multiprocessing, otherwise set prefetch_factor to None.",
            note,
        )
    if persistent_workers:
        raise fail(ValueError, "persistent_workers option needs num_workers > 0", note)
    if multiprocessing_context is not None:
        raise fail(
            ValueError,
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
            f"num_workers={num_workers}",
            note,
        )


def _check_iterable(shuffle, sampler, batch_sampler):
    if shuffle:
        given = ("shuffle", shuffle)
    elif sampler is not None:
        given = ("sampler", sampler)
    elif batch_sampler is not None:
        given = ("batch_sampler", batch_sampler)
    else:
        return
    raise fail(
        ValueError,
        f"DataLoader with IterableDataset: expected unspecified {given[0]} option, but got {given[0]}={given[1]}",
        "An iterable data set says its own order.",
    )
