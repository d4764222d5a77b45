"""What the course notebooks use: `check`, `hint`, `progress`, `predict`, and `short_messages`."""

from .book import check, hint, predict, progress
from .notebook import short_messages

__all__ = ["check", "hint", "predict", "progress", "short_messages"]
