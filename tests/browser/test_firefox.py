"""A deck of `autolab-kit lecture` in Firefox, offline, stepped by keys. Runs where Firefox is installed, driven by
Mozilla's own
client: Playwright drives an ordinary Firefox only in part."""

from __future__ import annotations

import os
import re
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from test_lecture_deck import deck  # noqa: F401 (a fixture)


def from_snap(path: str) -> bool:
    """Such a Firefox cannot read the profile that the driver gives it. Ubuntu's own is a script that calls it."""
    return "/snap" in os.path.realpath(path) or b"/snap/bin" in Path(path).read_bytes()[:10_000]


FOUND = filter(None, map(shutil.which, ("firefox-esr", "firefox")))
FIREFOX = next((path for path in FOUND if not from_snap(path)), None)
pytestmark = pytest.mark.skipif(FIREFOX is None, reason="Firefox is not installed")

SLIDE = "return document.querySelector('section.present:not(:has(section))')?.id"
# The text of what is shown in the slide, of widgets too.
SEEN = """
  const read = (e) => e.nodeType === 3 ? e.data : e.nodeType !== 1 || ["STYLE", "SCRIPT"].includes(e.tagName) || e.hidden ? ""
    : [...(e.shadowRoot ?? e).childNodes].map(read).join(" ");
  return read(document.querySelector("section.present:not(:has(section))")).replace(/\\s+/g, " ");
"""
FIELD = """
  const all = (root) => [...root.querySelectorAll("*")].flatMap((e) => [e, ...(e.shadowRoot ? all(e.shadowRoot) : [])]);
  all(document.querySelector("section.present")).find((e) => e.matches("[aria-label=Question] input")).focus();
"""
ASKED_FOR = "return performance.getEntriesByType('resource').map((e) => e.name).filter((name) => name.startsWith('http'))"
STEP = r"Step (\d+) of \d+, "


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    marionette = pytest.importorskip("marionette_driver.marionette")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = str(tmp_path_factory.mktemp("firefox") / "gecko.log")
    options = {"bin": FIREFOX, "headless": True, "startup_timeout": 120, "gecko_log": log}
    driver = marionette.Marionette(host="127.0.0.1", port=port, **options)
    driver.start_session()
    yield driver
    driver.quit()
    driver.instance.close(clean=True)


class Stage:
    """A page in Firefox."""

    def __init__(self, driver: Any, page: str):
        self.driver = driver
        driver.navigate("about:blank")  # a new place in the same page would not load it
        driver.navigate(page)
        self.until("return document.documentElement.hasAttribute('data-ready')", bool)

    def until(self, script: str, holds: Callable[[Any], bool], seconds: float = 30) -> Any:
        """What the script says, as soon as that holds."""
        last = time.monotonic() + seconds
        while not holds(said := self.driver.execute_script(script)):
            assert time.monotonic() < last, said
            time.sleep(0.05)
        return said

    def number(self) -> int:
        """Of the step that the slide's explorer shows."""
        said = self.until(SEEN, lambda said: bool(re.search(STEP, said)))
        return int(re.findall(STEP, said)[0])

    def press(self, *keys: str) -> None:
        actions = self.driver.actions.sequence("key", "keyboard")
        for key in keys:
            actions.key_down(key).key_up(key)
        actions.perform()


def test_a_deck_is_stepped_by_keys(firefox: Any, deck: Path) -> None:  # noqa: F811
    from marionette_driver.keys import Keys

    stage = Stage(firefox, deck.as_uri())
    slides: list[str] = []
    steps: list[int] = []
    while not slides or slides[-1] != "quiz":
        slide = stage.until(SLIDE, bool)
        slides += [slide] if slide not in slides else []
        if slide == "steps" and (number := stage.number()) not in steps:
            steps.append(number)
        stage.press(Keys.PAGE_DOWN)
        time.sleep(0.2)  # not every press can be seen: the answer to an open question stays away
    assert slides[1:] == ["graph", "code", "steps", "quiz"], slides
    assert steps == [1, 2]  # of its two beats: x · x is computed, and hands its gradients back

    stage = Stage(firefox, deck.as_uri() + "#/quiz")
    stage.until(SLIDE, lambda slide: slide == "quiz")
    stage.driver.execute_script(FIELD)
    stage.press(
        *"2*3", Keys.ARROW_LEFT, Keys.ARROW_RIGHT, Keys.ENTER
    )  # keys of deck and explorer, in a field
    said = stage.until(SEEN, lambda said: "Not 2*3." in said)
    assert "Step 1 of" in said
    stage.press(Keys.ESCAPE)
    for _ in range(3):  # two beats, and the press that answers
        stage.press(Keys.PAGE_DOWN)
    stage.until(SEEN, lambda said: "It is 13." in said)
    assert stage.driver.execute_script(ASKED_FOR) == []
