"""Run a submission in fresh processes with limits, and collect the results of its answers.

If a cell or a call of an answer ends the process or does not end, it is left out and the rest runs
again without it. docs/grading.md says what this does not protect against.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from .isolation import namespaces
from .submission import Submission

START = 120  # seconds to start Python and import the kit
MOST = 64_000_000  # bytes that one process may write
AGAIN = 5  # processes for one submission

Lines: TypeAlias = "queue.Queue[bytes | None]"


@dataclass(frozen=True)
class Limits:
    """seconds: for one cell or one answer. memory: bytes for one process. total: seconds for the
    whole submission."""

    seconds: float = 60
    memory: int = 4 * 2**30
    total: float = 900


@dataclass
class Run:
    """The results of a run. gave: exercise -> what the runner reported. raised: cell -> error.
    stopped: cell or exercise -> why the process ended there."""

    gave: dict[str, dict[str, Any]] = field(default_factory=dict)
    raised: dict[int, str] = field(default_factory=dict)
    stopped: dict[int | str, str] = field(default_factory=dict)


def run(submission: Submission, limits: Limits) -> Run:
    """Run all cells. Never raises for anything the cells do."""
    done, until = Run(), time.monotonic() + limits.total
    for _ in range(AGAIN):
        place, why = _once(submission, limits, done, until)
        if not why:
            break
        done.stopped.setdefault(place, why)
        if time.monotonic() >= until:
            break
    return done


def _once(submission: Submission, limits: Limits, done: Run, until: float) -> tuple[int | str, str]:
    """Run one process from the first cell on, without the cells that stopped earlier processes.
    Return where it stopped and why, "" if it reached the end."""
    cells = []
    for cell in submission.cells:
        run = cell.number not in done.stopped
        answers = {id: text for id, text in cell.answers.items() if run and id not in done.stopped}
        cells.append({"number": cell.number, "source": cell.source, "run": run, "answers": answers})
    own = submission.lesson
    job = {
        "lesson": [own.stem, own.read_text(encoding="utf-8"), str(own)] if own else None,
        "variant": submission.variant,
        "memory": limits.memory,
        "seconds": int(limits.total) + 1,
        "cells": cells,
    }
    with tempfile.TemporaryDirectory(prefix="autolab-grade-", ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            [*namespaces(), sys.executable, "-m", "autolab.classroom.runner"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, cwd=folder, env=_environment(folder), start_new_session=os.name == "posix",
        )  # fmt: skip
        try:
            lines: Lines = queue.Queue()
            threading.Thread(target=_listen, args=(process.stdout, lines), daemon=True).start()
            with contextlib.suppress(OSError):
                assert process.stdin is not None
                process.stdin.write(json.dumps(job).encode() + b"\n")
                process.stdin.close()
            return _follow(process, lines, limits, done, until)
        finally:
            _end(process)


def _follow(
    process: Any, lines: Lines, limits: Limits, done: Run, until: float
) -> tuple[int | str, str]:
    """Read what the process reports until it ends or its time is over."""
    place: int | str = 0
    limit: float = START
    while True:
        left = until - time.monotonic()
        try:
            line = lines.get(timeout=max(0.01, min(limit, left)))
        except queue.Empty:
            return (
                place,
                f"it did not end within {limits.seconds if left > limit else limits.total:g} s",
            )
        said = _parsed(line) if line is not None else None
        if said is None:
            return place, _last_words(
                process
            ) if line is None else "what was to judge it was disturbed"
        if "ready" in said:
            limit = limits.seconds
        elif "cell" in said or "answer" in said:
            place = said["cell"] if "cell" in said else said["answer"]
        elif "raised" in said:
            done.raised[said["raised"]] = str(said.get("text"))[:300]
        elif "seen" in said:
            done.gave.setdefault(str(said["seen"]), said)
        elif "end" in said:
            return place, ""


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        said = json.loads(line)
        good = isinstance(said, dict) and all(
            isinstance(said.get(k, 0), int) for k in ("cell", "raised")
        )
        return said if good and isinstance(said.get("answer", ""), str) else None
    except (ValueError, RecursionError):
        return None


def _listen(pipe: Any, lines: Lines) -> None:
    """Put lines into the queue, and None at the end or if there are too many."""
    total = 0
    with contextlib.suppress(OSError, ValueError):
        while line := pipe.readline(MOST):
            total += len(line)
            if total > MOST:
                break
            lines.put(line)
    lines.put(None)


def _last_words(process: Any) -> str:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(2)
    code = process.poll()
    if code is not None and code < 0:
        name = signal.Signals(-code).name if -code in signal.valid_signals() else str(-code)
        return f"the process was ended by {name} there"
    return "the process ended there" + (f" (status {code})" if code is not None else "")


def _end(process: Any) -> None:
    """End the process and everything it started that stayed in its process group."""
    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(10)
    for pipe in (process.stdout, process.stdin):
        with contextlib.suppress(OSError):
            pipe.close()


def _environment(folder: str) -> dict[str, str]:
    """Return the environment of the process: what Python needs to start, without home, progress or
    keys."""
    passed = "PATH LANG LC_ALL SYSTEMROOT LD_LIBRARY_PATH VIRTUAL_ENV AUTOLAB_ENGINE AUTOLAB_LAYOUT"
    kept = {name: os.environ[name] for name in passed.split() if name in os.environ}
    home = str(Path(__file__).parents[2])
    own = {
        "PYTHONPATH": home,
        "AUTOLAB_PROGRESS": "off",
        "MPLBACKEND": "Agg",
        "OPENBLAS_NUM_THREADS": "1",
    }
    return kept | own | dict.fromkeys(("HOME", "TMPDIR", "IPYTHONDIR", "MPLCONFIGDIR"), folder)
