"""Stores what PyTorch answers to every question of the tests: `python tests/goldens/write.py` (needs PyTorch 2.13,
CPU).

The tests run as they are, and every answer of PyTorch's is written into `tests/goldens/<test file>.json`. The course
cells are run in PyTorch and their output is written into `seeds.json`.
`torch_golden.json` is a transcript made in the same way; `--check` runs it again and reports cells that PyTorch no
longer prints so.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
TESTS = HERE.parent


def write_seeds() -> None:
    from conformance import seeds

    import vision_oracle

    transcripts = {}
    for name in seeds.NAMES:
        if seeds.needs_torchvision(name) and vision_oracle.torchvision() is None:
            print(f"seeds.json: {name} stays as it is, for torchvision is not installed")
            transcripts[name] = seeds.expected(name)
            continue
        pairs = zip(seeds.run(name, "torch"), seeds.cells(name))
        transcripts[name] = [
            {"out": "(not compared)", "warnings": []} if cell.mark == "memory" else found
            for found, cell in pairs
        ]
    (HERE / "seeds.json").write_text(json.dumps(transcripts, indent=1, ensure_ascii=False) + "\n")
    print("seeds.json:", {name: len(cells) for name, cells in transcripts.items()})


def write_answers() -> int:
    """Runs the tests that ask PyTorch, and stores what it answers, whether or not the engine agrees."""
    questions = ("same_as_torch", "check(", "answer(")
    files = [
        path
        for path in sorted(TESTS.glob("*/test_*.py"))
        if path.parent.name != "conformance"
        and "from goldens" in (text := path.read_text())
        and any(q in text for q in questions)
    ]
    for old in HERE.glob("test_*.json"):
        old.unlink()
    environment = dict(os.environ, AUTOLAB_ORACLE="record")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--tb=line",
        *map(str, files),
    ]
    return subprocess.run(command, env=environment, cwd=TESTS.parent).returncode


def check_transcript() -> int:
    from conformance import golden

    wrong = [
        n
        for n, cell in enumerate(golden.CELLS)
        if golden.run(cell, "torch") != (cell["out"], cell["warnings"])
    ]
    print(
        f"torch_golden.json: {len(golden.CELLS) - len(wrong)} of {len(golden.CELLS)} cells are as PyTorch prints them now; "
        f"not: {wrong}"
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.path[:0] = [str(TESTS), str(TESTS.parent)]
    if "--check" in sys.argv:
        sys.exit(check_transcript())
    failed = "--seeds" not in sys.argv and write_answers()
    write_seeds()
    sys.exit(failed)
