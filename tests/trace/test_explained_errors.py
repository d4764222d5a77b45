"""`explain()` names the cause of an error and the remedy, for PyTorch and autolab."""

import re
import warnings

import error_programs
import pytest

import autolab
from autolab.widgets import Message
from autolab.widgets.explanation import Explanation

CASES = error_programs.CASES


def explained(case, library, recorded):
    """Return the text of the explanation of a program that fails."""
    library.manual_seed(0)
    try:
        with pytest.raises(Exception) as error:  # noqa: PT011 (any error at all)
            if recorded:
                with autolab.record():
                    case.run(library)
            else:
                case.run(library)
    finally:
        library.set_grad_enabled(True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = autolab.explain(error.value)
    assert isinstance(found, (Explanation, Message)) and "cannot be drawn" not in found.text, (
        found.text
    )
    return found.text


def library_of(name):
    return autolab if name == "autolab" else pytest.importorskip("torch")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("library", ["torch", "autolab"])
def test_a_recorded_error_has_its_culprit_and_a_remedy(name, library):
    case = CASES[name]
    if case.only not in ("", library):
        pytest.skip(f"an error of {case.only}")
    said = explained(case, library_of(library), recorded=True)
    title, _, text = said.partition("\n")
    assert re.search(case.culprit, text or title, re.DOTALL)
    assert re.search(case.remedy, text, re.DOTALL)
    assert not case.never or not re.search(case.never, text)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("library", ["torch", "autolab"])
def test_an_error_without_a_recording_gets_no_false_advice(name, library):
    case = CASES[name]
    if case.only not in ("", library):
        pytest.skip(f"an error of {case.only}")
    said = explained(case, library_of(library), recorded=False)
    never = case.never and re.search(case.never, said.partition("\n")[2])
    # Without a recording, a step or the program may have changed a value, so both remedies are given.
    assert not never or "A recording" in said


def test_an_explanation_that_cannot_be_drawn_is_still_given(monkeypatch):
    from autolab.trace.errors import explanation

    def broken(*_):
        raise KeyError("g0")

    monkeypatch.setattr(explanation, "of_error", broken)
    found = autolab.explain(ValueError("no such file"))
    assert isinstance(found, Message) and "ValueError: no such file" in found.text


def test_a_step_that_raises_before_any_operation():
    net = autolab.nn.Linear(3, 1)
    opt = autolab.optim.SGD(net.parameters(), lr=0.1)
    with pytest.raises(TypeError) as error, autolab.record():
        for _step in range(2):
            net(autolab.ones(4, 3)).sum().backward()
            opt.step()
            opt.param_groups[0]["lr"] = "0.05"
    assert isinstance(autolab.explain(error.value), Explanation)


def test_an_optimizer_that_is_older_than_the_device():
    with autolab.cuda.simulate():
        net = autolab.nn.Linear(2, 1)
        opt = autolab.optim.Adam(net.parameters())
        net(autolab.ones(1, 2)).sum().backward()
        opt.step()
        net.to("cuda")
        net(autolab.ones(1, 2, device="cuda")).sum().backward()
        with pytest.raises(Exception) as error:  # noqa: PT011 (another task words it)
            opt.step()
        said = autolab.explain(error.value).text
    assert "Make the optimizer after .to(), not before" in said


def test_a_name_that_only_pytorch_has():
    with pytest.raises(AttributeError) as error:
        autolab.fft.fft(autolab.ones(2))
    assert "it exists in PyTorch" in autolab.explain(error.value).text
    assert "not an error of autolab" not in autolab.explain(error.value).text


def test_the_infinity_of_a_mask_is_not_the_first_number_that_is_not_finite():
    scores = autolab.zeros(3, 3, requires_grad=True)
    with autolab.record() as recording:
        mask = autolab.ones(3, 3).triu(1) == 1
        attention = scores.masked_fill(mask, float("-inf")).softmax(-1)
        difference = attention.sum(0) - attention.sum(0)
        loss = -difference.log().sum()
        loss.backward()
    assert "log(difference)" in autolab.explain(recording).text
    scores = autolab.zeros(3, 3, requires_grad=True)
    with autolab.record() as recording:
        scores.masked_fill(mask, float("-inf")).softmax(-1).sum().backward()
    assert "Every number that is known is finite" in autolab.explain(recording).text


def test_what_never_had_a_graph_is_not_blamed():
    net = autolab.nn.Linear(2, 1).requires_grad_(False)
    scale, labels = autolab.tensor(2.0), [1, 0]

    def code():
        target = autolab.tensor(labels)
        loss = (net(autolab.ones(2, 2)).sum() * scale.item() - target).sum()
        loss.backward()

    for recorded in (False, True):
        said = explained(error_programs.Case(lambda _: code(), "", ""), autolab, recorded)
        assert "item()" not in said and "autolab.tensor(labels)` copies" not in said
        assert not recorded or "frozen" in said
