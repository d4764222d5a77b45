"""The number on a line of the explorer stands inside its pill."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

import autolab as torch
from autolab.widgets import explore


def test_long_numbers_do_not_touch_the_border(page: Page, tmp_path: Path) -> None:
    x = torch.tensor(2.0, requires_grad=True)
    page.goto(explore(torch.sin(x) * -1234.5).to_html(tmp_path / "pill.html").as_uri())
    page.get_by_role("group", name="Computation graph", exact=True).wait_for()
    for _ in range(5):  # the local derivatives forward, then the gradients
        for pill in page.locator(".al-pill[visibility=visible]").all():
            text = pill.locator("text")
            room, words = (part.bounding_box()["width"] for part in (pill.locator("rect"), text))  # type: ignore[index]
            assert words <= room - 7, text.text_content()
            assert float(text.get_attribute("font-size") or 0) >= 13
        page.keyboard.press("ArrowRight")
    expect(page.locator(".al-pilltext", has_text="× -0.416")).to_have_count(1)
