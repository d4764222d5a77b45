"""Open every page of the site in Chromium, light and dark, and report errors, requests to other
sites, broken links and problems that axe finds. Everything that a lesson's questions hide is opened
first.

    AUTOLAB_CHROMIUM=/usr/bin/chromium python tools/site/check.py build/site
"""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, sync_playwright

RULES = [
    "wcag2a",
    "wcag2aa",
    "wcag21a",
    "wcag21aa",
]  # axe's best practices also want a name for every corner of a table
CONTRAST = "color-contrast"
APART = [("lite",), ("playground",)]  # folders of the site that other commands build
KINDS = """() => {
  const ids = new Map(), first = new Map();
  const words = (node) => node.nodeType === Node.TEXT_NODE && node.data.trim();
  const look = (element, above) => {
    const style = getComputedStyle(element);
    if (style.display === "none") return;
    const { color, background, opacity, font, fill, textShadow, position } = style;
    const key = [above, element.localName, element.getAttribute("class"), color, background, opacity, font, fill, textShadow, position].join("; ");
    if (!ids.has(key)) ids.set(key, ids.size);
    const id = ids.get(key);
    if (!first.has(id) && ([...element.childNodes].some(words) || element.matches("input, select, textarea"))) first.set(id, element);
    for (const child of (element.shadowRoot ?? element).children) look(child, id);
  };
  look(document.body, "");
  return [...first.values()];
}"""
"""The first element of each kind that has text. Of one kind are those that look the same and lie in the same: name,
classes, colours, font, and those of all that is around them. On a long page axe's rule of contrast took 8 of 10
seconds, for thousands of words of 50 kinds."""


class Addresses(HTMLParser):
    """The addresses that a page links to, and the ids of its elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if (
                name in ("href", "src")
                and value
                and tag in ("a", "img", "link", "script", "iframe")
            ):
                self.links.add(value)
            elif name in ("id", "name") and value:
                self.ids.add(value)


def pages_of(site: Path) -> list[Path]:
    """Return the pages, without a template that the theme leaves among its scripts."""
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


def broken(site: Path) -> list[str]:
    """Return the links within the site that lead nowhere."""
    pages = {path: Addresses(path.read_text(encoding="utf-8")) for path in pages_of(site)}
    wrong = []
    for path, page in pages.items():
        for link in sorted(page.links):
            address, fragment = urldefrag(link)
            if urlsplit(address).scheme:
                continue
            target = (path.parent / unquote(urlsplit(address).path)).resolve() if address else path
            if target.is_relative_to(site) and target.relative_to(site).parts[:1] in APART:
                continue
            if not target.exists():
                wrong.append(f"{path.relative_to(site)}: {link} is not there")
            elif fragment and target in pages and unquote(fragment) not in pages[target].ids:
                wrong.append(f"{path.relative_to(site)}: {link}: no such place in that page")
    return wrong


class Visitor:
    """Opens pages from the disk in a browser of its own."""

    def __init__(self, site: Path) -> None:
        self.site, self.wrong = site, []
        self.here = ""

    def visit(self, pages: list[Path]) -> list[str]:
        """Open the pages and return what is wrong, a line each."""
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=os.environ.get("AUTOLAB_CHROMIUM") or None
            )
            for path in pages:
                self.here = path.relative_to(self.site).as_posix()
                page = browser.new_page(
                    color_scheme="light",
                    reduced_motion="reduce",
                    viewport={"width": 1366, "height": 768},
                )
                self._listen(page)
                started = time.perf_counter()
                page.goto(path.as_uri())
                self._look(page)
                page.close()
                if (seconds := time.perf_counter() - started) > 10:
                    print(f"{self.here}: {seconds:.0f} s", flush=True)
            browser.close()
        return self.wrong

    def _say(self, words: str) -> None:
        self.wrong.append(f"{self.here}: {words}")

    def _listen(self, page: Page) -> None:
        page.on("pageerror", lambda error: self._say(f"error: {error}"))
        page.on(
            "console",
            lambda message: (
                self._say(f"console: {message.text}") if message.type == "error" else None
            ),
        )
        page.on("request", lambda request: self._asked(request.url))

    def _asked(self, url: str) -> None:
        if not url.startswith(("file:", "data:", "blob:")):
            self._say(f"asks for {url}")

    def _look(self, page: Page) -> None:
        if self.here.startswith("course/0"):
            page.wait_for_function(
                "document.documentElement.dataset.lesson === 'ready'", timeout=60_000
            )
            self._answer(page)
        if self.here == "search.html":
            self._search(page)
        for button in page.locator(".show-anyway").all()[::-1]:
            button.click()
        if page.locator(".awaits[hidden]").count():
            self._say("something stays hidden")
        page.evaluate(Axe().axe_script)
        self._axe(
            page,
            "document",
            {"runOnly": {"type": "tag", "values": RULES}, "rules": {CONTRAST: {"enabled": False}}},
        )
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.wait_for_function(
                "scheme => document.documentElement.dataset.theme === scheme", arg=scheme
            )
            self._axe(page, f"{{ include: ({KINDS})() }}", {"runOnly": [CONTRAST]}, f", {scheme}")

    def _axe(self, page: Page, context: str, rules: dict[str, Any], where: str = "") -> None:
        options = json.dumps(rules | {"resultTypes": ["violations"], "preload": False})
        for violation in page.evaluate(
            f"async () => (await axe.run({context}, {options})).violations"
        ):
            nodes = "; ".join(str(node["target"][-1]) for node in violation["nodes"][:3])
            self._say(f"axe{where}: {violation['id']} ({len(violation['nodes'])}): {nodes}")

    def _answer(self, page: Page) -> None:
        """Answer the first question of a lesson: it hides something until then, and afterwards says
        what was right."""
        hidden = page.locator(".awaits[hidden]").count()
        of = page.locator(".show-anyway").first.get_attribute("data-of")
        question = page.locator(f'[data-model="{of}"]').first
        choice: Any = question.get_by_role("radio").first
        if choice.count():
            choice.click()
        else:
            question.get_by_role("textbox").first.fill("1")
            question.get_by_role("textbox").first.press("Enter")
        question.get_by_text("Your prediction").first.wait_for(timeout=10_000)
        page.wait_for_function(
            "before => document.querySelectorAll('.awaits[hidden]').length < before",
            arg=hidden,
            timeout=10_000,
        )

    def _search(self, page: Page) -> None:
        """Search for a word that guides, lessons and reference contain; all three are found, and
        their pages exist."""
        page.goto(f"{page.url}?q=backward")
        page.wait_for_function(
            "/finished/.test(document.querySelector('#search-results .search-summary')?.textContent)",
            timeout=30_000,
        )
        found = page.locator("#search-results li a").evaluate_all(
            "links => links.map(link => link.href)"
        )
        paths = [Path(unquote(urlsplit(address).path)) for address in found]
        for folder in ("docs", "course", "api"):
            if not any(path.is_relative_to(self.site / folder) and path.exists() for path in paths):
                self._say(
                    f"a search for 'backward' finds nothing in {folder}/ ({len(paths)} results)"
                )


def visit(site: Path, pages: list[Path]) -> list[str]:
    """Return what is wrong with the pages, a line each."""
    return Visitor(site).visit(pages)


def main() -> int:
    site = Path(sys.argv[1]).resolve()
    pages = pages_of(site)
    wrong = broken(site)
    wanted = [page for page in pages if sys.argv[2:] in ([], [page.relative_to(site).as_posix()])]
    wanted.sort(key=lambda page: -page.stat().st_size)
    at_once = min(len(wanted), 4, os.cpu_count() or 1)
    with ProcessPoolExecutor(at_once) as pool:
        for found in pool.map(
            visit, [site] * at_once, [wanted[n::at_once] for n in range(at_once)]
        ):
            wrong += found
    print("\n".join(wrong) or "nothing to complain of")
    print(f"{len(wanted)} pages opened, light and dark; {len(wrong)} complaints")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
