"""The receptive field on an exported page, and in JupyterLab with its kernel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab import Notebook, Server, Shown
from playwright.sync_api import Locator, Page, expect

from autolab.widgets import ReceptiveField, heat

CELL = """
import autolab as torch
from autolab.widgets import ReceptiveField
torch.manual_seed(0)
nn = torch.nn
network = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Tanh(), nn.MaxPool2d(2), nn.Conv2d(2, 2, 2))
field = ReceptiveField(torch.randn(10, 10), network, selected=[4, 0, 0])
field
"""


def example(**options: Any) -> ReceptiveField:
    variables: dict[str, Any] = {}
    exec(CELL, variables)
    for name, value in options.items():
        setattr(variables["field"], name, value)
    return variables["field"]


class View(Shown):
    """The one receptive field of a page."""

    def __init__(self, page: Page):
        super().__init__(page, page.get_by_role("group", name="Receptive field", exact=True))

    def place(self, name: str) -> Locator:
        return self.root.get_by_role("slider", name=f"Place in {name}", exact=True)

    def frame(self, name: str) -> list[int] | None:
        """[top, left, height, width] of the frame in a map, in numbers of that map; None when hidden."""
        return self.place(name).evaluate(
            """box => {
                 const frame = box.querySelector(".al-frame"), canvas = box.querySelector("canvas");
                 if (frame.hidden) return null;
                 const cell = parseFloat(box.style.width) / canvas.width, s = frame.style;
                 return [s.top, s.left, s.height, s.width].map(v => parseFloat(v) / cell);
               }"""
        )


def opened(page: Page, widget: ReceptiveField, folder: Path) -> View:
    page.goto(widget.to_html(folder / "field.html").as_uri())
    view = View(page)
    expect(view.root).to_be_visible()
    return view


def test_frames_are_those_of_python(page: Page, tmp_path: Path) -> None:
    widget = example(selected=[4, 1, 2])
    view = opened(page, widget, tmp_path)
    names = [m["name"] for m in widget.data["maps"]]
    for name, (top, bottom, left, right) in zip(names, widget.field()):
        assert view.frame(name) == [top, left, bottom - top + 1, right - left + 1], name
    expect(view.said).to_have_text(
        "[1, 2] of 3: Conv2d sees rows 2 to 7 and columns 4 to 9 of the image: 36 of 100 pixels."
    )


def test_arrows_and_clicks_choose(page: Page, tmp_path: Path) -> None:
    view = opened(page, example(), tmp_path)
    last = view.place("3: Conv2d")
    last.focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    assert view.frame("3: Conv2d") == [2, 1, 1, 1], "it stops at the border"
    assert view.frame("image") == [4, 2, 6, 6]
    box = view.place("2: MaxPool2d").bounding_box()
    assert box is not None
    view.place("2: MaxPool2d").click(position={"x": box["width"] * 0.9, "y": box["height"] * 0.1})
    assert view.frame("2: MaxPool2d") == [0, 3, 1, 1] and view.frame("image") == [0, 6, 4, 4]
    assert view.frame("3: Conv2d") is None
    expect(view.root).to_contain_text("Choose a number of the last map to see its gradient.")


def test_every_map_has_its_scale(page: Page, tmp_path: Path) -> None:
    widget = example()
    view = opened(page, widget, tmp_path)
    scales = view.root.locator(".al-stage .al-map").evaluate_all(
        "maps => maps.map(m => m.querySelector('.al-ends span:last-child').textContent)"
    )
    assert [float(s) for s in scales] == pytest.approx(
        [m["scale"] for m in widget.data["maps"]], rel=0.01
    )


def test_the_gradient_has_its_colours(page: Page, tmp_path: Path) -> None:
    widget = example(selected=[4, 2, 0])
    view = opened(page, widget, tmp_path)
    kept = widget.data["gradients"][2 * 3]
    image = view.root.get_by_role("img", name="Gradient at the image", exact=True)
    colours = image.locator("canvas").evaluate(
        """c => { const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
                  return Array.from({ length: d.length / 4 }, (_, i) =>
                    "#" + [...d.slice(4 * i, 4 * i + 3)].map(v => v.toString(16).padStart(2, "0")).join("")); }"""
    )
    assert colours == [heat.color(v, kept["scale"]) for row in kept["numbers"] for v in row]
    expect(
        view.root.get_by_role("paragraph").filter(has_text=f"{kept['count']} pixels have one")
    ).to_have_count(1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_can_be_read_on_a_narrow_page(page: Page, tmp_path: Path, scheme: str) -> None:
    page.set_viewport_size({"width": 480, "height": 900})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    view = opened(page, example(selected=[2, 3, 3]), tmp_path)
    expect(view.root).to_have_attribute("data-theme", scheme)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for check in ("faint", "small", "unnamed", "unreachable"):
        assert view.check(check) == [], check


def test_in_jupyterlab_from_either_side(
    server: Server, open_notebook: Callable[..., Notebook]
) -> None:
    server.write("field.ipynb", CELL)
    notebook = open_notebook("field.ipynb")
    notebook.run_cells()
    view = View(notebook.page)
    expect(view.said).to_contain_text("[0, 0] of 3: Conv2d", timeout=30_000)
    view.place("3: Conv2d").focus()
    notebook.page.keyboard.press("ArrowDown")
    notebook.in_kernel("field.selected", [4, 1, 0])
    notebook.execute("field.selected = [1, 7, 7]")
    expect(view.said).to_have_text(
        "[7, 7] of 0: Conv2d sees rows 7 to 9 and columns 7 to 9 of the image: 9 of 100 pixels."
    )
    assert notebook.kernel("field.field()") == "[(7, 9, 7, 9), (7, 7, 7, 7)]"
