"""What is shipped: the wheel holds package, static files, course and licences, and works without the clone."""

import re
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from autolab._version import __version__

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted(
    path for path in (ROOT / "course").rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    code = f"from hatchling.build import build_wheel; print(build_wheel({str(folder)!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """A folder to put on the path, with the wheel's files in it as pip lays them."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def run_installed(installed: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Python with the installed files first on its path, away from the clone."""
    environment = dict(os.environ, PYTHONPATH=str(installed))
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True
    )


def files_in(folder: str) -> set[str]:
    left_by_programs = {"__pycache__", ".ipynb_checkpoints"}
    found = (
        path.relative_to(ROOT)
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not path.match("my_*")
    )  # by lessons
    return {path.as_posix() for path in found if not left_by_programs.intersection(path.parts)}


def test_every_file_of_the_package_and_what_a_student_needs_of_the_course_is_in_the_wheel(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    course = files_in("course") - files_in("course/src")
    expected = files_in("autolab") | {f"autolab/_{name}" for name in course}
    assert len(expected) > 50
    assert not expected - names
    assert any(name.endswith("licenses/THIRD_PARTY_NOTICES") for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_notices_name_files_that_are_there():
    text = (ROOT / "THIRD_PARTY_NOTICES").read_text(encoding="utf-8")
    named = re.findall(r"\bautolab/[\w/.]+\b", text)
    assert len(named) > 4 and [path for path in named if not (ROOT / path).exists()] == []


def test_the_index_shows_a_readme_whose_links_are_absolute(wheel):
    files = zipfile.ZipFile(wheel)
    metadata = files.read(
        next(name for name in files.namelist() if name.endswith("/METADATA"))
    ).decode()
    repository = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "urls"
    ]["Repository"]
    targets = re.findall(r"\]\(([^)\s]+)\)", metadata)
    assert f"{repository}/blob/main/docs/gallery.md" in targets and any(
        t.endswith("/main/docs/images/backward.svg") for t in targets
    )
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []


def test_nothing_else_is_in_the_wheel(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    folders = {name.split("/")[0] for name in names}
    data = f"autolab_kit-{__version__}.data"
    assert folders == {"autolab", "autolab_kit.py", data, f"autolab_kit-{__version__}.dist-info"}
    # JupyterLab's settings: it saves widgets with a notebook
    assert [name.split("/", 2)[2] for name in names if name.startswith(data)] == [
        "share/jupyter/lab/settings/overrides.d/autolab-kit.json"
    ]


def test_autolab_lab_copies_the_course_from_an_installed_wheel(installed, tmp_path):
    done = run_installed(installed, "-m", "autolab", "lab", "mine", "--copy-only", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"The course is in {tmp_path / 'mine'}\n"
    copied = {
        path.relative_to(tmp_path / "mine").as_posix()
        for path in (tmp_path / "mine").rglob("*.ipynb")
    }
    assert copied == {path.relative_to(ROOT / "course").as_posix() for path in NOTEBOOKS} != set()


def test_the_installed_package_is_the_one_that_runs(installed, tmp_path):
    code = (
        "import autolab; x = autolab.tensor([2.0], requires_grad=True); (x * x).backward()\n"
        "print(autolab.__file__, x.grad)"
    )
    done = run_installed(installed, "-c", code, cwd=tmp_path)
    assert done.stdout == f"{installed / 'autolab' / '__init__.py'} tensor([4.])\n", done.stderr


def test_importing_autolab_loads_nothing_heavy(tmp_path):
    """Widgets, pictures and lessons are imported on first use."""
    heavy = {
        "matplotlib",
        "ipywidgets",
        "anywidget",
        "IPython",
        "graphviz",
        "pygraphviz",
        "latex2mathml",
        "cupy",
    }
    code = f"import sys, autolab; print(sorted({heavy | {'torch'}} & set(sys.modules)))"
    done = run_installed(ROOT, "-c", code, cwd=tmp_path)
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.skipif(os.name == "nt", reason="a shell's script")
def test_an_environment_that_was_made_elsewhere_is_removed(tmp_path):
    for name, command in {
        ".venv": "/before/.venv",
        ".venv-here": tmp_path.resolve() / ".venv-here",
        ".venv-other": "",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "pyvenv.cfg").write_text(
            f"command = /usr/bin/python3 -m venv {command}\n" if command else "uv = 0.9\n"
        )
    subprocess.run(["sh", ROOT / "tools" / "moved.sh"], cwd=tmp_path, check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".venv-here", ".venv-other"]
