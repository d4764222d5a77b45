"""JupyterLite: a notebook whose kernel runs in the browser. The kernel differs from IPython's in a few places."""

from __future__ import annotations

import json
import sys
from typing import Any


def parent(shell: Any) -> dict[str, Any] | None:
    """Return the message that asked for the running cell, or None outside JupyterLite."""
    header = getattr(getattr(shell, "kernel", None), "_parent_header", None)
    return header if sys.platform == "emscripten" and isinstance(header, dict) else None


def send_as_json(shell: Any) -> None:
    """Make the kernel send what widgets say as JSON. Elsewhere nothing changes.

    The kernel turns Python objects into JavaScript's one by one, and None into `undefined`, so a key whose value is
    None would not arrive. As JSON it arrives, and several times as fast.
    """
    send = getattr(shell, "send_comm", None)
    if parent(shell) is None or send is None or hasattr(send, "sends_json"):
        return
    from js import JSON  # type: ignore[import-not-found]

    def send_json(kind: str, content: Any, metadata: Any, *rest: Any) -> Any:
        return send(kind, *(JSON.parse(json.dumps(part)) for part in (content, metadata)), *rest)

    send_json.sends_json = True  # type: ignore[attr-defined]
    shell.send_comm = send_json


def print_expected_error(shell: Any) -> None:
    """Print the traceback of a cell whose tag says that it raises, and count the cell as one that ran.

    JupyterLite skips every cell that waits after an error, also after an expected one.
    """
    message = parent(shell)
    if message is None or "raises-exception" not in message.get("metadata", {}).get("tags", []):
        return
    if trace := getattr(shell, "_last_traceback", None):
        print(*trace["traceback"], sep="\n", file=sys.stderr)
        shell._last_traceback = None
