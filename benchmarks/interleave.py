"""Runs the backends in turns, A B C A B C, so that a disturbance of the machine hits all of them alike."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys

from .works import BACKENDS, WORKS

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


class Backend:
    """A worker process that keeps its state between blocks."""

    def __init__(self, name: str):
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | ONE_THREAD,
        )
        state, _, self.version = self.process.stdout.readline().strip().partition(" ")
        self.missing = "" if state == "ready" else self.version or "its process ended"

    def block(self, work: str, seconds: float) -> dict:
        self.process.stdin.write(f"{work} {seconds}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def stop(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=10)


def run(rounds: int, seconds: float, works=tuple(WORKS), names=BACKENDS, say=print) -> tuple[dict, dict]:
    """(versions, results): `results[work][backend]` with medians over the blocks and ratios to PyTorch; missing
    backends are named in versions."""
    backends = [Backend(name) for name in names]
    versions = {b.name: b.version if not b.missing else f"missing: {b.missing}" for b in backends}
    present = [b for b in backends if not b.missing]
    results = {}
    try:
        for work in works:
            blocks = {b.name: [] for b in present}
            for _ in range(rounds):
                for b in present:
                    blocks[b.name].append(b.block(work, seconds))
            results[work] = {name: summary(found, blocks.get("torch")) for name, found in blocks.items()}
            say(
                f"{work}: "
                + ", ".join(
                    f"{name} {r.get('failed') or format(r['cpu'], '.0f') + ' µs'}" for name, r in results[work].items()
                )
            )
    finally:
        for b in backends:
            b.stop()
    return versions, results


def summary(found: list[dict], reference: list[dict] | None) -> dict:
    """Medians over the blocks; a ratio is the median of the ratios of neighbouring blocks."""
    failed = next((block["failed"] for block in found if "failed" in block), None)
    if failed:
        return {"failed": failed}
    out = {key: round(statistics.median(block[key] for block in found), 2) for key in ("cpu", "wall", "least")} | {
        "blocks": len(found)
    }
    if reference and not any("failed" in block for block in reference):
        for key in ("cpu", "wall"):
            out[f"{key}_ratio"] = round(statistics.median(a[key] / b[key] for a, b in zip(found, reference)), 3)
    return out
