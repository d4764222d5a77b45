"""Lesson 4 from top to bottom, with learners who answer right, wrong, or not at all."""

import contextlib
import io
import linecache
import re
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from lessons.answers04 import WRONG

from autolab.lessons.lesson04 import beside, engine, finish, use
from autolab.lessons.solutions import solutions

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import build_notebook  # noqa: E402

CELLS = build_notebook.cells(build_notebook.COURSE / "src" / "04_engine")
ANSWER = re.compile(r'^check\("(04\.\d)", (\w+)\)$', re.M)


def run(answers: str) -> tuple[dict, str]:
    """The lesson's names and what it prints. answers: "right", "wrong" or "none"."""
    space: dict = {"display": lambda shown: None, "__name__": "lesson"}
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        for cell in CELLS:
            asked = ANSWER.search(cell.source) if cell.cell_type == "code" else None
            if asked and answers == "right":
                typed = solutions(asked[1])[0].source
                linecache.cache[asked[1]] = (
                    len(typed),
                    None,
                    typed.splitlines(keepends=True),
                    asked[1],
                )
                exec(compile(typed, asked[1], "exec"), space)
            elif asked and answers == "wrong":
                space[asked[2]] = WRONG[asked[1]][0][0]
                space.setdefault("share", lambda child, parent, local: local)
            elif cell.cell_type == "code":
                exec(cell.source, space)
    plt.close("all")
    return space, told.getvalue()


@pytest.mark.parametrize("answers", ["right", "wrong", "none"])
def test_the_lesson_runs_to_its_end_whatever_is_answered(answers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space, told = run(answers)
    whose = re.findall(r"^In use: (your|the model's) ", told, re.M)
    assert whose == ["your" if answers == "right" else "the model's"] * 9
    assert (
        "3,340 gradients from one run forward and one back" in told
        and "largest difference from autolab's gradients: 0.0000000000" in told
    )
    assert int(re.search(r"^trained: (\d+) of 360", told, re.M)[1]) > 300
    assert (tmp_path / "my_engine.html").stat().st_size > 100_000
    assert [n.label for n in space["explorer"].trace.nodes if n.kind == "leaf"] == [
        "digit",
        "W1",
        "b1",
        "W2",
        "b2",
    ]
    assert not hasattr(engine.Value, "backward"), (
        "what the notebook gives to its class is the notebook's"
    )
    head, text = beside(space["order"], "backward.plan").pieces[0]
    assert head == ("yours: order" if answers == "right" else "the model's: order")
    assert text.startswith("def order(result")


def test_a_part_is_the_models_until_its_checker_agrees(capsys):
    assert use("04.7", lambda self: ...) is engine.tanh and "the model's" in capsys.readouterr().out
    assert (
        use("04.7", engine.tanh) is engine.tanh and "In use: your tanh" in capsys.readouterr().out
    )
    multiplies = lambda child, parent, local: child.grad * local  # noqa: E731
    assert use("04.5", multiplies, engine.straight) == (multiplies, engine.straight)
    assert use("04.5", lambda *given: ..., engine.straight) == (engine.share, engine.straight), (
        "a share that sends nothing is no share"
    )


def test_a_backward_that_does_without_share_does_not_fit_arrays(capsys):
    def backward(result):
        result.grad = 1.0
        for child in engine.order(result):
            for parent, local in zip(child.parents, child.local):
                parent.grad = parent.grad + child.grad * local

    assert (
        finish(backward) is engine.backward and "does not call share()" in capsys.readouterr().out
    )


def test_what_is_shown_of_the_core_is_its_source():
    ((head, text),) = beside(None, "tensor.Tensor").pieces
    assert (
        head == "engine/core/tensor.py: Tensor"
        and text.startswith("class Tensor(")
        and text.endswith("...")
    )
    assert "def deliver(self" in repr(beside(None, "backward.BackwardPass.deliver"))
    with pytest.raises(AttributeError):
        beside(None, "backward.nothing")
