"""The kit's special code for JupyterLite's kernel, tested on a kernel that behaves like it."""

import json
import sys
import types

import pytest

from autolab import jupyterlite
from autolab.progress import store


class Kernel:
    """The parts of JupyterLite's shell that the kit uses: None in a sent dict is lost, as in its kernel."""

    def __init__(self, tags=(), cell="a"):
        header = {"metadata": {"tags": list(tags), "cellId": cell}}
        self.kernel = types.SimpleNamespace(_parent_header=header)
        self.sent = []
        self._last_traceback = {"traceback": ["Traceback", "ValueError: expected"]}

    def send_comm(self, kind, content, metadata, *rest):
        received = content if isinstance(content, Parsed) else without_none(content)
        self.sent.append((kind, received, metadata, rest))


class Parsed(dict):
    """An object that JavaScript's JSON.parse made."""


def without_none(value):
    if isinstance(value, dict):
        return {k: without_none(v) for k, v in value.items() if v is not None}
    return value


@pytest.fixture
def browser(monkeypatch):
    monkeypatch.setattr(sys, "platform", "emscripten")
    parse = types.SimpleNamespace(parse=lambda text: Parsed(json.loads(text)))
    monkeypatch.setitem(sys.modules, "js", types.SimpleNamespace(JSON=parse))


def test_none_reaches_the_browser(browser):
    shell = Kernel()
    jupyterlite.send_as_json(shell)
    jupyterlite.send_as_json(shell)  # a second widget
    shell.send_comm("comm_open", {"state": {"all": None, "n": 1}}, {"version": "2"}, "id", "target")
    ((kind, content, metadata, rest),) = shell.sent
    assert (kind, content, metadata) == (
        "comm_open",
        {"state": {"all": None, "n": 1}},
        {"version": "2"},
    )
    assert rest == ("id", "target")


def test_an_expected_error_is_printed_and_ends_no_cell(browser, capsys):
    shell = Kernel(tags=["raises-exception"])
    jupyterlite.print_expected_error(shell)
    assert shell._last_traceback is None
    assert capsys.readouterr().err == "Traceback\nValueError: expected\n"


def test_any_other_error_ends_its_cell(browser, capsys):
    shell = Kernel(tags=["code"])
    jupyterlite.print_expected_error(shell)
    assert shell._last_traceback is not None and not capsys.readouterr().err


def test_progress_is_kept_where_the_browser_keeps_files(browser, monkeypatch, tmp_path):
    monkeypatch.delenv(store.VARIABLE, raising=False)
    monkeypatch.setattr(store, "BROWSER_FILE", tmp_path / "drive" / "my_progress.txt")
    elsewhere = store.where()
    (tmp_path / "drive").mkdir()
    assert store.where() == tmp_path / "drive" / "my_progress.txt" != elsewhere


def test_other_kernels_are_left_alone(capsys):
    shell = Kernel(tags=["raises-exception"])
    send = shell.send_comm
    jupyterlite.send_as_json(shell)
    jupyterlite.print_expected_error(shell)
    assert shell.send_comm == send and shell._last_traceback and jupyterlite.parent(shell) is None
