"""A learner who goes through the copy of a lesson in JupyterLab, from the first cell to the last: runs each, answers
what is asked, tries each widget, and holds what the page says against it."""

from __future__ import annotations

import ast
import html
import importlib
import json
import re
from collections.abc import Callable
from typing import Any

import nbformat
from lab import ROOT, Notebook
from player import Learner as Player
from playwright.sync_api import Locator, expect

from autolab.lessons.book import lesson
from autolab.lessons.solutions import solutions

RUN = """const [index] = given, { content } = panel;
content.activeCellIndex = index;
await jupyterapp.commands.execute("notebook:run-cell");
const { node, model } = content.widgets[index], outputs = model.outputs.toJSON();
node.dataset.walk = index;
const all = () => [...node.querySelectorAll(".jp-OutputArea-output *")];
const drawn = () => all().some(({ shadowRoot }) => shadowRoot?.childElementCount);
if (outputs.some(({ data }) => data?.["application/vnd.jupyter.widget-view+json"]))
  for (const until = Date.now() + 30_000; !drawn() && Date.now() < until; ) await new Promise(requestAnimationFrame);
return outputs;"""
RUN_ALL = """await jupyterapp.commands.execute("notebook:run-all-cells");  // until the first error, which may be meant
await panel.sessionContext.session.kernel.requestExecute({ code: "" }).done;
const left = panel.content.widgets.find(({ model }) => model.type === "code" && model.executionCount === null);
if (left) throw new Error(`not run: ${left.model.sharedModel.getSource()}`);
return panel.content.widgets.map(({ node, model }, index) => {
  node.dataset.walk = index;
  return model.type === "code" ? model.outputs.toJSON() : [];
});"""
CELLS = """return panel.content.widgets.map(({ model }) => ({
  type: model.type, source: model.sharedModel.getSource(), tags: model.getMetadata("tags") ?? [] }));"""
WIDGET = "application/vnd.jupyter.widget-view+json"
WAITS = "Your prediction first: answer the question above, then it is compared here."
KEPT = "You predicted: {}. You may change it until it is compared, below."
SOON, LATE = 30_000, 60_000  # milliseconds, on a machine that does more than this

RIGHT, WRONG, MENDED, NOTHING = "right", "wrong", "wrong, then right", "nothing"


def plain(text: str) -> str:
    """Words as the page shows them, where code has a look of its own."""
    return text.replace("`", "")


class Key:
    """What is right in a lesson and what is wrong, and what is said to it."""

    def __init__(self, name: str):
        """name: of a notebook, such as "01_graphs" or "more/01_vectors"."""
        self.number = number = name.removeprefix("more/")[:2]
        self.lesson = module = lesson(number)
        path = ROOT / "course" / f"{name}.ipynb"
        cells = nbformat.read(path, as_version=4).cells
        text = "\n".join(cell.source for cell in cells)
        here = lambda table: {id: one for id, one in table.items() if f'"{id}"' in text}  # noqa: E731
        self.questions, self.exercises = here(module.QUESTIONS), here(module.EXERCISES)
        self.words = here(getattr(module, "WORDS", {}))
        self.name = f"{name}.ipynb"
        self.outcomes = {}  # what the stored notebook came to
        for cell in cells:
            if found := re.match(r"(q\d+)\.reveal\(", cell.source):
                said = re.search(
                    r"<strong>It is: (.*?)</strong>", cell.outputs[0].data["text/html"]
                )
                self.outcomes[f"{number}.{found[1]}"] = html.unescape(
                    re.sub("</?code>", "`", said[1])
                )  # type: ignore[index]
        self.mistakes = importlib.import_module(f"lessons.answers{number}").WRONG

    def right(self, id: str) -> str:
        """Of choices the one that has no reason against it; else what the notebook came to."""
        question = self.questions[id]
        (one,) = set(question.choices) - question.because.keys() or {self.outcomes[id]}
        return one

    def secrets(self) -> set[str]:
        """What no learner may find before answering, where it is more than a few words: right choices, the lesson's own
        words, hints, what is said to mistakes, solutions."""
        found = {self.right(id) for id in self.questions} | {*self.outcomes.values()}
        found |= {words.ours for words in self.words.values()}
        for id, exercise in self.exercises.items():
            found |= {
                *exercise.hints,
                *(m.why for m in exercise.mistakes if isinstance(m.why, str)),
            }
            found |= {one.source for one in solutions(id)}
        return {flat(text) for text in found if len(text.split()) >= 4}


def flat(text: str) -> str:
    """Words alone, however they are set."""
    return " ".join(plain(text).split())


class Walk:
    """manner: of a question (or exercise) how it is answered; asked once for each, in their order."""

    def __init__(self, notebook: Notebook, name: str, manner: Callable[[], str]):
        self.notebook, self.key, self.manner = notebook, Key(name), manner
        self.number = self.key.number
        self.cells = notebook._panel(CELLS)
        self.did: dict[str, str] = {}
        self.asked: dict[str, int] = {}  # a prediction, an explanation: its cell
        self.revealed: dict[str, int] = {}
        self.tried: set[str] = set()  # kinds of widgets, and tools of the explorer
        self.kept_back: dict[
            int, int
        ] = {}  # cell of an explorer with an open question -> the step that it may show
        self.at_once = False  # the kernel has run all cells: its names are those of the last

    def cell(self, index: int) -> Locator:
        """Found by XPath, which looks into no widget: what looks into hundreds takes its time."""
        return self.notebook.page.locator(f"xpath=//*[@data-walk='{index}']")

    def out(self, index: int) -> Locator:
        return self.cell(index).locator(".jp-Cell-outputArea")

    def run(self, index: int) -> list[dict[str, Any]]:
        """Run a cell as it stands, and wait until it has ended: with an error where one is meant, and nowhere else."""
        outputs = self.notebook._panel(RUN, [index])
        self.ended(index, outputs)
        return outputs

    def ended(self, index: int, outputs: list[dict[str, Any]]) -> None:
        raised = [f"{o['ename']}: {o['evalue']}" for o in outputs if o["output_type"] == "error"]
        meant = "raises-exception" in self.cells[index]["tags"]
        assert bool(raised) == meant, f"{self.cells[index]['source']}\n{raised}"

    def type(self, index: int, source: str) -> None:
        """Type a cell anew, in its editor."""
        editor = self.cell(index).locator(".jp-Cell-inputArea").get_by_role("textbox")
        editor.click()
        self.notebook.page.keyboard.press("ControlOrMeta+a")
        self.notebook.page.keyboard.insert_text(source)
        assert (
            self.notebook._panel("return panel.content.activeCell.model.sharedModel.getSource();")
            == source
        )

    def through(self) -> Walk:
        """Every cell, from the first to the last."""
        for index, cell in enumerate(self.cells):
            if cell["type"] == "code":
                self.meet(index, cell["source"], self.run(index))
        return self

    def all_at_once(self) -> Walk:
        """Run all cells; then look at each, and answer nothing."""
        self.at_once = True
        outputs = self.notebook._panel(RUN_ALL)
        for index, cell in enumerate(self.cells):
            if cell["type"] == "code":
                self.ended(index, outputs[index])
                self.meet(index, cell["source"], outputs[index])
        return self

    def meet(self, index: int, source: str, outputs: list[dict[str, Any]]) -> None:
        """Do what a cell asks for, once it has run."""
        if found := re.match(r'q\d+ = predict\("(.+)"\)', source):
            self.predict(found[1], index)
        elif found := re.match(r"(q\d+)\.reveal\(", source):
            self.compare(f"{self.number}.{found[1]}", index)
        elif found := re.match(r'in_words\("(.+)"\)', source):
            self.explain(found[1], index)
        elif found := re.search(r'^check\("(.+?)", (\w+)\)$', source, re.M):
            self.solve(found[1], index, source[: found.start()], found[2])
        elif source.endswith("game.try_(mine)") or "\ngame.try_(mine) " in source:
            self.catch(index, source)
        elif found := re.search(r"^(\w+)\.ask\(", source, re.M):
            self.reply(index, found[1], re.findall(r'id="(.+?)"', source))
        else:
            for output in outputs:
                data = output.get("data", {})
                if WIDGET in data:
                    self.use(re.match(r"\w+", data["text/plain"])[0], index)  # type: ignore[index]

    def left_open(self) -> None:
        """What was not answered can still be, and says nothing; also after all that came later."""
        for id, index in self.asked.items():
            if self.did[id] == NOTHING and id in self.revealed:
                self.is_open(id)
                expect(self.out(self.revealed[id]).get_by_role("status")).to_have_text(WAITS)
            elif self.did[id] == NOTHING:
                expect(
                    self.out(index).get_by_role("textbox", name="Your explanation")
                ).to_have_value("")
                expect(self.out(index).get_by_role("status")).to_have_text("")
        for index in self.kept_back:
            self.held(index)

    def counted(self) -> None:
        """`progress()` counts what was done, and nothing else."""
        (index,) = (i for i, cell in enumerate(self.cells) if "progress" in cell["tags"])
        self.run(index)
        of = lambda ids, *manners: sum(self.did[id] in manners for id in ids)  # noqa: E731
        exercises, questions, said = (
            self.key.exercises,
            self.key.questions,
            self.out(index).get_by_role("note"),
        )
        solved = of(exercises, RIGHT, MENDED)
        every = self.key.lesson
        expect(said).to_contain_text(
            f"Lesson {self.number}: {solved} of {len(every.EXERCISES)} exercises solved"
        )
        made, right = of(questions, RIGHT, WRONG, MENDED), of(questions, RIGHT, MENDED)
        expect(said).to_contain_text(
            f"Predictions: {made} of {len(every.QUESTIONS)} made, {right} of them came true."
        )

    # -- predictions ---------------------------------------------------------------------------------------------------
    def predict(self, id: str, index: int, again: bool = False) -> None:
        """A manner; `again` right, where it was wrong before, which is there still."""
        manner = RIGHT if again else self.manner()
        self.did[id], self.asked[id] = manner, index
        form = self.out(index)
        group = form.get_by_role(
            "group", name=f"Predict {plain(self.key.questions[id].ask)}", exact=True
        )
        expect(group).to_be_visible()
        question = self.key.questions[id]
        wrong = next(iter(question.because))
        if again:
            expect(form.get_by_role("status")).to_have_text(KEPT.format(plain(wrong)))
        else:
            self.is_open(id)
        if manner == NOTHING:
            return
        given = self.key.right(id) if manner == RIGHT else wrong
        if question.choices:
            group.get_by_role("radio", name=plain(given), exact=True).click()
        else:
            group.get_by_role("textbox", name="Your number").fill(given)
            group.get_by_role("textbox", name="Your number").press("Enter")
        form.get_by_role("radio", name="fairly sure", exact=True).click()
        form.get_by_role("textbox", name="Because").fill("so I think")
        form.get_by_role("textbox", name="Because").press("Tab")
        expect(form.get_by_role("status")).to_have_text(KEPT.format(plain(given)))

    def is_open(self, id: str) -> None:
        """A question waits: enabled, nothing chosen, nothing said."""
        form, choices = self.out(self.asked[id]), self.key.questions[id].choices
        field = (
            form.get_by_role("radio")
            if choices
            else form.get_by_role("textbox", name="Your number")
        )
        expect(field.first).to_be_enabled()
        expect(form.get_by_role("radio", checked=True)).to_have_count(0)
        expect(form.get_by_role("status")).to_have_text("")
        if not choices:
            expect(field).to_have_value("")

    def compare(self, id: str, index: int) -> None:
        self.revealed[id] = index
        said, question, manner = (
            self.out(index).get_by_role("status"),
            self.key.questions[id],
            self.did[id],
        )
        if manner == NOTHING:
            expect(said).to_have_text(WAITS)
            return self.is_open(id)
        if manner == RIGHT:
            expect(said).to_contain_text("Your prediction came true")
        else:
            expect(said).to_contain_text("Your prediction did not come true")
            expect(said).to_contain_text(plain(next(iter(question.because.values()))))
        expect(said).to_contain_text(plain(self.key.right(id)))
        form = self.out(self.asked[id])
        expect(form.get_by_role("status")).to_contain_text(" — it is: ")
        if question.choices:
            expect(
                form.get_by_role("radio", name=plain(self.key.right(id)), exact=True)
            ).to_be_disabled()
        if manner == MENDED:
            self.run(self.asked[id])
            self.predict(id, self.asked[id], again=True)
            self.run(index)
            self.compare(id, index)
            self.did[id] = MENDED

    def explain(self, id: str, index: int) -> None:
        manner = self.did[id] = self.manner()
        self.asked[id] = index
        form, ours = self.out(index), f"In our words: {self.key.words[id].ours}"
        field = form.get_by_role("textbox", name="Your explanation")
        expect(field).to_be_visible()
        expect(form.get_by_role("status")).to_have_text("")
        if manner != NOTHING:
            field.fill("Because it was written down.")
            field.press("Control+Enter")
            expect(form.get_by_role("status")).to_have_text(ours)

    # -- exercises -----------------------------------------------------------------------------------------------------
    def solve(self, id: str, index: int, given: str, name: str) -> None:
        manner = self.did[id] = self.manner()
        said, exercise = self.out(index).get_by_role("note"), self.key.exercises[id]
        head = f"Exercise {id} ({exercise.title}): "
        expect(said).to_contain_text(head + "not answered yet")
        if manner in (WRONG, MENDED):
            words = self.key.mistakes[id][0][1]
            wrong = f'from lessons.answers{self.number} import WRONG\n{name} = WRONG["{id}"][0][0]'
            self.type(index, f'{given}{wrong}\n\ncheck("{id}", {name})')
            self.run(index)
            expect(said).to_contain_text(head + "not yet")
            expect(said).to_contain_text(plain(words))
            for tells in ("(wanted: ", "A solution:"):
                expect(said).not_to_contain_text(tells)
        if manner in (RIGHT, MENDED):
            self.type(index, f'{solutions(id)[0].source}\n\ncheck("{id}", {name})')
            self.run(index)
            expect(said).to_contain_text(head + "solved")
            expect(said).to_contain_text("A solution:")

    # -- in the graph --------------------------------------------------------------------------------------------------
    def json(self, expression: str) -> Any:
        """What the kernel has, as data."""
        return json.loads(
            ast.literal_eval(self.notebook.kernel(f"__import__('json').dumps({expression})"))
        )

    def reply(self, index: int, name: str, ids: list[str]) -> None:
        """The questions of an explorer, in the order in which it puts them; one that is left alone keeps the rest."""
        root = self.out(index).get_by_role("group", name=re.compile("^Autograd explorer"))
        panel = root.get_by_role("group", name="Question", exact=True)
        expect(panel).to_be_visible()
        if self.at_once:
            return expect(panel.get_by_role("button", name="Check")).to_be_enabled()
        questions, order = self.json(f"({name}.questions, {name}.asked.split())")
        by_id = {one["id"]: (one, id) for one, id in zip(questions, ids, strict=True)}
        for place in order:
            asked, id = by_id[place]
            expect(panel).to_contain_text(plain(asked["text"]))
            manner = self.did[id] = self.manner()
            if manner in (WRONG, MENDED):
                wrong, why = next((given, why) for given, why in asked["wrong"] if why)
                self.give(panel, asked, wrong)
                expect(panel.get_by_role("status")).to_contain_text("Not ")
                expect(panel.get_by_role("status")).to_contain_text(plain(why))
                expect(panel.get_by_role("status")).not_to_contain_text("It is ")
            if manner in (RIGHT, MENDED):
                self.give(panel, asked, asked["answer"])
                expect(panel.get_by_role("status")).to_contain_text("Right: ")
            else:
                left = [by_id[number][0] for number in order[order.index(place) :]]
                self.kept_back[index] = min(one["until"] for one in left)
                return self.held(index)

    def give(self, panel: Locator, asked: dict[str, Any], answer: Any) -> None:
        if asked["choices"]:
            words = next((words for value, words in asked["choices"] if answer in (value, words)))
            panel.get_by_role("combobox").select_option(label=words)
        else:
            panel.get_by_role("textbox").fill(str(answer))
        panel.get_by_role("button", name="Check", exact=True).click()

    def held(self, index: int) -> None:
        """An open question holds back what comes after it, and may be answered."""
        root = self.out(index).get_by_role("group", name=re.compile("^Autograd explorer"))
        root.press("End")
        expect(root.get_by_role("slider", name="Step", exact=True)).to_have_value(
            str(self.kept_back[index])
        )
        panel = root.get_by_role("group", name="Question", exact=True)
        expect(panel.get_by_role("button", name="Check")).to_be_enabled()

    def catch(self, index: int, source: str) -> None:
        """The engine is named, by someone who knows; or one is named that it is not."""
        if self.at_once:
            return
        manner = self.did[f"catch {index}"] = self.manner()
        name, line, other = self.json(
            "(game._given.name, (*getattr(game._given, 'lines', ()), None)[0], "
            "next(n for n in game.candidates if n != game._given.name))"
        )
        said = self.out(index)
        expect(said).to_contain_text(re.compile("Try 1[:.]"))
        guesses = {RIGHT: [name], WRONG: [other], MENDED: [other, name], NOTHING: []}[manner]
        for guess in guesses:
            self.type(index, f"game.name({guess!r}{f', {line}' if guess == name and line else ''})")
            self.run(index)
            expect(said).to_contain_text("Right: " if guess == name else "No")

    def practise(self, root: Locator) -> None:
        """A graph is played: at each question a manner."""
        if self.at_once:
            return expect(root.get_by_role("group", name="Practice", exact=True)).to_be_visible()
        game = type("Game", (), {"questions": self.json("Out[max(Out)].questions")})
        player = Player(root, game)  # type: ignore[arg-type]
        expect(player.panel).to_be_visible()
        for place in range(len(game.questions)):
            one, manner = player.asked(place), self.manner()
            if manner == NOTHING:
                player.panel.get_by_role("button", name="Show me").click()
                continue
            for wrong in one["wrong"][: manner in (WRONG, MENDED)]:
                player.wrong(one, wrong)
            player.right(one)

    # -- widgets -------------------------------------------------------------------------------------------------------
    def use(self, kind: str, index: int) -> None:
        """One thing that each kind of widget is for, by role and name."""
        name, act = ACTS[kind]
        root = self.out(index).get_by_role("group", name=re.compile(f"^{name}")).first
        expect(root).to_be_visible(timeout=LATE)
        self.tried.add(kind)
        act(self, root)


def step(root: Locator) -> None:
    """Go to the first step and one further. A graph of a single number has no steps, and says so instead."""
    slider = root.get_by_role("slider", name="Step", exact=True)
    if not slider.is_visible():
        expect(root.get_by_role("button", name="Next step", exact=True)).to_be_hidden()
        return
    root.press("Home")
    expect(slider).to_have_value("0")
    if slider.get_attribute("max") != "0":
        root.get_by_role("button", name="Next step", exact=True).click()
        expect(slider).not_to_have_value("0")


def explore(walk: Walk, root: Locator) -> None:
    """Steps; and once in a lesson, at the first graph that offers them, paths and another number."""
    expect(root.get_by_role("group", name="Computation graph", exact=True)).to_be_visible(
        timeout=LATE
    )
    step(root)
    if "paths" not in walk.tried:
        root.get_by_role("button", name="More", exact=True).click()
        button = root.get_by_role("button", name="Paths", exact=True)
        if button.is_visible():
            walk.tried.add("paths")
            button.click()
            panel = root.get_by_role("group", name="Paths", exact=True)
            expect(panel.get_by_role("status")).to_have_text(re.compile(r"^\d+ paths? from"))
            panel.get_by_role("button", name="Close", exact=True).click()
        else:
            root.get_by_role("dialog", name="More").press("Escape")
    if "what if" not in walk.tried:
        button = root.get_by_role("button", name="What if", exact=True)
        if not button.is_visible():
            return
        button.click()
        panel = root.get_by_role("group", name="What if", exact=True)
        panel.get_by_role("spinbutton", name="Its value").fill("0.375")
        said = re.compile(
            "→|cannot be run again"
        )  # what a learner's own engine computes is not known
        expect(panel.get_by_role("status")).to_contain_text(said)
        if "→" in panel.get_by_role("status").inner_text():
            walk.tried.add("what if")
        panel.get_by_role("button", name="Close", exact=True).click()


def draw(walk: Walk, root: Locator) -> None:
    """A stroke, and the pad as it was: what comes later is about the shipped digit."""
    canvas = root.get_by_role("application")
    before = canvas.get_attribute("aria-label") or ""
    for key in ("ArrowUp",) * 14 + ("Space", "ArrowRight"):  # to where there is no ink yet
        canvas.press(key)
    expect(root.get_by_role("status")).to_contain_text("Pen down")
    canvas.press("Escape")
    expect(canvas).not_to_have_accessible_name(before)
    root.get_by_role("button", name="Begin again", exact=True).click()
    expect(canvas).to_have_accessible_name(before)


def walk_downhill(walk: Walk, root: Locator) -> None:
    root.press("ArrowRight")
    expect(root.get_by_role("status").first).to_contain_text("after step 1")


def look_back(walk: Walk, root: Locator) -> None:
    place = root.get_by_role("slider").first
    before = place.get_attribute("aria-valuetext")
    place.press("ArrowRight")
    expect(place).not_to_have_attribute("aria-valuetext", before or "")


def freeze(walk: Walk, root: Locator) -> None:
    """A layer is frozen, or thawed, and put back."""
    switch = root.get_by_role("switch", name=re.compile("^network: trainable")).first
    before = switch.get_attribute("aria-checked") or ""
    for checked in (
        "false" if before == "true" else "true",
        before if before != "mixed" else "false",
    ):
        switch.click()
        expect(switch).to_have_attribute("aria-checked", checked)


def hurry(walk: Walk, root: Locator) -> None:
    if walk.at_once:  # a later cell has waited for it
        return expect(root.get_by_role("button", name="Finished", exact=True)).to_be_visible()
    root.get_by_role("combobox", name="Pace").select_option(value="0")
    expect(root.get_by_role("status").first).to_contain_text("Pace: ")


ACTS: dict[str, tuple[str, Callable[[Walk, Locator], None]]] = {
    "Explorer": ("Autograd explorer", explore),
    "Explanation": ("Autograd explorer", explore),
    "Practice": ("Autograd explorer", Walk.practise),
    "DeviceExplorer": ("Device explorer", lambda walk, root: step(root)),
    "ConvExplorer": ("Convolution explorer", lambda walk, root: step(root)),
    "ReceptiveField": ("Receptive field", look_back),
    "FreezePanel": ("Freeze panel", freeze),
    "LossLandscape": ("Loss landscape", walk_downhill),
    "TrainingDashboard": ("Training dashboard", hurry),
    "DrawDigit": ("Draw a digit", draw),
}
