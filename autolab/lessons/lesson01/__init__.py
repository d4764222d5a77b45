"""Lesson 1: computation graphs and gradients. One entry per exercise and per prediction of course/01_graphs.ipynb."""

import re

from . import backward, control, mending, recording, training
from .questions import QUESTIONS, WORDS

EXERCISES = {
    e.id: e
    for e in sorted(
        (e for part in (recording, backward, control, training, mending) for e in part.EXERCISES),
        key=lambda e: (int(re.sub(r"\D", "", e.id[3:])), e.id),
    )
}

__all__ = ["EXERCISES", "QUESTIONS", "WORDS"]
