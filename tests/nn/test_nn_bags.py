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


@same_as_torch
def test_a_table_made_before(t):
    bag = t.nn.EmbeddingBag.from_pretrained(t.eye(3), mode="sum")
    return [bag.weight.requires_grad, bag(t.tensor([[0, 1], [1, 1]]))]


@pytest.mark.parametrize(
    "options", [{"max_norm": 1.0}, {"include_last_offset": True}, {"sparse": True}]
)
def test_options_that_are_refused(options):
    bag = autolab.nn.EmbeddingBag(3, 2, **options)
    with pytest.raises(NotImplementedError, match=next(iter(options))):
        bag(autolab.tensor([[0, 1]]))


def first_line(action):
    return error_of(action).splitlines()[0]


@same_as_torch
def test_errors_of_bags(t):
    F, w, x = t.nn.functional, t.ones(3, 2), t.tensor([0, 1])
    bag = F.embedding_bag
    return {
        "offsets": error_of(lambda: bag(x, w)),
        "offsets dim": error_of(lambda: bag(x, w, t.tensor([[0]]))),
        "offsets of rows": error_of(lambda: bag(x[None], w, t.tensor([0]))),
        "start": first_line(lambda: bag(x, w, t.tensor([1]))),
        "end": error_of(lambda: bag(x, w, t.tensor([0, 9]))),
        "row": error_of(lambda: bag(t.tensor([9]), w, t.tensor([0]))),
        "dtype": error_of(lambda: bag(t.tensor([0.0]), w, t.tensor([0]))),
        "mode": error_of(lambda: bag(x, w, t.tensor([0]), mode="min")),
        "weight": error_of(lambda: bag(x, w[0], t.tensor([0]))),
        "input": error_of(lambda: bag(x[None, None], w)),
        "padding": error_of(lambda: t.nn.EmbeddingBag(3, 2, padding_idx=3)),
        "table": error_of(lambda: t.nn.EmbeddingBag(3, 2, _weight=t.ones(2, 2))),
        "pretrained": error_of(lambda: t.nn.EmbeddingBag.from_pretrained(t.ones(2))),
    }
