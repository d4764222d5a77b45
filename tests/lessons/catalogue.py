"""The lessons as their tests go through them: exercises, questions, and answers as learners give them."""

import importlib
from typing import Any, NamedTuple

import pytest


class Lesson(NamedTuple):
    """`right` and `wrong` hold answers by exercise, `skeletons` what the notebook gives where that is no function
    returning `...`."""

    number: str
    exercises: dict[str, Any]
    questions: dict[str, Any]
    right: dict[str, list]
    wrong: dict[str, list]
    skeletons: dict[str, Any]


def _lesson(number):
    lesson = importlib.import_module(f"autolab.lessons.lesson{number}")
    answers = importlib.import_module(f"lessons.answers{number}")
    return Lesson(
        number, lesson.EXERCISES, lesson.QUESTIONS, answers.RIGHT, answers.WRONG, answers.SKELETONS
    )


LESSONS = [_lesson(number) for number in ("01", "02", "03", "04")]
EXERCISES = {id: e for lesson in LESSONS for id, e in lesson.exercises.items()}
QUESTIONS = {id: q for lesson in LESSONS for id, q in lesson.questions.items()}
SKELETONS = {
    id: lesson.skeletons.get(id, lambda *args: ...) for lesson in LESSONS for id in lesson.exercises
}

each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=[lesson.number for lesson in LESSONS])
each_exercise = pytest.mark.parametrize("id", EXERCISES)


def each(answers):
    """One case for each answer of every lesson; `answers` is "right" or "wrong"."""
    tables = [getattr(lesson, answers).items() for lesson in LESSONS]
    cases = [
        (id, n, answer) for table in tables for id, given in table for n, answer in enumerate(given)
    ]
    return pytest.mark.parametrize(
        ("id", "case"), [pytest.param(id, case, id=f"{id}-{n}") for id, n, case in cases]
    )
