"""The checkers of lesson 2 bring their own simulated GPUs, so nothing here depends on the machine."""

from lessons.answers02 import RIGHT

import autolab as torch
from autolab.lessons import hint
from autolab.lessons.book import exercise
from autolab.lessons.exercise import judge


def test_verdicts_do_not_depend_on_the_simulation_of_the_notebook():
    with torch.cuda.simulate(memory="1MiB", profile="laptop") as small:
        assert judge(exercise("02.6"), RIGHT["02.6"][0]).status == "agrees"
        assert judge(exercise("02.12"), RIGHT["02.12"][0]).status == "agrees", (
            "although there is one GPU only"
        )
        assert torch.cuda.device_count() == 1 and small.running
    assert judge(exercise("02.11b"), RIGHT["02.11b"][0]).status == "agrees"


def test_an_exercise_in_two_parts_has_hints_for_each():
    assert "1 of 3 hints" in repr(hint("02.11a"))
    assert "1 of 3 hints" in repr(hint("02.11b"))
