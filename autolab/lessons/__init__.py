"""What the course notebooks use: `check`, `hint`, `progress`, `predict`, `reset`, and `short_messages`."""

from .book import check, hint, predict, progress, reset
from .notebook import short_messages

__all__ = ["check", "hint", "predict", "progress", "reset", "short_messages"]
