"""The convolution explorer on an exported page without network, by role and name."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from lab import Notebook, Server, Shown
from playwright.sync_api import Page, expect

import autolab as torch
from autolab.widgets import ConvExplorer

IMAGE = [[0.0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 5, 5]]
GRADIENT = [[[1.0, 10, 100], [0, 0, 0], [0, 0, 2]]]


class Convolution(Shown):
    """The one convolution explorer of a page."""

    def __init__(self, page: Page):
        super().__init__(page, page.get_by_role("group", name=re.compile("^Convolution explorer")))

    def table(self, name: str) -> list[str]:
        return self.root.locator(f'table[aria-label="{name}"] td').all_text_contents()


class Exported(Convolution):
    """One on an exported page, opened from a folder."""

    def __init__(self, page: Page, folder: Path):
        super().__init__(page)
        self.folder = folder

    def open(self, widget: ConvExplorer) -> None:
        self.page.goto(widget.to_html(self.folder / "conv.html").as_uri())
        expect(self.root).to_be_visible()


@pytest.fixture
def shown(page: Page, tmp_path: Path) -> Exported:
    return Exported(page, tmp_path)


def test_forward_steps_by_button_key_and_slider(shown: Exported) -> None:
    shown.open(ConvExplorer(IMAGE, [[1.0, -1.0]], [0.5], gradient=GRADIENT))
    assert shown.table("output[0]") == [".5", *[""] * 8]
    shown.button("Next step").click()
    expect(shown.said).to_contain_text(
        "2 products add up to -1; with the bias 0.5, output[0, 0, 1] is -0.5."
    )
    assert shown.table("products: window, channel 0") == ["0", "1"]
    assert shown.table("products: = products, channel 0") == ["0", "-1"]
    expect(shown.details).to_contain_text("0 − 1 + 0.5 (bias) = -0.5")
    shown.root.focus()
    shown.page.keyboard.press("End")
    expect(shown.slider).to_have_value("8")
    assert shown.table("output[0]") == [".5", "-.5", ".5", ".5", "-.5", ".5", ".5", "-2.5", ".5"]
    shown.slider.fill("7")
    expect(shown.said).to_contain_text("output[0, 2, 1] is -2.5")


def test_gradients_accumulate_backward(shown: Exported) -> None:
    shown.open(ConvExplorer(IMAGE, [[1.0, -1.0]], [0.5], gradient=GRADIENT))
    shown.button("Backward").click()
    expect(shown.button("Backward")).to_have_attribute("aria-pressed", "true")
    assert shown.table("image.grad[0] so far")[:4] == ["1", "-1", "", ""]
    shown.button("Next step").click()
    expect(shown.said).to_contain_text("Gradient 10 arrives at output[0, 0, 1].")
    assert shown.table("image.grad[0] so far")[:4] == ["1", "9", "-10", ""]
    assert shown.table("weight.grad[0, 0] so far") == ["0", "10"]
    assert shown.table("to the kernel: × 10, to the kernel, channel 0") == ["0", "10"]
    shown.button("Last step").click()
    assert shown.table("weight.grad[0, 0] so far") == ["110", "120"]
    assert shown.table("bias.grad[0] so far") == ["113"]


def test_a_chosen_output_shows_its_receptive_field(shown: Exported) -> None:
    shown.open(ConvExplorer(IMAGE, torch.ones(2, 2), padding=1))
    output = shown.root.get_by_role("grid", name="output[0]")
    output.get_by_role("gridcell").first.focus()
    shown.page.keyboard.press("ArrowDown")
    shown.page.keyboard.press("ArrowRight")
    shown.page.keyboard.press("Enter")
    expect(shown.details).to_contain_text("output[0, 1, 1] = 0")
    expect(shown.details).to_contain_text(
        "Receptive field: rows 0 to 1, columns 0 to 1 of the image."
    )
    field = shown.root.locator(".al-frame-field").first.bounding_box()
    image = shown.root.locator('table[aria-label="image[0]"]').bounding_box()
    assert field and image and (field["x"] - image["x"], field["width"]) == (44, 88)
    shown.page.keyboard.press("Escape")
    expect(shown.details).to_contain_text("4 numbers are padding (0)")
    expect(shown.slider).to_have_value("0")


def test_plays_to_the_end_and_stops(shown: Exported) -> None:
    shown.open(ConvExplorer([[1.0, 2, 3]], [[1.0]], interval=50))
    shown.button("Play").click()
    expect(shown.slider).to_have_value("2")
    expect(shown.button("Play")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_can_be_read_and_reached(shown: Exported, scheme: str) -> None:
    shown.page.emulate_media(color_scheme=scheme)
    torch.manual_seed(0)
    layer = torch.nn.Conv2d(2, 2, 3, padding=1, dilation=2)
    for direction in ("forward", "backward"):
        shown.open(
            ConvExplorer(
                torch.randn(2, 6, 6), layer, step=5, direction=direction, selected=[0, 1, 1]
            )
        )
        expect(shown.root).to_have_attribute("data-theme", scheme)
        for check in ("faint", "small", "unnamed", "unreachable"):
            assert shown.check(check) == [], f"{direction}: {check}"
        assert shown.check("moving") == 0
    shown.root.get_by_role("combobox", name="Filter").select_option("filter 1")
    expect(shown.said).to_contain_text("output[1, 1, 1]")


def test_fits_a_phone(shown: Exported) -> None:
    shown.page.set_viewport_size({"width": 390, "height": 800})
    shown.open(ConvExplorer(torch.ones(9, 9), torch.ones(3, 3), padding=1))
    assert shown.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


# -- in JupyterLab, with a kernel --------------------------------------------------------------------------------------
CELL = """
import autolab as torch
from autolab.widgets import ConvExplorer
torch.manual_seed(0)
layer = torch.nn.Conv2d(2, 4, 3, stride=2, padding=1, groups=2)
conv = ConvExplorer(torch.randn(2, 7, 7), layer, interval=50)
conv
"""


class InLab(Convolution):
    """The convolution explorer of a notebook, and its kernel."""

    def __init__(self, notebook: Notebook):
        super().__init__(notebook.page)
        self.notebook = notebook
        notebook.run_cells()
        expect(self.root).to_be_visible()


@pytest.fixture(scope="module")
def lab(server: Server, open_notebook: Callable[..., Notebook]) -> InLab:
    server.write("conv.ipynb", CELL)
    return InLab(open_notebook("conv.ipynb", reduced_motion="reduce"))


@pytest.fixture
def conv(lab: InLab) -> InLab:
    lab.notebook.execute("conv.playing = False")
    expect(lab.button("Play")).to_be_visible()
    lab.notebook.execute(
        "conv.step = 0; conv.direction = 'forward'; conv.selected = []; conv.interval = 50"
    )
    expect(lab.slider).to_have_value("0")
    expect(lab.button("Forward")).to_have_attribute("aria-pressed", "true")
    return lab


def test_lab_step_goes_both_ways(conv: InLab) -> None:
    conv.button("Next step").click()
    conv.notebook.in_kernel("conv.step", 1)
    conv.root.focus()
    conv.page.keyboard.press("End")
    conv.notebook.in_kernel("conv.step", 63)
    conv.notebook.execute("conv.step = 18")
    expect(conv.slider).to_have_value("18")
    expect(conv.said).to_contain_text("output[1, 0, 2] is")
    conv.notebook.execute("conv.step = 1000")
    expect(conv.slider).to_have_value("63")
    conv.notebook.in_kernel("conv.step", 63)


def test_lab_the_selected_output_goes_both_ways(conv: InLab) -> None:
    output = conv.root.get_by_role("grid", name="output[0]")
    output.get_by_role("gridcell").nth(5).click()
    conv.notebook.in_kernel("conv.selected", [0, 1, 1])
    expect(conv.details).to_contain_text(
        "Receptive field: rows 1 to 3, columns 1 to 3 of the image."
    )
    conv.notebook.execute("conv.selected = [0, 3, 0]")
    expect(conv.details).to_contain_text(re.compile(r"output\[0, 3, 0\] [=≈]"))
    assert (
        output.get_by_role("gridcell", selected=True)
        .get_attribute("title")
        .startswith("output[0, 3, 0]")
    )  # type: ignore[union-attr]
    conv.page.keyboard.press("Escape")
    conv.notebook.in_kernel("conv.selected", [])


def test_lab_keys_do_not_reach_the_notebook(conv: InLab) -> None:
    cells = "panel => panel.content.widgets.length"
    count = conv.page.evaluate(f"({cells})(jupyterapp.shell.currentWidget)")
    conv.root.focus()
    for key in ("b", "a", "d", "d"):
        conv.page.keyboard.press(key)
    assert conv.page.evaluate(f"({cells})(jupyterapp.shell.currentWidget)") == count
