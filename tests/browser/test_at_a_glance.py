"""Networks from top to bottom, and what is seen at a glance: cards with parameters, turning, sizes, going to a step."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from lab import Explorer
from playwright.sync_api import Page, expect

import autolab as torch
from autolab import nn
from autolab.widgets import explore


def network() -> Any:
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), torch.randn(3, 4)
    with torch.record() as recording:
        nn.functional.cross_entropy(model(x), torch.tensor([0, 1, 1])).backward()
    return recording


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return explore(network()).to_html(tmp_path_factory.mktemp("down") / "network.html")


@pytest.fixture
def offline(page: Page, exported: Path) -> Explorer:
    page.goto(exported.as_uri())
    shown = Explorer(page)
    expect(shown.graph).to_be_visible()
    return shown


def rows(shown: Explorer, module: str) -> list[list[str]]:
    card = shown.graph.get_by_role("button", name=re.compile(rf"^{module},"))
    return card.locator(".al-grad[data-of]").evaluate_all(
        "rows => rows.map((g) => ['.al-gradname', '.al-word'].map((name) => g.querySelector(name).textContent))"
    )


def test_gradients_of_parameters_are_told_in_the_card(offline: Explorer) -> None:
    offline.page.set_viewport_size({"width": 1366, "height": 768})
    names = ["v5.grad", "weight [2, 8]", "v4 · t [8, 2]", "bias [2]"]
    assert rows(offline, "2, Linear") == [[name, "not yet"] for name in names]
    offline.slider.fill("26")
    assert rows(offline, "2, Linear") == [
        list(pair) for pair in zip(names, ["freed", "accumulated", "freed", "accumulated"])
    ]
    card = offline.graph.get_by_role(
        "button",
        name=re.compile("^2, Linear, v5, result of addmm, .*; 2.weight .*, gradient accumulated"),
    )
    expect(card).to_have_attribute("aria-expanded", "true")
    expect(card.locator(".al-tabname")).to_have_text("2 freed")
    card.get_by_text("weight [2, 8]").click()
    expect(offline.details.get_by_role("heading", name="2.weight, a leaf")).to_be_visible()
    for check in ("unnamed", "unreachable", "crowded", "small", "faint"):
        assert offline.check(check) == [], check


def test_no_ring_covers_the_shape_on_a_line(offline: Explorer) -> None:
    offline.page.set_viewport_size({"width": 1366, "height": 768})
    for step in ("2", "4"):
        offline.slider.fill(step)
        covered = """svg => [...svg.querySelectorAll(".al-shape")].filter((text) =>
          [...svg.querySelectorAll(".al-node")].some((g) => text.compareDocumentPosition(g) & Node.DOCUMENT_POSITION_FOLLOWING)).length"""
        assert offline.graph.evaluate(covered) == 0
        assert offline.graph.locator(".al-shape.al-now").count() > 0, (
            "what flows now is seen on its line, too"
        )


def test_a_module_of_one_card_closes_and_opens(offline: Explorer) -> None:
    module = offline.graph.get_by_role("button", name=re.compile("^0, Linear"))
    module.locator(".al-close").click()
    expect(module).to_have_attribute("aria-expanded", "false", timeout=20_000)
    expect(module.locator(".al-value")).to_have_text("1 of 2 computed")
    module.focus()
    offline.page.keyboard.press("Enter")
    expect(module).to_have_attribute("aria-expanded", "true", timeout=20_000)
    module.focus()
    offline.page.keyboard.press("Enter")
    expect(module).to_have_attribute("aria-expanded", "false", timeout=20_000)


def test_the_graph_turns_without_a_kernel(offline: Explorer) -> None:
    down = offline.graph.bounding_box()
    offline.button("Left to right").click()
    expect(offline.button("Top to bottom")).to_be_visible()
    expect(offline.graph.locator('.al-node[data-id="n1"]')).to_be_visible(
        timeout=20_000
    )  # the weight has a box now
    across = offline.graph.bounding_box()
    assert down and across and down["height"] > down["width"] and across["width"] > across["height"]
    offline.button("Top to bottom").click()
    expect(offline.graph.locator('.al-node[data-id="n1"]')).to_have_count(0, timeout=20_000)


@pytest.mark.parametrize("width", [904, 1366])
def test_a_small_graph_its_sentence_and_its_formula_fit_a_notebook_on_a_small_screen(
    page: Page, exported: Path, tmp_path: Path, width: int
) -> None:
    x = torch.tensor(2.0, requires_grad=True)
    b = x * x
    fork = explore(3 * x * b + b).to_html(tmp_path / "fork.html")
    page.set_viewport_size(
        {"width": width, "height": 768 - 47}
    )  # as much as JupyterLab's bars leave of 768: they are higher than a title
    for path, step in ((fork, 6), (exported, 4)):  # a contribution; a value
        page.goto(path.as_uri())
        shown = Explorer(page)
        expect(shown.graph).to_be_visible()
        shown.slider.fill(str(step))
        boxes = [
            box.bounding_box()
            for box in (
                shown.root,
                shown.said,
                shown.graph,
                shown.details.locator(".al-step .al-formula").first,
            )
        ]
        whole, *seen = boxes
        assert whole and whole["height"] <= 768 - 92 - 24, (
            "JupyterLab's bars and what is above a cell's output"
        )
        pane = shown.graph.evaluate(
            "svg => { const box = svg.parentElement.getBoundingClientRect(); return [box.top, box.bottom]; }"
        )
        details = shown.details.bounding_box()
        assert (
            details
            and seen[2]
            and seen[2]["y"] + seen[2]["height"] <= details["y"] + details["height"]
        ), "the formula is seen"
        assert (
            seen[1] and pane[0] <= seen[1]["y"] and seen[1]["y"] + seen[1]["height"] <= pane[1] + 1
        ), "the whole graph is seen"


@pytest.fixture(scope="module", params=["backward", "stepped"])
def resnet(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    torch.manual_seed(0)
    model = torch.vision.models.resnet18()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.record() as recording:
        nn.functional.cross_entropy(
            model(torch.randn(2, 3, 32, 32)), torch.tensor([1, 2])
        ).backward()
        if request.param == "stepped":
            optimizer.step()
    return request.param, explore(recording, expanded=[]).to_html(
        tmp_path_factory.mktemp("resnet") / "resnet.html"
    )


# What JupyterLab's bars and side bar leave of 1280 x 720 and 1366 x 768; a page; a telephone, where one scrolls down.
@pytest.mark.parametrize(("width", "height"), [(880, 680), (966, 721), (1280, 720), (400, 900)])
def test_a_closed_resnet_is_seen_whole_on_a_small_screen(
    page: Page, resnet: tuple[str, Path], width: int, height: int
) -> None:
    page.set_viewport_size({"width": width, "height": height})
    recorded, path = resnet
    page.goto(path.as_uri())
    shown = Explorer(page)
    expect(shown.graph).to_be_visible()
    seen = shown.graph.evaluate(
        """svg => { const pane = svg.parentElement, scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
                    return [pane.scrollHeight - pane.clientHeight, pane.scrollWidth - pane.clientWidth, 13 * scale]; }"""
    )
    assert seen[1] <= 0 and seen[2] >= 11
    if recorded == "backward" or width == 1280:
        assert seen[0] <= 0 or width == 400
    elif width > 900:
        assert seen[0] <= 20, "one box more was changed"
    for check in ("crowded", "unreachable", "small"):
        assert shown.check(check) == [], check


def test_an_exported_explorer_ends_where_the_window_does(offline: Explorer) -> None:
    offline.page.set_viewport_size({"width": 1366, "height": 560})
    expect(offline.root).to_be_in_viewport(ratio=1)
    box = offline.root.bounding_box()
    assert box and 536 <= box["y"] + box["height"] <= 560


def test_a_step_by_its_number_its_speed_and_a_nodes_own_step(offline: Explorer) -> None:
    field = offline.root.get_by_role("spinbutton", name="Step number", exact=True)
    expect(field).to_have_value("1")
    for typed, step in (("12", 11), ("999", 26), ("-3", 0), ("7", 6), ("", 6)):
        field.fill(typed)
        field.press("Enter")
        offline.at(step)
        expect(field).to_have_value(str(step + 1))
    field.press("ArrowUp")
    field.press("Enter")
    offline.at(7)
    fits = "field => parseFloat(getComputedStyle(field).width) - 2 * 7 >= 9 * field.max.length"
    assert field.evaluate(fits), "the number is seen whole"
    offline.root.get_by_role("combobox", name="Speed", exact=True).select_option("very fast")
    offline.button("Play").click()
    offline.at(26)
    offline.graph.get_by_role("button", name=re.compile("^1, ReLU")).click()
    offline.details.get_by_role("button", name="Computed in step 3").press("Enter")
    expect(
        offline.details
    ).to_be_focused()  # the button is gone, the way of the Tab key goes on here
    offline.at(2)
    expect(
        offline.details.get_by_role("button", name=re.compile("Computed in step"))
    ).to_have_count(0)


def test_whoever_goes_to_a_step_while_it_plays_stays_there(offline: Explorer) -> None:
    offline.root.get_by_role("combobox", name="Speed", exact=True).select_option("very fast")
    for go, step in (("First step", 0), ("Last step", 26)):
        offline.button("Play").click()
        expect(offline.slider).not_to_have_value("0")
        offline.button(go).click()
        offline.at(step)
        expect(offline.button("Play")).to_be_visible()
        offline.page.wait_for_timeout(300)
        offline.at(step)


def test_playing_ends_with_the_last_step_not_after_it(offline: Explorer) -> None:
    offline.root.evaluate("""r => { const slider = r.querySelector("input[type=range]"), play = r.querySelector(".al-playbutton");
        window.atTheEnd = new Promise((done) => { const look = () =>
            slider.value === slider.max ? setTimeout(() => done(play.textContent)) : setTimeout(look); look(); }); }""")
    offline.root.get_by_role("combobox", name="Speed", exact=True).select_option("very fast")
    offline.button("Play").click()
    assert offline.page.evaluate("window.atTheEnd") == "Play"
