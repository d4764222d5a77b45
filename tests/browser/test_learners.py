"""Simulated learners play all levels of `practice` in a page, by role and name: right, by wrong beliefs, by chance."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab import Explorer
from player import Learner, Question
from playwright.sync_api import Page

import autolab as torch
from autolab.practice import Practice
from autolab.practice.levels import LEVELS


def mistakes(game: Practice) -> Callable[[Question], list[dict[str, Any]]]:
    """Each belief that a learner may have about the graph, where it is met first."""
    first: dict[str, Question] = {}
    for one in game.questions:
        for wrong in one["wrong"]:
            first.setdefault(wrong["belief"], one)
    return lambda one: [wrong for wrong in one["wrong"] if first[wrong["belief"]] is one]


WRONG, RANDOM = (5, 6, 9, 11), (7, 8, 12)  # every kind of decision, shapes, marked entries, errors


@pytest.mark.parametrize("number", LEVELS)
def test_every_level_is_played_in_a_page(page: Page, tmp_path: Path, number: int) -> None:
    game = torch.practice(level=number, seed=3, help="none")
    page.goto(game.to_html(tmp_path / "level.html").as_uri())
    learner = Learner(Explorer(page).root, game)
    learner.play(lambda one: [])
    if number in WRONG:
        learner.again()
        learner.play(mistakes(game))
        assert learner.missed
    if number in RANDOM:
        learner.again()
        learner.guess(random.Random(3))
        assert learner.missed
