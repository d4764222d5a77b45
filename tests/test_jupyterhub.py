"""deploy/hub: its settings agree with the kit and with each other, a learner's server has limits,
and work is kept."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from packaging.requirements import Requirement
from traitlets.config import Config

from autolab._version import __version__

ROOT = Path(__file__).parents[1]
HUB = ROOT / "deploy" / "hub"
yaml = pytest.importorskip("yaml")
VALUES = yaml.safe_load((HUB / "values.yaml").read_text())
pytestmark = pytest.mark.skipif(os.name == "nt", reason="JupyterHub runs on Unix")


def configured(monkeypatch, tmp_path, password="learn-autolab", **environment):
    """Return JupyterHub's configuration and the names that its file defines."""
    for name, value in {
        "AUTOLAB_HUB": str(tmp_path / "hub"),
        "AUTOLAB_HUB_PASSWORD": password,
        **environment,
    }.items():
        monkeypatch.setenv(name, value)
    c, path = Config(), HUB / "jupyterhub_config.py"
    names = {"get_config": lambda: c, "__file__": str(path)}
    exec(compile(path.read_text(), path, "exec"), names)
    return c, names


def test_one_machine_has_the_settings_of_many(monkeypatch, tmp_path):
    c, _ = configured(monkeypatch, tmp_path, AUTOLAB_COURSE="/srv/course")
    assert (
        c.Spawner.mem_limit == "1G" and c.Spawner.default_url == VALUES["singleuser"]["defaultUrl"]
    )
    assert (
        c.Spawner.environment["OPENBLAS_NUM_THREADS"] == "1"
        and c.Spawner.environment["AUTOLAB_COURSE"] == "/srv/course"
    )
    assert (
        c.JupyterHub.authenticator_class == "shared-password"
        and c.SharedPasswordAuthenticator.user_password == "learn-autolab"
    )
    assert f"--timeout={VALUES['cull']['timeout']}" in c.JupyterHub.services[0]["command"]
    assert (tmp_path / "hub").stat().st_mode & 0o077 == 0
    names = re.compile(c.Authenticator.username_pattern)
    assert names.fullmatch("ada_2") and not any(
        map(names.fullmatch, ("..", "a/b", "", "hub.sqlite"))
    )
    with pytest.raises(SystemExit, match="8 characters or more"):
        configured(monkeypatch, tmp_path, password="short")


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores are chosen on Linux")
def test_a_server_has_its_cores_and_comes_after_the_hub(monkeypatch, tmp_path):
    _, names = configured(monkeypatch, tmp_path)
    said = "import os; print(len(os.sched_getaffinity(0)), os.nice(0))"
    limit = names["limits"]()
    out = subprocess.run(
        [sys.executable, "-c", said], preexec_fn=limit, capture_output=True, text=True, check=True
    )
    assert out.stdout.split() == ["1", str(min(19, os.nice(0) + names["NICE"]))]


def test_a_spawn_brings_news_and_keeps_what_was_changed(tmp_path, course):
    home, programs = tmp_path / "home", tmp_path / "bin"
    home.mkdir()
    programs.mkdir()
    kit = f"#!{sys.executable}\nimport sys\nfrom autolab.cli import main\nsys.exit(main())\n"
    for name, text in {
        "autolab-kit": kit,
        "jupyterhub-singleuser": '#!/bin/sh\npwd; ulimit -d; echo "$JUPYTER_CONFIG_PATH" "$@"\n',
    }.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    environment = {
        **os.environ, "HOME": str(home), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT),
        "MEM_LIMIT": str(4 << 30), "AUTOLAB_COURSE": str(course), "JUPYTER_CONFIG_PATH": "",
    }  # fmt: skip

    def spawn(**more):
        told = [HUB / "start.sh", "--ip=x"]
        return subprocess.run(
            told, env=environment | more, capture_output=True, text=True, check=True
        )

    assert spawn().stdout.splitlines()[-3:] == [str(home), str(4 << 20), f"{HUB / 'server'} --ip=x"]
    mine = home / "autolab-course"
    (mine / "01.ipynb").write_text("one, solved")
    (course / "01.ipynb").write_text("one, better")
    (course / "02.ipynb").write_text("two, better")
    course.chmod(0o555)  # learners need not write to it, and cannot
    spawn()
    assert [(mine / name).read_text() for name in ("01.ipynb", "01.new.ipynb", "02.ipynb")] == [
        "one, solved",
        "one, better",
        "two, better",
    ]
    failed = spawn(AUTOLAB_COURSE=str(tmp_path / "none"))
    assert (
        "is not a folder" in failed.stderr
        and "JupyterLab starts with what is there" in failed.stderr
    )
    assert failed.stdout.splitlines()[-1].endswith("--ip=x")


def test_versions_go_together():
    lines = [
        line
        for line in (HUB / "requirements.txt").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    pins = {
        name.lower().replace("_", "-"): version
        for name, version in (line.split("==") for line in lines)
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for text in [*project["dependencies"], *project["optional-dependencies"]["lab"]]:
        wanted = Requirement(text)
        assert wanted.name in pins and wanted.specifier.contains(pins[wanted.name]), text
    assert "rfc3987-syntax" not in pins
    readme, dockerfile = (HUB / "README.md").read_text(), (HUB / "Dockerfile").read_text()
    image = VALUES["singleuser"]["image"]
    assert (
        image["tag"] == __version__
        and f"{image['name']}:{__version__}" in dockerfile
        and f"{image['name']}:{__version__}" in readme
    )
    chart = re.search(r"--version (\S+)", (HUB / "values.yaml").read_text())[1]
    assert f"--version {chart}" in readme and f"jupyterhub {pins['jupyterhub']}" in readme.lower()
    assert (
        VALUES["singleuser"]["cmd"] == ["/opt/hub/start.sh"]
        and "deploy/hub/start.sh /opt/hub/" in dockerfile
    )
    for names in re.findall(r"^COPY (?!--)(.+) \S+$", dockerfile, re.MULTILINE):
        assert all((ROOT / name).exists() for name in names.split()), names
    first, last = re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)
    assert first == last and re.search(r":\d+\.\d+\.\d+-", first) and "\nUSER 1000\n" in dockerfile
