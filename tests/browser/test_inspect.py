"""What Inspect says on a page: formulas, names, states of gradients, what was saved, and why a number is missing."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
import trace_stories
from lab import learners_trace, opened, script_says
from packed import mathml_of
from playwright.sync_api import Page, expect
from zoo import CASES, recorded

import autolab as torch
from autolab.trace import Trace
from autolab.trace.captions.formulas import symbol
from autolab.trace.model import Node
from autolab.widgets import explore
from autolab.widgets.mathml import formulas
from autolab.widgets.packing import pack


def test_the_script_has_the_states_and_gradients_that_python_has(page: Page) -> None:
    traces = [learners_trace(), *(recorded(case).trace() for case in CASES)]
    traces += map(trace_stories.recorded, range(20))
    function = """(m, stories) => stories.map((data) => {
      const trace = m.unpack(data), line = m.timelineOf(trace);
      const all = [...trace.frames.keys()];
      const whys = all.map((i) => Object.fromEntries(trace.nodes.map(({ id }) => [id, line.whyNever(id, i)])));
      return [[-1, ...all].map((i) => m.statesAt(trace, i)), whys];
    })"""
    said = script_says(page, function, [json.loads(json.dumps(pack(t))) for t in traces])
    for trace, (states, whys) in zip(traces, said, strict=True):
        assert states == [trace.states(i) for i in range(-1, len(trace.frames))]
        known = [{n.id: trace.why_never(n.id, f.index) for n in trace.nodes} for f in trace.frames]
        assert whys == known


def test_a_page_fills_numbers_and_names_into_the_forms_of_formulas(page: Page) -> None:
    name = "<b>'[%]_#{"
    hostile = (torch.tensor(-1.5e-7, requires_grad=True) * 3) ** 2
    seen = [
        explore(hostile, {name: torch.tensor(1.0)}).trace,
        *map(trace_stories.recorded, range(9)),
    ]
    texts = {
        rf"x^2 + {symbol(name)}_{{12}}^{{10}} \cdot 10^{{-7}}",
        r"v_{1} \overset{\mathrm{float32}}{=} \mathbf{1}_{2 \times 3}",
    }
    for t in seen:
        texts |= {
            tex for part in (t.nodes, t.edges) for r in part for tex in (r.tex, r.tex_numbers)
        }
        texts |= {frame.tex for frame in t.frames}
    written = sorted(texts - {""})
    forms = formulas(Trace(tuple(Node(f"n{i}", "op", tex=tex) for i, tex in enumerate(written))))
    said = script_says(
        page, "(m, forms, texts) => texts.map((tex) => m.mathmlOf(forms, tex))", forms, written
    )
    escaped = {"&#60;": "&lt;", "&#62;": "&gt;", "&#38;": "&amp;"}
    for tex, mathml in zip(written, said, strict=True):
        plain = re.sub("&#(60|62|38);", lambda m: escaped[m[0]], mathml)
        assert plain == mathml_of(tex) != "", tex


def test_each_pass_shows_its_own_gradients(page: Page, tmp_path: Path) -> None:
    """Also at a result whose `.grad` is kept: what its rule was applied to is what arrived, not what adds up there."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with torch.record() as recording:
        h = x * 5
        h.retain_grad()
        y = h.mean()
        y.backward(torch.tensor(6.0), retain_graph=True)
        y.backward(torch.tensor(33.0))
    trace = recording.trace()
    shown = opened(page, explore(trace), tmp_path)
    sends = [f.index for f in trace.frames if f.event == "contribution" and trace.node(f.node).label == "h"]  # fmt: skip
    for index, arrived, sent in zip(sends, (2, 11), (10, 55), strict=True):
        shown.go(index)
        cells = shown.details.get_by_role("table", name="gradient at h").get_by_role("cell")
        expect(cells).to_have_text([str(arrived)] * 3)
        rule = shown.details.locator(".al-row", has_text="chain rule").locator("math").last
        expect(rule).to_have_text(f"=[{sent}{sent}{sent}]")


def test_no_formula_is_cut_and_boxes_that_scroll_say_so(page: Page, tmp_path: Path) -> None:
    q, target = torch.tensor([0.3, 0.6], requires_grad=True), torch.tensor([0.0, 1.0])
    F = torch.nn.functional
    loss = F.binary_cross_entropy(q, target) + torch.softmax(q, 0).max() + F.huber_loss(q, target)
    shown = opened(page, explore(loss), tmp_path)
    cut = """root => [...root.querySelectorAll(".al-formula math")].filter((math) => {
      const piece = math.getBoundingClientRect(), place = math.closest(".al-formula"), box = place.getBoundingClientRect();
      return !place.ariaLabel?.endsWith(": scrolls") && (piece.right > box.right + 1 || piece.left < box.left - 1);
    }).map((math) => math.textContent)"""
    assert shown.details.is_visible()
    for step in range(int(shown.slider.get_attribute("max") or 0) + 1):
        shown.go(step)
        assert shown.details.evaluate(cut) == [], step


def test_numbers_and_names_stand_as_written(page: Page, tmp_path: Path) -> None:
    with torch.record() as recording:
        p = torch.tensor(1 / 3, requires_grad=True)
        inputs = {"a{b^'": torch.tensor([[1.0, 4.0, 2.0]], requires_grad=True)}
        y = p * 1.0003
        top, where = inputs["a{b^'"].max(1)
        (y.exp() * top.sum() + where.sum()).backward()
    shown = opened(page, explore(recording), tmp_path)
    expect(shown.said).to_contain_text("1.0003")
    expect(shown.details.locator("math").nth(1)).to_have_text(re.compile("0.333≈0.333·1.0003"))
    expect(shown.node("top, where")).to_be_visible()
    shown.go(1)
    name = shown.details.locator("math mi", has_text="inputs[").first
    expect(name).to_have_text("""inputs["a{b^'"]""")
    shown.node("y").click()
    table = shown.details.get_by_role("table", name="Saved by y")
    expect(table.get_by_role("row").nth(1)).to_contain_text("1.0003 (other)")
    shown.details.get_by_text("What it keeps, and why").click()
    expect(shown.details).to_contain_text(
        "1.0003: mul keeps its second operand for the backward pass."
    )


def test_each_of_several_results_has_its_own_gradient(page: Page, tmp_path: Path) -> None:
    with torch.record() as recording:
        x = torch.tensor([2.0, 3.0], requires_grad=True)
        a, b = x.unbind(0)
        a.register_hook(lambda grad: grad * 10)
        (a * b).backward()
    frames = recording.trace().frames
    shown = opened(page, explore(recording), tmp_path)
    shown.go(next(f.index for f in frames if f.text == "v1 sends 2 to b"))
    expect(shown.details).to_contain_text(re.compile("gradient at b.*before.*nothing.*arrives.*2"))
    shown.go(next(f.index for f in frames if f.event == "hook"))
    expect(shown.details).to_contain_text(re.compile("has arrived.*3.*the hook gives.*30"))


def test_where_no_gradient_ever_comes(page: Page, tmp_path: Path) -> None:
    with torch.record() as recording:
        a = torch.tensor([1.0, 3.0], requires_grad=True)
        inner = a * 2
        fixed = inner.detach()
        place = inner.argmax()
        spare = a.exp()
        total = (a * fixed).sum() + place
        total.backward()
    assert spare.requires_grad
    seed = next(f.index for f in recording.trace().frames if f.event == "seed")
    shown = opened(page, explore(recording, step=seed - 1), tmp_path)
    name = lambda node: shown.node(node).get_attribute("aria-label") or ""  # noqa: E731
    assert "never" not in name("inner") and "never" not in name("fixed")
    shown.go(seed)
    why = {
        "inner": "its way to total is cut at fixed by detach()",
        "fixed": "detach() cuts here",
        "place": "whole numbers have no gradient",
        "spare": "total does not depend on it",
    }
    assert {node: name(node).partition("gradient never: ")[2] for node in why} == why
    shown.node("place").click()
    cell = shown.details.locator(".al-gradcell")
    expect(cell).to_have_text("neverwhole numbers have no gradient")


def test_a_gradient_that_grad_hands_back(page: Page, tmp_path: Path) -> None:
    with torch.record() as recording:
        speed = torch.tensor(4.0, requires_grad=True)
        energy = speed**2 * 0.5
        (momentum,) = torch.autograd.grad(energy, speed)
    assert momentum == 4
    shown = opened(page, explore(recording, step=10_000), tmp_path)
    expect(shown.node("speed")).to_have_accessible_name(
        re.compile("gradient returned as momentum 4$")
    )
    heading = shown.details.get_by_role("heading", name="The gradient is handed back")
    expect(heading).to_be_visible()
    expect(shown.details).to_contain_text("speed.grad stays as it was")


def test_closed_parts_say_never_done_and_not_yet(page: Page, tmp_path: Path) -> None:
    nn = torch.nn

    class Pair(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.cut = (nn.Sequential(nn.Linear(2, 2), nn.Tanh()) for _ in "12")

        def forward(self, x: Any) -> Any:
            return self.used(x) * self.cut(x).detach()

    with torch.record() as recording:
        Pair()(torch.ones(1, 2)).sum().backward()
    shown = opened(page, explore(recording, expanded=[]), tmp_path)
    for part in ("used", "cut"):
        expect(shown.node(part)).to_have_accessible_name(re.compile("gradients not yet$"))
    shown.root.press("End")
    expect(shown.node("used")).to_have_accessible_name(re.compile("gradients done$"))
    expect(shown.node("cut")).to_have_accessible_name(re.compile("gradients never$"))


def test_an_error_is_shown_where_it_happened(page: Page, tmp_path: Path) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.record() as recording, contextlib.suppress(RuntimeError):
        y = x.exp()
        y.add_(1)
        y.sum().backward()
    shown = opened(page, explore(recording, step=99), tmp_path)
    expect(shown.details.get_by_role("note")).to_contain_text("modified by an inplace operation")
    expect(shown.node("y")).to_have_class(re.compile("al-failed"))
    saved = shown.details.get_by_role("table", name=re.compile("^Saved by"))
    expect(saved.get_by_role("cell").last).to_have_text("modified")


def test_a_value_that_is_missing_says_why(page: Page, tmp_path: Path) -> None:
    torch.manual_seed(0)
    x, w = torch.randn(40, 60, requires_grad=True), torch.randn(40, 60)
    y = (x.nan_to_num(nan=2.0) + 1 + w).exp()
    y.mul_(2)
    shown = opened(page, explore(y.sum(), step=4), tmp_path)
    shown.node("nan_to_num(x)").click()
    expect(shown.details).to_contain_text("it is not computed again: its argument nan was not kept")


def test_a_big_page_says_where_its_numbers_are(page: Page, tmp_path: Path) -> None:
    y = torch.tensor(1.0, requires_grad=True)
    for i in range(4200):
        y = y * 1.5 if i % 2 else y - 0.5
    shown = opened(page, explore(y, step=40), tmp_path)
    said = r"this graph has [\d,]+ nodes: its numbers stay in the notebook's kernel"
    expect(shown.details).to_contain_text(re.compile(said))
    valuetext = shown.slider.get_attribute("aria-valuetext") or ""
    assert re.match(r"Step 41 of 1\d,\d{3}, forward", valuetext)


def test_histograms_before_and_after_a_step(page: Page, tmp_path: Path) -> None:
    torch.manual_seed(0)
    w, x = torch.randn(3, 4, requires_grad=True), torch.randn(30, 3)
    with torch.record() as recording:
        (x @ w).relu().exp().mean().backward()
        torch.optim.SGD([w], lr=0.1).step()
    shown = opened(page, explore(recording, step=10_000), tmp_path)
    shown.node("w").click()
    shown.details.get_by_text("Histograms").click()
    captions = shown.details.locator(".al-histogram figcaption b")
    expect(captions).to_have_text(["before the step", "after the step", "gradient"])
    ends = shown.details.locator(".al-histogram .al-ends")
    assert ends.nth(0).inner_text() == ends.nth(1).inner_text(), "one axis"
    shown.go(0)
    expect(captions).to_have_text(["value"])


@pytest.mark.parametrize(
    "page_options", [{"viewport": {"width": 400, "height": 800}}], indirect=True, ids=["400 px"]
)
def test_wide_tables_scroll_in_their_own_box(page: Page, tmp_path: Path) -> None:
    torch.manual_seed(3)
    h, w = torch.randn(2, 8, requires_grad=True), torch.randn(8, 8, requires_grad=True)
    shown = opened(page, explore(torch.tanh(h @ w / 1000).sum(), step=10_000), tmp_path)
    for name in ("h", "w"):
        shown.node(name).dispatch_event("click")
        assert shown.details.evaluate("d => d.scrollWidth <= d.clientWidth + 1")
