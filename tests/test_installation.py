"""Commands that the kit tells people to type: the form that works where it is installed."""

import json
import os
import re
import shlex
import subprocess
import sys
import types
from pathlib import Path

import pytest

from autolab import installation

ROOT = Path(__file__).parents[1]


def unix(monkeypatch, tmp_path, prefix: str, origin=None, on_path=False):
    """An environment at `prefix` with the script in it."""
    folder = tmp_path / prefix / "bin"
    folder.mkdir(parents=True)
    script = folder / "autolab-kit"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / prefix))
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setattr(installation.sysconfig, "get_path", lambda name: str(folder))
    monkeypatch.setenv("PATH", str(folder if on_path else tmp_path))
    told = types.SimpleNamespace(read_text=lambda name: json.dumps(origin) if origin else None)
    monkeypatch.setattr(installation.metadata, "distribution", lambda name: told)
    return script


posix = pytest.mark.skipif(os.name != "posix", reason="paths of Unix")


@posix
def test_pip_puts_the_command_on_the_path(monkeypatch, tmp_path):
    unix(monkeypatch, tmp_path, "env", on_path=True)
    assert installation.command("lab --reset 01") == "autolab-kit lab --reset 01"


@posix
def test_make_does_not_and_a_space_in_the_path_is_quoted(monkeypatch, tmp_path):
    script = unix(monkeypatch, tmp_path, "a clone/.venv")
    assert shlex.split(installation.command("lab")) == [str(script), "lab"]
    assert installation.install("autolab-kit[graphviz]").endswith(
        '/python\' -m pip install "autolab-kit[graphviz]"'
    )


@posix
@pytest.mark.parametrize("folder", ["uv/archive-v0/Ab12", "uv/environments-v2/autolab-kit-1f"])
def test_uvx_takes_the_kit_from_where_it_came(monkeypatch, tmp_path, folder):
    unix(monkeypatch, tmp_path, folder, on_path=True)
    assert installation.command("lab") == 'uvx --from "autolab-kit[lab]" autolab-kit lab'
    url = "file:///tmp/autolab_kit-0.1.0-py3-none-any.whl"
    told = types.SimpleNamespace(read_text=lambda name: json.dumps({"url": url}))
    monkeypatch.setattr(installation.metadata, "distribution", lambda name: told)
    assert installation.command("doctor") == (
        f'uvx --from "autolab-kit[lab] @ {url}" autolab-kit doctor'
    )
    assert installation.install("autolab-kit[graphviz]", "matplotlib") == (
        f'uvx --with matplotlib --from "autolab-kit[lab,graphviz] @ {url}" autolab-kit lab'
    )


def test_an_environment_without_pip_gets_uvs_command(monkeypatch):
    monkeypatch.setattr(installation.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(installation.shutil, "which", lambda name, path=None: "/usr/bin/uv")
    assert installation.install("segno").startswith("uv pip install --python ")


def test_a_browser_gets_a_magic(monkeypatch):
    monkeypatch.setattr(sys, "platform", "emscripten")
    assert installation.install("segno") == "%pip install segno"


def test_the_command_runs_here():
    done = subprocess.run(
        shlex.split(installation.command("--version")),
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and done.stdout.startswith("autolab-kit ")


COMMANDS = "lab doctor inventory lecture grade release room cheatsheet check-course wheelhouse solutions plans"


def test_nothing_tells_people_to_type_the_name_of_another_project():
    """`uvx autolab` and `pip install autolab` are a project for laboratory instruments, which writes to ~/autolab."""
    wrong = re.compile(
        rf"(?<![\w/.-])autolab ({'|'.join(COMMANDS.split())})\b(?!\")|~/autolab(?!-)", re.M
    )
    files = [
        path
        for room in ("autolab", "course", "docs", "tools", "deploy", "binder", ".github")
        for path in (ROOT / room).rglob("*")
        if path.suffix in (".py", ".js", ".md", ".sh", ".ipynb", ".yml", "") and path.is_file()
    ]
    files += [
        ROOT / name for name in ("README.md", "CONTRIBUTING.md", "Makefile", "autolab_kit.py")
    ]
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in files
        for match in wrong.finditer(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert found == []
