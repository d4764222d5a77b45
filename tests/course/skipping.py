"""Run a notebook from its first cell to its last without its optional sections: `python skipping.py NOTEBOOK.ipynb`.

Each cell that fails is printed, a line each. No thread is started, and trainings take one batch an epoch, because this
asks for names, not for numbers.
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

def needed(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the cells without the sections that a lesson calls optional."""
    found, optional = [], False
    for cell in cells:
        if cell["cell_type"] == "markdown" and "".join(cell["source"]).startswith("## "):
            optional = "optional" in cell["metadata"].get("tags", [])
        found += [] if optional else [cell]
    return found


class Session:
    """One kernel's names."""

    def __init__(self) -> None:
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        self.shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
        self.loop = asyncio.new_event_loop()

    def run(self, cells: list[dict[str, Any]]) -> list[str]:
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
                wrong.append(f"cell {cell['id']}: {type(error).__name__}: {error}")
        return wrong


def shorten() -> None:
    """Of a round through the data the first batch only."""
    from autolab.utils.data import DataLoader

    whole = DataLoader.__iter__
    DataLoader.__iter__ = lambda self: iter([next(whole(self))])  # type: ignore[method-assign]


def main() -> None:
    os.environ.update(without.SETTINGS)
    import matplotlib.pyplot  # noqa: F401 (needs more before `remove_features` than after)
    import numpy  # noqa: F401
    from IPython.core import interactiveshell  # noqa: F401

    without.remove_features()
    warnings.simplefilter("ignore")
    cells = needed(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["cells"])
    session = Session()
    shorten()
    print("\n".join(session.run(cells)))


if __name__ == "__main__":
    main()
