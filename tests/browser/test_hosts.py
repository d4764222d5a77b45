"""Where a host has no way from one model to another (VS Code, Colab, the classic notebook), and no kernel answers."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
from lab import Explorer, learners_trace
from playwright.sync_api import Page, expect

import autolab as torch
from autolab import nn
from autolab.viz import html
from autolab.widgets import Explorer as Widget
from autolab.widgets import explore
from autolab.widgets.engine import LayoutEngine, packed


def network() -> Any:
    torch.manual_seed(0)
    blocks = [nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6)) for _ in range(9)]
    return explore(nn.Sequential(*blocks, nn.Linear(6, 1))(torch.ones(2, 6)).sum())


class InANotebook(Widget):
    """An explorer that believes in a kernel, as the saved state of a notebook says."""

    def export_state(self) -> dict[str, Any]:
        return self.get_state() | {"live": True, "engine": "somewhere", "dot": {}}


@pytest.mark.timed
@pytest.mark.parametrize("engine", [True, False], ids=["engine", "no-engine"])
def test_a_part_opens_by_itself_where_no_kernel_answers(
    page: Page, tmp_path: Path, engine: bool
) -> None:
    shown_widgets = [LayoutEngine(source=packed())] * engine + [InANotebook(network().trace)]
    path = tmp_path / "host.html"
    text = html.page(shown_widgets)
    path.write_text(
        re.sub(
            r'<script type="text/plain" id="autolab-viz">.*?</script>', "", text, flags=re.DOTALL
        )
    )
    page.goto(path.as_uri())
    shown = Explorer(page)
    part = shown.graph.get_by_role("button", name=re.compile("^4, Sequential"))
    expect(part).to_have_attribute("aria-expanded", "false")
    start = time.monotonic()
    part.click()
    if engine:
        expect(part).to_have_attribute("aria-expanded", "true")
        assert time.monotonic() - start < 5, "after the kernel had its time to answer"
        expect(shown.graph.get_by_role("button", name=re.compile("^4.1, Tanh"))).to_be_visible()
        start = time.monotonic()
        part.press("Enter")
        expect(part).to_have_attribute("aria-expanded", "false")
        assert time.monotonic() - start < 1, "a kernel that did not answer is not waited for again"
    else:
        expect(shown.root).to_contain_text(
            "the kernel does not answer; run the cell again", timeout=20_000
        )
        expect(part).to_have_attribute("aria-expanded", "false")


class NotLaidOut(Widget):
    """An explorer in a notebook whose kernel has no Graphviz."""

    def export_state(self) -> dict[str, Any]:
        return self.get_state() | {"live": True}


def bare(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: str) -> Explorer:
    """Shown by a host that answers `need-viz` where `answers` (JavaScript; `count` messages have come by then), and
    loses all else."""
    monkeypatch.setenv("AUTOLAB_LAYOUT", "browser")
    widget = NotLaidOut(learners_trace())
    assert widget.svg == "" and widget.dot
    text = html.page([widget])
    asked = 'message.kind === "need-viz" && viz'
    assert asked in text
    path = tmp_path / "bare.html"
    path.write_text(
        text.replace(
            asked, f"{asked} && ((count) => {answers})(window.asked = (window.asked ?? 0) + 1)"
        )
    )
    page.goto(path.as_uri())
    return Explorer(page)


def test_a_layout_that_is_lost_on_the_way_is_drawn_in_the_browser(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = bare(page, tmp_path, monkeypatch, "true")
    expect(shown.node("x")).to_be_visible(timeout=20_000)
    assert shown.graph.locator(".al-node").count() == 11
    shown.button("Next step").click()
    shown.at(1)


def test_a_kernel_that_was_busy_is_asked_again(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.clock.install()
    shown = bare(page, tmp_path, monkeypatch, "count > 2")
    for count in (1, 2):
        page.wait_for_function(f"window.asked === {count}")
        page.clock.fast_forward(21_000)
        expect(shown.root.get_by_role("alert")).to_have_text(
            "The graph is not drawn yet: the kernel does not answer. If no cell is running, run this one again."
        )
    expect(shown.node("x")).to_be_visible(timeout=20_000)
    expect(shown.root.get_by_role("alert")).to_have_count(0)
