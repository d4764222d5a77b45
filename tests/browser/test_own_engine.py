"""A learner's own engine in the explorer, on a page without a kernel: its own steps, wrong as they are."""

from pathlib import Path

from lab import Explorer
from playwright.sync_api import Page, expect

from autolab.lessons.lesson04 import engine
from autolab.widgets import explore


class Careless(engine.Value):
    """`=` in the place of `+=`."""

    __mul__, backward = engine.multiply, engine.straight


def test_what_an_engine_overwrites_is_said_and_shown(page: Page, tmp_path: Path) -> None:
    x = Careless(3.0)
    y = x * x
    page.goto(explore(y, step=3).to_html(tmp_path / "mine.html").as_uri())
    shown = Explorer(page).root
    expect(shown.get_by_text("these are the steps of Careless's own backward()")).to_be_visible()
    expect(
        shown.get_by_text(
            "y would set x.grad to 3; the 3 that had arrived before would be lost"
        ).first
    ).to_be_visible()
    expect(Explorer(page).node("x")).to_have_accessible_name(
        "x, leaf, value 3, gradient all would be in 3"
    )
    Explorer(page).node("x").click()
    facts = Explorer(page).details.locator("dl.al-facts dt").last
    expect(facts).to_have_text("shape")  # its Value has no requires_grad, dtype and device
