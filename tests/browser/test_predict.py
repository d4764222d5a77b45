"""The prediction widget in JupyterLab: answered by role and name, kept in the kernel, compared later."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lab import Notebook, Server
from playwright.sync_api import Locator, expect

ASK = """from autolab.widgets.predict import Prediction
choice = Prediction("What is `x.grad`?", choices=["6", "12", "an error"], because={"6": "backward() adds."})
choice"""
REVEAL = "choice.reveal(12.0)"
LINE = """import autolab
line = Prediction("Which line?", choices=["line 1", "line 2", "`if`"], id="which")
line"""
MANY = """many = Prediction("How many?", kind="number")
many"""
SHOW = "many.reveal(42)"
TYPE = """number = Prediction("What is dz/dx?", kind="number")
number"""
KEYS = """keys = [Prediction(f"By {way}?", choices=["one", "two"]) for way in ("arrows", "space")]
display(*keys)"""
INVENTORY = """inventory = autolab.inventory("before")
inventory"""


@pytest.fixture(scope="module")
def page(server: Server, open_notebook: Callable[..., Notebook]) -> Notebook:
    server.write("predict.ipynb", ASK, REVEAL, LINE, MANY, SHOW, TYPE, KEYS, INVENTORY)
    notebook = open_notebook("predict.ipynb")
    notebook.run_cells()
    return notebook


def question(page: Notebook, name: str) -> Locator:
    return page.page.locator("form").filter(has=page.page.get_by_role("group", name=name))


def test_a_click_is_an_answer_and_the_verdict_waits_for_it(page: Notebook) -> None:
    form = question(page, "Predict What is x.grad?")
    expect(form.get_by_role("radio")).to_have_count(3)
    expect(form.get_by_role("group", name="How sure are you?")).to_be_hidden()
    verdict = page.page.locator(".al-verdict").first
    expect(verdict.get_by_role("status")).to_have_text(
        "Your prediction first: answer the question above, then it is compared here."
    )
    page.in_kernel("choice.answer, choice.actual", ("", ""))

    form.get_by_role(
        "radio", name="6", exact=True
    ).focus()  # by keyboard: going through the choices answers nothing
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("ArrowUp")
    page.in_kernel("choice.answer", "")
    page.page.keyboard.press("Enter")
    page.in_kernel("choice.answer, choice.came_true", ("12", True))
    expect(verdict.get_by_role("status")).to_contain_text("Your prediction came true")
    expect(verdict.get_by_role("button", name="Show me")).to_be_hidden()
    expect(form.get_by_role("status")).to_have_text("You predicted: 12 — it is: 12")
    expect(form.get_by_role("radio", name="6", exact=True)).to_be_disabled()


def test_before_it_is_compared_one_may_change_it_and_say_how_sure_one_is(page: Notebook) -> None:
    form = question(page, "Predict Which line?")
    form.get_by_role("radio", name="if").click()
    expect(form.get_by_role("status")).to_have_text(
        "You predicted: if. You may change it until it is compared, below."
    )
    form.get_by_role("radio", name="line 1").click()
    page.in_kernel("line.answer", "line 1")
    expect(form.get_by_role("status")).to_have_text(
        "You predicted: line 1. You may change it until it is compared, below."
    )
    form.get_by_role("radio", name="line 2").click()
    form.get_by_role("radio", name="fairly sure").click()
    form.get_by_role("textbox", name="Because").fill("it records")
    form.get_by_role("textbox", name="Because").press("Tab")
    page.in_kernel("line.answer, line.confidence, line.reason", ("line 2", 3, "it records"))
    page.execute("line.reveal('line 2')")
    expect(form.get_by_role("status")).to_have_text("You predicted: line 2 — it is: line 2")
    page.in_kernel(
        "(e := autolab.progress.events('prediction')[-1]) and (e.id, e.right, e.confidence, e.because, e.choices)",
        ("which", True, 3, "it records", ("line 1", "line 2", "`if`")),
    )


@pytest.mark.parametrize(
    ("way", "keys", "answer"),
    [("arrows", ["ArrowDown", "Tab"], "two"), ("space", ["Space", "Tab"], "one")],
)
def test_by_keyboard_the_next_stop_is_how_sure_one_is_and_escape_leads_out(
    page: Notebook, way: str, keys: list[str], answer: str
) -> None:
    form = question(page, f"Predict By {way}?")
    form.get_by_role("radio", name="one").focus()
    for key in keys[:-1]:
        page.page.keyboard.press(key)
    if way == "space":
        expect(form.get_by_role("group", name="How sure are you?")).to_be_visible()
    page.page.keyboard.press(keys[-1])
    expect(form.get_by_role("radio", name="a guess")).to_be_focused()
    page.in_kernel("[one.answer for one in keys if one.question == 'By " + way + "?']", [answer])
    page.page.keyboard.press("Escape")
    here = "return [document.activeElement === panel.content.activeCell.node, panel.content.mode, panel.content.activeCell.model.sharedModel.source];"
    assert page._panel(here) == [True, "command", KEYS]


def test_show_me_says_it_without_an_answer(page: Notebook) -> None:
    verdict = page.page.locator(".al-verdict").nth(1)
    verdict.get_by_role("button", name="Show me").click()
    expect(verdict.get_by_role("status")).to_contain_text("You made no prediction here")
    expect(verdict.get_by_role("status")).to_contain_text("42")
    expect(
        question(page, "Predict How many?").get_by_role("textbox", name="Your number")
    ).to_be_disabled()


def test_a_question_follows_the_theme_it_is_read_in(page: Notebook) -> None:
    form = question(page, "Predict What is x.grad?")
    expect(form).to_have_attribute("data-theme", "light")
    with page.theme("dark"):
        expect(form).to_have_attribute("data-theme", "dark")
    expect(form).to_have_attribute("data-theme", "light")


def test_a_number_is_typed_and_checked_before_it_is_sent(page: Notebook) -> None:
    form = question(page, "Predict What is dz/dx?")
    field = form.get_by_role("textbox", name="Your number")
    cells = page.cell_count()
    field.press_sequentially("abc")  # a and b are shortcuts of JupyterLab: they must not reach it
    field.press("Enter")
    expect(form.get_by_role("status")).to_have_text("A number is wanted here.")
    assert page.cell_count() == cells
    field.fill("40")
    field.press("Enter")
    page.in_kernel("number.answer", "40")
    page.in_kernel("number.made", True)


def test_the_inventory_is_answered_by_keyboard_and_mouse_and_handed_in_once(page: Notebook) -> None:
    form = page.page.get_by_role("form", name="Inventory, before")
    ask, where = (
        form.get_by_role("group", name="What is the last line?"),
        form.get_by_role("combobox", name="Question"),
    )
    expect(form.get_by_role("group", name="The program")).to_contain_text("requires_grad=True")
    expect(form.get_by_role("button", name="Back")).to_be_disabled()
    ask.get_by_role("radio").first.focus()
    page.page.keyboard.press("ArrowDown")  # going through the choices chooses: the last one counts
    page.page.keyboard.press("Enter")
    expect(where).to_have_value("1")
    page.in_kernel(
        "len(inventory.answers), inventory.answers['5'] == inventory.items[0]['choices'][1]",
        (1, True),
    )
    form.get_by_role("button", name="Hand in (1 of 20 answered)").click()
    expect(form.get_by_role("status").last).to_contain_text("Not answered yet: 2, 3, 4")
    for number in range(1, 20):
        where.select_option(str(number))
        ask.get_by_role("radio", name="I cannot tell").click()
    form.get_by_role("button", name="Hand in", exact=True).click()
    expect(form).to_contain_text("handed in, 20 of 20 answered")
    expect(ask).to_be_hidden()
    page.in_kernel(
        "inventory.sitting.handed_in, len(autolab.inventory.sitting('before').answers)", (True, 20)
    )
