"""Gradient states as the page has them: the same as Python's after every step, and seen in words, colours and
patterns."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import trace_stories
from lab import Explorer, Shown, learners_trace, script_says
from playwright.sync_api import Page, expect
from zoo import CASES, recorded

import autolab
from autolab.trace import Trace
from autolab.viz import html
from autolab.widgets import ConvExplorer, LossLandscape, explore
from autolab.widgets.packing import pack

EVERYTHING = """(m, stories) => stories.map((data) => {
  const trace = m.unpack(data), line = m.timelineOf(trace), all = [...trace.frames.keys()];
  const each = (find) => all.map((i) => Object.fromEntries(trace.nodes.map(({ id }) => [id, find(id, i)])));
  return {
    states: [-1, ...all].map((i) => m.statesAt(trace, i)),
    whys: each((id, i) => line.whyNever(id, i)),
    gradients: each((id, i) => line.gradient(id, i)),
    names: each((id, i) => line.returnedAs(id, i)),
  };
})"""


def gradients(trace: Trace) -> list[dict[str, object]]:
    """What each node holds after each frame, worked out from the definition: the last total that is not gone."""
    held = {n.id: n.grad_before for n in trace.nodes}
    grads, run, found = dict(held), 0, []
    passes = {p.run: p for p in trace.passes}
    for frame in trace.frames:
        if frame.run > run:
            run = frame.run
            for node in passes[run].fresh if run in passes else ():
                grads[node] = (
                    held[node]
                    if trace.node(node).kind != "op" or trace.node(node).grad is None
                    else grads[node]
                )
        grads |= dict.fromkeys(frame.dropped)
        if frame.receiver is not None and not (frame.event == "free" and frame.state != "freed"):
            grads[frame.receiver] = (
                None if frame.state in ("none", "never", "freed") else frame.total
            )
            if frame.event in ("accumulate", "clear"):
                held[frame.receiver] = grads[frame.receiver]
        found.append(
            {
                n: None if g is None else json.loads(json.dumps(g.to_json()))
                for n, g in grads.items()
            }
        )
    return found


def test_the_script_says_what_python_says(page: Page) -> None:
    traces = [
        learners_trace(),
        *(recorded(case).trace() for case in CASES),
        *map(trace_stories.recorded, range(40)),
    ]
    assert {f.state for t in traces for f in t.frames} >= {
        "zero",
        "never",
        "contribution",
        "accumulated",
        "returned",
        "freed",
    }
    given = [json.loads(json.dumps(pack(t))) for t in traces]
    big = [json.loads(json.dumps(pack(t, numbers=False))) for t in traces]
    for numbers, stories in ((True, given), (False, big)):
        for trace, said in zip(traces, script_says(page, EVERYTHING, stories), strict=True):
            if numbers or not any(
                n.grad_before or (n.kind == "op" and n.grad) for n in trace.nodes
            ):
                assert said["states"] == [trace.states(i) for i in range(-1, len(trace.frames))]
                assert said["whys"] == [
                    {n.id: trace.why_never(n.id, f.index) for n in trace.nodes}
                    for f in trace.frames
                ]
            if numbers:
                assert said["gradients"] == gradients(trace)
            for frame in trace.frames:
                if frame.event == "return" and frame.state == "returned":
                    assert said["names"][frame.index][frame.receiver] == frame.name


def opened(page: Page, source: Any, folder: Path, **options: Any) -> Explorer:
    page.goto(explore(source, **options).to_html(folder / "states.html").as_uri())
    shown = Explorer(page)
    expect(shown.graph).to_be_visible()
    return shown


def name_of(shown: Explorer, node: str) -> str:
    return shown.node(node).get_attribute("aria-label") or ""


def word_on(shown: Explorer, node: str) -> str:
    return shown.node(node).locator(".al-word").text_content() or ""


def test_a_gradient_that_grad_hands_back(page: Page, tmp_path: Path) -> None:
    with autolab.record() as recording:
        speed = autolab.tensor(4.0, requires_grad=True)
        energy = speed**2 * 0.5
        (momentum,) = autolab.autograd.grad(energy, speed)
    shown = opened(page, recording, tmp_path, step=10_000)
    expect(shown.said).to_contain_text(
        "grad() returns 4 as momentum: the gradient of energy with respect to speed; speed.grad stays None"
    )
    assert word_on(shown, "speed") == "returned as momentum"
    assert name_of(shown, "speed").endswith("gradient returned as momentum 4")
    expect(shown.details.get_by_role("heading", name="The gradient is handed back")).to_be_visible()
    expect(shown.details).to_contain_text("speed.grad stays as it was")
    expect(shown.details.locator(".al-state[data-state=returned]")).to_have_text(
        "returned as momentum"
    )
    expect(shown.root.get_by_role("list", name="Legend")).to_contain_text("returned")
    strip, word = (
        shown.node("speed").locator(part).bounding_box() for part in (".al-strip", ".al-word")
    )
    assert strip and word and word["x"] + word["width"] <= strip["x"] + strip["width"], (
        "the name has room"
    )
    assert shown.check("faint") == [] and shown.check("crowded") == []


def test_where_no_gradient_ever_comes(page: Page, tmp_path: Path) -> None:
    with autolab.record() as recording:
        a = autolab.tensor([1.0, 3.0], requires_grad=True)
        inner = a * 2
        fixed = inner.detach()
        place = inner.argmax()
        spare = a.exp()
        total = (a * fixed).sum() + place
        total.backward()
    seed = next(f.index for f in recording.trace().frames if f.event == "seed")
    shown = opened(page, recording, tmp_path, step=seed - 1)
    assert word_on(shown, "inner") == "not yet"
    assert "never" not in name_of(shown, "inner") and "never" not in name_of(shown, "fixed")
    shown.button("Next step").click()
    shown.at(seed)
    said = {
        node: name_of(shown, node).partition("gradient never: ")[2]
        for node in ("inner", "fixed", "place", "spare")
    }
    assert said == {
        "inner": "its way to total is cut at fixed by detach()",
        "fixed": "detach() cuts here",
        "place": "whole numbers have no gradient",
        "spare": "total does not depend on it",
    }
    assert word_on(shown, "inner") == word_on(shown, "spare") == "never"
    shown.node("inner").click()
    expect(shown.details.locator(".al-gradcell")).to_have_text(
        "neverits way to total is cut at fixed by detach()"
    )
    shown.node("place").click()
    expect(shown.details.locator(".al-gradcell")).to_have_text(
        "neverwhole numbers have no gradient"
    )
    shown.root.focus()
    page.keyboard.press("End")
    assert word_on(shown, "inner") == "never" and "accumulated" in name_of(shown, "a")
    assert shown.check("faint") == [] and shown.check("small") == []
    assert spare.requires_grad


def test_a_second_pass_leaves_the_first_and_goes_back_to_it(page: Page, tmp_path: Path) -> None:
    with autolab.record() as recording:
        k = autolab.tensor(2.0, requires_grad=True)
        for _ in range(2):
            error = (k * 3 - 1).tanh()
            error.backward()
    trace = recording.trace()
    ops = [n.label for n in trace.nodes if n.kind == "op"]
    first, second = ops[:3], ops[3:]
    end = max(f.index for f in trace.frames if f.run == 1)
    shown = opened(page, recording, tmp_path, step=10_000)
    assert {word_on(shown, label) for label in ops} == {"freed"}, (
        "no neighbour falls back to not yet"
    )
    shown.slider.fill(str(end))
    shown.at(end)
    assert {word_on(shown, label) for label in first} == {"freed"} and {
        word_on(shown, label) for label in second
    } == {"not yet"}


def test_a_rehearsal_says_what_would_be(page: Page, tmp_path: Path) -> None:
    m = autolab.tensor(3.0, requires_grad=True)
    n = (m * m).exp()
    trace = autolab.trace.trace(n, {"m": m, "n": n})
    shown = opened(page, trace, tmp_path, step=len(trace.frames) - 1)
    expect(shown.said).to_contain_text("backward, rehearsed")
    expect(shown.said).to_contain_text(
        "would be done: what it saved (self, other) would be freed, and with it its gradient"
    )
    expect(
        shown.root.get_by_text("Rehearsed: this is what backward() would do now")
    ).to_be_visible()
    assert word_on(shown, "m") == "all would be in" and word_on(shown, "n") == "would be freed"
    expect(shown.details.get_by_role("heading", name="The buffer would be freed")).to_be_visible()
    expect(shown.details.get_by_role("table").get_by_role("row").last).to_contain_text(
        "would be freed"
    )
    back = [f.index for f in trace.frames if f.phase == "backward"]
    for index in back:
        shown.slider.fill(str(index))
        expect(shown.details.locator(".al-step h2")).to_have_text(re.compile("would"))
        expect(shown.said).to_contain_text("would")


def test_a_rehearsal_tells_the_grad_of_an_earlier_pass_as_it_is(page: Page, tmp_path: Path) -> None:
    m = autolab.tensor(3.0, requires_grad=True)
    k = autolab.tensor(2.0, requires_grad=True)
    (m * k * 2).backward()
    n = m * k
    shown = opened(page, autolab.trace.trace(n, {"m": m, "n": n}), tmp_path, step=0)
    assert word_on(shown, "m") == "accumulated" and word_on(shown, "n") == "not yet"
    assert name_of(shown, "m").endswith("gradient accumulated 4")
    shown.node("m").click()
    expect(shown.details.locator(".al-gradcell .al-state")).to_have_text("accumulated")
    shown.root.focus()
    page.keyboard.press("End")
    assert word_on(shown, "m") == "all would be in" and name_of(shown, "m").endswith(
        "gradient all would be in 6"
    )


def test_closed_parts_say_never_done_and_not_yet(page: Page, tmp_path: Path) -> None:
    class Pair(autolab.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.cut = (
                autolab.nn.Sequential(autolab.nn.Linear(2, 2), autolab.nn.Tanh()) for _ in "12"
            )

        def forward(self, x: Any) -> Any:
            return self.used(x) * self.cut(x).detach()

    autolab.manual_seed(0)
    model = Pair()
    with autolab.record() as recording:
        model(autolab.ones(1, 2)).sum().backward()
    shown = opened(page, recording, tmp_path, expanded=[])
    words = lambda: [re.sub(r".*gradients ", "", name_of(shown, part)) for part in ("used", "cut")]
    assert words() == ["not yet", "not yet"]
    shown.root.focus()
    page.keyboard.press("End")
    expect(shown.node("used")).to_have_attribute("aria-label", re.compile("gradients done$"))
    assert words() == ["done", "never"]


@pytest.mark.parametrize("colours", ["light", "dark", "forced", "print"])
def test_every_state_has_its_own_word_and_look_in_the_legend(
    page: Page, tmp_path: Path, colours: str
) -> None:
    page.emulate_media(
        media="print" if colours == "print" else "screen",
        color_scheme="dark" if colours == "dark" else "light",
        forced_colors="active" if colours == "forced" else "none",
    )
    with autolab.record() as recording:
        a = autolab.tensor(1.0, requires_grad=True)
        (slope,) = autolab.autograd.grad(a.cos(), a)
    shown = opened(page, recording, tmp_path)
    badges = shown.root.locator(".al-legend .al-state")
    assert badges.all_inner_texts() == [
        "not yet",
        "never",
        "zero",
        "contribution",
        "accumulated",
        "returned",
        "freed",
    ]
    look = "all => all.map((e) => { const s = getComputedStyle(e); return [s.backgroundColor, s.backgroundImage, s.borderTopStyle].join(); })"
    looks = badges.evaluate_all(look)
    assert len(set(looks)) == 7, "no two look alike"
    assert badges.first.is_visible() and slope is not None
    assert shown.check("faint") == []


@pytest.mark.parametrize(
    "page_options",
    [{"forced_colors": "active", "color_scheme": "dark"}],
    indirect=True,
    ids=["forced"],
)
def test_in_forced_colours_all_can_be_told_apart(page: Page, tmp_path: Path) -> None:
    autolab.manual_seed(0)
    x, w, b = (autolab.tensor(value, requires_grad=True) for value in ([[2.0, -1.0]], 2.0, -1.0))
    along = explore(w * w + w)
    along.paths(w)
    asked = [autolab.practice(level=12, seed=1), autolab.inventory("before")]
    landscape = LossLandscape(lambda: w * w + 10 * b * b, {"w": w, "b": b}, lr=0.04, steps=3)
    plain = [landscape, ConvExplorer(autolab.rand(1, 4, 4), autolab.nn.Conv2d(1, 1, 3))]
    page.goto(
        html.write(
            tmp_path / "forced.html", [explore((x * 2).sum()), along, *asked, *plain]
        ).as_uri()
    )
    roots = page.locator(".al, .al-predict")
    expect(roots).to_have_count(6)
    for root in roots.all():
        assert Shown(page, root).check("faint") == []
    different = "cells => new Set(cells.map((cell) => getComputedStyle(cell).backgroundColor)).size"
    for cells in (
        roots.nth(0).get_by_role("table", name="value of v1").get_by_role("cell"),
        roots.nth(5).get_by_role("gridcell"),
    ):
        assert cells.evaluate_all(different) > 1, "numbers have their colours"
    outline = "button => getComputedStyle(button).outlineStyle"
    for pressed in (
        roots.nth(1).locator(".al-path[aria-pressed=true]"),
        roots.nth(5).get_by_role("button", name="Forward"),
    ):
        assert pressed.evaluate(outline) == "solid"
    node = roots.nth(0).get_by_role("button", name=re.compile("^v1,"))
    ring = "node => getComputedStyle(node.querySelector('.al-ring')).stroke"
    before = node.evaluate(ring)
    node.focus()
    page.keyboard.press("Escape")
    assert node.evaluate(ring) not in (before, "none")


def test_numbers_of_a_big_trace_keep_their_states(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autolab.widgets.explorer.BIG", 1000)
    x = autolab.tensor(1.0, requires_grad=True)
    with autolab.record() as recording:
        y = x
        for _ in range(600):
            y = y.sin() * 1.01
        gone = y.detach()
        (slope,) = autolab.autograd.grad(y * gone, x, retain_graph=True)
        y.backward()
    trace = recording.trace()
    assert len(trace.nodes) >= 1000 and slope is not None
    given = next(f for f in trace.frames if f.event == "return")
    shown = opened(page, trace, tmp_path, step=given.index)
    expect(shown.said).to_contain_text("grad() returns the gradient for x as slope")
    assert word_on(shown, "x") == "returned as slope"
