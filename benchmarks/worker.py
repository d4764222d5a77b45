"""One backend in one process: waits for "<work> <seconds>" on its standard input, answers with one line of JSON.

`python -m benchmarks.worker <backend>`; a work that raises is answered with {"failed": reason}. The first line is
"ready <version>", or "missing <reason>".
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import statistics
import sys
import time

from .works import build


def measure(once, seconds: float) -> dict:
    """Repeats `once` for `seconds`: median and least wall time, and CPU time, of one call, in microseconds."""
    times, cpu, began = [], time.process_time(), time.perf_counter()
    while len(times) < 3 or time.perf_counter() - began < seconds:
        before = time.perf_counter()
        once()
        times.append(time.perf_counter() - before)
    used = (time.process_time() - cpu) / len(times)
    return {"calls": len(times), "wall": statistics.median(times) * 1e6, "least": min(times) * 1e6, "cpu": used * 1e6}


def main(backend: str) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a backend prints is no answer
    try:
        build(backend, "linear_regression")()
        version = (
            importlib.metadata.version(backend)
            if backend != "autolab"
            else importlib.import_module("autolab").__version__
        )
        print("ready", version, file=answers, flush=True)
    except ImportError as error:
        print("missing", error, file=answers, flush=True)
        return
    built = {}
    for line in sys.stdin:
        work, seconds = line.split()
        try:
            if work not in built:
                built[work] = build(backend, work)
                measure(built[work], float(seconds))  # warm-up
            result = measure(built[work], float(seconds))
        except Exception as error:
            result = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(result), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
