"""Runs the backends in turns, A B C A B C, so that a disturbance of the machine hits all of them alike."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys

from .works import BACKENDS, WORKS

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
# removed: each library shall choose by itself, as on a user's machine
CHOSEN_BY_HAND = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def environment(threads: int) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key not in CHOSEN_BY_HAND}
    return kept | dict.fromkeys(THREADS, str(threads))


class Backend:
    """A worker process that keeps its state between blocks."""

    def __init__(self, name: str, threads: int = 1):
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", name, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment(threads),
        )
        state, _, self.version = self.process.stdout.readline().strip().partition(" ")
        self.missing = "" if state == "ready" else self.version or "its process ended"

    def block(self, work: str, seconds: float) -> dict:
        try:
            self.process.stdin.write(f"{work} {seconds}\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())
        except (OSError, ValueError):
            return {"failed": "its process ended"}

    def stop(self) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()


def run(
    rounds: int, seconds: float, works=tuple(WORKS), names=BACKENDS, threads=(1, 2), say=print
) -> tuple[dict, list]:
    """(versions, results). A result is {work, threads, load, backends: {name: medians over the blocks, ratios to
    PyTorch}}; missing backends are named in versions, and what a backend cannot do in its place of the result."""
    versions, results, running = {}, [], {}
    try:
        for work in works:
            for n in (n for n in WORKS[work].threads if n in threads):
                if WORKS[work].memory:
                    _stop(running)
                workers = [
                    _worker(name, n, running, versions)
                    for name in WORKS[work].backends
                    if name in names
                ]
                present = [b for b in workers if not b.missing]
                results.append(_measured(work, n, present, rounds, seconds, names))
                say(line(results[-1]))
                if WORKS[work].memory:  # its peak is the peak of its process
                    _stop(running)
    finally:
        _stop(running)
    for name in names:
        if name not in versions:
            _worker(name, 1, running, versions)
    _stop(running)
    return versions, results


def _worker(name, threads, running, versions):
    if (name, threads) not in running:
        running[name, threads] = b = Backend(name, threads)
        versions[name] = b.version if not b.missing else f"missing: {b.missing}"
    return running[name, threads]


def _stop(running):
    while running:
        running.popitem()[1].stop()


def _measured(work, threads, present, rounds, seconds, names):
    load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
    blocks = {b.name: [] for b in present}
    for _ in range(rounds):
        for b in present:
            blocks[b.name].append(b.block(work, seconds))
    backends = {name: summary(found, blocks.get("torch")) for name, found in blocks.items()}
    backends |= {name: {"cannot": why} for name, why in WORKS[work].cannot.items() if name in names}
    return {"work": work, "threads": threads, "load": load, "backends": backends}


def summary(found: list[dict], reference: list[dict] | None) -> dict:
    """Medians over the blocks; a ratio is the median of the ratios of neighbouring blocks."""
    failed = next((block["failed"] for block in found if "failed" in block), None)
    if failed:
        return {"failed": failed}
    out = {
        key: round(statistics.median(block[key] for block in found), 2)
        for key in ("cpu", "wall", "least", "memory")
    }
    out["blocks"] = len(found)
    if reference and not any("failed" in block for block in reference):
        for key in ("cpu", "wall", "memory"):
            out[f"{key}_ratio"] = round(
                statistics.median(a[key] / b[key] for a, b in zip(found, reference)), 3
            )
    return out


def line(result: dict) -> str:
    """What is said while it runs."""
    parts = []
    for name, r in result["backends"].items():
        if "cpu" in r:
            parts.append(
                f"{name} {r['wall']:.0f} µs"
                + (f" ({r['cpu_ratio']:.2f} of the CPU time)" if "cpu_ratio" in r else "")
            )
    return f"{result['work']}, {result['threads']} thread(s): " + "; ".join(parts)
