"""One backend in one process: waits for "<work> <seconds>" on its standard input, answers with one line of JSON.

`python -m benchmarks.worker <backend> <threads>`; a work that raises is answered with {"failed": reason}. The first
line is "ready <version>", or "missing <reason>".
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import resource
import statistics
import sys
import time

from .works import build


def measure(once, seconds: float) -> dict:
    """Repeats `once` for `seconds`: median and least wall time, and CPU time, of one call, in microseconds; peak memory
    in MB.

    What `once.before` makes is handed to `once` and not timed."""
    before = getattr(once, "before", None)
    times, cpu, began, started = [], 0.0, time.perf_counter(), time.process_time()
    while len(times) < 3 or time.perf_counter() - began < seconds:
        arguments = ()
        if before is not None:
            arguments, started = (before(),), time.process_time()
        wall = time.perf_counter()
        once(*arguments)
        times.append(time.perf_counter() - wall)
        if before is not None:  # otherwise once for all: asking for the CPU time takes microseconds
            cpu += time.process_time() - started
            del arguments
    if before is None:
        cpu = time.process_time() - started
    return {
        "calls": len(times),
        "wall": statistics.median(times) * 1e6,
        "least": min(times) * 1e6,
        "cpu": cpu / len(times) * 1e6,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def version_of(backend: str) -> str:
    """Imports the backend. Raises ImportError when it is not installed."""
    module = importlib.import_module(backend)
    return module.__version__ if backend == "autolab" else importlib.metadata.version(backend)


def main(backend: str, threads: int) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a backend prints is no answer
    try:
        print("ready", version_of(backend), file=answers, flush=True)
    except ImportError as error:
        print("missing", error, file=answers, flush=True)
        return
    if backend == "torch":
        importlib.import_module("torch").set_num_threads(threads)
    built = {}
    for line in sys.stdin:
        work, seconds = line.split()
        try:
            if work not in built:
                built[work] = build(backend, work)
                measure(built[work], min(float(seconds), 0.1))  # warm-up
            result = measure(built[work], float(seconds))
        except Exception as error:
            result = {"failed": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps(result), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
