"""Lesson 1: computation graphs and gradients. One entry per exercise and per prediction of course/01_graphs.ipynb."""

from . import backward, control, recording, training
from .questions import QUESTIONS

EXERCISES = {e.id: e for part in (recording, backward, control, training) for e in part.EXERCISES}

__all__ = ["EXERCISES", "QUESTIONS"]
