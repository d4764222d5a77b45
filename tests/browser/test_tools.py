"""What stands behind the explorer's button Tools, the map, and the keys that follow the lines of a graph."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
import zlib
from pathlib import Path
from typing import Any

import pytest
from lab import Explorer
from playwright.sync_api import Locator, Page, expect

import autolab as torch
from autolab import nn
from autolab.profiler import profile
from autolab.widgets import explore


def network() -> Any:
    torch.manual_seed(0)
    model, x = (
        nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2)),
        torch.randn(3, 4),
    )
    with torch.record() as recording:
        nn.functional.cross_entropy(model(x), torch.tensor([0, 1, 1])).backward()
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
    model, x = (
        nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5), nn.Linear(3, 1)),
        torch.tensor([[4.0, 1.0]]),
    )
    model[0].requires_grad_(False)
    model[1].eval()
    with profile(), torch.record() as recording:
        y = model(x).sum()
        (y + (-y.detach().abs()).sqrt() * y).backward()
    return recording


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("tools")
    made: dict[str, Path] = {
        kind.__name__: explore(kind()).to_html(folder / f"{kind.__name__}.html")
        for kind in (network, fork, mixed)
    }
    return {name: path.as_uri() for name, path in made.items()}


def opened(page: Page, address: str) -> Explorer:
    page.goto(address)
    shown = Explorer(page)
    expect(shown.graph).to_be_visible()
    return shown


def active(shown: Explorer) -> str:
    """The name of the box that has the focus."""
    return shown.root.evaluate(
        "root => root.getRootNode().activeElement?.querySelector('.al-title')?.textContent ?? ''"
    )


def seen(shown: Explorer) -> list[str]:
    """The boxes that do not stand back, in forward order."""
    return shown.graph.locator(".al-node:not(.al-aside) .al-title").all_text_contents()


def bar(shown: Explorer) -> Locator:
    return shown.root.locator(".al-focusbar > span")


def test_the_arrows_follow_the_lines_and_the_graph_is_one_stop(
    page: Page, pages: dict[str, str]
) -> None:
    shown = opened(page, pages["fork"])
    assert shown.graph.locator('[tabindex="0"]').count() == 1
    shown.node("x").focus()
    expect(shown.node("x")).to_have_attribute("aria-description", re.compile(r"^to b, v1$"))
    press = page.keyboard.press
    walked = []
    for key in ("ArrowDown", "ArrowDown", "o", "o", "ArrowDown", "ArrowUp", "ArrowUp"):
        press(key)
        walked.append(active(shown))
    assert walked == ["b", "t", "c", "t", "v2", "t", "v1"], (
        "a fork goes to the first; o to the next; up goes on where one came from"
    )
    for key, name in (("PageDown", "t"), ("PageUp", "v1")):
        press(key)
        assert active(shown) == name, "in forward order"
    press("Tab")
    assert active(shown) == ""
    press("Shift+Tab")
    assert active(shown) == "v1", "back to where one was"
    assert shown.graph.locator('[tabindex="0"]').count() == 1


def test_what_a_node_depends_on_what_depends_on_it_and_paths(
    page: Page, pages: dict[str, str]
) -> None:
    shown = opened(page, pages["fork"])
    everything = seen(shown)
    shown.node("b").click()
    shown.button("Tools").press("Enter")
    dialog = shown.root.get_by_role("dialog", name="Tools")
    expect(dialog.get_by_role("button", name="What it depends on")).to_be_focused()
    dialog.get_by_role("button", name="What depends on it").click()
    expect(dialog).to_be_hidden()
    expect(bar(shown)).to_have_text("On b depend 3 of the 9 other nodes: t, c, v2")
    assert seen(shown) == ["b", "t", "c", "v2"]
    shown.button("Show all").click()
    assert seen(shown) == everything
    shown.node("t").focus()
    page.keyboard.press("b")
    expect(bar(shown)).to_have_text("t depends on 4 of the 9 other nodes: v1, b, x, 3")
    page.keyboard.press("Escape")
    assert seen(shown) == everything
    expect(bar(shown)).to_have_text("")
    shown.node("x").focus()
    page.keyboard.press("p")
    expect(bar(shown)).to_contain_text("Paths from x to… which node?")
    shown.node("c").click()
    expect(bar(shown)).to_have_text("Paths from x to c: through b")
    assert seen(shown) == ["x", "b", "c"]
    shown.node("c").focus()
    page.keyboard.press("p")
    shown.node("y").focus()
    page.keyboard.press("Enter")
    expect(bar(shown)).to_have_text("No path leads from c to y, nor back.")
    assert seen(shown) == everything
    page.keyboard.press("End")
    shown.node("c").focus()
    page.keyboard.press("s")
    shown.at(3)


def test_the_dialog_is_left_by_escape_by_tab_and_by_a_press_elsewhere(
    page: Page, pages: dict[str, str]
) -> None:
    shown = opened(page, pages["network"])
    dialog, button = shown.root.get_by_role("dialog", name="Tools"), shown.button("Tools")
    for leave in (
        lambda: page.keyboard.press("Escape"),
        lambda: shown.said.click(),
        lambda: page.keyboard.press("Shift+Tab"),
    ):
        button.click()
        expect(dialog).to_be_visible()
        expect(button).to_have_attribute("aria-expanded", "true")
        page.keyboard.press("ArrowRight")
        shown.at(0)
        leave()
        if dialog.is_visible():  # one step back is the button itself
            page.keyboard.press("Shift+Tab")
        expect(dialog).to_be_hidden()
    page.set_viewport_size({"width": 400, "height": 700})
    button.click()
    box = dialog.bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= 400


def test_the_map_is_there_where_the_graph_is_larger_than_its_place(
    page: Page, pages: dict[str, str]
) -> None:
    page.set_viewport_size({"width": 1366, "height": 640})
    shown = opened(page, pages["network"])
    place, pane = shown.root.get_by_role("slider", name="Map"), shown.root.locator(".al-pane")
    top = lambda: pane.evaluate("e => e.scrollTop")  # noqa: E731
    expect(place).to_have_attribute("aria-valuetext", re.compile("^0 %, from x to"))
    place.focus()
    page.keyboard.press("End")
    expect(place).to_have_attribute("aria-valuetext", re.compile("^100 %, from .* to v8$"))
    low = top()
    assert low > 20
    page.keyboard.press("ArrowUp")
    shown.at(0)
    page.wait_for_function(
        "([pane, low]) => pane.scrollTop < low", arg=[pane.element_handle(), low]
    )
    box = place.bounding_box()
    assert box
    page.mouse.move(box["x"] + 9, box["y"] + 3)
    page.mouse.down()
    assert top() == 0
    page.mouse.move(box["x"] + 9, box["y"] + box["height"] - 3)
    page.mouse.up()
    assert top() == low
    shown.button("Fit").click()
    expect(place).to_be_hidden()


def test_the_rest_of_the_graph_steps_back_inside_closed_parts_too(
    page: Page, pages: dict[str, str]
) -> None:
    shown = opened(page, pages["network"])
    shown.node("v8").focus()
    page.keyboard.press("b")
    shown.button("Collapse all").click()
    layer = shown.graph.get_by_role("button", name=re.compile("^0, Linear"))
    expect(layer).to_have_attribute("aria-expanded", "false", timeout=20_000)
    layer.focus()
    page.keyboard.press("a")
    expect(bar(shown)).to_contain_text("On 0 depend")
    assert seen(shown)[0] == "0" and "x" not in seen(shown)


def flags(shown: Explorer) -> dict[str, str]:
    """What stands on each box, by its title."""
    marked = shown.graph.locator(".al-node:has(.al-flag)")
    return dict(
        marked.evaluate_all(
            "all => all.map((g) => ['.al-title', '.al-flag text'].map((s) => g.querySelector(s).textContent))"
        )
    )


def test_boxes_are_coloured_and_say_by_what(page: Page, pages: dict[str, str]) -> None:
    shown = opened(page, pages["mixed"])
    shown.root.focus()
    page.keyboard.press("End")
    shown.button("Tools").click()
    by, legend = (
        shown.root.get_by_role("combobox", name="Colour by"),
        shown.root.get_by_role("list", name="Colours"),
    )
    offered = by.get_by_role("option").all_text_contents()
    assert offered == [
        "none",
        "Gradient norm",
        "Frozen and never",
        "Train or eval",
        "First NaN",
        "Bytes",
        "Time",
    ]
    shown.root.get_by_text("1 without data").click()
    expect(shown.root.get_by_text("Device: everything is on cpu")).to_be_visible()
    for name, wanted, said in (
        ("Frozen and never", {"0": "frozen", "2": "gradient", "x": "wants none"}, "frozen"),
        ("Train or eval", {"0": "train", "2": "train"}, "eval"),
        ("First NaN", {"v8": "first"}, "first at v8, step"),
        ("Bytes", {"0": "36 B", "2": "16 B", "x": "8 B"}, "below"),
    ):
        by.select_option(name)
        expect(legend).to_contain_text(said)
        found = flags(shown)
        assert wanted.items() <= found.items(), (name, found)
        for check in ("crowded", "faint", "unnamed"):
            assert shown.check(check) == [], (name, check)
    by.select_option("Time")
    assert re.fullmatch(r"[\d.]+ (µs|ms)", flags(shown)["2"])
    expect(legend).to_contain_text("as the profiler timed them")
    first = shown.graph.get_by_role("button", name=re.compile("^2, Linear"))
    expect(first).to_have_attribute("aria-description", re.compile("^time: "))
    by.select_option("none")
    assert flags(shown) == {} and not legend.is_visible()
    assert first.get_attribute("aria-description") is None


def test_a_gradients_norm_is_that_of_parameters_together(page: Page, pages: dict[str, str]) -> None:
    torch.manual_seed(0)
    model, x = (
        nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2)),
        torch.randn(3, 4),
    )
    nn.functional.cross_entropy(model(x), torch.tensor([0, 1, 1])).backward()
    norms = {
        str(i): float(sum((p.grad**2).sum() for p in model[i].parameters()) ** 0.5)
        for i in (0, 1, 3)
    }
    shown = opened(page, pages["network"])
    shown.button("Tools").click()
    shown.root.get_by_role("combobox", name="Colour by").select_option("Gradient norm")
    assert flags(shown) == {}
    page.keyboard.press("Escape")
    page.keyboard.press("End")
    expect(shown.graph.locator(".al-flag").first).to_be_visible()
    found = flags(shown)
    assert {name: float(found[name]) for name in norms} == pytest.approx(norms, rel=5e-3)
    assert found["v8"] == "1"
    shown.button("Left to right").click()  # the weights have boxes of their own
    expect(shown.graph.get_by_text("0.weight")).to_be_visible(timeout=20_000)
    assert float(flags(shown)["0.weight"]) == pytest.approx(
        float((model[0].weight.grad ** 2).sum() ** 0.5), rel=5e-3
    )


def saved(shown: Explorer, name: str, folder: Path) -> Path:
    """The file that a button of the dialog saves."""
    with shown.page.expect_download() as waited:
        shown.button(name).click()
    path = folder / waited.value.suggested_filename
    waited.value.save_as(path)
    return path


def test_a_step_is_saved_as_a_picture_and_steps_as_a_film(
    page: Page, pages: dict[str, str], tmp_path: Path
) -> None:
    shown = opened(page, pages["fork"])
    shown.slider.fill("5")
    shown.button("Tools").click()
    still = saved(shown, "SVG", tmp_path)
    assert still.name == "step 6.svg"
    root = ET.parse(still).getroot()
    words = ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
    sentence = shown.said.locator(".al-phase").text_content()
    assert words[0].startswith(f"Step 6 of 20, {sentence}: ") and "x" in words
    plain = still.read_text()
    assert not re.search(r"var\(|color-mix|color\(|class=|aria-|https?://(?!www.w3.org)", plain), (
        "it stands alone"
    )
    assert saved(shown, "PNG", tmp_path).read_bytes()[:4] == b"\x89PNG"
    paper = saved(shown, "PDF", tmp_path).read_bytes()
    assert paper.count(b"/Type /Page ") == 1 and paper.startswith(b"%PDF-1.4")
    width, height = (
        int(re.search(rb"/%s (\d+)" % side, paper)[1]) for side in (b"Width", b"Height")
    )
    start = paper.index(b"stream\n", paper.index(b"/FlateDecode")) + 7
    pixels = zlib.decompress(paper[start:])
    assert len(pixels) == width * height * 3 and len(set(pixels[::997])) > 20, "in colour"
    table = int(re.search(rb"startxref\n(\d+)", paper)[1])
    offsets = [int(at) for at in re.findall(rb"(\d{10}) 00000 n", paper[table:])]
    assert [paper[at : at + 7] for at in offsets] == [
        b"%d 0 obj" % number for number in range(1, 6)
    ]
    for field, value in (("First step of the film", "2"), ("Last step of the film", "4")):
        shown.root.get_by_role("spinbutton", name=field).fill(value)
    film = saved(shown, "Film", tmp_path)
    assert film.name == "steps 2 to 4.svg"
    shown.at(5)
    page.goto(film.as_uri())
    page.emulate_media(reduced_motion="no-preference")
    seen = """time => { for (const a of document.getAnimations()) { a.pause(); a.currentTime = time; }
        const shown = (e) => !e || (getComputedStyle(e).opacity !== "0" && shown(e.parentElement));
        return [...document.querySelectorAll("text")].filter(shown).map((e) => e.textContent)[0].slice(0, 12); }"""
    assert [page.evaluate(seen, time) for time in (100, 1300, 2500)] == [
        "Step 2 of 20",
        "Step 3 of 20",
        "Step 4 of 20",
    ]
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate("document.getAnimations().length") == 0


def test_the_address_holds_the_state_of_a_page(page: Page, pages: dict[str, str]) -> None:
    shown = opened(page, pages["network"])
    before = page.evaluate("history.length")
    shown.slider.fill("11")
    shown.graph.get_by_role("button", name=re.compile("^2, ReLU")).click()
    page.wait_for_url(re.compile("#step=12&node=v4$"))
    shown.button("Collapse all").click()
    layer = shown.graph.get_by_role("button", name=re.compile("^0, Linear"))
    expect(layer).to_have_attribute("aria-expanded", "false", timeout=20_000)
    page.wait_for_url(re.compile("#step=12&node=v4&open=$"))
    address = page.url
    assert page.evaluate("history.length") == before, "stepping fills no history"
    page.goto("about:blank")
    page.goto(address)
    shown.at(11)
    expect(shown.details.get_by_role("heading", name="v4 = relu")).to_be_visible()
    expect(layer).to_have_attribute("aria-expanded", "false", timeout=20_000)
    page.evaluate("location.hash = 'step=3&open=3&rankdir=LR'")
    shown.at(2)
    expect(shown.button("Top to bottom")).to_be_visible()
    expect(shown.graph.get_by_text("3.weight")).to_be_visible(timeout=20_000)
    expect(shown.graph.get_by_text("0.weight")).to_have_count(0)
    page.evaluate("location.hash = 'step=999&node=nobody&open=nothing'")
    expect(shown.slider).to_have_value(str(int(shown.slider.get_attribute("max") or 0)))


def stepped() -> Any:
    torch.manual_seed(0)
    w, x = torch.randn(3, 4, requires_grad=True), torch.randn(30, 3)
    with torch.record() as recording:
        h = (x @ w).relu()
        ((h * h).sum(dim=1) * 1.0).exp().mean().backward()
        torch.optim.SGD([w], lr=0.1).step()
    return recording


def test_histograms_and_the_strip_of_what_is_kept(page: Page, tmp_path: Path) -> None:
    trace = stepped().trace()
    shown = opened(page, explore(trace).to_html(tmp_path / "stepped.html").as_uri())
    shown.root.focus()
    page.keyboard.press("End")
    shown.node("h").click()
    shown.details.get_by_text("Histograms").click()
    h = next(node for node in trace.nodes if node.label == "h")
    assert h.value and h.value.counts and sum(h.value.counts) == 120
    most = max(h.value.counts)
    expect(shown.details.locator(".al-histogram").first).to_contain_text(
        re.compile(f"^value the fullest of 16 bins has {most} of 120, from 0 to ")
    )
    bars = shown.details.locator(".al-histogram").first.locator("rect")
    heights = bars.evaluate_all("all => all.map((e) => Number(e.getAttribute('height')))")
    assert heights == pytest.approx([44 * count / most for count in h.value.counts])
    shown.node("w").click()
    captions = shown.details.locator(".al-histogram figcaption b")
    expect(captions).to_have_text(["before the step", "after the step", "gradient"])
    ends = shown.details.locator(".al-histogram .al-ends")
    assert ends.nth(0).inner_text() == ends.nth(1).inner_text(), "one axis"
    since = shown.details.get_by_text(
        "This was before it was changed in place: w(2) is the same tensor."
    )
    expect(since).to_be_visible()
    page.keyboard.press("Home")
    expect(captions).to_have_text(["value"])
    expect(since).to_have_count(0)
    shown.node("w(2)").click()
    shown.details.get_by_role("button", name=f"Changed in step {len(trace.frames)}").click()
    shown.at(len(trace.frames) - 1)

    alive, peak, at = {}, 0, 0  # what the strip says, counted anew
    for frame in trace.frames:
        for saved in trace.saved:
            source = trace.node(saved.source_node) if saved.source_node else None
            if saved.node == frame.node and source is not None and source.kind == "op":
                if frame.event == "compute":
                    alive[saved.source_node, saved.source_nr] = alive.get(
                        (saved.source_node, saved.source_nr), []
                    ) + [saved]
                elif frame.event == "free":
                    alive[saved.source_node, saved.source_nr].remove(saved)
        now = sum(max(s.bytes for s in holders) for holders in alive.values() if holders)
        if now > peak:
            peak, at = now, frame.index
    strip = shown.root.get_by_role("img", name=re.compile("^Kept for backward: 0 B now; at most"))
    expect(strip).to_have_attribute(
        "aria-label",
        re.compile(rf"at most {peak} B, at step {at + 1}, when \S+ = \w+ was computed"),
    )
    shown.button("Tools").click()
    shown.button("Go to the peak").click()
    shown.at(at)
    expect(shown.root.get_by_role("group", name="Kept for backward")).to_contain_text(
        f"{peak} B now; at most {peak} B"
    )


@pytest.mark.parametrize("page_options", [{"color_scheme": "dark"}], indirect=True, ids=["dark"])
def test_closed_modules_can_be_read_in_the_dark_with_and_without_colours(
    page: Page, pages: dict[str, str]
) -> None:
    shown = opened(page, pages["network"])
    shown.button("Collapse all").click()
    layer = shown.graph.get_by_role("button", name=re.compile("^0, Linear"))
    expect(layer).to_have_attribute("aria-expanded", "false", timeout=20_000)
    for step in ("15", "34"):
        shown.slider.fill(step)
        for name in ("none", "Gradient norm", "Train or eval"):
            shown.button("Tools").click()
            shown.root.get_by_role("combobox", name="Colour by").select_option(name)
            page.keyboard.press("Escape")
            assert shown.check("faint") == [], (step, name)
