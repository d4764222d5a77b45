"""The counted, reasoned list of cells that are not equal (`differing.toml`)."""

import tomllib
from pathlib import Path

PATH = Path(__file__).with_name("differing.toml")
KINDS = ("later", "differs", "memory")


def read() -> dict[int, tuple[str, str]]:
    """Cell number -> (kind, reason). Raises ValueError when a cell is listed twice or a reason is missing."""
    listed = {}
    for entry in tomllib.loads(PATH.read_text()).get("entry", []):
        if entry["kind"] not in KINDS or not entry["what"].strip():
            raise ValueError(f"differing.toml: {entry} has no proper kind or reason")
        for cell in entry["cells"]:
            if cell in listed:
                raise ValueError(f"differing.toml: cell {cell} is listed twice")
            listed[cell] = entry["kind"], entry["what"]
    return listed
