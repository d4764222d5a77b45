"""A training loop in the explorer: iterations open and close, steps change leaves, and no gradient goes along a
change."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from lab import Explorer
from playwright.sync_api import Locator, Page, expect

import autolab as torch
from autolab.trace import Trace
from autolab.widgets import explore

nn = torch.nn


class LeNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x: Any) -> Any:
        for conv in (self.conv1, self.conv2):
            x = nn.functional.max_pool2d(nn.functional.relu(conv(x)), 2)
        x = nn.functional.relu(self.fc1(x.flatten(1)))
        return self.fc3(nn.functional.relu(self.fc2(x)))


def lenet() -> Trace:
    torch.manual_seed(0)
    model = LeNet()
    images, labels = torch.randn(4, 1, 28, 28), torch.tensor([3, 1, 4, 1])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    with torch.record() as recording:
        for _ in range(3):
            loss = nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    return recording.trace()


def slope() -> Trace:
    a = torch.tensor(4.0, requires_grad=True)
    descent = torch.optim.SGD([a], lr=0.25)
    with torch.record() as recording:
        for _ in range(2):
            loss = a**2
            loss.backward()
            descent.step()
            descent.zero_grad()
    return recording.trace()


class Loop(Explorer):
    def part(self, name: str) -> Locator:
        return self.graph.get_by_role("button", name=re.compile(rf"^{re.escape(name)},"))

    def line(self, trace: Trace, parent: str, child: str) -> Locator:
        nodes = {n.label: n.id for n in trace.nodes}
        edge = next(
            e.id for e in trace.edges if (e.parent, e.child) == (nodes[parent], nodes[child])
        )
        return self.graph.locator(f'.al-edge[data-id="{edge}"]')


@pytest.fixture
def page_options() -> dict[str, Any]:
    return {"viewport": {"width": 1366, "height": 768}, "reduced_motion": "reduce"}


def opened(page: Page, path: Path) -> Loop:
    page.goto(path.as_uri())
    shown = Loop(page)
    expect(shown.graph).to_be_visible()
    return shown


def test_a_small_loop_is_stepped_through(page: Page, tmp_path: Path) -> None:
    trace = slope()
    shown = opened(page, explore(trace).to_html(tmp_path / "slope.html"))
    expect(
        shown.root.get_by_role("group", name="What if", exact=True)
    ).to_be_hidden()  # nobody has asked
    step = next(f.index for f in trace.frames if f.event == "update")
    shown.go(step - 1)
    expect(shown.node("a(2)")).to_have_attribute(
        "aria-label", re.compile("not computed yet, gradient not yet")
    )
    shown.go(step)
    expect(shown.said).to_contain_text("descent.step(): a = a - lr * a.grad = 4 - 0.25 * 8 = 2")
    expect(shown.node("a(2)")).to_have_attribute(
        "aria-label", re.compile("value 2.*gradient accumulated 8")
    )
    expect(shown.details.get_by_role("heading", name="A leaf is changed")).to_be_visible()
    expect(shown.details).to_contain_text("descent.step(): SGD, lr = 0.25")
    expect(shown.details).to_contain_text(
        "the same tensor, changed in place: no gradient flows through an update"
    )
    line = shown.line(trace, "a", "step of a")
    expect(line).to_have_class(re.compile(r"\bal-update\b"))
    shown.root.focus()
    page.keyboard.press("ArrowRight")
    expect(shown.said).to_contain_text("descent.zero_grad(): a(2).grad was set to None")
    expect(shown.node("a(2)")).to_have_attribute("aria-label", re.compile("gradient not yet"))
    # To the end: what is joined by an update never carries a gradient.
    for frame in trace.frames[step:]:
        shown.go(frame.index)
        assert shown.graph.locator('.al-edge.al-update[data-state="backward"]').count() == 0
    shown.choose("Legend")
    expect(shown.root.get_by_role("list", name="Legend")).to_contain_text(
        "update: the same tensor, changed"
    )


@pytest.fixture(scope="module")
def trained() -> Trace:
    return lenet()


@pytest.fixture(scope="module")
def exported(trained: Trace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return explore(trained).to_html(tmp_path_factory.mktemp("loop") / "lenet.html")


def test_a_loop_of_lenet_opens_folded_and_each_iteration_opens(
    page: Page, trained: Trace, exported: Path
) -> None:
    shown = opened(page, exported)
    expect(shown.part("iteration 1")).to_have_attribute("aria-expanded", "true")
    for number in (2, 3):
        expect(shown.part(f"iteration {number}")).to_have_attribute("aria-expanded", "false")
    expect(shown.part("iteration 2")).to_have_attribute(
        "aria-label", re.compile(r"loss [=≈] [\d.]+, \d+ operations, 10 updates, 61,706 parameters")
    )
    shown.go(next(f.index for f in trained.frames if f.event == "update"))
    expect(shown.said).to_contain_text("(in iteration 1: optimizer.step())")
    expect(shown.part("iteration 1: optimizer.step()")).to_have_attribute(
        "aria-label", re.compile("10 updates, 1 computed")
    )
    shown.part("iteration 1: optimizer.step()").press("Enter")
    expect(shown.node("step of conv1.weight")).to_be_visible(timeout=20_000)
    shown.part("iteration 1").press("Enter")
    expect(shown.part("iteration 1")).to_have_attribute("aria-expanded", "false", timeout=20_000)
    shown.part("iteration 2").press("Enter")
    expect(shown.part("iteration 2")).to_have_attribute("aria-expanded", "true", timeout=20_000)
    # Its gradients come to its own boxes, and the first iteration, which is over, hears of none.
    second = [f.index for f in trained.frames if f.run == 2 and f.phase == "backward"]
    shown.go(second[len(second) // 2])
    expect(shown.part("iteration 1")).to_have_attribute("aria-label", re.compile("gradients done"))
    assert "al-now-backward" not in (shown.part("iteration 1").get_attribute("class") or "")
    expect(shown.node("loss(2)")).to_have_attribute("aria-label", re.compile("gradient freed"))
    expect(shown.part("iteration 3")).to_have_attribute(
        "aria-label", re.compile("not computed yet")
    )


@pytest.mark.timed
def test_stepping_through_a_loop_is_quick(page: Page, trained: Trace, exported: Path) -> None:
    shown = opened(page, exported)
    took = shown.root.evaluate(
        """async (root) => {
            const slider = root.querySelector(".al-slider"), times = [];
            for (let v = 0; v <= Number(slider.max); v += 7) {
                const start = performance.now();
                slider.value = v;
                slider.dispatchEvent(new Event("input", { bubbles: true }));
                root.getBoundingClientRect();
                times.push(performance.now() - start);
                await new Promise(requestAnimationFrame);
            }
            return times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
        }"""
    )
    print(f"median step {took:.1f} ms of {len(trained.frames)}")
    assert took < 100
