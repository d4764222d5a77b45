"""What somebody meets who reads by ear or goes by keyboard: every stop of the Tab key says what it is, nothing is cut
or loose."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab import Explorer, Shown
from playwright.sync_api import Locator, Page, expect

import autolab as torch
from autolab.finetune.training import training
from autolab.trace import Trace
from autolab.viz import html
from autolab.widgets import (
    ConvExplorer,
    DeviceExplorer,
    FreezePanel,
    Prediction,
    ReceptiveField,
    TrainingDashboard,
    explore,
)

nn = torch.nn
FOCUSED = "(() => { let e = document.activeElement; while (e.shadowRoot?.activeElement) e = e.shadowRoot.activeElement; return e; })()"


class Normalised(nn.Module):
    """One convolution, one normalisation; what they save has long names, and so has the line that calls them."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 3)

    def forward(self, images: Any) -> Any:
        # fmt: off
        return self.head(nn.functional.adaptive_avg_pool2d(nn.functional.relu(self.norm(self.conv(images)), inplace=False), (1, 1)).flatten(1))
        # fmt: on


@pytest.fixture(scope="module")
def normalised() -> Trace:
    torch.manual_seed(0)
    with torch.record() as recording:
        loss = nn.functional.cross_entropy(
            Normalised()(torch.randn(16, 1, 8, 8)), torch.randint(0, 3, (16,))
        )
        loss.backward()
    return recording.trace()


def batch_norm(trace: Trace) -> Any:
    node = next(n.id for n in trace.nodes if n.op == "native_batch_norm")
    return explore(trace, selected=node, step=len(trace.frames) - 1)


def device_explorer(_: Trace) -> Any:
    with torch.cuda.simulate(memory="64MiB"), torch.record_devices() as recording:
        x = torch.ones(1000, 400).to("cuda")
        w = torch.full((400, 1000), 0.01, device="cuda", requires_grad=True)
        (x @ w).relu().mean().backward()
        torch.cuda.synchronize()
    return DeviceExplorer(recording.trace(), step=4)


def freeze_panel(_: Trace) -> Any:
    model = nn.Sequential(
        nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU()),
        nn.Flatten(),
        nn.Linear(144, 3),
    )
    panel = FreezePanel(
        model,
        torch.optim.Adam(model.parameters()),
        forward=lambda: model(torch.randn(2, 1, 8, 8)).sum(),
    )
    panel.preset("Head only")
    return panel


def dashboard(_: Trace) -> Any:
    torch.manual_seed(0)
    layers = [nn.Linear(4, 4) for _ in range(30)]
    model = nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.utils.data
    loader = data.DataLoader(
        data.TensorDataset(torch.randn(12, 4), torch.randint(0, 4, (12,))), batch_size=4
    )
    widget = TrainingDashboard(
        training(model, optimizer, (loader, loader), epochs=3, every=1), optimizer
    )
    widget.run_blocking()
    return widget


def field(_: Trace) -> Any:
    torch.manual_seed(0)
    return ReceptiveField(
        torch.randn(12, 12), nn.Sequential(nn.Conv2d(1, 2, 3), nn.Tanh(), nn.MaxPool2d(2))
    )


WIDGETS: dict[str, Callable[[Trace], Any]] = {
    "explorer": batch_norm,
    "devices": device_explorer,
    "freeze": freeze_panel,
    "dashboard": dashboard,
    "field": field,
    "conv": lambda _: ConvExplorer(torch.ones(4, 4), torch.ones(2, 2)),
    "prediction": lambda _: Prediction("What is `x.grad`?", choices=["6", "12"]),
}


def open_page(page: Page, widget: Any, folder: Path) -> Locator:
    page.goto(html.write(folder / "page.html", [widget]).as_uri())
    root = page.get_by_role("group").first
    expect(root).to_be_visible()
    return root


def stops(page: Page, most: int = 80) -> list[tuple[str, str]]:
    """(role, name), as the browser tells them to a screen reader, of everything that Tab comes to from where the focus
    is."""
    session = page.context.new_cdp_session(page)
    found: list[tuple[str, str]] = []
    while len(found) < most:
        page.keyboard.press("Tab")
        element = session.send("Runtime.evaluate", {"expression": FOCUSED})["result"]
        if element["description"].startswith("body"):
            return found
        question = {"objectId": element["objectId"], "fetchRelatives": False}
        node = session.send("Accessibility.getPartialAXTree", question)["nodes"][0]
        found.append((node.get("role", {}).get("value", ""), node.get("name", {}).get("value", "")))
    pytest.fail(f"Tab does not leave the widget: {found}")


@pytest.mark.parametrize("width", [480])
@pytest.mark.parametrize("kind", WIDGETS)
def test_every_stop_of_the_tab_key_has_a_role_and_a_name(
    page: Page, tmp_path: Path, normalised: Trace, kind: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    open_page(page, WIDGETS[kind](normalised), tmp_path)
    found = stops(page)
    assert len(found) > (kind != "prediction")  # its choices are one stop
    assert [stop for stop in found if stop[0] in ("", "generic", "none") or not stop[1]] == []


@pytest.mark.parametrize("kind", ["explorer", "devices"])
def test_a_box_that_scrolls_around_stops_is_none_itself(
    page: Page, tmp_path: Path, normalised: Trace, kind: str
) -> None:
    """Firefox, unlike Chromium, lets the Tab key stop at such a box unless it says otherwise."""
    page.set_viewport_size({"width": 480, "height": 900})
    root = open_page(page, WIDGETS[kind](normalised), tmp_path)
    boxes = root.evaluate(
        """root => [...root.querySelectorAll("*")].filter((e) => e.querySelector("[tabindex], button, input, select"))
             .filter((e) => e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1)
             .filter((e) => /auto|scroll/.test(getComputedStyle(e).overflow))
             .map((e) => [e.className, e.getAttribute("tabindex")])"""
    )
    assert boxes == [["al-pane" if kind == "explorer" else "al-timepane", "-1"]]


def test_what_scrolls_in_details_says_so_and_a_line_of_code_is_no_stop(
    page: Page, tmp_path: Path, normalised: Trace
) -> None:
    page.set_viewport_size({"width": 480, "height": 900})
    open_page(page, batch_norm(normalised), tmp_path)
    details = Explorer(page).details
    code = details.locator(".al-source code")
    expect(code).to_contain_text("nn.functional.adaptive_avg_pool2d(")
    assert code.evaluate("c => c.scrollWidth <= c.clientWidth && c.offsetHeight > 30"), (
        "it goes on in the next line"
    )
    page.mouse.click(1, 1)  # the focus nowhere
    details.focus()
    found = list(itertools.takewhile(lambda stop: stop[1] != "Previous step", stops(page)))
    scrolling = [name for role, name in found if role == "group"]
    assert scrolling and all(name.endswith(": scrolls") for name in scrolling)
    assert {role for role, _ in found} == {"group", "button", "DisclosureTriangle"}, (
        "the last is what the names of saved tensors mean"
    )
    page.set_viewport_size({"width": 1500, "height": 900})
    # A ResizeObserver names them again once the page has its new size, so the boxes that scroll are asked until both
    # agree.
    said_of_all = """details => new Promise((resolve) => {
      const ask = () => {
        const boxes = [...details.querySelectorAll(".al-formula, .al-heatbox, .al-rows, .al-column, .al-scroll:not(.al-named)")];
        const scrolls = (b) => b.scrollWidth > b.clientWidth + 1 || b.scrollHeight > b.clientHeight + 1;
        const wrong = boxes.filter((b) => scrolls(b) !== (b.getAttribute("aria-label") ?? "").endsWith(": scrolls"));
        if (!wrong.length || performance.now() > deadline) resolve(wrong.map((b) => b.outerHTML.slice(0, 200)));
        else requestAnimationFrame(ask);
      }, deadline = performance.now() + 5000;
      ask();
    })"""
    assert details.evaluate(said_of_all) == []


@pytest.mark.parametrize("width", [1500, 400])
def test_the_state_of_what_is_saved_is_seen(
    page: Page, tmp_path: Path, normalised: Trace, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    open_page(page, batch_norm(normalised), tmp_path)
    details = Explorer(page).details
    table = details.get_by_role("table", name=re.compile("^Saved by"))
    expect(table.get_by_role("cell", name=re.compile("running_mean"))).to_be_visible()
    room = details.bounding_box()
    for cell in table.get_by_role("cell", name="freed", exact=True).all():
        box = cell.bounding_box()
        assert box and room and box["x"] + box["width"] <= room["x"] + room["width"] - 8
        assert cell.evaluate("c => c.scrollWidth <= c.clientWidth"), "whole"
    assert table.get_by_role("cell", name="freed", exact=True).count() == 6
    # Words break where a reader would break them: "running_" and "mean", never "weigh" and "t".
    for name in ("(input)", "(weight)", "float32"):
        place = details.get_by_text(name, exact=True).last
        assert (
            place.evaluate(
                "e => { const r = document.createRange(); r.selectNodeContents(e); return r.getClientRects().length; }"
            )
            == 1
        ), name
    expect(table).not_to_contain_text("float32[16")  # the shape has its own column


def test_the_listbox_of_devices_holds_options_only(
    page: Page, tmp_path: Path, normalised: Trace
) -> None:
    open_page(page, device_explorer(normalised), tmp_path)
    timeline = page.get_by_role("listbox", name=re.compile("^Timeline"))
    told = timeline.aria_snapshot().splitlines()
    assert len(told) > 5
    assert [line for line in told[1:] if not re.match(r'\s*- option "', line)] == []
    expect(timeline).to_have_accessible_description(
        re.compile(r"^Memory of cuda:0: peak [\d.]+ MiB, booked by the host at .*; limit 64 MiB\.$")
    )


@pytest.mark.parametrize("kind", ["devices", "conv"])
def test_a_playing_widget_is_not_read_out_until_it_stops(
    page: Page, tmp_path: Path, normalised: Trace, kind: str
) -> None:
    widget = WIDGETS[kind](normalised)
    widget.step, widget.interval = 0, 150
    open_page(page, widget, tmp_path)
    shown = Shown(page, page.locator(".al").first)
    expect(shown.said).to_have_attribute("aria-live", "polite")
    shown.said.evaluate(
        "s => { window.written = 0; new MutationObserver(() => (window.written += 1)).observe(s, { childList: true }); }"
    )
    shown.button("Play").click()
    expect(shown.said).to_have_attribute("aria-live", "off")
    shown.button("Pause").click()
    expect(shown.said).to_have_attribute("aria-live", "polite")
    page.evaluate("window.written = 0")
    page.wait_for_timeout(200)
    assert page.evaluate("window.written") == 0, "written anew as it stopped, not later"


@pytest.mark.parametrize("kind", ["freeze", "dashboard", "explorer", "devices"])
def test_nothing_unseen_makes_a_cell_scroll(
    page: Page, tmp_path: Path, normalised: Trace, kind: str
) -> None:
    root = open_page(page, WIDGETS[kind](normalised), tmp_path)
    over = root.evaluate(
        """r => { const place = r.getRootNode().host.parentElement;
                  place.style.cssText = "overflow: auto; position: relative; padding: 0";
                  return [place.scrollHeight - place.clientHeight, place.scrollWidth - place.clientWidth]; }"""
    )
    assert over == [0, 0]
