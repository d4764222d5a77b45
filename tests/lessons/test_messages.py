"""What `check`, `hint` and `progress` say, on exercises of lesson 1; and how the judge tries an answer."""

import ast
import importlib
import re
import traceback
from pathlib import Path

import pytest
from lessons.answers01 import RIGHT, SKELETONS, WRONG

import autolab as torch
from autolab.lessons import check, hint, progress
from autolab.lessons.book import exercise
from autolab.lessons.exercise import Case, Exercise, Mistake, judge
from autolab.lessons.lesson01 import EXERCISES
from autolab.lessons.notebook import outside
from autolab.widgets.message import Message


def test_partly_answered_table_says_how_much_is_filled_in():
    table = SKELETONS["01.10"]
    text = repr(check("01.10", table | {"x + 2": False, "x * x": True}))
    assert "not answered yet, 2 of 6 filled in" in text
    wrong = repr(check("01.10", table | {"x + 2": False, "x * x": False}))
    assert "not yet" in wrong and "a product needs its factors" in wrong


def test_public_success_alone_is_not_called_solved():
    overfitted = repr(check("01.3", lambda a, w1, w2, w3, w4: -11))
    assert "solved" not in overfitted and "not yet" in overfitted
    assert "agrees   a = 3" in overfitted and "differs  further: a = -1" in overfitted


def test_failing_public_input_leaves_the_further_ones_untried():
    text = repr(check("01.3", lambda a, w1, w2, w3, w4: 0.0))
    assert "further:" not in text
    assert "Not tried: 2 further inputs, waiting until these agree." in text


def test_solved_says_what_was_tried_and_what_was_not():
    text = repr(check("01.3", RIGHT["01.3"][0]))
    assert "(Sum over the paths): solved" in text
    assert (
        "Tried: 1 public and 2 further inputs, all agree. Not tried: weights that are tensors"
        in text
    )
    assert "1 of 16 exercises solved." in text


def test_hints_come_one_at_a_time():
    hints = exercise("01.3").hints
    for shown, following in (
        (1, "the first of three hints"),
        (2, "the next hint"),
        (3, "the next hint"),
    ):
        assert f'Stuck? hint("01.3") gives {following}.' in repr(check("01.3", ...))
        text = repr(hint("01.3"))
        assert [h in text for h in hints] == [n < shown for n in range(3)]
    assert "That was the last hint." in text and "def slope" not in text
    assert 'Stuck? hint("01.3") gives a solution.' in repr(check("01.3", ...))
    for _ in range(2):
        assert "given up" in repr(hint("01.3")) and "    return -(w3 * w1) - (w4 * w2)" in repr(
            hint("01.3")
        )


def test_after_solving_there_is_another_way_to_write_it():
    verdict = check("01.2", RIGHT["01.2"][0])
    assert verdict.solved and [head for head, _ in verdict.code] == [
        "A solution:",
        "Another way, as a parameter, which is a leaf:",
    ]
    assert not check("01.2", WRONG["01.2"][0][0]).code
    assert "<pre" in verdict._repr_html_() and "requires_grad_()" in repr(verdict)


def test_progress_counts_and_solved_stays_solved():
    check("01.3", RIGHT["01.3"][0])
    check("01.3", None)
    check("01.9", WRONG["01.9"][0][0])
    lines = repr(progress("01")).splitlines()
    assert lines[0] == "Lesson 01: 1 of 16 exercises solved"
    words = {"01.3": "solved", "01.9": "tried"}
    assert [line.split()[0] for line in lines[1:17]] == [words.get(id, "open") for id in EXERCISES]
    assert lines[17] == "Predictions: 0 of 36 made, 0 of them came true."


def test_unknown_names_are_told_with_the_known_ones():
    with pytest.raises(KeyError, match=r"has no exercise \"01\.99\"; it has 01\.1, 01\.2"):
        check("01.99", 1)
    with pytest.raises(KeyError, match='no lesson is called "77"; the kit has "01"'):
        hint("77.1")


def test_messages_are_the_same_as_html_and_escaped():
    message = check("01.3", lambda *a: "<b>bold</b>")
    assert (
        "&lt;b&gt;bold&lt;/b&gt;" in message._repr_html_()
        and "<b>bold" not in message._repr_html_()
    )
    assert "<b>bold</b>" in repr(message)


def test_code_looks_like_code_wherever_it_stands_in_a_message():
    html = Message("It is: `eval()`", (("not `x < 1`:", "`y`"),), ("`z`",))._repr_html_()
    assert (
        re.findall("<code>(.*?)</code>", html) == ["eval()", "x &lt; 1", "y", "z"]
        and "`" not in html
    )


def test_no_words_are_between_asterisks_for_nothing_would_make_them_slanted():
    package, docstrings, found = Path(torch.__file__).parent, set(), []
    for path in (
        p
        for room in ("lessons", "practice", "inventory", "specimens", "widgets", "trace", "room")
        for p in (package / room).rglob("*.py")
    ):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
                node
            ):
                docstrings.add(node.body[0].value)
            elif (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and node not in docstrings
            ):
                found += re.findall(
                    r"(?:^|[ (])\*{1,2}[a-z][a-z' ]*\*{1,2}(?=[ .,:;?)]|$)",
                    re.sub("`[^`]*`", "", node.value),
                )
    assert not found


def test_answers_get_fresh_arguments_in_every_try():
    seen = []

    def observe(answer, numbers):
        seen.append(len(numbers))
        numbers.append(0)
        return {"result": answer(numbers)}

    e = Exercise(
        id="x",
        title="",
        reference=lambda t: 1,
        cases=(Case("a list", lambda: ([],)),),
        hints=(),
        leaves_out="",
        mistakes=(Mistake(lambda t: 2, "two"),),
        observe=observe,
    )
    assert judge(e, lambda t: 2).why == "two"
    assert set(seen) == {0}


def test_lessons_are_not_imported_with_autolab(monkeypatch):
    import subprocess
    import sys

    late = ("autolab.lessons", "anywidget", "matplotlib")
    code = f"import sys, autolab; print([m for m in sys.modules if m.startswith({late})])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
    assert importlib.import_module("autolab.lessons")


def test_a_row_shows_only_what_differs():
    wrong = lambda values: torch.tensor(values, requires_grad=True) * 0.1
    assert "wanted" not in repr(check("01.2", wrong)), "code that was given tells nothing either"
    for _ in range(3):
        hint("01.2")
    text = repr(check("01.2", wrong))
    assert "is_leaf False, w.grad None (wanted: is_leaf True, w.grad tensor([1., 1.]))" in text
    assert "requires_grad" not in text, "that was right"


@pytest.mark.compiled
def test_tracebacks_leave_out_the_kit_and_what_it_compiled_but_not_what_the_learner_did():
    variables = {"__name__": "__main__", "torch": torch}
    exec("def own(x):\n    return x + torch.ones(2)", variables)
    with pytest.raises(RuntimeError) as caught:
        variables["own"](torch.ones(2, 3))
    files, names = zip(
        *((f.filename, f.name) for f in traceback.extract_tb(caught.tb)), strict=True
    )
    assert sum("path of add>" in file for file in files) == 2, "else nothing is tested"
    left = [f.name for f in traceback.extract_tb(outside(caught.tb))]
    assert left == [names[0], "own"]


def test_an_error_that_was_met_is_named_for_what_it_is():
    for _ in range(3):
        hint("03.11")
    text = " ".join(
        repr(
            check("03.11", lambda model, state: model.load_state_dict(state, strict=False))
        ).split()
    )
    assert (
        "gives the error 'RuntimeError about size mismatch' (wanted: the body is that of the file True"
        in text
    )


def test_who_interrupts_an_endless_answer_is_told_where_it_ran_and_sees_no_line_of_the_kit(
    capsys, monkeypatch
):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    monkeypatch.setattr("warnings.formatwarning", None)  # put back afterwards
    shell.run_cell("from autolab.lessons import check, short_messages; short_messages()")
    shell.run_cell("def order(result):\n    raise KeyboardInterrupt\n\ncheck('04.4', order)")
    told = re.sub(r"\x1b\[[0-9;]*m", "", "".join(capsys.readouterr()))
    assert told.count("Your answer was still running, on this input: a chain.") == 1
    assert "in order(result)" in told and "exercise.py" not in told
