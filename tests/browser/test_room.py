"""The page of a room: hidden until released, by keyboard, as it fills."""

import pytest

pytest.importorskip("tornado")
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from room_running import Running, answer

from autolab.room.tally import Tally


@pytest.fixture
def page_options():
    return {"bypass_csp": True}  # axe runs as a script of its own


def test_the_page_fills_and_shows_what_was_released(page, tmp_path):
    room = Running(Tally(tmp_path / "room.jsonl", "4KD2"))
    page.context.set_offline(False)
    try:
        page.goto(f"{room.address}/#{room.tally.key}")
        expect(page.locator("#join")).to_contain_text('"4KD2")')
        assert page.url == f"{room.address}/"  # the class sees it, so the key is not in it
        page.reload()
        expect(page.locator("#join")).to_contain_text('"4KD2")')
        room.says("answer", **answer("my.1", "<b>6</b>"))
        room.says("answer", "a" * 16, **answer("my.1", "12", True))
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
        room.says("answer", "b" * 16, **answer("my.1", "12", True))
        expect(page.get_by_role("row", name="12 ✓ right 2")).to_be_visible()
        expect(page.get_by_role("heading", level=2)).to_have_text(["my.2", "my.1"])
        expect(button).to_be_focused()
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            assert Axe().run(page).response["violations"] == []
    finally:
        room.stop()


def test_without_the_key_there_is_neither_code_nor_button(page, tmp_path):
    room = Running(Tally(tmp_path / "room.jsonl", "4KD2"))
    page.context.set_offline(False)
    try:
        room.says("answer", **answer())
        page.goto(room.address)
        expect(page.get_by_text("1 answer, hidden")).to_be_visible()
        assert page.get_by_role("button").count() == 0 and "4KD2" not in page.content()
    finally:
        room.stop()
