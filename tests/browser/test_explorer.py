"""The explorer in JupyterLab: clicks, keys and themes, and what the kernel knows of them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from lab import Notebook, Server, learners_trace
from playwright.sync_api import expect

from autolab.trace.beats import tell

TRACE = learners_trace()
LAST = len(TRACE.frames) - 1


def test_buttons_and_slider_go_from_beat_to_beat(notebook: Notebook) -> None:
    notebook.button("Next step").click()
    notebook.button("Next step").click()
    notebook.in_kernel("explorer.step", 2)
    notebook.button("Previous step").click()
    notebook.in_kernel("explorer.step", 1)
    notebook.go(6)
    notebook.button("Next step").click()  # the seed is a part of this beat
    notebook.in_kernel("explorer.step", 8)
    expect(notebook.slider).to_have_attribute("aria-valuetext", "Step 8 of 14, backward")
    notebook.root.get_by_text("x · x", exact=True).last.click()  # its place on the timeline
    notebook.in_kernel("explorer.step", LAST)


def test_keys_step(notebook: Notebook) -> None:
    notebook.root.focus()
    for key, step in (
        ("ArrowRight", 1),
        ("ArrowLeft", 0),
        ("ArrowLeft", 0),
        ("End", LAST),
        ("ArrowRight", LAST),
        ("Shift+ArrowLeft", 21),
        ("Home", 0),
    ):
        notebook.page.keyboard.press(key)
        notebook.at(step)
    notebook.page.keyboard.press("End")
    notebook.in_kernel("explorer.step", LAST)


def test_play_pauses_stops_at_the_end_and_starts_over(notebook: Notebook) -> None:
    notebook.execute("explorer.interval = 300")
    notebook.root.focus()
    notebook.page.keyboard.press(" ")
    expect(notebook.button("Pause")).to_be_visible()
    expect(notebook.said).to_have_attribute("aria-live", "off")
    expect(notebook.slider).not_to_have_value("0")
    notebook.page.keyboard.press(" ")
    notebook.in_kernel("explorer.playing", False)
    expect(notebook.said).to_have_attribute("aria-live", "polite")
    notebook.execute(f"explorer.interval = 50; explorer.step = {LAST - 2}")
    notebook.at(LAST - 2)
    notebook.button("Play").click()
    notebook.at(LAST)
    notebook.in_kernel("(explorer.playing, explorer.step)", (False, LAST))
    notebook.execute("explorer.interval = 5000")
    notebook.button("Play").click()
    notebook.in_kernel("(explorer.playing, explorer.step)", (True, 0))
    notebook.button("Pause").click()
    notebook.in_kernel("explorer.playing", False)


def test_the_kernel_steps_selects_and_plays(notebook: Notebook) -> None:
    notebook.execute("explorer.step = 5; explorer.selected = 'w'")
    notebook.at(5)
    expect(notebook.node("w")).to_have_attribute("aria-pressed", "true")
    notebook.in_kernel("explorer.selected", "n8")
    notebook.execute("explorer.step = 10_000")
    notebook.at(LAST)
    notebook.execute("explorer.step = 0; explorer.interval = 50; explorer.playing = True")
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
    notebook.node("x · x").focus()
    notebook.in_kernel("explorer.selected", "n1")
    notebook.page.keyboard.press("ArrowDown")  # along the line to s
    notebook.in_kernel("explorer.selected", "n4")
    notebook.page.keyboard.press("ArrowRight")  # a step; what was selected stays
    notebook.in_kernel("(explorer.step, explorer.selected)", (1, "n4"))
    notebook.page.keyboard.press("Escape")
    notebook.in_kernel("explorer.selected", "")
    notebook.node("w").click()
    notebook.button("Follow the steps").click()
    notebook.in_kernel("explorer.selected", "")


def test_tab_reaches_everything_and_focus_is_seen(notebook: Notebook) -> None:
    if notebook.root.locator(".al-details").is_visible():
        notebook.choose("Inspect")
    notebook.root.focus()
    reached = []
    for _ in range(10):
        notebook.page.keyboard.press("Tab")
        reached.append(notebook.focused())
    names = [name for name in reached if name not in ("Map", "Details")]
    assert names[0].startswith("w, leaf"), "the graph is one stop, where one has been"
    assert names[1:7] == ["Previous step", "Play", "Next step", "Step", "What if", "More"]
    look = "b => getComputedStyle(b).outlineStyle"
    notebook.root.focus()
    notebook.page.keyboard.press("Tab")
    ring = notebook.node("w").locator(".al-ring")
    assert ring.evaluate("r => getComputedStyle(r).stroke") != "none"
    notebook.slider.focus()
    notebook.page.keyboard.press("Shift+Tab")
    assert notebook.button("Next step").evaluate(look) == "solid"


def test_enter_takes_the_step_number_that_was_typed(notebook: Notebook) -> None:
    """JupyterLab takes the key away from a field, so that it does not say that it changed."""
    notebook.button("More").click()
    field = notebook.menu.get_by_role("spinbutton", name="Step number", exact=True)
    for number in ("3", "5"):
        field.click()
        notebook.page.keyboard.press("ControlOrMeta+a")
        notebook.page.keyboard.type(number)
        notebook.page.keyboard.press("Enter")
        notebook.at(int(number) - 1)
    notebook.page.keyboard.press("Escape")


def test_inspect_shows_facts_formulas_and_what_arrives(notebook: Notebook) -> None:
    details = notebook.details
    notebook.go(4)
    expect(details.get_by_role("heading", name="A value is computed")).to_be_visible()
    expect(details.locator("math").nth(1)).to_have_text(re.compile("0.762≈tanh1"))
    assert details.locator("math").first.evaluate("m => m.offsetHeight ?? 11") > 10
    notebook.node("x · x").click()
    facts = [("grad_fn", "MulBackward0"), ("is_leaf", "False"), ("dtype", "float32")]
    for name, value in facts:
        term = details.locator("dt", has_text=re.compile(f"^{name}$"))
        expect(term.locator("xpath=following-sibling::dd[1]")).to_have_text(value)
    expect(details).to_contain_text("s = x * x + 3 * x")
    saved = details.get_by_role("table", name="Saved by x · x").get_by_role("row").nth(1)
    expect(saved.get_by_role("cell")).to_have_text(["x (self)", "2", "4 B", "alive"])
    notebook.go(LAST)
    expect(saved.get_by_role("cell").last).to_have_text("freed")
    terms = details.locator(".al-term")
    notebook.page.keyboard.press("Escape")
    notebook.go(21)
    expect(details.get_by_role("heading", name="A contribution arrives")).to_be_visible()
    assert [t.split("\n")[-1] for t in terms.all_inner_texts()] == ["0.441", "0.294", "0.735"]
    notebook.node("w").click()
    cells = details.get_by_role("table", name="value of w").get_by_role("cell")
    expect(cells).to_have_text(["1", "-2", "0.5", "4"])
    colour = "cells => new Set(cells.map((c) => getComputedStyle(c).backgroundColor)).size"
    assert cells.evaluate_all(colour) == 4


def test_every_step_says_the_states_that_the_kernel_knows(notebook: Notebook) -> None:
    words = {"none": "not yet", "contribution": "incomplete"}
    titles = tell(TRACE)["titles"]
    shown = {n.id: titles.get(n.id, n.label) for n in TRACE.nodes if n.requires_grad}
    notebook.root.focus()
    for index in (0, 8, 12, 18, 20, 24):
        notebook.go(index)
        for node, label in shown.items():
            state = TRACE.states(index)[node]
            name = notebook.node(label).get_attribute("aria-label") or ""
            assert f"gradient {words.get(state, state)}" in name, f"step {index}"


def test_the_chain_rule_stands_on_its_edge_and_sums_in_slots(notebook: Notebook) -> None:
    notebook.go(20)
    edge = notebook.graph.locator(".al-edge.al-now .al-pilltext")
    expect(edge).to_have_text(["0.147 × 3 ≈ 0.441"])
    slots = notebook.node("x").locator(".al-slot")
    expect(slots).to_have_text(["0.441", "", ""])
    notebook.go(24)
    expect(slots).to_have_text(["0.441", "0.294", "0.294"])
    expect(notebook.said).to_contain_text("x now holds 0.441 + 0.294 + 0.294 = 1.03.")


def test_the_narration_and_the_graph_stay_where_they_are(notebook: Notebook) -> None:
    pane = notebook.root.locator(".al-pane")
    place = lambda: [  # noqa: E731
        part.bounding_box() for part in (pane, notebook.button("Play"), notebook.said)
    ]
    before = place()
    for index in range(LAST + 1):
        notebook.go(index)
        assert place() == before, f"step {index}"


def test_a_token_travels_unless_less_motion_is_asked_for(notebook: Notebook) -> None:
    notebook.go(18)
    notebook.page.wait_for_timeout(1500)
    notebook.button("Next step").click()
    expect(notebook.graph.locator(".al-token").first).to_be_attached()
    expect(notebook.graph.locator(".al-token")).to_have_count(0)
    notebook.page.emulate_media(reduced_motion="reduce")
    try:
        notebook.go(18)
        notebook.button("Next step").click()
        notebook.at(20)
        assert notebook.check("moving") == 0
        expect(notebook.node("x").locator(".al-slot").first).to_have_text("0.441")
    finally:
        notebook.page.emulate_media(reduced_motion="no-preference")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everything_can_be_read_and_reached_in_both_themes(notebook: Notebook, theme: str) -> None:
    with notebook.theme(theme):
        expect(notebook.root).to_have_attribute("data-theme", theme)
        notebook.node("t · w").click()
        for step in (0, 4, 12, LAST):
            notebook.go(step)
            notebook.page.wait_for_timeout(350)  # colours fade in
            notebook.is_fine()


def test_the_checks_find_what_they_look_for(notebook: Notebook) -> None:
    notebook.node("t · w").click()
    assert notebook.details.is_visible()
    break_it = """(root, css) => { const style = document.createElement('style');
                                   style.textContent = css; style.id = 'broken'; root.parentNode.append(style); }"""
    for check, css, expected in (
        ("faint", ".al-kind { fill: #999 !important; }", "al-kind"),
        ("faint", ".al-facts dt { color: #999 !important; }", "dt"),
        ("small", ".al-kind { font-size: 10px !important; }", "al-kind"),
        ("crowded", ".al-kind { transform: translateX(60px); }", "outside"),
        ("crowded", ".al-title { transform: translate(-30px, 20px); }", "over each other"),
    ):
        notebook.root.evaluate(break_it, css)
        complaints = notebook.check(check)
        notebook.root.evaluate("root => root.parentNode.querySelector('#broken').remove()")
        assert any(expected in complaint for complaint in complaints), f"{check} does not see {css}"
    button = notebook.button("More").element_handle()
    button.evaluate("b => b.removeAttribute('aria-label')")
    assert any("button" in complaint for complaint in notebook.check("unnamed"))
    button.evaluate("b => b.setAttribute('aria-label', 'More')")


def test_a_narrow_page_goes_from_top_to_bottom(notebook: Notebook) -> None:
    wide = notebook.graph.bounding_box()
    notebook.page.set_viewport_size({"width": 640, "height": 1000})
    notebook.command("application:toggle-left-area")
    try:
        notebook.page.wait_for_function(
            "() => jupyterapp.shell.currentWidget.node.offsetWidth < 640"
        )
        notebook.page.wait_for_timeout(400)
        narrow = notebook.graph.bounding_box()
        assert wide and narrow
        assert wide["width"] > wide["height"] and narrow["height"] > narrow["width"]
        assert notebook.root.evaluate("root => root.scrollWidth <= root.clientWidth")
        notebook.is_fine("small", "crowded")
    finally:
        notebook.command("application:toggle-left-area")
        notebook.page.set_viewport_size({"width": 1500, "height": 1000})


def test_print_leaves_the_controls_out(notebook: Notebook) -> None:
    notebook.page.emulate_media(media="print")
    try:
        assert not notebook.button("Play").is_visible()
        assert notebook.graph.is_visible()
    finally:
        notebook.page.emulate_media(media="screen")


def test_shortcuts_of_jupyterlab_do_not_leak(notebook: Notebook) -> None:
    cells = notebook.page.locator(".jp-Notebook .jp-Cell")
    before = cells.count()
    for place in (notebook.root, notebook.node("x"), notebook.slider, notebook.button("Next step")):
        place.focus()
        for key in ("a", "b", "d", "d", "x", "m", "0", "0"):
            notebook.page.keyboard.press(key)
    notebook.page.wait_for_timeout(300)
    assert cells.count() == before
    # The same key reaches JupyterLab as soon as the focus is elsewhere: the keys above were kept, not dead.
    notebook.page.locator(".jp-Notebook .cm-content").first.click()
    notebook.page.keyboard.press("Escape")
    notebook.page.keyboard.press("b")
    expect(cells).to_have_count(before + 1)
    notebook.command("notebook:undo-cell-action")
    expect(cells).to_have_count(before)


def test_widgets_that_appear_in_a_dark_notebook_are_dark(
    server: Server, open_notebook: Callable[..., Notebook]
) -> None:
    """A widget is drawn before it is on the page, where nothing has a style yet."""
    shown = (
        "torch.explore(x * x)",
        "torch.widgets.Prediction('?', choices=['1', '2'])",
        "torch.widgets.FreezePanel(torch.nn.Linear(2, 2))",
        "torch.widgets.ConvExplorer(torch.ones(3, 3), torch.ones(2, 2))",
        "torch.widgets.TrainingDashboard([])",
    )
    setup = "import autolab as torch\nx = torch.tensor(2.0, requires_grad=True)"
    server.write("dark.ipynb", setup, *shown)
    notebook = open_notebook("dark.ipynb")
    with notebook.theme("dark"):
        notebook.run_cells()
        roots = notebook.page.locator("[data-theme]")
        expect(roots).to_have_count(len(shown), timeout=30_000)
        themes = roots.evaluate_all("roots => roots.map((root) => root.dataset.theme)")
        assert themes == ["dark"] * len(shown)
