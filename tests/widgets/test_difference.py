"""Compare: equal runs have no difference, others are told where they first part, by both libraries."""

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
    assert same.first is None and repr(same).startswith("No difference in ") and same.differences == ()
    x, real = autolab.tensor(3.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    assert autolab.compare(x * x + x, real * real + real).first is None
    assert autolab.compare(x * x + x, real * real * real).first is not None


def test_numbers_that_part_are_named_where_they_part():
    found = autolab.compare(recorded(autolab, step(0.1)), recorded(autolab, step(0.2)), names=("slow", "fast"))
    first = found.first
    assert first.left == first.right and "it is 0.6 and 1.2" in first.what
    before = found.traces[0].frames[: first.left]
    assert [f.text for f in before] == [f.text for f in found.traces[1].frames[: first.left]]
    assert "step, slow" in found._repr_html_() and f"{first.left + 1} | {first.left + 1}" in repr(found)


def test_what_is_in_one_only_is_told_and_explorers_go_together():
    def twice(lib):
        x = lib.tensor(3.0, requires_grad=True)
        y = x * x
        y.backward(retain_graph=True)
        y.backward()

    def once(lib):
        x = lib.tensor(3.0, requires_grad=True)
        (x * x).backward()

    found = autolab.compare(recorded(autolab, twice), recorded(autolab, once), names=("twice", "once"))
    assert any(d.right is None and d.what.startswith("only in twice") for d in found.differences)
    left, right = found.explorers()
    left.step = 1
    assert right.step == 1
    right.step = 2
    assert left.step == 2


def test_wrong_names_are_refused():
    x = autolab.tensor(3.0, requires_grad=True)
    with pytest.raises(ValueError, match="names must be two"):
        autolab.compare(x * x, x * x, names="ab")
