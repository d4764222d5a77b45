"""Build the course's notebooks from their sources, and run them to store their outputs.

    python tools/build_notebook.py                      # all of course/src/* and course/src/more/*
    python tools/build_notebook.py 01_graphs            # one
    python tools/build_notebook.py more/01_vectors      # one of those that go further
    python tools/build_notebook.py 01_graphs --prose    # write the text cells only, where no code has changed
    python tools/build_notebook.py 01_graphs --check    # write nothing; fail when stored cells differ from the source

A source is a folder of py:percent files, joined in the order of their names:

    # %% [markdown] tags=["explain"]
    # Prose, behind "# ".
    # %% tags=["code"]
    x = 1

A cell tagged "cover" shows the picture of its lesson on the start page. The picture goes to course/pictures.

A cell tagged "colab" is empty in the source. The notebook gets `COLAB` below, with the address from
pyproject.toml.

Edit the source, not the notebook. A rerun gives the same file: cell ids follow from a cell's
position, and values that change between runs (times, widget model ids, process numbers) are not
stored.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

sys.path.insert(0, str(Path(__file__).parent))
import address  # noqa: E402 (needs the path set above)

COURSE = Path(__file__).resolve().parents[1] / "course"
HEADER = re.compile(r"^# %%(?P<markdown> \[markdown\])?(?: tags=(?P<tags>\[.*\]))?\s*$")
WIDGET = "application/vnd.jupyter.widget-view+json"
COLAB = """# This cell installs autolab on Google Colab. Elsewhere it does nothing.
import sys

if "google.colab" in sys.modules:
    get_ipython().system("pip install -q autolab-kit || pip install -q 'autolab-kit @ {archive}'")"""
FOLDED = {"jupyter": {"source_hidden": True}, "cellView": "form"}
"""The metadata that folds a cell's source in JupyterLab and Colab."""
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def cells(folder: Path) -> list[nbformat.NotebookNode]:
    """Return the cells of a source folder, without outputs."""
    found = []
    for file in sorted(folder.glob("*.py")):
        blocks: list[tuple[re.Match, list[str]]] = []
        for line in file.read_text(encoding="utf-8").splitlines():
            if header := HEADER.match(line):
                blocks.append((header, []))
            elif blocks:
                blocks[-1][1].append(line)
            elif line.strip():
                raise ValueError(f"{file}: text before the first '# %%'")
        found += [
            _cell(header, lines, f"{file.stem[:2]}-{n:02}")
            for n, (header, lines) in enumerate(blocks)
        ]
    for cell in found:
        if "colab" in cell.metadata.get("tags", ()):
            repository, branch = address.current_address()
            cell.source = COLAB.format(archive=f"{repository}/archive/{branch}.zip")
            cell.metadata.update(FOLDED)
    return found


def _cell(header: re.Match, lines: list[str], id: str) -> nbformat.NotebookNode:
    metadata = {"tags": json.loads(header["tags"])} if header["tags"] else {}
    if header["markdown"]:
        text = "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines)
        return new_markdown_cell(text.strip("\n"), id=id, metadata=metadata)
    return new_code_cell("\n".join(lines).strip("\n"), id=id, metadata=metadata)


def sources() -> list[str]:
    """Return the names of all notebooks: the lessons, then the further ones, such as
    "more/01_vectors"."""
    folders = [p for p in (COURSE / "src").iterdir() if p.is_dir() and p.name != "more"]
    folders += [p for p in (COURSE / "src" / "more").iterdir() if p.is_dir()]
    return sorted(p.relative_to(COURSE / "src").as_posix() for p in folders)


def build(name: str) -> nbformat.NotebookNode:
    """Return the notebook of a source folder, run from top to bottom. Raises CellExecutionError if a cell fails
    without the tag that allows it."""
    os.environ["AUTOLAB_PROGRESS"] = "off"  # the build does not record any progress
    notebook = new_notebook(cells=cells(COURSE / "src" / name), metadata=METADATA)
    NotebookClient(
        notebook,
        timeout=900,
        kernel_name="python3",
        store_widget_state=False,
        resources={"metadata": {"path": str((COURSE / name).parent)}},
    ).execute()
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)
        for output in cell.get("outputs", []):
            # A stored widget view without a kernel would hide the text and the picture beside it.
            output.get("data", {}).pop(WIDGET, None)
            if "traceback" in output:
                output["traceback"] = [_anonymous(line) for line in output["traceback"]]
    return notebook


def _joined(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Return the outputs with adjacent pieces of the same stream joined, because the timing decides where the kernel
    splits it."""
    found: list[nbformat.NotebookNode] = []
    for output in outputs:
        if output.output_type == "stream" and found and found[-1].get("name") == output.name:
            found[-1].text += output.text
        else:
            found.append(output)
    return found


def _anonymous(line: str) -> str:
    """Return a line of a traceback without process numbers and without this machine's paths."""
    return re.sub(r"ipykernel_\d+", "ipykernel", line).replace(f"{COURSE.parent}/", "")


def stale(name: str) -> list[str]:
    """Return the differences between a stored notebook and its source, one line each."""
    stored = nbformat.read(COURSE / f"{name}.ipynb", as_version=4).cells
    source = cells(COURSE / "src" / name)
    if len(stored) != len(source):
        return [f"{name}: {len(source)} cells in the source, {len(stored)} stored"]
    return [
        f"{name}: cell {want.id} differs from the source"
        for have, want in zip(stored, source)
        if (have.cell_type, have.source, have.metadata.get("tags"))
        != (want.cell_type, want.source, want.metadata.get("tags"))
    ]


def write_prose(name: str) -> bool:
    """Write the text cells of a stored notebook from its source and keep the outputs. Return whether that was possible:
    it is not if a code cell differs."""
    stored, source = (
        nbformat.read(COURSE / f"{name}.ipynb", as_version=4),
        cells(COURSE / "src" / name),
    )
    code = lambda several: [(c.id, c.source) for c in several if c.cell_type == "code"]  # noqa: E731
    if code(stored.cells) != code(source):
        return False
    outputs = {c.id: c for c in stored.cells if c.cell_type == "code"}
    for cell in source:
        if cell.cell_type == "code":
            cell.update(
                outputs=outputs[cell.id].outputs, execution_count=outputs[cell.id].execution_count
            )
    stored.cells = source
    nbformat.write(stored, COURSE / f"{name}.ipynb")
    return True


def write_cover(name: str, notebook: nbformat.NotebookNode) -> None:
    """Write the picture of the cell tagged "cover", if there is one, to course/pictures."""
    for cell in notebook.cells:
        if "cover" in cell.metadata.get("tags", ()):
            (png,) = [o.data["image/png"] for o in cell.outputs if "image/png" in o.get("data", {})]
            (COURSE / "pictures").mkdir(exist_ok=True)
            (COURSE / "pictures" / f"{name}.png").write_bytes(base64.b64decode(png))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=sources())
    parser.add_argument("--check", action="store_true", help="compare only")
    parser.add_argument("--prose", action="store_true", help="write the text cells only")
    options = parser.parse_args()
    if options.check:
        differing = [line for name in options.names for line in stale(name)]
        print("\n".join(differing) or "The stored notebooks have the cells of their sources.")
        return bool(differing)
    if options.prose:
        left = [name for name in options.names if not write_prose(name)]
        print(f"These have to be run: {' '.join(left)}" if left else "wrote the text cells")
        return bool(left)
    for name in options.names:
        notebook = build(name)
        nbformat.write(notebook, COURSE / f"{name}.ipynb")
        write_cover(name, notebook)
        print("wrote", COURSE / f"{name}.ipynb")
    return 0


if __name__ == "__main__":
    sys.exit(main())
