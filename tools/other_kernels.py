"""Run the tests of trained results with OpenBLAS kernels of other processors. Training amplifies differences in the
last digit, but tests and lessons must pass on every processor.

    python tools/other_kernels.py              tests marked "trained" and lesson 3 with the oldest kernels
    python tools/other_kernels.py --all        every unit test and lesson, all kernels, one thread and two (an hour)
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from blas_kernels import environment, processors  # noqa: E402 (needs the path set above)

MOST_SECONDS = 3600
NOTEBOOKS = ["--nbval", "--nbval-sanitize-with", "autolab/classroom/nbval_sanitize.cfg"]


def main() -> int:
    """Print a line for each run; the exit status is 1 if a run failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--all", action="store_true", help="every unit test and every lesson")
    everything = parser.parse_args().all
    names = processors()
    if not names:
        print("the kernels of this machine's BLAS cannot be chosen; nothing was run")
        return 0
    if everything:
        runs = [
            (name, threads, part)
            for name in names
            for threads in (1, 2)
            for part in (["tests"], [*NOTEBOOKS, "course"])
        ]
    else:
        files = [
            str(path)
            for path in sorted(ROOT.glob("tests/**/test_*.py"))
            if "mark.trained" in path.read_text(encoding="utf-8")
        ]
        runs = [
            (names[0], 1, [*NOTEBOOKS, "course/03_finetuning.ipynb"]),
            (names[0], 1, ["-m", "trained", *files]),
        ]
    with ThreadPoolExecutor(2) as two_at_a_time:
        return max(two_at_a_time.map(run, runs))


def run(given: tuple[str, int, list[str]]) -> int:
    """Run tests with these kernels and this number of threads. Return a line about the result, and 1 if a test
    failed."""
    name, threads, arguments = given
    start = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment(name, threads),
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
        )
    except subprocess.TimeoutExpired:
        print(f"{name}, {threads} thread(s): stopped after {MOST_SECONDS} s", flush=True)
        return 1
    said = done.stdout.strip().splitlines()[-1]
    print(
        f"{name}, {threads} thread{'s' * (threads > 1)}: {said} ({time.monotonic() - start:.0f} s)",
        flush=True,
    )
    if done.returncode:
        print(done.stdout[-6000:], done.stderr[-2000:], flush=True)
    return int(done.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
