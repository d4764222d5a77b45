"""The `autolab-kit` command: copying the course without ever losing a student's work, JupyterLab, the doctor."""

import subprocess
import sys
import types
from pathlib import Path

import pytest

from autolab import cli, installation
from autolab.lessons import folder as folders
from autolab._version import __version__
from autolab.engine.kernels import blas
from autolab.viz import layout


def files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in (folders.RECORD, folders.START)
    }


class FakeLab:
    """Stands for JupyterLab and records the arguments it was started with."""

    @classmethod
    def launch_instance(cls, arguments):
        cls.arguments = arguments


@pytest.fixture
def fake_lab(monkeypatch, course):
    monkeypatch.setattr(folders, "course_source", lambda: course)
    module = types.ModuleType("jupyterlab.labapp")
    module.LabApp = FakeLab
    monkeypatch.setitem(sys.modules, "jupyterlab.labapp", module)
    return FakeLab


def test_lab_copies_the_course_and_opens_it(fake_lab, mine, monkeypatch, capsys):
    monkeypatch.setattr(cli.os, "geteuid", lambda: 1000, raising=False)
    assert cli.main(["lab", str(mine), "--no-browser", "--port=9999"]) == 0
    assert fake_lab.arguments == [
        f"--ServerApp.root_dir={mine}",
        "--LabApp.default_url=/lab/tree/start.md",
        "--no-browser",
        "--port=9999",
    ]
    assert files(mine)["01.ipynb"] == "one"
    assert f"The course is in {mine}" in capsys.readouterr().out


def test_the_folder_has_a_default(fake_lab, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["lab"]) == 0
    assert files(tmp_path / cli.DEFAULT_FOLDER)["02.ipynb"] == "two"


def test_without_jupyterlab_the_message_says_how_to_get_it(fake_lab, mine, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "jupyterlab.labapp", None)
    assert cli.main(["lab", str(mine)]) == 1
    assert f"{sys.executable} -m pip install jupyterlab" in capsys.readouterr().err
    assert files(mine)["01.ipynb"] == "one", "the course is copied all the same"


def test_a_file_in_place_of_the_folder_is_refused(fake_lab, tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    assert cli.main(["lab", str(tmp_path / "notes.txt")]) == 1
    assert "is a file" in capsys.readouterr().err
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_refused(fake_lab, tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    assert cli.main(["lab", str(tmp_path / "notes.txt" / "deeper")]) == 1
    assert "deeper cannot be made: Not a directory" in capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"autolab-kit {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["doctor", "--loud"], ["unknown"]])
def test_wrong_usage_is_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    assert stopped.value.code == 2
    assert "usage: autolab-kit" in capsys.readouterr().err


def test_the_doctor_says_what_is_found(monkeypatch, capsys):
    monkeypatch.setenv("AUTOLAB_LAYOUT", "browser")
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert cli.main(["doctor"]) == 0
    found = {line[:14].strip(): line[14:] for line in capsys.readouterr().out.splitlines()}
    assert found["autolab-kit"] == __version__
    assert (
        found["graph layout"]
        == f"in the browser; pictures of make_dot and draw need Graphviz: {layout.install()}"
    )
    assert found["GPU (cupy)"].startswith("not installed")
    assert found["Python"].endswith(f"({sys.executable})")
    assert Path(found["course"]).is_dir()
    assert found["start with"] == installation.command("lab")


def test_the_doctor_names_the_blas(monkeypatch, capsys):
    monkeypatch.setattr(blas, "core", lambda: "Haswell")
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert cli.main(["doctor"]) == 0
    assert (
        "BLAS          OpenBLAS, kernels for Haswell, as OPENBLAS_CORETYPE says\n"
        in capsys.readouterr().out
    )
    monkeypatch.delenv("OPENBLAS_CORETYPE")
    monkeypatch.setattr(blas, "core", lambda: "")
    assert cli.main(["doctor"]) == 0
    assert "BLAS          not OpenBLAS\n" in capsys.readouterr().out


def test_python_m_autolab_is_the_same_command():
    done = subprocess.run(
        [sys.executable, "-m", "autolab", "--version"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, f"autolab-kit {__version__}\n")


def test_a_lesson_starts_again_on_request(fake_lab, mine, capsys):
    (folders.course_source() / "01_graphs.ipynb").write_text("a lesson")
    assert cli.main(["lab", str(mine), "--copy-only"]) == 0
    (mine / "01_graphs.ipynb").write_text("worked in")
    assert cli.main(["lab", str(mine), "--copy-only", "--reset", "01"]) == 0
    assert "what you wrote in it is in 01_graphs.mine.ipynb" in capsys.readouterr().out
    assert files(mine)["01_graphs.ipynb"] == "a lesson"
    assert cli.main(["lab", str(mine), "--copy-only", "--reset", "09"]) == 1
    assert (
        "--reset 09: the course has no lesson of that number. Type one of 01."
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("options", "passed_on"),
    [
        (["--port", "8878"], ["--port=8878"]),
        (["--ip", "0.0.0.0", "--no-browser"], ["--ip=0.0.0.0", "--no-browser"]),
        (["--ServerApp.token", "secret"], ["--ServerApp.token=secret"]),
        (["--LabApp.collaborative=True"], ["--LabApp.collaborative=True"]),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_what_follows_an_option_of_jupyterlab_is_its_value(
    fake_lab, tmp_path, monkeypatch, options, passed_on, first
):
    monkeypatch.chdir(tmp_path)
    folder = str(tmp_path / "mine")
    assert cli.main(["lab", *([folder, *options] if first else [*options, folder])]) == 0
    assert fake_lab.arguments[-len(passed_on) :] == passed_on
    assert f"--ServerApp.root_dir={folder}" in fake_lab.arguments
    assert {path.name for path in tmp_path.iterdir()} == {"source", "mine"}


def test_options_with_a_value_are_those_of_jupyterlab():
    app = pytest.importorskip("jupyterlab.labapp").LabApp
    assert set(app.aliases) - set(app.flags) - {"pylab"} <= set(cli.WITH_VALUE)
