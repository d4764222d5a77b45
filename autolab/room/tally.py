"""Count the answers of a room, and keep them in a file of JSON lines that a restarted room reads
again.

It keeps random ids, answers and which questions are shown; no names, addresses or times. Each
student's first answer counts in each vote, because later answers may follow the reveal.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..inventory.group import Group
from ..inventory.items import ITEMS
from ..inventory.sitting import SITTINGS, Sitting
from .questions import Asked, course

LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"  # letters and digits that do not look alike
CODE = 6  # characters of a new room's code: 887 million codes, so guessing takes a program days
STUDENTS, UNKNOWN = (
    2000,
    300,
)  # limits of one room: students, and questions that neither the course nor the instructor has
LARGEST = 100_000_000  # bytes of its file; a class of 300 with 40 questions writes 1.3 MB
BARS = 12  # answers that are shown one by one
# number of votes: before and after the class has discussed a question (peer instruction; Mazur 1997)
ROUNDS = 2
INVENTORY = "inventory"  # stands for the instructor where answers are shown


@dataclass
class Question:
    """The answers to one question. rounds: for each vote, a student's id -> answer."""

    asked: Asked
    rounds: list[dict[str, str]] = field(default_factory=lambda: [{}])
    released: bool = False

    @property
    def given(self) -> dict[str, str]:
        """Return the answers of the open vote."""
        return self.rounds[-1]

    @property
    def bars(self) -> list[dict[str, Any]]:
        """Return the histogram with a count for each vote: the choices in their order, then other
        answers by frequency, the rest as one."""
        counts = [Counter(given.values()) for given in self.rounds]
        total = sum(counts, Counter())
        texts = list(
            dict.fromkeys([*self.asked.choices, *(text for text, _ in total.most_common())])
        )
        rows = [
            {"text": t, "counts": [c[t] for c in counts], "right": self.asked.right(t)}
            for t in texts[:BARS]
        ]
        if len(texts) > BARS:
            rest = [sum(c[t] for t in texts[BARS:]) for c in counts]
            rows.append(
                {"text": f"{len(texts) - BARS} other answers", "counts": rest, "right": False}
            )
        return rows


class Tally:
    """Everything that one room knows. file: where it is kept; its lines are counted again at the
    start. code: the room's code, "" for the file's code or a new one. own: the instructor's
    questions. For unknown questions only the number of answers is shown, because anybody with the
    code can invent ids.

    Raises ValueError for an invalid code or another code than the file's, and OSError if the file
    cannot be read or written.
    """

    def __init__(self, file: str | Path, code: str = "", own: Iterable[Asked] = ()) -> None:
        self.own = {one.id: one for one in own}
        self.students: set[str] = set()
        self.questions: dict[str, Question] = {}
        self.sittings: dict[str, tuple[Sitting, Sitting]] = {}
        self.released = False
        self.code, self.key = "", ""
        self.path, self._file = Path(file), None
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8", errors="replace").split("\n"):
                self._again(line)
            if self.path.stat().st_size and not (self.code or self.students):
                raise ValueError(f"{file} is not of a room; name another --file")
        if code and not re.fullmatch("[A-Z0-9]{4,12}", code):
            raise ValueError(f"--code should be 4 to 12 letters A to Z and digits, but is {code!r}")
        if code and self.code and code != self.code:
            raise ValueError(
                f"{file} belongs to a room with the code {self.code}. Leave --code out, or name another --file"
            )
        # an incomplete line after a crash stays as it is, and the next line begins after it
        self._file = os.fdopen(
            os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "w", encoding="utf-8"
        )
        self._file.write("\n" * bool(self.path.stat().st_size))
        if not self.code:
            made = code or "".join(secrets.choice(LETTERS) for _ in range(CODE))
            self._keep({"what": "room", "code": made, "key": secrets.token_urlsafe(16)})

    def close(self) -> None:
        """Close the file."""
        if self._file:
            self._file.close()

    def join(self, who: str) -> None:
        """Count a student. Raises ValueError for an invalid id, and OverflowError if the room is
        full."""
        _student(who)
        if who not in self.students:
            if len(self.students) >= STUDENTS:
                raise OverflowError(f"the room is full: {STUDENTS:,} students")
            self._keep({"what": "join", "who": who})

    def answer(self, who: str, said: dict[str, Any]) -> None:
        """Count an answer; a second one in the same vote changes nothing. Raises ValueError for an
        invalid answer, and OverflowError if there are too many questions."""
        id, given = _answer(said)
        if (
            not (id in self.questions or self._listed(id))
            and len(self.questions) - len(self.listed) >= UNKNOWN
        ):
            raise OverflowError(
                f"the room has {UNKNOWN} questions that it does not know, and accepts no more of them"
            )
        self.join(who)
        if id not in self.questions or who not in self.questions[id].given:
            self._keep({"what": "answer", "who": who, "id": id, "given": given})

    def inventory(self, who: str, said: dict[str, Any]) -> None:
        """Replace both sittings of a student. Raises ValueError for invalid sittings."""
        for when in SITTINGS:
            _sitting(when, said.get(when))
        self.join(who)
        self._keep({"what": INVENTORY, "who": who, **{when: said[when] for when in SITTINGS}})

    def release(self, id: str, shown: bool) -> None:
        """Show the answers to a question, or hide them. Raises ValueError for an unknown question."""
        if (
            not isinstance(id, str)
            or id not in self.listed
            and id != INVENTORY
            or not isinstance(shown, bool)
        ):
            raise ValueError(
                "id should name a question with answers, and shown should be true or false"
            )
        self._keep({"what": "release", "id": id, "shown": shown})

    def again(self, id: str) -> None:
        """Open the second vote on a question and hide the answers until they are shown again.
        Raises ValueError for an unknown question, and OverflowError after the last vote."""
        if not isinstance(id, str) or id not in self.listed:
            raise ValueError("id should name a question with answers")
        if len(self.questions[id].rounds) >= ROUNDS:
            raise OverflowError(f"a question has {ROUNDS} votes")
        self._keep({"what": "again", "id": id})

    def asked(self, id: str) -> dict[str, Any]:
        """Return what a phone shows for a question, even if the room does not know it; without an
        id, all open questions."""
        if not id:
            open_ones = [q for q in reversed(self.listed.values()) if not q.released]
            return {"questions": [{"id": q.asked.id, "ask": q.asked.ask} for q in open_ones]}
        asked = self._asked(id)
        votes = len(self.questions[id].rounds) if id in self.questions else 1
        return {"id": id, "ask": asked.ask, "choices": asked.choices, "round": votes}

    @property
    def listed(self) -> dict[str, Question]:
        """Return the answered questions of the course and the instructor."""
        return {id: one for id, one in self.questions.items() if self._listed(id)}

    def _listed(self, id: str) -> bool:
        return id in self.own or id in course()

    def _asked(self, id: str) -> Asked:
        return self.own.get(id) or course().get(id) or Asked(id)

    @property
    def state(self) -> dict[str, Any]:
        """Return what the page shows: the newest question first, and only the answers that are
        shown."""
        questions = [
            {"id": q.asked.id, "ask": q.asked.ask, "answers": [len(given) for given in q.rounds], "released": q.released,
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
        """Write a line, then count it, so that a restart counts it again. Raises OverflowError for
        students' lines if the file is full."""
        assert self._file is not None
        if "who" in line and self._file.tell() > LARGEST:
            raise OverflowError(f"the room is full: {LARGEST // 1_000_000} MB")
        self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._file.flush()
        self._count(line)

    def _again(self, text: str) -> None:
        """Count a line of the file again, unless it is incomplete or damaged."""
        try:
            line = json.loads(text)
            _checked(line)
            self._count(line)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, MemoryError):
            pass

    def _count(self, line: dict[str, Any]) -> None:
        what, who = line["what"], line.get("who", "")
        if what == "room":
            self.code, self.key = line["code"], line["key"]
        elif what == "join":
            self.students.add(who)
        elif what == "answer":
            self.students.add(who)
            one = self.questions.setdefault(line["id"], Question(self._asked(line["id"])))
            one.given.setdefault(who, one.asked.counted(line["given"]))
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


def _checked(line: Any) -> None:
    """Raise ValueError, TypeError or KeyError for a line that no room writes."""
    what = line["what"]
    if what in ("join", "answer", INVENTORY):
        _student(line["who"])
    if what == "answer":
        _answer(line)
    if what == "room" and not all(isinstance(line[name], str) for name in ("code", "key")):
        raise ValueError("code and key should be texts")
    if what == "release" and not isinstance(line["shown"], bool):
        raise ValueError("shown should be true or false")


def _student(who: Any) -> None:
    if not isinstance(who, str) or not re.fullmatch("[0-9a-f]{16}", who):
        raise ValueError("who should be 16 hexadecimal digits")


def _answer(said: dict[str, Any]) -> tuple[str, str]:
    """Return the id of the question and the answer. Raises ValueError if either is invalid."""
    id, given = said.get("id"), said.get("given")
    if not (isinstance(id, str) and re.fullmatch(r"\w[\w.\- ]{0,59}", id) and id != INVENTORY):
        raise ValueError(
            "id should be up to 60 letters, digits, dots and dashes, a letter or digit first"
        )
    if not (isinstance(given, str) and len(given) <= 200):
        raise ValueError("given should be a text of up to 200 characters")
    return id, given


def _sitting(when: str, said: Any) -> Sitting:
    """Return a sitting as it was sent. Raises ValueError if it is invalid."""
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
