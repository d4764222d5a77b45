"""What if: a number is changed on a page, and the graph runs again; as Python runs it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from lab import ROOT, Explorer, Notebook, Server, offline, script_says
from playwright.sync_api import Browser, Page, expect

import autolab as torch

sys.path.insert(0, str(ROOT / "tests" / "trace"))
from what_if_programs import PROGRAMS, recorded, values  # noqa: E402


def test_a_page_runs_programs_again_as_the_engine_does(page: Page) -> None:
    drawn = [recorded(seed) for seed in range(PROGRAMS)]
    flat = lambda v: (
        v if isinstance(v, dict) else {"shape": list(v.shape), "data": v.ravel().tolist()}
    )  # noqa: E731
    plain = [{node: flat(edit) for node, edit in edits.items()} for _, edits, _ in drawn]
    said = script_says(
        page,
        "(m, all) => all.map(([trace, edits]) => [...m.replay(trace, edits)])",
        [[trace.to_json(), edits] for (trace, _, _), edits in zip(drawn, plain)],
    )
    for seed, (found, (trace, _, expected)) in enumerate(zip(said, drawn)):
        changed, before = (
            {node: np.reshape(now["data"], now["shape"]) for node, now in found},
            values(trace),
        )
        assert len(changed) > 1
        for node, value in expected.items():
            now = changed.get(node, before[node])
            np.testing.assert_allclose(
                now, value, rtol=1e-4, atol=1e-6, err_msg=f"program {seed}, {trace.node(node).call}"
            )


def test_a_number_is_changed_by_field_and_slider(browser: Browser, tmp_path: Path) -> None:
    x = torch.tensor(3.0, requires_grad=True)
    a = x * 2
    b = x + 1
    y = a * b + b
    explorer = torch.explore(y)
    file = explorer.to_html(tmp_path / "what_if.html")
    with offline(browser, viewport={"width": 400, "height": 900}, color_scheme="dark") as page:
        page.goto(file.as_uri())
        shown = Explorer(page)
        shown.graph.wait_for()
        shown.button("What if").press("Enter")
        panel = shown.root.get_by_role("group", name="What if", exact=True)
        said, field = panel.get_by_role("status"), panel.get_by_role("spinbutton", name="Its value")
        expect(field).to_be_focused()
        expect(field).to_have_value("3")
        field.fill("3.01")
        expect(said).to_contain_text("y: 28 → 28.2; a: 6 → 6.02; b: 4 → 4.01; a · b: 24 → 24.1.")
        expect(said).to_contain_text(
            "Moved by 0.01: predicted 0.15 (gradient 15 times 0.01), happened 0.150; the rest, 0.0002"
        )
        expect(said).to_contain_text("is curvature")
        card = shown.graph.get_by_role(
            "button", name="y, what if: changed from 28 to 28.2", exact=True
        )
        expect(card).to_be_visible()
        assert shown.check("faint") == [] and shown.check("unnamed") == []
        panel.get_by_role("slider", name="Its value, by slider").press("Home")
        expect(field).to_have_value("-3")
        expect(said).to_contain_text("Moved by -6")
        panel.get_by_role("combobox", name="Change").select_option(label="the number 2, in a")
        field.fill("5")
        expect(said).to_contain_text(
            "Moved by 3: y changes by 36. 2 has no gradient that could have predicted it."
        )
        shown.at(0)  # keys that are typed are no steps
        panel.get_by_role("button", name="As recorded").click()
        expect(said).to_have_text("Change the number, and the graph runs again.")
        panel.get_by_role("button", name="Close").click()
        expect(shown.graph.locator(".al-changed")).to_have_count(0)
        expect(
            shown.graph.get_by_role("button", name="x, leaf, value 3", exact=False)
        ).to_be_visible()
        explorer.what_if("2", 5)  # from Python: it is open from the start
        page.goto(explorer.to_html(tmp_path / "tried.html").as_uri())
        expect(said).to_contain_text("Moved by 3: y changes by 36.")
        expect(field).to_have_value("5")
        expect(
            shown.graph.get_by_role("button", name="y, what if: changed from 28 to 64")
        ).to_be_visible()
        field.press("Escape")
        expect(panel).to_be_hidden()
        expect(shown.button("What if")).to_be_focused()


def test_before_the_graph_was_computed_what_if_shows_all_of_it(
    browser: Browser, tmp_path: Path
) -> None:
    x = torch.tensor(3.0, requires_grad=True)
    apart = torch.tensor(5.0, requires_grad=True) * 2
    y = x * 2 + apart
    with offline(browser) as page:
        page.goto(torch.explore(y).to_html(tmp_path / "early.html").as_uri())
        shown = Explorer(page)
        shown.graph.wait_for()
        shown.slider.fill("0")
        waiting = shown.graph.locator(".al-node.al-pending")
        before = waiting.count()
        assert before > 0
        shown.button("What if").press("Enter")
        expect(waiting).to_have_count(before)  # nothing is changed yet
        panel = shown.root.get_by_role("group", name="What if", exact=True)
        panel.get_by_role("spinbutton", name="Its value").fill("4")
        expect(waiting).to_have_count(0)
        expect(shown.graph.locator(".al-value", has_text="…")).to_have_count(0)
        panel.get_by_role("button", name="Close").click()
        expect(waiting).to_have_count(before)
        expect(shown.graph.locator(".al-changed")).to_have_count(0)


LOOP = """import autolab as torch
w = torch.tensor([1., 2.], requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
with torch.record() as recording:
    for _ in range(2):
        optimizer.zero_grad()
        loss = (torch.softmax(w, 0) * w).sum()
        loss.backward()
        optimizer.step()
explorer = torch.explore(recording)
explorer"""


def test_the_kernel_runs_what_a_page_cannot(
    server: Server, open_notebook: Callable[..., Notebook]
) -> None:
    server.write("what_if.ipynb", LOOP)
    notebook = open_notebook("what_if.ipynb").run()
    notebook.button("What if").click()
    panel = notebook.root.get_by_role("group", name="What if", exact=True)
    panel.get_by_role("combobox", name="Change").select_option(label="w[0]")
    panel.get_by_role("spinbutton", name="Its value").fill("1.5")
    expect(panel.get_by_role("status")).to_contain_text("loss(2): ")
    expect(panel.get_by_role("status")).to_contain_text("a step of an optimizer lies between")
    panel.get_by_role("combobox", name="Change").select_option(
        label="learning rate of optimizer.step()"
    )
    panel.get_by_role("spinbutton", name="Its value").fill("0")
    expect(panel.get_by_role("status")).to_contain_text("loss(2): 1.65 → 1.73")
