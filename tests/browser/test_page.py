"""Exported explorers: opened from disk with the network off, in a plain page without any notebook."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from lab import Explorer, learners_trace, opened
from playwright.sync_api import Page, expect
from zoo import CASES, recorded

import autolab as torch
from autolab.lessons.lesson04 import engine
from autolab.viz import html
from autolab.widgets import Explorer as Widget
from autolab.widgets import explore

TRACE = learners_trace()


def test_it_steps_without_kernel_and_network(page: Page, tmp_path: Path) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    shown = opened(page, Widget(TRACE), tmp_path)
    assert (tmp_path / "page.html").stat().st_size < 330_000
    shown.button("Next step").click()
    shown.at(1)
    shown.root.focus()
    page.keyboard.press("End")
    expect(shown.said).to_contain_text("x now holds 0.441 + 0.294 + 0.294 = 1.03")
    shown.node("w").click()
    cells = shown.details.get_by_role("table", name="gradient of w").get_by_role("cell")
    expect(cells).to_have_text(["0.762"] * 4)
    shown.button("More").click()
    shown.menu.get_by_role("combobox", name="Speed").select_option("very fast")
    page.keyboard.press("Escape")
    shown.button("Play").click()  # from the start again
    shown.at(24)
    expect(shown.button("Play")).to_be_visible()
    assert requests == [(tmp_path / "page.html").as_uri()]


def test_going_to_a_step_while_it_plays_stops_it_there(page: Page, tmp_path: Path) -> None:
    shown = opened(page, Widget(TRACE, interval=150), tmp_path)
    shown.button("Play").click()
    expect(shown.slider).not_to_have_value("0")
    shown.root.press("Home")
    shown.at(0)
    expect(shown.button("Play")).to_be_visible()


def test_several_explorers_on_one_page_step_apart(page: Page, tmp_path: Path) -> None:
    text = html.page([Widget(TRACE), Widget(TRACE, step=3, selected="w")], title="Two <graphs>")
    (tmp_path / "two.html").write_text(text)
    page.goto((tmp_path / "two.html").as_uri())
    first, second = Explorer(page), Explorer(page, 1)
    first.button("Next step").click()
    first.at(1)
    second.at(3)
    expect(second.details).to_contain_text("w, a leaf")
    assert page.title() == "Two <graphs>"
    assert len(text) < 400_000, "the script is there once"


def test_no_steps_no_player(page: Page, tmp_path: Path) -> None:
    shown = opened(page, explore(torch.tensor(3.0)), tmp_path)
    expect(shown.root).to_contain_text("There is no backward pass")
    for hidden in (shown.button("Play"), shown.slider, shown.button("Next step")):
        expect(hidden).to_be_hidden()
    page.goto(explore(recorded(lambda: None)).to_html(tmp_path / "empty.html").as_uri())
    expect(shown.root).to_contain_text("Nothing was recorded: no operation on a tensor ran")
    assert shown.root.get_by_role("button").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_whatever_happens_to_a_graph_can_be_read(page: Page, tmp_path: Path, scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme)
    widgets = [explore(recorded(case)) for case in CASES]
    (tmp_path / "zoo.html").write_text(html.page(widgets))
    page.goto((tmp_path / "zoo.html").as_uri())
    for i, widget in enumerate(widgets):
        shown = Explorer(page, i)
        expect(shown.root).to_have_attribute("data-theme", scheme)
        last = len(widget.trace.frames) - 1
        for step in {last // 2, last} if last > 0 else ():
            shown.go(step)
        assert shown.details.is_visible()
        for check in ("faint", "small", "crowded", "unnamed"):
            assert shown.check(check) == [], f"{CASES[i].__name__}: {check}"


@pytest.mark.parametrize(
    "page_options", [{"viewport": {"width": 390, "height": 800}}], indirect=True, ids=["phone"]
)
def test_it_fits_a_phone(page: Page, tmp_path: Path) -> None:
    shown = opened(page, Widget(TRACE, step=22), tmp_path)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shown.is_fine("small", "crowded")
    graph, details = shown.graph.bounding_box(), shown.details.bounding_box()
    assert graph and details and graph["height"] > graph["width"] and details["y"] > graph["y"]
    for name in ("Previous step", "Play", "Next step", "What if", "More"):
        expect(shown.button(name)).to_be_visible()


# What JupyterLab leaves of 1366 x 768 beside its side bar.
@pytest.mark.parametrize(
    "page_options", [{"viewport": {"width": 966, "height": 721}}], indirect=True, ids=["laptop"]
)
def test_a_small_graph_has_the_room_and_few_controls(page: Page, tmp_path: Path) -> None:
    x = torch.tensor(2.0, requires_grad=True)
    with torch.record() as recording:
        z = x * x + 3 * x
        z.backward()
    shown = opened(page, explore(recording), tmp_path)
    whole, pane = shown.root.bounding_box(), shown.graph.locator("..").bounding_box()
    assert whole and pane and whole["height"] <= 400
    assert pane["height"] / whole["height"] >= 0.55
    expect(shown.root.locator("button, input, select").filter(visible=True)).to_have_count(6)
    expect(shown.root.locator(".al-beat")).to_have_count(6)
    assert len(shown.root.inner_text().split()) <= 120


def test_nan_is_marked_by_more_than_colour(page: Page, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.__name__ == "not_a_number")
    shown = opened(page, explore(recorded(case)), tmp_path)
    marked = lambda node: node.locator(".al-inner").evaluate(  # noqa: E731
        "r => getComputedStyle(r).stroke !== 'none'"
    )
    root, x = shown.graph.get_by_role("button", name=re.compile("^sqrt")), shown.node("x")
    expect(root).to_have_attribute("aria-label", re.compile("holds NaN or inf"))
    assert marked(root) and not marked(x)
    shown.root.press("End")
    expect(x).to_have_attribute("aria-label", re.compile("holds NaN or inf"))  # its gradient at -1
    assert marked(x)


class Careless(engine.Value):
    """`=` in the place of `+=`."""

    __mul__, backward = engine.multiply, engine.straight


def test_what_an_engine_overwrites_is_said_and_shown(page: Page, tmp_path: Path) -> None:
    x = Careless(3.0)
    shown = opened(page, explore(x * x, step=3), tmp_path)
    expect(
        shown.root.get_by_text("these are the steps of Careless's own backward()")
    ).to_be_visible()
    expect(shown.node("x")).to_have_accessible_name(re.compile("^x, leaf, value 3, gradient .* 3$"))
    shown.node("x").click()
    expect(shown.details.locator("dl.al-facts dt").last).to_have_text("shape")


def test_the_page_scrolls_on_over_details(page: Page, tmp_path: Path) -> None:
    """The wheel scrolls Details once the pointer has moved in them."""
    x = torch.tensor(3.0, requires_grad=True)
    page.set_viewport_size({"width": 1000, "height": 620})
    shown = opened(page, explore(((x * x).exp() * x).sin() + x * 2), tmp_path)
    details = shown.details
    for where in ("afterbegin", "beforeend"):
        filler = '<div style="height:1500px"></div>'
        page.evaluate("([at, text]) => document.body.insertAdjacentHTML(at, text)", [where, filler])
    details.evaluate("d => { d.style.maxHeight = '120px'; }")
    details.evaluate("d => scrollTo(0, d.getBoundingClientRect().top + scrollY - 500)")
    box = details.bounding_box()
    assert box
    page.mouse.move(box["x"] + 40, box["y"] - 300)
    page.mouse.wheel(0, 330)  # Details are below the pointer now
    page.wait_for_timeout(300)
    at = "d => [Math.round(scrollY), d.scrollTop]"
    before = details.evaluate(at)
    page.mouse.wheel(0, 30)
    page.wait_for_timeout(300)
    assert details.evaluate(at) == [before[0] + 30, 0]
    box = details.bounding_box()
    assert box
    page.mouse.move(box["x"] + 50, box["y"] + 50)
    page.mouse.move(box["x"] + 60, box["y"] + 55)
    page.mouse.wheel(0, 20)
    page.wait_for_timeout(300)
    assert details.evaluate(at)[1] == 20


@pytest.mark.parametrize("colours", ["light", "dark", "forced", "print"])
def test_every_state_has_its_own_word_and_look_in_the_legend(
    page: Page, tmp_path: Path, colours: Any
) -> None:
    page.emulate_media(
        media="print" if colours == "print" else "screen",
        color_scheme="dark" if colours == "dark" else "light",
        forced_colors="active" if colours == "forced" else "none",
    )
    with torch.record() as recording:
        a = torch.tensor(1.0, requires_grad=True)
        torch.autograd.grad(a.cos(), a)
    shown = opened(page, recording_explorer(recording), tmp_path)
    if colours != "print":
        shown.choose("Legend")
    badges = shown.root.locator(".al-legend .al-state")
    words = ["not yet", "never", "zero", "incomplete", "accumulated", "returned", "freed"]
    assert badges.all_text_contents() == words
    look = "all => all.map((e) => { const s = getComputedStyle(e); return [s.backgroundColor, s.backgroundImage, s.borderTopStyle].join(); })"
    assert len(set(badges.evaluate_all(look))) == 7, "no two look alike"
    shown.is_fine("faint")


def recording_explorer(recording: Any) -> Widget:
    return explore(recording)


def test_a_page_drawn_before_it_is_seen_shows_its_step(page: Page, tmp_path: Path) -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = x
    for _ in range(30):
        y = y.sin()
    path = explore(y, step=20).to_html(tmp_path / "late.html")
    style = "<head><style id='late'>body { display: none }</style>"
    path.write_text(path.read_text(encoding="utf-8").replace("<head>", style, 1), encoding="utf-8")
    page.goto(path.as_uri())
    drawn = (
        "[...document.querySelectorAll('*')].some((e) => e.shadowRoot?.querySelector('.al-node'))"
    )
    page.wait_for_function(drawn)
    page.evaluate("document.getElementById('late').remove()")
    expect(Explorer(page).graph.locator(".al-now-forward")).to_be_in_viewport()
