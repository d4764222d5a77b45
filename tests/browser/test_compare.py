"""Two explorers that are compared, on a page: the first difference is gone to, what differs is lit, one takes the other
along."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from lab import Explorer
from playwright.sync_api import Page, expect

import autolab as torch


def diamond() -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    with torch.record() as recording:
        a, b = x * x, x * 3
        y = a * b + b
        y.backward()
    return recording


LOOKS = [
    {"color_scheme": "light", "viewport": {"width": 1366, "height": 768}},
    {"color_scheme": "dark", "viewport": {"width": 400, "height": 900}},
    {"forced_colors": "active", "color_scheme": "dark"},
]


@pytest.mark.parametrize(
    "page_options", LOOKS, indirect=True, ids=["light", "dark and narrow", "forced"]
)
def test_what_differs_is_lit_and_one_takes_the_other_along(page: Page, tmp_path: Path) -> None:
    wrong = torch.specimens["set instead of add"].run(diamond)
    found = torch.compare(wrong, diamond(), names=("wrong", "right"))
    page.goto(found.to_html(tmp_path / "compared.html").as_uri())
    left, right = Explorer(page), Explorer(page, 1)
    expect(left.root).to_have_attribute("aria-label", re.compile("^Autograd explorer of wrong"))
    panels = [shown.root.get_by_role("group", name="Comparison") for shown in (left, right)]
    left.at(10)  # the first difference, which is in one only; the other stands before it
    right.at(9)
    expect(panels[0]).to_contain_text("wrong compared with right: 6 differences")
    for panel in panels:
        expect(panel.get_by_role("status")).to_contain_text(
            "The first difference: only in wrong: a rule in the place of the engine's"
        )
    expect(left.node("b")).to_have_attribute("aria-description", "not in right")
    panels[0].get_by_role("button", name="Next").press("Enter")
    left.at(11)
    right.at(10)
    expect(panels[0].get_by_role("status")).to_have_text(
        "b sends 12 to x (contribution 1 of 3, so far 12); 12 in wrong, 15 in right."
    )
    expect(left.node("x")).to_have_attribute("aria-description", "differs: 15 in right")
    expect(left.node("x").locator(".al-otherwise")).to_have_text("right: 15")
    expect(right.node("x").locator(".al-otherwise")).to_have_text("wrong: 12")
    right.root.focus()
    page.keyboard.press("End")
    left.at(17)
    page.keyboard.press("Home")
    left.at(0)
    expect(panels[0].get_by_role("status")).to_have_text(
        "The same so far; the first difference is at step 11."
    )
    expect(left.root.locator(".al-otherwise")).to_have_count(0)
    panels[0].get_by_role("button", name="First difference").click()
    left.at(10)
    assert left.check("faint") == [] and left.check("unnamed") == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
