"""A page that nothing has laid out before does it itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import Explorer, learners_trace
from playwright.sync_api import Page, expect

from autolab.widgets import Explorer as Widget


def test_a_page_lays_out_what_nothing_has_laid_out(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = Widget(learners_trace()).svg
    monkeypatch.setenv("AUTOLAB_LAYOUT", "browser")
    widget = Widget(learners_trace(), step=3)
    assert widget.svg == ""
    page.goto(widget.to_html(tmp_path / "bare.html").as_uri())
    shown = Explorer(page)
    expect(shown.node("x")).to_be_visible(timeout=20_000)
    assert shown.graph.locator(".al-node").count() == drawn.count('class="al-node"')
    shown.button("Next step").click()
    shown.at(4)
    for check in ("unnamed", "unreachable", "crowded", "small", "faint"):
        assert shown.check(check) == [], check


def test_a_step_lays_the_page_out_once_or_twice(page: Page, tmp_path: Path) -> None:
    """Once for what the step reads after all its changes, and for what it changes by what it has read; it was four
    times."""
    page.goto(Widget(learners_trace()).to_html(tmp_path / "steps.html").as_uri())
    shown, session = Explorer(page), page.context.new_cdp_session(page)
    expect(shown.node("x")).to_be_visible()
    session.send("Performance.enable")

    def layouts() -> float:
        return next(
            m["value"]
            for m in session.send("Performance.getMetrics")["metrics"]
            if m["name"] == "LayoutCount"
        )

    there_and_back = """async (slider) => {
        const steps = Array.from({ length: 2 * slider.max }, (_, i) => Math.min(i, 2 * slider.max - i));
        for (const step of steps) {
            slider.value = step;
            slider.dispatchEvent(new Event("input", { bubbles: true }));
            slider.getBoundingClientRect();
            await new Promise(requestAnimationFrame);
        }
        return steps.length;
    }"""
    shown.slider.evaluate(there_and_back)  # Details grow to their height
    before = layouts()
    steps = shown.slider.evaluate(there_and_back)
    assert (layouts() - before) / steps <= 2.2
    listed = shown.root.locator("[aria-label=Paths] option, [aria-label='What if'] option")
    assert listed.count() == 0, "until somebody opens them"


def test_another_size_leaves_what_is_said_of_the_step(page: Page, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(Widget(learners_trace(), step=3).to_html(tmp_path / "sizes.html").as_uri())
    shown = Explorer(page)
    expect(shown.node("x")).to_be_visible()
    said = shown.root.locator(".al-details > *").first.element_handle()
    page.set_viewport_size({"width": 1000, "height": 700})
    page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    assert said.evaluate("element => element.isConnected")
