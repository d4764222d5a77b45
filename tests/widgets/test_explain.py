"""`autolab.explain()`: which error it explains, and what it returns."""

import sys

import pytest

import autolab as torch
from autolab.widgets import Explorer, Message


def fail():
    hours = torch.ones(2, requires_grad=True)
    rates = torch.ones(3)
    return hours.exp() - rates


def text_of(found):
    assert isinstance(found, Explorer)
    return found.text


def test_inside_except_after_it_and_by_name(monkeypatch):
    try:
        fail()
    except RuntimeError as error:
        first, kept = torch.explain(), error
    assert "return hours.exp() - rates" in text_of(first) and text_of(
        torch.explain(kept)
    ) == text_of(first)
    monkeypatch.setattr(sys, "last_value", kept, raising=False)
    assert text_of(torch.explain()) == text_of(first)
    assert (
        first.step == len(first.trace.frames) - 1
        and first.trace.frames[first.step].event == "error"
    )
    assert repr(first) == f"Explanation({first.trace.meta['explanation']['title']})"


def test_with_nothing_to_explain_it_says_so(monkeypatch):
    monkeypatch.delattr(sys, "last_value", raising=False)
    assert isinstance(torch.explain(), Message) and "no error" in repr(torch.explain())
    found = torch.explain(ZeroDivisionError("division by zero"))
    assert isinstance(found, Message) and "is not an error of autolab" in repr(found)
    with pytest.raises(TypeError, match="error must be a tensor, .* or an exception, got str"):
        torch.explain("what?")


def test_inside_a_recording_before_it_ends():
    with torch.record() as recording:
        try:
            fail()
        except RuntimeError:
            found = torch.explain()
    assert found.trace.meta["source"] == "recording" and [
        n.op for n in found.trace.nodes if n.error
    ] == ["sub"]
    assert [n.op for n in recording.trace().nodes if n.error] == ["sub"]


def test_parts_around_the_cause_are_open():
    nn = torch.nn
    deep = nn.Sequential(
        *[nn.Sequential(nn.Linear(3, 3), nn.ReLU()) for _ in range(9)],
        nn.Sequential(nn.Linear(4, 1)),
    )
    try:
        with torch.record():
            deep(torch.ones(2, 3))
    except RuntimeError:
        found = torch.explain()
    failed = found.trace.meta["explanation"]["node"]
    assert set(found._folding.opening(failed)) <= set(found.expanded)
    assert found._folding.fold(found.expanded).boxes[failed].of == failed


@pytest.mark.parametrize("recorded", [False, True])
def test_what_cannot_be_drawn_is_said(recorded):
    layer = torch.nn.LazyLinear(3)
    try:
        if recorded:
            with torch.record():
                layer.weight * 2
        else:
            layer.weight * 2
    except ValueError as error:
        assert "uninitialized" in str(error)
        found = torch.explain()
    assert "uninitialized" in (found.text if isinstance(found, Explorer) else repr(found))


def test_of_numbers():
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    assert "is the first number that is not finite" in text_of(torch.explain((x.log() * 2).sum()))
    with torch.record() as recording:
        x / 0
    assert "x / 0" in text_of(torch.explain(recording))
