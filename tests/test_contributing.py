"""CONTRIBUTING.md's example: a new operation, step by step in a copy of the project."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from goldens import oracle

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECORD, COUNTERPART = (
    re.sub(r"(?m)^   ", "", block) for block in re.findall(r"(?s)   ```python\n(.*?)   ```", PAGE)
)
TESTS = ("test_ops_records.py", "test_ops_torch.py", "test_nonfinite.py", "test_ops_latex.py")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the engine and of the tests of its operations, with the example written into it."""
    copy = tmp_path_factory.mktemp("project")
    shutil.copytree(
        ROOT / "autolab", copy / "autolab", ignore=shutil.ignore_patterns("static", "__pycache__")
    )
    for folder in ("tests", "tests/engine", "tools"):
        (copy / folder).mkdir()
    shutil.copytree(ROOT / "tests" / "goldens", copy / "tests" / "goldens")
    shutil.copytree(ROOT / "tests" / "conformance", copy / "tests" / "conformance")
    files = ["pyproject.toml", "tests/conftest.py", "tools/absent.py", "tools/signatures.py"]
    files += [f"tests/engine/{name}" for name in TESTS]
    files += [f"tests/{path.name}" for path in (ROOT / "tests").glob("engine_*.py")]
    for name in files:
        shutil.copy(ROOT / name, copy / name)
    family = copy / "autolab/engine/ops/pointwise.py"
    family.write_text(family.read_text() + "\n\n" + RECORD)
    return copy


def run(project, *arguments, **variables):
    environment = os.environ | {"PYTHONPATH": str(project)} | variables
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, env=environment, cwd=project, capture_output=True, encoding="utf-8"
    )
    return done.returncode, done.stdout + done.stderr


def test_function_method_in_place_form_and_gradient_work_at_once(project):
    code, said = run(
        project,
        "-c",
        "import autolab as torch\n"
        "x = torch.tensor([2., -1.], requires_grad=True)\n"
        "y = torch.cubed(x)\n"
        "y.sum().backward()\n"
        "print(y, x.grad, torch.arange(3.).cubed(), torch.ones(2).mul(2).cubed_())",
    )
    assert said == (
        "tensor([ 8., -1.], grad_fn=<CubedBackward0>) tensor([12.,  3.]) tensor([0., 1., 8.]) tensor([8., 8.])\n"
    )


@pytest.mark.skipif(not oracle.LIVE, reason="PyTorch 2.13 is not installed, which is asked")
def test_the_answers_of_one_operation_are_stored_by_one_command(project):
    counterparts = project / "tests/engine_counterparts.py"
    whole = counterparts.read_text()
    for head, line in (("COUNTERPARTS = {\n", COUNTERPART), ("ONLY_HERE = {\n", '"cubed",\n')):
        assert whole.count(head) == 1
        whole = whole.replace(head, head + line)
    code, said = run(project, "-m", "pytest", "-q", "-p", "no:xdist", "tests/engine", "-k", "cubed")
    assert code and "Write what it computes" in said
    counterparts.write_text(whole)
    before = {path.name: path.read_text() for path in (project / "tests/goldens").glob("*.json")}
    code, said = run(project, "tests/goldens/write.py", "cubed")
    assert code == 0, said
    for path in (project / "tests/goldens").glob("*.json"):
        rows, new = before[path.name].splitlines(), path.read_text().splitlines()
        added = [row for row in new if row not in set(rows)]
        assert [row for row in new if row not in added] == rows
        assert all(row.startswith('"cubed') for row in added), path.name
        assert len(added) == (
            6 if path.name in ("test_ops_torch.json", "test_nonfinite.json") else 0
        )
    stored = run(
        project,
        *("-m", "pytest", "-q", "-p", "no:xdist", "tests/engine", "-k", "cubed"),
        AUTOLAB_ORACLE="stored",
    )
    assert stored[0] == 0 and " passed" in stored[1], stored[1]
