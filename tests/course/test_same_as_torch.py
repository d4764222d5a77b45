"""The lesson says that its code runs unchanged on PyTorch and prints the same. Every code cell is held to that."""

import json
from pathlib import Path

import numpy as np
from conformance.cells import run_cell
from goldens import oracle

COURSE = Path(__file__).parents[2] / "course"
NOTEBOOKS = [COURSE / "01_graphs.ipynb", *sorted((COURSE / "more").glob("01_*.ipynb"))]


def code_cells():
    """Return the code cells of each notebook by their ids."""
    found = {}
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        found[path.stem] = {c["id"]: c for c in cells if "code" in c["metadata"].get("tags", [])}
    return found


def transcript(torch):
    """Return what each code cell prints, warns and raises, those of a notebook in one namespace."""
    found = {}
    for name, cells in code_cells().items():
        space = {"torch": torch, "np": np}
        for id, cell in cells.items():
            found[f"{name} {id}"] = list(run_cell("".join(cell["source"]), space))
    return found


def test_every_code_cell_prints_what_pytorch_prints():
    oracle.check("lesson01", "transcript", transcript)


def test_the_stored_outputs_are_what_the_engine_prints():
    found = transcript(oracle.engine())
    assert len(found) > 30
    every = {f"{name} {id}": cell for name, cells in code_cells().items() for id, cell in cells.items()}
    for id, cell in every.items():
        stored = {"stdout": "", "stderr": ""}
        for output in cell["outputs"]:
            if output["output_type"] == "stream":
                stored[output["name"]] += "".join(output["text"])
        errors = [f"{o['ename']}: {o['evalue']}" for o in cell["outputs"] if o["output_type"] == "error"]
        out, warnings = found[id]
        assert "\n".join([*filter(None, [stored["stdout"].rstrip("\n")]), *errors]) == out, id
        assert stored["stderr"].splitlines() == warnings, id
