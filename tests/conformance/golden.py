"""The transcript `goldens/torch_golden.json`: cells of PyTorch code with what PyTorch 2.13 prints and warns."""

import json
from pathlib import Path

from .cells import masked, run_cell

PATH = Path(__file__).parent.parent / "goldens" / "torch_golden.json"
CELLS = [
    dict(cell, out=masked(cell["out"]), warnings=[masked(w) for w in cell["warnings"]])
    for cell in json.loads(PATH.read_text())
]
PRELUDE = """\
import torch, numpy as np
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
"""


def run(cell: dict, module: str) -> tuple[str, list[str]]:
    """The cell's output and warnings with `module` in PyTorch's place, in a namespace of its own."""
    namespace, modules = {}, {"torch": module}
    out, _ = run_cell(PRELUDE, namespace, modules)
    if "Error" in out:
        raise ImportError(out)
    return run_cell(cell["code"], namespace, modules)
