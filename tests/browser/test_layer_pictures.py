"""Cards and pictures of convolution, pooling and normalisation in the Explorer: on a page without network, and in
JupyterLab."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab import Explorer, Notebook, Server
from playwright.sync_api import Locator, Page, expect

import autolab as torch
from autolab.widgets import heat

NETWORK = """
import autolab as torch
from autolab import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.AvgPool2d(2))
image = torch.randn(2, 1, 8, 8)
with torch.record() as recording:
    loss = (model(image) ** 2).sum()
    loss.backward()
explorer = torch.explore(recording)
explorer
"""
VARIABLES: dict[str, Any] = {}
exec(NETWORK, VARIABLES)
TRACE = VARIABLES["recording"].trace()
NODES = {node.layer["kind"]: node for node in TRACE.nodes if node.layer}


def step_of(kind: str, event: str, to: str = "") -> int:
    """The first step of that kind at a node; `to`: the name of what a contribution goes to."""
    for frame in TRACE.frames:
        receiver = frame.receiver and TRACE.node(frame.receiver).name
        if frame.node == NODES[kind].id and frame.event == event and (not to or receiver == to):
            return frame.index
    raise LookupError(kind, event, to)


class Exported(Explorer):
    """An explorer on a page of its own."""

    def __init__(self, page: Page, folder: Path):
        super().__init__(page)
        self.folder = folder

    def open(self, kind: str, step: int) -> Locator:
        """The section of the node of that kind, at that step."""
        widget = torch.explore(TRACE, step=step, selected=NODES[kind].id)
        self.page.goto(widget.to_html(self.folder / "page.html").as_uri())
        expect(self.details).to_be_visible()
        return self.section(kind)

    def section(self, kind: str) -> Locator:
        return self.details.get_by_role("group", name=f"{kind}: card and pictures")


@pytest.fixture
def shown(page: Page, tmp_path: Path) -> Exported:
    return Exported(page, tmp_path)


def picture(section: Locator, title: str) -> Locator:
    return section.get_by_role("img", name=re.compile(f"^{re.escape(title)}: "))


def panel(kind: str, what: str, run: int = 0) -> dict[str, Any]:
    layer = NODES[kind].layer
    assert layer is not None
    return next(p for p in layer["panels"] if (p["what"], p["run"]) == (what, run))


def pixels(image: Locator, number: int) -> list[str]:
    """The colours of one heat map, row by row."""
    return (
        image.locator("canvas")
        .nth(number)
        .evaluate(
            """canvas => {
             const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
             const hex = (i) => "#" + [...data.slice(4 * i, 4 * i + 3)].map(v => v.toString(16).padStart(2, "0")).join("");
             return Array.from({ length: data.length / 4 }, (_, i) => hex(i));
           }"""
        )
    )


def test_kernels_and_feature_maps_have_the_colours_of_their_numbers(shown: Exported) -> None:
    section = shown.open("convolution", step_of("convolution", "compute"))
    for what, title in (
        ("w", "w, kernels"),
        ("x", "x, feature maps in"),
        ("y", "y, feature maps out"),
    ):
        drawn = panel("convolution", what)
        image = picture(section, title)
        expect(image).to_be_visible()
        assert image.get_attribute("aria-label") == drawn["label"]
        for number, plane in enumerate(drawn["numbers"]):
            assert pixels(image, number) == [
                heat.color(v, drawn["scale"]) for row in plane for v in row
            ]
    expect(section).to_contain_text("Image 0 of 2; all 3 channels.")
    expect(section).to_contain_text("w is 0.weight, b is 0.bias, y is v1.")


def test_gradients_appear_when_their_step_has_come(shown: Exported) -> None:
    section = shown.open("convolution", step_of("convolution", "compute"))
    expect(picture(section, "gradient of w, from this layer")).to_have_count(0)
    expect(section).to_contain_text("Gradients follow when their step has come.")
    shown.slider.fill(str(step_of("convolution", "contribution", "0.weight")))
    image = picture(section, "gradient of w, from this layer")
    expect(image).to_be_visible()
    sent = panel("convolution", "w", 1)
    wanted = [frame for frame in TRACE.frames if frame.edge == sent["edge"]][0].value
    assert wanted.data is not None
    for number in range(3):
        assert sent["numbers"][number][0] == pytest.approx(wanted.data[number][0][0], rel=1e-3)
        assert pixels(image, number) == [
            heat.color(v, sent["scale"]) for row in sent["numbers"][number] for v in row
        ]
    shown.slider.fill("0")
    expect(image).to_have_count(0)


def test_the_card_is_filled_in_and_folds_away(shown: Exported) -> None:
    section = shown.open("convolution", step_of("convolution", "compute"))
    card = section.get_by_role("group", name="Formula card")
    expect(card).to_contain_text("the sum of 1 × 3 × 3 = 9 products")
    expect(card).to_contain_text("2 × 3 × 8 × 8 × 1 × 3 × 3 = 3,456 forward")
    expect(card).to_contain_text("3 × 1 × 3 × 3 = 27 weights and 3 biases: 30.")
    assert card.locator(".al-formula:has(math)").count() == 5, (
        "forward, size, gradients of x, w, b; no TeX is left over"
    )
    assert card.locator("code").count() == 0
    button = section.get_by_role("button", name="Formula card")
    expect(button).to_have_attribute("aria-expanded", "true")
    button.focus()
    shown.page.keyboard.press("Enter")
    expect(card).to_be_hidden()
    expect(button).to_have_attribute("aria-expanded", "false")
    shown.page.keyboard.press("ArrowRight")
    expect(shown.slider).not_to_have_value(str(step_of("convolution", "compute")))
    expect(card).to_be_hidden()
    assert button.evaluate("e => e.getRootNode().activeElement === e"), "the focus outlives a step"


def test_batch_norm_compares_its_statistics(shown: Exported) -> None:
    section = shown.open("batch norm", step_of("batch norm", "compute"))
    table = section.get_by_role("table", name="mean and variance")
    heads = table.get_by_role("columnheader").all_inner_texts()
    assert [" ".join(head.split()) for head in heads] == [
        "batch mean used", "batch variance used", "running mean", "running variance", "scale γ used", "shift β used",
    ]  # fmt: skip
    layer = NODES["batch norm"].layer
    assert layer is not None
    mean = layer["panels"][0]["columns"][0]["values"]
    assert [
        float(c) for c in table.locator("tbody tr td:nth-child(2)").all_inner_texts()
    ] == pytest.approx(mean, rel=6e-3)
    expect(
        section.get_by_role("img", name=re.compile("^mean and variance, 3 channels; training"))
    ).to_be_visible()
    expect(section).to_contain_text("the batch's own mean and variance were used")
    shown.slider.fill(str(len(TRACE.frames) - 1))
    expect(table.get_by_role("columnheader", name="gradient of γ")).to_be_visible()


def test_numbers_on_demand(shown: Exported) -> None:
    section = shown.open("convolution", step_of("convolution", "compute"))
    figure = section.get_by_role("figure").filter(has_text="w, kernels")
    table = figure.get_by_role("table", name="w, kernels, filter 1")
    expect(table).to_have_count(0)
    figure.get_by_role("button", name="Show numbers").click()
    expect(table).to_be_visible()
    weight = VARIABLES["model"][0].weight.detach().numpy()[1, 0]
    assert [float(v) for v in table.get_by_role("cell").all_inner_texts()] == pytest.approx(
        weight.ravel().tolist(), rel=6e-3
    )
    shown.button("Next step").click()
    expect(table).to_be_visible()
    figure.get_by_role("button", name="Hide numbers").click()
    expect(table).to_be_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_can_be_read_and_reached(shown: Exported, scheme: str) -> None:
    shown.page.emulate_media(color_scheme=scheme)
    last = len(TRACE.frames) - 1
    for kind in NODES:
        section = shown.open(kind, last)
        expect(shown.root).to_have_attribute("data-theme", scheme)
        for figure in section.get_by_role("figure").all():
            button = figure.get_by_role("button", name="Show numbers")
            if button.count():
                button.click()
        for check in ("faint", "small", "unnamed", "unreachable"):
            assert shown.check(check) == [], f"{kind}: {check}"
        for image in section.get_by_role("img").all():
            assert len(image.get_attribute("aria-label") or "") > 30


def test_fits_a_narrow_page(shown: Exported) -> None:
    shown.page.set_viewport_size({"width": 480, "height": 900})
    for kind in NODES:
        section = shown.open(kind, len(TRACE.frames) - 1)
        assert shown.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        inside = section.evaluate("e => e.scrollWidth <= e.clientWidth + 1")
        assert inside, f"{kind}: nothing but what scrolls by itself is wider than Details"


def test_in_jupyterlab(server: Server, open_notebook: Callable[..., Notebook]) -> None:
    server.write("layers.ipynb", NETWORK)
    notebook = open_notebook("layers.ipynb").run()
    node, step = NODES["max pooling"], step_of("max pooling", "contribution")
    notebook.execute(f"explorer.selected = {node.id!r}; explorer.step = {step}")
    section = notebook.details.get_by_role("group", name="max pooling: card and pictures")
    image = picture(section, "gradient of x, sent back")
    expect(image).to_be_visible()
    drawn = panel("max pooling", "x", 1)
    assert pixels(image, 0) == [
        heat.color(v, drawn["scale"]) for row in drawn["numbers"][0] for v in row
    ]
    section.get_by_role("button", name="Formula card").click()
    expect(section.get_by_role("group", name="Formula card")).to_be_hidden()
    notebook.in_kernel("explorer.step", step)


def test_a_closed_module_offers_the_pictures_in_it(page: Page, tmp_path: Path) -> None:
    nn = torch.nn
    torch.manual_seed(0)
    body = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2))
    model = nn.Sequential(body, nn.Flatten(), nn.Linear(8, 2))
    explorer = torch.explore(
        model(torch.randn(2, 1, 6, 6)).sum(), step=2
    )  # ReLU: no picture of its own
    explorer.expanded = []
    page.goto(explorer.to_html(tmp_path / "closed.html").as_uri())
    assert Explorer(page).details.is_visible()
    offer = page.get_by_role("group", name="Pictures of the layers in 0", exact=True)
    expect(offer.get_by_role("button")).to_have_text(
        ["0.0, convolution", "0.1, batch norm", "0.3, max pooling"]
    )
    layer = page.get_by_role("group", name=re.compile("card and pictures"))
    expect(layer).to_have_count(0)
    first = offer.get_by_role("button", name="0.0, convolution")
    first.focus()
    page.keyboard.press("Enter")
    expect(layer).to_contain_text("Convolution")
    expect(first).to_have_attribute("aria-pressed", "true")
    expect(first).to_be_focused()
    graph = page.get_by_role("group", name="Computation graph", exact=True)
    expect(
        graph.get_by_role("button", name=re.compile("^0, Sequential"))
    ).to_be_visible()  # still closed
    for _ in range(5):
        page.get_by_role("button", name="Next step", exact=True).click()
    page.get_by_role("button", name="Follow the steps").click()
    expect(offer).to_have_count(0)  # the step is outside of the closed box now
