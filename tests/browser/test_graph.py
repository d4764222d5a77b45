"""The graph on a page: parts that open and close, search, zoom, keys that follow its lines, and the menu's tools."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from lab import Explorer
from playwright.sync_api import Page, expect

import autolab as torch
from autolab import nn
from autolab.profiler import profile
from autolab.widgets import explore


def resnet() -> Any:
    torch.manual_seed(0)
    images, labels = torch.randn(2, 3, 32, 32), torch.tensor([1, 2])
    return nn.functional.cross_entropy(torch.vision.models.resnet18()(images), labels)


def network() -> Any:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    with torch.record() as recording:
        nn.functional.cross_entropy(model(torch.randn(3, 4)), torch.tensor([0, 1, 1])).backward()
    return recording


def fork() -> Any:
    x, y = torch.tensor(2.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
    with torch.record() as recording:
        b = x * x
        t = 3 * x * b
        c = b.exp()
        (t + c).backward()
        y * 2
    return recording


def mixed() -> Any:
    """Frozen, never, train and eval, NaN, profiled."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5), nn.Linear(3, 1))
    model[0].requires_grad_(False)
    model[1].eval()
    with profile(), torch.record() as recording:
        y = model(torch.tensor([[4.0, 1.0]])).sum()
        (y + (-y.detach().abs()).sqrt() * y).backward()
    return recording


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("graphs")
    made = {f.__name__: explore(f()).to_html(folder / f"{f.__name__}.html") for f in KINDS}
    return {name: path.as_uri() for name, path in made.items()}


KINDS = [resnet, network, fork, mixed]


@pytest.fixture
def shown(page: Page, pages: dict[str, str], request: pytest.FixtureRequest) -> Explorer:
    page.goto(pages[request.param])
    explorer = Explorer(page)
    expect(explorer.graph).to_be_visible()
    return explorer


def of(name: str) -> Any:
    return pytest.mark.parametrize("shown", [name], indirect=True)


def is_open(shown: Explorer, part: str, expanded: bool = True) -> None:
    expect(shown.node(part)).to_have_attribute("aria-expanded", str(expanded).lower())


@of("resnet")
def test_parts_open_and_close_in_place(shown: Explorer) -> None:
    expect(shown.graph.locator('[aria-expanded="false"]')).to_have_count(7)
    expect(shown.node("layer1")).to_have_accessible_name(
        "layer1, Sequential, 14 operations, 147,968 parameters, not computed yet, gradients not yet"
    )
    shown.is_fine()
    shown.node("layer2").click()
    is_open(shown, "layer2")
    assert shown.focused() == "layer2, Sequential"
    shown.node("layer2.0").focus()
    shown.page.keyboard.press("Enter")
    is_open(shown, "layer2.0")
    expect(shown.node("layer2.0.relu (call 2)")).to_be_attached()
    shown.is_fine()
    shown.node("layer2.0").focus()
    shown.page.keyboard.press("Space")
    is_open(shown, "layer2.0", False)
    expect(shown.button("Play")).to_be_visible()  # space closed a part and played nothing
    shown.go(6)
    expect(shown.said).to_contain_text("layer1")
    expect(shown.node("layer1")).to_have_accessible_name(re.compile("3 computed"))


@of("resnet")
def test_search_finds_opens_and_focuses(shown: Explorer) -> None:
    shown.choose("Search")
    search = shown.root.get_by_role("searchbox", name="Search", exact=True)
    found = lambda words: expect(shown.root.locator(".al-matches")).to_have_text(words)  # noqa: E731
    search.fill("nothing such")
    found("0 matches")
    for words, count in (
        ("ConvolutionBackward0", "20 matches"),
        ("64x3x7x7", "1 match"),
        ("[64, 3, 7, 7]", "1 match"),
        ("int64", re.compile(r"^\d+ match")),
        ("nativebatchnorm layer4.1", "2 matches"),
    ):
        search.fill(words)
        found(count)
    search.fill("layer3.0.conv1")
    found("3 matches")
    search.press("Enter")
    is_open(shown, "layer3.0")
    found("1 of 3 matches")
    assert shown.focused().startswith("layer3.0.conv1, Conv2d")
    shown.page.keyboard.press("n")
    found("2 of 3 matches")
    search.press("Escape")
    expect(search).to_have_value("")
    shown.at(0)  # typing stepped nowhere


@of("resnet")
def test_all_opens_and_closes_and_the_step_stays_in_sight(shown: Explorer) -> None:
    in_sight = """svg => { const pane = svg.parentElement.getBoundingClientRect();
      const box = svg.querySelector(".al-now-forward, .al-now-backward").getBoundingClientRect();
      return box.left >= pane.left - 1 && box.right <= pane.right + 1 && box.top >= pane.top - 1 && box.bottom <= pane.bottom + 1; }"""
    shown.go(40)
    shown.choose("Search")
    nodes = shown.graph.locator(".al-node")
    few = nodes.count()
    shown.button("Expand all").click()
    is_open(shown, "layer4")
    assert nodes.count() > 70
    assert shown.graph.evaluate(in_sight)
    shown.button("Collapse all").click()
    is_open(shown, "layer4", False)
    expect(nodes).to_have_count(few)
    assert shown.graph.evaluate(in_sight)


@of("network")
def test_keys_and_wheel_zoom_drag_pans_and_the_graph_turns(shown: Explorer) -> None:
    page = shown.page
    width = lambda: shown.graph.bounding_box()["width"]  # type: ignore[index]  # noqa: E731
    scrolled = lambda: shown.graph.evaluate("svg => svg.parentElement.scrollLeft")  # noqa: E731
    shown.root.focus()
    page.keyboard.press("0")
    before = width()
    page.keyboard.press("+")
    assert width() == pytest.approx(before * 1.2, rel=0.02)
    for _ in range(5):
        page.keyboard.press("+")
    box = shown.graph.locator("xpath=..").bounding_box()
    assert box
    x, y, here = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, scrolled()
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 100, y, steps=4)
    page.mouse.up()
    assert scrolled() == pytest.approx(here + 100, abs=2)
    place = "(svg, x) => { const b = svg.getBoundingClientRect(); return (x - b.left) / b.width; }"
    before, wide = shown.graph.evaluate(place, x), width()
    page.mouse.move(x, y)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -120)
    page.keyboard.up("Control")
    page.wait_for_timeout(200)
    assert width() > wide * 1.1
    assert shown.graph.evaluate(place, x) == pytest.approx(before, abs=0.003)
    shown.choose("Fit")
    shown.choose("Turn")
    across = shown.graph.evaluate("svg => svg.viewBox.baseVal.width > svg.viewBox.baseVal.height")
    shown.choose("Turn")
    turned = shown.graph.evaluate("svg => svg.viewBox.baseVal.width > svg.viewBox.baseVal.height")
    assert not across and turned


@of("resnet")
def test_a_map_shows_where_one_is(shown: Explorer) -> None:
    shown.page.set_viewport_size({"width": 900, "height": 560})
    shown.choose("Search")
    shown.button("Expand all").click()
    place = shown.root.get_by_role("slider", name="Map")
    expect(place).to_be_visible()
    at = lambda: shown.graph.evaluate(  # noqa: E731
        "svg => svg.parentElement.scrollTop + svg.parentElement.scrollLeft"
    )
    place.focus()
    shown.page.keyboard.press("Home")
    start = at()
    shown.page.keyboard.press("End")
    expect(place).to_have_attribute("aria-valuetext", re.compile("^100 %, from .* to "))
    assert at() > start + 100
    shown.at(0)  # its keys step nothing


def seen(shown: Explorer) -> list[str]:
    """The boxes that do not stand back, in forward order."""
    return shown.graph.locator(".al-node:not(.al-aside) .al-title").all_text_contents()


@of("fork")
def test_the_arrows_follow_the_lines_and_the_graph_is_one_stop(shown: Explorer) -> None:
    assert shown.graph.locator('[tabindex="0"]').count() == 1
    shown.node("x").focus()
    walked = []
    for key in ("ArrowDown", "ArrowDown", "o", "ArrowUp", "PageDown", "PageUp"):
        shown.page.keyboard.press(key)
        walked.append(shown.focused().split(",")[0])
    assert walked == ["b", "t", "c", "b", "3 · x", "b"]
    shown.page.keyboard.press("Tab")
    shown.page.keyboard.press("Shift+Tab")
    assert shown.focused().startswith("b,"), "back to where one was"
    assert shown.graph.locator('[tabindex="0"]').count() == 1


@of("fork")
def test_what_a_node_depends_on_and_what_depends_on_it(shown: Explorer) -> None:
    said, page = shown.root.locator(".al-focusbar > span"), shown.page
    everything = seen(shown)
    shown.node("t").focus()
    page.keyboard.press("b")
    expect(said).to_contain_text("t depends on")
    assert set(everything) - set(seen(shown)) >= {"c", "y"}
    page.keyboard.press("Escape")
    assert seen(shown) == everything


@of("network")
def test_the_menu_is_left_by_escape_by_tab_and_by_a_press_elsewhere(shown: Explorer) -> None:
    page = shown.page
    for leave in (
        lambda: page.keyboard.press("Escape"),
        lambda: shown.said.click(),
        lambda: page.keyboard.press("Shift+Tab"),
    ):
        shown.button("More").click()
        expect(shown.menu).to_be_visible()
        page.keyboard.press("ArrowRight")
        shown.at(0)
        leave()
        if shown.menu.is_visible():  # one step back is the button itself
            page.keyboard.press("Shift+Tab")
        expect(shown.menu).to_be_hidden()
    page.set_viewport_size({"width": 400, "height": 700})
    shown.button("More").click()
    box = shown.menu.bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= 400


def flags(shown: Explorer) -> dict[str, str]:
    """What stands on each box, by its title."""
    read = "all => all.map((g) => ['.al-title', '.al-flag text'].map((s) => g.querySelector(s).textContent))"
    return dict(shown.graph.locator(".al-node:has(.al-flag)").evaluate_all(read))


@of("mixed")
def test_boxes_are_coloured_and_say_by_what(shown: Explorer) -> None:
    shown.root.press("End")
    shown.button("More").click()
    by = shown.root.get_by_role("combobox", name="Colour by")
    legend = shown.root.get_by_role("list", name="Colours")
    for name, wanted, said in (
        ("Frozen and never", ["frozen", "gradient"], "frozen"),
        ("Train or eval", ["train"], "eval"),
        ("First NaN", ["first"], "first at"),
        ("Bytes", ["36 B", "16 B"], "below"),
        ("Gradient norm", [], ""),
    ):
        by.select_option(name)
        expect(legend).to_contain_text(said)
        assert set(wanted) <= set(flags(shown).values()), (name, flags(shown))
        shown.is_fine("faint", "unnamed")
    by.select_option("none")
    assert flags(shown) == {} and not legend.is_visible()


@of("fork")
def test_a_step_is_saved_as_a_picture_and_steps_as_a_film(shown: Explorer, tmp_path: Path) -> None:
    def saved(name: str) -> Path:
        with shown.page.expect_download() as waited:
            shown.menu.get_by_role("button", name=name, exact=True).click()
        path = tmp_path / waited.value.suggested_filename
        waited.value.save_as(path)
        return path

    shown.go(5)
    shown.button("More").click()
    still = saved("SVG")
    assert still.name == "step 6.svg"
    texts = ET.parse(still).getroot().iter("{http://www.w3.org/2000/svg}text")
    words = ["".join(text.itertext()) for text in texts]
    assert words[0].startswith("Step 6 of 20") and "x" in words
    alone = r"var\(|color-mix|color\(|class=|aria-|https?://(?!www.w3.org)"
    assert not re.search(alone, still.read_text())
    assert saved("PNG").read_bytes()[:4] == b"\x89PNG"
    for field, value in (("First step of the film", "2"), ("Last step of the film", "4")):
        shown.root.get_by_role("spinbutton", name=field).fill(value)
    film = saved("Film")
    assert film.name == "steps 2 to 4.svg"
    shown.page.goto(film.as_uri())
    shown.page.emulate_media(reduced_motion="no-preference")
    at = """time => { for (const a of document.getAnimations()) { a.pause(); a.currentTime = time; }
        const shown = (e) => !e || (getComputedStyle(e).opacity !== "0" && shown(e.parentElement));
        return [...document.querySelectorAll("text")].filter(shown).map((e) => e.textContent)[0].slice(0, 6); }"""
    steps = [shown.page.evaluate(at, time) for time in (100, 1300, 2500)]
    assert steps == ["Step 2", "Step 3", "Step 4"]


@of("network")
def test_the_address_holds_the_state_of_a_page(shown: Explorer) -> None:
    page = shown.page
    before = page.evaluate("history.length")
    shown.go(11)
    shown.node("2, ReLU").click()
    page.wait_for_url(re.compile("#step=12&node=ReLU"))
    address = page.url
    assert page.evaluate("history.length") == before, "stepping fills no history"
    page.goto("about:blank")
    page.goto(address)
    shown.at(11)
    expect(shown.node("2, ReLU")).to_have_attribute("aria-pressed", "true")
    page.evaluate("location.hash = 'step=999&node=nobody&open=nothing'")
    shown.at(int(shown.slider.get_attribute("max") or 0))


@of("network")
def test_memory_shows_what_is_kept_and_where_its_peak_is(shown: Explorer) -> None:
    shown.choose("Memory")
    shown.go(4)
    expect(shown.graph.locator(".al-pin").first).to_contain_text(re.compile("keeps c1 · 48 B"))
    shown.choose("Go to the peak")
    expect(shown.root.get_by_role("group", name="Kept for backward")).to_contain_text("at most")
    shown.root.press("End")
    expect(shown.graph.locator('.al-pin[data-state="freed"]').first).to_be_visible()


@pytest.mark.timed
def test_a_long_graph_is_in_runs_and_steps_quickly(page: Page, tmp_path: Path) -> None:
    y = torch.tensor(1.0, requires_grad=True)
    for i in range(10_000):
        y = y * 1.0001 if i % 2 else y + 0.001
    path = explore(y).to_html(tmp_path / "long.html")
    assert path.stat().st_size < 5_000_000
    page.goto(path.as_uri())
    shown = Explorer(page)
    expect(shown.graph.locator('[aria-expanded="false"]')).to_have_count(20)
    shown.node("ops 501–1,000").click()
    expect(shown.node("ops 501–550")).to_be_attached()
    milliseconds = shown.root.evaluate(
        """(root) => {
            const slider = root.querySelector(".al-slider"), start = performance.now();
            for (let i = 0; i < 40; i++) {
              slider.value = 9990 + i;
              slider.dispatchEvent(new Event("input"));
            }
            return (performance.now() - start) / 40;
        }"""
    )
    assert milliseconds < 60, "a step costs what is shown, not what is in the graph"
    shown.choose("Search")
    shown.root.get_by_role("searchbox").fill("v777")
    shown.root.get_by_role("searchbox").press("Enter")
    expect(shown.node("v777")).to_be_focused()
    words = shown.root.inner_text()
    assert not re.search(r"\bunknown\b|\bundefined\b", words)
