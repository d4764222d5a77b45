"""Exported widgets as narrow as a cell of JupyterLab on a phone: what matters is seen without scrolling to the side."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab import Explorer, Notebook, Panel, Server
from playwright.sync_api import Page, expect

import autolab
import autolab as torch
from autolab.viz import html
from autolab.widgets import DeviceExplorer, FreezePanel, explore

LINES = """element => { const text = document.createRange(); text.selectNodeContents(element);
  return new Set([...text.getClientRects()].map((line) => Math.round(line.top))).size; }"""


@pytest.fixture
def page_options(request: pytest.FixtureRequest) -> dict[str, Any]:
    return getattr(request, "param", {"viewport": {"width": 330, "height": 900}})


def opened(page: Page, recording: torch.trace.Recording, folder: Path, step: int) -> Explorer:
    page.goto(explore(recording, step=step).to_html(folder / "narrow.html").as_uri())
    shown = Explorer(page)
    expect(shown.graph).to_be_visible()
    return shown


def test_names_of_facts_are_whole_and_the_state_of_what_was_saved_is_seen(
    page: Page, tmp_path: Path
) -> None:
    x = torch.tensor([-0.25, 3.0e-6], requires_grad=True)
    with torch.record() as recording:
        (x.sigmoid() * x).sum().backward()
    shown = opened(page, recording, tmp_path, 1)
    for name in ("grad_fn", "requires_grad"):
        assert shown.details.get_by_role("term").filter(has_text=name).evaluate(LINES) == 1
    value = shown.details.get_by_role("table", name=re.compile("^value of"))
    numbers = value.first.get_by_role("cell").all()
    assert len(numbers) == 2
    for number in numbers:
        assert number.evaluate(LINES) == 1
    kept = shown.details.get_by_role("table", name=re.compile("^Saved by sigmoid"))
    for state in (
        kept.get_by_role("columnheader", name="state"),
        kept.get_by_role("cell", name="alive").first,
    ):
        cell, details = state.bounding_box(), shown.details.bounding_box()
        assert cell and details and cell["x"] + cell["width"] <= details["x"] + details["width"]


def test_switches_of_the_freeze_panel_are_in_sight(page: Page, tmp_path: Path) -> None:
    network = torch.nn.Sequential(
        torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4)),
        torch.nn.Dropout(0.3),
    )
    widget = FreezePanel(network, forward=lambda: network(torch.ones(2, 1, 8, 8)).sum())
    page.goto(widget.to_html(tmp_path / "freeze.html").as_uri())
    shown = Panel(page)
    expect(shown.tree).to_be_visible()
    room = shown.root.bounding_box()
    for button in [
        *shown.tree.get_by_role("switch").all(),
        *shown.tree.get_by_role("button").all(),
    ]:
        place = button.bounding_box()
        assert room and place and place["x"] + place["width"] <= room["x"] + room["width"], (
            button.inner_text()
        )


@pytest.mark.parametrize(
    "page_options", [{"viewport": {"width": 316, "height": 900}}], indirect=True, ids=["284 px"]
)
def test_nothing_sticks_out_of_a_place_of_284_px(page: Page, tmp_path: Path) -> None:
    model = torch.vision.models.resnet18(num_classes=5)
    panel = FreezePanel(model, torch.optim.Adam(model.parameters()))
    panel.from_layer("layer4.1")
    panel.modes = {"": "eval", "bn1": "train"}
    with torch.cuda.simulate(memory="64MiB"), torch.record_devices() as recording:
        (torch.randn(1000, 400).to("cuda") @ torch.ones(400, 10, device="cuda")).sum().item()
    for name, widget in (("freeze", panel), ("devices", DeviceExplorer(recording))):
        page.goto(html.write(tmp_path / f"{name}.html", [widget]).as_uri())
        root = page.get_by_role("group", name=re.compile("^(Freeze panel|Device explorer)")).first
        expect(root).to_be_visible()
        out = """root => { const edge = root.getBoundingClientRect().right - 11;
            const all = [...root.querySelectorAll("*")].filter((e) => !e.closest(".al-hidden, svg, .al-timepane"));
            const wide = (e) => e.getBoundingClientRect().right > edge + 0.5 ||
              (getComputedStyle(e).overflowX !== "visible" && e.scrollWidth > e.clientWidth + 1);
            return [root.getBoundingClientRect().width, all.filter(wide).map((e) => e.className)]; }"""
        assert root.evaluate(out) == [284, []], name


def asked() -> Any:
    x = torch.tensor(3.0, requires_grad=True)
    explorer = explore(x * 2 * (x + 1))
    explorer.ask(x, "grad")
    return explorer


def explained() -> Any:
    w = torch.randn(3, requires_grad=True)
    z = w * w
    with torch.no_grad():
        w += 1
    with pytest.raises(RuntimeError) as caught:
        z.sum().backward()
    return autolab.explain(caught.value)


def searched() -> Any:
    model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2))
    return explore(model(torch.randn(4, 3)).pow(2).mean(), step=9)


@pytest.mark.parametrize(
    "page_options",
    [{"viewport": {"width": 683, "height": 384}, "device_scale_factor": 2}],
    indirect=True,
    ids=["200 %"],
)
@pytest.mark.parametrize("made", [asked, explained, searched])
def test_at_200_percent_controls_and_graph_are_on_the_first_screen(
    page: Page, tmp_path: Path, made: Callable[[], Any]
) -> None:
    """Of 1366 x 768, 200 % leaves 683 x 384."""
    page.goto(made().to_html(tmp_path / "zoomed.html").as_uri())
    shown = Explorer(page)
    expect(shown.graph).to_be_visible()
    for control in (shown.button("Play"), shown.slider, shown.button("More")):
        box = control.bounding_box()
        assert box and box["y"] + box["height"] <= 384
    pane = shown.graph.locator("..").bounding_box()
    assert pane and pane["height"] >= 100 and pane["y"] + pane["height"] <= 384
    assert page.evaluate("document.documentElement.scrollWidth") <= 683
    assert shown.check("unreachable") == [] and shown.check("unnamed") == []


SCALAR = "x = torch.tensor(2.0, requires_grad=True)\nb = x * x\ntorch.explore(3 * x * b + b)"
NETWORK = """model, x = torch.nn.Sequential(torch.nn.Linear(64, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)), torch.randn(3, 64)
torch.explore(model(x).pow(2).mean(), step=9)"""


@pytest.mark.parametrize("code", [SCALAR, NETWORK], ids=["scalar", "network"])
def test_at_200_percent_they_are_so_in_jupyterlab_beside_its_side_bar(
    open_notebook: Callable[..., Notebook], server: Server, code: str
) -> None:
    """Of 683 x 384, JupyterLab's bars leave 353 x 263 to the notebook. A network has a field for searching, too, and
    what is said of it is long."""
    server.write("zoomed.ipynb", f"import autolab as torch\n{code}")
    shown = open_notebook(
        "zoomed.ipynb", viewport={"width": 683, "height": 384}, device_scale_factor=2
    ).run()
    shown.root.evaluate("root => root.scrollIntoView({ block: 'start' })")
    pane = shown.graph.locator("..")
    box = pane.bounding_box()
    assert box and box["height"] >= 100 and shown.root.bounding_box()["width"] < 340, (
        "the side bar is open"
    )
    for seen in (
        shown.button("Play"),
        shown.slider,
        shown.button("What if"),
        shown.said.first,
        pane,
    ):
        expect(seen).to_be_in_viewport(ratio=0.99)
    for check in ("unreachable", "unnamed"):
        assert shown.check(check) == [], check
    shown.shut_down()
