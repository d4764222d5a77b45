"""Arguments that PyTorch takes and autolab does not: each is refused by its name, never ignored."""

import pytest

import autolab as torch

X, I = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0, 2])
REFUSED = {
    "bins": lambda: torch.histogram(X, torch.tensor([0.0, 2.0, 4.0])),
    "weight": lambda: torch.histogram(X, 3, weight=X),
    "min": lambda: X.clamp(X),
    "max": lambda: X.clamp(0, X),
    "interpolation": lambda: torch.quantile(X, 0.3, interpolation="lower"),
    "out": lambda: torch.stack([X, X], out=X),
    "reduce": lambda: X.scatter(0, I, 1.0, reduce="add"),
    "output_size": lambda: X.repeat_interleave(2, output_size=6),
    "nested list as index": lambda: torch.ones(2, 2)[[[0, 1], [1, 0]]],
    "index of dtype uint8": lambda: X[torch.tensor([1, 0, 1], dtype=torch.uint8)],
}


@pytest.mark.parametrize("argument", REFUSED)
def test_it_is_refused_by_name(argument):
    with pytest.raises(NotImplementedError, match=f"argument '{argument}' is not supported"):
        REFUSED[argument]()
