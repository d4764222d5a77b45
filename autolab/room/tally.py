"""What a room has been told: counted, and kept in a file of JSON lines from which a new start counts again.

Kept are random ids, answers and what was released; no names, addresses or times. Of each student the first answer to a
question counts in each vote: later ones were given after the outcome was seen.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ..inventory.group import Group
from ..inventory.items import ITEMS
from ..inventory.sitting import SITTINGS, Sitting
from ..lessons import book
from ..lessons.folder import course_source, lessons

LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"  # none that look like another
STUDENTS, UNKNOWN = (
    2000,
    300,
)  # what one room takes: students, and questions that are neither the course's nor the instructor's
LARGEST = 100_000_000  # bytes of its file; a class of 300 with 40 questions writes 1.3 MB
BARS = 12  # answers that are shown one by one
ROUNDS = 2  # of votes: before and after the class has discussed a question (peer instruction; Mazur 1997)
INVENTORY = "inventory"  # its name where something is released


@dataclass
class Question:
    """One question. rounds: of each vote, id of a student to the answer. right: answer to how many were told that it is
    right, less how many that it is wrong. choices: as they were offered first."""

    id: str
    choices: tuple[str, ...] = ()
    rounds: list[dict[str, str]] = field(default_factory=lambda: [{}])
    right: Counter[str] = field(default_factory=Counter)
    released: bool = False

    @property
    def given(self) -> dict[str, str]:
        """The vote that is open."""
        return self.rounds[-1]

    @property
    def bars(self) -> list[dict[str, Any]]:
        """The histogram, a count for each round: what was offered, in that order, then other answers by how many gave
        them, the rest in one."""
        counts = [Counter(given.values()) for given in self.rounds]
        total = sum(counts, Counter())
        texts = list(dict.fromkeys([*self.choices, *(text for text, _ in total.most_common())]))
        rows = [
            {"text": t, "counts": [c[t] for c in counts], "right": self.right[t] > 0}
            for t in texts[:BARS]
        ]
        if len(texts) > BARS:
            rest = [sum(c[t] for t in texts[BARS:]) for c in counts]
            rows.append(
                {"text": f"{len(texts) - BARS} other answers", "counts": rest, "right": False}
            )
        return rows


class Tally:
    """All that one room knows. file: where it is kept; what is in it is counted again. code: of the room, "" for that
    of the file, or a new one. own: names of the instructor's questions. Of a question that is neither of these nor the
    course's nothing is shown but how often it was answered: whoever has the code can make up names.

    Raises ValueError for a code that is none, or not that of the file; OSError where the file cannot be read or
    written.
    """

    def __init__(self, file: str | Path, code: str = "", own: Iterable[str] = ()) -> None:
        self.own = frozenset(own)
        self.students: set[str] = set()
        self.questions: dict[str, Question] = {}
        self.sittings: dict[str, tuple[Sitting, Sitting]] = {}
        self.released = False
        self.code, self.key = "", ""
        self.path, self._file = Path(file), None
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8", errors="replace").split("\n"):
                self._again(line)
            if self.path.stat().st_size and not self.code:
                raise ValueError(f"{file} is not of a room; name another --file")
        if code and not re.fullmatch("[A-Z0-9]{4,12}", code):
            raise ValueError(f"--code should be 4 to 12 letters A to Z and digits, but is {code!r}")
        if code and self.code and code != self.code:
            raise ValueError(
                f"{file} is of a room with the code {self.code}; leave --code out, or name another --file"
            )
        # a line that a crash broke off stays as it is, and the next one begins anew
        self._file = os.fdopen(
            os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "w", encoding="utf-8"
        )
        self._file.write("\n" * bool(self.path.stat().st_size))
        if not self.code:
            made = code or "".join(secrets.choice(LETTERS) for _ in range(4))
            self._keep({"what": "room", "code": made, "key": secrets.token_urlsafe(16)})

    def close(self) -> None:
        """Closes the file."""
        if self._file:
            self._file.close()

    def join(self, who: str) -> None:
        """Counts a student. Raises ValueError for what is no id, OverflowError when the room is full."""
        if not isinstance(who, str) or not re.fullmatch("[0-9a-f]{16}", who):
            raise ValueError("who should be 16 hexadecimal digits")
        if who not in self.students:
            if len(self.students) >= STUDENTS:
                raise OverflowError(f"the room is full: {STUDENTS:,} students")
            self._keep({"what": "join", "who": who})

    def answer(self, who: str, said: dict[str, Any]) -> None:
        """Counts an answer; a second one in the same vote changes nothing. Raises ValueError for what is none,
        OverflowError when there are too many questions."""
        id, given, right, choices = (said.get(name) for name in ("id", "given", "right", "choices"))
        if not (isinstance(id, str) and re.fullmatch(r"\w[\w.\- ]{0,59}", id) and id != INVENTORY):
            raise ValueError(
                "id should be up to 60 letters, digits, dots and dashes, a letter or digit first"
            )
        if not (isinstance(given, str) and len(given) <= 200):
            raise ValueError("given should be a text of up to 200 characters")
        if right is not None and not isinstance(right, bool):
            raise ValueError("right should be true, false or null")
        if not (
            isinstance(choices, list)
            and len(choices) <= BARS
            and all(isinstance(c, str) and len(c) <= 200 for c in choices)
        ):
            raise ValueError(f"choices should be up to {BARS} texts of up to 200 characters")
        if (
            not (id in self.questions or self._listed(id))
            and len(self.questions) - len(self.listed) >= UNKNOWN
        ):
            raise OverflowError(
                f"the room has {UNKNOWN} questions that it does not know, and takes no other"
            )
        self.join(who)
        if id not in self.questions or who not in self.questions[id].given:
            choices = [] if id in self.questions else choices  # the first ones count
            self._keep(
                {
                    "what": "answer",
                    "who": who,
                    "id": id,
                    "given": given,
                    "right": right,
                    "choices": choices,
                }
            )

    def inventory(self, who: str, said: dict[str, Any]) -> None:
        """Takes both sittings of a student, in the place of those before. Raises ValueError for what are none."""
        for when in SITTINGS:
            _sitting(when, said.get(when))
        self.join(who)
        self._keep({"what": INVENTORY, "who": who, **{when: said[when] for when in SITTINGS}})

    def release(self, id: str, shown: bool) -> None:
        """Shows the answers to a question, or hides them. Raises ValueError for what there is not."""
        if (
            not isinstance(id, str)
            or id not in self.listed
            and id != INVENTORY
            or not isinstance(shown, bool)
        ):
            raise ValueError(
                "id should be that of a question with answers, and shown true or false"
            )
        self._keep({"what": "release", "id": id, "shown": shown})

    def again(self, id: str) -> None:
        """Opens the second vote on a question, and hides the answers until they are released. Raises ValueError for
        what there is not, OverflowError after the last vote."""
        if not isinstance(id, str) or id not in self.listed:
            raise ValueError("id should be that of a question with answers")
        if len(self.questions[id].rounds) >= ROUNDS:
            raise OverflowError(f"a question has {ROUNDS} votes")
        self._keep({"what": "again", "id": id})

    def asked(self, id: str) -> dict[str, Any]:
        """What a phone shows of a question, which the room need not know yet; without an id all that are open."""
        if not id:
            open_ones = [q for q in reversed(self.listed.values()) if not q.released]
            return {"questions": [{"id": q.id, "ask": _ask(q.id)} for q in open_ones]}
        one = self.questions.get(id) or Question(id, _offered(id))
        return {"id": id, "ask": _ask(id), "choices": one.choices, "round": len(one.rounds)}

    @property
    def listed(self) -> dict[str, Question]:
        """The questions with answers that the course or the instructor asks."""
        return {id: one for id, one in self.questions.items() if self._listed(id)}

    def _listed(self, id: str) -> bool:
        return id in self.own or id in in_course()

    @property
    def state(self) -> dict[str, Any]:
        """What the page shows: the newest question first; answers only of what was released."""
        questions = [
            {"id": q.id, "ask": _ask(q.id), "answers": [len(given) for given in q.rounds], "released": q.released,
             "last": len(q.rounds) == ROUNDS, "bars": q.bars if q.released else []}
            for q in reversed(self.listed.values())
        ]  # fmt: skip
        others = [
            sum(map(len, q.rounds)) for id, q in self.questions.items() if not self._listed(id)
        ]
        rows = Group(self.sittings).table if self.released else []
        gain = {"students": len(self.sittings), "released": self.released, "rows": rows}
        unknown = {"questions": len(others), "answers": sum(others)}
        return {
            "students": len(self.students),
            "questions": questions,
            "unknown": unknown,
            INVENTORY: gain,
        }

    def _keep(self, line: dict[str, Any]) -> None:
        """On the disk first, then counted: what was counted is there after a restart. Raises OverflowError when the
        file is full, for what students send."""
        assert self._file is not None
        if "who" in line and self._file.tell() > LARGEST:
            raise OverflowError(f"the room is full: {LARGEST // 1_000_000} MB")
        self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._file.flush()
        self._count(line)

    def _again(self, text: str) -> None:
        try:
            self._count(json.loads(text))
        except (ValueError, TypeError, KeyError, AttributeError):
            pass  # a line that broke off

    def _count(self, line: dict[str, Any]) -> None:
        what, who = line["what"], line.get("who", "")
        if what == "room":
            self.code, self.key = line["code"], line["key"]
        elif what == "join":
            self.students.add(who)
        elif what == "answer":
            one = self.questions.setdefault(
                line["id"], Question(line["id"], _offered(line["id"]) or tuple(line["choices"]))
            )
            text = _label(line["given"], one.choices)
            first = who not in one.given
            one.given.setdefault(who, text)
            if first and line["right"] is not None:
                one.right[text] += 1 if line["right"] else -1
        elif what == "again":
            self.questions[line["id"]].rounds.append({})
            self.questions[line["id"]].released = False
        elif what == "release" and line["id"] == INVENTORY:
            self.released = line["shown"]
        elif what == "release":
            self.questions[line["id"]].released = line["shown"]
        elif what == INVENTORY:
            self.sittings[who] = (
                _sitting("before", line["before"]),
                _sitting("after", line["after"]),
            )


def _sitting(when: str, said: Any) -> Sitting:
    """A sitting as it was sent; raises ValueError for what is none."""
    letter = said.get("letter") if isinstance(said, dict) else None
    answers = said.get("answers") if isinstance(said, dict) else None
    offered = (
        {str(i.number): i.form(letter).shuffled("", "") for i in ITEMS}
        if letter in ("A", "B")
        else {}
    )
    if (
        not offered
        or not isinstance(answers, dict)
        or any(choice not in offered.get(n, ()) for n, choice in answers.items())
    ):
        raise ValueError(f"{when} should be a letter A or B, and answers that the inventory offers")
    return Sitting(when, str(letter), {int(n): choice for n, choice in answers.items()}, True)


def known(id: str) -> Any:
    """The course's own question of this name; None where it has none."""
    number = id.partition(".")[0]
    try:
        return book.lesson(number).QUESTIONS.get(id) if re.fullmatch("[0-9]{2}", number) else None
    except KeyError:
        return None


@cache
def in_course() -> frozenset[str]:
    """The names of the course's questions: its predictions, and what its notebooks ask in an explorer."""
    source = course_source()
    asked = (
        declared(source / name) | set(book.lesson(n).QUESTIONS)
        for n, name in lessons(source).items()
    )
    return frozenset().union(*asked)


def declared(path: Path) -> frozenset[str]:
    """The names that a notebook, each notebook of a folder, or a file of Python gives to its questions: `id="my.1"`.

    Raises OSError for what cannot be read, ValueError for what is no notebook.
    """
    if path.is_dir():
        return frozenset().union(*map(declared, sorted(path.glob("*.ipynb"))))
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        try:
            cells = json.loads(text)["cells"]
            text = "\n".join(
                "".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"
            )
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{path} is no notebook") from None
    return frozenset(re.findall(r"""\bid\s*=\s*["']([^"']+)["']""", text))


def _ask(id: str) -> str:
    found = known(id)
    return found.ask if found else ""


def _offered(id: str) -> tuple[str, ...]:
    found = known(id)
    return tuple(found.choices) if found else ()


def _label(text: str, choices: tuple[str, ...]) -> str:
    """An answer as it is counted: 6, 6.0 and " 6" are one."""
    text = text.strip() or "no answer: it was shown"
    if text in choices:
        return text
    try:
        number = float(re.sub(r",(?=\d{3}(\D|$))", "", text))
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
