"""Write every explorer of a notebook to an HTML file of its own, for a lecture hall with neither kernel nor network.

    python tools/build_lectures.py 01_graphs lectures/      # lectures/01-05.html, … named by the cell
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import inspect
from collections.abc import Iterator
from pathlib import Path

from build_notebook import COURSE, cells

from autolab.widgets import Explorer


def explorers(name: str) -> Iterator[tuple[str, str, Explorer]]:
    """Run the code of a notebook's source in this process: id, heading and explorer of each cell that shows one."""
    space: dict = {"__name__": "__main__"}
    heading = name
    for cell in cells(COURSE / "src" / name):
        if cell.cell_type == "markdown":
            if cell.source.startswith("## "):
                heading = cell.source.splitlines()[0].removeprefix("## ")
            continue
        tree = ast.parse(cell.source)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        try:
            pending = eval(compile(tree, cell.id, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), space)
            if inspect.iscoroutine(pending):        # a cell with `await` in it
                asyncio.run(pending)
            shown = eval(compile(ast.Expression(last.value), cell.id, "eval"), space) if last else None
        except Exception:
            if "raises-exception" not in cell.metadata.get("tags", []):
                raise
            continue
        if isinstance(shown, Explorer):
            yield cell.id, heading, shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="a folder of course/src")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for id, heading, explorer in explorers(options.name):
        print(explorer.to_html(options.folder / f"{id}.html", title=heading))


if __name__ == "__main__":
    main()
