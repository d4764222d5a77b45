"""The landscape: stepped and read on a page without a kernel, started anew in JupyterLab."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from lab import Explorer, Notebook, Server, Shown
from playwright.sync_api import Page, expect

import autolab as torch
from autolab.viz import html
from autolab.widgets import FreezePanel, LossLandscape

CELL = """import autolab as torch
from autolab.widgets import LossLandscape
w, b = (torch.tensor(v, requires_grad=True) for v in (2.0, -1.0))
race = LossLandscape(lambda: w * w + 10 * b * b, {"w": w, "b": b}, lr=0.04, steps=5)
race"""


def shown(page: Page) -> Shown:
    return Shown(page, page.get_by_role("group", name=re.compile("^Loss landscape")))


LOOKS = [
    {"viewport": {"width": 840, "height": 768}},  # beside JupyterLab's side bar
    {"color_scheme": "dark", "viewport": {"width": 400, "height": 900}},
]


@pytest.mark.parametrize(
    "page_options", LOOKS, indirect=True, ids=["beside a side bar", "dark and narrow"]
)
def test_a_page_steps_and_the_explorer_goes_along(page: Page, tmp_path: Path) -> None:
    w, b = (torch.tensor(v, requires_grad=True) for v in (2.0, -1.0))
    race = LossLandscape(lambda: w * w + 10 * b * b, {"w": w, "b": b}, lr=0.04, steps=5)
    (tmp_path / "race.html").write_text(html.page([race, race.explorer(steps=2)]))
    page.goto((tmp_path / "race.html").as_uri())
    land, explorer = shown(page), Explorer(page)
    expect(land.said).to_have_text("SGD at the start: w = 2, b = -1, loss 14.")
    land.root.focus()
    page.keyboard.press("ArrowRight")
    expect(land.said).to_contain_text("SGD after step 1: w = 1.84, b = -0.200, loss 3.79")
    explorer.at(race.linked["bounds"][0])
    explorer.root.press("Home")
    expect(land.said).to_contain_text("at the start")
    page.keyboard.press("Tab")
    land.root.get_by_role("radio", name="Arrows of momentum").check()
    expect(land.said).to_contain_text("momentum at the start")
    expect(
        land.root.get_by_role("table").get_by_role("row", name=re.compile("LBFGS"))
    ).to_contain_text("14")
    expect(land.root.get_by_role("spinbutton", name="rate")).to_be_disabled()
    within = "table => table.getBoundingClientRect().right <= table.closest('.al-land').getBoundingClientRect().right"
    assert land.root.get_by_role("table").evaluate(within)
    for check in ("faint", "small", "unnamed"):
        assert land.check(check) == [], check
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    legend = land.root.get_by_role("list", name="Legend").get_by_role("listitem")
    expect(legend).to_have_text(["downhill: against the gradient", "where momentum carries"])
    alone = LossLandscape(
        lambda: w * w + b * b, {"w": w, "b": b}, optimizers=["SGD"], lr=0.04, steps=1
    )
    (tmp_path / "alone.html").write_text(html.page([alone]))
    page.goto((tmp_path / "alone.html").as_uri())
    expect(legend).to_have_text(["downhill: against the gradient"])


def test_a_run_that_leaves_the_picture_says_when(page: Page, tmp_path: Path) -> None:
    w, b = (torch.tensor(v, requires_grad=True) for v in (4.0, 1.0))
    valley = lambda: (w - 1) ** 2 + 8 * b**2
    race = LossLandscape(valley, {"w": w, "b": b}, optimizers=["SGD"], lr=0.5, steps=5)
    (tmp_path / "race.html").write_text(html.page([race]))
    page.goto((tmp_path / "race.html").as_uri())
    land = shown(page)
    land.root.focus()
    expect(land.said).not_to_contain_text("left the picture")
    page.keyboard.press("ArrowRight")
    expect(land.said).to_contain_text("loss 392. It left the picture at step 1.")
    page.keyboard.press("End")
    expect(land.said).to_contain_text("It left the picture at step 1.")


def test_the_kernel_computes_another_start_and_rate(
    server: Server, open_notebook: Callable[..., Notebook]
) -> None:
    server.write("race.ipynb", CELL)
    notebook = open_notebook("race.ipynb")
    notebook.run_cells()
    land = shown(notebook.page)
    rate = land.root.get_by_role("spinbutton", name="rate")
    rate.fill("0.01", timeout=30_000)
    go = server.folder / "go"
    notebook.execute(f"""import os, time
def computed(*args):
    while not os.path.exists({str(go)!r}):
        time.sleep(0.05)
    return type(race)._computed(race, *args)
race._computed = computed""")
    rate.press("Enter")
    expect(land.said).to_have_text("The kernel computes the paths again.")
    time.sleep(0.5)
    expect(land.said).to_have_text("The kernel computes the paths again.")  # until it has
    rate.fill("0.02")  # typed on, and not yet to be taken
    go.touch()
    expect(land.said).to_contain_text("at the start")  # drawn anew, with new fields
    expect(rate).to_have_value("0.02")
    notebook.in_kernel("race.lr", 0.01)
    notebook.execute("del race._computed")
    rate.fill("0.01")
    rate.press("Enter")  # what is there already
    expect(land.said).to_contain_text("at the start")
    begin = land.root.get_by_role("spinbutton", name="start, w")
    for start in ("1e30", "1e31"):  # told twice
        begin.fill(start)
        begin.press("Enter")
        expect(land.said).to_contain_text("Not taken: the loss at the start is inf")
    expect(begin).to_be_focused()
    expect(begin).to_have_value("2")
    land.button("Next step").click()
    expect(land.said).to_contain_text("w = 1.96")
    land.root.get_by_role("img", name=re.compile("^Contours")).click(position={"x": 200, "y": 200})
    expect(land.said).to_contain_text("at the start")
    assert notebook.kernel("race.start") != "[2.0, -1.0]"
    assert notebook.kernel("w.item()") == "2.0"


def test_a_kernel_that_does_not_answer_is_not_waited_for(
    server: Server, open_notebook: Callable[..., Notebook]
) -> None:
    server.write("silent.ipynb", CELL)
    notebook = open_notebook("silent.ipynb")
    notebook.run_cells()
    land = shown(notebook.page)
    expect(land.said).to_contain_text("at the start", timeout=30_000)
    notebook.execute("race._computed = lambda *args: (_ for _ in ()).throw(ValueError('silent'))")
    notebook.page.evaluate("""() => { const wait = setTimeout; // ten seconds are half a one
        window.setTimeout = (act, ms, ...more) => wait(act, ms === 10_000 ? 500 : ms, ...more); }""")
    rate = land.root.get_by_role("spinbutton", name="rate")
    rate.fill("0.01")
    rate.press("Enter")
    expect(land.said).to_contain_text("has not answered yet")
    rate.press("Enter")  # the same again
    time.sleep(0.2)
    expect(land.said).to_contain_text("has not answered yet")
    land.button("Next step").click()
    expect(land.said).to_contain_text("after step 1")  # what was computed goes on


def test_an_explorer_of_what_would_be_trained_names_what_is_kept(
    page: Page, tmp_path: Path
) -> None:
    """Its trace has not all that was saved: the page draws what is left, and complains of nothing."""
    model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    model[0].requires_grad_(False)
    panel = FreezePanel(model, forward=lambda: model(torch.ones(3, 2)).pow(2).mean())
    left = {saved.node for saved in panel.explorer.trace.saved}
    assert left and len(left) < sum(node.kind == "op" for node in panel.explorer.trace.nodes)
    page.goto(panel.explorer.to_html(tmp_path / "explorer.html").as_uri())
    expect(Explorer(page).graph).to_be_visible()
