"""The code of docs/engine_tour.md prints what the page says, and its table counts the lines
correctly."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "engine_tour.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(python|text)\n(.*?)```", TEXT, re.DOTALL)


def tour():
    """Print a line for each piece of code whose output differs from the page."""
    names, printed = {}, None
    for kind, block in BLOCKS:
        if kind == "text":
            if printed != block:
                print("the page says", repr(block), "and the code", repr(printed))
            continue
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(block, names)
        printed = out.getvalue()


def test_the_code_prints_what_the_page_says():
    done = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True
    )  # it chooses another engine
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
    assert len([kind for kind, _ in BLOCKS if kind == "text"]) >= 6


def test_the_lines_of_the_core_are_counted():
    counted = sum(
        len(path.read_text(encoding="utf-8").splitlines())
        for path in (ROOT / "autolab/engine/core").glob("*.py")
    )
    said = int(re.search(r"`autolab/engine/core/` \| ([\d,]+) ", TEXT)[1].replace(",", ""))
    assert abs(counted - said) <= 100


def test_files_and_functions_that_the_page_names_are_there():
    engine = ROOT / "autolab" / "engine"
    for name in set(
        re.findall(r"`((?:core|ops|fast|inplace|autograd|tests/engine)/\w+\.py)`", TEXT)
    ):
        assert (engine / name).exists() or (ROOT / name).exists(), name
    source = "".join(path.read_text(encoding="utf-8") for path in (engine / "core").glob("*.py"))
    for function in (
        "plan_saving",
        "apply",
        "record",
        "save",
        "backward",
        "plan",
        "run",
        "send",
        "deliver",
        "finish_leaf",
    ):
        assert f"`{function}" in TEXT and f"def {function}(" in source, function


if __name__ == "__main__":
    tour()
