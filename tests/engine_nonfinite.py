"""What inf and NaN in one place reach: programs for the engine and for PyTorch."""

from __future__ import annotations

import numpy as np
from engine_counterparts import INNER_OUTPUTS, NO_DERIVATIVE
from engine_ops import differentiable, flat, tensors

BAD = (np.inf, -np.inf, np.nan)
UNSAFE = {"grid_sampler_2d": ("grid",)}  # where PyTorch reads outside of its memory


def signs(x) -> str:
    """One character a number: `.` finite, `+` and `-` infinite, `n` NaN; `|` after each row of the last dimension but
    the last."""
    x = np.atleast_1d(np.asarray(x))
    if x.dtype.kind not in "fc":
        return "whole"
    marks = np.where(
        np.isnan(x), "n", np.where(np.isfinite(x), ".", np.where(x.real > 0, "+", "-"))
    )
    return "|".join("".join(row) for row in marks.reshape(-1, x.shape[-1])) if x.size else ""


def places(x) -> list[int]:
    """The flat positions that are tried."""
    return sorted({x.size // 3, x.size - 1}) if x.size else []


def reached(torch, call, case, dtype: str) -> dict[str, str]:
    """Per place of each argument and number put there: the signs of the results, then of each gradient; and the same
    for a gradient that comes in."""
    raw, keywords = case.arguments()
    floats = [
        (k, None)
        for k, x in enumerate(raw)
        if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind == "f"
    ]
    lists = [(k, x) for k, x in enumerate(raw) if isinstance(x, (list, tuple))]
    floats += [
        (k, j)
        for k, x in lists
        for j, e in enumerate(x)
        if isinstance(e, np.ndarray) and e.dtype.kind == "f"
    ]
    found = {}
    for k, j in floats:
        if case.op.params[k] in UNSAFE.get(case.name, ()):
            continue
        for at in places(np.asarray(raw[k] if j is None else raw[k][j])):
            for bad in (np.inf, np.nan):
                changed = [_copied(x) for x in raw]
                if j is None:
                    changed[k] = np.array(changed[k])
                    changed[k].reshape(-1)[at] = bad
                else:
                    changed[k][j].reshape(-1)[at] = bad
                found[f"{case.op.params[k]}{'' if j is None else j}[{at}]={bad}"] = _outcome(
                    torch, call, case, dtype, changed, keywords, None
                )
    for bad in BAD:
        found[f"gradient={bad}"] = _outcome(
            torch, call, case, dtype, [_copied(x) for x in raw], keywords, bad
        )
    return found


def _copied(x):
    if isinstance(x, np.ndarray):
        return x.copy()
    return (
        type(x)(_copied(e) for e in x)
        if isinstance(x, (list, tuple)) and any(isinstance(e, np.ndarray) for e in x)
        else x
    )


def _outcome(torch, call, case, dtype, raw, keywords, seed):
    args = tensors(torch, raw, dtype, differentiable(case))
    try:
        out = call(case, args, keywords)
        outs = [o for o in (out if isinstance(out, (list, tuple)) else [out]) if o is not None][
            : 1 if case.name in INNER_OUTPUTS else None
        ]
        live = [o for o in outs if o.requires_grad]
        gradients = []
        if live and case.name not in NO_DERIVATIVE:
            seeds = [torch.ones_like(o) for o in live]
            if seed is not None and seeds[0].numel():
                seeds[0][np.unravel_index(seeds[0].numel() // 2, tuple(seeds[0].shape))] = seed
            gradients = [
                g + 0
                for g in torch.autograd.grad(live, list(flat(args)), seeds, allow_unused=True)
                if g is not None
            ]
        return " ".join(signs(x.detach()) for x in (*outs, *gradients))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
