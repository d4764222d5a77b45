"""The checkers of lesson 2 accept right answers, however they are written, and say of each typical wrong one why it is wrong. They bring
their own simulated GPUs, so nothing here depends on the machine."""

import pytest
from lessons.answers02 import RIGHT, WRONG

import autolab as torch
from autolab.lessons import check, hint, progress
from autolab.lessons.book import exercise, record
from autolab.lessons.exercise import judge
from autolab.lessons.lesson02 import EXERCISES, QUESTIONS


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


@pytest.mark.parametrize("id", EXERCISES)
@pytest.mark.parametrize("answer", [None, ..., lambda *args: ...], ids=["None", "...", "skeleton"])
def test_unanswered_is_friendly(id, answer):
    if id == "02.5" and answer not in (None, ...):
        answer = ...
    text = repr(check(id, answer))
    assert text.splitlines()[0] == f"Exercise {id} ({exercise(id).title}): not answered yet"
    assert f'hint("{id}") gives the first of three hints' in text and "Why" not in text


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
        assert verdict.status == "differs" and verdict.why == mistake.why, "another mistake with the same effect comes first"


def test_every_exercise_has_three_hints_and_further_inputs():
    for e in EXERCISES.values():
        assert len(set(e.hints)) == 3 and e.leaves_out
        assert e.cases[0].public and any(not c.public for c in e.cases), e.id


def test_verdicts_do_not_depend_on_the_simulation_of_the_notebook():
    with torch.cuda.simulate(memory="1MiB", profile="laptop") as small:
        assert judge(exercise("02.6"), RIGHT["02.6"][0]).status == "agrees"
        assert judge(exercise("02.12"), RIGHT["02.12"][0]).status == "agrees", "although there is one GPU only"
        assert torch.cuda.device_count() == 1 and small.running
    assert judge(exercise("02.11b"), RIGHT["02.11b"][0]).status == "agrees"


def test_nothing_a_learner_writes_can_raise_or_leave_a_simulation_behind():
    before = torch.cuda.is_available()
    for answer in (lambda *a: 1 / 0, lambda: 3, float("nan"), [], "text", object, int, lambda *a: (yield)):
        for id in EXERCISES:
            assert "solved" not in repr(check(id, answer)).splitlines()[0]
    assert torch.cuda.is_available() is before


def test_progress_and_hints():
    check("02.1", RIGHT["02.1"][0])
    lines = repr(progress("02")).splitlines()
    assert lines[0] == "Lesson 02: 1 of 13 exercises solved"
    assert lines[-1] == f"Predictions: 0 of {len(QUESTIONS)} made, 0 of them came true."
    assert "1 of 3 hints" in repr(hint("02.11a"))


def test_reasons_belong_to_answers_that_can_be_given_and_are_wrong():
    assert list(QUESTIONS) == [f"02.q{n}" for n in range(1, 24)]
    for id, question in QUESTIONS.items():
        assert set(question.because) < set(question.choices), id
        assert len(set(question.choices) - set(question.because)) == 1, f"{id}: only the right answer has no reason"
