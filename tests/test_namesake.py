"""PyPI's other `autolab`, installed beside the kit or over it: what is said, and what to type."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import autolab_kit
from autolab import cli

ROOT = Path(__file__).parents[1]


@pytest.fixture
def installed(tmp_path):
    """A folder for packages in which the other project was installed over the kit."""
    (tmp_path / "autolab" / "engine" / "core").mkdir(parents=True)
    (tmp_path / "autolab" / "__init__.py").write_text("import no_such_module_as_pandas\n")
    (tmp_path / "autolab-2.0.3.dist-info").mkdir()
    (tmp_path / "autolab-2.0.3.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: autolab\nVersion: 2.0.3\n"
    )
    (tmp_path / "autolab_kit.py").write_bytes((ROOT / "autolab_kit.py").read_bytes())
    return tmp_path


def command(folder):
    env = os.environ | {"PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, "-S", "-m", "autolab_kit", "doctor"],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
    )


def test_the_kit_finds_itself():
    assert autolab_kit.problem() == ""


def test_a_kit_that_was_overwritten_says_what_to_type(installed):
    done = command(installed)
    assert (
        done.returncode == 1
        and "PyPI's `autolab` 2.0.3, another project of that name, lies where the kit was"
        in done.stderr
    )
    assert (
        "-m pip uninstall -y autolab\n" in done.stderr
        and "--force-reinstall --no-deps autolab-kit" in done.stderr
    )


def test_so_does_one_of_which_uninstalling_the_other_took_a_part(installed):
    (installed / "autolab" / "__init__.py").unlink()
    (installed / "autolab-2.0.3.dist-info" / "METADATA").unlink()
    (installed / "autolab-2.0.3.dist-info").rmdir()
    assert "the package `autolab` has no __init__.py" in command(installed).stderr


def test_a_file_of_that_name_in_the_way_is_named(tmp_path, installed):
    (installed / "autolab-2.0.3.dist-info" / "METADATA").unlink()
    (installed / "autolab-2.0.3.dist-info").rmdir()
    assert (
        f"finds {installed / 'autolab' / '__init__.py'}, which is not the kit"
        in command(installed).stderr
    )


def test_the_first_import_warns_where_both_are(installed):
    with pytest.warns(UserWarning, match="uninstalling it takes a part of the kit away"):
        autolab_kit.warn_of_namesake(str(installed / "autolab"))


def test_the_doctor_tells(monkeypatch, capsys):
    monkeypatch.setattr(autolab_kit, "namesake", lambda: "2.0.3")
    assert cli.main(["doctor"]) == 0
    assert "pip uninstall -y autolab" in capsys.readouterr().out
