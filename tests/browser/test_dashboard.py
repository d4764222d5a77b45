"""The training dashboard in JupyterLab by role and name, while the kernel trains; and on an exported page."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from lab import Notebook, Server, Shown
from playwright.sync_api import Locator, Page, expect

from autolab.widgets import TrainingDashboard

MAKE = """import time
import autolab as torch
from autolab.widgets import TrainingDashboard

def make(steps, predict=None, fail=0):
    global model, optimizer, dashboard
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x, y = torch.randn(30, 4), torch.arange(30) % 3
    def train():
        for step in range(1, steps + 1):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.002)
            if step == fail:
                raise ZeroDivisionError("float division by zero")
            end = step % 25 == 0
            yield {"epoch": (step - 1) // 25, "step": step, "train_loss": loss.item(), "val_loss": loss.item() + 0.1 if end else None,
                   "gradient_norms": {"0": 1.0, "2": 2.0 / step}, "val_accuracy": 0.5 if end else None}
    dashboard = TrainingDashboard(train(), optimizer, predict=predict)
    return dashboard
"""
LATE = 10_000


class Dashboard(Shown):
    """The last dashboard of a page."""

    def __init__(self, page: Page):
        super().__init__(
            page, page.get_by_role("group", name="Training dashboard", exact=True).last
        )
        self.rate = self.root.get_by_role("textbox", name="Learning rate", exact=True)
        self.alert = self.root.get_by_role("alert")
        self.badge = self.root.locator(".al-badge")

    def chart(self, name: str) -> Locator:
        return self.root.get_by_role("img", name=re.compile(f"^{name}[:,]"))


@pytest.fixture(scope="module")
def lab(server: Server, open_notebook: Callable[..., Notebook]) -> Notebook:
    server.write("dashboard.ipynb", MAKE)
    notebook = open_notebook("dashboard.ipynb")
    notebook.run_cells()
    notebook.in_kernel("make.__name__", "make", seconds=30)
    return notebook


def cell(lab: Notebook, code: str, *, wait: bool = True) -> None:
    """Run code in a new cell at the end of the notebook, as a person does."""
    lab._panel(
        """await jupyterapp.commands.execute('notebook:move-cursor-down');
           panel.content.activeCellIndex = panel.content.widgets.length - 1;
           await jupyterapp.commands.execute('notebook:insert-cell-below');
           panel.content.activeCell.model.sharedModel.setSource(given[0]);
           const run = jupyterapp.commands.execute('notebook:run-cell');
           if (given[1]) await run;""",
        [code, wait],
    )


def errors_of_last_cell(lab: Notebook) -> list[str]:
    return lab._panel(
        "return panel.content.widgets.at(-1).model.toJSON().outputs.map((o) => o.ename);"
    )


@pytest.fixture
def dashboard(lab: Notebook, request: pytest.FixtureRequest) -> Iterator[Dashboard]:
    cell(lab, getattr(request, "param", "make(100_000)"))
    shown = Dashboard(lab.page)
    expect(shown.button("Start")).to_be_visible(timeout=LATE)
    yield shown
    lab.execute("dashboard.state in ('finished', 'stopped', 'failed') or dashboard.stop()")


def count(lab: Notebook) -> int:
    return int(lab.kernel("len(dashboard.history.records)"))


def test_started_paused_stepped_resumed_and_stopped(lab: Notebook, dashboard: Dashboard) -> None:
    expect(dashboard.badge).to_have_text("idle")
    dashboard.button("Start").click()
    expect(dashboard.button("Pause")).to_be_visible()
    expect(dashboard.badge).to_have_text("running")
    expect(dashboard.chart("Loss")).to_have_attribute(
        "aria-label", re.compile(r"^Loss: train [\d.]+, validation [\d.]+$")
    )
    dashboard.button("Pause").click()
    expect(dashboard.button("Resume")).to_be_visible()
    lab.in_kernel("dashboard.state", "paused")
    at = count(lab)
    assert at > 3
    dashboard.button("Step").click()
    lab.in_kernel("len(dashboard.history.records)", at + 1)
    lab.in_kernel("dashboard.state", "paused")
    expect(dashboard.root).to_contain_text(f"step {at + 1}")
    dashboard.button("Resume").click()
    expect(dashboard.badge).to_have_text("running")
    lab.in_kernel(f"len(dashboard.history.records) > {at + 10}", True)
    dashboard.button("Stop").click()
    expect(dashboard.badge).to_have_text("stopped")
    lab.in_kernel("dashboard.state", "stopped")
    expect(dashboard.button("Stop")).to_have_attribute("aria-disabled", "true")
    expect(dashboard.said).to_contain_text("stopped, epoch")


def test_the_kernel_pauses_and_resumes(lab: Notebook, dashboard: Dashboard) -> None:
    lab.execute("dashboard.start()")
    expect(dashboard.badge).to_have_text("running")
    lab.execute("dashboard.pause()")
    expect(dashboard.button("Resume")).to_be_visible()
    lab.execute("dashboard.step()")
    lab.execute("dashboard.learning_rates = [0.004]")
    expect(dashboard.rate).to_have_value("0.004")


def test_the_rate_is_changed_in_mid_run(lab: Notebook, dashboard: Dashboard) -> None:
    expect(dashboard.rate).to_have_value("0.05")
    dashboard.button("Start").click()
    expect(dashboard.badge).to_have_text("running")
    dashboard.rate.fill("0.002")
    dashboard.rate.press("Enter")
    lab.in_kernel("optimizer.param_groups[0]['lr']", 0.002)
    expect(dashboard.chart("Learning rate")).to_have_attribute(
        "aria-label", "Learning rate: learning rate 0.002"
    )
    dashboard.button("Learning rate times ten").click()
    lab.in_kernel("optimizer.param_groups[0]['lr']", 0.02)
    expect(dashboard.rate).to_have_value("0.02")
    lab.in_kernel("[m['text'] for m in dashboard.data['marks']]",
                  ["learning rate 0.05 → 0.002", "learning rate 0.002 → 0.02"])  # fmt: skip
    dashboard.rate.fill("fast")
    dashboard.rate.press("Enter")
    expect(dashboard.alert).to_have_text("A learning rate is a number of at least 0, such as 0.01.")
    lab.in_kernel("optimizer.param_groups[0]['lr']", 0.02)
    dashboard.rate.fill("0.01")
    dashboard.rate.press("Enter")
    expect(dashboard.alert).to_have_count(0)
    lab.in_kernel("optimizer.param_groups[0]['lr'], dashboard.state", (0.01, "running"))


def test_a_rate_that_no_kernel_takes_is_told(lab: Notebook, dashboard: Dashboard) -> None:
    """As in a notebook opened without running it; here the answer is lost on the way."""
    lab.execute("dashboard.on_msg(dashboard._on_message, remove=True)")
    dashboard.button("Learning rate times ten").click()
    expect(dashboard.alert).to_have_text(re.compile("^The kernel has not answered"), timeout=8000)
    lab.execute("dashboard.on_msg(dashboard._on_message)")


def test_buttons_answer_while_a_cell_awaits_the_training(
    lab: Notebook, dashboard: Dashboard
) -> None:
    cell(lab, "await dashboard.run()", wait=False)
    expect(dashboard.badge).to_have_text("running", timeout=LATE)
    dashboard.button("Pause").click()
    expect(dashboard.badge).to_have_text("paused")
    stopped = dashboard.root.get_by_text(re.compile(r"^epoch \d+, step")).text_content()
    lab.page.wait_for_timeout(300)
    assert dashboard.root.get_by_text(re.compile(r"^epoch \d+, step")).text_content() == stopped
    dashboard.button("Resume").click()
    expect(dashboard.badge).to_have_text("running")
    dashboard.button("Stop").click()
    expect(dashboard.badge).to_have_text("stopped")
    lab.in_kernel("dashboard.state", "stopped")


def test_a_kernel_that_hears_no_button_says_so(lab: Notebook, dashboard: Dashboard) -> None:
    lab.execute(
        "from autolab.widgets import dashboard as module; heard = module.hears_while_busy; module.hears_while_busy = lambda: False"
    )
    cell(lab, "await dashboard.run()", wait=False)
    note = dashboard.root.get_by_role("note")
    expect(note).to_contain_text("this kernel hears no button", timeout=LATE)
    for name in ("Pause", "Step", "Stop"):
        expect(dashboard.button(name)).to_be_disabled()
    expect(dashboard.rate).to_be_disabled()
    lab.command("notebook:interrupt-kernel")
    expect(dashboard.badge).to_have_text("paused", timeout=LATE)
    expect(note).to_be_hidden()
    expect(dashboard.rate).to_be_enabled()
    dashboard.button("Resume").click()  # in the background now: no cell is in the way
    expect(dashboard.badge).to_have_text("running", timeout=LATE)
    dashboard.button("Pause").click()
    expect(dashboard.badge).to_have_text("paused", timeout=LATE)
    lab.execute("module.hears_while_busy = heard")


@pytest.mark.parametrize("dashboard", ["make(1000, fail=40)"], indirect=True)
def test_an_error_inside_the_training(lab: Notebook, dashboard: Dashboard) -> None:
    cell(lab, "await dashboard.run()", wait=False)
    expect(dashboard.alert).to_have_text("ZeroDivisionError: float division by zero", timeout=LATE)
    expect(dashboard.badge).to_have_text("failed")
    lab.in_kernel("dashboard.state, len(dashboard.history.records)", ("failed", 39))
    expect(lab.page.get_by_text("ZeroDivisionError: float division by zero").last).to_be_visible()
    outputs = errors_of_last_cell(lab)
    assert outputs == ["ZeroDivisionError"], "the cell has it too"


PREDICT = """import numpy as np
make(30, predict=lambda: (np.eye(4)[None].repeat(3, 0), [0, 1, 2], [0, 1, 1]))"""


@pytest.mark.parametrize("dashboard", [PREDICT], indirect=True)
def test_examples_numbers_and_the_end(lab: Notebook, dashboard: Dashboard) -> None:
    dashboard.button("Start").click()
    expect(dashboard.badge).to_have_text("finished", timeout=LATE)
    items = dashboard.root.get_by_role("list", name="Examples").get_by_role("listitem")
    expect(items).to_have_text(["right: ✓ 0", "right: ✓ 1", "wrong: ✗ 1, is 2"])
    matrix = dashboard.root.get_by_role("table", name="Confusion matrix")
    expect(matrix).to_contain_text("2 of 3 right")
    expect(matrix.locator("tbody td")).to_have_text(["1", "", "", "", "1", "", "", "1", ""])
    dashboard.root.get_by_text("Numbers", exact=True).click()
    rows = dashboard.root.get_by_role("table", name="Numbers by epoch").get_by_role("row")
    expect(rows).to_have_count(3)
    expect(rows.nth(2).get_by_role("cell").nth(1)).to_have_text("30")
    expect(dashboard.root.get_by_role("img", name="2: gradient norm 0.0667")).to_be_visible()
    for check in ("faint", "small", "unreachable"):
        assert dashboard.check(check) == [], check


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_can_be_read_in_both_themes(lab: Notebook, dashboard: Dashboard, theme: str) -> None:
    dashboard.button("Step").click()
    expect(dashboard.badge).to_have_text("paused")
    with lab.theme(theme):
        expect(dashboard.root).to_have_attribute("data-theme", theme)
        for check in ("faint", "small", "unnamed"):
            assert dashboard.check(check) == [], check


def test_a_saved_notebook_shows_the_run_again(
    server: Server, open_notebook: Callable[..., Notebook]
) -> None:
    path = server.write(
        "run.ipynb", MAKE, "make(30)\ndashboard", "await dashboard.run()", "dashboard"
    )
    first = open_notebook("run.ipynb")
    first.run_cells()
    expect(Dashboard(first.page).badge).to_have_text("finished", timeout=30_000)
    first.in_kernel("dashboard.state", "finished")
    first.save()
    first.shut_down()
    output = nbformat.read(path, as_version=4).cells[3].outputs[0].data
    assert re.fullmatch(
        r"TrainingDashboard\(finished: 30 records, 2 epochs, validation loss \d\.\d+\) is a training .*",
        output["text/plain"],
    )
    assert "validation" in output["image/svg+xml"], "what is shown where there are no widgets"

    opened = open_notebook("run.ipynb")
    again = Dashboard(opened.page)
    opened.restored(again.badge)
    expect(again.badge).to_have_text("finished", timeout=30_000)
    over = again.button("Finished")
    expect(over).to_have_attribute("aria-disabled", "true")
    expect(again.button("Start")).to_have_count(0)
    expect(again.chart("Loss")).to_have_attribute(
        "aria-label", re.compile(r"^Loss: train [\d.]+, validation [\d.]+$")
    )


# -- without a kernel --------------------------------------------------------------------------------------------------
@pytest.fixture
def page_options() -> dict[str, Any]:
    return {"viewport": {"width": 480, "height": 900}, "color_scheme": "dark"}


def test_an_exported_page_shows_the_finished_run(page: Page, tmp_path: Path) -> None:
    records = [
        {"epoch": i // 4, "step": i, "train_loss": 8 / (i + 1) if i != 5 else float("nan"), "learning_rate": 0.1, "val_accuracy": i / 16,
         "gradient_norms": {"layer1.0.conv1": 1.0 + i}}
        for i in range(16)
    ]  # fmt: skip
    records[-1]["examples"] = (np.eye(8)[None], [1], [2])
    widget = TrainingDashboard(records)
    widget.run_blocking()
    page.goto(widget.to_html(tmp_path / "run.html").as_uri())
    shown = Dashboard(page)
    expect(shown.badge).to_have_text("finished")
    expect(shown.root).to_contain_text("there is no training behind this page")
    expect(shown.root.get_by_role("button")).to_have_count(0)
    expect(shown.chart("Loss")).to_have_attribute("aria-label", "Loss: train 0.5")
    rows = shown.root.get_by_role("table", name="Numbers by epoch").get_by_role("row")
    expect(rows.nth(4).get_by_role("cell")).to_have_text(["3", "15", "0.5", "0.938", "0.1"])
    shown.root.get_by_role("checkbox", name="Logarithmic loss").check()
    expect(shown.chart("Loss")).to_have_attribute("aria-label", "Loss, logarithmic: train 0.5")
    assert shown.root.locator(".al-badmark").first.get_attribute("d") != "", (
        "NaN is marked by a cross"
    )
    for check in ("faint", "small", "unnamed", "unreachable"):
        assert shown.check(check) == [], check
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.timed
def test_a_long_run_is_drawn_quickly(page: Page, tmp_path: Path) -> None:
    layers = {f"layer{i}": 1.0 for i in range(24)}
    widget = TrainingDashboard(
        {"step": i, "train_loss": 1 / i, "gradient_norms": layers} for i in range(1, 20_001)
    )
    start = time.monotonic()
    widget.run_blocking()
    assert time.monotonic() - start < 30
    page.goto(widget.to_html(tmp_path / "long.html").as_uri())
    shown = Dashboard(page)
    expect(shown.chart("Loss")).to_have_attribute("aria-label", "Loss: train 5e-05")
    points = shown.chart("Loss").locator(".al-curve").first.get_attribute("d") or ""
    assert 200 <= points.count("L") < 400
