"""Widgets in a kernel: after rerunning cells, only the displayed widgets are alive."""

import time

import ipywidgets
import pytest
from ipywidgets.widgets import widget as base
from jupyter_client.manager import start_new_kernel

import autolab

pytestmark = pytest.mark.skipif(
    ipywidgets.__version__.startswith("7."),
    reason="nothing is let go with the packages of that time: explorers stay as they did before",
)

SETUP = """import gc
import autolab
from autolab.widgets import Explorer, FreezePanel
from ipywidgets.widgets import widget as module
def alive(kind=Explorer):
    gc.collect()
    return sum(isinstance(thing, kind) for thing in gc.get_objects())
def known():
    return len(getattr(module, "_instances", None) or module.Widget.widgets)
x = autolab.tensor(3.0, requires_grad=True)"""


class Cells:
    """A kernel, and the output of its cells."""

    def __init__(self):
        self.manager, self.client = start_new_kernel()
        self.opened = []  # ids of the comms that were opened
        self.printed = ""  # to stderr
        self.run(SETUP)

    def run(self, code, cell=None):
        """Return the text of the result of `code`, run in the cell of that id."""
        session = self.client.session
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
        }
        request = session.msg("execute_request", content, metadata={"cellId": cell} if cell else {})
        self.client.shell_channel.send(request)
        said = None
        while True:
            message = self.client.get_iopub_msg(timeout=60)
            content = message["content"]
            if message["msg_type"] == "comm_open":
                self.opened.append(content["comm_id"])
            if message["msg_type"] == "stream" and content["name"] == "stderr":
                self.printed += content["text"]
            assert message["msg_type"] != "error", "\n".join(content["traceback"])
            if message["msg_type"] == "execute_result":
                said = content["data"]["text/plain"]
            if (
                message["parent_header"].get("msg_id") == request["header"]["msg_id"]
                and content.get("execution_state") == "idle"
            ):
                return said

    def views(self, expression, count):
        """Report the number of views of a widget, as the browser does."""
        comm = self.run(f"{expression}.model_id").strip("'")
        data = {"method": "update", "state": {"_views": count}, "buffer_paths": []}
        self.client.shell_channel.send(
            self.client.session.msg("comm_msg", {"comm_id": comm, "data": data})
        )
        time.sleep(0.2)


@pytest.fixture(scope="module")
def cells():
    cells = Cells()
    yield cells
    cells.client.stop_channels()
    cells.manager.shutdown_kernel(now=True)


def test_a_cell_run_fifty_times_leaves_one_explorer(cells):
    cells.run("autolab.explore(x * x)", "a")
    widgets = cells.run("known()", "b")
    for _ in range(49):
        cells.run("autolab.explore(x * x)", "a")
    assert cells.run("alive()", "b") == "1"
    assert cells.run("known()", "b") == widgets


def test_panels_go_the_same_way(cells):
    for _ in range(5):
        cells.run("FreezePanel(autolab.nn.Linear(2, 1))", "panel")
    assert cells.run("alive(FreezePanel)", "b") == "1"


def test_a_name_keeps_an_explorer_which_comes_back_as_it_stood(cells):
    cells.run("mine = autolab.explore(x * x * x)\nmine", "mine")
    first = cells.run("mine.model_id")
    cells.run("autolab.explore(x * x)", "mine")
    assert cells.run("mine.comm") is None
    cells.run("mine.step = 3")
    del cells.opened[:]
    assert cells.run("mine", "later").startswith("Explorer(v2: 3 nodes")
    assert len(cells.opened) == 2, "the widget and its layout"
    assert (
        cells.run("mine.model_id, mine.step, mine.layout.comm is not None") == f"({first}, 3, True)"
    )
    cells.run("'nothing'", "later")


def test_what_another_view_or_cell_shows_stays(cells):
    cells.run("both = autolab.explore(x * x * x)\nboth", "one")
    cells.run("both", "two")
    cells.run("'nothing'", "one")
    assert cells.run("both.comm is None") == "False", "cell two shows it"
    cells.views("both", 1)
    cells.run("'nothing'", "two")
    assert cells.run("both.comm is None") == "False", "the browser has a view of it"
    cells.views("both", 0)
    assert cells.run("both.comm is None") == "True"


def test_in_another_widget_it_comes_back_too(cells):
    cells.run("inner = autolab.explore(x * x)\ninner", "inner")
    cells.run("'nothing'", "inner")
    assert cells.run("inner.comm is None") == "True"
    cells.run("from ipywidgets import VBox\nbox = VBox([inner])\nbox", "box")
    assert cells.run("inner.comm is None") == "False"


def test_where_no_cell_is_named_all_stay(cells):
    before = int(cells.run("alive()"))
    for _ in range(3):
        cells.run("autolab.explore(x * x)")
    assert int(cells.run("alive()")) == before + 3


def test_a_learners_layout_stays_open(cells):
    cells.run("wide = autolab.explore(x * x)\nwide.layout.width = '90%'\nwide", "wide")
    cells.run("'nothing'", "wide")
    assert cells.run("wide.comm is None, wide.layout.comm is None") == "(True, False)"


def test_nothing_is_printed_when_the_thread_of_a_pages_widgets_ends_with_messages_on_their_way(
    cells,
):
    """When JupyterLab reloads a page, it requests the states of all widgets, and the kernel ends the thread that
    answers. asyncio then complained about ipykernel's tasks, some 20 times here."""
    client = cells.client
    cells.run("autolab.explore(x * x)", "page")

    def control(kind, content):
        client.control_channel.send(client.session.msg(kind, content))
        return client.get_control_msg(timeout=20)["content"]

    for number in range(40):
        subshell = control("create_subshell_request", {}).get("subshell_id")
        if subshell is None:
            pytest.skip("this ipykernel has no subshells")
        asked = {
            "comm_open": {"target_name": "jupyter.widget.control"},
            "comm_msg": {"method": "request_states"},
            "comm_close": {},
        }
        for kind, data in asked.items():
            content = {"comm_id": f"control {number}", "data": data} | data
            message = client.session.msg(kind, content, metadata={"version": "1.0.0"})
            message["header"]["subshell_id"] = subshell
            if kind == "comm_close":
                time.sleep(0.01)
            client.shell_channel.send(message)
        control("delete_subshell_request", {"subshell_id": subshell})
    cells.run("gc.collect()")
    assert not [line for line in cells.printed.splitlines() if "No such comm" not in line]
    cells.run("""import asyncio
async def forgotten(): await asyncio.Event().wait()
asyncio.ensure_future(forgotten()); await asyncio.sleep(0); gc.collect()""")
    assert (
        "Task was destroyed but it is pending!" in cells.printed and "forgotten" in cells.printed
    ), "the learner's own"


def test_the_browser_is_told_what_ipywidgets_would_tell_and_nobody_looks_for_bytes_in_it(
    monkeypatch,
):
    told, searched, create, search = [], [], base.comm.create_comm, base._remove_buffers
    monkeypatch.setattr(
        base.comm, "create_comm", lambda **message: told.append(message) or create(**message)
    )
    monkeypatch.setattr(
        base, "_remove_buffers", lambda state: searched.append(state) or search(state)
    )
    x = autolab.tensor(3.0, requires_grad=True)
    explorer = autolab.explore(x * x)
    assert not any("folding" in state for state in searched)
    for way in (type(explorer), ipywidgets.Widget):
        explorer.comm = None
        way.open(explorer)
    ours, theirs = told[-2:]
    assert theirs.pop("buffers") == [] and ours == theirs
    assert ours["data"]["state"]["data"]["nodes"]["length"] == 2
