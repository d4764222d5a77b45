"""Lesson 3: fine-tuning. One entry per exercise and per prediction of its notebooks."""

from . import blocks, freezing, knowing, optimizers, practice, rehearsal
from .questions import QUESTIONS, WORDS

EXERCISES = {
    e.id: e
    for part in (knowing, freezing, optimizers, practice, rehearsal, blocks)
    for e in part.EXERCISES
}

__all__ = ["EXERCISES", "QUESTIONS", "WORDS"]
