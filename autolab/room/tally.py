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
from pathlib import Path
from typing import Any

from ..inventory.group import Group
from ..inventory.items import ITEMS
from ..inventory.sitting import SITTINGS, Sitting
from .questions import Asked, course

LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"  # none that look like another
CODE = (
    6  # letters of a new room's code: 887 million codes, so that trying them takes a program days
)
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
    """What was answered to one question. rounds: of each vote, id of a student to the answer."""

    asked: Asked
    rounds: list[dict[str, str]] = field(default_factory=lambda: [{}])
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
    """All that one room knows. file: where it is kept; what is in it is counted again. code: of the room, "" for that
    of the file, or a new one. own: the instructor's questions. Of a question that is neither of these nor the
    course's nothing is shown but how often it was answered: whoever has the code can make up names.

    Raises ValueError for a code that is none, or not that of the file; OSError where the file cannot be read or
    written.
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
                f"{file} is of a room with the code {self.code}; leave --code out, or name another --file"
            )
        # a line that a crash broke off stays as it is, and the next one begins anew
        self._file = os.fdopen(
            os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "w", encoding="utf-8"
        )
        self._file.write("\n" * bool(self.path.stat().st_size))
        if not self.code:
            made = code or "".join(secrets.choice(LETTERS) for _ in range(CODE))
            self._keep({"what": "room", "code": made, "key": secrets.token_urlsafe(16)})

    def close(self) -> None:
        """Closes the file."""
        if self._file:
            self._file.close()

    def join(self, who: str) -> None:
        """Counts a student. Raises ValueError for what is no id, OverflowError when the room is full."""
        _student(who)
        if who not in self.students:
            if len(self.students) >= STUDENTS:
                raise OverflowError(f"the room is full: {STUDENTS:,} students")
            self._keep({"what": "join", "who": who})

    def answer(self, who: str, said: dict[str, Any]) -> None:
        """Counts an answer; a second one in the same vote changes nothing. Raises ValueError for what is none,
        OverflowError when there are too many questions."""
        id, given = _answer(said)
        if (
            not (id in self.questions or self._listed(id))
            and len(self.questions) - len(self.listed) >= UNKNOWN
        ):
            raise OverflowError(
                f"the room has {UNKNOWN} questions that it does not know, and takes no other"
            )
        self.join(who)
        if id not in self.questions or who not in self.questions[id].given:
            self._keep({"what": "answer", "who": who, "id": id, "given": given})

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
            return {"questions": [{"id": q.asked.id, "ask": q.asked.ask} for q in open_ones]}
        asked = self._asked(id)
        votes = len(self.questions[id].rounds) if id in self.questions else 1
        return {"id": id, "ask": asked.ask, "choices": asked.choices, "round": votes}

    @property
    def listed(self) -> dict[str, Question]:
        """The questions with answers that the course or the instructor asks."""
        return {id: one for id, one in self.questions.items() if self._listed(id)}

    def _listed(self, id: str) -> bool:
        return id in self.own or id in course()

    def _asked(self, id: str) -> Asked:
        return self.own.get(id) or course().get(id) or Asked(id)

    @property
    def state(self) -> dict[str, Any]:
        """What the page shows: the newest question first; answers only of what was released."""
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
        """On the disk first, then counted: what was counted is there after a restart. Raises OverflowError when the
        file is full, for what students send."""
        assert self._file is not None
        if "who" in line and self._file.tell() > LARGEST:
            raise OverflowError(f"the room is full: {LARGEST // 1_000_000} MB")
        self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._file.flush()
        self._count(line)

    def _again(self, text: str) -> None:
        """Counts a line of the file as it was counted before, unless it broke off or is damaged."""
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
    """Raises ValueError, TypeError or KeyError for a line that no room writes."""
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
    """The name of a question and the answer; raises ValueError for what is neither."""
    id, given = said.get("id"), said.get("given")
    if not (isinstance(id, str) and re.fullmatch(r"\w[\w.\- ]{0,59}", id) and id != INVENTORY):
        raise ValueError(
            "id should be up to 60 letters, digits, dots and dashes, a letter or digit first"
        )
    if not (isinstance(given, str) and len(given) <= 200):
        raise ValueError("given should be a text of up to 200 characters")
    return id, given


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
