"""The progress file: find it, append one line at a time, read it, empty it.

Each line is written with one call under a lock, and is on the disk before `record` returns. If a
kernel is killed while it writes, its incomplete line stays, the next event begins a new line, and
readers skip the incomplete one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..engine.core.errors import fail
from .event import KINDS, Event, parse

VARIABLE = "AUTOLAB_PROGRESS"
BROWSER_FILE = Path("/drive/my_progress.txt")
"""The file in JupyterLite. The browser keeps only what is in /drive, and JupyterLite hangs at a `.jsonl` there."""
# seconds to wait for another notebook's write; then the line is written without the lock
PATIENCE = 2.0

WATCHERS: list[Callable[[Event], None]] = []
"""Functions that are called with each recorded event; their errors are ignored. A joined room adds
one."""

_ours = threading.RLock()
_waiting: dict[Path | None, list[Event]] = {}  # events that could not be written yet, by file
_trouble = ""  # the last reason that was reported


def where() -> Path | None:
    """Return the file that events are kept in, or None if they stay in memory: with
    AUTOLAB_PROGRESS=off, or without a home folder.

    The environment variable AUTOLAB_PROGRESS names the file. Without it, it is `progress.jsonl` in the folder that the
    system has for a user's data: ~/.local/share/autolab (or $XDG_DATA_HOME/autolab), on macOS ~/Library/Application
    Support/autolab, on Windows %LOCALAPPDATA%\\autolab. In JupyterLite it is /drive/my_progress.txt.
    """
    if named := os.environ.get(VARIABLE, ""):
        return None if named == "off" else Path(os.path.expanduser(named)).absolute()
    home = Path(os.path.expanduser("~"))
    if not home.is_absolute():
        return None
    if sys.platform == "win32":
        folder = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        folder = home / "Library" / "Application Support"
    elif sys.platform == "emscripten" and BROWSER_FILE.parent.is_dir():
        return BROWSER_FILE
    else:
        folder = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return folder / "autolab" / "progress.jsonl"


def record(
    kind: str, id: str, *, given: Any = None, right: bool | None = None, belief: str = "",
    confidence: int | None = None, because: str = "", tries: int = 1, help: str = "", seconds: float | None = None,
    choices: tuple[str, ...] | None = None,
) -> Event:  # fmt: skip
    """Record one answer of the learner and return it. The arguments are the fields of `Event`.

    Raises ValueError for invalid arguments, but never for a disk error. What cannot be written is
    reported once, stays in memory, counts in `events()`, and is written together with the next
    event.

    Example:

        >>> event = torch.progress.record("ask", "01.2", given=6, right=False, belief="set instead of add")
        >>> event.at_once
        False
    """
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    event = Event(
        now, kind, id, given, right, belief, confidence, because, tries, help, seconds, choices
    )
    with _ours:
        path = where()
        waiting = _waiting.setdefault(path, [])
        waiting.append(event)
        if path is not None:
            try:
                _append(path, "".join(one.line + "\n" for one in waiting).encode())
            except OSError as error:
                _tell(f"{path} cannot be written ({error.strerror or error})")
            else:
                waiting.clear()
                _set_trouble("")
    for watcher in tuple(WATCHERS):
        with contextlib.suppress(Exception):
            watcher(event)
    return event


def events(kind: str | None = None) -> list[Event]:
    """Return all events, the oldest first; with `kind`, the events of that kind. Lines that are not
    events are skipped.

    Raises ValueError for an unknown kind.
    """
    if kind is not None and kind not in KINDS:
        raise fail(
            ValueError,
            f"kind should be one of {', '.join(KINDS)}, or None, but is {kind!r}",
            "Leave kind out to see all kinds.",
        )
    with _ours:
        path, lines = where(), []
        if path is not None:
            try:
                lines = path.read_bytes().decode("utf-8", "replace").split("\n")
            except FileNotFoundError:
                pass
            except OSError as error:
                _tell(f"{path} cannot be read ({error.strerror or error})")
        kept = [event for line in lines if (event := parse(line)) is not None]
        return [event for event in kept + _waiting.get(path, []) if kind in (None, event.kind)]


def forget() -> str:
    """Delete everything that is kept, for good, and say how much it was. If the file cannot be
    emptied, say so."""
    with _ours:
        count, path = len(events()), where()
        _waiting.pop(path, None)
        if path is not None and path.exists():
            try:
                with _open(path) as file:
                    os.ftruncate(file, 0)
                    os.fsync(file)
            except OSError as error:
                return f"Not forgotten: {path} cannot be written ({error.strerror or error})."
        return f"Forgotten: {count:,} event{'s' * (count != 1)}."


def learner() -> str:
    """Return a random word that belongs to this learner and is kept beside the file, so that
    shuffled choices keep their order. "" if nothing is kept."""
    if (path := where()) is None:
        return ""
    beside = path.with_suffix(".id")
    try:
        if not beside.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError), beside.open("x", encoding="ascii") as file:
                file.write(secrets.token_hex(4))
        return beside.read_text(encoding="ascii")
    except (OSError, UnicodeError):
        return ""


def trouble() -> str:
    """Return why events wait in memory, or "" if they are on the disk."""
    return _trouble if _waiting.get(where()) else ""


def _tell(why: str) -> None:
    """Report once why something is not kept; report again only if the reason changes."""
    if why != _trouble:
        _set_trouble(why)
        print(
            f"autolab: {why}. Your answers count until this kernel ends; autolab.progress() says when they are kept again.",
            file=sys.stderr,
        )


def _set_trouble(why: str) -> None:
    global _trouble
    _trouble = why


def _append(path: Path, lines: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with _open(path) as file:
        size = os.fstat(file).st_size
        if size:
            os.lseek(file, size - 1, os.SEEK_SET)
            if os.read(file, 1) != b"\n":
                lines = b"\n" + lines
        try:
            if os.write(file, lines) < len(lines):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file)
        except OSError:
            with contextlib.suppress(OSError):
                # all or nothing, because the same lines are written again later
                os.ftruncate(file, size)
            raise


@contextlib.contextmanager
def _open(path: Path) -> Iterator[int]:
    """Open the file and lock it for this process. Without a lock if the file system has none or
    another process holds it too long."""
    flags = (
        os.O_RDWR
        | os.O_CREAT
        | os.O_APPEND
        | getattr(os, "O_BINARY", 0)
        | getattr(os, "O_CLOEXEC", 0)
    )
    file = os.open(path, flags, 0o600)
    try:
        locked, until = _lock(file), time.monotonic() + PATIENCE
        while locked is False and time.monotonic() < until:
            time.sleep(0.01)
            locked = _lock(file)
        yield file
        if locked and sys.platform == "win32":
            _lock(file, release=True)
    finally:
        os.close(file)  # on other systems this releases the lock, as the end of the process does


def _lock(file: int, release: bool = False) -> bool | None:
    """Return whether this process holds the lock now, or None if there are no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(file, 2**31 - 2, os.SEEK_SET)  # a byte that no reader locks
            msvcrt.locking(file, msvcrt.LK_UNLCK if release else msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except (BlockingIOError, PermissionError):
        return False
    except (OSError, ImportError, AttributeError):  # the module `fcntl` is empty in JupyterLite
        return None
