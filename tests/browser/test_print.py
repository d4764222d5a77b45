"""Exported pages on paper."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import pytest
from lab import Explorer
from playwright.sync_api import Page, expect

import autolab as torch
from autolab.widgets import explore


def drawn(pdf: bytes) -> list[tuple[int, set[str]]]:
    """(letters shown, colours filled with) of each page of Chromium's PDF, in its order."""
    objects = {
        int(number): body
        for number, body in re.findall(rb"(\d+) 0 obj\b(.*?)endobj", pdf, re.DOTALL)
    }
    order = re.search(rb"/Type /Pages.*?/Kids \[([^\]]*)\]", pdf, re.DOTALL)
    assert order
    found = []
    for number in re.findall(rb"(\d+) 0 R", order[1]):
        contents = re.search(rb"/Contents (\d+) 0 R", objects[int(number)])
        assert contents
        body = objects[int(contents[1])]
        text = zlib.decompress(
            body[body.index(b"stream") + 6 : body.rindex(b"endstream")].strip(b"\r\n")
        ).decode("latin-1")
        found.append(
            (
                len(re.findall(r"\bTj\b|\bTJ\b", text)),
                set(re.findall(r"([\d.]+ [\d.]+ [\d.]+) rg\b", text)),
            )
        )
    return found


@pytest.mark.parametrize(
    "page_options",
    [{"color_scheme": "light"}, {"color_scheme": "dark"}],
    indirect=True,
    ids=["light", "dark"],
)
def test_the_first_page_is_full_and_colours_stay(page: Page, tmp_path: Path) -> None:
    torch.manual_seed(0)
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 3, 3),
        nn.BatchNorm2d(3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(108, 4),
    )
    loss = nn.functional.cross_entropy(model(torch.randn(2, 1, 14, 14)), torch.tensor([1, 2]))
    page.goto(
        explore(loss, params={"w": model[5].weight}, selected="w", step=16)
        .to_html(tmp_path / "paper.html")
        .as_uri()
    )
    shown = Explorer(page)
    expect(shown.graph).to_be_visible()
    cells = shown.details.get_by_role("table", name="value of w: sample").get_by_role("cell")
    colours = set(cells.evaluate_all("all => all.map((e) => getComputedStyle(e).backgroundColor)"))
    assert len(colours) > 15
    pages = drawn(page.pdf(width="210mm", height="180mm"))
    assert len(pages) > 1 and pages[0][0] > 20, "the first page has the graph, not a heading alone"
    painted = [[float(n) for n in words.split()] for _, fills in pages for words in fills]
    for colour in colours:
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)]
        assert any(
            all(abs(a - b) < 0.003 for a, b in zip(parts, fill, strict=True)) for fill in painted
        ), colour


@pytest.mark.parametrize("page_options", [{"color_scheme": "dark"}], indirect=True, ids=["dark"])
def test_the_cheat_sheet_is_one_full_page(page: Page, tmp_path: Path) -> None:
    from autolab.classroom.cheatsheet import page as sheet

    (tmp_path / "sheet.html").write_text(sheet(), encoding="utf-8")
    page.goto((tmp_path / "sheet.html").as_uri())
    assert len(drawn(page.pdf(prefer_css_page_size=True, print_background=True))) == 1
    page.emulate_media(media="print")
    wide, seen, last, right = page.evaluate(
        "() => { const columns = document.querySelector('.columns'), side = (e) => e.getBoundingClientRect().right; "
        "return [columns.scrollWidth, columns.clientWidth, side([...document.querySelectorAll('dl div')].at(-1)), side(columns)]; }"
    )
    assert wide <= seen and last > 0.7 * right, "three columns, and the third is begun"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
