"""Store PyTorch's answers to the questions of the tests. It needs PyTorch 2.13 for the CPU.

    python tests/goldens/write.py cubed      the answers about one operation; every other answer stays as it is
    python tests/goldens/write.py            every answer, and the output of the seeds' cells
    python tests/goldens/write.py --seeds    only the output of the seeds' cells
    python tests/goldens/write.py --check    change nothing; report cells that PyTorch now prints differently

A name selects tests as pytest's `-k` does. The tests run as they are, and each answer is stored in
`tests/goldens/<test file>.json`, also where the engine does not agree with it. The output of the seeds' cells is stored
in `seeds.json`; `torch_golden.json` is a transcript that `--check` compares.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
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


def asking() -> list[Path]:
    """Return the test files that ask PyTorch."""
    questions = ("same_as_torch", "check(", "answer(")
    return [
        path
        for path in sorted(TESTS.glob("*/test_*.py"))
        if path.parent.name != "conformance"
        and "from goldens" in (text := path.read_text())
        and any(question in text for question in questions)
    ]


def record(mode: str, *arguments: str) -> int:
    """Run the tests that ask PyTorch and store its answers, whether or not the engine agrees."""
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line"]
    return run("-m", "pytest", *options, *arguments, *map(str, asking()), AUTOLAB_ORACLE=mode)


def run(*arguments: str, **variables: str) -> int:
    """Run Python on the package beside these tests, whichever one is installed."""
    environment = os.environ | {"PYTHONPATH": str(TESTS.parent)} | variables
    return subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=TESTS.parent
    ).returncode


def write_operation(name: str) -> int:
    """Store what PyTorch says about one operation: its answers, its signature, and that it is no longer absent."""
    failed = record("record", "-k", name)
    for tool in ("signatures.py", "absent.py"):
        failed = run(f"tools/{tool}") or failed
    return failed


def write_all() -> int:
    """Store every answer again and remove those that no test asks for."""
    failed = record("rewrite")
    asked = {path.stem for path in asking()}
    for stored in HERE.glob("test_*.json"):
        if stored.stem not in asked:
            stored.unlink()
    return failed


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
    names = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    if "--check" in sys.argv:
        sys.exit(check_transcript())
    if names:
        sys.exit(write_operation(" or ".join(names)))
    failed = "--seeds" not in sys.argv and write_all()
    write_seeds()
    sys.exit(failed)
