"""What somebody meets who reads by ear or goes by keyboard: every stop of the Tab key says what it is, nothing is cut
or loose."""

from __future__ import annotations

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


@pytest.mark.parametrize("width", [1280, 480])
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
    found = stops(page)
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


@pytest.mark.parametrize("width", [1500, 820, 480, 400])
def test_the_state_of_what_is_saved_is_seen(
    page: Page, tmp_path: Path, normalised: Trace, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    open_page(page, batch_norm(normalised), tmp_path)
    details = Explorer(page).details
    table = details.get_by_role("table", name=re.compile("^Saved by"))
    expect(table.get_by_role("cell", name=re.compile("^running_mean"))).to_be_visible()
    room = details.bounding_box()
    for cell in table.get_by_role("cell", name="freed", exact=True).all():
        box = cell.bounding_box()
        assert box and room and box["x"] + box["width"] <= room["x"] + room["width"] - 8
        assert cell.evaluate("c => c.scrollWidth <= c.clientWidth"), "whole"
    assert table.get_by_role("cell", name="freed", exact=True).count() == 6
    # Words break where a reader would break them: "running_" and "mean", never "weigh" and "t".
    for name in ("input", "weight", "float32"):
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


def test_a_cell_without_anything_is_a_dash_and_says_none(
    page: Page, tmp_path: Path, normalised: Trace
) -> None:
    open_page(page, freeze_panel(normalised), tmp_path)
    rows = page.get_by_role("treegrid", name="Layers").get_by_role("row")
    relu = rows.filter(has_text="ReLU").get_by_role("gridcell")
    expect(relu).to_have_count(3)
    look = "c => { const s = getComputedStyle(c.firstChild); return s.fontSize + s.color + c.firstChild.textContent; }"
    looks = {cell.evaluate(look) for cell in relu.all()}
    assert len(looks) == 1 and looks.pop().endswith("–")
    assert re.search('gridcell "none"', rows.filter(has_text="ReLU").aria_snapshot())
    assert "–" not in rows.filter(has_text="ReLU").aria_snapshot()


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


def test_the_dashboard_names_its_axis_and_the_ticks_of_epochs(
    page: Page, tmp_path: Path, normalised: Trace
) -> None:
    open_page(page, dashboard(normalised), tmp_path)
    for name in ("Loss", "Learning rate"):
        figure = page.get_by_role("figure", name=name, exact=True)
        expect(figure.get_by_text("step", exact=True)).to_be_visible()
        expect(figure.get_by_text("an epoch begins")).to_be_visible()
        expect(figure.locator("svg.al-chart .al-epoch")).to_have_count(2)
    rows = page.get_by_role("group", name="Gradient norm by layer: scrolls")
    expect(rows.get_by_role("img")).to_have_count(30)


def late(page: Page, path: Path) -> None:
    """Open a page as JupyterLab shows a cell's output: made first, and seen later."""
    hidden = path.read_text(encoding="utf-8").replace(
        "<head>", "<head><style id='late'>body { display: none }</style>", 1
    )
    path.write_text(hidden, encoding="utf-8")
    page.goto(path.as_uri())
    page.wait_for_function(
        "[...document.querySelectorAll('*')].some((e) => e.shadowRoot?.querySelector('.al-node'))"
    )
    page.evaluate("document.getElementById('late').remove()")


def test_a_graph_drawn_before_it_is_seen_fits_its_words(page: Page, tmp_path: Path) -> None:
    x = torch.tensor(2.0, requires_grad=True)
    path = explore(torch.sin(x) * -1234.5).to_html(tmp_path / "late.html")
    late(page, path)
    pill = page.locator(".al-pill[visibility=visible]").first
    expect(pill).to_have_text("× -0.416")
    room, words = (
        part.bounding_box()["width"] for part in (pill.locator("rect"), pill.locator("text"))
    )  # type: ignore[index]
    assert words <= room * 0.86


def test_a_graph_drawn_before_it_is_seen_shows_its_step(page: Page, tmp_path: Path) -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = x
    for _ in range(30):
        y = y.sin()
    path = explore(y, step=20).to_html(tmp_path / "late.html")
    late(page, path)
    graph = Explorer(page).graph
    pane, now = (
        graph.locator(f"xpath={where}").first.bounding_box()
        for where in ("..", ".//*[contains(@class, 'al-now-forward')]")
    )
    assert (
        pane
        and now
        and pane["x"] <= now["x"]
        and now["x"] + now["width"] <= pane["x"] + pane["width"]
    )


def test_a_sample_of_many_numbers_is_whole_beside_a_graph(page: Page, tmp_path: Path) -> None:
    torch.manual_seed(0)
    page.set_viewport_size({"width": 1280, "height": 900})
    w = torch.randn(40, 40, requires_grad=True)
    with torch.record() as recording:
        (w * 2).sum().backward()
    open_page(page, explore(recording), tmp_path)
    shown = Explorer(page)
    assert shown.root.evaluate("r => r.classList.contains('al-beside')")
    sample = shown.details.get_by_role("table", name=re.compile(": sample$")).first
    expect(sample.get_by_role("cell")).to_have_count(30)
    expect(shown.details.get_by_role("group", name=re.compile(": scrolls$"))).to_have_count(0)


def test_a_long_name_of_a_layer_keeps_its_end(page: Page, tmp_path: Path) -> None:
    model = nn.Sequential()
    for name in ("layer2_of_a_network_downsample_0", "layer2_of_a_network_downsample_1", "fc"):
        model.add_module(name, nn.Linear(4, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.ones(4, 4), torch.tensor([0, 1, 2, 3]))
    )
    widget = TrainingDashboard(
        training(model, optimizer, (loader, loader), epochs=1, every=1), optimizer
    )
    widget.run_blocking()
    page.set_viewport_size({"width": 900, "height": 900})
    open_page(page, widget, tmp_path)
    letters = """name => { const box = name.getBoundingClientRect(), text = name.firstElementChild.firstChild;
      const at = (i) => { const r = document.createRange(); r.setStart(text, i); r.setEnd(text, i + 1); return r.getBoundingClientRect(); };
      return [at(0), at(text.length - 1)].map((b) => b.left >= box.left - 1 && b.right <= box.right + 1); }"""
    seen = {
        name: page.get_by_title(name, exact=True).evaluate(letters)
        for name in ("layer2_of_a_network_downsample_1", "fc")
    }
    assert seen == {"layer2_of_a_network_downsample_1": [False, True], "fc": [True, True]}
