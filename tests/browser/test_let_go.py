"""Cells that are run again: kernel and browser keep what is on display, and no more."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from lab import Notebook, Server
from playwright.sync_api import expect

SETUP = """import gc
import autolab
from autolab.widgets import Explorer
from ipywidgets.widgets import widget as module
def alive():
    gc.collect()
    return sum(isinstance(thing, Explorer) for thing in gc.get_objects())
def known():
    return len(getattr(module, "_instances", None) or module.Widget.widgets)
x = autolab.tensor(3.0, requires_grad=True)"""
SHOWN = "autolab.explore(x * x)"
NAMED = "named = autolab.explore(x * x * x, step=2)\nnamed"

# Every view is in a shadow root of its own. The hosts stay in memory, because JupyterLab keeps comms that are closed.
WATCH = """() => {
  const attach = Element.prototype.attachShadow;
  window.hosts = [];
  Element.prototype.attachShadow = function (options) {
    window.hosts.push(new WeakRef(this));
    return attach.call(this, options);
  };
}"""


@pytest.fixture(scope="module")
def opened(server: Server, open_notebook: Callable[..., Notebook]) -> Notebook:
    server.write("again.ipynb", SETUP, SHOWN, NAMED, "named")
    notebook = open_notebook("again.ipynb")
    notebook.page.evaluate(WATCH)
    return notebook.run()


def run_again(notebook: Notebook, cell: int, times: int = 1) -> None:
    for _ in range(times):
        notebook._panel(
            "panel.content.activeCellIndex = given; await jupyterapp.commands.execute('notebook:run-cell');",
            cell,
        )


def views(notebook: Notebook) -> int:
    """How many views the browser has in memory."""
    session = notebook.page.context.new_cdp_session(notebook.page)
    session.send("HeapProfiler.collectGarbage")
    return notebook.page.evaluate(
        "window.hosts.filter((host) => host.deref()?.shadowRoot.querySelector('.al')).length"
    )


def scripts(notebook: Notebook) -> int:
    """How many copies of the explorers' script, as an attribute of their models, the browser has in memory."""
    session, chunks = notebook.page.context.new_cdp_session(notebook.page), []
    session.on("HeapProfiler.addHeapSnapshotChunk", lambda event: chunks.append(event["chunk"]))
    session.send("HeapProfiler.takeHeapSnapshot", {"reportProgress": False})
    heap = json.loads("".join(chunks))
    fields = heap["snapshot"]["meta"]["node_fields"]
    names, sizes = (
        heap["nodes"][fields.index(field) :: len(fields)] for field in ("name", "self_size")
    )
    found = {i for i, text in enumerate(heap["strings"]) if text.startswith("const STYLE = ")}
    return sum(name in found and size > 100_000 for name, size in zip(names, sizes, strict=True))


def test_a_cell_run_again_leaves_what_is_shown(opened: Notebook) -> None:
    graphs = opened.page.get_by_role("group", name="Computation graph", exact=True)
    expect(graphs).to_have_count(3)
    opened.in_kernel("alive()", 2)
    widgets = opened.kernel("known()")
    before, texts = views(opened), scripts(opened)
    run_again(opened, 1, 12)
    expect(graphs).to_have_count(3)
    opened.in_kernel("alive()", 2)
    assert opened.kernel("known()") == widgets
    assert views(opened) == before == 3
    assert scripts(opened) <= texts, "one for each explorer that is shown, and the module"


def test_what_is_on_display_elsewhere_stays(opened: Notebook) -> None:
    opened.execute("kept = named")
    run_again(opened, 2)  # another one is called `named`
    opened.in_kernel("(alive(), named is kept, kept.comm is not None)", (3, False, True))
    opened.execute("kept.step = 4")
    expect(opened.page.get_by_role("slider", name="Step", exact=True).nth(2)).to_have_value("4")
    run_again(opened, 3)  # shows the new one: nothing shows the other
    opened.in_kernel("kept.comm is None", True)
    opened.in_kernel("alive()", 3)


def test_a_page_that_is_loaded_anew_counts_its_own_views(opened: Notebook) -> None:
    graphs = opened.page.get_by_role("group", name="Computation graph", exact=True)
    opened.save()
    before = opened.kernel("alive()")
    for _ in range(2):  # nobody tells the kernel of the views of the page before
        opened.page.reload()
        opened.ready()
        expect(graphs).to_have_count(3)
    run_again(opened, 1, 3)
    run_again(opened, 3)
    expect(graphs).to_have_count(3)
    opened.in_kernel("alive()", int(before))
