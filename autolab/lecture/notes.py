"""Speaker notes: the plan of a lesson, split into the notes of its slides."""

from __future__ import annotations

import re
from html import escape

from . import markdown

_ROW = re.compile(r"^\|(.*)\|\s*$")


class Plan:
    """A plan in Markdown. Its parts go to these slides:

    - a table whose first column is "section": each row to the section of that number or name ("start": the title);
    - one whose first column is "exercise": each row to the exercise of that number;
    - an item of a list that names questions ("q9: …"): to the slides that ask them;
    - what stands before the first table: to the title.
    """

    def __init__(self, text: str) -> None:
        self.sections: dict[str, str] = {}
        self.exercises: dict[str, str] = {}
        self.questions: dict[str, list[str]] = {}
        lines = text.splitlines()
        first = next((n for n, line in enumerate(lines) if _ROW.match(line)), len(lines))
        self.start = markdown.render(
            "\n".join(line for line in lines[:first] if not line.startswith("# "))
        )
        self._tables(lines)
        for item in re.findall(r"^- (.*(?:\n {2,}.*)*)", text, re.MULTILINE):
            for question in dict.fromkeys(re.findall(r"\bq\d+\b", item)):
                self.questions.setdefault(question, []).append(markdown.render(item))

    def _tables(self, lines: list[str]) -> None:
        head: list[str] = []
        for line in lines:
            row = _ROW.match(line)
            cells = [cell.strip() for cell in row[1].split("|")] if row else []
            if not row:
                head = []
            elif not head:
                head = cells
            elif not set("".join(cells)) <= set("-: "):
                known = {"section": self.sections, "exercise": self.exercises}.get(head[0].lower())
                if known is not None:
                    known[cells[0].split()[0].lower()] = _told(head[1:], cells[1:])
                    known[cells[0].lower()] = known[cells[0].split()[0].lower()]

    def of(self, heading: str) -> str:
        """Return the notes of a section or an exercise by its heading, such as "6. Gradients add
        up" or "Exercise 01.6: …"."""
        words = heading.lower()
        number = re.match(r"(?:exercise )?([\d.]*\d[a-z]?)\b", words)
        known = self.exercises if words.startswith("exercise") else self.sections
        return known.get(number[1] if number else words, known.get(words, ""))


def _told(names: list[str], cells: list[str]) -> str:
    told = [
        f"<dt>{escape(name)}</dt><dd>{markdown.inline(cell)}</dd>"
        for name, cell in zip(names, cells)
        if cell and name != "slides"  # that is where one is
    ]
    return f"<dl>{''.join(told)}</dl>" if told else ""
