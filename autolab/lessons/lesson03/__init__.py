"""Lesson 3: fine-tuning. One entry per exercise and per prediction of course/03_finetuning.ipynb."""

from . import freezing, knowing, optimizers, practice
from .questions import QUESTIONS

EXERCISES = {e.id: e for part in (knowing, freezing, optimizers, practice) for e in part.EXERCISES}

__all__ = ["EXERCISES", "QUESTIONS"]
