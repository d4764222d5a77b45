"""Lesson 4: an engine, built and read. One entry per exercise and per prediction of course/04_engine.ipynb."""

from . import building, passing
from .bench import finish, use
from .questions import QUESTIONS
from .reading import beside

EXERCISES = {e.id: e for part in (building, passing) for e in part.EXERCISES}

__all__ = ["EXERCISES", "QUESTIONS", "beside", "finish", "use"]
