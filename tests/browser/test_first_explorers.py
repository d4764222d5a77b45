"""Lesson 1's first three explorers, in the room that JupyterLab leaves on a 1366 x 768 laptop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lab import Explorer, offline
from playwright.sync_api import Browser, Locator, expect

import autolab as torch

PLACES = """root => [...root.querySelectorAll(".al-bar, .al-pane, .al-card")].map((e) => {
  const { x, y } = e.getBoundingClientRect(); return [Math.round(x), Math.round(y)]; })"""


def square() -> Any:
    x = torch.tensor(3.0, requires_grad=True)
    z = x * x
    return torch.explore(z)


def paths() -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    a = 3 * x
    b = x * x
    z = a * b + b
    return torch.explore(z)


def states() -> Any:
    explorer = paths()
    explorer.ask("a", "state")
    return explorer


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Callable[[Any], Explorer]]:
    with offline(browser, viewport={"width": 968, "height": 643}) as page:

        def show(explorer: Any) -> Explorer:
            page.goto(explorer.to_html(tmp_path / "shown.html").as_uri())
            shown = Explorer(page)
            shown.graph.wait_for()
            return shown

        yield show


def seen(element: Locator, within: Locator) -> bool:
    """Whether all of an element is in the visible part of a scrolling box."""
    return element.evaluate(
        """(e, box) => { const a = e.getBoundingClientRect(), b = box.getBoundingClientRect();
        return a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1; }""",
        within.element_handle(),
    )


@pytest.mark.parametrize("width", [968, 560])
def test_the_sentence_is_whole_and_nothing_moves(
    opened: Callable[[Any], Explorer], width: int
) -> None:
    shown = opened(square())
    shown.page.set_viewport_size({"width": width, "height": 643})
    places = []
    for _ in range(3):
        places.append(shown.root.evaluate(PLACES))
        for line in shown.root.locator(".al-say p").all():
            assert line.evaluate(
                "p => p.scrollWidth <= p.clientWidth && p.scrollHeight <= p.clientHeight"
            )
        shown.button("Next step").click()
    assert places[0] == places[1] == places[2]
    expect(shown.said.first).to_contain_text("it hands 3 and 3 to x, one for each use.")


def test_an_open_question_says_why_the_steps_end(opened: Callable[[Any], Explorer]) -> None:
    explorer = square()
    explorer.ask("x", "grad")
    shown = opened(explorer)
    sentence = shown.root.locator(".al-say")
    expect(sentence).to_contain_text("z = x · x = 3 · 3 = 9")  # a question hides no caption
    shown.button("Next step").click()
    expect(sentence).to_contain_text("Answer the question first, or choose “Show me”.")
    question = shown.root.get_by_role("group", name="Question", exact=True)
    expect(question).not_to_have_class("al-ask al-insists")
    shown.button("Play").click()
    expect(question).to_have_class("al-ask al-insists")
    expect(shown.button("Play")).to_be_visible()  # it does not play
    question.get_by_role("textbox").fill("6")
    question.get_by_role("button", name="Check").click()
    shown.at(len(explorer.trace.frames) - 1)  # the end of the step that shows the answer
    shown.button("Previous step").click()
    expect(shown.slider).to_have_attribute("aria-valuetext", "Step 1 of 2, forward")
    shown.button("Next step").click()
    expect(shown.slider).to_have_attribute("aria-valuetext", "Step 2 of 2, backward")


def test_a_freed_gradient_is_shown_as_freed(opened: Callable[[Any], Explorer]) -> None:
    shown = opened(states())
    question = shown.root.get_by_role("group", name="Question", exact=True)
    expect(question).to_contain_text("What would happen to the gradient of a in the backward pass?")
    question.get_by_role("combobox").select_option("freed")
    question.get_by_role("button", name="Check").click()
    expect(question).to_contain_text("Right: would be freed.")
    expect(shown.root.locator(".al-say")).to_contain_text("The backward pass starts at z")
    shown.root.press("End")
    grad = shown.node("a").locator(".al-grad")
    expect(grad.locator(".al-gradname")).to_have_text("would be freed")
    expect(grad.locator(".al-number")).to_have_css("text-decoration-line", "line-through")
    leaf = shown.node("x").locator(".al-grad")
    expect(leaf.locator(".al-gradname")).to_have_text("grad")
    expect(leaf.locator(".al-number")).to_have_css("text-decoration-line", "none")


def test_only_the_chosen_path_is_orange(opened: Callable[[Any], Explorer]) -> None:
    shown = opened(paths())
    shown.root.press("End")
    colour = shown.node("a").locator(".al-card").evaluate("e => getComputedStyle(e).stroke")
    shown.choose("Paths")
    shown.root.get_by_role("button", name="x (2nd) → b → z").click()
    orange = shown.graph.evaluate(
        """(svg, colour) => [...svg.querySelectorAll(".al-card, .al-line")].filter((e) => getComputedStyle(e).stroke === colour).length""",
        colour,
    )
    assert orange == 3 + 2  # the cards x, b and z, and two lines


def test_inspect_leaves_the_graph_whole_and_tells_of_the_chosen_node(
    opened: Callable[[Any], Explorer],
) -> None:
    shown = opened(paths())
    shown.root.press("End")
    shown.choose("Inspect")
    for card in shown.graph.locator(".al-node").all():
        assert seen(card, shown.root.locator(".al-pane"))
    shown.node("a · b").click()
    expect(shown.details.get_by_role("heading")).to_have_text("a · b = mul")
    saved = shown.details.get_by_role("table", name="Saved by a · b")
    assert seen(saved, shown.details)
    expect(saved.get_by_role("row").nth(1)).to_have_text("a (self)64 Bwould be freed")


def test_what_if_changes_each_part_of_a_sum(opened: Callable[[Any], Explorer]) -> None:
    shown = opened(square())
    shown.root.press("End")
    shown.button("What if").click()
    shown.root.get_by_role("spinbutton", name="Its value").fill("3.1")
    card = shown.node("x")
    expect(card.locator(".al-number")).to_have_text("6 → 6.2")
    expect(card.locator(".al-slot text")).to_have_text(["3.1", "3.1"])
    expect(shown.graph.locator(".al-pilltext")).to_have_text(["1 × 3.1 = 3.1", "1 × 3.1 = 3.1"])
    shown.root.get_by_role("button", name="Close").click()
    expect(card.locator(".al-slot text")).to_have_text(["3", "3"])
