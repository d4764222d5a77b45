"""The freeze panel in JupyterLab by role and name, with the kernel on the other side; and on an exported page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lab import Explorer, Notebook, Panel, Server, offline
from playwright.sync_api import Browser, Page, expect

import autolab as torch
from autolab.widgets import FreezePanel

MAKE = """import autolab as torch
from autolab.widgets import FreezePanel
torch.manual_seed(0)
nn = torch.nn
body = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 4), nn.BatchNorm1d(4))
model = nn.Sequential(body, nn.Dropout(0.5), nn.Linear(4, 2))
x, y = torch.randn(6, 3), torch.tensor([0, 1, 0, 1, 1, 0])
optimizer = torch.optim.Adam(model.parameters())
panel = FreezePanel(model, optimizer, forward=lambda: nn.functional.cross_entropy(model(x), y))
panel"""
FLAGS = "[p.requires_grad for p in model.parameters()]"


@pytest.fixture(scope="module")
def opened(server: Server, open_notebook: Callable[..., Notebook]) -> Notebook:
    server.write("freeze.ipynb", MAKE, "panel.explorer")
    return open_notebook("freeze.ipynb").run()


@pytest.fixture
def notebook(opened: Notebook) -> Iterator[Notebook]:
    opened.execute(
        "panel.preset('All'); panel.modes = {'': 'train'}; optimizer.zero_grad(); panel.run_forward()"
    )
    expect(Panel(opened.page).switch("network: trainable")).to_have_attribute(
        "aria-checked", "true"
    )
    yield opened


def test_a_switch_freezes_in_the_kernel(notebook: Notebook) -> None:
    panel = Panel(notebook.page)
    panel.switch("0.0: trainable").click()
    expect(panel.switch("0.0: trainable")).to_have_attribute("aria-checked", "false")
    expect(panel.switch("0: trainable, partly")).to_have_attribute("aria-checked", "mixed")
    expect(panel.switch("network: trainable, partly")).to_have_attribute("aria-checked", "mixed")
    notebook.in_kernel(FLAGS, [False, False] + [True] * 6)
    notebook.in_kernel("panel.trainable", {"0.0": False, "0.2": True, "0.3": True, "2": True})
    expect(panel.root).to_contain_text("42 parameters (67.7% of 62)")
    panel.switch("0: trainable, partly").click()
    notebook.in_kernel(FLAGS, [True] * 8)
    panel.switch("0: trainable").click()
    notebook.in_kernel(FLAGS, [False] * 6 + [True] * 2)
    expect(panel.root).to_contain_text("Adam state88 B; freezing saves 440 B")


def test_the_kernel_moves_the_switches(notebook: Notebook) -> None:
    panel = Panel(notebook.page)
    notebook.execute("panel.trainable = ['2']; panel.modes = {'0.3': 'eval'}")
    for name, state in (("0.0: trainable", "false"), ("0: trainable", "false"), ("2: trainable", "true"), ("0.3: train mode", "false"),
                        ("1: train mode", "true"), ("network: train mode, partly", "mixed")):  # fmt: skip
        expect(panel.switch(name)).to_have_attribute("aria-checked", state)
    notebook.execute("panel.trainable = {'0.2': True}")
    expect(panel.switch("0.2: trainable")).to_have_text("trainable")
    expect(panel.switch("0.0: trainable")).to_have_text("❄ frozen")


def test_modes(notebook: Notebook) -> None:
    panel = Panel(notebook.page)
    panel.button("Head only").click()
    notebook.in_kernel(FLAGS, [False] * 6 + [True] * 2)
    expect(panel.warnings).to_contain_text("Layer 0.3: frozen, but in train mode")
    panel.switch("0.3: train mode").click()
    expect(panel.switch("0.3: train mode")).to_have_attribute("aria-checked", "false")
    expect(panel.warnings.get_by_role("heading")).to_have_text("No warnings")
    notebook.in_kernel("model[0][3].training, model[1].training", (False, True))


def test_presets_and_where_backward_ends(notebook: Notebook) -> None:
    panel, explorer = Panel(notebook.page), Explorer(notebook.page)
    panel.root.get_by_role("combobox", name="Train from layer").select_option("0.2")
    notebook.in_kernel("panel.trainable", {"0.0": False, "0.2": True, "0.3": True, "2": True})
    expect(panel.reach).to_contain_text("Backward ends at layer 0.2, the last it reaches.")
    expect(panel.row("2 Linear backward ends here")).to_be_visible()
    for said in (
        r"0\.0\.weight \[[\d, ]+\], gradient never: it is frozen now",
        r"0\.2\.weight \[[\d, ]+\], gradient (?!never)",
    ):
        expect(explorer.graph.get_by_role("button", name=re.compile(said))).to_be_attached()
    notebook.in_kernel("panel.explorer.trace.node(panel.explorer.selected).op", "addmm")
    # The graph is older than the switches, until it is made again.
    frames = int(notebook.kernel("len(panel.explorer.trace.frames)"))
    panel.button("Run forward again").click()
    expect(panel.button("Run forward again")).to_have_count(0)
    fewer = int(notebook.kernel("len(panel.explorer.trace.frames)"))
    assert fewer < frames
    expect(explorer.slider).to_have_attribute("max", str(fewer - 1))
    panel.button("None").click()
    expect(panel.reach).to_contain_text("Backward visits nothing")
    expect(panel.warnings).to_contain_text(
        "element 0 of tensors does not require grad and does not have a grad_fn"
    )
    panel.button("All").click()
    notebook.in_kernel("panel.explorer.dimmed", [])


def test_keys(notebook: Notebook) -> None:
    panel, keyboard = Panel(notebook.page), notebook.page.keyboard
    cells = notebook.cell_count()
    rows = panel.tree.get_by_role("row")
    expect(rows).to_have_count(9)  # with the heading
    panel.row("network").focus()
    keyboard.press("ArrowDown")
    expect(panel.row("0 Sequential")).to_be_focused()
    expect(panel.row("0 Sequential")).to_have_attribute("aria-level", "2")
    keyboard.press("ArrowLeft")
    expect(panel.row("0 Sequential")).to_have_attribute("aria-expanded", "false")
    expect(rows).to_have_count(5)
    keyboard.press("ArrowRight")
    keyboard.press("ArrowRight")
    expect(panel.row("0 Linear")).to_be_focused()
    keyboard.press(" ")
    notebook.in_kernel(FLAGS, [False, False] + [True] * 6)
    keyboard.press("Tab")
    expect(panel.switch("0.0: trainable")).to_be_focused()
    keyboard.press("Enter")
    notebook.in_kernel(FLAGS, [True] * 8)
    keyboard.press("ArrowLeft")
    expect(panel.row("0 Linear")).to_be_focused()
    keyboard.press("End")
    expect(rows.last).to_be_focused()
    expect(rows.last).to_have_attribute("aria-posinset", "3")
    keyboard.press("ArrowUp")
    keyboard.press("m")
    notebook.in_kernel("panel.modes", {"0.3": "train", "1": "eval"})
    assert notebook.cell_count() == cells, "no shortcut of JupyterLab was taken"


def test_traps_are_told_and_changes_announced(notebook: Notebook) -> None:
    panel = Panel(notebook.page)
    notebook.execute("nn.functional.cross_entropy(model(x), y).backward()")
    panel.switch("0.0: trainable").click()
    expect(panel.warnings).to_contain_text(
        "Layer 0.0: frozen, but the next optimizer.step() moves the weights all the same"
    )
    expect(panel.warnings.get_by_role("listitem")).to_have_count(1)
    expect(panel.root.get_by_role("status")).to_contain_text("Backward ends at layer 0.2")
    notebook.execute("optimizer.zero_grad(); panel.refresh()")
    expect(panel.warnings.get_by_role("listitem")).to_have_count(0)


def test_a_layer_that_is_gone_is_an_alert(notebook: Notebook) -> None:
    panel = Panel(notebook.page)
    expect(panel.root.get_by_role("alert")).to_be_hidden()
    notebook.execute(
        "panel._on_message(panel, {'kind': 'trainable', 'path': 'gone', 'value': True}, [])"
    )
    expect(panel.root.get_by_role("alert")).to_contain_text("there is no layer 'gone'")
    panel.button("Head only").click()
    expect(panel.root.get_by_role("alert")).to_be_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_can_be_read_in_both_themes(notebook: Notebook, theme: str) -> None:
    panel = Panel(notebook.page)
    notebook.execute("panel.trainable = ['0.2', '2']")
    with notebook.theme(theme):
        expect(panel.root).to_have_attribute("data-theme", theme)
        for check in ("faint", "small", "unnamed"):
            assert panel.check(check) == [], check


def test_a_kernel_that_does_not_answer_is_told(notebook: Notebook) -> None:
    """As in a notebook opened without running it; here the answer is lost on the way."""
    panel = Panel(notebook.page)
    notebook.execute("panel.on_msg(panel._on_message, remove=True)")
    panel.button("Head only").click()
    expect(panel.root.get_by_role("alert")).to_have_text(
        re.compile("^The kernel has not answered"), timeout=6000
    )
    notebook.execute("panel.on_msg(panel._on_message); panel.refresh()")


# -- without a kernel --------------------------------------------------------------------------------------------------
@pytest.fixture
def page_options() -> dict[str, Any]:
    return {"viewport": {"width": 480, "height": 900}, "color_scheme": "dark"}


def test_an_exported_page_shows_and_explains(page: Page, tmp_path: Path) -> None:
    model = torch.vision.models.resnet18(num_classes=3)
    widget = FreezePanel(model)
    widget.from_layer("layer4.1")
    page.goto(widget.to_html(tmp_path / "freeze.html").as_uri())
    panel = Panel(page)
    expect(panel.root).to_contain_text(
        "There is no network behind this page: the switches show what freezing would do."
    )
    expect(panel.switch("layer4: trainable, partly")).to_be_enabled()
    expect(panel.switch("fc: trainable")).to_have_attribute("aria-checked", "true")
    expect(panel.row("1 BasicBlock backward ends in it")).to_be_visible()
    panel.button("Show all layers").click()
    expect(panel.row("conv1 Conv2d backward ends here")).to_be_visible()
    assert panel.tree.get_by_role("row").count() == 1 + len(widget.data["rows"])
    for check in ("faint", "small", "unnamed"):
        assert panel.check(check) == [], check
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_graph_beside_a_frozen_first_layer_is_drawn(browser: Browser, tmp_path: Path) -> None:
    variables: dict[str, Any] = {}
    exec(MAKE, variables)
    variables["body"].requires_grad_(False)
    with offline(browser) as page:
        page.goto(variables["panel"].explorer.to_html(tmp_path / "frozen.html").as_uri())
        Explorer(page).choose("Memory")
        expect(Explorer(page).graph.locator(".al-pin title").first).to_have_text(
            re.compile("for the backward pass")
        )
