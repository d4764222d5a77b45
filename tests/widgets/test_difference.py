"""Compare: equal runs have no difference; for others the first difference is found, in both libraries."""

import pytest

import autolab


def recorded(lib, program):
    with autolab.record() as recording:
        program(lib)
    return recording


def step(rate):
    def program(lib):
        w = lib.tensor(3.0, requires_grad=True)
        (w * w).backward()
        with lib.no_grad():
            w -= rate * w.grad

    return program


def test_equal_runs_of_both_libraries_have_no_difference():
    torch = pytest.importorskip("torch")
    same = autolab.compare(recorded(autolab, step(0.1)), recorded(autolab, step(0.1)))
    assert (
        same.first is None and repr(same).startswith("No difference in ") and same.differences == ()
    )
    x, real = autolab.tensor(3.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    assert autolab.compare(x * x + x, real * real + real).first is None
    assert autolab.compare(x * x + x, real * real * real).first is not None


def test_numbers_that_part_are_named_where_they_part():
    found = autolab.compare(
        recorded(autolab, step(0.1)), recorded(autolab, step(0.2)), names=("slow", "fast")
    )
    first = found.first
    assert first.left == first.right and first.what == "a number is given: 0.1 in slow, 0.2 in fast"
    assert found.differences[1].what.endswith("; 0.6 in slow, 1.2 in fast")
    before = found.traces[0].frames[: first.left]
    assert [f.text for f in before] == [f.text for f in found.traces[1].frames[: first.left]]
    assert "step, slow" in found._repr_html_() and f"{first.left + 1} | {first.left + 1}" in repr(
        found
    )


def test_what_is_in_one_only_is_told_and_explorers_go_together():
    def twice(lib):
        x = lib.tensor(3.0, requires_grad=True)
        y = x * x
        y.backward(retain_graph=True)
        y.backward()

    def once(lib):
        x = lib.tensor(3.0, requires_grad=True)
        (x * x).backward()

    found = autolab.compare(
        recorded(autolab, twice), recorded(autolab, once), names=("twice", "once")
    )
    assert any(d.right is None and d.what.startswith("only in twice") for d in found.differences)
    left, right = found.explorers()
    left.step = 1
    assert right.step == 1
    right.step = 2
    assert left.step == 2


def loop(lib, rate, start=(1.0, 2.0)):
    w = lib.tensor(list(start), requires_grad=True)
    optimizer = lib.optim.SGD([w], lr=rate)
    with autolab.record() as recording:
        for _ in range(2):
            optimizer.zero_grad()
            (w * w).sum().backward()
            optimizer.step()
    return recording


def test_training_is_compared_across_rates_and_libraries():
    torch = pytest.importorskip("torch")
    assert autolab.compare(loop(autolab, 0.1), loop(torch, 0.1)).differences == ()
    rates = autolab.compare(loop(autolab, 0.1), loop(torch, 0.2), names=("slow", "fast"))
    assert rates.first.what == "lr is 0.1 in slow, 0.2 in fast"
    assert "at [0] 0.8 in slow, 0.6 in fast" in rates.differences[1].what
    assert (
        autolab.compare(loop(autolab, 0.1), loop(autolab, 0.1, (1.0, 3.0))).first.what
        == "`w` is given: at [1] 2 in a, 3 in b"
    )
    shown = rates.explorers()[1].compared
    assert (shown["own"], shown["other"], shown["count"]) == (
        "fast",
        "slow",
        len(rates.differences),
    )
    assert shown["found"][0]["has"] == "lr 0.1" and shown["found"][1]["has"] == "0.8 at [0]"


def test_a_wrong_engine_and_the_right_one_part_where_the_rule_was_exchanged():
    def diamond():
        x = autolab.tensor(2.0, requires_grad=True)
        with autolab.record() as recording:
            a, b = x * x, x * 3
            (a * b + b).backward()
        return recording

    wrong = autolab.specimens["set instead of add"].run(diamond)
    found = autolab.compare(wrong, diamond(), names=("wrong", "right"))
    assert (
        found.first.right is None and "turns the 5 that has arrived at b into 4" in found.first.what
    )
    assert found.differences[-1].what == "x.grad is now 12; 12 in wrong, 39 in right"


def test_an_operation_more_is_the_only_thing_that_differs_forward():
    x = autolab.tensor(2.0, requires_grad=True)
    one, other = x * x + x, (2 * x) * x + x
    found = autolab.compare(one, other)
    forward = [
        d
        for d in found.differences
        if d.left is None and found.traces[1].frames[d.right].event == "compute"
    ]
    assert len(forward) == 1


def test_wrong_names_are_refused():
    x = autolab.tensor(3.0, requires_grad=True)
    with pytest.raises(ValueError, match="names must be two"):
        autolab.compare(x * x, x * x, names="ab")
