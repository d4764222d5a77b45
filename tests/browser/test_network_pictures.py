"""Networks and very long graphs in the explorer: parts that open and close, search, zoom, pan; exported and in
JupyterLab."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from lab import Explorer, Notebook, Server, script_says
from playwright.sync_api import Locator, Page, expect

import autolab as torch
from autolab import nn
from autolab.trace import trace
from autolab.trace.layers.folding import Folding
from autolab.trace.captions.text import shape_text
from autolab.widgets import explore

CELL = """
import autolab as torch
from autolab.vision import models

torch.manual_seed(0)
model = models.resnet18()
images, labels = torch.randn(2, 3, 32, 32), torch.tensor([1, 2])
loss = torch.nn.functional.cross_entropy(model(images), labels)
explorer = torch.explore(loss, rankdir="LR")
explorer
"""
LONG = """
x = torch.tensor(1.0, requires_grad=True)
y = x
for i in range(5000):
    y = y * 1.0001 if i % 2 else y + 0.001
chain = torch.explore(y)
chain
"""


def resnet() -> Any:
    variables: dict[str, Any] = {}
    exec(compile(CELL, "cell", "exec"), variables)
    return variables["explorer"]


class Network(Explorer):
    """An explorer of a graph with parts."""

    def part(self, name: str) -> Locator:
        """The closed or open part of that path."""
        return self.graph.get_by_role("button", name=re.compile(rf"^{re.escape(name)},"))

    def is_open(self, name: str) -> None:
        expect(self.part(name)).to_have_attribute("aria-expanded", "true", timeout=20_000)

    def is_closed(self, name: str) -> None:
        expect(self.part(name)).to_have_attribute("aria-expanded", "false", timeout=20_000)

    @property
    def search(self) -> Locator:
        return self.root.get_by_role("searchbox", name="Search", exact=True)

    def focused(self) -> str:
        """The name of what has the focus."""
        return self.root.evaluate(
            "root => root.getRootNode().activeElement?.getAttribute('aria-label') ?? ''"
        )

    def pane(self, what: str) -> Any:
        return self.graph.evaluate(f"svg => svg.parentElement.{what}")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return resnet().to_html(tmp_path_factory.mktemp("networks") / "resnet.html")


@pytest.fixture
def offline(page: Page, exported: Path) -> Network:
    """The exported page without network."""
    page.goto(exported.as_uri())
    shown = Network(page)
    expect(shown.graph).to_be_visible()
    return shown


def test_resnet_18_opens_with_its_layers_closed(offline: Network, exported: Path) -> None:
    assert exported.stat().st_size < 5_000_000
    closed = offline.graph.locator('[aria-expanded="false"]')
    expect(closed).to_have_count(10)
    expect(offline.part("layer1")).to_have_accessible_name(
        "layer1, Sequential, 14 operations, 147,968 parameters, not computed yet, gradients not yet"
    )
    for check in ("unnamed", "unreachable", "crowded", "small", "faint"):
        assert offline.check(check) == [], check


def test_the_last_of_two_quick_clicks_counts(offline: Network) -> None:
    both = """(first, [second]) => { first.click(); second.click(); }"""
    expand, collapse = offline.button("Expand all"), offline.button("Collapse all")
    expand.evaluate(both, [collapse.element_handle()])
    expect(offline.root.locator(".al-pane")).to_have_attribute("aria-busy", "false")
    offline.is_closed("layer2")
    collapse.evaluate(both, [expand.element_handle()])
    offline.is_open("layer2")
    expect(offline.root.locator(".al-pane")).to_have_attribute("aria-busy", "false")
    expand.evaluate(both, [collapse.element_handle()])
    offline.is_closed("layer2")


def test_a_part_opens_and_closes_in_place_without_a_kernel(offline: Network) -> None:
    offline.part("layer2").click()
    offline.is_open("layer2")
    assert offline.focused() == "layer2, Sequential"
    offline.part("layer2.0").focus()
    offline.page.keyboard.press("Enter")
    offline.is_open("layer2.0")
    expect(offline.part("layer2.0.relu (call 2)")).to_be_attached()
    expect(
        offline.graph.get_by_role("button", name=re.compile("result of add"))
    ).to_be_attached()  # the shortcut
    for check in ("unnamed", "unreachable", "crowded", "small", "faint"):
        assert offline.check(check) == [], check
    frame, box = (
        offline.graph.locator(s).bounding_box()
        for s in ('.al-frame[data-id="g20"]', '[data-id="g21"].al-header')
    )
    assert (
        frame
        and box
        and frame["x"] < box["x"]
        and box["x"] + box["width"] < frame["x"] + frame["width"]
    )
    offline.part("layer2.0").focus()
    offline.page.keyboard.press("Space")
    offline.is_closed("layer2.0")
    assert offline.focused().startswith("layer2.0, BasicBlock, 9 operations")
    offline.part("layer2").click()
    offline.is_closed("layer2")
    expect(offline.button("Play")).to_be_visible()  # space opened a part and played nothing


def test_everything_opens_and_closes_at_once(offline: Network) -> None:
    offline.button("Expand all").click()
    offline.is_open("layer4.1.bn2")
    expect(offline.graph.locator(".al-node")).to_have_count(176)
    offline.button("Collapse all").click()
    offline.is_closed("layer4")
    expect(offline.graph.locator(".al-node")).to_have_count(15)


IN_SIGHT = """svg => { const pane = svg.parentElement.getBoundingClientRect(), now = svg.querySelector(".al-now-forward, .al-now-backward");
  const box = now.getBoundingClientRect();
  return box.left >= pane.left && box.right <= pane.right && box.top >= pane.top && box.bottom <= pane.bottom; }"""


def test_the_step_stays_in_sight_when_all_is_opened_and_closed(page: Page, tmp_path: Path) -> None:
    """The picture of a network that is all open runs from the corner below to the one above: the corner shown first is
    empty."""
    torch.manual_seed(0)
    nn = torch.nn
    features = nn.Sequential(
        nn.Conv2d(1, 6, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.AvgPool2d(2),
    )
    head = nn.Sequential(
        nn.Flatten(),
        nn.Linear(256, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, 10),
    )
    loss = nn.functional.cross_entropy(
        head(features(torch.randn(4, 1, 28, 28))), torch.tensor([0, 1, 2, 3])
    )
    for step in (0, 40):
        page.goto(
            torch.explore(loss, step=step, rankdir="LR").to_html(tmp_path / "lenet.html").as_uri()
        )
        shown = Network(page)
        expect(shown.graph).to_be_visible()
        for button, count in (("Expand all", 20), ("Collapse all", 0)):
            before = shown.graph.locator(".al-node").count()
            shown.button(button).click()
            expect(shown.graph.locator(".al-node")).not_to_have_count(before, timeout=20_000)
            assert (shown.graph.locator(".al-node").count() > 20) == bool(count)
            assert shown.graph.evaluate(IN_SIGHT), f"{button}, step {step}"


def test_stepping_says_and_shows_which_part_the_operation_is_in(offline: Network) -> None:
    offline.slider.fill("1")
    expect(offline.said).to_contain_text("(in bn1)")
    ring = "g => getComputedStyle(g.querySelector('.al-ring')).stroke"
    assert offline.part("bn1").evaluate(ring) == "rgb(0, 114, 178)"
    assert offline.part("conv1").evaluate(ring) == "none"
    offline.slider.fill("6")
    expect(offline.said).to_contain_text("(in layer1)")
    expect(offline.part("layer1")).to_have_accessible_name(re.compile("3 computed"))
    offline.part("layer1").click()
    offline.is_open("layer1")
    expect(offline.said).to_contain_text("(in layer1.0)")
    offline.part("layer1.0").click()
    offline.is_open("layer1.0")
    expect(offline.said).to_contain_text("(in layer1.0.relu)")
    offline.slider.focus()
    offline.page.keyboard.press("End")
    expect(offline.part("layer4")).to_have_accessible_name(re.compile("gradients all would be in"))


def test_search_finds_opens_and_focuses(offline: Network) -> None:
    offline.search.fill("nothing such")
    expect(offline.root.get_by_text("0 matches", exact=True)).to_be_visible()
    expect(offline.button("Next match")).to_be_disabled()
    offline.search.fill("layer3.0.conv1")
    expect(offline.root.get_by_text("3 matches", exact=True)).to_be_visible()
    offline.search.press("Enter")
    offline.is_open("layer3.0")
    expect(offline.root.get_by_text("1 of 3 matches", exact=True)).to_be_visible()
    assert offline.focused().startswith("layer3.0.conv1, Conv2d")
    offline.page.keyboard.press("n")
    offline.is_open("layer3.0.conv1")
    expect(offline.root.get_by_text("2 of 3 matches", exact=True)).to_be_visible()
    assert re.match(r"(v\d+, result of convolution|layer3.0.conv1.weight, leaf)", offline.focused())
    offline.button("Previous match").click()
    assert offline.focused() == "layer3.0.conv1, Conv2d"
    for words, count in (
        ("ConvolutionBackward0", 20),
        ("64x3x7x7", 1),
        ("max_pool2d", 1),
        ("nativebatchnorm layer4.1", 2),
    ):
        offline.search.fill(words)
        expect(
            offline.root.get_by_text(f"{count} match{'' if count == 1 else 'es'}", exact=True)
        ).to_be_visible()
    offline.search.press("Escape")
    expect(offline.search).to_have_value("")
    expect(offline.slider).to_have_value("0")  # typing stepped nowhere


def test_keys_and_wheel_zoom_and_drag_pans(offline: Network) -> None:
    width = lambda: offline.graph.bounding_box()["width"]  # type: ignore[index]
    offline.root.focus()
    before = width()
    offline.page.keyboard.press("+")
    assert width() == pytest.approx(before * 1.2, rel=0.01)
    offline.page.keyboard.press("-")
    assert width() == pytest.approx(before, rel=0.01)
    offline.page.keyboard.press("0")
    assert width() <= offline.pane("clientWidth")
    offline.page.keyboard.press("+")
    assert width() == pytest.approx(min(offline.pane("clientWidth"), width() / 1.2) * 1.2, rel=0.02)
    for _ in range(5):
        offline.page.keyboard.press("+")
    here = offline.pane("scrollLeft")
    offline.page.keyboard.press("Shift+ArrowRight")
    assert offline.pane("scrollLeft") == here + 90
    expect(offline.slider).to_have_value("0")  # Shift and an arrow pan, an arrow alone steps
    offline.page.keyboard.press("ArrowRight")
    expect(offline.slider).to_have_value("1")

    box = offline.graph.locator("xpath=..").bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    here = offline.pane("scrollLeft")
    offline.page.mouse.move(x, y)
    offline.page.mouse.down()
    offline.page.mouse.move(x - 100, y, steps=4)
    offline.page.mouse.up()
    assert offline.pane("scrollLeft") == pytest.approx(here + 100, abs=2)
    expect(offline.graph.locator('[aria-expanded="true"]')).to_have_count(
        0
    )  # the drag's end is no click

    at = "(x => svg => { const b = svg.getBoundingClientRect(); return (x - b.left) / b.width; })"
    place = lambda: offline.graph.evaluate(f"{at}({x})")
    before, wide = place(), width()
    offline.page.keyboard.down("Control")
    offline.page.mouse.move(x, y)
    offline.page.mouse.wheel(0, -120)
    offline.page.keyboard.up("Control")
    offline.page.wait_for_timeout(200)
    assert width() > wide * 1.1
    assert place() == pytest.approx(before, abs=0.003), "what is under the pointer stays there"


@pytest.mark.parametrize(
    "page_options",
    [
        {"viewport": {"width": 480, "height": 900}},
        {"viewport": {"width": 480, "height": 900}, "color_scheme": "dark"},
        {"color_scheme": "dark"},
    ],
    indirect=True,
    ids=["narrow", "narrow-dark", "dark"],
)
def test_nothing_is_cut_off_or_hard_to_read(offline: Network) -> None:
    offline.part("layer1").click()
    offline.is_open("layer1")
    offline.slider.fill("250")
    offline.page.wait_for_timeout(100)
    for check in ("crowded", "small", "faint", "unnamed"):
        assert offline.check(check) == [], check
    assert offline.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert offline.root.evaluate("root => root.scrollWidth <= root.clientWidth")
    for button in ("Expand all", "Collapse all", "Next match", "Zoom in", "Fit"):
        box = offline.button(button).bounding_box()
        assert (
            box and box["x"] >= 0 and box["x"] + box["width"] <= offline.page.viewport_size["width"]
        )  # type: ignore[index]
    offline.button("Fit").click()
    assert offline.pane("scrollWidth") <= offline.pane("clientWidth") + 1


PLACES = """(m, state, expanded, rankdir, svg, way) => {
    const trace = m.unpack(state.data), folding = new m.Folding(trace, state.folding, rankdir);
    return new m.Drawing(folding, folding.fold(new Set(expanded)), new m.Cards(trace, folding)).places(svg, way);
}"""


def test_script_and_kernel_fold_alike(page: Page) -> None:
    """`folding.js`, `draw.js` and `states.js` against folding.py, picture.py and geometry.py."""
    torch.manual_seed(0)
    layer = nn.Linear(3, 3)
    shared = nn.Sequential(
        layer, nn.Tanh(), layer, nn.Sequential(nn.Linear(3, 3), nn.Tanh()), nn.Linear(3, 1)
    )
    w, h = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    for i in range(150):
        h = (h * w).tanh() if i % 3 else h + w
    optimizer = torch.optim.SGD(shared.parameters(), lr=0.1)
    with torch.record() as loop:
        for _ in range(2):
            shared(torch.ones(2, 3)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    cell, hidden = nn.LSTMCell(3, 3), None
    for _ in range(3):
        hidden = cell(torch.ones(2, 3), hidden)
    normed = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.ReLU())
    with torch.record() as training:
        normed(torch.ones(4, 3)).sum().backward()
    tall = nn.Sequential(
        *(nn.Sequential(nn.Linear(3, 3), nn.Tanh()) for _ in range(11))
    )  # in two columns
    x, changing = torch.ones(2, 3), torch.optim.SGD(tall.parameters(), lr=0.1)
    with torch.record() as stepped:
        tall(x).sum().backward()
        changing.step()
    traces = [
        trace(shared(x).sum()),
        trace(h),
        loop.trace(),
        trace(hidden[0].sum()),
        training.trace(),
        trace(tall(x).sum()),
        stepped.trace(),
    ]
    for seen, rankdir in product(traces, ("LR", "TB")):
        widget = explore(seen, rankdir=rankdir)
        folding = Folding(widget.trace)
        states = [[], list(folding.parts), list(folding.parts)[::2], widget.expanded]
        state = json.loads(json.dumps(widget.get_state(["data", "folding"])))
        read = script_says(
            page,
            """(m, state, expanded, rankdir) => {
                const trace = m.unpack(state.data), folding = new m.Folding(trace, state.folding, rankdir), cards = new m.Cards(trace, folding);
                return expanded.map((open) => {
                    const folded = folding.fold(new Set(open));
                    const drawing = new m.Drawing(folding, folded, cards);
                    return { boxes: [...folded.boxes].map(([key, { of, frame }]) => [key, of, frame]),
                             links: folded.links, frames: folded.frames,
                             dots: drawing.ways(rankdir).map((way) => [way, drawing.dot(way)]) };
                });
            }""",
            state,
            states,
            rankdir,
        )
        for expanded, found in zip(states, read, strict=True):
            folded = folding.fold(expanded, widget._cards.rows)
            assert found["frames"] == folded.frames
            assert sorted(map(tuple, found["boxes"])) == sorted(
                ((b.key, b.of, b.frame) for b in folded.boxes.values()), key=lambda b: b[0]
            )
            links = [{k: getattr(link, k) for k in link.__slots__} for link in folded.links]
            assert found["links"] == links
            widget.expanded = expanded
            assert [way for way, _ in found["dots"]] == list(widget.layouts)
            for way, dot in found["dots"]:
                assert sorted(dot.splitlines()) == sorted(widget._picture.dot(way).splitlines())
            for way, ours in (
                widget.layouts.items() if rankdir == "TB" else [(rankdir, widget.layouts[rankdir])]
            ):
                given = state, expanded, rankdir, _graphviz(widget, way), way
                places = script_says(page, PLACES, *given)
                assert {k: places[k] for k in ("width", "height")} == {
                    k: ours[k] for k in ("width", "height")
                }
                for kind in ("nodes", "pills", "heads", "frames", "edges", "labels"):
                    assert set(places[kind]) == set(ours[kind])
                    for name in ours[kind]:
                        numbers = [
                            _numbers(found[kind][name])[: 2 if kind == "heads" else None]
                            for found in (places, ours)
                        ]
                        assert numbers[0] == pytest.approx(numbers[1], abs=0.11), (
                            "directions may differ: points are rounded"
                        )


def _numbers(place: Any) -> list[float]:
    return [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", json.dumps(place))]


def _graphviz(widget: Any, way: str) -> str:
    from autolab.viz import layout

    return layout.render(widget._picture.dot(way)).decode()


@pytest.mark.timed
def test_a_long_graph_is_in_runs_and_steps_quickly(page: Page, tmp_path: Path) -> None:
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for i in range(10_000):
        y = y * 1.0001 if i % 2 else y + 0.001
    widget = explore(y)
    path = widget.to_html(tmp_path / "long.html")
    assert path.stat().st_size < 5_000_000
    page.goto(path.as_uri())
    shown = Network(page)
    expect(shown.graph.locator('[aria-expanded="false"]')).to_have_count(20)
    shown.part("ops 501–1,000").click()
    shown.is_open("ops 501–1,000")
    expect(shown.part("ops 501–550")).to_be_attached()
    shown.slider.fill("700")
    expect(shown.said).to_contain_text("v701 = add (in ops 701–750)")
    assert len(widget.trace.frames) > 20_000
    milliseconds = shown.root.evaluate(
        """async (root) => {
            const slider = root.querySelector("input[type=range]"), steps = 40;
            const start = performance.now();
            for (let i = 0; i < steps; i++) {
              slider.value = 9990 + i;
              slider.dispatchEvent(new Event("input"));
            }
            return (performance.now() - start) / steps;
        }"""
    )
    assert milliseconds < 60, "a step costs what is shown, not what is in the graph"
    expect(shown.said).to_contain_text("(in ops 9,501–10,000)")
    shown.part("ops 501–550").click()
    shown.is_open("ops 501–550")
    expect(shown.graph.get_by_role("button", name=re.compile("^v501, result of"))).to_be_attached()
    shown.search.fill("v777")
    shown.search.press("Enter")
    expect(shown.graph.get_by_role("button", name=re.compile("^v777, result of"))).to_be_focused(
        timeout=20_000
    )
    for check in ("unnamed", "unreachable", "crowded", "small", "faint"):
        assert shown.check(check) == [], check


# -- in JupyterLab -----------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def lab(server: Server, open_notebook: Callable[..., Notebook]) -> Notebook:
    server.write("network.ipynb", CELL, LONG)
    return open_notebook("network.ipynb", reduced_motion="reduce").run()


def test_the_kernel_draws_what_is_opened(lab: Notebook) -> None:
    shown = Network(lab.page)
    width = shown.root.bounding_box()["width"]  # type: ignore[index]
    assert shown.root.evaluate("root => root.scrollWidth <= root.clientWidth") and width > 500
    shown.part("layer1").click()
    shown.is_open("layer1")
    lab.in_kernel("[explorer._cards.folding.parts[p].label for p in explorer.expanded]", ["layer1"])
    lab.execute("explorer.expanded = ['layer1', 'layer1.1']")
    shown.is_open("layer1.1")
    for check in ("crowded", "unnamed", "faint"):
        assert shown.check(check) == [], check
    shown.search.fill("layer4.1.bn2 weight")
    shown.search.press("Enter")
    shown.is_open("layer4.1.bn2")
    expect(
        shown.graph.get_by_role("button", name=re.compile("^layer4.1.bn2.weight, leaf"))
    ).to_be_focused(timeout=20_000)
    assert lab.page.locator(".jp-Notebook .jp-CodeCell").count() == 2, (
        "no key was a shortcut of JupyterLab"
    )
    shown.button("Collapse all").click()
    shown.is_closed("layer4")
    lab.in_kernel("explorer.expanded", [])
    shown.part("conv1").click()
    shown.is_open("conv1")
    value = lab.kernel("explorer.trace.node('n0').shape")
    shown.node("images").click()
    expect(shown.details).to_contain_text(shape_text(eval(value)))


def test_a_picture_asked_for_earlier_does_not_take_the_focus_of_the_next(lab: Notebook) -> None:
    shown = Network(lab.page)
    shown.button("Collapse all").click()
    shown.is_closed("layer4")
    shown.search.fill("layer4.1.bn2 weight")
    shown.part("layer2").evaluate(  # both before either is drawn
        """part => {
            part.dispatchEvent(new MouseEvent("click", { bubbles: true }));
            const search = part.getRootNode().querySelector("[type=search]");
            search.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
        }"""
    )
    expect(
        shown.graph.get_by_role("button", name=re.compile("^layer4.1.bn2.weight, leaf"))
    ).to_be_focused(timeout=20_000)
    shown.is_open("layer2")
    shown.button("Collapse all").click()
    shown.is_closed("layer4")


def test_the_kernel_sends_the_numbers_of_the_step_shown(lab: Notebook) -> None:
    shown = Network(lab.page, 1)
    expect(shown.graph).to_be_visible(timeout=60_000)
    shown.slider.fill("7000")
    expected = lab.kernel("chain.trace.frames[7000].text")[1:-1]
    expect(shown.said).to_contain_text(expected)
    shown.slider.fill("1")
    expect(shown.said).to_contain_text(lab.kernel("chain.trace.frames[1].text")[1:-1])
    expect(shown.details.locator(".al-scalar").first).to_have_text(
        lab.kernel("chain.trace.frames[1].value.text")[1:-1]
    )
