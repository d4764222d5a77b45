"""Ask the inventory in a notebook or in a terminal."""

from __future__ import annotations

from typing import Any

import traitlets as t

from ..installation import command
from ..widgets import assets
from ..widgets.displayed import Displayed
from .gain import report
from .items import ITEMS
from .sitting import Sitting

ASK = "What is the last line?"
NOTE = "`torch` is autolab or PyTorch, `np` is NumPy. `runs(f)` is True when f() raises nothing."


class Inventory(Displayed):
    """The questions of one sitting, one after the other. Each answer is kept at once; after handing
    in, the sitting cannot change.

    Traits: `answers` (the number of an item as text -> choice), `handed_in`, `said` (HTML: the
    learner's progress, once the sitting is handed in).
    """

    _esm = assets.loader("inventory")
    _script = t.Unicode(assets.module("inventory")).tag(sync=True)
    when = t.Unicode().tag(sync=True)
    ask = t.Unicode(ASK).tag(sync=True)
    note = t.Unicode(NOTE.replace("`", "")).tag(sync=True)
    items = t.List(t.Dict()).tag(sync=True)
    answers = t.Dict().tag(sync=True)
    handed_in = t.Bool(False).tag(sync=True)
    said = t.Unicode("").tag(sync=True)

    def __init__(self, sitting: Sitting) -> None:
        self.sitting = sitting
        items = [
            {
                "number": str(item.number),
                "code": sitting.form(item).text,
                "choices": list(sitting.offered(item)),
            }
            for item in ITEMS
        ]
        answers = {str(number): choice for number, choice in sitting.answers.items()}
        super().__init__(
            when=sitting.when, items=items, answers=answers, handed_in=sitting.handed_in
        )
        self._tell()

    @t.observe("answers")
    def _answered(self, _: Any) -> None:
        for item in ITEMS:
            choice = self.answers.get(str(item.number))
            if (
                choice is not None
                and choice != self.sitting.answers.get(item.number)
                and not self.sitting.handed_in
            ):
                self.sitting = self.sitting.answer(item, choice)

    @t.observe("handed_in")
    def _ended(self, _: Any) -> None:
        if self.handed_in and hasattr(self, "sitting") and not self.sitting.handed_in:
            self.sitting = self.sitting.end()
            self._tell()

    def _tell(self) -> None:
        self.said = report()._repr_html_() if self.handed_in else ""

    def __repr__(self) -> str:
        how = f"To answer, run this cell in a notebook, or type `{command(f'inventory {self.when}')}` in a terminal."
        return f"The inventory {self.when!r}: {len(self.answers)} of {len(ITEMS)} answered. {how}"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        data = bundle[0] if isinstance(bundle, tuple) else (bundle or {})
        data["text/plain"] = repr(self)
        return bundle or data


def in_terminal(sitting: Sitting) -> Sitting:
    """Ask the open questions in a terminal and return the sitting. An empty line or the end of the
    input stops; answers are kept."""
    if sitting.handed_in:
        return sitting
    print(
        f"{ASK} {NOTE}\nType the number of an answer. An empty line stops. Your answers are kept, and you can continue later."
    )
    print("When you answer the last question, all answers are handed in.")
    for n, item in enumerate(ITEMS, 1):
        if item.number in sitting.answers:
            continue
        offered = sitting.offered(item)
        print(f"\n{n} of {len(ITEMS)}\n")
        print("\n".join(f"    {line}" for line in sitting.form(item).text.splitlines()) + "\n")
        print("\n".join(f"  {i}  {choice}" for i, choice in enumerate(offered, 1)))
        chosen = _number(len(offered))
        if chosen == 0:
            return sitting
        sitting = sitting.answer(item, offered[chosen - 1])
    return sitting.end()


def _number(last: int) -> int:
    """Return the typed number from 1 to `last`, or 0 for an empty line."""
    while True:
        try:
            typed = input("> ").strip()
        except EOFError:
            typed = ""
        if not typed or typed.isdecimal() and 1 <= int(typed) <= last:
            return int(typed or 0)
        print(f"Type a number from 1 to {last}, or press Enter to stop.")
