"""Special cases of lesson 3's checkers: they train networks, so they draw random numbers, and one
answer is a table."""

import pytest
from lessons.answers03 import LEARNS, RIGHT, WRONG

import autolab as torch
from autolab.lessons import check
from autolab.lessons.book import exercise
from autolab.lessons.exercise import observation
from autolab.lessons.lesson03 import EXERCISES

pytestmark = pytest.mark.trained


@pytest.mark.parametrize("id", EXERCISES)
def test_checking_draws_no_number_from_the_learners_stream(id):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    check(id, RIGHT[id][0])
    check(id, WRONG[id][0][0])
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("id", EXERCISES)
def test_every_try_sees_the_same(id):
    e = exercise(id)
    for case in e.cases:
        assert repr(observation(e, e.reference, case)) == repr(observation(e, e.reference, case))


@pytest.mark.parametrize(("row", "who"), LEARNS.items())
def test_the_table_of_who_gets_a_gradient_is_what_the_engine_does(row, who):
    torch.manual_seed(0)
    a, b, c = (torch.nn.Linear(2, 2) for _ in range(3))
    x = torch.ones(1, 2)
    space = {"a": a, "b": b, "c": c, "x": x, "h": None, "y": None, "no_grad": torch.no_grad}
    if row.startswith("all frozen"):
        for layer in (a, b, c):
            layer.requires_grad_(False)
        loss = c(b(a(x))).sum()
        loss.requires_grad = True
        loss.backward()
    else:
        exec(row, space)
        h, y = space["h"], space["y"]
        (y if y is not None else c(b(h)) if h is not None else c(b(a(x)))).sum().backward()
    got = [name for name, layer in zip("abc", (a, b, c)) if layer.weight.grad is not None]
    assert (" ".join(got) or "nobody") == who
