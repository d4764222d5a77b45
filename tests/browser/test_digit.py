"""The pad of 32x32 pixels, on a page: by mouse, by keyboard, and what it tells."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import autolab
from autolab.viz import html


@pytest.fixture
def pad(page: Page, tmp_path: Path) -> Locator:
    page.goto(html.write(tmp_path / "page.html", [autolab.DrawDigit(label=4)]).as_uri())
    return page.get_by_role("group", name="Draw a digit")


def test_drawn_by_mouse_undone_and_erased(page: Page, pad: Locator) -> None:
    canvas = pad.get_by_role("application")
    expect(canvas).to_have_accessible_name("Pad of 32 by 32 pixels, 0 of them with ink")
    box = canvas.bounding_box()
    assert box
    page.mouse.move(box["x"] + 160, box["y"] + 80)
    page.mouse.down()
    page.mouse.move(box["x"] + 160, box["y"] + 240, steps=4)
    page.mouse.up()
    expect(canvas).to_have_accessible_name(re.compile("pixels, 100 of them"))
    pad.get_by_role("button", name="Erase").click()
    page.mouse.move(box["x"] + 100, box["y"] + 160)
    page.mouse.down()
    page.mouse.move(box["x"] + 220, box["y"] + 160, steps=4)
    page.mouse.up()
    expect(canvas).to_have_accessible_name(re.compile("pixels, [78][0-9] of them"))
    pad.get_by_role("button", name="Undo").click()
    expect(canvas).to_have_accessible_name(re.compile("pixels, 100 of them"))
    pad.get_by_role("button", name="Begin again").click()
    expect(canvas).to_have_accessible_name(re.compile("pixels, 0 of them"))


def test_drawn_without_a_mouse(page: Page, pad: Locator) -> None:
    canvas = pad.get_by_role("application")
    canvas.focus()
    page.keyboard.press("Space")
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    expect(pad.get_by_role("status")).to_have_text("Pen down, row 14, column 17.")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowLeft")
    expect(pad.get_by_role("status")).to_have_text("Pen up, row 14, column 16.")
    expect(canvas).to_have_accessible_name(re.compile("pixels, [34][0-9] of them"))
    expect(pad.get_by_role("combobox", name="It is meant to be a")).to_have_value("4")
    for name in ("Clear", "Undo"):
        pad.get_by_role("button", name=name).press("Enter")
    expect(canvas).to_have_accessible_name(re.compile("pixels, [34][0-9] of them"))


def test_ten_bars_say_what_the_network_sees(page: Page, tmp_path: Path) -> None:
    image = autolab.zeros(32, 32)
    image[4:28, 15] = 1
    scores = autolab.tensor([[0.0, 3.0, *[0.0] * 8]])
    drawn = autolab.DrawDigit(image, 1, network=lambda images: scores)
    page.goto(html.write(tmp_path / "page.html", [drawn]).as_uri())
    bars = page.get_by_role("list", name="What the network sees")
    percents = [f"{digit}{69.1 if digit == 1 else 3.4} %" for digit in range(10)]
    expect(bars.get_by_role("listitem")).to_have_text(percents)
    lengths = bars.locator(".al-track i").evaluate_all("all => all.map((e) => e.offsetWidth)")
    assert lengths.index(max(lengths)) == 1
    page.get_by_role("button", name="Clear").click()
    expect(bars).to_be_hidden()  # there is no network behind this page
