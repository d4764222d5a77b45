"""What the course notebooks use: `check`, `hint`, `progress` and `predict`."""

from .book import check, hint, predict, progress

__all__ = ["check", "hint", "predict", "progress"]
