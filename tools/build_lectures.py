"""Write every explorer of a notebook to an HTML file of its own, for a lecture hall with neither kernel nor network.

    python tools/build_lectures.py 01_graphs lectures/      # lectures/01-05.html, … named by the cell
"""

from __future__ import annotations

import argparse
import ast
from pathlib import Path

from build_notebook import COURSE, cells

from autolab.widgets import Explorer


def lectures(name: str, folder: Path) -> list[Path]:
    """Run the code of a notebook's source in this process, and write what its last lines show where that is an explorer."""
    folder.mkdir(parents=True, exist_ok=True)
    space: dict = {"__name__": "__main__"}
    written, heading = [], name
    for cell in cells(COURSE / "src" / name):
        if cell.cell_type == "markdown":
            heading = next((line.lstrip("# ") for line in cell.source.splitlines() if line.startswith("#")), heading)
            continue
        tree = ast.parse(cell.source)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        try:
            exec(compile(tree, cell.id, "exec"), space)
            shown = eval(compile(ast.Expression(last.value), cell.id, "eval"), space) if last else None
        except Exception:
            if "raises-exception" not in cell.metadata.get("tags", []):
                raise
            shown = None
        if isinstance(shown, Explorer):
            written.append(shown.to_html(folder / f"{cell.id}.html", title=heading))
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="a folder of course/src")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    print(*lectures(options.name, options.folder), sep="\n")


if __name__ == "__main__":
    main()
