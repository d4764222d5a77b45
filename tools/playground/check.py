"""Use the playground in Chromium as a learner would: `make check-playground`.

The page shows an example before Python is loaded, runs every example, explains an error, stops an endless loop, shares
a program in its address, and works without a network on a second visit. axe finds nothing, light and dark; the page
can be used by keyboard, and is not wider than 400 px.
"""

from __future__ import annotations

import functools
import http.server
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, sync_playwright

LONG = 240_000  # milliseconds: Python has 20 MB to load, and CI is slow
SHOWS_NO_WIDGET = ("06_training",)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A plain file server that says nothing."""

    extensions_map = {
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".wasm": "application/wasm",
        ".mjs": "text/javascript",
    }

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


def wait_for(page: Page, words: str) -> None:
    """Wait until the page's status says these words."""
    said = f"document.getElementById('status').textContent.includes({words!r})"
    page.wait_for_function(said, timeout=LONG)


def run(page: Page) -> str:
    """Run the program that is in the editor; return what the status says then."""
    page.click("#run")
    page.wait_for_function("document.getElementById('stop').disabled", timeout=LONG)
    return page.inner_text("#status")


def write(page: Page, code: str) -> None:
    """Replace the program in the editor."""
    page.click(".cm-content")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(code)


def visit(page: Page, address: str) -> list[str]:
    """Use the page; return lines that say how long things took."""
    began = time.monotonic()
    page.goto(address)
    page.wait_for_selector("#output iframe")
    told = [f"the first explorer is shown after {time.monotonic() - began:.1f} s"]
    wait_for(page, "Python is ready.")
    told.append(f"Python is ready after {time.monotonic() - began:.1f} s")
    for option in page.locator("#example option").all():
        name = option.get_attribute("value") or ""
        page.select_option("#example", name)
        said = run(page)
        assert ("error" in said) == (name == "08_in_place"), (name, page.inner_text("#output"))
        assert (page.locator("#output iframe").count() > 0) == (name not in SHOWS_NO_WIDGET), name
        told.append(f"{name}: {said}")
    write(page, "while True:\n    pass")
    page.keyboard.press("Control+Enter")
    wait_for(page, "is running")
    page.click("#stop")
    wait_for(page, "ready")
    write(page, "import autolab\nprint(autolab.tensor(2.0) * 21)")
    page.click("#share")
    wait_for(page, "Cop")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        problems = Axe().run(page).response["violations"]
        assert not problems, (scheme, problems)
    return told


def by_keyboard(page: Page) -> None:
    """Leave the editor, reach the example's list and the button Run, and run the program, all by keys."""
    page.click(".cm-content")
    page.keyboard.press("Escape")
    seen = []
    for _ in range(12):
        page.keyboard.press("Shift+Tab")
        seen.append(page.evaluate("document.activeElement.id"))
        if seen[-1] == "run":
            break
    assert seen[-1] == "run", seen
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.id") == "example"
    page.keyboard.press("Tab")
    page.evaluate("document.getElementById('status').textContent = ''")
    page.keyboard.press("Enter")
    wait_for(page, "Your program ran")


def main() -> int:
    folder = Path(sys.argv[1]).resolve()
    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ.get("AUTOLAB_CHROMIUM"))
        context = browser.new_context(viewport={"width": 1366, "height": 768})
        page = context.new_page()
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        for line in visit(page, f"http://127.0.0.1:{server.server_port}/"):
            print(line)
        link = page.input_value("#link")
        context.set_offline(True)
        server.shutdown()
        second = context.new_page()
        began = time.monotonic()
        second.goto(link)
        wait_for(second, "Your program ran")
        assert "tensor(42.)" in second.inner_text("#output")
        seconds = time.monotonic() - began
        print(f"second visit, without a network: a shared program has run after {seconds:.1f} s")
        by_keyboard(second)
        second.set_viewport_size({"width": 400, "height": 800})
        assert second.evaluate("document.documentElement.scrollWidth") <= 400
        assert not wrong, wrong
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
