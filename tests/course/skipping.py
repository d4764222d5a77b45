"""Run a lesson's core, and then each extension as if the others had been skipped: `python skipping.py LESSON.ipynb`.

An extension runs in a copy (a fork) of the process that has run the core, without what is marked as optional there: so
every cell runs once, and no part has seen a name of another. Cells that fail are printed, a line each. No thread is
started, which a fork would lose; trainings take one batch an epoch, for it is names that are asked for, not numbers.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import without  # noqa: E402 (needs the path set above)

fork = os.fork


def parts(cells: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The cells of the core ("core"), of each extension by its letter, and those that are optional ("optional")."""
    found: dict[str, list[dict[str, Any]]] = {"core": []}
    part = "core"
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown" and source.startswith("## "):
            name = source[3:].split(".")[0]
            part = name if name in "ABCDEFGHIJKLMNOP" else "core"
            part = "optional" if "optional" in cell["metadata"].get("tags", []) else part
        found.setdefault(part, []).append(cell)
    return found


class Session:
    """One kernel's names."""

    def __init__(self) -> None:
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        self.shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
        self.loop = asyncio.new_event_loop()

    def run(self, part: str, cells: list[dict[str, Any]]) -> list[str]:
        """What went wrong, a line for each cell."""
        wrong = []
        for cell in cells:
            if cell["cell_type"] != "code":
                continue
            source = self.shell.transform_cell("".join(cell["source"]).replace("pace=3", "pace=0"))  # nobody watches
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                running = self.shell.run_cell_async(source, store_history=True, transformed_cell=source)
                result = self.loop.run_until_complete(running)
            error = result.error_in_exec or result.error_before_exec
            if (error is not None) != ("raises-exception" in cell["metadata"].get("tags", [])):
                wrong.append(f"{part}, cell {cell['id']}: {type(error).__name__}: {error}")
        return wrong

    def apart(self, part: str, cells: list[dict[str, Any]]) -> list[str]:
        """The same, in a copy of this process."""
        reading, writing = os.pipe()
        if not fork():
            os.write(writing, "\n".join(self.run(part, cells)).encode()[:60_000])  # what a pipe holds
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as said:
            text = said.read()
        ended = os.waitstatus_to_exitcode(os.wait()[1])
        return text.splitlines() + ([f"{part}: ended with {ended}"] if ended else [])


def shorten() -> None:
    """Of a round through the data the first batch only."""
    from autolab.utils.data import DataLoader

    whole = DataLoader.__iter__
    DataLoader.__iter__ = lambda self: iter([next(whole(self))])  # type: ignore[method-assign]


def main() -> None:
    os.environ.update(without.SETTINGS)
    import matplotlib.pyplot  # noqa: F401 (needs more before `take_away` than after)
    import numpy  # noqa: F401
    from IPython.core import interactiveshell  # noqa: F401

    without.take_away()
    warnings.simplefilter("ignore")
    found = parts(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["cells"])
    session = Session()
    shorten()
    wrong = session.run("core", found.pop("core"))
    found.pop("optional", None)
    for part, cells in found.items():
        wrong += session.apart(part, cells)
    print(f"core and {', '.join(found)}")
    print("\n".join(wrong))


if __name__ == "__main__":
    main()
