"""How one batch is fetched from a data set, in this process or in a worker."""

import itertools


class _MapFetcher:
    """Samples by index."""

    def __init__(self, dataset, collate, batched):
        self._dataset, self._collate, self._batched = dataset, collate, batched
        self._many = getattr(dataset, "__getitems__", None)

    def __call__(self, indices):
        if not self._batched:
            return self._collate(self._dataset[indices])
        return self._collate(
            self._many(indices) if self._many else [self._dataset[index] for index in indices]
        )


class _IterableFetcher:
    """The next samples; raises StopIteration when there are no more."""

    def __init__(self, dataset, collate, batched, drop_last):
        self._samples, self._collate = iter(dataset), collate
        self._batched, self._drop_last, self._ended = batched, drop_last, False

    def __call__(self, places):
        if self._ended:
            raise StopIteration
        if not self._batched:
            return self._collate(next(self._samples))
        batch = list(itertools.islice(self._samples, len(places)))
        self._ended = len(batch) < len(places)
        if not batch or (self._ended and self._drop_last):
            raise StopIteration
        return self._collate(batch)


class Fetching:
    """What a worker has to know to fetch: `start()` makes the function from a batch's indices to the batch."""

    def __init__(self, loader):
        self.dataset, self.iterable = loader.dataset, loader._iterable
        self._collate, self._drop_last = loader.collate_fn, loader.drop_last
        self._batched = loader.batch_sampler is not None

    def start(self):
        """A fetcher at the beginning of the data set."""
        if self.iterable:
            return _IterableFetcher(self.dataset, self._collate, self._batched, self._drop_last)
        return _MapFetcher(self.dataset, self._collate, self._batched)
