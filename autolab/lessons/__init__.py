"""The functions that the course's notebooks use: `check`, `hint`, `progress`, `predict`,
`in_words`, `reset`, `solved` and `short_messages`; and `register`, `Exercise`, `Case`, `Mistake`,
`Question` and `Words` for lessons of your own."""

from .book import check, hint, in_words, predict, progress, reset, solved
from .exercise import Case, Exercise, Mistake
from .notebook import short_messages
from .question import Question, Words
from .registry import register

__all__ = [
    "Case",
    "Exercise",
    "Mistake",
    "Question",
    "Words",
    "check",
    "hint",
    "in_words",
    "predict",
    "progress",
    "register",
    "reset",
    "short_messages",
    "solved",
]
