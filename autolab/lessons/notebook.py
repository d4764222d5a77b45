"""Short errors and warnings in lessons: the learner's lines and PyTorch's message, without the
kit's own lines."""

from __future__ import annotations

import sys
import threading
import warnings
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from .. import jupyterlite

PACKAGE = str(Path(__file__).parents[1])


def short_messages() -> None:
    """Leave the kit's own lines out of tracebacks and the file name out of warnings, from now on.

    The error itself, its message and its note stay as they are. Outside IPython only the warnings change.
    """
    warnings.formatwarning = lambda message, category, *place: f"{category.__name__}: {message}\n"
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is not None:
        shell.set_custom_exc((Exception, KeyboardInterrupt), _show)


def threads_start() -> bool:
    """Return whether threads can be started. In a browser they cannot; NumPy is slow there, so
    lessons train less."""
    try:
        threading.Thread(target=bool).start()
    except RuntimeError:
        return False
    return True


def _show(
    shell: Any, kind: type, error: BaseException, trace: TracebackType, tb_offset: int | None = None
) -> None:
    link = error.__cause__ or error.__context__
    while link is not None:
        link.__traceback__ = outside(link.__traceback__)
        link = link.__cause__ or link.__context__
    shell.showtraceback((kind, error, outside(trace)), tb_offset=tb_offset)
    # for Colab's IPython, which does not show notes yet
    if sys.modules["IPython"].version_info < (8, 14):
        for note in getattr(error, "__notes__", ()):
            print(note, file=sys.stderr)
    jupyterlite.print_expected_error(shell)


def _is_ours(frame: FrameType) -> bool:
    """Return whether a frame runs code of this package. Code that it compiles itself has a file
    name in the package, too."""
    return frame.f_code.co_filename.startswith(PACKAGE)


def outside(trace: TracebackType | None) -> TracebackType | None:
    """Return the traceback without the frames that run code of this package or code that it
    compiled."""
    parts = []
    while trace is not None:
        if not _is_ours(trace.tb_frame):
            parts.append(trace)
        trace = trace.tb_next
    following = None
    for part in reversed(parts):
        following = TracebackType(following, part.tb_frame, part.tb_lasti, part.tb_lineno)
    return following
