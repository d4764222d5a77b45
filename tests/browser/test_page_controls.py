"""No control of an exported page is dead: each is operated, and something else than itself changes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def devices() -> Any:
    with torch.record_devices() as recording:
        x = torch.ones(64, 64).to("sim")
        (x @ x).sum().item()
    return widgets.DeviceExplorer(recording, step=2)


MAKERS: list[Callable[[], Any]] = [
    network,
    convolutions,
    dashboard,
    devices,
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
        assert step < last
        shown.slider.fill(str(last))
        expect(shown.slider).to_have_value(str(step))
