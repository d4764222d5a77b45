"""A deck of `autolab-kit lecture`, offline, as a lecturer uses it: with a clicker, arrows, the mouse, a second
window, and on paper."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from lab import Explorer, offline
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from playwright.sync_api import Browser, Page, expect

from autolab import lecture

NOTEBOOK = [
    new_markdown_cell("# My lecture\n\nOn $x^2$.", id="title"),
    new_markdown_cell("## 1. A graph\n\nwords", id="graph"),
    new_code_cell(
        "import autolab as torch\nfrom autolab.widgets import ConvExplorer, Prediction\n"
        "guess = Prediction('What is `x.grad`?', choices=['6', '9'], because={'9': 'That is the value.'})\nguess",
        id="ask",
        metadata={"tags": ["predict"]},
    ),
    new_code_cell(
        "x = torch.tensor(3., requires_grad=True)\nz = x * x\nz.backward()\nprint(x.grad)",
        id="code",
    ),
    new_code_cell("guess.reveal(x.grad)", id="told", metadata={"tags": ["reveal"]}),
    new_code_cell("torch.explore(x * x)", id="steps"),
    new_code_cell(
        "shown = torch.explore(x * x + x)\nreply = shown.ask('x', 'grad')\nshown", id="quiz"
    ),
    new_code_cell("torch.practice(level=3, seed=1, help='hints')", id="game"),
    new_markdown_cell("## 2. The end\n\nThanks.", id="end"),
]
PLAN = "| section | ask aloud |\n|---|---|\n| 1 graph | Who has seen one? |\n"


@pytest.fixture(scope="module")
def deck(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lecture")
    nbformat.write(new_notebook(cells=NOTEBOOK), folder / "own.ipynb")
    (folder / "plan.md").write_text(PLAN)
    return lecture.write(folder / "own.ipynb", folder / "deck.html", notes=folder / "plan.md")


@pytest.fixture(params=["light", "dark"])
def page(browser: Browser, deck: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    with offline(
        browser, viewport={"width": 1366, "height": 768}, color_scheme=request.param
    ) as page:
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        opened(page, deck)
        yield page
        assert [url for url in requests if not url.startswith(("file:", "blob:", "data:"))] == []


def opened(page: Page, deck: Path, where: str = "") -> None:
    page.goto("about:blank")
    page.goto(deck.as_uri() + where)
    page.wait_for_selector("html[data-ready]")


def here(page: Page, id: str) -> None:
    expect(page.locator(f"section.present[id='{id}']")).to_be_visible()


def test_the_clicker_walks_through_text_question_answer_and_every_step(page: Page) -> None:
    press = page.keyboard.press
    expect(page.get_by_role("heading", name="My lecture", level=1)).to_be_visible()
    press("PageDown")
    here(page, "graph")
    question = page.get_by_role("group", name=re.compile("^Predict What is x.grad"))
    question.first.get_by_role("radio", name="9").check()
    question.first.get_by_role("radio", name="9").press(
        "ArrowUp"
    )  # it is the question's key, not the deck's
    here(page, "graph")
    question.first.get_by_role("radio", name="9").check()
    question.first.get_by_role("radio", name="9").press("PageDown")  # wherever the focus is
    here(page, "code")
    printed = page.locator("section.present").get_by_role("group", name="Output")
    expect(printed).to_have_count(0)
    expect(page.locator(".aria-status")).not_to_contain_text("6.)")
    press("PageDown")
    expect(printed).to_have_text("tensor(6.)")
    assert page.locator("section.present .because").count() == 0
    press("PageDown")
    expect(page.locator("section.present").get_by_role("status")).to_have_text(
        "You predicted: 9 — it is: 6"
    )
    expect(page.get_by_text("That is the value.")).to_be_visible()

    press("ArrowRight")
    here(page, "steps")
    shown = Explorer(page)
    expect(shown.button("Play")).to_have_text("Play")
    beats = shown.root.locator(".al-beat").evaluate_all("all => all.map((e) => +e.dataset.last)")
    for i, step in enumerate(beats[1:]):
        press("PageDown" if i % 2 else "ArrowRight")
        shown.at(step)
        here(page, "steps")
    press(" ")
    here(page, "quiz")
    press("PageUp")
    here(page, "steps")
    shown.at(beats[-1])
    press("ArrowLeft")
    shown.at(beats[-2])


def test_the_explorers_own_controls_and_the_clicker_agree(page: Page, deck: Path) -> None:
    opened(page, deck, "#/steps")
    shown = Explorer(page)
    page.keyboard.press("PageDown")
    shown.at(5)
    shown.button("Previous step").click()
    shown.at(0)
    page.keyboard.press("PageDown")
    shown.at(5)
    shown.root.focus()
    page.keyboard.press("Home")
    shown.at(0)
    page.keyboard.press("ArrowRight")
    shown.at(5)
    page.wait_for_timeout(
        400
    )  # on a page of its own the explorer writes its state into the address by then
    assert re.search(r"#/steps(/\d+)?$", page.url), "the address is that of the slides"
    page.keyboard.press("End")
    page.keyboard.press("ArrowRight")  # the explorer is at its end
    here(page, "quiz")


def test_questions_and_practice_are_played_on_a_slide(page: Page, deck: Path) -> None:
    opened(page, deck, "#/quiz")
    slide, press = page.locator("section.present"), page.keyboard.press
    question = slide.get_by_role("group", name="Question", exact=True)
    field = question.get_by_role("textbox")
    field.click()
    page.keyboard.type("2*3 t")  # keys of the deck, and of the explorer, are letters here
    for key in ("Backspace", "Backspace", "ArrowLeft", "ArrowRight", "Enter"):
        press(key)
    expect(field).to_have_value("2*3")
    expect(question.get_by_role("status")).to_contain_text("Not 2*3.")
    here(page, "quiz")
    shown, until = Explorer(page), 4
    press("Escape")
    for step in (1, until):
        press("PageDown")
        shown.at(step)
    expect(field).to_be_visible()  # still open
    press("PageDown")
    expect(question.get_by_role("status")).to_contain_text("It is 13.")  # x.grad held 6
    told = int(shown.slider.input_value())
    assert told > until
    press("PageDown")
    here(page, "game")  # that was its last beat
    press("PageUp")
    shown.at(told)

    opened(page, deck, "#/game")
    game = slide.get_by_role("group", name="Practice", exact=True)
    game.get_by_role("button", name="set: it replaces what is there").press("Enter")
    expect(game).to_contain_text("question 2 of 2")
    game.get_by_role("button", name="average").press("Enter")
    expect(game.get_by_role("group", name="Your run")).to_be_visible()
    here(page, "game")
    press("Enter")  # Back
    game.get_by_role("button", name="add: to what is there").press(" ")
    expect(game.get_by_role("group", name="Result")).to_contain_text("1 of 2")
    here(page, "game")
    press("PageDown")
    here(page, "end")


def test_notes_are_in_a_second_window_and_not_on_the_slides(page: Page, deck: Path) -> None:
    opened(page, deck, "#/graph")
    expect(page.get_by_text("Who has seen one?")).to_be_hidden()
    with page.expect_popup() as popup:
        page.keyboard.press("s")
    notes = popup.value
    expect(notes.get_by_role("heading")).to_have_text("1. A graph")
    expect(notes.get_by_role("main")).to_contain_text("Who has seen one?")
    notes.keyboard.press("PageDown")
    here(page, "code")
    expect(notes.get_by_text("Slide 3 of 7")).to_be_visible()
    expect(notes.get_by_text(re.compile("^Next: 1. A graph"))).to_be_visible()
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.keyboard.press("t")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before


def test_every_slide_fits_can_be_read_and_is_named(
    page: Page, deck: Path, browser: Browser
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    for id in ("title", "graph", "code", "steps", "quiz", "game", "end"):
        opened(page, deck, f"#/{id}")
        over = "s => [s.scrollWidth > s.clientWidth + 1, s.scrollHeight > s.clientHeight + 1]"
        assert page.locator(
            "section.present section.present, section.present:not(.stack)"
        ).first.evaluate(over) == [
            False,
            False,
        ], id
        found = [
            v
            for v in Axe().run(page).response["violations"]
            if v["impact"] in ("serious", "critical")
        ]
        assert found == [], id
    with offline(browser, viewport={"width": 400, "height": 800}) as phone:
        opened(phone, deck, "#/steps")
        assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
        expect(Explorer(phone).graph).to_be_visible()


def test_on_paper_every_slide_is_a_page_with_all_there_is_to_see(page: Page, deck: Path) -> None:
    opened(page, deck, "?print-pdf")
    page.emulate_media(media="print")
    expect(page.locator(".pdf-page")).to_have_count(7)
    expect(page.get_by_text("tensor(6.)")).to_be_visible()
    assert page.evaluate(
        "Object.values(autolabModels).map((m) => m.get('step')).filter((s) => s !== undefined)"
    )[:2] == [5, 8]
    pdf = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type /Page\b", pdf)) == 7
