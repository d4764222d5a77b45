"""Questions in the explorer: nothing gives the answer away, answers are checked on the page, the kernel hears of
them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lab import Explorer, Notebook, Server, offline
from playwright.sync_api import Browser, Locator, expect

import autolab as torch

READ = """(root) => {
  const texts = [], walk = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  for (let at = walk.currentNode; at; at = walk.nextNode()) {
    if (at.nodeType === 3) { if (at.parentElement.localName !== "style") texts.push(at.data); }
    else for (const name of ["title", "alt", "value", "placeholder", ...at.getAttributeNames().filter((n) => n.startsWith("aria-"))])
      texts.push(at.getAttribute(name) ?? "");
  }
  return texts.join("\\n");
}"""


def loop() -> torch.trace.Trace:
    w = torch.tensor(1.73, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.003)
    with torch.record() as recording:
        for _ in range(2):
            optimizer.zero_grad()
            loss = (w * 2.9 - 1.1).exp() * w * 1.3
            loss.backward()
            optimizer.step()
    return recording.trace()


def network() -> torch.trace.Trace:
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 7))
    x = torch.randn(11, 3)
    with torch.record() as recording:
        y = model(x).sum(dim=1)
        y.mean().backward()
    return recording.trace()


ASKED: list[tuple[Callable[[], torch.trace.Trace], str, str, int]] = [
    (loop, "w", "grad", 0),
    (loop, "w(2)", "value", 0),
    (network, "v4", "shape", 0),
]


def forms(answer: Any) -> set[str]:
    """How an answer may stand on a page."""
    if isinstance(answer, list):
        joined = ", ".join(map(str, answer))
        return {f"[{joined}]", f"({joined})", f"({joined},)"}
    return {f"{answer:.3g}", f"{answer:.4g}", f"{answer:.6g}", str(answer)}


def in_files(shown: Explorer, folder: Path) -> list[str]:
    """What is written in the picture of the step that is shown (as SVG; PNG is painted from the same) and in
    the film of all steps."""
    shown.button("More").click()
    shown.root.get_by_role("spinbutton", name="Last step of the film").fill("9999")
    texts = []
    for name in ("SVG", "Film"):
        with shown.page.expect_download() as waited:
            shown.button(name).click()
        waited.value.save_as(folder / name)
        parts = [
            part
            for part in ET.parse(folder / name).getroot().iter()
            if not part.tag.endswith("style")
        ]
        texts += [text for part in parts for text in (part.text, part.tail) if text]
    assert (
        waited.value.suggested_filename == f"steps 1 to {int(shown.slider.input_value()) + 1}.svg"
    ), "not beyond the question"
    shown.page.keyboard.press("Escape")
    return texts


@pytest.mark.parametrize(
    ("program", "node", "kind", "step"),
    ASKED,
    ids=[f"{p.__name__}-{n}-{k}-{s}" for p, n, k, s in ASKED],
)
def test_nothing_gives_an_answer_away(
    browser: Browser, tmp_path: Path, program: Any, node: str, kind: str, step: int
) -> None:
    explorer = torch.explore(program())
    explorer.ask(node, kind, step=step)
    explorer.expanded = [part.id for part in explorer._folding.parts.values()]
    asked = explorer.questions[0]
    with offline(browser) as page:
        page.goto(explorer.to_html(tmp_path / "ask.html").as_uri())
        shown = Explorer(page)
        shown.graph.wait_for()
        session = page.context.new_cdp_session(page)
        seen = []
        for index in range(asked["until"], max(-1, asked["until"] - 3), -1):
            page.evaluate("(i) => Object.values(autolabModels)[0].set('step', i)", index)
            for chosen in ["", *(f"n{i}" for i in range(len(explorer.trace.nodes)))]:
                page.evaluate("(id) => Object.values(autolabModels)[0].set('selected', id)", chosen)
                seen.append(shown.root.evaluate(READ))
        tree = session.send("Accessibility.getFullAXTree")["nodes"]
        seen += [
            str(node[part].get("value"))
            for node in tree
            for part in ("name", "value", "description")
            if part in node
        ]
        shown.root.press("End")
        shown.at(asked["until"])
        seen += in_files(shown, tmp_path)
        found = {
            form
            for form in forms(asked["answer"])
            for text in seen
            if re.search(rf"(?<![\d.]){re.escape(form)}(?![\d.]\d*)", text)
        }
        assert found == set()
        shown.button("Show me").click()  # and afterwards it stands there
        expect(shown.root.get_by_role("group", name="Question", exact=True)).to_contain_text(
            "It is"
        )
        everything = shown.root.evaluate(READ)
        assert any(form in everything for form in forms(asked["answer"]))


@pytest.fixture
def quiz(browser: Browser, tmp_path: Path) -> Iterator[tuple[Explorer, Locator]]:
    x = torch.tensor(3.0, requires_grad=True)
    with torch.record() as recording:
        a = x * 2
        b = x + 1
        y = a * b + b
        y.backward()
    explorer = torch.explore(recording)
    explorer.ask(x, "grad", because={"8": "The author's word."})
    explorer.ask("a", "state")
    explorer.ask("y", "next", step=4)
    explorer.ask("a", "value")
    with offline(browser, viewport={"width": 400, "height": 800}, color_scheme="dark") as page:
        page.goto(explorer.to_html(tmp_path / "quiz.html").as_uri())
        shown = Explorer(page)
        shown.graph.wait_for()
        yield shown, shown.root.get_by_role("group", name="Question", exact=True)


def test_questions_are_answered_by_keyboard_on_a_page_without_a_kernel(
    quiz: tuple[Explorer, Locator],
) -> None:
    shown, question = quiz
    page, said = shown.page, question.get_by_role("status")
    answers = lambda: page.evaluate("Object.values(autolabModels)[0].get('replies')")  # noqa: E731
    expect(question).to_contain_text("Question 1 of 4: What is a = x * 2?")
    expect(said).to_have_text("")
    field = question.get_by_role("textbox", name="Your answer")
    field.press("ArrowRight")  # is no step
    shown.at(0)
    wrong = {
        "": "Answer first.",
        "six": "That is not a number",
        "(2, 3)": "Type a single number.",
        "5": "Not 5. Look at the graph again.",
    }
    for text, words in wrong.items():
        field.fill(text)
        field.press("Enter")
        expect(said).to_contain_text(words)
    field.fill("2*3")
    field.press("Enter")
    expect(question).to_contain_text(
        "Question 2 of 4: What happens to the gradient of a in the backward pass?"
    )
    expect(said).to_have_text("What is a = x * 2? Right: 6 (try 3).")
    assert answers()["q4"] | {"given": 0} == {
        "answer": "2*3",
        "tries": 3,
        "right": True,
        "given": 0,
        "why": "",
        "shown": False,
        "over": True,
    }
    assert (
        shown.root.evaluate("(root) => root.getRootNode().activeElement.getAttribute('aria-label')")
        == "Question"
    )

    page.keyboard.press("Tab")  # from the question to its field
    page.keyboard.type("acc")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(said).to_have_text(
        "Not “accumulated”. a is a result, not a leaf: without retain_grad() its gradient is passed on and freed."
    )
    question.get_by_role("combobox", name="Its gradient is").select_option("freed")
    question.get_by_role("button", name="Check").click()

    expect(question).to_contain_text("Which operation's rule runs next?")
    shown.node("a").click()  # the answer is a place
    expect(question.get_by_role("combobox", name="The node")).to_have_value(re.compile("n"))
    question.get_by_role("button", name="Check").click()
    expect(said).to_have_text(
        "Not a. a still waits for what a · b sends. Run now, it would hand on too little."
    )
    shown.node("a · b").focus()
    question.get_by_role("button", name="Check").click()

    expect(question).to_contain_text("What is x.grad after the backward pass?")
    field.fill("8")  # what a sends: the explorer would have said that
    field.press("Enter")
    expect(said).to_have_text("Not 8. The author's word.")
    field.fill("7")
    field.press("Enter")
    expect(said).to_contain_text("That is what b sends, alone. x is used by a too")
    page.wait_for_function("location.hash.includes('step=')")  # of the step before
    question.get_by_role("button", name="Show me").click()
    expect(said).to_have_text("It is 15.")
    expect(shown.root.locator(".al-say")).to_contain_text("= 15. That is x.grad.")
    assert [answers()["q1"][name] for name in ("answer", "tries", "right", "shown", "over")] == [
        "7",
        2,
        False,
        True,
        True,
    ]


ASK = """import autolab as torch
x = torch.tensor(3., requires_grad=True)
y = x * x
explorer = torch.explore(y)
reply = explorer.ask(x, "grad", id="99.1")
explorer"""


def test_the_kernel_hears_of_an_answer(
    server: Server, open_notebook: Callable[..., Notebook]
) -> None:
    server.write("ask.ipynb", ASK)
    notebook = open_notebook("ask.ipynb").run()
    question = notebook.root.get_by_role("group", name="Question", exact=True)
    field = question.get_by_role("textbox", name="Your answer")
    field.fill("3")
    field.press("Enter")
    expect(question.get_by_role("status")).to_contain_text("one of the 2 uses of x")
    notebook.in_kernel("reply.answer, reply.right, reply.tries", ("3", False, 1))
    field.press("Enter")  # the same answer again is not another try
    notebook.execute("explorer.step = 99")
    notebook.in_kernel("explorer.step", 2)  # the question holds it
    question.get_by_role("textbox", name="Your answer").fill("6")
    field.press("Enter")
    notebook.in_kernel("reply.answer, reply.right, reply.tries", ("6", True, 2))
    notebook.in_kernel(
        "[(e.given, e.right, e.tries) for e in torch.progress.events('ask')]",
        [("3", False, 1), ("6", True, 2)],
    )
    notebook.in_kernel("explorer.step == len(explorer.trace.frames) - 1", True)
