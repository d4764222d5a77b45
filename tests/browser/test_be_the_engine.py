"""Be the engine, as learners play it: by keyboard on a narrow dark page without a kernel, and in JupyterLab."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab import Explorer, Notebook, Server, offline
from playwright.sync_api import Browser, Locator, expect
from test_ask import READ
from test_learners import Learner

import autolab as torch


def parts(shown: Explorer) -> tuple[Locator, Locator]:
    panel = shown.root.get_by_role("group", name="Practice", exact=True)
    return panel, panel.get_by_role("status")


def play_right(shown: Explorer, game: Any, hidden: str) -> None:
    """Everything by keyboard; `hidden` is nowhere before the question that asks for it is answered."""
    page, (panel, said) = shown.page, parts(shown)
    session = page.context.new_cdp_session(page)
    open_ = True
    for place, one in enumerate(game.questions, 1):
        expect(panel).to_contain_text(f"question {place} of {len(game.questions)}")
        if open_:
            seen = shown.root.evaluate(READ) + json.dumps(
                session.send("Accessibility.getFullAXTree"), ensure_ascii=False
            )
            assert not re.search(rf"(?<![\d.]){hidden}(?![\d.])", seen), one["text"]
        if one["form"] == "node":
            shown.root.locator(f'.al-node[data-id="{one["answer"]}"]').focus()
            page.keyboard.press("Enter")
        elif one["form"] == "number":
            page.keyboard.type(f"{one['answer'] / 2:g}*2")  # the field has the focus
            page.keyboard.press("Enter")
            open_ = open_ and f"{one['answer']:g}" != hidden
        else:
            label = next(words for value, words in one["choices"] if value == one["answer"])
            panel.get_by_role("button", name=label).press("Enter")
        expect(said).to_contain_text(f"Right. {one['said']}")


def test_a_graph_is_played_by_keyboard_on_a_page_without_a_kernel(
    browser: Browser, tmp_path: Path
) -> None:
    game = torch.practice(level=5, seed=1, help="none")
    with offline(browser, viewport={"width": 400, "height": 800}, color_scheme="dark") as page:
        page.goto(game.to_html(tmp_path / "practice.html").as_uri())
        shown = Explorer(page)
        shown.graph.wait_for()
        panel, said = parts(shown)
        play_right(shown, game, "-24")
        expect(panel).to_contain_text("On this page answers are not kept.")
        for name, text in [
            ("which node", "3 of 3"),
            ("what is sent", "4 of 4"),
            ("how it arrives", "4 of 4"),
        ]:
            expect(panel.get_by_role("row", name=name)).to_contain_text(text)
        assert page.evaluate("document.documentElement.scrollWidth") <= 400

        panel.get_by_role("button", name="This graph again").press("Enter")
        expect(panel).to_contain_text("question 1 of 11")
        shown.node("x").click()  # the answer is a place in the graph
        expect(panel.get_by_role("group", name="Your run")).to_contain_text(
            "backward begins at the leaves. x is a leaf"
        )
        expect(panel.get_by_role("button", name="Back")).to_be_focused()
        page.keyboard.press("Enter")
        for name in ("y", "set: it replaces what is there"):
            panel.get_by_role("button", name=name, exact=True).click()
        panel.get_by_role("button", name="b", exact=True).click()
        expect(said).to_contain_text(
            "b still waits for 1 of 2 contributions. Run now, it sends on only what there is, 1"
        )
        expect(panel.get_by_role("row", name="x.grad")).to_have_text("x.grad-23-39")
        expect(shown.root.locator(".al-yours")).to_have_text(["yours: -23", "yours: 1"])
        panel.get_by_role("button", name="Back").click()
        expect(shown.root.locator(".al-yours")).to_have_count(0)
        panel.get_by_role("button", name="p", exact=True).click()
        field = panel.get_by_role("textbox", name=re.compile("What does it send to"))
        for text, words in [
            ("", "Answer first."),
            ("six", "That is not a number."),
            ("[1, 2]", "Type a single number."),
        ]:
            field.fill(text)
            field.press("Enter")
            expect(said).to_have_text(words)
        field.fill("7")
        field.press("Enter")
        expect(panel.get_by_role("row", name="x.grad")).to_have_text(
            "x.grad13-39"
        )  # 13 too much, four times
        panel.get_by_role("button", name="Back").click()
        for answer in ("-6", "-16"):
            field.fill(answer)
            field.press("Enter")
        panel.get_by_role("button", name="set: it replaces what is there").click()
        expect(panel.get_by_role("img")).to_have_attribute(
            "aria-label", re.compile("your rule takes it to 1.987, the right one to 0.875")
        )
        shown.root.press("End")
        shown.at(game.questions[5]["until"])  # what follows stays hidden
        panel.get_by_role("button", name="Back").click()
        panel.get_by_role("button", name="Show me").click()
        expect(said).to_contain_text("It is added: b has -15 now.")
        replies = page.evaluate("Object.values(autolabModels)[0].get('replies')")
        assert [replies[f"d{i}"]["tries"] for i in range(6)] == [2, 1, 2, 2, 1, 1]
        assert replies["d5"]["shown"] and replies["d2"]["belief"] == ""


PRACTICE = """import autolab as torch
game = torch.practice(level=3, seed=1, help="hints")
game"""


def test_the_kernel_keeps_what_was_played(
    server: Server, open_notebook: Callable[..., Notebook]
) -> None:
    server.write("practice.ipynb", PRACTICE)
    notebook = open_notebook("practice.ipynb").run()
    panel = notebook.root.get_by_role("group", name="Practice", exact=True)
    panel.get_by_role("button", name="Hint").click()
    expect(panel.get_by_role("status")).to_contain_text("Hint: y depends on x along 2 edges.")
    panel.get_by_role("button", name="add: to what is there").click()  # to nothing: the same as set
    panel.get_by_role("button", name="average").click()
    expect(panel.get_by_role("group", name="Your run")).to_contain_text(
        "a gradient is the mean over paths"
    )
    panel.get_by_role("button", name="Back").click()
    panel.get_by_role("button", name="add: to what is there").click()
    expect(panel).to_contain_text("0 of 3 graphs in a row were right at the first try.")
    notebook.in_kernel("repr(game.result)", "how: 1 of 2 right at the first try")
    kept = "[(e.id, e.right, e.belief, e.tries, e.help) for e in torch.progress.events('practice')]"
    belief = "a gradient is the mean over paths"
    events = [
        ("3.how", True, "", 1, "hint"),
        ("3.how", False, belief, 1, ""),
        ("3.how", True, "", 2, ""),
        ("3", False, "", 1, "hints"),
    ]
    notebook.in_kernel(f"{kept} == {events!r}", True)
    panel.get_by_role("button", name="Another graph").click()
    expect(panel).to_contain_text("question 1 of 2 · help: full")
    notebook.in_kernel("game.seed != 1 and not game.replies", True)

    notebook.execute(
        "for _ in '12': torch.progress.record('practice', '3', right=True)\ngame.another(seed=1)"
    )
    Learner(notebook.root, torch.practice(level=3, seed=1)).play(lambda one: [])
    expect(panel).to_contain_text(
        "Three in a row were right at the first try: this level is yours."
    )
    panel.get_by_role("button", name="Level 1").press("Enter")
    expect(panel).to_contain_text("Level 1: a chain")
    notebook.in_kernel(
        "repr(game)", "Practice(level 1, a chain: what: 0 of 3 right at the first try, 3 open)"
    )
