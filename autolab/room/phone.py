"""Answer without Jupyter: the address of a question on the room's page for phones, and its QR code.

The page's data stands after the `#` of the address, which browsers do not send to servers: the
room's code, the question's id, and the choices if the room does not know them.
"""

from __future__ import annotations

from html import escape
from urllib.parse import quote

from ..engine.core.errors import fail
from ..installation import install
from .student import _address, _code
from .questions import known

LONGEST = (
    300  # characters of an address; a longer one gives a code that is hard to scan from a wall
)
QUIET = 4  # white squares around a code, as its standard requires (ISO/IEC 18004)


def address(room: str, code: str = "", id: str = "", choices: tuple[str, ...] = ()) -> str:
    """Return the address at which a phone answers a question. room: "http://192.168.1.5:8765".
    code: the room's code, "" if the student types it. id: the question, "" for all open questions.
    choices: the answers offered.

    Raises ValueError for an invalid address or code.
    """
    base = f"{_address(room)}/phone"
    parts = [_code(code) if code else "", id, *(() if known(id) else choices)]
    if len(_joined(base, parts)) > LONGEST:
        parts = parts[:2]  # then the student types the answer
    return _joined(base, parts)


def _joined(base: str, parts: list[str]) -> str:
    said = "/".join(quote(part, safe="") for part in parts).rstrip("/")
    return f"{base}#{said}" if said else base


def squares(text: str) -> tuple[int, str]:
    """Return a QR code: the number of squares along its side, with its white border, and the black
    squares as an SVG path.

    Raises RuntimeError without segno.
    """
    try:
        import segno
    except ImportError:
        note = f"Install it with: {install('segno')}"
        raise fail(RuntimeError, "a QR code needs segno, and it is not installed", note) from None
    rows = list(segno.make(text, error="m", micro=False).matrix)
    path = "".join(
        f"M{x + QUIET} {y + QUIET}h1v1h-1z"
        for y, row in enumerate(rows)
        for x, black in enumerate(row)
        if black
    )
    return len(rows) + 2 * QUIET, path


def figure(text: str) -> str:
    """Return the QR code of an address, with the address below it, as HTML."""
    side, path = squares(text)
    where, _, said = text.partition("#")
    code = said.partition("/")[0]
    plain = escape(where.removeprefix("http://") + (f", code {code}" if code else ""))
    return (
        f'<figure class="phone"><a href="{escape(text)}" target="_blank" rel="noreferrer">'
        f'<svg viewBox="0 0 {side} {side}" role="img" aria-label="QR code: answer by phone">'
        f'<rect class="light" width="{side}" height="{side}"/><path class="dark" d="{path}"/></svg></a>'
        f"<figcaption>Answer by phone: {plain}</figcaption></figure>"
    )
