"""Embedding bags against PyTorch."""

import pytest
from goldens.oracle import check, error_of, same_as_torch

import autolab

BAGS = {
    "sum": {"mode": "sum"},
    "mean": {},
    "max": {"mode": "max"},
    "padding": {"padding_idx": 1},
    "max padding": {"mode": "max", "padding_idx": -4},
}


@pytest.mark.parametrize("name", BAGS)
def test_bags(name):
    def program(t):
        t.manual_seed(0)
        bag = t.nn.EmbeddingBag(5, 3, **BAGS[name])
        numbers, starts = t.tensor([1, 2, 0, 3, 1, 4]), t.tensor([0, 2, 2, 5])
        before = [repr(bag), bag.weight.detach().clone(), list(bag.state_dict())]
        line, rows = bag(numbers, starts), bag(numbers.reshape(2, 3))
        (line * t.arange(12.0).reshape(4, 3)).sum().backward()
        return [before, line, rows, bag.weight, bag.weight.grad]

    check("test_nn_bags", f"bag {name}", program)


@pytest.mark.parametrize(
    "options", [{"max_norm": 1.0}, {"include_last_offset": True}, {"sparse": True}]
)
def test_options_that_are_refused(options):
    bag = autolab.nn.EmbeddingBag(3, 2, **options)
    with pytest.raises(NotImplementedError, match=next(iter(options))):
        bag(autolab.tensor([[0, 1]]))


@same_as_torch
def test_errors_of_bags(t):
    x, bag = t.tensor([0, 1]), t.nn.EmbeddingBag(3, 2)
    return {
        "offsets": error_of(lambda: bag(x)),
        "offsets dim": error_of(lambda: bag(x, t.tensor([[0]]))),
        "offsets of rows": error_of(lambda: bag(x[None], t.tensor([0]))),
        "row": error_of(lambda: bag(t.tensor([9]), t.tensor([0]))),
        "mode": error_of(lambda: t.nn.EmbeddingBag(3, 2, mode="min")(x, t.tensor([0]))),
        "input": error_of(lambda: bag(x[None, None])),
        "padding": error_of(lambda: t.nn.EmbeddingBag(3, 2, padding_idx=3)),
        "table": error_of(lambda: t.nn.EmbeddingBag(3, 2, _weight=t.ones(2, 2))),
        "pretrained": error_of(lambda: t.nn.EmbeddingBag.from_pretrained(t.ones(2))),
    }
