"""The paths tool of the explorer, on a page without a kernel; its arithmetic is that of Python."""

from __future__ import annotations

import random
import re
from pathlib import Path

from lab import Explorer, offline, script_says
from playwright.sync_api import Browser, Page, expect

import autolab as torch
from autolab.trace.questions.paths import local_derivatives, paths, to_json


def drawn(seed: int) -> torch.trace.Trace:
    """A graph drawn at random, every other one of small tensors."""
    chance = random.Random(seed)
    shape = () if seed % 2 else (2,)
    x = torch.full(shape, 0.75, dtype=torch.float64, requires_grad=True)
    known = [x, x * 2]
    for _ in range(3 + seed):
        a, b = chance.choice(known), chance.choice(known)
        known.append(
            chance.choice(
                [
                    lambda a, b: a * b,
                    lambda a, b: a + b,
                    lambda a, b: (a - b * 2).tanh(),
                    lambda a, b: a.sin() * b,
                ]
            )(a, b)
        )
    return torch.trace.trace(sum(known).sum())


def test_a_page_multiplies_as_python_does(page: Page) -> None:
    given, expected = [], []
    for seed in range(8):
        trace = drawn(seed)
        local, ends = local_derivatives(trace), ("n0", trace.meta["roots"][0])
        known = paths(trace, *ends, local)
        given.append([trace.to_json(), *ends, to_json(local)])
        counts = str(known.count), len(known.paths), str(known.by_path), str(known.in_reverse)
        expected.append((*counts, known.gradient, [list(path.edges) for path in known.paths]))
    said = script_says(
        page,
        """(m, all) => all.map((given) => {
             const { count, paths, sum, byPath, inReverse } = m.pathsBetween(...given);
             return [String(count), paths.length, String(byPath), String(inReverse), sum, paths.map(({ edges }) => edges.map(({ id }) => id))];
           })""",
        given,
    )
    for (*counts, gradient, edges), (*python, known, ids) in zip(said, expected):
        assert counts == python and edges == ids
        assert abs(torch.tensor(gradient, dtype=torch.float64) - torch.tensor(known)).max() < 1e-9


def test_paths_of_a_big_tensor_are_counted_and_nothing_of_its_size_squared_is_made(
    page: Page, tmp_path: Path
) -> None:
    x = torch.ones(100_000, requires_grad=True)
    trace = torch.trace.trace((x.sin() * x).sum())
    known = paths(trace, "n0", trace.meta["roots"][0], local_derivatives(trace))
    assert known.count == 2 and known.gradient is None
    page.goto(torch.explore(trace).to_html(tmp_path / "big.html").as_uri())
    shown = Explorer(page)
    shown.choose("Paths")
    panel = shown.root.get_by_role("group", name="Paths")
    expect(panel.get_by_role("status")).to_have_text(re.compile("^2 paths from x to "))
    for end in ("From", "To"):
        panel.get_by_role("combobox", name=end).select_option(label="sin(x)")
    expect(panel.get_by_role("status")).to_have_text("No gradient flows from sin(x) to sin(x).")


def test_paths_are_lit_one_by_one_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    x = torch.tensor(3.0, requires_grad=True)
    a = x * 2
    b = x + 1
    y = a * b + b
    file = torch.explore(y).to_html(tmp_path / "paths.html")
    with offline(browser, viewport={"width": 400, "height": 900}, color_scheme="dark") as page:
        page.goto(file.as_uri())
        shown = Explorer(page)
        shown.graph.wait_for()
        shown.choose("Paths")
        panel = shown.root.get_by_role("group", name="Paths", exact=True)
        expect(panel.get_by_role("status")).to_have_text("3 paths from x to y")
        listed = [
            "x → a → a · b → y: 2 · 4 · 1 = 8",
            "x → b → a · b → y: 1 · 6 · 1 = 6",
            "x → b → y: 1 · 1 = 1",
        ]
        expect(panel.get_by_role("list", name="Paths").get_by_role("button")).to_have_text(listed)
        expect(panel).to_contain_text(
            "Their sum is the gradient of y with respect to x: 8 + 6 + 1 = 15."
        )
        expect(panel).to_contain_text("Multiplications: 8 path by path, 6 in reverse mode")
        lit = shown.graph.locator(".al-lit")
        expect(lit).to_have_count(3)
        expect(lit.locator(".al-pilltext")).to_have_text(["× 2", "× 4", "× 1"])  # whatever the step
        page.keyboard.press("Tab")
        second = panel.get_by_role("button", name=re.compile("^x → b → a · b"))
        second.press("Enter")
        expect(second).to_have_attribute("aria-pressed", "true")
        expect(lit.locator(".al-pilltext")).to_have_text(["× 1", "× 6", "× 1"])
        shown.root.press("ArrowRight")
        expect(lit.locator(".al-pilltext")).to_have_text(["× 1", "× 6", "× 1"])
        panel.get_by_role("combobox", name="From").select_option(label="b")
        expect(panel).to_contain_text("6 + 1 = 7")
        assert shown.check("faint") == [] and shown.check("unnamed") == []
        panel.get_by_role("combobox", name="From").press("Escape")
        expect(panel).to_be_hidden()
        expect(lit).to_have_count(0)
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    explorer = torch.explore(model(torch.ones(4, 2)).mean())
    explorer.paths("0.bias")
    with offline(browser) as page:
        page.goto(explorer.to_html(tmp_path / "boxes.html").as_uri())
        panel = Explorer(page).root.get_by_role("group", name="Paths", exact=True)
        expect(panel.get_by_role("list", name="Paths").get_by_role("button")).to_have_text(
            re.compile(r": 1×4 · 4×12 · 12×12 · 12×3$")
        )
        panel.get_by_text("The numbers of the sum, [1, 3]").click()
        expect(panel.get_by_role("table")).to_be_visible()
