"""Every checker accepts right answers in any form, and says why each typical wrong answer is wrong."""

import re

import pytest
from lessons.catalogue import (
    EXERCISES,
    LESSONS,
    QUESTIONS,
    SKELETONS,
    each,
    each_exercise,
    each_lesson,
)

import autolab as torch
from autolab.lessons import check, progress
from autolab.lessons.book import exercise
from autolab.lessons.exercise import judge

pytestmark = pytest.mark.trained  # those of lesson 3 train networks
WRITTEN_ONE_WAY = {"01.10", "01.15"}  # of the others two or more right answers are tried
ALL_PUBLIC = {
    "01.10",
    "01.15",
    "01.12a",
    "03.3",
}  # the answer is a table or a list, and every row of it is shown


@each_lesson
def test_answers_are_there_for_every_exercise(lesson):
    assert list(lesson.right) == list(lesson.wrong) == list(lesson.exercises)
    assert all(
        len(right) >= (1 if id in WRITTEN_ONE_WAY else 2) for id, right in lesson.right.items()
    )
    assert all(len(wrong) >= 4 for wrong in lesson.wrong.values())


def test_no_exercise_and_no_question_is_lost():
    assert [(len(lesson.exercises), len(lesson.questions)) for lesson in LESSONS] == [
        (16, 36),
        (15, 27),
        (15, 35),
        (8, 15),
    ]


@each("right")
def test_right_answer_is_accepted(id, case):
    verdict = judge(exercise(id), case)
    assert verdict.status == "agrees", verdict
    assert [o.case.text for o in verdict.outcomes] == [c.text for c in exercise(id).cases], (
        "every input was tried"
    )


@each("wrong")
def test_wrong_answer_is_diagnosed(id, case):
    answer, words = case
    verdict = judge(exercise(id), answer)
    assert verdict.status == "differs"
    assert words in verdict.why
    untold = judge(exercise(id), answer, tell=False)
    assert f"Why: {untold.why}" in repr(check(id, answer)) or exercise(id).given is not None


@each_exercise
@pytest.mark.parametrize("kind", ["None", "...", "skeleton"])
def test_unanswered_is_friendly(id, kind):
    text = repr(check(id, {"None": None, "...": ..., "skeleton": SKELETONS[id]}[kind]))
    assert text.splitlines()[0] == f"Exercise {id} ({exercise(id).title}): not answered yet"
    assert f'hint("{id}") gives the first of three hints' in text
    assert "Why" not in text


@pytest.mark.parametrize("id", [id for id, e in EXERCISES.items() if e.given is not None])
def test_given_code_is_not_explained_at_the_first_run(id):
    first = repr(check(id, exercise(id).given))
    assert (
        "not answered yet, it still does what the given code does" in first and "Why" not in first
    )
    assert "Why: " in repr(check(id, exercise(id).given)), "who checks it again wants to know"


def test_given_code_is_not_explained_when_all_cells_run_again():
    def imitation_loss(student, teacher):
        return ((student - teacher) ** 2).mean()

    class MyReLU(torch.autograd.Function):
        @staticmethod
        def forward(ctx, input):
            ctx.save_for_backward(input)
            return input.clamp(min=0)

        @staticmethod
        def backward(ctx, grad_output):
            return torch.ones_like(grad_output) * (ctx.saved_tensors[0] >= 0)

    for _ in range(3):
        for id, answer in ("01.8", imitation_loss), ("01.12b", MyReLU):
            assert "not answered yet, it still does" in repr(check(id, answer))
    assert torch.progress.events("exercise") == []
    assert "Why: " in repr(check("01.12b", MyReLU))
    assert "backward(ctx, grad_output)" in torch.progress.events("exercise")[-1].given


@each_exercise
def test_reference_and_mistakes_are_told_apart(id):
    e = exercise(id)
    assert judge(e, e.reference).status == "agrees"
    for mistake in e.mistakes:
        verdict = judge(e, e.wrong(mistake))
        assert verdict.status == "differs", mistake
        if isinstance(mistake.why, str):
            assert verdict.why == mistake.why, "another mistake with the same effect comes first"


@each_exercise
def test_every_exercise_has_three_hints_and_several_inputs(id):
    e = exercise(id)
    assert len(e.hints) == len(set(e.hints)) == 3
    assert len(e.cases) >= 2 and e.cases[0].public
    assert all(c.public for c in e.cases) is (id in ALL_PUBLIC)
    assert e.leaves_out


class Odd:
    """A value that cannot even be compared."""

    def __eq__(self, other):
        raise ZeroDivisionError

    __hash__ = None


NONSENSE = {
    "odd": Odd(),
    "returns odd": lambda *a: Odd(),
    "raises": lambda *a: 1 / 0,
    "takes nothing": lambda: 3,
    "generator": lambda *a: (yield),
    "text": "text",
    "returns text": lambda *a: "text",
    "returns what it got": lambda *a: a[0],
    "nan": float("nan"),
    "list": [],
    "object": object,
    "int": int,
}


@each_lesson
@pytest.mark.parametrize("what", NONSENSE)
def test_nothing_a_learner_writes_can_raise_or_leave_a_simulation_behind(lesson, what):
    before = torch.cuda.is_available()
    for id in lesson.exercises:
        assert "solved" not in repr(check(id, NONSENSE[what])).splitlines()[0]
    assert torch.cuda.is_available() is before


@each_lesson
@pytest.mark.parametrize("came", ["text", None, 1.5, [1, 2]])
def test_what_came_back_of_a_wrong_kind_was_not_raised_by_the_learner(lesson, came):
    for id, e in lesson.exercises.items():
        said = repr(check(id, (lambda *a, **k: came) if callable(e.reference) else came))
        assert not re.search(
            r"raised (Attribute|Key|Index)Error|object is not|unsupported operand", said
        ), said
        assert came is None or "This is None" not in said, said


@each_lesson
def test_progress_counts(lesson):
    id = next(iter(lesson.exercises))
    check(id, lesson.right[id][0])
    lines = repr(progress(lesson.number)).splitlines()
    assert lines[0] == f"Lesson {lesson.number}: 1 of {len(lesson.exercises)} exercises solved"
    assert lines[-1] == f"Predictions: 0 of {len(lesson.questions)} made, 0 of them came true."


@each_lesson
def test_questions_are_numbered(lesson):
    """A removed question leaves its number unused, so that learners' stored answers keep their
    meaning."""
    assert all(re.fullmatch(rf"{lesson.number}\.q[1-9]\d*", id) for id in lesson.questions)


@pytest.mark.parametrize("id", QUESTIONS)
def test_reasons_belong_to_answers_that_can_be_given_and_are_wrong(id):
    question = QUESTIONS[id]
    if question.choices:
        assert set(question.because) < set(question.choices)
        assert len(question.because) == len(question.choices) - 1, (
            "only the right answer has no reason"
        )
    else:
        assert question.kind == "number" and question.because
