"""Formulas of the explorer: in their place at every step, and with the numbers of the pass that is shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import trace_stories
from lab import Explorer, script_says
from packed import mathml_of
from playwright.sync_api import Page, expect

import autolab as torch
from autolab.nn import functional as F
from autolab.trace import Trace
from autolab.trace.captions.formulas import symbol
from autolab.trace.model import Node
from autolab.widgets import explore
from autolab.widgets.mathml import formulas

# The widest are as small as can be read, and scroll in a box that says so.
CUT = """root => [...root.querySelectorAll(".al-formula math")].filter((math) => {
  const piece = math.getBoundingClientRect(), box = math.closest(".al-formula").getBoundingClientRect();
  const place = math.closest(".al-formula"), named = (place.getAttribute("aria-label") ?? "").endsWith(": scrolls");
  if (named && getComputedStyle(place).fontSize === "12px" && math.textContent.length > 30) return false;
  return piece.right > box.right + 1 || piece.left < box.left - 1;
}).map((math) => math.textContent)"""
STACKED = """root => [...root.querySelectorAll(".al-formula")].flatMap((box) => {
  const pieces = [...box.querySelectorAll(":scope > math")].map((math) => math.getBoundingClientRect());
  return pieces.slice(1).filter((b, i) => b.top < pieces[i].bottom - 1 && b.left < pieces[i].right - 1).map(() => box.textContent);
})"""


@pytest.fixture
def page_options() -> dict[str, Any]:
    return {"viewport": {"width": 1366, "height": 768}}


def regression() -> None:
    X, y = torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.5, 0.25]]), torch.tensor([[1.0], [0.0], [2.0]])
    w, b = (
        torch.tensor([[0.3], [-0.2]], requires_grad=True),
        torch.tensor([0.1], requires_grad=True),
    )
    for _ in range(2):
        (((X @ w + b - y) ** 2).mean() + w.abs().sum()).backward()


def losses() -> None:
    q, target = torch.tensor([0.3, 0.6], requires_grad=True), torch.tensor([0.0, 1.0])
    loss = (
        F.binary_cross_entropy(q, target)
        + F.mse_loss(q, target)
        + torch.softmax(q, 0).max()
        + F.huber_loss(q, target, delta=0.5)
    )
    loss.backward()


@pytest.mark.parametrize("program", [regression, losses])
def test_no_formula_is_cut_and_no_piece_lies_on_another(
    page: Page, tmp_path: Path, program: Any
) -> None:
    with torch.record() as recording:
        program()
    widget = explore(recording)
    page.goto(widget.to_html(tmp_path / "formulas.html").as_uri())
    shown = Explorer(page)
    shown.root.focus()
    for frame in widget.trace.frames:
        expect(shown.said).to_contain_text(frame.text)
        assert shown.details.evaluate(CUT) == [], frame.text
        assert shown.details.evaluate(STACKED) == [], frame.text
        page.keyboard.press("ArrowRight")


def test_each_pass_shows_its_own_gradients(page: Page, tmp_path: Path) -> None:
    """Also at a result whose `.grad` is kept: what its rule was applied to is what arrived, not what adds up there."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with torch.record() as recording:
        h = x * 5
        h.retain_grad()
        y = h.mean()
        y.backward(torch.tensor(6.0), retain_graph=True)
        y.backward(torch.tensor(33.0))
    widget = explore(recording)
    page.goto(widget.to_html(tmp_path / "passes.html").as_uri())
    shown = Explorer(page)
    trace = widget.trace
    sends = [
        f for f in trace.frames if f.event == "contribution" and trace.node(f.node).label == "h"
    ]
    shown.root.focus()
    for frame, arrived, sent in zip(sends, (2, 11), (10, 55), strict=True):
        while f"Step {frame.index + 1} of" not in (shown.said.text_content() or ""):
            page.keyboard.press("ArrowRight")
        cells = shown.details.get_by_role("table", name="gradient at h").get_by_role("cell")
        expect(cells).to_have_text([str(arrived)] * 3)
        rule = shown.details.locator(".al-row", has_text="chain rule").locator("math").last
        expect(rule).to_have_text(f"=[{sent}{sent}{sent}]")
    page.keyboard.press("Home")
    expect(shown.details.locator(".al-row", has_text="local derivative for x")).to_be_visible()
    for _ in widget.trace.frames:
        if "y = mean" in (shown.said.text_content() or ""):  # forward: no gradient is known yet
            rule = shown.details.locator(".al-row", has_text="gradient rule for h")
            expect(rule.locator("math").first).to_be_visible()
            assert "33" not in (rule.text_content() or "") and "6" not in (
                rule.text_content() or ""
            )
        page.keyboard.press("ArrowRight")


def test_a_page_fills_numbers_and_names_into_the_forms_of_formulas(page: Page) -> None:
    name = "<b>'[%]_#{"
    hostile = explore(
        (torch.tensor(-1.5e-7, requires_grad=True) * 3) ** 2, {name: torch.tensor(1.0)}
    ).trace
    odd = [
        rf"x^2 + {symbol(name)}_{{12}}^{{10}} \cdot 10^{{-7}}",
        r"v_{1} \overset{\mathrm{float32}}{=} \mathbf{1}_{2 \times 3}",
    ]
    seen = [hostile, *map(trace_stories.recorded, range(20))]
    written = {
        tex
        for t in seen
        for part in (t.nodes, t.edges)
        for r in part
        for tex in (r.tex, r.tex_numbers)
    }
    written |= {frame.tex for t in seen for frame in t.frames} | set(odd)
    texts = sorted(written - {""})
    forms = formulas(Trace(tuple(Node(f"n{i}", "op", tex=tex) for i, tex in enumerate(texts))))
    said = script_says(
        page,
        "(m, forms, texts) => texts.map((tex) => m.mathmlOf(forms, tex))",
        forms,
        texts,
    )
    for tex, mathml in zip(texts, said, strict=True):
        assert (
            re.sub(
                "&#(60|62|38);", lambda m: {"60": "&lt;", "62": "&gt;", "38": "&amp;"}[m[1]], mathml
            )
            == mathml_of(tex)
            != ""
        ), tex
