"""The page of a room: hidden until released, by keyboard, as it fills."""

import re

import pytest

pytest.importorskip("tornado")
pytest.importorskip("segno")
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from room_running import OWN, Running, answer

from autolab.room import phone
from autolab.room.tally import Tally


@pytest.fixture
def page_options():
    return {"bypass_csp": True}  # axe runs as a script of its own


@pytest.fixture
def room(tmp_path):
    """Asked for before `page`: so it ends after it, and a page that asks every second does not miss it."""
    running = Running(Tally(tmp_path / "room.jsonl", "4KD2", OWN))
    yield running
    running.stop()


def test_the_page_fills_and_shows_what_was_released(room, page):
    page.context.set_offline(False)
    page.goto(f"{room.address}/#{room.tally.key}")
    expect(page.locator("#join")).to_contain_text('"4KD2")')
    assert page.url == f"{room.address}/"  # the class sees it, so the key is not in it
    page.reload()
    expect(page.locator("#join")).to_contain_text('"4KD2")')
    room.says("answer", **answer("my.1", "<b>6</b>"))
    room.says("answer", "a" * 16, **answer("my.1", "12"))
    expect(page.get_by_text("2 answers, hidden")).to_be_visible()
    assert page.locator("table").count() == 0
    page.get_by_role("button", name="Show answers to my.1").focus()
    page.keyboard.press("Enter")
    button = page.get_by_role("button", name="Hide answers to my.1", expanded=True)
    expect(button).to_be_focused()
    expect(page.get_by_role("status")).to_have_text("answers to my.1: shown.")
    expect(page.get_by_role("row", name="12 ✓ right 1")).to_be_visible()
    expect(page.get_by_role("rowheader", name="<b>6</b>")).to_be_visible()
    room.says("answer", "b" * 16, **answer("my.2", "1"))
    room.says("answer", "b" * 16, **answer("my.1", "12"))
    expect(page.get_by_role("row", name="12 ✓ right 2")).to_be_visible()
    expect(page.get_by_role("heading", level=2)).to_have_text(["my.2", "my.1"])
    expect(button).to_be_focused()
    room.says("answer", "b" * 16, **answer("Kim is late"))
    said = "1 answer to 1 question that is not in the course. Yours? autolab-kit room serve --questions NOTEBOOK goes on here, and shows it."
    expect(page.get_by_text(said)).to_be_visible()
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        assert Axe().run(page).response["violations"] == []


def test_without_the_key_there_is_neither_code_nor_button(room, page):
    page.context.set_offline(False)
    room.says("answer", **answer())
    page.goto(room.address)
    expect(page.get_by_text("1 answer, hidden")).to_be_visible()
    assert page.get_by_role("button").count() == 0 and "4KD2" not in page.content()


@pytest.fixture
def phone_page(browser, page_options):
    context = browser.new_context(viewport={"width": 400, "height": 800}, **page_options)
    yield context.new_page()
    context.close()


def test_a_phone_answers_and_votes_again(room, page, phone_page):
    """From the QR code of a deck to the class's page, by keyboard; then the class has discussed it."""
    own = phone_page
    page.context.set_offline(False)
    own.goto(phone.address(room.address, "", "my.1", ("`6`", "<b>12</b>")))
    expect(own.get_by_role("group", name="Question my.1")).to_be_visible()
    own.get_by_role("radio", name="6").focus()
    own.keyboard.press("ArrowDown")
    own.get_by_role("textbox", name="The room's code").fill("AAAA")
    own.keyboard.press("Enter")
    expect(own.get_by_role("status")).to_contain_text("another code")
    own.get_by_role("textbox", name="The room's code").fill("4kd2")
    own.keyboard.press("Enter")
    expect(own.get_by_role("status")).to_contain_text("Sent: <b>12</b>.")
    own.reload()
    expect(own.get_by_role("status")).to_contain_text("Sent: <b>12</b>.")
    expect(own.get_by_role("button", name="Send")).to_be_disabled()
    page.goto(f"{room.address}/#{room.tally.key}")
    expect(page.get_by_role("link", name="QR code: answer by phone")).to_have_attribute(
        "href", re.compile("/phone#4KD2$")
    )
    larger = page.get_by_role("button", name="Larger QR code")
    larger.press("Enter")
    expect(larger).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Vote again on my.1").focus()
    page.keyboard.press("Enter")
    expect(
        page.get_by_text("1 answer in the first vote, 0 answers in the second vote, hidden")
    ).to_be_visible()
    expect(page.get_by_role("button", name="Show answers to my.1")).to_be_focused()
    expect(own.get_by_role("status")).to_contain_text("Vote again")
    own.get_by_role("radio", name="6").check()
    own.get_by_role("button", name="Send").click()
    expect(own.get_by_role("status")).to_contain_text("Sent: `6`.")
    page.get_by_role("button", name="Show answers to my.1").click()
    expect(page.get_by_role("row", name="<b>12</b> 1 1 0 0")).to_be_visible()
    assert [list(given.values()) for given in room.tally.questions["my.1"].rounds] == [
        ["<b>12</b>"],
        ["`6`"],
    ]
    own.goto(f"{room.address}/phone#4KD2")
    expect(own.get_by_role("status")).to_contain_text("No question is open")
    room.says("answer", **answer("my.2"))
    own.get_by_role("link", name="my.2").click()
    expect(own.get_by_role("textbox", name="Question my.2")).to_be_visible()
    for one in (own, page):
        for theme in ("light", "dark"):
            one.emulate_media(color_scheme=theme)
            assert Axe().run(one).response["violations"] == []
        assert one.evaluate("document.documentElement.scrollWidth <= innerWidth")
