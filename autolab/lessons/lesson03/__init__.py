"""Lesson 3: fine-tuning. One entry per exercise and per prediction of its notebooks."""

from . import blocks, freezing, knowing, optimizers, practice, rehearsal
from .questions import QUESTIONS, WORDS

_PARTS = (knowing, freezing, optimizers, practice, rehearsal, blocks)
EXERCISES = {
    e.id: e
    for e in sorted((e for part in _PARTS for e in part.EXERCISES), key=lambda e: int(e.id[3:]))
}

__all__ = ["EXERCISES", "QUESTIONS", "WORDS"]
