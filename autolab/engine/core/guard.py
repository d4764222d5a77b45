"""What threads share and nobody else guards: a leaf's `.grad`, the one storage of a tensor, the one node of a leaf.

Whoever reads one of them to write it again holds `guard`. Kernels and functions of the user's never run under it, only
additions of two arrays. One lock for all, held for one addition; the thread that has it may enter again, for a
finalizer may run amid the lines that hold it.

A lock costs 50 to 100 ns, and a step of linear regression would take five: so what every backward pass does asks
`shared` first, and takes the lock only when a second thread has used the engine. A thread that comes waits until the
first one is out of lines that add to a `.grad` or look at one. (Making a leaf's node is not among them: two of one
leaf, made in that very moment, lose nothing.)"""

from __future__ import annotations

import os
import threading
import time

guard = threading.RLock()


class _Shared:
    """several: whether more than one thread has used the engine. inside: whether the one that was alone is amid lines
    that need the guard.

    `inside` is set before `several` is read, and a thread that comes sets `several` before it reads `inside`: one of
    the two sees the other."""

    __slots__ = ("several", "inside", "first")

    def __init__(self) -> None:
        self.several = self.inside = False
        self.first: int | None = None

    def enter(self) -> None:
        """Called in each thread before it uses the engine for the first time."""
        here = threading.get_ident()
        if self.first is None:
            self.first = here
        if here != self.first:
            self.several = True
            while self.inside:
                time.sleep(0)


shared = _Shared()

if hasattr(os, "register_at_fork"):  # a child must not wait for a thread that it does not have
    os.register_at_fork(before=guard.acquire, after_in_parent=guard.release, after_in_child=guard.release)
