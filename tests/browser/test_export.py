"""Exported pages: opened from disk with the network off, in a plain page without any notebook."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab import Explorer, learners_trace, script_says
from playwright.sync_api import Page, expect
from zoo import CASES, not_a_number, recorded

import autolab
from autolab.trace.model import Trace
from autolab.viz import html
from autolab.widgets import Explorer as Widget
from autolab.widgets import explore
from autolab.widgets.packing import pack

TRACE = learners_trace()


class Offline:
    """A page without network that remembers what it asked for."""

    def __init__(self, page: Page):
        self.page, self.requests = page, []
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, path: Path) -> Explorer:
        self.page.goto(path.as_uri())
        shown = Explorer(self.page)
        expect(shown.graph).to_be_visible()
        return shown


@pytest.fixture
def page_options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """These pages move: playing is tested here, and colours that fade."""
    return {
        "viewport": {"width": 1400, "height": 900},
        "reduced_motion": "no-preference",
    } | getattr(request, "param", {})


@pytest.fixture
def offline(page: Page) -> Offline:
    return Offline(page)


def test_steps_without_kernel_and_network(offline: Offline, tmp_path: Path) -> None:
    path = Widget(TRACE).to_html(tmp_path / "explorer.html")
    assert path.stat().st_size < 330_000
    shown = offline.open(path)
    shown.button("Next step").click()
    shown.at(1)
    shown.root.focus()
    offline.page.keyboard.press("End")
    expect(shown.said).to_contain_text("v1 is done")
    shown.node("w").click()
    expect(
        shown.details.get_by_role("table", name="gradient of w").get_by_role("cell")
    ).to_have_text(["0.762"] * 4)
    offline.page.keyboard.press("Home")
    shown.button("Play").click()
    expect(shown.button("Pause")).to_be_visible()
    shown.at(1)
    shown.button("Pause").click()
    assert shown.check("unnamed") == []
    assert offline.requests == [path.as_uri()]


def test_while_it_plays_nothing_is_read_out_and_where_it_stops_is(
    offline: Offline, tmp_path: Path
) -> None:
    shown = offline.open(Widget(TRACE).to_html(tmp_path / "explorer.html"))
    expect(shown.said).to_have_attribute("aria-live", "polite")
    shown.button("Play").click()
    expect(shown.said).to_have_attribute("aria-live", "off")
    shown.at(1)
    shown.said.evaluate(
        "said => new MutationObserver(() => (said.anew = said.ariaLive)).observe(said, { childList: true })"
    )
    shown.button("Pause").click()
    expect(shown.said).to_have_attribute("aria-live", "polite")
    assert shown.said.evaluate("said => said.anew") == "polite"


def test_a_recording_of_nothing_says_so_and_shows_no_dead_controls(
    offline: Offline, tmp_path: Path
) -> None:
    offline.page.goto(explore(recorded(lambda: None)).to_html(tmp_path / "empty.html").as_uri())
    shown = Explorer(offline.page)
    expect(shown.root).to_contain_text(
        "Nothing was recorded: no operation on a tensor ran in the block."
    )
    assert (
        shown.root.get_by_role("button").count() == 0
        and shown.root.get_by_role("list").count() == 0
    )


def test_several_explorers_on_one_page_step_apart(offline: Offline, tmp_path: Path) -> None:
    page = html.page([Widget(TRACE), Widget(TRACE, step=3, selected="w")], title="Two <graphs>")
    (tmp_path / "two.html").write_text(page)
    first = offline.open(tmp_path / "two.html")
    groups = offline.page.get_by_role("group", name="Autograd explorer")
    expect(groups).to_have_count(2)
    second = groups.nth(1)
    first.button("Next step").click()
    first.at(1)
    expect(second.get_by_role("slider", name="Step")).to_have_value("3")
    expect(second.get_by_role("group", name="Details")).to_contain_text("w, a leaf")
    assert offline.page.title() == "Two <graphs>"
    assert len(page) < 400_000, "the script is there once"


@pytest.mark.parametrize(
    "page_options",
    [{"color_scheme": "light"}, {"color_scheme": "dark"}],
    indirect=True,
    ids=["light", "dark"],
)
def test_follows_the_readers_colour_scheme(
    offline: Offline, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    shown = offline.open(Widget(TRACE, step=10).to_html(tmp_path / "explorer.html"))
    dark = "dark" in request.node.name
    expect(shown.root).to_have_attribute("data-theme", "dark" if dark else "light")
    assert shown.root.evaluate("e => getComputedStyle(e).colorScheme") == (
        "dark" if dark else "light"
    ), "scroll bars, too"
    offline.page.wait_for_timeout(350)
    assert shown.check("faint") == []
    assert shown.check("small") == []
    assert shown.check("crowded") == []
    offline.page.emulate_media(color_scheme="light" if dark else "dark")
    expect(shown.root).to_have_attribute("data-theme", "light" if dark else "dark")


@pytest.mark.parametrize(
    "page_options", [{"viewport": {"width": 390, "height": 800}}], indirect=True, ids=["phone"]
)
def test_fits_a_phone(offline: Offline, tmp_path: Path) -> None:
    shown = offline.open(Widget(TRACE, step=22).to_html(tmp_path / "explorer.html"))
    assert offline.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert shown.check("small") == [] and shown.check("crowded") == []
    graph, details = shown.graph.bounding_box(), shown.details.bounding_box()
    assert graph and details and graph["height"] > graph["width"] and details["y"] > graph["y"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_whatever_happens_to_a_graph_can_be_read(
    offline: Offline, tmp_path: Path, scheme: str
) -> None:
    offline.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    widgets = [explore(recorded(case)) for case in CASES]
    (tmp_path / "zoo.html").write_text(html.page(widgets))
    offline.open(tmp_path / "zoo.html")
    groups = offline.page.get_by_role("group", name="Autograd explorer")
    for i, widget in enumerate(widgets):
        shown = Explorer(offline.page, i)
        groups.nth(i).focus()
        for frame in widget.trace.frames[1:]:
            offline.page.keyboard.press("ArrowRight")
            expect(shown.said).to_contain_text(frame.text)
        for check in ("faint", "small", "crowded", "unnamed"):
            assert shown.check(check) == [], f"{CASES[i].__name__}: {check}"


def test_an_error_is_shown_where_it_happened(offline: Offline, tmp_path: Path) -> None:
    x = autolab.tensor([1.0, 2.0], requires_grad=True)
    with autolab.record() as recording, contextlib.suppress(RuntimeError):
        y = x.exp()
        y.add_(1)
        y.sum().backward()
    shown = offline.open(explore(recording, step=99).to_html(tmp_path / "error.html"))
    box = shown.details.get_by_role("note")
    expect(box).to_contain_text("modified by an inplace operation")
    ring = shown.node("y").locator(".al-ring")
    assert ring.evaluate("r => getComputedStyle(r).stroke") == "rgb(204, 121, 167)", (
        "an error is not a gradient"
    )
    saved = shown.details.get_by_role("table", name=re.compile("^Saved by"))
    expect(saved.get_by_role("cell").last).to_have_text("modified")


def test_nan_is_marked_by_more_than_colour(offline: Offline, tmp_path: Path) -> None:
    shown = offline.open(explore(recorded(not_a_number)).to_html(tmp_path / "nan.html"))
    bad = shown.graph.get_by_role("button", name=re.compile("sqrt"))
    drawn = lambda node: node.locator(".al-inner").evaluate(
        "r => getComputedStyle(r).stroke !== 'none'"
    )
    expect(shown.root.get_by_role("list", name="Legend")).to_contain_text("NaN, inf or an error")
    assert drawn(bad) and bad.locator(".al-grad ~ .al-inner").count() == 1, (
        "the strip does not cover it"
    )
    expect(bad).to_have_attribute("aria-label", re.compile("holds NaN or inf"))
    x = shown.node("x")
    assert not drawn(x)
    shown.root.focus()
    offline.page.keyboard.press("End")
    expect(x).to_have_attribute("aria-label", re.compile("holds NaN or inf"))  # its gradient at -1
    assert drawn(x)
    offline.page.keyboard.press("Home")
    expect(x).not_to_have_attribute("aria-label", re.compile("holds NaN or inf"))
    assert not drawn(x)
    bad.click()
    table = shown.details.get_by_role("table", name=re.compile("^value of"))
    expect(table.get_by_role("cell").first).to_have_text("nan")
    expect(shown.details).to_contain_text("holds NaN or inf")


def test_the_page_changes_with_its_widgets_state(tmp_path: Path) -> None:
    widget = Widget(TRACE)
    widget.step = 9
    page = widget.to_html(tmp_path / "explorer.html").read_text()
    assert '"step":9' in page


def test_script_and_kernel_agree_on_states_numbers_and_colours(page: Page) -> None:
    """One trace, read by Python and by the script: every state at every frame, numbers as written, colours."""
    from autolab.trace.values import Value, extent, number, short
    from autolab.widgets import heat

    first = TRACE.to_json()
    second = json.loads(json.dumps(first))
    for node in second["nodes"]:  # a second pass over a graph with gradients kept from before
        node["grad_before"] = node["grad"]
    start = len(second["frames"])
    second["frames"] += [
        f | {"index": start + i, "run": 2}
        for i, f in enumerate(f for f in second["frames"] if f["phase"] == "backward")
    ]
    numbers = [
        0.0,
        -0.0,
        1,
        -3,
        12,
        100_000,
        123_456,
        99_999,
        1.5e-7,
        0.00012345,
        0.0001,
        0.00009999,
        123.0,
        123.4,
        999.9,
        999.4999,
        1234.5,
        12345.0,
        1e21,
        -2.5e-30,
        0.1,
        2 / 3,
        7.0,
        100.0,
        True,
        "nan",
        "-inf",
        1.005,
        0.9996,
    ]
    spreads = [
        [-0.031, 0.02],
        [1, 1],
        [-0.0, 0.0],
        [0.5, float("nan")],
        [float("inf")] * 3,
        [float("nan"), float("-inf")],
    ]
    stats = [Value.of(np.array(numbers)).stats for numbers in spreads]
    others = [json.loads(json.dumps(recorded(case).trace().to_json())) for case in CASES]
    for data in (json.loads(json.dumps(first)), second, *others):
        trace = Trace.from_json(data)
        read = script_says(
            page,
            """(m, data, numbers, stats) => {
                const trace = m.unpack(data);
                const states = [-1, ...trace.frames.keys()].map((i) => m.statesAt(trace, i));
                const colours = [-4, -3, -0.01, 0, 1, 2.2, 4, 9, "nan"].map((v) => m.color(v, 4));
                const gradients = m.gradientsAt(trace, trace.frames.length - 1);
                return { trace, states, gradients, words: numbers.map(m.short), colours, extents: stats.map(m.extent) };
            }""",
            pack(trace),
            numbers,
            stats,
        )
        del read["trace"]["values"]
        assert read["trace"] == data, "what was packed is unpacked"
        assert read["states"] == [trace.states(i) for i in range(-1, len(trace.frames))]
        if (
            data["frames"] and data["frames"][-1]["phase"] == "backward"
        ):  # afterwards code may have changed `.grad`
            kept = {
                node["id"]: node["grad"]
                for node in data["nodes"]
                if node["grad"] and data is not second
            }
            assert {key: read["gradients"][key] for key in kept} == kept, (
                "what is left in the end is .grad"
            )
    assert read["extents"] == [extent(s) for s in stats]
    assert read["words"] == [short(number(n)) if not isinstance(n, str) else n for n in numbers]
    assert read["colours"] == [heat.color(v, 4) for v in (-4, -3, -0.01, 0, 1, 2.2, 4, 9, "nan")]


def test_a_shared_parameter_names_the_calls_that_use_it(offline: Offline, tmp_path: Path) -> None:
    layer = autolab.nn.Linear(3, 3)
    loss = autolab.nn.Sequential(layer, autolab.nn.ReLU(), layer)(autolab.ones(2, 3)).sum()
    shown = offline.open(explore(loss, rankdir="LR").to_html(tmp_path / "shared.html"))
    weight = shown.node("weight").first
    expect(weight).to_have_accessible_name(re.compile("shared by 0 and 0 \\(call 2\\)"))
    expect(weight).to_contain_text("shared by 2 calls")
    weight.click()
    expect(shown.details).to_contain_text("shared by0, 0 (call 2)")
    assert shown.check("crowded") == []


def test_a_derivative_without_a_formula_is_written_once(offline: Offline, tmp_path: Path) -> None:
    class Cube(autolab.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 3 * g * ctx.saved_tensors[0] ** 2

    x = autolab.tensor(2.0, requires_grad=True)
    shown = offline.open(explore(Cube.apply(x) + 1).to_html(tmp_path / "cube.html"))
    formulas = shown.details.locator(".al-pair").first.locator("math")
    expect(formulas).to_have_count(1)
    expect(formulas).to_contain_text("= 12".replace(" ", ""))


def test_formulas_that_fit_are_no_stops_for_the_tab_key(offline: Offline, tmp_path: Path) -> None:
    """Browsers let the Tab key stop at a box that can be scrolled, be it by a pixel."""
    x = autolab.tensor(2.0, requires_grad=True)
    shown = offline.open(explore(x * x + x.exp() / x).to_html(tmp_path / "formulas.html"))
    for step in range(int(shown.slider.get_attribute("max") or 0) + 1):
        shown.slider.fill(str(step))
        shown.at(step)
        scrolled = (
            "all => all.filter((e) => e.scrollHeight > e.clientHeight).map((e) => e.textContent)"
        )
        assert shown.details.locator(".al-formula").evaluate_all(scrolled) == [], f"step {step}"
