"""Notebooks opened later, without running them; and layout in the browser when the kernel has no Graphviz."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable

import nbformat
import pytest
from lab import LEARNER, Explorer, Notebook, Server, learners_trace
from nbconvert import HTMLExporter
from playwright.sync_api import Browser, expect

from autolab import widgets
from autolab.viz.dot import to_dot

LATE = 30_000


def test_a_saved_notebook_shows_the_explorer_without_running(
    server: Server, open_notebook: Callable[..., Notebook], browser: Browser
) -> None:
    path = server.write("saved.ipynb", LEARNER)
    first = open_notebook("saved.ipynb").run()
    first.button("Next step").click()
    first.in_kernel("explorer.step", 1)
    first.page.keyboard.press("Control+s")  # while the explorer has the focus
    first.is_saved()
    first.shut_down()

    again = open_notebook("saved.ipynb").restored()
    again.at(1)
    again.root.press("End")
    expect(again.said).to_contain_text("That is x.grad")
    assert again.kernel("'explorer' in globals()") == "False", "nothing was run"

    # GitHub and nbconvert know no widgets: they show the picture.
    notebook = nbformat.read(path, as_version=4)
    output = notebook.cells[0].outputs[0].data
    assert output["text/plain"].startswith(
        "Explorer(z: 11 nodes, 25 steps) is a graph to step through"
    )
    notebook.metadata.pop("widgets")
    page, _ = HTMLExporter(template_name="basic").from_notebook_node(notebook)
    assert "data:image/svg+xml" in page and "widget-view" not in page
    context = browser.new_context()
    context.set_offline(True)
    still = context.new_page()
    still.set_content(page)
    image = still.get_by_role("img").last
    expect(image).to_be_visible()
    assert image.evaluate("i => i.complete && i.naturalWidth") > 500
    still.goto(image.get_attribute("src") or "")
    picture = still.locator("svg")
    for words in ("x", "2", "t = tanh", "0.762", "saved result ≈ 0.762", "version 0, 4 bytes"):
        expect(picture.get_by_text(words, exact=True).first).to_be_visible()
    context.close()


@pytest.mark.parametrize("kind", ["widget", "picture"])
def test_an_untrusted_notebook_says_what_was_there_and_to_run_the_cell(
    server: Server, open_notebook: Callable[..., Notebook], kind: str
) -> None:
    path = server.write(f"foreign-{kind}.ipynb", LEARNER)
    notebook = json.loads(path.read_text())
    trace = learners_trace()
    bundle = (
        widgets.Explorer(trace)._repr_mimebundle_()[0]
        if kind == "widget"
        else to_dot(trace)._repr_mimebundle_()
    )
    assert "image/svg+xml" in bundle, "what JupyterLab shows only of notebooks that it trusts"
    notebook["cells"][0] |= {
        "execution_count": 1,
        "outputs": [
            {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": bundle}
        ],
    }
    path.write_text(json.dumps(notebook))
    opened = open_notebook(path.name)
    expect(opened.page.get_by_text(bundle["text/plain"])).to_be_visible(timeout=LATE)
    said = (
        "is a graph to step through, forward and backward"
        if kind == "widget"
        else "<Picture: graph of z"
    )
    assert said in bundle["text/plain"] and "run this cell" in bundle["text/plain"]
    opened.shut_down()


NETWORK = """
import autolab as torch
torch.manual_seed(0)
nn = torch.nn
blocks = [nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6)) for _ in range(9)]
explorer = torch.explore(nn.Sequential(*blocks, nn.Linear(6, 1))(torch.ones(2, 6)).sum())
explorer
"""


@pytest.mark.timed
def test_without_its_kernel_a_saved_notebook_opens_and_closes_parts(
    server: Server, open_notebook: Callable[..., Notebook]
) -> None:
    server.write(
        "parts.ipynb", NETWORK, "torch.explore(explorer.trace, expanded=[])", "model_count = 2"
    )
    first = open_notebook("parts.ipynb").run()
    expect(Explorer(first.page, 1).graph).to_be_visible()
    first.save()
    first.shut_down()
    again = open_notebook("parts.ipynb").restored()
    complaints: list[str] = []
    again.page.on(
        "console", lambda message: message.type == "error" and complaints.append(message.text)
    )
    again.page.on("pageerror", lambda error: complaints.append(str(error)))
    for number in (0, 1):
        shown = Explorer(again.page, number)
        expect(shown.graph).to_be_visible(timeout=LATE)
        part = shown.graph.get_by_role("button", name=re.compile("^4, Sequential"))
        expect(part).to_have_attribute("aria-expanded", "false")
        start = time.monotonic()
        part.click()
        expect(part).to_have_attribute("aria-expanded", "true")
        assert time.monotonic() - start < 4, "at once: some tenths of a second on an idle machine"
        expect(shown.graph.get_by_role("button", name=re.compile("^4.1, Tanh"))).to_be_visible()
        part.press("Enter")
        expect(part).to_have_attribute("aria-expanded", "false")
        shown.choose("Search")
        shown.root.get_by_role("searchbox").fill("7.2 linear")
        shown.root.get_by_role("searchbox").press("Enter")
        expect(shown.node("7.2")).to_be_focused()
        shown.button("Next step").click()
        shown.at(1)
    assert again.kernel("'explorer' in globals()") == "False", "nothing was run"
    assert complaints == []


def test_while_the_kernel_is_busy_the_browser_opens_parts(
    server: Server, open_notebook: Callable[..., Notebook]
) -> None:
    server.write("busy.ipynb", NETWORK)
    notebook = open_notebook("busy.ipynb").run()
    notebook._panel(
        """const kernel = panel.sessionContext.session.kernel;
           kernel.requestExecute({ code: "import time; time.sleep(12)", store_history: false });"""
    )
    part = notebook.graph.get_by_role("button", name=re.compile("^4, Sequential"))
    part.click()
    expect(part).to_have_attribute("aria-expanded", "true", timeout=9000)
    notebook.in_kernel(
        "[explorer._folding.parts[p].label for p in explorer.expanded]", ["4"], seconds=30
    )
    expect(part).to_have_attribute("aria-expanded", "true")
