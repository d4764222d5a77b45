"""A learner who plays `practice` in a page: reads what it asks, and answers by role and name."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, expect

from autolab.practice import Practice
from autolab.practice.decision import alike

ROWS = {
    "who": "which node",
    "what": "what is sent",
    "how": "how it arrives",
    "then": "what is left",
}
Question = dict[str, Any]


class Learner:
    """Reads what the page asks, and answers by role and name. game: the same practice, to look answers up in."""

    def __init__(self, root: Locator, game: Practice):
        self.root, self.game, self.missed = root, game, Counter[str]()
        self.panel = root.get_by_role("group", name="Practice", exact=True)
        self.said = self.panel.get_by_role("status")
        self.own = self.panel.get_by_role("group", name="Your run")

    def asked(self, place: int) -> Question:
        """The question that the page shows now."""
        expect(self.panel).to_contain_text(f"question {place + 1} of {len(self.game.questions)} ·")
        one = self.game.questions[place]
        expect(self.panel.get_by_text(one["text"].replace("`", ""), exact=True)).to_be_visible()
        return one

    def give(self, one: Question, answer: Any) -> None:
        if one["choices"]:
            name = next(words for value, words in one["choices"] if value == answer)
            return self.panel.get_by_role("button", name=name, exact=True).click()
        field = self.panel.get_by_role("textbox", name=one["text"].replace("`", ""), exact=True)
        field.fill(str(tuple(answer)) if one["form"] == "shape" else repr(answer))
        field.press("Enter")

    def right(self, one: Question) -> None:
        self.give(one, one["answer"])
        expect(self.said).to_have_text(f"Right. {one['said']}")

    def wrong(self, one: Question, wrong: dict[str, Any]) -> None:
        """A typical wrong answer is carried out beside the right run, its belief is named, and one may go back."""
        self.give(one, wrong["answer"])
        expect(self.own).to_contain_text(f"The belief: {wrong['belief']}. {wrong['says']}")
        rows = [f"{name}{mine}{right}" for name, mine, right in wrong["ends"]]
        expect(self.own.get_by_role("group", name="Where it ends").get_by_role("row")).to_have_text(
            ["your runright run", *rows] if rows else []
        )
        expect(self.root.get_by_text(re.compile("^yours"))).to_have_count(len(wrong["at"]))
        self.panel.get_by_role("button", name="Back").press("Enter")
        expect(self.own).to_have_count(0)

    def play(self, mistakes: Callable[[Question], list[dict[str, Any]]]) -> None:
        """The whole graph: at each question some mistakes, then the right answer; at the end the counts by kind."""
        self.missed.clear()
        for place in range(len(self.game.questions)):
            one = self.asked(place)
            for wrong in mistakes(one):
                self.wrong(one, wrong)
                self.asked(place)
                self.missed[one["decision"]] += wrong is mistakes(one)[0]
            self.right(one)
        self.counted()

    def counted(self) -> None:
        for kind, count in self.game.result.asked.items():
            right = f"{count - self.missed[kind]} of {count}"
            expect(self.panel.get_by_role("row", name=ROWS[kind])).to_have_text(ROWS[kind] + right)

    def guess(self, dice: random.Random) -> None:
        """By chance, twice; then it is shown."""
        self.missed.clear()
        for place in range(len(self.game.questions)):
            one = self.asked(place)
            for attempt in range(2):
                given = self.chance(one, dice)
                right = given == one["answer"] or (
                    one["form"] == "number" and alike(given, one["answer"])
                )
                self.give(one, given)
                self.missed[one["decision"]] += not right and not attempt
                if right:
                    break
                expect(self.own).to_contain_text("Your answer: ")
                self.panel.get_by_role("button", name="Back").click()
            else:
                self.panel.get_by_role("button", name="Show me").click()
        self.counted()

    def chance(self, one: Question, dice: random.Random) -> Any:
        if one["form"] == "shape":
            return [dice.randint(1, 3) for _ in range(dice.randint(0, 2))]
        return dice.choice(one["choices"])[0] if one["choices"] else dice.randint(-9, 9) / 2

    def again(self) -> None:
        self.panel.get_by_role("button", name="This graph again").click()
