"""Data sets, samplers and loaders: PyTorch's order for the same seed, its batches, its words."""

import warnings
from collections import namedtuple

import numpy as np
import pytest
from goldens.oracle import check, error_of, same_as_torch

import autolab


def dataset(t, n=10):
    return t.utils.data.TensorDataset(t.arange(float(n)).view(n, 1), t.arange(n) % 3)


LOADERS = {
    "in order": lambda d, s, t: d.DataLoader(s, batch_size=4),
    "one by one": lambda d, s, t: d.DataLoader(s),
    "shuffled": lambda d, s, t: d.DataLoader(s, batch_size=4, shuffle=True),
    "drop_last": lambda d, s, t: d.DataLoader(s, batch_size=4, shuffle=True, drop_last=True),
    "generator": lambda d, s, t: d.DataLoader(
        s, batch_size=3, shuffle=True, generator=t.Generator().manual_seed(7)
    ),
    "sampler": lambda d, s, t: d.DataLoader(
        s, batch_size=3, sampler=d.SubsetRandomSampler([1, 3, 5, 7])
    ),
    "list as sampler": lambda d, s, t: d.DataLoader(s, batch_size=2, sampler=[3, 1, 2]),
    "with replacement": lambda d, s, t: d.DataLoader(
        s, batch_size=16, sampler=d.RandomSampler(s, replacement=True, num_samples=70)
    ),
    "more than there are": lambda d, s, t: d.DataLoader(
        s, batch_size=9, sampler=d.RandomSampler(s, num_samples=25)
    ),
    "weighted": lambda d, s, t: d.DataLoader(
        s, batch_size=5, sampler=d.WeightedRandomSampler([0.1] * 5 + [3.0] * 5, 20)
    ),
    "weighted, each once": lambda d, s, t: d.DataLoader(
        s,
        batch_size=5,
        sampler=d.WeightedRandomSampler([0.1] * 5 + [3.0] * 5, 6, replacement=False),
    ),
    "batch_sampler": lambda d, s, t: d.DataLoader(
        s, batch_sampler=d.BatchSampler(d.RandomSampler(s), 4, True)
    ),
    "batches by hand": lambda d, s, t: d.DataLoader(s, batch_sampler=[[0, 2], [5]]),
    "no batches": lambda d, s, t: d.DataLoader(s, batch_size=None, shuffle=True),
    "collate_fn": lambda d, s, t: d.DataLoader(
        s, batch_size=4, collate_fn=lambda samples: [int(y) for _, y in samples]
    ),
    "subset": lambda d, s, t: d.DataLoader(d.Subset(s, [8, 1, 1]), batch_size=2),
    "two data sets": lambda d, s, t: d.DataLoader(s + d.Subset(s, [0]), batch_size=6),
}


@pytest.mark.parametrize("name", LOADERS)
def test_batches(name):
    def program(t):
        t.manual_seed(5)
        loader = LOADERS[name](t.utils.data, dataset(t), t)
        epochs = [list(loader), list(loader)]
        return [epochs, len(loader), t.rand(1)]  # and the stream stands where PyTorch's stands

    check("test_utils_data", name, program)


@same_as_torch
def test_iterable_data(t):
    d = t.utils.data

    class Count(d.IterableDataset):
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            return iter(range(self.n))

        def __len__(self):
            return self.n

    found = [
        list(d.DataLoader(Count(5), batch_size=2)),
        list(d.DataLoader(Count(5), batch_size=2, drop_last=True)),
        len(d.DataLoader(Count(5), batch_size=2)),
        list(d.DataLoader(Count(3), batch_size=None)),
    ]
    return [
        *found,
        error_of(lambda: d.DataLoader(Count(2), shuffle=True)),
        error_of(lambda: d.DataLoader(Count(2), sampler=[1])),
    ]


@same_as_torch
def test_random_split(t):
    d, s = t.utils.data, dataset(t)
    t.manual_seed(1)
    found = [
        [part.indices for part in d.random_split(s, lengths)]
        for lengths in ([7, 3], [0.5, 0.3, 0.2], [0.33, 0.33, 0.34])
    ]
    found.append(
        [p.indices for p in d.random_split(s, [5, 5], generator=t.Generator().manual_seed(3))]
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        d.random_split(d.Subset(s, [0]), [0.5, 0.5])
    return [
        *found,
        [str(w.message) for w in caught],
        error_of(lambda: d.random_split(s, [7, 4])),
        error_of(lambda: d.random_split(s, [1.5, -0.5])),
        t.rand(1),
    ]


Point = namedtuple("Point", "x y")


@same_as_torch
def test_default_collate(t):
    collate = t.utils.data.default_collate
    return [
        collate([t.ones(2), t.zeros(2)]),
        collate([1, 2]),
        collate([1.5, 2.0]),
        collate([True, False]),
        collate(["a", "b"]),
        collate([b"a"]),
        collate([np.ones(2, np.float32), np.zeros(2, np.float32)]),
        collate([np.float32(1), np.float32(2)]),
        collate([np.int32(3), np.int32(4)]),
        collate([(1, 2.0), (3, 4.0)]),
        collate([[1, "a"], [3, "b"]]),
        collate([{"a": 1, "b": [t.ones(1)]}, {"a": 2, "b": [t.zeros(1)]}]),
        repr(collate([Point(1, 2.0), Point(3, 4.0)])),
        collate([t.tensor(3), t.tensor(4)]),
        error_of(lambda: collate([None])),
        error_of(lambda: collate([np.array("a")])),
        error_of(lambda: collate([[1], [1, 2]])),
        error_of(lambda: collate([t.ones(2), t.ones(3)])),
        error_of(lambda: collate([{1}])),
    ]


@same_as_torch
def test_default_convert(t):
    convert = t.utils.data.default_convert
    return [
        convert(np.ones(2)),
        convert(3),
        convert("a"),
        convert({"a": np.zeros(1)}),
        convert((np.ones(1), 2)),
        convert([np.int64(3)]),
        repr(convert(Point(np.ones(1), 2))),
    ]


@same_as_torch
def test_errors(t):
    d, s = t.utils.data, dataset(t)
    loader = d.DataLoader(s)
    return {
        name: error_of(action)
        for name, action in {
            "item": lambda: d.Dataset()[0],
            "sizes": lambda: d.TensorDataset(t.ones(2), t.ones(3)),
            "no data sets": lambda: d.ConcatDataset([]),
            "index": lambda: d.ConcatDataset([s])[-11],
            "batch_size": lambda: d.DataLoader(s, batch_size=0),
            "batch": lambda: d.DataLoader(s, batch_size=2.5),
            "sampler and shuffle": lambda: d.DataLoader(s, shuffle=True, sampler=[1]),
            "batch_sampler": lambda: d.DataLoader(s, batch_size=2, batch_sampler=[[1]]),
            "drop_last": lambda: d.DataLoader(s, batch_size=None, drop_last=True),
            "workers": lambda: d.DataLoader(s, num_workers=-1),
            "prefetch": lambda: d.DataLoader(s, prefetch_factor=2),
            "persistent": lambda: d.DataLoader(s, persistent_workers=True),
            "empty": lambda: d.DataLoader([], shuffle=True),
            "replacement": lambda: d.RandomSampler(s, replacement=1),
            "num_samples": lambda: d.RandomSampler(s, num_samples=0),
            "weights": lambda: d.WeightedRandomSampler([[1.0]], 3),
            "weighted samples": lambda: d.WeightedRandomSampler([1.0], -1),
            "weighted replacement": lambda: d.WeightedRandomSampler([1.0], 1, 3),
            "batch drop": lambda: d.BatchSampler([1], 2, 3),
            "fixed": lambda: setattr(loader, "batch_size", 3),
            "too far": lambda: s[10],
        }.items()
    }


def test_a_data_set_of_ones_own_with_type_hints():
    from autolab.utils.data import DataLoader, Dataset

    class Squares(Dataset[int]):
        def __len__(self):
            return 5

        def __getitem__(self, i):
            if i >= 5:
                raise IndexError
            return {"x": float(i), "y": i * i}

    loader: DataLoader[dict] = DataLoader(Squares(), batch_size=2)
    assert [batch["y"].tolist() for batch in loader] == [[0, 1], [4, 9], [16]]
    assert next(iter(loader))["x"].dtype is autolab.float64


class Squares:
    """A data set that gives several samples at once."""

    def __len__(self):
        return 7

    def __getitem__(self, index):
        return index**2

    def __getitems__(self, indices):
        return [("together", index**2) for index in indices]


@same_as_torch
def test_several_samples_at_once(t):
    D = t.utils.data
    data = [
        Squares(),
        D.Subset(Squares(), [3, 1, 5]),
        D.Subset(range(9), [3, 1, 5]),
        D.ConcatDataset([Squares(), range(3)]),
    ]
    return [list(D.DataLoader(dataset, batch_size=3)) for dataset in data]


@same_as_torch
def test_an_iterable_data_set_without_iter(t):
    return error_of(lambda: t.utils.data.IterableDataset()).split(" with")[0]
