"""Raise PyTorch's error where arguments do not fit, in one line."""

from __future__ import annotations

from ..core.errors import fail


def refuse_if(problem, message, note, kind=RuntimeError):
    """Raise `kind(message)` with the note for the learner if there is the problem.

    The message is made in any case, so this is for functions whose time does not matter.

    >>> refuse_if(False, "stride should not be zero", "The window would never move on.")
    """
    if problem:
        raise fail(kind, message, note)
