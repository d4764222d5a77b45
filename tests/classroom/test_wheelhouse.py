"""A wheelhouse: what pip is asked for, what is said when it fails, and a wheel that is packed again from what is
installed.

That a room installs from one is tried by hand (docs/room.md): it takes the package index and a minute.
"""

import subprocess
import sys
import zipfile
from importlib import metadata

import pytest

from autolab import cli
from autolab.classroom import wheelhouse


@pytest.fixture
def pip(monkeypatch):
    """Stands for pip: notes what it is asked for, brings two files, and fails where a test says so."""
    asked = []

    def run(command, **_):
        asked.append(command[command.index("--no-input") + 1 : -1])
        if "download" in command and not run.error:
            folder = wheelhouse.Path(command[command.index("--dest") + 1])
            (folder / "numpy-2-any.whl").write_bytes(b"0" * 3_000_000)
            (folder / "tornado-6-any.whl").write_bytes(b"0" * 1_000_000)
        return subprocess.CompletedProcess(command, int(bool(run.error)), "", run.error)

    run.error = ""
    monkeypatch.setattr(wheelhouse.subprocess, "run", run)
    run.asked = asked
    return run


def test_it_collects_and_says_how_to_use_it(pip, tmp_path, capsys):
    folder = tmp_path / "a stick" / "wheels"
    assert cli.main(["wheelhouse", str(folder)]) == 0
    (build, *_), (download, *options) = pip.asked
    assert (
        (build, download) == ("wheel", "download")
        and "--only-binary=:all:" in options
        and options[-1].endswith(".whl[lab,graphviz]")
    )
    assert (
        "has 2 packages" in (said := capsys.readouterr().out)
        and ": 4 MB (the largest: numpy 3, tornado 1)" in said
    )
    readme = folder / "README.txt"
    readme.write_text(
        readme.read_text().replace("made on: ", "made on: a Mac, Python 9\nmade on: ")
    )
    assert cli.main(["wheelhouse", str(folder)]) == cli.main(["wheelhouse", str(folder)]) == 0
    text = readme.read_text()
    assert text.count("made on: ") == 2 and "made on: a Mac" in text
    assert (
        "--no-index --find-links ." in text
        and "python -m http.server 8000" in text
        and "--trusted-host" in text
    )


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("python: No module named pip", "pip is not installed for"),
        (
            "WARNING: retrying\nERROR: No matching distribution found for numpy\n",
            "failed: ERROR: No matching distribution",
        ),
    ],
)
def test_what_fails_is_said_with_what_to_do(pip, tmp_path, capsys, error, said):
    pip.error = error
    assert cli.main(["wheelhouse", str(tmp_path)]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("autolab-kit: ") and said in lines[0] and len(lines) == 2


def test_an_installed_wheel_is_packed_again(tmp_path):
    """Its contents and their digests are those that were installed; without pip's own notes, scripts and caches."""
    name = "latex2mathml"
    wheel = wheelhouse.repacked(name, tmp_path)
    version = metadata.version(name)
    assert wheel.name == f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        record = packed.read(f"{name}-{version}.dist-info/RECORD").decode().splitlines()
        assert packed.testzip() is None and sorted(line.split(",")[0] for line in record) == sorted(
            names
        )
        assert not [
            n
            for n in names
            if n.startswith("..") or "__pycache__" in n or n.endswith("INSTALLER") or "bin/" in n
        ]
        installed = {str(f): f.hash.value for f in metadata.files(name) if f.hash}
        ours = {n: digest for n, _, digest in (line.partition(",sha256=") for line in record)}
        assert (
            all(ours[n].startswith(f"{installed[n]},") for n in names if n in installed)
            and len(installed) > 5
        )
    options = [
        "--no-index",
        "--no-deps",
        "--quiet",
        "--target",
        str(tmp_path / "there"),
        str(wheel),
    ]
    subprocess.run([sys.executable, "-m", "pip", "install", *options], check=True)
    assert (tmp_path / "there" / name / "__init__.py").exists()
