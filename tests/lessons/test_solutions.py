"""Every exercise has a solution that its checker accepts, under the name that the notebook checks."""

import re
from pathlib import Path

import pytest
from lessons.catalogue import EXERCISES, LESSONS

import autolab
from autolab.lessons.exercise import judge
from autolab.lessons.solutions import of_lesson, read, solutions

pytestmark = pytest.mark.trained  # those of lesson 3 train networks
SOURCES = Path(autolab.__file__).parents[1] / "course" / "src"


def test_every_exercise_has_a_solution_and_every_solution_an_exercise():
    assert {id for lesson in LESSONS for id in of_lesson(lesson.number)} == set(EXERCISES)


def test_there_is_another_way_to_write_it_where_the_answer_is_code():
    """It follows the first one and says how it differs. Tables and lists have only one way."""
    for id in EXERCISES:
        first, *others = solutions(id)
        assert first.way == "" and all(
            other.way and other.source != first.source for other in others
        )
        assert others or not callable(first.answer()), id


@pytest.mark.parametrize(
    "one", [one for id in EXERCISES for one in solutions(id)], ids=lambda one: f"{one.id} {one.way}"
)
def test_a_solution_is_accepted(one):
    assert judge(EXERCISES[one.id], one.answer()).status == "agrees"
    (notebook,) = [
        text
        for path in sorted(SOURCES.rglob(f"{one.id[:2]}_*/*.py"))
        for text in re.findall(
            rf'^check\("{re.escape(one.id)}", (\w+)\)', path.read_text(encoding="utf-8"), re.M
        )
    ]
    assert notebook == one.name, "what the solution defines is what the notebook's cell checks"


def test_a_cell_without_a_name_is_refused():
    with pytest.raises(ValueError, match="not '# %% 1.5'"):
        read("import x\n# %% 1.5\ny = 1\n")
    with pytest.raises(ValueError, match="names nothing"):
        read("# %% 01.7\nprint(1)\n")["01.7"][0].answer()
