"""The checkers of lesson 3 accept right answers, however they are written, and say of each typical wrong one why it is wrong."""

import pytest
from lessons.answers03 import LEARNS, RIGHT, WRONG

import autolab as torch
from autolab.lessons import check, progress
from autolab.lessons.book import exercise, record
from autolab.lessons.exercise import judge, observation
from autolab.lessons.lesson03 import EXERCISES, QUESTIONS


@pytest.fixture(autouse=True)
def fresh_record():
    record.__init__()


def cases(table):
    return [pytest.param(id, case, id=f"{id}-{n}") for id, given in table.items() for n, case in enumerate(given)]


def test_answers_are_there_for_every_exercise():
    assert list(RIGHT) == list(WRONG) == list(EXERCISES)
    assert len(EXERCISES) == 12
    assert all(len(right) >= 2 for right in RIGHT.values()) and all(len(wrong) >= 4 for wrong in WRONG.values())


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
def test_reference_and_mistakes_are_told_apart(id):
    e = exercise(id)
    assert judge(e, e.reference).status == "agrees"
    for mistake in e.mistakes:
        verdict = judge(e, mistake.answer)
        assert verdict.status == "differs", mistake
        assert verdict.why == mistake.why, "another mistake with the same effect comes first"


@pytest.mark.parametrize("id", EXERCISES)
def test_unanswered_is_friendly(id):
    skeleton = dict.fromkeys(LEARNS, ...) if id == "03.3" else lambda *args: ...
    for answer in (None, ..., skeleton):
        text = repr(check(id, answer))
        assert text.splitlines()[0] == f"Exercise {id} ({exercise(id).title}): not answered yet"
        assert f'hint("{id}") gives the first of three hints' in text and "Why" not in text


@pytest.mark.parametrize("id", [id for id, e in EXERCISES.items() if e.given is not None])
def test_given_code_is_not_explained_at_the_first_run(id):
    first = repr(check(id, exercise(id).given))
    assert "not answered yet, it still does what the given code does" in first and "Why" not in first
    assert "Why: " in repr(check(id, exercise(id).given)), "who checks it again wants to know"


def test_every_exercise_has_three_hints_and_several_inputs():
    for e in EXERCISES.values():
        assert len(set(e.hints)) == len(e.hints) == 3
        assert len(e.cases) >= 2 and e.cases[0].public and e.leaves_out
        assert e.tell is False or any(not c.public for c in e.cases), f"{e.id} has no further inputs"


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


def test_nothing_a_learner_writes_can_raise():
    for answer in (lambda *a: 1 / 0, lambda: 3, float("nan"), [], "text", object, int, lambda *a: "text", lambda *a: a[0]):
        for id in EXERCISES:
            assert "solved" not in repr(check(id, answer)).splitlines()[0]


def test_progress_counts():
    check("03.8", RIGHT["03.8"][0])
    lines = repr(progress("03")).splitlines()
    assert lines[0] == "Lesson 03: 1 of 12 exercises solved"
    assert lines[-1] == f"Predictions: 0 of {len(QUESTIONS)} made, 0 of them came true."


def test_predictions_explain_every_wrong_choice():
    assert len(QUESTIONS) == 18
    for id, question in QUESTIONS.items():
        if question.choices:
            assert set(question.because) < set(question.choices), id
            assert len(question.because) == len(question.choices) - 1, f"{id}: one is right, all others are explained"
        else:
            assert question.kind == "number" and question.because, id


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
