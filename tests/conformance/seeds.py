"""Course code run whole: the cells of `seeds/*.txt`, in order, in one namespace per file.

A file starts with `# ` lines that say where it comes from, the last one the random seed. A cell starts with `# %%`;
after it may stand
`later: <what>` (needs what is not built yet: its output must still differ), `memory: <why>` (only that it runs is
compared),
`added: <why>` (not in the original: shows a value that the original does not print).
"""

import json
import re
from pathlib import Path
from types import SimpleNamespace

from .cells import run_cell

HERE = Path(__file__).parent
NAMES = sorted(path.stem for path in (HERE / "seeds").glob("*.txt"))


def cells(name: str) -> list[SimpleNamespace]:
    """The cells of one file: `code`, `mark` ("later", "memory", "added" or ""), `why`."""
    _, *parts = re.split(r"^# %%", _text(name), flags=re.M)
    found = []
    for part in parts:
        head, _, code = part.partition("\n")
        mark, _, why = head.strip().partition(": ")
        found.append(SimpleNamespace(code=code.rstrip("\n"), mark=mark, why=why))
    return found


def run(name: str, module: str) -> list[dict]:
    """Output and warnings of every cell with `module` in PyTorch's place, as {"out": …, "warnings": […]}."""
    modules = {"torchviz": "conformance.torchviz", "torch": module}
    namespace = {"__name__": "__main__"}
    seed = re.search(r"^# seed (\d+)$", _text(name), re.M)[1]
    run_cell(f"import torch\ntorch.manual_seed({seed})", namespace, modules)
    return [dict(zip(("out", "warnings"), run_cell(cell.code, namespace, modules))) for cell in cells(name)]


def expected(name: str) -> list[dict]:
    """What PyTorch prints, as stored by `goldens/write.py`."""
    return json.loads((HERE.parent / "goldens" / "seeds.json").read_text())[name]


def _text(name):
    return (HERE / "seeds" / f"{name}.txt").read_text()
