"""The student's side: after joining, a thread of its own sends the answers, so a notebook never
waits."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import queue
import secrets
import threading
from typing import Any
from urllib.parse import urlsplit

from .. import progress
from ..engine.core.errors import fail
from ..progress import Event, store
from ..widgets.message import Message

KINDS = ("prediction", "ask")
PATIENCE = 3.0  # seconds to wait for the room's answer
FIRST, LONGEST = 1.0, 30.0  # seconds between two tries; doubled after each failure
WAITING = 1000  # answers kept for a room that cannot be reached; later ones are dropped
TEXT = 200  # characters of an answer

_room: Room | None = None


class Room:
    """A joined room: its address, how many answers were sent, and why others wait.

    address: "http://192.168.1.5:8765". sent: answers that the room accepted. waiting: answers on
    their way. trouble: why the last try failed, or "".

    Example:

        >>> torch.room()
        In no room
        Your answers stay on this machine. To join ask your instructor: autolab.room("http://192.168.1.5:8765", "4KD2").
    """

    def __init__(self, address: str = "", code: str = "") -> None:
        self.address, self.sent, self.trouble = address, 0, ""
        self._code, self._left, self._asked, self._refused = (
            code,
            threading.Event(),
            threading.Event(),
            "",
        )
        self._queue: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue(WAITING)
        # stays the same after a restart of the kernel, so nobody is counted twice; differs between rooms
        mine = progress.learner()
        self._who = (
            hashlib.sha256(f"{mine} {code}".encode()).hexdigest()[:16]
            if mine
            else secrets.token_hex(8)
        )

    @property
    def joined(self) -> bool:
        """Return whether answers are sent to this room."""
        return bool(self.address) and not self._left.is_set()

    @property
    def waiting(self) -> int:
        """Return how many answers are on their way."""
        return self._queue.unfinished_tasks

    def _enter(self) -> None:
        """Join at the room and wait at most `PATIENCE` for its answer. Raises ValueError if it
        refuses the code."""
        self.trouble = "not reached yet"
        try:
            threading.Thread(target=self._work, name="autolab room", daemon=True).start()
        except RuntimeError as error:  # Python in a browser has no threads
            self._left.set()
            self.trouble = f"this machine cannot send anything: {error}"
            return
        self._asked.wait(PATIENCE + 0.5)
        if self._refused:
            self._left.set()
            note = "The code is on the instructor's page: letters and digits. Ask whether the room was opened again with another code."
            raise fail(
                ValueError, f"code: the room at {self.address} answers: {self._refused}", note
            )
        store.WATCHERS.append(self._watch)

    def _watch(self, event: Event) -> None:
        if event.kind in KINDS:
            said = {"kind": event.kind, "id": event.id, "given": _text(event.given)}
            with contextlib.suppress(queue.Full):
                self._queue.put_nowait(("answer", said))

    def _work(self) -> None:
        try:
            status, text = self._post("join", {})
            self.trouble = "" if status == 200 else text
            self._refused = text if status == 403 else ""
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.trouble = f"not reached: {error}"
        self._asked.set()
        while not self._left.is_set():
            with contextlib.suppress(queue.Empty):
                path, said = self._queue.get(timeout=1.0)
                self._send(path, said)
                self._queue.task_done()

    def _send(self, path: str, said: dict[str, Any]) -> None:
        """Send answers until the room has accepted them or never will."""
        wait = FIRST
        while not self._left.is_set():
            try:
                status, text = self._post(path, said)
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.trouble = f"not reached: {error}"
            else:
                self.trouble = "" if status == 200 else text
                self.sent += status == 200
                if status != 429 and status < 500:
                    return
            self._left.wait(wait)
            wait = min(2 * wait, LONGEST)

    def _post(self, path: str, said: dict[str, Any]) -> tuple[int, str]:
        """Return the status and text of the room's answer. Raises OSError if something else
        answers, such as the login page of a wireless network."""
        url = urlsplit(self.address)
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        line = kind(url.hostname or "", url.port, timeout=PATIENCE)
        try:
            body = json.dumps({"code": self._code, "who": self._who, **said})
            line.request("POST", f"/{path}", body.encode(), {"Content-Type": "application/json"})
            reply = line.getresponse()
            text = reply.read(2000).decode("utf-8", "replace").strip()
            says = reply.headers.get("Content-Type", "")
            if not says.startswith("text/plain") or reply.status == 200 and text != "ok":
                raise OSError(
                    f"a server answered there, but it is not a room ({reply.status} {reply.reason})"
                )
            return reply.status, text
        finally:
            line.close()

    def _leave(self) -> None:
        self._left.set()
        with contextlib.suppress(ValueError):
            store.WATCHERS.remove(self._watch)

    def _message(self) -> Message:
        how = 'To join ask your instructor: autolab.room("http://192.168.1.5:8765", "4KD2").'
        if not self.joined:
            return Message(
                "In no room",
                (),
                (
                    " ".join(
                        filter(None, [self.trouble, "Your answers stay on this machine.", how])
                    ),
                ),
            )
        rows = (
            ("sent", str(self.sent)),
            ("waiting", str(self.waiting)),
            *([("why", self.trouble)] if self.trouble else []),
        )
        said = "Your answers to predictions and questions are sent there, without your name. autolab.room.leave() stops that."
        where = (
            f"You joined the room at {self.address}, but it cannot be reached"
            if self.trouble
            else f"In the room at {self.address}"
        )
        return Message(where, rows, (said,), "differs" if self.trouble else "agrees")

    def __repr__(self) -> str:
        return repr(self._message())

    def _repr_html_(self) -> str:
        return self._message()._repr_html_()


def join(address: str = "", code: str = "") -> Room:
    """Join a room and leave the previous one. Without an address, return the current room.

    Raises ValueError for an invalid address or code, and for a code that the room refuses.
    """
    global _room
    if not address:
        return _room or Room()
    made = Room(_address(address), _code(code))
    leave()
    made._enter()
    _room = made
    return made


def leave() -> Room:
    """Leave the room: nothing more is sent. Return its final state.

    Example:

        >>> torch.room.leave().joined
        False
    """
    global _room
    if _room is not None:
        _room._leave()
    _room = None
    return Room()


def hand_in() -> Room:
    """Send the answers to both sittings of the inventory, which the room adds up for the class, and
    return the room.

    Raises RuntimeError if no room was joined, or if a sitting is not handed in.

    Example:

        >>> try:
        ...     torch.room.hand_in()
        ... except RuntimeError as error:
        ...     print(error)
        hand_in() needs a room, but you have not joined one
    """
    from ..inventory.sitting import SITTINGS, sittings

    if _room is None:
        raise fail(
            RuntimeError,
            "hand_in() needs a room, but you have not joined one",
            'Join a room with autolab.room("http://…", "4KD2").',
        )
    mine = sittings(progress.events())
    for when in SITTINGS:
        if when not in mine or not mine[when].handed_in:
            note = f'autolab.inventory("{when}") asks; hand it in at its end.'
            raise fail(
                RuntimeError, f"hand_in() needs both sittings, but {when!r} is not handed in", note
            )
    said = {
        w: {"letter": mine[w].letter, "answers": {str(n): a for n, a in mine[w].answers.items()}}
        for w in SITTINGS
    }
    with contextlib.suppress(queue.Full):
        _room._queue.put_nowait(("inventory", said))
    return _room


def _text(value: Any) -> str:
    text = (value if isinstance(value, str) else repr(value)).encode("utf-8", "replace").decode()
    return text if len(text) <= TEXT else text[: TEXT - 1] + "…"


def _address(address: str) -> str:
    text = address.strip().rstrip("/") if isinstance(address, str) else ""
    text = text if "://" in text else f"http://{text}"
    try:
        url = urlsplit(text)
        good = (
            url.scheme in ("http", "https")
            and url.hostname
            and (url.port or 1)
            and not (url.path or url.query or url.username)
        )
    except ValueError:  # an invalid port
        good = None
    if not good:
        note = "It is on the instructor's page, and ends with the port."
        raise fail(
            ValueError,
            f'address should be one such as "http://192.168.1.5:8765", but is {address!r}',
            note,
        )
    return text


def _code(code: str) -> str:
    text = code.strip().upper() if isinstance(code, str) else ""
    if not (4 <= len(text) <= 12 and text.isascii() and text.isalnum()):
        note = "It is on the instructor's page, below the address."
        raise fail(
            ValueError, f'code should be letters and digits such as "4KD2", but is {code!r}', note
        )
    return text
