"""Read how long operations took, if a profile runs around a recording."""

from __future__ import annotations

import sys
import threading
from typing import Any


class Times:
    """Reads the profile that was running in this thread when a recording began. The older profile hears of each
    operation before the recording does, so its times exclude the recording's work. A profile that began later would
    include it and is not read."""

    def __init__(self, library: str) -> None:
        """`library`: the recorded library, "autolab" or "torch"; PyTorch's operations have no times here."""
        profiler, here = sys.modules.get("autolab.profiler.recorder"), threading.get_ident()
        running: list[Any] = (
            []
            if profiler is None or library != "autolab"
            else [r for r in profiler.running if r.thread == here]
        )
        self._profile = running[-1] if running else None

    def last(self, custom: bool) -> float | None:
        """Return the seconds of the last operation; None if unknown: without a profile, or for a custom function (its
        parts are timed too)."""
        rows = () if self._profile is None or custom else self._profile.rows
        return (
            float(f"{(rows[-1].end - rows[-1].start) / 1e9:.4g}") if rows and rows[-1].end else None
        )
