"""Isolate the process of a submission from everything else, as far as the system can.

Linux has two means, and neither needs an administrator. With namespaces the process sees no other
process, has no network, and everything it started ends with it. With Landlock it writes only below
its own folder and sends signals only to its own processes. docs/grading.md says what remains
possible on systems without them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from functools import cache
from typing import Any

NAMESPACES = ("--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--net", "--ipc")
# system calls, with the same numbers on every processor
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
NO_NEW_PRIVILEGES = 38  # options of prctl
PATH_BENEATH = 1  # the kind of a rule
WRITE_FILE, TRUNCATE = 1 << 1, 1 << 14
CHANGES = {1: sum(1 << bit for bit in (1, 4, 5, 6, 7, 8, 9, 10, 11, 12)), 2: 1 << 13, 3: TRUNCATE}
"""Version of Landlock -> the kinds of changes to files that it adds: write, remove, make, move,
truncate."""
SIGNALS = 1 << 1  # a scope, since version 6
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")


@cache
def namespaces() -> tuple[str, ...]:
    """Return the words before a command that run it in namespaces of its own; () if the system does
    not allow it."""
    program = shutil.which("unshare") if sys.platform == "linux" else None
    for more in ("--mount-proc",), ():  # containers often do not allow mounting /proc
        command = (program or "", *NAMESPACES, *more, "--")
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            if program and _ends_well([*command, "true"]):
                return command
    return ()


def _ends_well(command: list[str]) -> bool:
    return subprocess.run(command, capture_output=True, timeout=10).returncode == 0


def write_only_below(folder: str) -> bool:
    """Forbid this process, and everything it starts, to change files elsewhere. Return whether the
    system can do that."""
    import ctypes  # Python in a browser has no such module

    libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
    version = libc.syscall(CREATE_RULESET, None, 0, 1) if libc else 0
    if libc is None or version < 1:
        return False
    changes = sum(right for since, right in CHANGES.items() if version >= since)
    handled = (ctypes.c_uint64 * 3)(changes, 0, SIGNALS if version >= 6 else 0)
    rules = libc.syscall(CREATE_RULESET, handled, 24 if version >= 6 else 8, 0)
    if rules < 0:
        return False
    for path in (folder, "/dev/shm"):
        _allow(libc, rules, path, changes)
    for path in DEVICES:
        _allow(libc, rules, path, changes & (WRITE_FILE | TRUNCATE))
    libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    held = libc.syscall(RESTRICT_SELF, rules, 0) == 0
    os.close(rules)
    return held


def _allow(libc: Any, rules: int, path: str, changes: int) -> None:
    """Add the rule that allows these changes at a path and below it."""
    with contextlib.suppress(OSError):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        packed = changes.to_bytes(8, sys.byteorder) + place.to_bytes(4, sys.byteorder)
        libc.syscall(ADD_RULE, rules, PATH_BENEATH, packed, 0)
        os.close(place)
