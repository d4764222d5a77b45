"""Run a notebook in a kernel of its own and return its cells with the new outputs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

BEGIN = "from autolab.lecture import kernel as _kernel\n_kernel.begin()\ndel _kernel"

Tell = Callable[[str, int, int], None]
"""Called before each cell, with the notebook's name, the cell's number and the number of cells."""


def cells(path: Path, run: bool, tell: Tell | None) -> list[Any]:
    """Return the cells of a notebook file. Raises the errors that `lecture.write` lists."""
    import nbformat

    if not path.is_file():
        raise FileNotFoundError(f"there is no notebook {path}")
    try:
        notebook = nbformat.read(path, as_version=4)
    # nbformat raises many kinds of errors for files that are not notebooks
    except Exception as error:
        raise ValueError(f"{path} is not a Jupyter notebook ({type(error).__name__})") from None
    if run:
        _run(notebook, path, tell)
    return list(notebook.cells)


def _run(notebook: Any, path: Path, tell: Tell | None) -> None:
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count = None  # the stored count would hide which cells have run
    notebook.cells.insert(0, nbformat.v4.new_code_cell(BEGIN))
    # the kernel imports this autolab, whether it is installed or not
    here = str(Path(__file__).parents[2])
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    }
    env["AUTOLAB_PROGRESS"] = "off"  # the author's own earlier answers must not be on the slides
    folder = {"metadata": {"path": str(path.parent.resolve())}}
    client = NotebookClient(
        notebook, timeout=None, kernel_name="python3", store_widget_state=False, resources=folder
    )
    client.extra_arguments = [
        "--IPKernelApp.log_level=ERROR"
    ]  # it warns that its connection is not encrypted
    if tell is not None:
        client.on_cell_start = lambda cell, cell_index: tell(
            path.name, cell_index, len(notebook.cells) - 1
        )
    try:
        client.execute(env=env)
    except CellExecutionError as error:
        failed = max(n for n, cell in enumerate(notebook.cells) if cell.get("execution_count"))
        raise RuntimeError(
            f"cell {failed} of {path.name} failed: {error.ename}: {error.evalue}"
        ) from None
    del notebook.cells[0]
