"""Expressions over a fixed set of tensors, evaluated with the engine or with PyTorch: what comes out, and what graph
stands behind it."""

from __future__ import annotations

import math
import platform
import re
import warnings

import pytest
from goldens import oracle

last_digits = pytest.mark.skipif(
    oracle.LIVE and platform.machine() not in ("x86_64", "AMD64"),
    reason="on other processors PyTorch's vectors are shorter, and its last digits differ",
)
"""Marks tests of the last digit: the engine adds in the order of PyTorch on x86-64, as the stored answers do."""

INTERNAL = r" \(Triggered internally at [^)]*\)$"
UNSIGNED = 2**64  # PyTorch shows a saved -1 as 18446744073709551615


def tensors(torch) -> dict:
    """The names that an expression may use: x, y (3 floats), A (2 by 3), i (3 ints), m (3 bools), u (uint8), z (0-d)
    and others."""
    nan, inf = math.nan, math.inf
    return {
        "torch": torch,
        "nan": nan,
        "inf": inf,
        "x": torch.tensor([1.0, 2.0, 3.0], requires_grad=True),
        "y": torch.tensor([2.0, 2.0, 2.0], requires_grad=True),
        "z": torch.tensor(0.5, requires_grad=True),
        "A": torch.tensor([[0.69, -0.42, 0.55], [0.74, 0.51, -0.57]], requires_grad=True),
        "B": torch.tensor([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]),
        "i": torch.tensor([1, 2, 3]),
        "m": torch.tensor([True, False, True]),
        "u": torch.tensor([1, 0, 7], dtype=torch.uint8),
        "N": torch.tensor([1.0, nan, 3.0, nan]),
        "T": torch.tensor([2.0, 1.0, 2.0, 1.0, 2.0]),
        "S": torch.tensor([-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, inf, -inf, nan]),
        "E": torch.tensor([]),
        "half": torch.tensor([0.5, 1.5], dtype=torch.float16),
        "wide": torch.tensor([0.5, 1.5], dtype=torch.float64, requires_grad=True),
    }


def outcome(torch, expression: str):
    """[value, its repr, warnings]; for an error [None, "Type: message", warnings]."""
    if hasattr(torch, "set_warn_always"):
        torch.set_warn_always(True)  # PyTorch says some things once in a process only
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = eval(expression, tensors(torch))
            text = repr(value)
        except Exception as error:
            value, text = None, f"{type(error).__name__}: {error}"
    said = (f"{w.category.__name__}: {re.sub(INTERNAL, '', str(w.message))}" for w in caught)
    return value, text, list(dict.fromkeys(said))


def _signed(value):
    if isinstance(value, (tuple, list)):
        return [_signed(v) for v in value]
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value - UNSIGNED if whole and value >= UNSIGNED // 2 else value


def graph(torch, expression: str):
    """The node behind a result: its name, those it leads to, what it saved; the gradients of the leaves, and the names
    of their nodes."""
    names = tensors(torch)
    leaves = {k: t for k, t in names.items() if getattr(t, "requires_grad", False)}
    result = eval(expression, names)
    node = result.grad_fn
    behind = [None if n is None else n.name() for n, _ in node.next_functions]
    saved = {
        name[7:]: _signed(getattr(node, name))
        for name in sorted(dir(node))
        if name.startswith("_saved_")
    }
    weights = (
        torch.cos(torch.arange(float(result.numel()))).reshape(result.shape).to(result.dtype) + 1.25
    )
    gradients = torch.autograd.grad(
        result, leaves.values(), weights, create_graph=True, allow_unused=True
    )
    found = {k: g for k, g in zip(leaves, gradients) if g is not None}
    # how a sum over broadcast dimensions is named is the engine's business
    twice = {
        k: None if g.grad_fn is None else g.grad_fn.name()
        for k, g in found.items()
        if g.shape == result.shape
    }
    return node.name(), behind, saved, {k: g + 0 for k, g in found.items()}, twice
