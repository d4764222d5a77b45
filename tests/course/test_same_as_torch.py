"""The lesson says that its code runs unchanged on PyTorch and prints the same. Every code cell is held to that."""

import json
from pathlib import Path

import numpy as np
from conformance.cells import run_cell
from goldens import oracle

LESSON = Path(__file__).parents[2] / "course" / "01_graphs.ipynb"


def code_cells():
    cells = json.loads(LESSON.read_text(encoding="utf-8"))["cells"]
    return {c["id"]: c for c in cells if "code" in c["metadata"].get("tags", [])}


def transcript(torch):
    """What each code cell prints, warns and raises, one after another in one namespace."""
    space = {"torch": torch, "np": np}
    return {id: list(run_cell("".join(cell["source"]), space)) for id, cell in code_cells().items()}


def test_every_code_cell_prints_what_pytorch_prints():
    oracle.check("lesson01", "transcript", transcript)


def test_the_stored_outputs_are_what_the_engine_prints():
    found = transcript(oracle.engine())
    assert len(found) > 30
    for id, cell in code_cells().items():
        stored = {"stdout": "", "stderr": ""}
        for output in cell["outputs"]:
            if output["output_type"] == "stream":
                stored[output["name"]] += "".join(output["text"])
        errors = [f"{o['ename']}: {o['evalue']}" for o in cell["outputs"] if o["output_type"] == "error"]
        out, warnings = found[id]
        assert "\n".join([*filter(None, [stored["stdout"].rstrip("\n")]), *errors]) == out, id
        assert stored["stderr"].splitlines() == warnings, id
