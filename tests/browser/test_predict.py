"""The prediction widget in JupyterLab: answered by role and name, kept in the kernel, compared later."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lab import Notebook, Server
from playwright.sync_api import Locator, expect

ASK = """from autolab.widgets.predict import Prediction
choice = Prediction("What is `x.grad`?", choices=["6", "12", "an error"], because={"6": "backward() adds."})
choice"""
TYPE = """number = Prediction("What is dz/dx?", kind="number")
number"""


@pytest.fixture(scope="module")
def page(server: Server, open_notebook: Callable[..., Notebook]) -> Notebook:
    server.write("predict.ipynb", ASK, TYPE)
    notebook = open_notebook("predict.ipynb")
    notebook.run_cells()
    return notebook


def question(page: Notebook, name: str) -> Locator:
    return page.page.locator("form").filter(has=page.page.get_by_role("group", name=name))


def test_a_choice_is_kept_by_the_kernel_and_compared(page: Notebook) -> None:
    form = question(page, "Predict What is x.grad?")
    expect(form.get_by_role("radio")).to_have_count(3)
    keep = form.get_by_role("button", name="Keep this prediction")
    keep.click()
    expect(form.get_by_role("status")).to_have_text("Choose or type an answer first.")
    page.in_kernel("choice.answer", "")

    form.get_by_role("radio", name="6", exact=True).check()
    page.in_kernel("choice.answer", "")
    keep.click()
    page.in_kernel("choice.answer", "6")
    expect(form.get_by_role("status")).to_have_text("Run on, then compare. You predicted: 6")

    form.get_by_role("radio", name="12", exact=True).focus()     # by keyboard, and a change of mind
    page.page.keyboard.press(" ")
    page.page.keyboard.press("Enter")
    page.in_kernel("choice.answer", "12")

    page.execute("choice.reveal(12.0)")
    expect(form.get_by_role("status")).to_have_text("You predicted: 12 — it is: 12")
    expect(keep).to_be_disabled()
    expect(form.get_by_role("radio", name="6", exact=True)).to_be_disabled()
    page.in_kernel("choice.came_true", True)


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
    field.press_sequentially("abc")             # a and b are shortcuts of JupyterLab: they must not reach it
    field.press("Enter")
    expect(form.get_by_role("status")).to_have_text("A number is wanted here.")
    assert page.cell_count() == cells
    field.fill("40")
    field.press("Enter")
    page.in_kernel("number.answer", "40")
    page.in_kernel("number.made", True)
