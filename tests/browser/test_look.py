"""How the explorer looks in JupyterLab: themes, contrast, sizes, motion, narrow pages, print."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from lab import Notebook, Server
from playwright.sync_api import expect

STEPS = (0, 4, 10, 20, 24)  # forward, a matrix contribution, a buffer freed, the end


@pytest.fixture
def themed(notebook: Notebook, request: pytest.FixtureRequest) -> Iterator[Notebook]:
    with notebook.theme(request.param):
        expect(notebook.root).to_have_attribute("data-theme", request.param)
        yield notebook


# On a busy machine a fade may begin late.
FADED_IN = """root => Promise.allSettled(root.getAnimations({ subtree: true })
    .filter((a) => a.effect.getComputedTiming().endTime < Infinity).map((a) => a.finished)).then(() => null)"""


@pytest.mark.parametrize("themed", ["light", "dark"], indirect=True)
def test_all_text_can_be_read_in_both_themes(themed: Notebook) -> None:
    themed.node("v4").click()
    for step in STEPS:
        themed.slider.fill(str(step))
        themed.page.wait_for_timeout(350)  # colours fade in
        themed.root.evaluate(FADED_IN)
        assert themed.check("faint") == [], f"step {step}"
        assert themed.check("small") == [], f"step {step}"
        assert themed.check("crowded") == [], f"step {step}"
    background = themed.root.evaluate("root => getComputedStyle(root).backgroundColor")
    assert background == (
        "rgb(255, 255, 255)"
        if themed.root.get_attribute("data-theme") == "light"
        else "rgb(33, 33, 33)"
    ), "JupyterLab's own"


def test_the_checks_find_what_they_look_for(notebook: Notebook) -> None:
    notebook.node("v4").click()
    break_it = """(root, css) => { const style = document.createElement('style');
                                   style.textContent = css; style.id = 'broken'; root.parentNode.append(style); }"""
    for check, css, expected in (
        ("faint", ".al-kind { fill: #999 !important; }", "al-kind"),
        ("faint", ".al-facts dt { color: #888; }", "dt"),
        ("small", ".al-facts dt { font-size: 10px; }", "dt"),
        ("small", ".al-kind { font-size: 12px; }", "al-kind"),
        ("crowded", ".al-kind { transform: translateX(30px); }", "outside"),
        ("crowded", ".al-word { transform: translateY(-14px); }", "over each other"),
    ):
        notebook.root.evaluate(break_it, css)
        complaints = notebook.check(check)
        notebook.root.evaluate("root => root.parentNode.querySelector('#broken').remove()")
        assert any(expected in complaint for complaint in complaints), f"{check} does not see {css}"
    fit = notebook.button("Fit").element_handle()
    fit.evaluate("b => b.removeAttribute('aria-label')")
    assert any("button" in complaint for complaint in notebook.check("unnamed"))
    fit.evaluate("b => b.setAttribute('aria-label', 'Fit')")


def test_every_control_has_a_name_and_can_be_reached(notebook: Notebook) -> None:
    notebook.node("v4").click()
    for step in STEPS:
        notebook.slider.fill(str(step))
        assert notebook.check("unnamed") == []
        assert notebook.check("unreachable") == []
    tree = notebook.root.aria_snapshot()
    assert not re.search(
        r"- (button|slider|textbox|region|table|img|group)\s*(\[.*\])?:?$", tree, re.MULTILINE
    ), "a role without a name"
    for name in ("First step", "Previous step", "Play", "Next step", "Last step"):
        assert f'- button "{name}"' in tree
    assert '- slider "Step"' in tree and '- group "Details"' in tree
    assert '- button "x, leaf, value 2, gradient accumulated 1.03"' in tree


def test_focus_is_visible(notebook: Notebook) -> None:
    notebook.root.focus()
    notebook.page.keyboard.press("Tab")
    assert (
        notebook.button("First step").evaluate("b => getComputedStyle(b).outlineStyle") == "solid"
    )
    notebook.node("x").focus()
    ring = notebook.node("x").locator(".al-ring")
    notebook.page.keyboard.press("ArrowDown")
    notebook.page.keyboard.press("ArrowUp")
    assert ring.evaluate("r => [getComputedStyle(r).stroke, getComputedStyle(r).strokeWidth]") == [
        "rgb(27, 27, 27)",
        "4px",
    ]


def test_states_differ_by_more_than_colour(notebook: Notebook) -> None:
    notebook.slider.fill("19")
    look = lambda name, part, what: (
        notebook.node(name).locator(part).first.evaluate(f"e => getComputedStyle(e).{what}")
    )
    assert look("v2", ".al-tab rect", "strokeDasharray") == "none"
    assert look("t", ".al-tab rect", "strokeDasharray") != "none", "a freed tab has another border"
    assert "al-hatch" in notebook.node("t").locator(".al-tab rect").first.get_attribute("fill")
    assert "al-freed" in notebook.node("t").locator(".al-strip").get_attribute("fill")
    current = notebook.graph.locator('[data-id="e2"]')  # v2 sends to x
    assert current.locator(".al-line").evaluate(
        "e => [getComputedStyle(e).stroke, getComputedStyle(e).strokeDasharray]"
    ) == ["rgb(213, 94, 0)", "6px, 4px"]
    forward = notebook.graph.locator(
        '[data-id="e3"]'
    )  # the constant 3 gets no gradient: its line stays as it was
    assert forward.locator(".al-line").evaluate(
        "e => [getComputedStyle(e).stroke, getComputedStyle(e).strokeDasharray]"
    ) == ["rgb(0, 114, 178)", "none"]
    head, card = (
        current.locator(".al-head").bounding_box(),
        notebook.node("x").locator(".al-card").bounding_box(),
    )
    assert head and card and head["x"] < card["x"] + card["width"] + 12, (
        "the arrow head is at the parent"
    )


def test_a_contribution_travels_along_its_edge_unless_less_motion_is_asked_for(
    notebook: Notebook,
) -> None:
    notebook.slider.fill("18")
    notebook.page.wait_for_timeout(900)
    notebook.root.evaluate(  # every frame of it: a loaded machine has few, and asks for them late
        """root => {
            root.places = [];
            const see = () => {
                const token = root.querySelector(".al-token");
                if (token) root.places.push(Number(token.getAttribute("cx")));
                if (token || !root.places.length) requestAnimationFrame(see);
            };
            see();
        }"""
    )
    notebook.button("Next step").click()
    notebook.page.wait_for_timeout(100)
    assert notebook.check("moving") > 0
    notebook.page.wait_for_timeout(1500)
    places = notebook.root.evaluate("root => root.places")
    assert len(set(places)) > 2 and places == sorted(places, reverse=True), (
        "from the child back to the parent"
    )
    notebook.page.emulate_media(reduced_motion="reduce")
    try:
        notebook.button("Previous step").click()
        notebook.button("Next step").click()
        assert notebook.check("moving") == 0
        expect(notebook.said).to_contain_text("v2 sends 0.441 to x")
    finally:
        notebook.page.emulate_media(reduced_motion="no-preference")


def test_a_narrow_page_goes_from_top_to_bottom(notebook: Notebook) -> None:
    wide = notebook.graph.bounding_box()
    notebook.page.set_viewport_size({"width": 640, "height": 1000})
    notebook.command("application:toggle-left-area")
    try:
        notebook.page.wait_for_function(
            "() => jupyterapp.shell.currentWidget.node.offsetWidth < 640"
        )
        expect(notebook.node("z")).to_be_attached()
        notebook.page.wait_for_timeout(400)
        narrow, details = notebook.graph.bounding_box(), notebook.details.bounding_box()
        assert wide and narrow and details
        assert wide["width"] > wide["height"] and narrow["height"] > narrow["width"]
        assert details["y"] > narrow["y"]
        assert notebook.root.evaluate("root => root.scrollWidth <= root.clientWidth"), (
            "nothing sticks out"
        )
        assert notebook.check("small") == [] and notebook.check("crowded") == []
    finally:
        notebook.command("application:toggle-left-area")
        notebook.page.set_viewport_size({"width": 1500, "height": 1000})


def test_zoom(notebook: Notebook) -> None:
    width = lambda: notebook.graph.bounding_box()["width"]  # type: ignore[index]
    before = width()
    notebook.button("Zoom in").click()
    assert width() == pytest.approx(before * 1.2, rel=0.01)
    notebook.button("Zoom out").click()
    assert width() == pytest.approx(before, rel=0.01)
    notebook.button("Zoom in").click()
    notebook.button("Fit").click()
    assert notebook.graph.evaluate(
        "svg => svg.getBoundingClientRect().width <= svg.parentElement.clientWidth"
    )


def test_print_leaves_the_controls_out(notebook: Notebook) -> None:
    notebook.page.emulate_media(media="print")
    try:
        assert not notebook.button("Play").is_visible()
        assert notebook.graph.is_visible()
        assert notebook.details.evaluate("d => d.scrollHeight <= d.clientHeight + 1")
    finally:
        notebook.page.emulate_media(media="screen")


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
    server.write(
        "dark.ipynb", "import autolab as torch\nx = torch.tensor(2.0, requires_grad=True)", *shown
    )
    notebook = open_notebook("dark.ipynb")
    with notebook.theme("dark"):
        notebook.run_cells()
        roots = notebook.page.locator("[data-theme]")
        expect(roots).to_have_count(len(shown), timeout=30_000)
        assert roots.evaluate_all("roots => roots.map((root) => root.dataset.theme)") == [
            "dark"
        ] * len(shown)
