"""Where a number is missing the page says why."""

from __future__ import annotations

import re
from pathlib import Path

from lab import Explorer
from playwright.sync_api import Page, expect

import autolab as torch
from autolab.widgets import explore


def test_a_value_that_is_not_known_says_why(page: Page, tmp_path: Path) -> None:
    torch.manual_seed(0)
    x, w = torch.randn(40, 60, requires_grad=True), torch.randn(40, 60)
    y = (x.nan_to_num(nan=2.0) + 1 + w).exp()
    y.mul_(2)
    page.goto(explore(y.sum()).to_html(tmp_path / "why.html").as_uri())
    shown = Explorer(page)
    shown.graph.get_by_role("button", name=re.compile("result of nan_to_num")).click()
    shown.slider.fill("4")
    expect(shown.details).to_contain_text("it is not computed again: its argument nan was not kept")
    shown.graph.get_by_role("button", name=re.compile("^w, data|^c1, data")).click()
    assert (
        not re.search(r"not kept(?!:)", shown.details.inner_text())
        or "not kept:" in shown.details.inner_text()
    )


def test_a_value_that_was_computed_again_says_so(page: Page, tmp_path: Path) -> None:
    torch.manual_seed(0)
    x = torch.randn(40, 60, requires_grad=True)
    page.goto(explore((x + 1).sum(), step=3).to_html(tmp_path / "again.html").as_uri())
    shown = Explorer(page)
    shown.graph.get_by_role("button", name=re.compile("result of add")).click()
    expect(shown.details).to_contain_text(
        "computed again from its operands: the graph did not keep it"
    )
    shown.node("x").click()
    expect(shown.details).not_to_contain_text("computed again")


def test_a_value_that_was_changed_since_is_that_of_then(page: Page, tmp_path: Path) -> None:
    x = torch.tensor([2.0], requires_grad=True)
    y = x * 3
    with torch.no_grad():
        y.add_(1)
    page.goto(explore(y, step=0).to_html(tmp_path / "since.html").as_uri())
    shown = Explorer(page)
    shown.node("y").click()
    expect(shown.details).to_contain_text(
        "as it was made: it was changed in place since, and is [7] now"
    )
    assert (
        "[6]" in shown.details.inner_text().replace("\n", "")
        or "6" in shown.details.locator("table").first.inner_text()
    )


def test_a_big_page_says_where_its_numbers_are(page: Page, tmp_path: Path) -> None:
    y = torch.tensor(1.0, requires_grad=True)
    for i in range(4200):
        y = y * 1.5 if i % 2 else y - 0.5
    page.goto(explore(y, step=40).to_html(tmp_path / "big.html").as_uri())
    shown = Explorer(page)
    expect(shown.details).to_contain_text(
        re.compile(r"this graph has [\d,]+ nodes: its numbers stay in the notebook's kernel")
    )
    last = int(shown.slider.get_attribute("max") or 0)
    for step in (0, last // 2 + 5, last - 3, last):
        shown.slider.fill(str(step))
        shown.at(step)
        words = shown.root.inner_text()
        assert not re.search(r"\?|\bunknown\b|\bnot kept\b", words), (step, words)


def test_what_saved_names_mean_opens_and_closes_although_details_are_written_anew(
    page: Page, tmp_path: Path
) -> None:
    x = torch.randn(3, requires_grad=True)
    page.goto(explore((x * x.exp()).sum()).to_html(tmp_path / "kept.html").as_uri())
    shown = Explorer(page)
    shown.graph.get_by_role("button", name=re.compile("result of mul")).click()
    words = shown.details.locator("details").first
    for open_ in (True, False, True):
        shown.details.locator("summary").click()
        page.wait_for_timeout(200)
        assert words.evaluate("e => e.open") == open_
    shown.button("Next step").click()
    assert words.evaluate("e => e.open"), "it stays as it was"
