"""A page that nothing has laid out before does it itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import Explorer, learners_trace
from playwright.sync_api import Page, expect

from autolab.widgets import Explorer as Widget


def test_a_page_lays_out_what_nothing_has_laid_out(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
