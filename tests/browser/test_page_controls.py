"""No control of an exported page is dead: each is operated, and something else than itself changes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from lab import Explorer, offline
from zoo import convolutions

import autolab as torch
from autolab import widgets
from autolab.viz import html

CONTROLS = "button, input, select, summary, [role=button], [role=switch], [role=slider], [role=tab], [role=treegrid] tr[tabindex='0']"
# What has its state already is first put into another.
FIRST = {"Collapse all": "Expand all", "Expand all": "Collapse all", "Fit": "Zoom in", "Zoom out": "Zoom in", "Forward": "Backward",
         "All": "None", "Train from layer": "None"}  # fmt: skip
# All that can be seen but the control itself, which may show its own new state and the focus.
SEEN = """control => {
    const root = control.getRootNode(), copies = [];
    const read = (e) => {
      if (e === control || e.tagName === "STYLE") return;
      copies.push(e.cloneNode(false).outerHTML, e.value ?? "", e.checked ?? "", e.scrollLeft, e.scrollTop);
      if (e.tagName === "CANVAS") copies.push(e.toDataURL());
      for (const child of e.childNodes) child.nodeType === 3 ? copies.push(child.data) : child.nodeType === 1 && read(child);
    };
    for (const child of root.children) read(child);
    return copies.join("|").replace(/ tabindex="[^"]*"/g, "");
}"""


def network() -> Any:
    torch.manual_seed(0)
    nn = torch.nn
    blocks = [nn.Sequential(nn.Linear(3, 3), nn.Tanh()) for _ in range(9)]
    return torch.explore(nn.Sequential(*blocks, nn.Linear(3, 1))(torch.ones(2, 3)).sum(), step=20)


def layers() -> Any:
    torch.manual_seed(0)
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2))
    return torch.explore(model(torch.randn(1, 1, 6, 6)).sum(), step=3)


def big() -> Any:
    y = torch.tensor(1.0, requires_grad=True)
    for i in range(4200):
        y = y * 1.5 if i % 2 else y - 0.5
    return torch.explore(y, step=40)


def dashboard() -> Any:
    records = [
        {
            "epoch": i // 4,
            "step": i,
            "train_loss": 8 / (i + 1),
            "learning_rate": 0.1,
            "val_accuracy": i / 16,
        }
        for i in range(16)
    ]
    model = torch.nn.Linear(2, 1)
    widget = widgets.TrainingDashboard(records, torch.optim.SGD(model.parameters(), lr=0.1))
    widget.run_blocking()
    return widget


def paused() -> Any:
    widget = widgets.TrainingDashboard(
        [{"step": 1, "train_loss": 2.0}, {"step": 2, "train_loss": 1.0}],
        torch.optim.SGD([torch.ones(1)], lr=0.1),
    )
    widget.history.add({"step": 1, "train_loss": 2.0}, [0.1])
    return widget


def devices() -> Any:
    with torch.record_devices() as recording:
        x = torch.ones(64, 64).to("sim")
        (x @ x).sum().item()
    return widgets.DeviceExplorer(recording, step=2)


def convolution() -> Any:
    return widgets.ConvExplorer(np.arange(25.0).reshape(5, 5), np.eye(3), step=3)


def field() -> Any:
    nn = torch.nn
    return widgets.ReceptiveField(
        np.arange(144.0).reshape(12, 12),
        nn.Sequential(nn.Conv2d(1, 1, 3), nn.MaxPool2d(2), nn.Conv2d(1, 1, 3)),
    )


MAKERS: list[Callable[[], Any]] = [
    network,
    layers,
    big,
    convolutions,
    dashboard,
    paused,
    devices,
    convolution,
    field,
]


def operate(control: Locator) -> None:
    kind = control.evaluate("e => (e.tagName === 'INPUT' ? e.type : e.tagName)")
    if kind == "range":
        control.evaluate("e => (e.value = Number(e.value) === Number(e.max) ? e.min : e.max)")
        for name in ("input", "change"):
            control.dispatch_event(name)
    elif kind in ("checkbox", "radio"):
        control.evaluate("e => e.click()")
    elif kind == "SELECT":
        control.select_option(index=1 + control.evaluate("e => e.selectedIndex"))
    elif kind in ("text", "search", "number"):
        control.fill("1")
        control.press("Enter")
    elif control.get_attribute("aria-label") == "Map":
        control.press("End")
    elif kind == "TR":
        control.press("ArrowDown")
    else:
        control.evaluate(
            "e => e.dispatchEvent(new MouseEvent('click', { bubbles: true, composed: true }))"
        )


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_every_control_of_a_page_does_something(
    page: Page, tmp_path: Path, make: Callable[[], Any]
) -> None:
    path = tmp_path / "page.html"
    path.write_text(html.page([make()]), encoding="utf-8")
    page.goto(path.as_uri())
    controls = page.locator(f".autolab > div >> css=:is({CONTROLS})")
    expect(page.locator(".autolab > div").first).to_be_visible()
    page.wait_for_timeout(300)
    names = controls.evaluate_all("all => all.map((e) => e.ariaLabel ?? e.textContent ?? '')")
    dead, tried, touched = [], 0, False
    for i, name in enumerate(names):
        if touched:
            touched = False
            page.goto("about:blank")
            page.goto(path.as_uri())
            expect(controls).to_have_count(len(names))
        control = controls.nth(i)  # bars come before what opens and closes: their places stay
        if name in FIRST and FIRST[name] in names:
            touched = True
            operate(controls.nth(names.index(FIRST[name])))
            page.wait_for_timeout(1200)
        if control.evaluate(
            "e => e.disabled || e.closest('[hidden]') !== null || e.ariaDisabled === 'true' || !e.getClientRects().length"
        ):
            continue
        before = control.evaluate(SEEN)
        tried, touched = tried + 1, True
        operate(control)
        for _ in range(60):
            if (
                not page.evaluate("() => true")
                or controls.nth(i).count() == 0
                or not control.is_visible()
                or control.evaluate(SEEN) != before
            ):
                break
            page.wait_for_timeout(50)
        else:
            dead.append(name)
    print(make.__name__, tried, "of", len(names), "controls")
    assert not dead, f"{len(dead)} of {tried} controls change nothing: {dead}"


def test_a_question_on_a_page_is_kept_and_says_where_it_is_compared(
    page: Page, tmp_path: Path
) -> None:
    questions = [
        widgets.Prediction("What is 2 * 3?", kind="number"),
        widgets.Prediction("Which?", choices=["one", "two"]),
    ]
    (tmp_path / "ask.html").write_text(html.page(questions), encoding="utf-8")
    page.goto((tmp_path / "ask.html").as_uri())
    page.get_by_role("textbox", name="Your number").fill("6")
    page.get_by_role("textbox", name="Your number").press("Enter")
    said = re.compile(
        "You predicted: 6. This page cannot run the program: compare in the notebook."
    )
    expect(page.get_by_role("status").first).to_have_text(said)
    page.get_by_role("radio", name="two").check()
    expect(page.get_by_role("status").nth(1)).to_contain_text("You predicted: two")


def test_a_question_that_was_compared_can_be_answered_on_a_page(page: Page, tmp_path: Path) -> None:
    choice = widgets.Prediction("Which?", choices=["one", "two"], because={"one": "There are two."})
    number = widgets.Prediction("How many?", kind="number")
    verdicts = [choice.reveal("two"), number.reveal(1048576)]
    (tmp_path / "ask.html").write_text(html.page([choice, number, *verdicts]), encoding="utf-8")
    page.goto((tmp_path / "ask.html").as_uri())
    page.get_by_role("radio", name="one").click()
    expect(page.get_by_role("status").first).to_have_text(
        "Your prediction did not come true. It is: two. There are two."
    )
    expect(page.get_by_role("radio", name="two")).to_be_disabled()
    page.get_by_role("textbox", name="Your number").fill("1,048,576")
    page.get_by_role("textbox", name="Your number").press("Enter")
    expect(page.get_by_role("status").nth(1)).to_have_text(
        "Your prediction came true. It is: 1048576."
    )
    expect(page.get_by_role("button", name="Show me")).to_have_count(0)


def test_a_graph_without_steps_has_no_player(browser: Browser, tmp_path: Path) -> None:
    x = torch.tensor(3.0)
    with offline(browser) as page:
        page.goto(torch.explore(x).to_html(tmp_path / "leaf.html").as_uri())
        shown = Explorer(page)
        expect(shown.root.get_by_text("No steps")).to_be_visible()
        for hidden in (shown.button("Play"), shown.slider, shown.button("Next step")):
            expect(hidden).to_be_hidden()
        expect(shown.root.get_by_role("spinbutton", name="Step number")).to_be_hidden()


def test_a_question_that_holds_the_steps_leaves_room_on_the_slider(
    browser: Browser, tmp_path: Path
) -> None:
    x = torch.tensor(2.0, requires_grad=True)
    explorer = torch.explore(x * x + 3 * x)
    explorer.ask("x", "grad")
    with offline(browser) as page:
        page.goto(explorer.to_html(tmp_path / "asked.html").as_uri())
        shown = Explorer(page)
        shown.root.focus()
        page.keyboard.press("End")
        step, last = int(shown.slider.input_value()), int(shown.slider.get_attribute("max"))
        count = shown.root.locator(".al-count").inner_text()
        assert count == f"Step {step + 1} of {last + 1}" and step < last
        shown.slider.fill(str(last))
        expect(shown.slider).to_have_value(str(step))


def test_a_scrolled_page_goes_on_over_details(browser: Browser, tmp_path: Path) -> None:
    """The wheel scrolls Details once the pointer has moved in them."""
    x = torch.tensor(3.0, requires_grad=True)
    y = ((x * x).exp() * x).sin() + x * 2
    with offline(browser, viewport={"width": 1000, "height": 620}) as page:
        page.goto(torch.explore(y).to_html(tmp_path / "page.html").as_uri())
        shown = Explorer(page)
        shown.graph.wait_for()
        for where in ("afterbegin", "beforeend"):
            page.evaluate(
                f"document.body.insertAdjacentHTML('{where}', '<div style=\"height:1500px\"></div>')"
            )
        details = shown.root.get_by_role("group", name="Details", exact=True)
        details.evaluate("d => { d.style.maxHeight = '120px'; }")
        details.evaluate("d => scrollTo(0, d.getBoundingClientRect().top + scrollY - 500)")
        box = details.bounding_box()
        page.mouse.move(box["x"] + 40, box["y"] - 300)
        scrolled = "d => [Math.round(scrollY), d.scrollTop]"
        page.mouse.wheel(0, 330)  # Details are below the pointer now
        page.wait_for_timeout(300)
        before = details.evaluate(scrolled)
        page.mouse.wheel(0, 30)
        page.wait_for_timeout(300)
        assert details.evaluate(scrolled) == [before[0] + 30, 0]
        box = details.bounding_box()
        page.mouse.move(box["x"] + 50, box["y"] + 50)
        page.mouse.move(box["x"] + 60, box["y"] + 55)
        page.mouse.wheel(0, 20)
        page.wait_for_timeout(300)
        assert details.evaluate(scrolled)[1] == 20
