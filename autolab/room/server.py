"""The web server of a room: its pages, and the messages of students. It uses Tornado, as JupyterLab
does.

It refuses unknown host names (a foreign page that claims to be this machine), scripts of other
pages, wrong codes, more than `RATE` messages a second from one student, too many new students from
one address, messages above `LARGEST` bytes, and more connections than the system allows a program.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import json
import re
import socket
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from tornado import httpserver, iostream, netutil, web

from ..engine.core.errors import fail
from ..viz import palette
from . import phone
from .questions import Asked, declared
from .tally import STUDENTS, Tally

STATIC = Path(__file__).parent / "static"
LARGEST = 8192  # bytes of a message; both sittings of the inventory take 2,000
RATE, BURST = 1.0, 30.0  # messages of one student: per second on average, and at once
CONNECTIONS = 4096  # open connections, if the system allows as many; a phone holds one or two
HALL, DOOR = (
    400.0,
    1.0,
)  # new students from one address, which may be a whole hall's: at once, and per second
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


class Limits:
    """The limits for students (by their messages) and for addresses (by new students). clock:
    returns seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # student or address -> how many are left, and since when
        self._left: dict[str, tuple[float, float]] = {}
        self._entered: Counter[str] = Counter()  # address -> students

    def may_send(self, who: str) -> bool:
        """Count one message of a student against the limit, and return whether it is accepted."""
        return self._may(f"student {who}", BURST, RATE)

    def may_enter(self, address: str) -> bool:
        """Return whether an address may send one more new student. Only asked if the code is right,
        so wrong codes cannot lock out others with the same address."""
        place = _network(address)
        if self._entered[place] >= STUDENTS // 2 or not self._may(place, HALL, DOOR):
            return False
        self._entered[place] += 1
        return True

    def _may(self, name: str, most: float, rate: float) -> bool:
        now = self._clock()
        if len(self._left) > 20_000:
            self._left.clear()
        left, since = self._left.get(name, (most, now))
        left = min(most, left + (now - since) * rate)
        self._left[name] = max(0.0, left - 1), now
        return left >= 1


def _network(address: str) -> str:
    """Return an address, or for IPv6 its network, because one machine can have many IPv6 addresses."""
    found = ipaddress.ip_address(address.partition("%")[0])
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else address


class _Handler(web.RequestHandler):
    def initialize(self, tally: Tally, limits: Limits, names: frozenset[str], address: str) -> None:
        self.tally, self.limits, self.names, self.address = tally, limits, names, address

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        for name, value in HEADERS.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        asked = self.request
        if not _ours(asked.host_name, self.names):
            raise web.HTTPError(403, reason="open the room by the address that its page shows")
        origin = asked.headers.get("Origin")
        if origin is not None and origin != f"{asked.protocol}://{asked.host}":
            raise web.HTTPError(403, reason="requests from other pages are refused")
        if (
            asked.method == "POST"
            and asked.headers.get("Content-Type", "").partition(";")[0] != "application/json"
        ):
            raise web.HTTPError(415, reason="a message must be JSON")

    def write_error(self, status_code: int, **_: Any) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(self._reason)

    def log_exception(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not isinstance(
            error, web.HTTPError
        ):  # the error goes to the sender only, not to the log
            super().log_exception(kind, error, trace)

    def message(self) -> dict[str, Any]:
        """Return the sent JSON object."""
        try:
            said = json.loads(self.request.body)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            raise web.HTTPError(400, reason="a message must be a JSON object")
        return said

    @property
    def with_key(self) -> bool:
        """Return whether the request comes from the instructor's page."""
        return hmac.compare_digest(
            self.request.headers.get("X-Room-Key", "").encode(), self.tally.key.encode()
        )

    def take(self, what: Callable[[], None]) -> None:
        """Handle a request; answer with what is wrong about it."""
        try:
            what()
        except ValueError as error:
            raise web.HTTPError(400, reason=_reason(error)) from None
        except OverflowError as error:
            raise web.HTTPError(409, reason=_reason(error)) from None
        except OSError as error:  # a full disk; the student's machine tries again
            raise web.HTTPError(
                503, reason=f"the answer could not be kept: {_reason(error)}"
            ) from None
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish("ok")


class _File(_Handler):
    def get(self, name: str = "") -> None:
        kind = {"js": "text/javascript", "css": "text/css"}.get(
            name.rpartition(".")[2], "text/html"
        )
        self.set_header("Content-Type", f"{kind}; charset=utf-8")
        before = palette.page_css() if name.endswith(".css") else ""
        file = {"": "room.html", "phone": "phone.html"}.get(name, name)
        self.finish(before + (STATIC / file).read_text(encoding="utf-8"))


class _Code(_Handler):
    """The QR code of the phones' page, for the instructor's page only, because it contains the
    room's code."""

    def get(self) -> None:
        if not self.with_key:
            raise web.HTTPError(403, reason="only the instructor's page may do this")
        where = phone.address(self.address, self.tally.code)
        try:
            side, path = phone.squares(where)
        except RuntimeError:  # without segno, the address alone
            side, path = 0, ""
        self.finish({"address": where, "side": side, "path": path})


class _Asked(_Handler):
    def get(self) -> None:
        self.finish(self.tally.asked(self.get_query_argument("id", "")[:60]))


class _State(_Handler):
    def get(self) -> None:
        own = {"code": self.tally.code, "address": self.address} if self.with_key else {}
        self.finish(self.tally.state | own)


class _Message(_Handler):
    def post(self, kind: str) -> None:
        said = self.message()
        who: Any = said.get("who")
        code = said.get("code")
        if not isinstance(code, str) or not hmac.compare_digest(
            code.encode("utf-8", "replace"), self.tally.code.encode()
        ):
            raise web.HTTPError(403, reason="this is not the room's code")
        if isinstance(who, str) and who in self.tally.students:
            if not self.limits.may_send(who):
                raise web.HTTPError(
                    429, reason="too many messages; the next one is taken in a second"
                )
        elif not self.limits.may_enter(str(self.request.remote_ip)):
            raise web.HTTPError(429, reason="too many new students from one address; wait a moment")
        tally = self.tally
        if kind == "join":
            self.take(lambda: tally.join(who))
        else:
            self.take(lambda: (tally.answer if kind == "answer" else tally.inventory)(who, said))


class _Instructor(_Handler):
    """The actions of the page with the key: show and hide answers, open the second vote."""

    def post(self, what: str) -> None:
        if not self.with_key:
            raise web.HTTPError(403, reason="only the instructor's page may do this")
        said = self.message()
        id, tally = said.get("id", ""), self.tally
        self.take(
            lambda: tally.again(id) if what == "again" else tally.release(id, said.get("shown", ""))
        )


def application(
    tally: Tally, address: str = "", names: tuple[str, ...] = (), limits: Limits | None = None
) -> web.Application:
    """Return the pages of a room. address: the address that its page tells students. names: further
    names of this machine, beside `localhost`, its own name and numeric addresses."""
    own = socket.gethostname().lower()
    known = frozenset({"localhost", own, f"{own}.local", *(name.lower() for name in names)})
    given = dict(tally=tally, limits=limits or Limits(), names=known, address=address)
    pages: list[Any] = [
        ("/", _File, given), (r"/(phone|phone\.js|room\.js|room\.css)", _File, given),
        ("/state", _State, given), ("/question", _Asked, given), ("/code", _Code, given),
        ("/(join|answer|inventory)", _Message, given), ("/(release|again)", _Instructor, given),
        (".*", _Nothing, given),
    ]  # fmt: skip
    return web.Application(pages, log_function=lambda _: None)  # a log would show who answered when


class _Nothing(_Handler):
    def prepare(self) -> None:
        if self.request.path == "/favicon.ico":  # browsers request it on their own
            self.set_status(204)
            self.finish()
        else:
            raise web.HTTPError(404, reason="there is nothing here")


class _Server(httpserver.HTTPServer):
    """Closes connections above `most`, and above half of them from one address. Without this,
    nobody could connect once the system's limit is reached; macOS allows a program 256 by default.
    """

    most: int
    held: Counter[str]

    def handle_stream(self, stream: iostream.IOStream, address: Any) -> None:
        """Accept or close a new connection."""
        who = str(address[0])
        if self.held.total() >= self.most or self.held[who] >= self.most // 2:
            stream.close()
        else:
            self.held[who] += 1
            super().handle_stream(stream, address)

    def on_close(self, server_conn: Any) -> None:
        """Count a connection that ended."""
        super().on_close(server_conn)
        self.held[str(server_conn.context.address[0])] -= 1


def _connections() -> int:
    """Return how many connections this process may hold open, after requesting `CONNECTIONS`."""
    try:
        import resource
    except ImportError:
        return 480  # Windows, where select() allows 512
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS if hard == resource.RLIM_INFINITY else min(CONNECTIONS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return (
        CONNECTIONS if soft == resource.RLIM_INFINITY else min(soft, CONNECTIONS)
    ) - 64  # for the program's own files


def server(
    tally: Tally,
    address: str = "",
    names: tuple[str, ...] = (),
    limits: Limits | None = None,
    most: int = 0,
) -> httpserver.HTTPServer:
    """Return the server of a room, which accepts at most `LARGEST` bytes and does not wait for slow
    messages. most: open connections, 0 for the system's limit."""
    made = _Server(
        application(tally, address, names, limits), max_body_size=LARGEST, max_header_size=LARGEST,
        body_timeout=10.0, idle_connection_timeout=30.0,
    )  # fmt: skip
    made.most, made.held = most or _connections(), Counter()
    return made


def serve(
    file: Path, port: int = 8765, code: str = "", interface: str = "",
    names: tuple[str, ...] = (), own: tuple[Path, ...] = (),
) -> None:  # fmt: skip
    """Run a room until it is stopped, and print how to join. interface: the address to listen at,
    "" for all. own: notebooks or folders with the instructor's questions.

    Raises OSError if the port is taken or a file cannot be read or written, and ValueError for an
    invalid code or port, or if `own` has no question.
    """
    ours = [one for path in own for one in _questions(path)]
    if not 0 <= port < 65536:
        raise ValueError(
            f"--port should be a number from 0 (any that is free) to 65535, but is {port}"
        )
    try:
        sockets = netutil.bind_sockets(
            port, interface or None, backlog=1024
        )  # a whole class at once
    except OSError as error:
        other = "another --interface, or none" if interface else "another --port"
        said = f"{f'{interface}, ' * bool(interface)}port {port} cannot be used: {error.strerror or error}"
        raise fail(OSError, said, f"Choose {other}; perhaps a room is open already.") from None
    try:
        tally = Tally(file, code, ours)
    except OSError as error:
        note = "Name a file in a folder that you may write to."
        raise fail(OSError, f"--file {file} cannot be used: {error.strerror}", note) from None
    port = sockets[0].getsockname()[1]
    address = f"http://{names[0] if names else interface or local_address()}:{port}"
    print(
        f'The room is open. Students type in a notebook:\n    autolab.room("{address}", "{tally.code}")\n'
        f"Your page, to show to the class:\n    http://{interface or '127.0.0.1'}:{port}/#{tally.key}\n"
        f"Answers are kept in {file}, without names. If you type the same command again, the room continues with them. Ctrl-C closes the room.",
        flush=True,
    )

    async def run() -> None:
        server(tally, address, names).add_sockets(sockets)
        await asyncio.Event().wait()

    try:
        asyncio.run(run())
    except KeyboardInterrupt:
        print(f"\nThe room is closed. Answers are in {file}.")
    finally:
        tally.close()


def _questions(path: Path) -> list[Asked]:
    try:
        found = list(declared(path).values())
    except OSError as error:
        note = "Name a notebook, or a folder of notebooks."
        raise fail(OSError, f"--questions {path} cannot be read: {error.strerror}", note) from None
    if not found:
        note = 'A question has a name by id="my.1" in its call.'
        raise fail(
            ValueError, f"--questions {path} should have questions with names, but has none", note
        )
    return found


def local_address() -> str:
    """Return this machine's address in its network, as far as it can be found; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("10.255.255.255", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def _ours(name: str, names: frozenset[str]) -> bool:
    """Return whether a host name belongs to this machine. Numeric addresses always count, because
    no page can fake them."""
    try:
        return bool(ipaddress.ip_address(name.strip("[]")))
    except ValueError:
        return name.lower() in names


def _reason(error: Exception) -> str:
    """Return one line that an HTTP status may contain, in Latin-1."""
    return re.sub(r"[^\x20-\x7e]", "?", str(error))
