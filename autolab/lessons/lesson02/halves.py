"""Exercise of the notebook on large batches: divide the gradients by the scale, or skip the step."""

from __future__ import annotations

import math

import autolab as torch

from ..exercise import Case, Exercise, Mistake


def stepped(answer, gradients, scale):
    """Return how far a step moves weights of 1 with these scaled gradients; momentum shows whether a step was taken."""
    weights = [torch.nn.Parameter(torch.ones(len(g))) for g in gradients]
    optimizer = torch.optim.SGD([{"params": [w]} for w in weights], lr=0.5, momentum=0.9)
    for w in weights:  # a step before, so that momentum has something to roll on
        w.grad = torch.ones_like(w)
    optimizer.step()
    before = [w.detach().clone() for w in weights]
    for w, g in zip(weights, gradients):
        w.grad = torch.tensor(g)
    following = answer(optimizer, scale)
    if following is ...:
        return {"the next scale": following}
    moved = torch.cat([w.detach() - b for w, b in zip(weights, before)])
    return {"the weights moved by": moved, "the next scale": following}


def _finite(optimizer):
    return all(p.grad.isfinite().all() for group in optimizer.param_groups for p in group["params"])


def scaled_step(optimizer, scale):
    if not _finite(optimizer):
        return scale / 2
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.grad = p.grad / scale
    optimizer.step()
    return scale


def _always(optimizer, scale):
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.grad = p.grad / scale
    optimizer.step()
    return scale


def _stepped_anyway(optimizer, scale):
    finite = _finite(optimizer)
    _always(optimizer, scale)
    return scale if finite else scale / 2


def _not_divided(optimizer, scale):
    if not _finite(optimizer):
        return scale / 2
    optimizer.step()
    return scale


def _zeroed(optimizer, scale):
    finite = _finite(optimizer)
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.grad = torch.where(p.grad.isfinite(), p.grad, torch.zeros_like(p.grad)) / scale
    optimizer.step()
    return scale if finite else scale / 2


def _not_halved(optimizer, scale):
    return _always(optimizer, scale) if _finite(optimizer) else scale


def _only_nan(optimizer, scale):
    if any(p.grad.isnan().any() for group in optimizer.param_groups for p in group["params"]):
        return scale / 2
    return _always(optimizer, scale)


scaled = Exercise(
    id="02.13",
    title="Skip what overflowed",
    observe=stepped,
    given=_always,
    reference=scaled_step,
    cases=(
        Case("gradients [8., 16.], scale 4", lambda: ([[8.0, 16.0]], 4.0)),
        Case("gradients [8., inf], scale 4", lambda: ([[8.0, math.inf]], 4.0)),
        Case("gradients [nan, 1.], scale 2", lambda: ([[math.nan, 1.0]], 2.0)),
        Case(
            "two layers, [1., 2.] and [inf], scale 1024",
            lambda: ([[1.0, 2.0], [math.inf]], 1024.0),
            public=False,
        ),
        Case(
            "two layers, [3.] and [-6., 9.], scale 3",
            lambda: ([[3.0], [-6.0, 9.0]], 3.0),
            public=False,
        ),
    ),
    mistakes=(
        Mistake(
            _always,
            "You took the step with gradients that are not finite, so the weights are lost. "
            "Check the gradients first.",
        ),
        Mistake(
            _stepped_anyway,
            "The next scale is correct, but you took the step anyway, so the weights are lost. "
            "Return before the step.",
        ),
        Mistake(
            _not_divided,
            "These are still the gradients of the scaled loss. Divide them by scale before the "
            "step.",
        ),
        Mistake(
            _zeroed,
            "You replaced infinities with zeros and took the step. But then momentum still moves "
            "the weights, and you can't trust the other gradients of this step either. So skip "
            "the whole step.",
        ),
        Mistake(
            _not_halved,
            "You took no step, which is correct. But with the same scale the next step will "
            "overflow too, so return half of the scale.",
        ),
        Mistake(
            _only_nan,
            "You only looked for NaN. But a number that overflows becomes inf, so use "
            "isfinite(), which finds both.",
        ),
    ),
    hints=(
        "Check the gradients of all groups before you change anything.",
        "p.grad.isfinite().all() tells you whether all numbers of one gradient are finite.",
        "if not all(p.grad.isfinite().all() for g in optimizer.param_groups for p in g['params']): return scale / 2",
    ),
    leaves_out="scales that grow again after many good steps",
)

EXERCISES = (scaled,)
