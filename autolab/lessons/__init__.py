"""What the course notebooks use: `check`, `hint`, `progress`, `predict`, `in_words`, `reset`, `solved` and
`short_messages`."""

from .book import check, hint, in_words, predict, progress, reset, solved
from .notebook import short_messages

__all__ = ["check", "hint", "in_words", "predict", "progress", "reset", "short_messages", "solved"]
