"""Every checker accepts right answers, however they are written, and says of each typical wrong one why it is wrong."""

import importlib

import pytest
from lessons.answers01 import RIGHT, WRONG

from autolab.lessons import check, hint, progress
from autolab.lessons.book import exercise, record
from autolab.lessons.exercise import Case, Exercise, Mistake, judge
from autolab.lessons.lesson01 import EXERCISES

UNANSWERED = {
    "01.9": dict.fromkeys(RIGHT["01.9"][0], ...),
    "01.12": lambda x, y, a, b, c: (-2 * (y - a - b * x).mean(), -2 * (x * (y - a - b * x)).mean(), ...),
}


@pytest.fixture(autouse=True)
def fresh_record():
    record.__init__()


def cases(table):
    return [pytest.param(id, case, id=f"{id}-{n}") for id, given in table.items() for n, case in enumerate(given)]


def test_answers_are_there_for_every_exercise():
    assert list(RIGHT) == list(WRONG) == list(EXERCISES)
    assert len(EXERCISES) == 13
    assert all(len(wrong) >= 4 for wrong in WRONG.values())


@pytest.mark.parametrize(("id", "answer"), cases(RIGHT))
def test_right_answer_is_accepted(id, answer):
    verdict = judge(exercise(id), answer)
    assert verdict.status == "agrees", verdict
    assert [o.case.text for o in verdict.outcomes] == [c.text for c in exercise(id).cases], "every input was tried"


@pytest.mark.parametrize(("id", "case"), cases(WRONG))
def test_wrong_answer_is_diagnosed(id, case):
    answer, words = case
    verdict = judge(exercise(id), answer)
    assert verdict.status == "differs"
    assert words in verdict.why
    assert f"Why: {verdict.why}" in repr(check(id, answer)) or exercise(id).given is not None


@pytest.mark.parametrize("id", EXERCISES)
@pytest.mark.parametrize("kind", ["None", "...", "skeleton"])
def test_unanswered_is_friendly(id, kind):
    skeleton = UNANSWERED.get(id, lambda *args: ...)
    if kind == "skeleton" and not callable(skeleton) and not isinstance(skeleton, dict):
        skeleton = ...
    answer = {"None": None, "...": ..., "skeleton": ... if id in ("01.11a", "01.11b") else skeleton}[kind]
    text = repr(check(id, answer))
    assert text.splitlines()[0] == f"Exercise {id} ({exercise(id).title}): not answered yet"
    assert f'hint("{id}") gives the first of three hints' in text
    assert "Why" not in text


@pytest.mark.parametrize("id", [id for id, e in EXERCISES.items() if e.given is not None])
def test_given_code_is_not_explained_at_the_first_run(id):
    first = repr(check(id, exercise(id).given))
    assert "not answered yet, it still does what the given code does" in first and "Why" not in first
    assert "Why: " in repr(check(id, exercise(id).given)), "who checks it again wants to know"


@pytest.mark.parametrize("id", EXERCISES)
def test_reference_and_mistakes_are_told_apart(id):
    e = exercise(id)
    assert judge(e, e.reference).status == "agrees"
    for mistake in e.mistakes:
        verdict = judge(e, mistake.answer)
        assert verdict.status == "differs", mistake
        if isinstance(mistake.why, str):
            assert verdict.why == mistake.why, "another mistake with the same effect comes first"


def test_every_exercise_has_three_hints_and_several_inputs():
    for e in EXERCISES.values():
        assert len(e.hints) == 3 and len(set(e.hints)) == 3
        assert len(e.cases) >= 2 and e.cases[0].public
        assert e.tell is False or any(not c.public for c in e.cases), f"{e.id} has no further inputs"
        assert e.leaves_out


def test_partly_answered_table_says_how_much_is_filled_in():
    table = dict.fromkeys(RIGHT["01.9"][0], ...)
    text = repr(check("01.9", table | {"x + 2": False, "x * x": True}))
    assert "not answered yet, 2 of 6 filled in" in text
    wrong = repr(check("01.9", table | {"x + 2": False, "x * x": False}))
    assert "not yet" in wrong and "A product needs its factors" in wrong


def test_public_success_alone_is_not_called_solved():
    overfitted = repr(check("01.4", lambda a, w1, w2, w3, w4: -11))
    assert "solved" not in overfitted and "not yet" in overfitted
    assert "agrees   a = 3" in overfitted and "differs  further: a = -1" in overfitted


def test_failing_public_input_leaves_the_further_ones_untried():
    text = repr(check("01.4", lambda a, w1, w2, w3, w4: 0.0))
    assert "further:" not in text
    assert "Not tried: 2 further inputs, waiting until these agree." in text


def test_solved_says_what_was_tried_and_what_was_not():
    text = repr(check("01.4", RIGHT["01.4"][0]))
    assert "(Sum over the paths): solved" in text
    assert "Tried: 1 public and 2 further inputs, all agree. Not tried: weights that are tensors" in text
    assert "1 of 13 exercises solved." in text


def test_hints_come_one_at_a_time():
    hints = exercise("01.4").hints
    for shown in (1, 2, 3, 3):
        text = repr(hint("01.4"))
        assert [h in text for h in hints] == [n < shown for n in range(3)]
    assert "That was the last hint." in text


def test_progress_counts_and_solved_stays_solved():
    check("01.4", RIGHT["01.4"][0])
    check("01.4", None)
    check("01.8", WRONG["01.8"][0][0])
    lines = repr(progress("01")).splitlines()
    assert lines[0] == "Lesson 01: 1 of 13 exercises solved"
    words = {"01.4": "solved", "01.8": "tried"}
    assert [line.split()[0] for line in lines[1:14]] == [words.get(id, "open") for id in EXERCISES]
    assert lines[14] == "Predictions: 0 of 24 made, 0 of them came true."


def test_unknown_names_are_told_with_the_known_ones():
    with pytest.raises(KeyError, match=r"there is no \"01\.99\"; there are 01\.1, 01\.2"):
        check("01.99", 1)
    with pytest.raises(KeyError, match='there is no lesson "77"'):
        hint("77.1")


def test_nothing_a_learner_writes_can_raise():
    class Odd:
        def __eq__(self, other):
            raise ZeroDivisionError
        __hash__ = None

    for answer in (lambda *a: Odd(), lambda *a: 1 / 0, lambda: 3, Odd(), float("nan"), [], "text", object, int):
        for id in EXERCISES:
            assert "solved" not in repr(check(id, answer)).splitlines()[0]


def test_messages_are_the_same_as_html_and_escaped():
    message = check("01.4", lambda *a: "<b>bold</b>")
    assert "&lt;b&gt;bold&lt;/b&gt;" in message._repr_html_() and "<b>bold" not in message._repr_html_()
    assert "<b>bold</b>" in repr(message)


def test_answers_get_fresh_arguments_in_every_try():
    seen = []

    def observe(answer, numbers):
        seen.append(len(numbers))
        numbers.append(0)
        return {"result": answer(numbers)}

    e = Exercise(id="x", title="", reference=lambda t: 1, cases=(Case("a list", lambda: ([],)),), hints=(),
                 leaves_out="", mistakes=(Mistake(lambda t: 2, "two"),), observe=observe)
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
