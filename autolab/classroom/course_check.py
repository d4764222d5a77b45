"""Check that notebooks still give their stored outputs, with strict nbval, for the course or for an
instructor's copies.

The check runs a copy of the folder, so nothing in the folder changes. Differences between runs that
mean nothing (times, addresses, the coordinates of pictures) are removed by `nbval_sanitize.cfg`
beside this file; the kit's own tests use the same file.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

from ..engine.core.errors import fail
from ..installation import install
from ..lessons.folder import OWN, course_source
from ..viz import layout

SANITIZER = Path(__file__).with_name("nbval_sanitize.cfg")
ASKS = re.compile(r"\b(predict|reveal|hint|progress|in_words)\(")
"""Calls whose outputs depend on what the learner answered before."""
STORE = "AUTOLAB_PROGRESS=off jupyter nbconvert --to notebook --execute --inplace"
"""The command that runs a notebook and stores its outputs, as for a learner who has answered nothing."""


def check(folder: Path | None, jobs: int = 1, say: Callable[[str], None] = print) -> bool:
    """Run the notebooks in a folder (None: the course as shipped) and its subfolders, `jobs` at the
    same time. `say` is called with a line for each notebook and with its differences. Return
    whether all cells gave their stored outputs.

    A notebook without stored outputs, such as a learner's copy, is only run. Raises RuntimeError
    without nbval, and ValueError for a folder without notebooks or for jobs below 1.

    Example:

        >>> from autolab.classroom import course_check
        >>> course_check.check("nowhere")
        Traceback (most recent call last):
        ValueError: there is no notebook (.ipynb) in nowhere
    """
    if jobs < 1:
        raise fail(
            ValueError,
            f"jobs should be at least 1, but is {jobs}",
            "It says how many notebooks run at the same time.",
        )
    source = course_source() if folder is None else Path(folder).expanduser()
    found = sorted(
        path for path in source.rglob("*.ipynb") if not _left_out(path.relative_to(source))
    )
    if not found:
        note = "Name the folder that your copies are in; without a folder the course is checked as it was shipped."
        raise fail(ValueError, f"there is no notebook (.ipynb) in {source}", note)
    if importlib.util.find_spec("nbval") is None:
        raise fail(
            RuntimeError,
            "check-course runs notebooks with nbval, which is not installed",
            f"Install it with: {install('autolab-kit[teach]')}",
        )
    if layout.which() == "browser":
        say(
            f"There is no Graphviz here: pictures of make_dot and draw will be missing. Install it: {layout.install()}"
        )
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(jobs) as pool:
        copy = Path(work, "course")
        unused = lambda at, names: [name for name in names if _left_out(Path(name), Path(at))]
        shutil.copytree(source, copy, ignore=unused)
        good = True
        for fine, told in pool.map(
            _check, (copy / path.relative_to(source) for path in found), [copy] * len(found)
        ):
            good = good and fine
            say(told)
    return good


def _left_out(path: Path, at: Path = Path()) -> bool:
    """Return the names that are not copied: files that lessons, Jupyter and Python leave behind,
    hidden files, environments."""
    made = any(part.startswith(".") or part == "__pycache__" for part in path.parts)
    made |= path.name.startswith("my_") and path.suffix not in OWN and not (at / path).is_dir()
    return made or (at / path / "pyvenv.cfg").exists()


def _check(path: Path, root: Path) -> tuple[bool, str]:
    """Run one notebook. Return whether its outputs are as stored, and the text to show."""
    name = path.relative_to(root).as_posix()
    try:
        cells = [
            cell
            for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
            if cell["cell_type"] == "code"
        ]
    except (ValueError, LookupError, TypeError) as error:
        return False, f"{name}: cannot be read as a notebook ({type(error).__name__}: {error})"
    stored = any(cell.get("outputs") for cell in cells)
    report = path.with_suffix(".nbval.xml")
    compare = ["--nbval", "--nbval-sanitize-with", str(SANITIZER)] if stored else ["--nbval-lax"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--color=no",
        f"--rootdir={path.parent}",
        "-c",
        os.devnull,
    ]
    command += [
        "-p",
        "nbval.plugin",
        "-p",
        "no:cacheprovider",
        f"--junitxml={report}",
        *compare,
        str(path),
    ]
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "AUTOLAB_PROGRESS": "off"}
    done = subprocess.run(
        command, cwd=path.parent, env=os.environ | alone, capture_output=True, text=True
    )
    if not report.exists() or done.returncode not in (0, 1):
        last = (done.stdout + done.stderr).strip().splitlines()[-3:]
        return False, f"{name}: could not be run: {' '.join(last)}"
    cases = list(ElementTree.parse(report).iter("testcase"))
    wrong = [
        case for case in cases if case.find("failure") is not None or case.find("error") is not None
    ]
    if not wrong:
        return (
            True,
            f"{name}: {len(cases)} cells, {'all as stored' if stored else 'all ran; no outputs are stored to compare with'}",
        )
    details = "\n".join(
        re.findall(
            r"^=+ FAILURES =+\n(.*?)^(?:-+ generated xml|=+ short test)",
            done.stdout,
            re.DOTALL | re.MULTILINE,
        )
    )
    details = re.sub(r"(\x1b|#x1B)?\[\d+(;\d+)*m", "", details)  # colours of a traceback
    if stored and any(ASKS.search("".join(cell["source"])) for cell in cells):
        details += f"If the stored outputs of {name} contain your own answers, store it again without them: {STORE} {name}\n"
    numbers = ", ".join(case.get("name", "").removeprefix("Cell ") for case in wrong)
    return (
        False,
        f"{details}{name}: {len(cases)} cells, {len(wrong)} {'differ' if stored else 'fail'}: {numbers} (counted from 0, code only)",
    )
