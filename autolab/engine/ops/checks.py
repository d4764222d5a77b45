"""A check that raises PyTorch's error for wrong arguments, in one line."""

from __future__ import annotations

from ..core.errors import fail


def refuse_if(problem, message, note, kind=RuntimeError):
    """If `problem` is true, raise `kind(message)` with the note for the learner.

    The message is made even if there is no problem, so use this only where time does not matter.

    >>> refuse_if(False, "stride should not be zero", "The window would never move on.")
    """
    if problem:
        raise fail(kind, message, note)
