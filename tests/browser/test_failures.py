"""What failed, on a page without a kernel: the operation in the look of errors, its operands side by side, the line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from lab import Explorer, Notebook, Server
from playwright.sync_api import Page, expect

import autolab as torch
from autolab import nn
from autolab.widgets import Explorer as Widget

PURPLE = re.compile(r"rgb\((143, 58, 110|231, 156, 200)\)")  # the colour of errors, light and dark


def recorded(code) -> Widget:
    recording = torch.record()
    with pytest.raises(Exception), recording:  # noqa: B017, PT011 (any error at all)
        code()
    return Widget(recording.trace())


def opened(page: Page, widget: Widget, folder: Path) -> Explorer:
    page.goto(widget.to_html(folder / "graph.html").as_uri())
    shown = Explorer(page)
    expect(shown.graph).to_be_visible()
    return shown


def table(shown: Explorer, name: str) -> list[list[str]]:
    rows = shown.details.get_by_role("table", name=name).get_by_role("row").all()
    return [row.get_by_role("cell").all_inner_texts() for row in rows[1:]]


@pytest.mark.parametrize(
    "page_options", [{"color_scheme": "light"}, {"color_scheme": "dark"}], indirect=True
)
def test_a_failed_product_is_drawn_with_both_operands(page: Page, tmp_path: Path) -> None:
    def code():
        prices, count = torch.ones(3, 2, requires_grad=True), torch.ones(4, 3)
        doubled = prices * 2
        torch.mm(count.t(), doubled)

    shown = opened(page, recorded(code), tmp_path)
    failed = shown.node("no result")
    expect(failed).to_have_accessible_name("no result, result of mm, not computed yet")
    shown.root.focus()
    page.keyboard.press("End")
    expect(shown.said).to_contain_text(
        "t(count) @ doubled failed: RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x4 and 3x2)"
    )
    expect(failed).to_have_accessible_name(
        "no result, result of mm, failed: RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x4 and 3x2)"
    )
    expect(failed.locator(".al-card")).to_have_css("stroke", PURPLE)
    assert table(shown, "What it was given") == [
        ["input", "t(count)", "[3, 4]", "float32", "cpu"],
        ["mat2", "doubled", "[3, 2]", "float32", "cpu"],
    ]
    expect(shown.details).to_contain_text("torch.mm(count.t(), doubled)")
    expect(shown.details).to_contain_text(
        "The columns of the first (4) must be as many as the rows of the second (3)"
    )
    assert shown.check("crowded") == []


def test_the_module_is_marked_open_and_closed(page: Page, tmp_path: Path) -> None:
    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.wide, self.narrow = nn.Linear(3, 8), nn.Linear(7, 1)

        def forward(self, x):
            return self.narrow(self.wide(x).tanh())

    reader = Reader()
    shown = opened(page, recorded(lambda: reader(torch.ones(2, 3))), tmp_path)
    shown.choose("Search")
    shown.button("Expand all").click()
    assert "freed" not in shown.graph.aria_snapshot(), (
        "nothing was yet: the graph went when its forward had failed"
    )
    page.keyboard.press("End")
    shown.button("Collapse all").click()
    closed = shown.graph.get_by_role("button", name="an operation failed")
    expect(closed.first).to_be_visible()
    expect(closed.first.locator(".al-card").first).to_have_css("stroke", PURPLE)
    shown.button("Expand all").click()
    expect(
        shown.graph.get_by_role("button", name="narrow, Linear, an operation failed")
    ).to_be_visible()
    expect(shown.node("no result")).to_be_visible()
    expect(shown.graph.get_by_role("button", name="wide, Linear, result of addmm")).to_be_visible()


# -- in a notebook -----------------------------------------------------------------------------------------------------
CELLS = [
    "import autolab as torch\nfrom autolab.lessons.notebook import short_messages\nshort_messages()",
    "table = torch.ones(4, 6, requires_grad=True)\nrow = torch.arange(5.0)\nsums = table.exp()",
    "sums / row",
    "found = torch.explain()\nfound",
]


def test_explain_in_the_next_cell(server: Server, open_notebook: Callable[..., Notebook]) -> None:
    path = server.write("failing.ipynb", *CELLS)
    notebook = nbformat.read(path, nbformat.NO_CONVERT)
    notebook.cells[2].metadata["tags"] = ["raises-exception"]  # "run all" goes on
    nbformat.write(notebook, path)
    shown = open_notebook("failing.ipynb").run()
    expect(shown.page.get_by_text("torch.explain() shows where.")).to_be_visible()
    expect(shown.node("no result")).to_be_visible()
    explanation = shown.root.get_by_role("note", name="Explanation", exact=True)
    expect(explanation).to_contain_text(
        "It was given sums: float32 [4, 6] on cpu; row: float32 [5] on cpu."
    )
    expect(explanation).to_contain_text("sums / row failed (cell 3, line 1: sums / row).")
    expect(shown.said).to_contain_text(
        "sums / row failed: RuntimeError: The size of tensor a (6) must match the size of tensor b (5)"
    )
    assert table(shown, "What it was given")[1] == ["other", "row", "[5]", "float32", "cpu"]


@pytest.mark.parametrize(
    "page_options",
    [{"color_scheme": "dark", "viewport": {"width": 1366, "height": 768}}],
    indirect=True,
)
def test_who_saved_and_who_changed(page: Page, tmp_path: Path) -> None:
    def code():
        with torch.record():
            w = torch.tensor([0.5, 1.5], requires_grad=True)
            slope = w.cos()
            wave = slope * w
            slope.clamp_(0, 1)
            wave.sum().backward()

    with pytest.raises(RuntimeError) as caught:
        code()
    shown = opened(page, torch.explain(caught.value), tmp_path)
    saved, changed = shown.node("wave"), shown.node("slope(2)")
    expect(saved).to_have_accessible_name(re.compile("saved here"))
    expect(changed).to_have_accessible_name(re.compile("result of clamp_, .*changed here"))
    for node in (saved, changed):
        expect(node.locator(".al-card")).to_have_css("stroke", PURPLE)
    explanation = shown.root.get_by_role("note", name="Explanation", exact=True)
    expect(explanation).to_contain_text("slope.clamp_(0, 1)")
    places = shown.details.get_by_role("list", name="What has to do with it").get_by_role(
        "listitem"
    )
    expect(places).to_have_count(2)
    places.nth(1).get_by_role("button", name="slope(2)", exact=True).press("Enter")
    expect(changed).to_have_attribute("aria-pressed", "true")
    assert shown.check("crowded") == []
