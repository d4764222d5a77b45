"""Course code run whole: the cells of `seeds/*.txt`, in order, in one namespace per file.

A file starts with `# ` lines that say where it comes from, the last one the random seed; among them may stand `# needs
torchvision`, and `# needs cells 0 2 of <other file>`: cells that run first, unseen. A cell starts with `# %%`; after it
may stand `later: <what>` (needs what is not built yet: its output must still differ), `memory: <why>` (only that it
runs is compared), `close <tolerance>: <why>` (numbers are compared with that relative tolerance, everything else
exactly), `added: <why>` (not in the original: shows a value that the original does not print).
"""

import contextlib
import json
import math
import re
from pathlib import Path
from types import SimpleNamespace

from .cells import run_cell

HERE = Path(__file__).parent
NAMES = sorted(path.stem for path in (HERE / "seeds").glob("*.txt"))
_NUMBER = re.compile(r"[-+]?\d+\.\d*(?:e[-+]?\d+)?|[-+]?\d+e[-+]?\d+")


def cells(name: str) -> list[SimpleNamespace]:
    """The cells of one file: `code`, `mark` ("later", "memory", "close", "added" or ""), `tolerance`, `why`."""
    _, *parts = re.split(r"^# %%", _text(name), flags=re.M)
    found = []
    for part in parts:
        head, _, code = part.partition("\n")
        words, _, why = head.strip().partition(": ")
        close = re.search(r"close (\S+)$", words)
        mark, tolerance = ("close", float(close[1])) if close else (words, 0.0)
        found.append(
            SimpleNamespace(code=code.rstrip("\n"), mark=mark, tolerance=tolerance, why=why)
        )
    return found


def needs_torchvision(name: str) -> bool:
    """Whether PyTorch alone cannot run the file."""
    return "\n# needs torchvision\n" in _text(name)


def run(name: str, module: str) -> list[dict]:
    """Output and warnings of every cell with `module` in PyTorch's place, as {"out": …, "warnings": […]}."""
    modules = {"torchviz": "conformance.torchviz", "torch": module}
    namespace = {"__name__": "__main__"}
    seed = re.search(r"^# seed (\d+)$", _text(name), re.M)[1]
    with contextlib.ExitStack() as stack:
        if needs_torchvision(name):
            from .networks import prepared

            modules |= stack.enter_context(prepared(module))
        run_cell(f"import torch\ntorch.manual_seed({seed})", namespace, modules)
        for numbers, other in re.findall(r"^# needs cells ([\d ]+) of (\w+)$", _text(name), re.M):
            for number in numbers.split():
                run_cell(cells(other)[int(number)].code, namespace, modules)
        return [
            dict(zip(("out", "warnings"), run_cell(cell.code, namespace, modules)))
            for cell in cells(name)
        ]


def expected(name: str) -> list[dict]:
    """What PyTorch prints, as stored by `goldens/write.py`."""
    return json.loads((HERE.parent / "goldens" / "seeds.json").read_text())[name]


def differing_numbers(found: str, expected: str, tolerance: float) -> list[str]:
    """The numbers with a point or an exponent that are further apart than `tolerance`, or the texts if these differ
    otherwise.

    A printed number has few digits: the last of them may always differ by one."""
    if _NUMBER.sub("#", found).split() != _NUMBER.sub("#", expected).split():
        return [f"{found}\n--- PyTorch prints\n{expected}"]
    pairs = zip(_NUMBER.findall(found), _NUMBER.findall(expected))
    largest = max((abs(float(e)) for e in _NUMBER.findall(expected)), default=0.0)
    return [
        f"{f}, PyTorch prints {e}"
        for f, e in pairs
        if not math.isclose(
            float(f),
            float(e),
            rel_tol=tolerance,
            abs_tol=1.01 * _last_digit(e) + tolerance * 1e-3 * largest,
        )
    ]


def _last_digit(number):
    mantissa, _, exponent = number.partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def _text(name):
    return (HERE / "seeds" / f"{name}.txt").read_text()
