"""Positions and counts are int64 where NumPy counts in 32 bits, as it does in a browser (Pyodide) and on 32-bit
processors."""

import numpy as np
import pytest

import autolab as torch
from autolab.viz.confusion import confusion_matrix

X = torch.tensor([[3.0, 1.0, 2.0], [1.0, 5.0, 5.0]])
N = torch.tensor([0, 2, 2, 1])

FOUND = {
    "argmax": lambda: [X.argmax(), X.argmax(1), X.argmax(0, keepdim=True), X.argmax(keepdim=True)],
    "argmin": lambda: [X.argmin(), X.argmin(1)],
    "max, min": lambda: [X.max(1).indices, X.min(0, keepdim=True).indices],
    "argsort, sort, topk": lambda: [
        X.argsort(),
        X.argsort(0, True),
        X.sort(1)[1],
        X.sort(1, True)[1],
        X.topk(2)[1],
        X.topk(1, largest=False)[1],
    ],
    "nonzero": lambda: [
        X.nonzero(),
        *X.nonzero(as_tuple=True),
        torch.argwhere(X),
        torch.tensor(1.0).nonzero(),
        *torch.where(X > 2),
    ],
    "bincount": lambda: [N.bincount(), N.bincount(minlength=9)],
    "multinomial": lambda: [torch.multinomial(X, 2), torch.multinomial(X[0], 5, replacement=True)],
}


PICKED = {
    "index_select": lambda: X.index_select(1, torch.tensor([2, 0])),
    "bincount with weights": lambda: N.bincount(torch.tensor([1.0, 2.0, 3.0, 4.0])),
    "histc": lambda: X.histc(3),
    "repeat_interleave": lambda: X.repeat_interleave(torch.tensor([1, 2]), dim=0),
    "pad by reflection": lambda: torch.nn.functional.pad(X[None], (1, 1), mode="reflect"),
    "pad by repetition": lambda: torch.nn.functional.pad(X[None], (1, 2), mode="replicate"),
    "embedding's gradient": lambda: embedding_gradient(),
    "interpolate bilinear": lambda: resized(mode="bilinear"),
    "adaptive pooling": lambda: torch.nn.functional.adaptive_avg_pool2d(X[None], (1, 2)),
    "cross entropy": lambda: torch.nn.functional.cross_entropy(X, torch.tensor([0, 2])),
    "confusion matrix": lambda: torch.tensor(confusion_matrix([0, 1, 1], [0, 1, 0])),
}
"""Operations that NumPy picks, counts or adds by positions for."""


def embedding_gradient():
    table = torch.ones(3, 2, requires_grad=True)
    torch.nn.functional.embedding(N, table).sum().backward()
    return table.grad


def resized(**how):
    image = X[None, None].clone().requires_grad_()
    out = torch.nn.functional.interpolate(image, size=(3, 2), **how)
    return torch.cat(
        [out.reshape(-1), torch.autograd.grad(out.square().sum(), image)[0].reshape(-1)]
    )


def refusing(function):
    """Make a function refuse positions in int64, as NumPy does where `intp` is int32."""

    def call(*args, **kwargs):
        for argument in (*args[1 if function is np.take else 0 :], *kwargs.values()):
            if getattr(argument, "dtype", None) == np.int64:
                raise TypeError("Cannot cast array data from dtype('int64') to dtype('int32')")
        return function(*args, **kwargs)

    return call


class Refusing:
    """A ufunc whose `reduceat` refuses positions in int64."""

    def __init__(self, ufunc):
        self._ufunc = ufunc
        self.reduceat = refusing(lambda values, edges, axis: ufunc.reduceat(values, edges, axis))

    def __call__(self, *args, **kwargs):
        return self._ufunc(*args, **kwargs)

    def __getattr__(self, name):
        return getattr(self._ufunc, name)


@pytest.mark.parametrize("name", PICKED)
def test_numpy_gets_positions_in_the_dtype_that_it_accepts(monkeypatch, name):
    expected = PICKED[name]()
    for function in ("take", "put", "repeat", "bincount", "choose"):
        monkeypatch.setattr(np, function, refusing(getattr(np, function)))
    monkeypatch.setattr(np, "add", Refusing(np.add))
    monkeypatch.setattr(np, "intp", np.int32)
    with pytest.raises(TypeError, match="int64"):
        np.take(np.ones(3), np.array([1]))
    assert torch.equal(PICKED[name](), expected)


def in_32_bits(function):
    def narrow(found):
        if isinstance(found, tuple):
            return tuple(map(narrow, found))
        return found.astype(np.int32) if getattr(found, "dtype", None) == np.intp else found

    def call(*args, **kwargs):
        found = function(*args, **kwargs)
        if function is np.unique and isinstance(found, tuple):  # the values keep their dtype
            return found[0], *narrow(tuple(found[1:]))
        return found if kwargs.get("dtype") is not None else narrow(found)

    return call


@pytest.fixture
def numpy_of_32_bits(monkeypatch):
    """NumPy's functions that find or count answer in int32."""
    for name in (
        "argmax",
        "argmin",
        "argsort",
        "nonzero",
        "flatnonzero",
        "unique",
        "bincount",
        "cumsum",
    ):
        monkeypatch.setattr(np, name, in_32_bits(getattr(np, name)))


@pytest.mark.parametrize("name", FOUND)
def test_positions_and_counts_are_int64(numpy_of_32_bits, name):
    assert np.asarray(np.argmax(np.ones(3))).dtype == np.int32
    assert {found.dtype for found in FOUND[name]()} == {torch.int64}


def test_masks_select_and_write_all_the_same(numpy_of_32_bits):
    x = X.clone()
    x[x > 2] = 0
    assert x.tolist() == [[0, 1, 2], [1, 0, 0]] and X[X > 2].tolist() == [3, 5, 5]
    assert X[torch.tensor(True)].shape == (1, 2, 3)
