"""How long operations took, where a profile runs around a recording."""

from __future__ import annotations

import sys
import threading
from typing import Any


class Times:
    """Reads the profile that runs in this thread when a recording begins: being older, it is told of an operation
    before the recording is, so that what the recording does is in none of its times. One that begins later would count
    that in, and is not read."""

    def __init__(self, library: str) -> None:
        """`library`: what is recorded, "autolab" or "torch"; of PyTorch's operations nothing is known here."""
        profiler, here = sys.modules.get("autolab.profiler.recorder"), threading.get_ident()
        running: list[Any] = (
            []
            if profiler is None or library != "autolab"
            else [r for r in profiler.running if r.thread == here]
        )
        self._profile = running[-1] if running else None

    def last(self, custom: bool) -> float | None:
        """Seconds of the operation that was just told of; None where it is not known: without a profile, of a custom
        function (whose parts are timed, too)."""
        rows = () if self._profile is None or custom else self._profile.rows
        return (
            float(f"{(rows[-1].end - rows[-1].start) / 1e9:.4g}") if rows and rows[-1].end else None
        )
