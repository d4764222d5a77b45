"""The grad_fn of 235 expressions: name, edges, saved attributes. `python -m tests.conformance.grad_fn_table` asks
PyTorch and stores its answers."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

GOLDEN = Path(__file__).parent.parent / "goldens" / "grad_fn_table.json"


def names(module: str) -> dict:
    """What the expressions refer to, made by `torch` or by the engine."""
    torch = importlib.import_module(module)
    torch.manual_seed(0)

    def leaf(*shape):
        return torch.rand(*shape, requires_grad=True)

    return {
        "torch": torch,
        "nn": importlib.import_module(module + ".nn"),
        "F": importlib.import_module(module + ".nn.functional"),
        "x": torch.tensor([0.3, 0.5, 0.7], requires_grad=True),
        "y": torch.tensor([0.4, 0.6, 0.2], requires_grad=True),
        "z": torch.tensor([0.5], requires_grad=True),
        "c": torch.tensor([1.0, 2.0, 3.0]),
        "m": torch.tensor([True, False, True]),
        "i": torch.tensor([0, 2]),
        "t": torch.tensor([0, 2]),
        "A": leaf(2, 3),
        "B": leaf(3, 4),
        "S": (torch.rand(3, 3) + torch.eye(3) * 2).requires_grad_(),
        "b4": leaf(4),
        "T3": leaf(2, 3, 4),
        "U3": leaf(2, 4, 5),
        "E": leaf(5, 4),
        "img": leaf(1, 2, 6, 6),
        "w": leaf(3, 2, 3, 3),
        "wb": leaf(3),
        "seq": leaf(1, 2, 8),
        "w1": leaf(3, 2, 3),
        "wt": leaf(2, 3, 3, 3),
    }


def _shown(torch, v):
    if isinstance(v, torch.Tensor):
        return f"Tensor{tuple(v.shape)} {str(v.dtype).rpartition('.')[2]}"
    if isinstance(v, (tuple, list)):
        return "(" + ", ".join(_shown(torch, a) for a in v) + ")"
    if isinstance(v, int) and not isinstance(v, bool) and v > 2**63:
        v -= 2**64  # torch shows saved negative numbers as unsigned ones
    return repr(v)


def description(expression: str, module: str) -> dict:
    """grad_fn, next functions and saved attributes of the expression's result."""
    values = names(module)
    torch = values["torch"]
    node = eval(expression, values).grad_fn
    if node is None:
        return {"grad_fn": None}
    return {
        "grad_fn": node.name(),
        "next": [
            ("-" if n is None else n.name()) + (f" output {k}" if k else "")
            for n, k in node.next_functions
        ],
        "saved": {
            a[7:]: _shown(torch, getattr(node, a)) for a in dir(node) if a.startswith("_saved_")
        },
    }


def stored() -> dict:
    return json.loads(GOLDEN.read_text())


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    GOLDEN.write_text(json.dumps({e: description(e, "torch") for e in stored()}, indent=1) + "\n")
