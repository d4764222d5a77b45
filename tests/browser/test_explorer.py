"""The explorer in JupyterLab: clicks and keys, and what the kernel knows of them."""

from __future__ import annotations

import re

from lab import Notebook, learners_trace
from playwright.sync_api import expect

TRACE = learners_trace()
LAST = len(TRACE.frames) - 1
ARRIVALS = [
    f.index for f in TRACE.frames if f.event == "contribution" and f.receiver == "n0"
]  # x gets three


def test_buttons_and_slider_step(notebook: Notebook) -> None:
    notebook.button("Next step").click()
    notebook.button("Next step").click()
    notebook.in_kernel("explorer.step", 2)
    notebook.button("Previous step").click()
    notebook.in_kernel("explorer.step", 1)
    notebook.button("Last step").click()
    notebook.in_kernel("explorer.step", LAST)
    notebook.button("Next step").click()
    notebook.at(LAST)
    notebook.button("First step").click()
    notebook.in_kernel("explorer.step", 0)
    notebook.button("Previous step").click()
    notebook.at(0)
    notebook.slider.fill("7")
    notebook.in_kernel("explorer.step", 7)
    expect(notebook.slider).to_have_attribute("max", str(LAST))
    expect(notebook.slider).to_have_attribute("aria-valuetext", f"Step 8 of {LAST + 1}, backward")


def test_keys_step(notebook: Notebook) -> None:
    notebook.root.focus()
    for key, step in (
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowLeft", 1),
        ("End", LAST),
        ("ArrowRight", LAST),
        ("Home", 0),
        ("ArrowLeft", 0),
    ):
        notebook.page.keyboard.press(key)
        notebook.at(step)
    notebook.page.keyboard.press("End")
    notebook.in_kernel("explorer.step", LAST)


def test_space_plays_and_pauses(notebook: Notebook) -> None:
    notebook.execute("explorer.interval = 60")
    notebook.root.focus()
    notebook.page.keyboard.press(" ")
    expect(notebook.button("Pause")).to_be_visible()
    expect(notebook.slider).not_to_have_value("0")
    notebook.page.keyboard.press(" ")
    expect(notebook.button("Play")).to_be_visible()
    notebook.in_kernel("explorer.playing", False)
    stopped = notebook.slider.input_value()
    notebook.page.wait_for_timeout(200)
    notebook.at(int(stopped))


def test_play_stops_at_the_end_and_starts_over(notebook: Notebook) -> None:
    notebook.execute(f"explorer.interval = 50; explorer.step = {LAST - 2}")
    notebook.at(LAST - 2)
    notebook.button("Play").click()
    notebook.at(LAST)
    expect(notebook.button("Play")).to_be_visible()
    notebook.in_kernel("(explorer.playing, explorer.step)", (False, LAST))
    notebook.execute("explorer.interval = 5000")
    notebook.button("Play").click()
    notebook.at(0)
    notebook.in_kernel("(explorer.playing, explorer.step)", (True, 0))
    notebook.button("Pause").click()
    notebook.in_kernel("explorer.playing", False)


def test_the_kernel_steps_selects_and_plays(notebook: Notebook) -> None:
    notebook.execute("explorer.step = 5")
    notebook.at(5)
    notebook.execute("explorer.selected = 'w'")
    expect(notebook.node("w")).to_have_attribute("aria-pressed", "true")
    notebook.in_kernel("explorer.selected", "n8")
    notebook.execute("explorer.step = 10_000")
    notebook.at(LAST)
    notebook.execute("explorer.step = 0; explorer.interval = 50; explorer.playing = True")
    expect(notebook.button("Pause")).to_be_visible()
    notebook.at(LAST)


def test_playing_goes_on_while_the_kernel_is_busy(notebook: Notebook) -> None:
    notebook.execute("explorer.interval = 50")
    notebook.page.evaluate("""() => { const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
        kernel.requestExecute({ code: "import time; time.sleep(12)", store_history: false }); }""")
    notebook.button("Play").click()
    expect(notebook.slider).to_have_value(str(LAST), timeout=11500)
    notebook.in_kernel("explorer.step", LAST, seconds=20)


def test_click_and_focus_select_a_node(notebook: Notebook) -> None:
    notebook.node("w").click()
    notebook.in_kernel("explorer.selected", "n8")
    expect(notebook.details).to_contain_text("w, a leaf")
    notebook.node("v1").focus()
    notebook.in_kernel("explorer.selected", "n1")
    expect(notebook.node("w")).to_have_attribute("aria-pressed", "false")
    notebook.page.keyboard.press("ArrowDown")  # along the line to s
    notebook.in_kernel("explorer.selected", "n4")
    notebook.page.keyboard.press("ArrowUp")
    notebook.in_kernel("explorer.selected", "n1")
    notebook.page.keyboard.press(
        "ArrowRight"
    )  # steps also with the focus on a node; what was selected stays
    notebook.in_kernel("(explorer.step, explorer.selected)", (1, "n1"))
    notebook.page.keyboard.press("Escape")
    notebook.in_kernel("explorer.selected", "")
    notebook.page.keyboard.press(" ")
    notebook.in_kernel("(explorer.selected, explorer.playing)", ("n1", False))
    notebook.button("Follow the steps").click()
    notebook.in_kernel("explorer.selected", "")


def test_tab_reaches_everything(notebook: Notebook) -> None:
    notebook.root.focus()
    reached = []
    for _ in range(17):
        notebook.page.keyboard.press("Tab")
        reached.append(
            notebook.root.evaluate(
                """root => { const e = root.getRootNode().activeElement;
                           return e ? e.getAttribute('aria-label') || e.textContent : ''; }"""
            )
        )
    names = [
        "First step",
        "Previous step",
        "Play",
        "Next step",
        "Last step",
        "Step",
        "Step number",
        "Speed",
    ]
    names += ["Zoom out", "Zoom in", "Fit", "Top to bottom", "Paths", "Tools"]
    assert reached[: len(names)] == names
    box, *after = reached[len(names) :]
    assert box.partition(",")[0] in [node.label for node in TRACE.nodes]
    assert [name for name in after if name != "Map"][0] == "Details", (
        "the graph is one stop, its map another"
    )


def test_enter_takes_the_step_number_that_was_typed(notebook: Notebook) -> None:
    """JupyterLab takes the key away from a field, so that it does not say that it changed."""
    field = notebook.root.get_by_role("spinbutton", name="Step number", exact=True)
    for number in ("3", "5"):
        field.click()
        notebook.page.keyboard.press("ControlOrMeta+a")
        notebook.page.keyboard.type(number)
        notebook.page.keyboard.press("Enter")
        notebook.at(int(number) - 1)


def test_details_of_a_node(notebook: Notebook) -> None:
    notebook.execute("explorer.step = 1")
    notebook.node("v1").click()
    details = notebook.details
    for name, value in (
        ("grad_fn", "MulBackward0"),
        ("is_leaf", "False"),
        ("requires_grad", "True"),
        ("dtype", "float32"),
        ("device", "cpu"),
    ):
        expect(details.get_by_role("term").filter(has_text=re.compile(f"^{name}$"))).to_be_visible()
        expect(
            details.locator("dt", has_text=re.compile(f"^{name}$")).locator(
                "xpath=following-sibling::dd[1]"
            )
        ).to_have_text(value)
    expect(details).to_contain_text("s = x * x + 3 * x")
    expect(details).to_contain_text("line 7")
    rows = details.get_by_role("table", name="Saved by v1").get_by_role("row")
    expect(rows.nth(1).get_by_role("cell")).to_have_text(
        ["self: x", "2", "[]", "4 B", "0", "alive"]
    )
    expect(rows.nth(2).get_by_role("cell")).to_have_text(
        ["other: x", "2", "[]", "4 B", "0", "alive"]
    )
    notebook.button("Last step").click()
    expect(rows.nth(1).get_by_role("cell").last).to_have_text("freed")
    notebook.node("x").click()
    expect(details).to_contain_text("x, a leaf")


def test_a_forward_step_shows_formula_numbers_and_value(notebook: Notebook) -> None:
    notebook.slider.fill("4")
    expect(notebook.said).to_contain_text("t = tanh(v3) ≈ 0.762")
    step = notebook.details
    expect(step.get_by_role("heading", name="A value is computed")).to_be_visible()
    formulas = step.locator("math")
    expect(formulas.nth(0)).to_have_text(re.compile(r"t=tanhv3"))
    expect(formulas.nth(1)).to_have_text(re.compile(r"0.762≈tanh1"))
    expect(formulas.nth(2)).to_contain_text("∂")
    assert formulas.nth(0).evaluate("m => m.getBoundingClientRect().height") > 10, (
        "MathML is laid out"
    )


def test_contributions_arrive_one_by_one(notebook: Notebook) -> None:
    terms = notebook.details.locator(".al-term")
    seen = []
    for index in ARRIVALS:
        notebook.slider.fill(str(index))
        expect(
            notebook.details.get_by_role("heading", name="A contribution arrives")
        ).to_be_visible()
        seen.append([t.split("\n")[-1] for t in terms.all_inner_texts()])
        state = TRACE.states(index)["n0"]
        expect(notebook.node("x")).to_have_attribute("aria-label", re.compile(f"gradient {state}"))
    assert seen == [
        ["nothing", "0.441", "0.441"],
        ["0.441", "0.294", "0.735"],
        ["0.735", "0.294", "1.03"],
    ]
    for line in ("≈0.147·2", "≈0.294"):  # the chain is broken at its signs of equality
        expect(notebook.details.locator("math", has_text=line).first).to_be_visible()
    notebook.slider.fill("23")
    expect(
        notebook.details.get_by_role("heading", name="The gradient is accumulated")
    ).to_be_visible()
    assert [t.split("\n")[-1] for t in terms.all_inner_texts()] == ["nothing", "1.03", "1.03"]
    notebook.button("Last step").click()
    expect(notebook.details).to_contain_text(
        "Freed: self, other, 8 B. A second backward through v1 would need them."
    )


def test_matrices_are_coloured_tables_with_a_scale(notebook: Notebook) -> None:
    notebook.node("w").click()
    table = notebook.details.get_by_role("table", name="value of w")
    expect(table.get_by_role("cell")).to_have_text(["1", "-2", "0.5", "4"])
    colours = table.get_by_role("cell").evaluate_all(
        "cells => cells.map((c) => getComputedStyle(c).backgroundColor)"
    )
    assert colours == [
        "rgb(245, 215, 191)",
        "rgb(128, 185, 217)",
        "rgb(250, 235, 223)",
        "rgb(213, 94, 0)",
    ]
    expect(
        notebook.details.get_by_role(
            "img", name="Colour scale from -4 (blue) through 0 (white) to 4 (vermillion)"
        )
    ).to_be_visible()


def test_gradient_states_are_the_kernels_at_every_step(notebook: Notebook) -> None:
    words = {
        "none": "not yet",
        "zero": "zero",
        "contribution": "contribution",
        "accumulated": "accumulated",
        "freed": "freed",
    }
    wants = [node.id for node in TRACE.nodes if node.requires_grad]
    notebook.root.focus()
    for index in range(LAST + 1):
        notebook.at(index)
        assert notebook.check("gradientWords") == {
            node: words[TRACE.states(index)[node]] for node in wants
        }, f"step {index}"
        notebook.page.keyboard.press("ArrowRight")


def test_the_step_is_announced_politely(notebook: Notebook) -> None:
    expect(notebook.said).to_have_attribute("aria-live", "polite")
    notebook.button("Next step").click()
    expect(notebook.said).to_have_text("Step 2 of 25, forward v2 = x * 3 = 6")
    notebook.slider.fill("8")
    expect(notebook.said).to_have_text("Step 9 of 25, backward z sends [[1, 1], [1, 1]] to v4")


def test_shortcuts_of_jupyterlab_do_not_leak(notebook: Notebook) -> None:
    cells = notebook.page.locator(".jp-Notebook .jp-Cell")
    before = cells.count()
    for place in (notebook.root, notebook.node("x"), notebook.slider, notebook.button("Next step")):
        place.focus()
        for key in ("a", "b", "d", "d", "x", "m", "0", "0"):
            notebook.page.keyboard.press(key)
    notebook.page.wait_for_timeout(300)
    assert cells.count() == before
    assert notebook.page.get_by_role("dialog").count() == 0
    # The same key reaches JupyterLab as soon as the focus is elsewhere: the keys above were kept, not dead.
    notebook.page.locator(".jp-Notebook .cm-content").first.click()
    notebook.page.keyboard.press("Escape")
    notebook.page.keyboard.press("b")
    expect(cells).to_have_count(before + 1)
    notebook.command("notebook:undo-cell-action")
    expect(cells).to_have_count(before)
