"""axe-core, the accessibility rules that the field agrees on, over every widget: exported and in JupyterLab, light and
dark, wide and narrow. Nothing critical, serious or moderate of ours may be found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from lab import Notebook, Server, offline
from playwright.sync_api import Browser, Page, expect
from zoo import CASES, recorded

import autolab as torch
from autolab.viz import html

SETUP = """import autolab as torch
from autolab import nn
from autolab.widgets import *
torch.manual_seed(0)
x = torch.tensor(2.0, requires_grad=True)
network = nn.Sequential(nn.Linear(3, 5), nn.Sequential(nn.Linear(5, 5), nn.ReLU()), nn.Linear(5, 2))
image, convolutions = torch.rand(1, 8, 8), nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2))
with torch.cuda.simulate(), torch.record_devices() as moved:
    y = (torch.ones(4, 3).cuda() * 2).sum()
    y.item()
revealed = Prediction("What is `x.grad`?", ["2", "4", "None"], because={"2": "It adds up."})
revealed.answer = "2"
revealed.reveal("4")
dashboard = TrainingDashboard({'step': n, 'epoch': 0, 'train_loss': 1 / n, 'val_loss': 2 / n} for n in range(1, 9))
dashboard.run_blocking()
asked, along = torch.explore((x * x).exp() + x), torch.explore(x * x + x)
asked.ask(x, "grad")
along.paths(x)
w, b = (torch.tensor(v, requires_grad=True) for v in (2.0, -1.0))
"""
WIDGETS = {
    "explorer": "torch.explore((x * x).exp() + x, step=5)",
    "network": "torch.explore(network(torch.ones(2, 3)).sum())",
    "freeze": "FreezePanel(network)",
    "devices": "DeviceExplorer(moved)",
    "conv": "ConvExplorer(torch.rand(1, 6, 6), nn.Conv2d(1, 1, 3))",
    "field": "ReceptiveField(image, convolutions)",
    "prediction": "Prediction('What is `x.grad`?', ['2', '4', 'None'])",
    "revealed": "revealed",
    "inventory": "torch.inventory('before')",
    "dashboard": "dashboard",
}
PANELS = [
    "asked",
    "along",
    "torch.explore(x * 3)",
    "torch.practice(level=12, seed=1)",
]  # the third for "what if"
PANELS += ["LossLandscape(lambda: w * w + 10 * b * b, {'w': w, 'b': b}, lr=0.04, steps=5)"]


def complaints(page: Page, inside: str | None = None) -> list[str]:
    """What axe-core finds, a line for each element. `inside`: a selector of what it looks at, without what it says of
    whole pages."""
    rules = (
        {"region": {"enabled": False}, "landmark-one-main": {"enabled": False}} if inside else {}
    )
    found = (
        Axe()
        .run(page, context=inside, options={"resultTypes": ["violations"], "rules": rules})
        .response["violations"]
    )
    return [
        f"{v['impact']} {v['id']}: {node['html'][:160]}"
        for v in found
        if v["impact"] != "minor"
        for node in v["nodes"]
    ]


def open_tools(page: Page) -> None:
    """Each dialog of an explorer; they stay open beside each other, as nothing is pressed in another explorer."""
    for button in page.get_by_role("button", name="More", exact=True).all():
        if button.get_attribute("aria-expanded") == "false":
            button.evaluate("button => button.click()")
    what_if = page.get_by_role("button", name="What if")
    if what_if.count() > 1:  # in the second of several, instead of its tools
        what_if.nth(1).evaluate("button => button.click()")


def pages(folder: Path) -> dict[str, str]:
    names: dict[str, Any] = {}
    exec(SETUP, names)  # noqa: S102 the same widgets as in the notebook
    widgets = {name: eval(made, names) for name, made in WIDGETS.items()}  # noqa: S307
    widgets |= {case.__name__: torch.explore(recorded(case), step=6) for case in CASES[::3]}
    found = {
        name: w.to_html(folder / f"{name}.html").as_uri()
        for name, w in widgets.items()
        if hasattr(w, "to_html")
    }
    newest = [*(eval(made, names) for made in PANELS), widgets["prediction"], widgets["revealed"]]  # noqa: S307
    return found | {"panels": html.write(folder / "panels.html", newest).as_uri()}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return pages(tmp_path_factory.mktemp("axe"))


@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 400)])
def test_exported_pages(
    browser: Browser, exported: dict[str, str], scheme: Any, width: int
) -> None:
    with offline(browser, color_scheme=scheme, viewport={"width": width, "height": 900}) as page:
        found = {}
        for name, address in exported.items():
            page.goto(address)
            page.locator(".al").first.wait_for()
            open_tools(page)
            found[name] = complaints(page)
    assert {name: said for name, said in found.items() if said} == {}


@pytest.fixture(scope="module")
def opened(server: Server, open_notebook: Callable[..., Notebook]) -> Notebook:
    server.write("axe.ipynb", SETUP, *WIDGETS.values(), *PANELS)
    notebook = open_notebook("axe.ipynb").run()
    notebook.command(
        "application:toggle-left-area"
    )  # beside it there is no room on a page of 400 px
    expect(notebook.page.locator(".al, .al-predict")).to_have_count(
        len(WIDGETS) + len(PANELS), timeout=30_000
    )
    return notebook


@pytest.mark.parametrize(("theme", "width", "height"), [("light", 1366, 768), ("dark", 400, 900)])
def test_in_jupyterlab(opened: Notebook, theme: str, width: int, height: int) -> None:
    opened.page.set_viewport_size({"width": width, "height": height})
    with opened.theme(theme):
        opened.page.wait_for_timeout(500)  # colours fade
        open_tools(opened.page)
        found = complaints(opened.page, ".jp-OutputArea-output")
    assert not found, "\n".join(found)
