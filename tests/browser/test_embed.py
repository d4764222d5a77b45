"""Pages of notebooks without a network (nbconvert), and explorers within another page: a post, a deck, a cell."""

from __future__ import annotations

import contextlib
import html
import re
import tomllib
from pathlib import Path

import nbformat
import pytest
from lab import ROOT, Explorer, learners_trace
from playwright.sync_api import Page, expect

from autolab.lecture import page as pages
from autolab.widgets import Explorer as Widget

TEXT = r"""# A lesson

The chain rule, $\frac{dz}{dx} = 2x$, costs \$3 and `$5`.

$$\sum_i x_i^2$$

\begin{align}a &= b\end{align}
"""


def test_nbconvert_makes_a_page_that_asks_nobody(page: Page, tmp_path: Path) -> None:
    bundle = Widget(learners_trace())._repr_mimebundle_()[0]
    data = bundle | {
        "application/vnd.jupyter.widget-view+json": {
            "model_id": "0",
            "version_major": 2,
            "version_minor": 0,
        }
    }
    shown = [
        nbformat.v4.new_output("display_data", data),
        nbformat.v4.new_output("display_data", {"text/latex": r"$\sqrt{2}$", "text/plain": "2"}),
    ]
    made = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_markdown_cell(TEXT),
            nbformat.v4.new_code_cell("explorer", outputs=shown),
        ]
    )
    made.metadata.widgets = {
        "application/vnd.jupyter.widget-state+json": {"state": {"0": {}}}
    }  # as JupyterLab saves it
    text, _ = pages.Page().from_notebook_node(made)
    (tmp_path / "lesson.html").write_text(text, encoding="utf-8")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "lesson.html").as_uri())
    expect(page.locator("math")).to_have_count(4)
    expect(page.locator("mfrac")).to_be_visible()
    expect(page.get_by_text("costs $3 and $5.")).to_be_visible()
    picture = page.get_by_role(
        "img", name="Explorer(z: 11 nodes, 25 steps) is a graph to step through"
    )
    assert picture.evaluate("i => i.complete && i.naturalWidth") > 500
    page.set_viewport_size({"width": 600, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") == 600
    assert picture.evaluate("i => i.getBoundingClientRect().right") < 600, (
        "whole on a narrow screen"
    )
    assert [url for url in asked[1:] if not url.startswith("data:")] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (
        project["entry-points"]["nbconvert.exporters"]["autolab"]
        == f"{pages.__name__}:{pages.Page.__name__}"
    )


LINES = re.findall(
    r"^    (.*<iframe .*)$",
    (ROOT / "docs" / "where_it_runs.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


@pytest.mark.parametrize("line", LINES, ids=["notebook", "post", "deck"])
def test_it_steps_in_a_frame_that_may_run_scripts_but_is_nobodys(
    page: Page, tmp_path: Path, line: str
) -> None:
    """The lines of docs/where_it_runs.md."""
    with contextlib.chdir(tmp_path):
        explorer = Widget(learners_trace())
        explorer.to_html("graph.html")
        if line.startswith("HTML("):
            line = eval(line, {"HTML": str, "html": html, "explorer": explorer})
    line = line.replace("data-src=", "src=")  # which reveal.js does
    (tmp_path / "post.html").write_text(
        f'<!doctype html><html lang="en"><title>A post</title>{line}</html>', encoding="utf-8"
    )
    page.goto((tmp_path / "post.html").as_uri())
    kept = "() => { try { return typeof localStorage } catch (error) { return error.name } }"
    assert page.frames[1].evaluate(kept) == "SecurityError", "nothing can be kept there"
    shown = Explorer(page.frame_locator("iframe"))
    expect(shown.graph).to_be_visible()
    shown.slider.focus()
    page.keyboard.press("End")
    shown.at(24)
    expect(shown.said).to_contain_text("That is x.grad")
