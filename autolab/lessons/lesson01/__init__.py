"""Lesson 1: computation graphs and gradients. Its exercises and predictions, one entry each."""

import re

from . import backward, control, teaching, recording, training
from .questions import QUESTIONS, WORDS

EXERCISES = {
    e.id: e
    for e in sorted(
        (e for part in (recording, backward, control, training, teaching) for e in part.EXERCISES),
        key=lambda e: (int(re.sub(r"\D", "", e.id[3:])), e.id),
    )
}

__all__ = ["EXERCISES", "QUESTIONS", "WORDS"]
