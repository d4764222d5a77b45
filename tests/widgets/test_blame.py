"""Blame: scores are gradients (times numbers), the result is drawn and described, and the learner's tensors are
unchanged."""

import re
from pathlib import Path

import numpy as np
import pytest

import autolab


def libraries():
    return [autolab, pytest.importorskip("torch")]


def test_scores_of_both_libraries():
    for lib in libraries():
        x = lib.tensor([[1.0, -2.0], [3.0, 0.0]], requires_grad=True)
        w, spare = lib.tensor([2.0, 5.0], requires_grad=True), lib.tensor(1.0, requires_grad=True)
        w.grad = lib.ones(2)
        y = (x @ w).sum() + (x * 0).sum()
        found = autolab.blame(y, {"x": x, "w": w, "spare": spare}, top=3)
        assert found.gradients["x"].tolist() == [[2.0, 5.0], [2.0, 5.0]]
        assert (
            found.scores["x"].tolist() == [[2.0, -10.0], [6.0, 0.0]] and found.scores["spare"] == 0
        )
        assert [(e.name, e.at, e.score) for e in found.top] == [
            ("x", (0, 1), -10.0),
            ("w", (1,), -10.0),
            ("w", (0,), 8.0),
        ]
        assert found.share == pytest.approx({"x": 18 / 36, "w": 18 / 36, "spare": 0})
        assert w.grad.tolist() == [1.0, 1.0] and x.grad is None
        y.backward()  # the graph is still there
        slopes = autolab.blame((x @ w).sum(), [x], method="gradient", top=1)
        assert slopes.top[0].name == "0" and slopes.top[0].score == 5.0
        assert "it rises" in slopes._repr_html_() and "adds to it" in found._repr_html_()


def test_it_is_told_and_drawn():
    x = autolab.tensor([[1.0, -2.0], [3.0, 0.0]], requires_grad=True)
    image = autolab.ones(1, 1, 16, 16).requires_grad_()
    found = autolab.blame(
        (x * 2).sum() + image[0, 0, 3, 4] * 7,
        {"x": x, "image": image},
        labels={"x": ["cat", "<dog>"]},
        top=2,
    )
    assert repr(found).splitlines()[2:4] == [
        "image[0, 0, 3, 4]   1         7      7",
        "x[1, 0] (<dog>)     3         2      6",
    ]
    html = found._repr_html_()
    assert (
        re.search(r"title='6'>&lt;dog&gt;</span>", html)
        and 'aria-label="Scores of image: 1 of 256 are not 0, the largest is 7"' in html
    )
    assert html.count("<rect") == 2 and "image 37%" in html
    table = autolab.blame((x * 2).sum(), {"x": x})._repr_html_()
    assert "title='score -4'>-2</td>" in table
    assert autolab.widgets.Blame and callable(autolab.blame)  # in either order of access
    image = autolab.arange(81.0).reshape(1, 9, 9).requires_grad_()
    shown = autolab.blame((image * image).sum(), image)._repr_html_()
    assert (
        'aria-label="input itself, white where it is largest"' in shown
        and 'fill-opacity="1.0"' in shown
    )
    big = autolab.ones(5, 5, 200, 200).requires_grad_()
    assert "too many dimensions to draw" in autolab.blame(big.sum(), big)._repr_html_()


def test_of_many_tensors_those_of_the_table_are_drawn():
    many = {f"t{i}": autolab.full((2,), float(i), requires_grad=True) for i in range(10)}
    html = autolab.blame(sum(t.sum() for t in many.values()), many, top=3)._repr_html_()
    assert re.findall(r"<b>(\w+)</b>", html) == ["t9", "t8"]
    assert "Share of all scores: t9 20%, t8 18%" in html and "the other 2 together 2%" in html


def test_of_one_tensor_the_table_is_compared_with_all_of_it():
    x = autolab.tensor([1.0, -2.0, 3.0], requires_grad=True)
    y = (x * 4).sum()
    for asked, words in (
        (2, "The table has 2 of 3 numbers, and 83% of all scores"),
        (9, "The table has all scores"),
    ):
        found = autolab.blame(y, {"x": x}, top=asked)
        assert repr(found).endswith(f"\n{words}") and f" {words}.</p>" in found._repr_html_()
    assert repr(autolab.blame(y * 0, x)).endswith("\nAll scores are 0")


def test_wrong_calls_are_told():
    x = autolab.tensor([1.0, 2.0], requires_grad=True)
    for call, kind, words in (
        (lambda: autolab.blame(x * 2, x), ValueError, r"one number, got shape \(2,\)"),
        (lambda: autolab.blame(2.0, x), TypeError, "loss must be a tensor, got float"),
        (lambda: autolab.blame(x.sum().detach(), x), ValueError, "no graph"),
        (
            lambda: autolab.blame(x.sum(), 3),
            TypeError,
            "inputs must be a tensor, a list or a dict of tensors, got int",
        ),
        (
            lambda: autolab.blame(x.sum(), [x, 3]),
            TypeError,
            r"inputs\[1\]: expected a tensor, got int",
        ),
        (
            lambda: autolab.blame(x.sum(), autolab.ones(2)),
            TypeError,
            r"inputs\[input\] does not require a gradient",
        ),
        (lambda: autolab.blame(x.sum(), x, method="shap"), ValueError, "method must be"),
        (lambda: autolab.blame(x.sum(), x, top=0), ValueError, "top must be"),
        (
            lambda: autolab.blame(x.sum(), x, labels={"input": ["one"]}),
            ValueError,
            "a word for each row",
        ),
    ):
        with pytest.raises(kind, match=words):
            call()


def test_gradient_times_input_is_exact_for_what_is_linear():
    x = autolab.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    w = autolab.tensor([1.0, -2.0, 0.5])
    assert (
        autolab.blame((x @ w.double()).sum(), x).scores["input"].sum()
        == (x @ w.double()).sum().item()
    )


def test_no_file_has_the_name_of_what_is_in_it():
    """An imported file would replace it: `widgets.blame` was a module after a first access to `widgets.Blame`."""
    import autolab.widgets

    files = {path.stem for path in Path(autolab.widgets.__file__).parent.glob("*.py")}
    assert not files & set(autolab.widgets.__all__)
