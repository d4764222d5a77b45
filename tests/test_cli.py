"""The `autolab` command: copying the course without ever losing a student's work, JupyterLab, the doctor."""

import json
import subprocess
import sys
import types
from pathlib import Path

import pytest

from autolab import cli
from autolab._version import __version__
from autolab.engine.kernels import blas


@pytest.fixture
def course(tmp_path):
    """A small course: two lessons, a data file in a folder, and what must not be copied."""
    source = tmp_path / "source"
    for name, text in {
        "01.ipynb": "one",
        "02.ipynb": "two",
        "data/points.csv": "1,2\n",
        "src/01/00.py": "source of a lesson",
        ".ipynb_checkpoints/01.ipynb": "left by Jupyter",
    }.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    return source


@pytest.fixture
def mine(tmp_path):
    return tmp_path / "mine"


def copy(source: Path, target: Path) -> list[str]:
    return list(cli.copy_course(source, target))


def files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != cli.RECORD
    }


def test_a_first_copy_holds_the_course_and_nothing_else(course, mine):
    assert copy(course, mine) == [f"The course is in {mine}"]
    assert files(mine) == {"01.ipynb": "one", "02.ipynb": "two", "data/points.csv": "1,2\n"}


def test_a_second_copy_changes_nothing(course, mine):
    copy(course, mine)
    (mine / "01.ipynb").write_text("one, solved")
    before = files(mine)
    assert copy(course, mine) == [f"The course is in {mine}"]
    assert files(mine) == before


def test_an_untouched_file_is_updated(course, mine):
    copy(course, mine)
    (course / "01.ipynb").write_text("one, better")
    assert copy(course, mine)[0] == f"updated: {mine / '01.ipynb'}"
    assert files(mine)["01.ipynb"] == "one, better"
    assert len(files(mine)) == 3


def test_changed_work_is_kept_and_the_new_version_put_beside_it_once(course, mine):
    copy(course, mine)
    (mine / "01.ipynb").write_text("one, solved")
    (course / "01.ipynb").write_text("one, better")
    assert copy(course, mine)[0] == f"kept: {mine / '01.ipynb'}, which you changed; its new version is 01.new.ipynb"
    assert files(mine)["01.ipynb"] == "one, solved" and files(mine)["01.new.ipynb"] == "one, better"
    assert copy(course, mine) == [f"The course is in {mine}"], "the same news is not told twice"


def test_a_new_version_the_student_worked_in_is_kept_too(course, mine):
    copy(course, mine)
    (mine / "01.ipynb").write_text("one, solved")
    (course / "01.ipynb").write_text("one, better")
    copy(course, mine)
    (mine / "01.new.ipynb").write_text("one, better, solved")
    (course / "01.ipynb").write_text("one, best")
    assert "its new version is 01.new2.ipynb" in copy(course, mine)[0]
    assert [files(mine)[name] for name in ("01.ipynb", "01.new.ipynb", "01.new2.ipynb")] == [
        "one, solved", "one, better, solved", "one, best",
    ]


def test_a_file_of_the_students_own_with_a_lessons_name_is_kept(course, mine):
    mine.mkdir()
    (mine / "02.ipynb").write_text("my own")
    messages = copy(course, mine)
    assert files(mine)["02.ipynb"] == "my own" and files(mine)["02.new.ipynb"] == "two"
    assert f"added: {mine / '01.ipynb'}" in messages


def test_a_lost_record_loses_no_work(course, mine):
    copy(course, mine)
    (mine / "01.ipynb").write_text("one, solved")
    (mine / cli.RECORD).unlink()
    copy(course, mine)
    assert files(mine)["01.ipynb"] == "one, solved" and files(mine)["01.new.ipynb"] == "one"


def test_a_deleted_file_comes_back(course, mine):
    copy(course, mine)
    (mine / "02.ipynb").unlink()
    assert copy(course, mine)[0] == f"added: {mine / '02.ipynb'}"
    assert files(mine)["02.ipynb"] == "two"


class FakeLab:
    """Stands for JupyterLab: notes the arguments it was started with."""

    @classmethod
    def launch_instance(cls, arguments):
        cls.arguments = arguments


@pytest.fixture
def fake_lab(monkeypatch, course):
    monkeypatch.setattr(cli, "course_source", lambda: course)
    monkeypatch.setattr(cli, "trust_course", lambda source, target: setattr(FakeLab, "trusted", (source, target)))
    module = types.ModuleType("jupyterlab.labapp")
    module.LabApp = FakeLab
    monkeypatch.setitem(sys.modules, "jupyterlab.labapp", module)
    return FakeLab


def test_lab_copies_the_course_and_opens_it(fake_lab, mine, monkeypatch, capsys):
    monkeypatch.setattr(cli.os, "geteuid", lambda: 1000, raising=False)
    assert cli.main(["lab", str(mine), "--no-browser", "--port=9999"]) == 0
    assert fake_lab.arguments == [f"--ServerApp.root_dir={mine}", "--no-browser", "--port=9999"]
    assert files(mine)["01.ipynb"] == "one"
    assert fake_lab.trusted == (cli.course_source(), mine)
    assert f"The course is in {mine}" in capsys.readouterr().out


@pytest.fixture(autouse=True)
def own_signatures(tmp_path, monkeypatch):
    """Signatures go to a data base of the test's own."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))


def test_notebooks_as_shipped_are_trusted_and_changed_ones_are_not(course, mine):
    nbformat = pytest.importorskip("nbformat")
    from nbformat.sign import NotebookNotary

    for name in ("01.ipynb", "02.ipynb"):
        cell = nbformat.v4.new_code_cell("1", id=name[:2], outputs=[nbformat.v4.new_output("stream", text="1")])
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), course / name)
    copy(course, mine)
    changed = nbformat.read(mine / "02.ipynb", 4)
    changed.cells[0].outputs[0].text = "2"
    nbformat.write(changed, mine / "02.ipynb")
    cli.trust_course(course, mine)
    trusted = {p.name: NotebookNotary().check_signature(nbformat.read(p, 4)) for p in sorted(mine.glob("*.ipynb"))}
    assert trusted == {"01.ipynb": True, "02.ipynb": False}


def test_root_may_open_it_too(fake_lab, mine, monkeypatch):
    monkeypatch.setattr(cli.os, "geteuid", lambda: 0, raising=False)
    cli.main(["lab", str(mine)])
    assert "--allow-root" in fake_lab.arguments


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


def test_version(capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"autolab {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["doctor", "--loud"], ["unknown"]])
def test_wrong_usage_is_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    assert stopped.value.code == 2
    assert "usage: autolab" in capsys.readouterr().err


def test_the_doctor_says_what_is_found(monkeypatch, capsys):
    monkeypatch.setenv("AUTOLAB_LAYOUT", "browser")
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert cli.main(["doctor"]) == 0
    found = {line[:14].strip(): line[14:] for line in capsys.readouterr().out.splitlines()}
    assert found["autolab"] == __version__
    assert found["graph layout"] == "in the browser only (viz.js)"
    assert found["GPU (cupy)"].startswith("not installed")
    assert found["Python"].endswith(f"({sys.executable})")
    assert Path(found["course"]).is_dir()


def test_the_doctor_names_the_blas(monkeypatch, capsys):
    monkeypatch.setattr(blas, "core", lambda: "Haswell")
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert cli.main(["doctor"]) == 0
    assert "BLAS          OpenBLAS, kernels for Haswell, as OPENBLAS_CORETYPE says\n" in capsys.readouterr().out
    monkeypatch.delenv("OPENBLAS_CORETYPE")
    monkeypatch.setattr(blas, "core", lambda: "")
    assert cli.main(["doctor"]) == 0
    assert "BLAS          not OpenBLAS\n" in capsys.readouterr().out


def test_the_doctor_counts_gpus_or_says_why_not(monkeypatch, capsys):
    class CUDARuntimeError(RuntimeError):
        pass

    def no_driver():
        raise CUDARuntimeError("no CUDA-capable device is detected")

    runtime = types.SimpleNamespace(getDeviceCount=lambda: 1, CUDARuntimeError=CUDARuntimeError)
    fake = types.SimpleNamespace(__version__="14.2.0", cuda=types.SimpleNamespace(runtime=runtime))
    monkeypatch.setitem(sys.modules, "cupy", fake)
    assert cli._gpu() == "cupy 14.2.0, 1 device"
    runtime.getDeviceCount = no_driver
    assert cli._gpu() == "cupy 14.2.0, but no usable GPU (no CUDA-capable device is detected)"


def test_python_m_autolab_is_the_same_command():
    done = subprocess.run([sys.executable, "-m", "autolab", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"autolab {__version__}\n")


def test_the_record_is_json_with_one_digest_a_file(course, mine):
    copy(course, mine)
    record = json.loads((mine / cli.RECORD).read_text())
    assert set(record) == set(files(mine)) and all(len(digest) == 64 for digest in record.values())
