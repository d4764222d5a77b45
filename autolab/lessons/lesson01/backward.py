"""Exercises of sections 4 to 6: paths, hooks, accumulation."""

from __future__ import annotations

from functools import partial

import autolab as torch

from ..exercise import Case, Exercise, Mistake
from .recording import leaf

# 01.3 the chain rule by hand ------------------------------------------------------------------------------------------
# L = 10 - (w3 * b + w4 * c) with b = w1 * a and c = w2 * a


def slope(a, w1, w2, w3, w4, paths="both", last=-1, factor=False, early=False):
    """dL/da; the switches make the usual wrong ones."""
    first, second = (w3, w4) if early else (w3 * w1, w4 * w2)
    return last * (first * (paths != "second") + second * (paths != "first")) * (a if factor else 1)


sum_over_paths = Exercise(
    id="01.3",
    title="Sum over the paths",
    reference=slope,
    variant=lambda **switches: partial(slope, **switches),
    cases=(
        Case("a = 3, w1 = -4, w2 = 3, w3 = 1, w4 = 5", lambda: (3.0, -4.0, 3.0, 1.0, 5.0)),
        Case(
            "a = -1, w1 = 0.5, w2 = 2, w3 = -3, w4 = 1",
            lambda: (-1.0, 0.5, 2.0, -3.0, 1.0),
            public=False,
        ),
        Case(
            "a = 2, w1 = 0, w2 = 1, w3 = 7, w4 = -2",
            lambda: (2.0, 0.0, 1.0, 7.0, -2.0),
            public=False,
        ),
    ),
    mistakes=(
        Mistake(
            {"paths": "second"},
            lambda a, w1, w2, w3, w4: (
                f"This is the gradient of the last path only; the other path adds {-w3 * w1:.1f}."
            ),
        ),
        Mistake(
            {"paths": "first"},
            lambda a, w1, w2, w3, w4: (
                f"This is the gradient of the first path only; the other path adds {-w4 * w2:.1f}."
            ),
        ),
        Mistake(
            {"last": 1}, "The step from L to d is missing: L = 10 - d has the local derivative -1."
        ),
        Mistake(
            lambda a, w1, w2, w3, w4: -w3 * w1 * w4 * w2,
            "You multiplied the two paths. Multiply along a path, but add over the paths.",
        ),
        Mistake(
            lambda a, w1, w2, w3, w4: w3 * w1 * w4 * w2,
            "You multiplied the two paths. Multiply along a path, but add over the paths.",
        ),
        Mistake(
            {"factor": True},
            "There is a factor a too much: the derivative of w1 * a with respect to a is w1, not w1 * a.",
        ),
        Mistake(
            lambda a, w1, w2, w3, w4: -(w1 + w3 + w2 + w4),
            "You added along the paths. Along one path the local derivatives are multiplied.",
        ),
        Mistake(
            lambda a, w1, w2, w3, w4: 10 - (w3 * w1 + w4 * w2) * a,
            "This is L itself, not its derivative.",
        ),
        Mistake(
            {"early": True},
            "A path stops one edge early, at b or at c. From b to a there is still the factor w1, from c to a w2.",
        ),
    ),
    hints=(
        "There are two paths from L back to a: one through b, one through c.",
        "On the path through b the local derivatives are -1 (from L to d), w3 (from d to b) and w1 (from b to a).",
        "Multiply along each path, then add the two products.",
    ),
    leaves_out="weights that are tensors of more than one number",
)


# 01.7 a hook that clips -----------------------------------------------------------------------------------------------


def through_hook(hook, x, weights):
    left_alone = []

    def watched(gradient):
        before = gradient.tolist()
        result = hook(gradient)
        left_alone.append(gradient.tolist() == before)
        return result

    h = x * 2
    h.register_hook(watched)
    (h * weights).sum().backward()
    return {"x.grad": x.grad, "arriving gradient left alone": left_alone == [True]}


clip = Exercise(
    id="01.7",
    title="A hook that clips",
    observe=through_hook,
    reference=lambda g: g.clamp(-1, 1),
    cases=(
        Case(
            "arriving gradient [0.5, 3., -4.]",
            lambda: (leaf([1.0, 1.0, 1.0]), torch.tensor([0.5, 3.0, -4.0])),
        ),
        Case(
            "arriving gradient [-0.2, 0.9]",
            lambda: (leaf([1.0, 5.0]), torch.tensor([-0.2, 0.9])),
            public=False,
        ),
        Case(
            "arriving gradient [[100.], [-1.]]",
            lambda: (leaf([[0.0], [0.0]]), torch.tensor([[100.0], [-1.0]])),
            public=False,
        ),
    ),
    mistakes=(
        Mistake(
            lambda g: None,
            "The gradient went on as it came. What a hook returns is what goes on; "
            "a hook without `return` gives None, and then nothing changes.",
        ),
        Mistake(
            lambda g: g.clamp_(-1, 1),
            "The numbers are right, but you changed the arriving gradient in place. "
            "Other code may still use that tensor: return a new one.",
        ),
        Mistake(
            lambda g: g.clamp(max=1),
            "Large negative numbers are not clipped. The lower bound is -1.",
        ),
        Mistake(
            lambda g: g.clamp(min=-1),
            "Large positive numbers are not clipped. The upper bound is 1.",
        ),
        Mistake(
            lambda g: g / g.norm(),
            "This scales the whole gradient to length one. Here each number is to be clipped by itself.",
        ),
        Mistake(
            lambda g: g.sign(),
            "This turns every number into -1, 0 or 1. Numbers between -1 and 1 are to stay as they are.",
        ),
    ),
    hints=(
        "The hook is called with the gradient of h. What it returns goes on towards x instead.",
        "There is one tensor method that keeps every number between two bounds.",
        "g.clamp(-1, 1) gives a new tensor. Do not forget to return it.",
    ),
    leaves_out="gradients with NaN",
)


# 01.4 a loop that does not clear its gradient -------------------------------------------------------------------------


def descend(start, lr, steps, clear="after", sign=-1, rate=True):
    """Minimise (w - 3)²; `clear` says when the gradient is cleared: only "after" the update is right here."""
    w = torch.tensor(start, requires_grad=True)
    for step in range(steps):
        loss = (w - 3) ** 2
        loss.backward()
        if clear == "too early":
            w.grad.zero_()
        with torch.no_grad():
            w += sign * (lr if rate else 1) * w.grad
            if clear == "the weight":
                w.zero_()
        if clear == "after" or (clear == "once" and step == 0):
            w.grad = None
    return w


def _forgetful(start, lr, steps):
    w = torch.tensor(start, requires_grad=True)
    for _ in range(steps):
        ((w - 3) ** 2).backward()
        w = w - lr * w.grad
    return w


DATA = (
    "The numbers are right, but `.data` goes behind the engine's back: a change through it is not counted, so that a "
    "later mistake would give "
    "wrong gradients instead of an error. Write `with torch.no_grad():`."
)

train = Exercise(
    id="01.4",
    title="A loop that forgets to clear",
    given=partial(descend, clear="never"),
    reference=descend,
    variant=lambda **switches: partial(descend, **switches),
    avoid={"data": DATA},
    cases=(
        Case("start = 1., lr = 0.1, steps = 3", lambda: (1.0, 0.1, 3)),
        Case("start = 5., lr = 0.25, steps = 10", lambda: (5.0, 0.25, 10), public=False),
        Case("start = 0., lr = 0.1, steps = 1", lambda: (0.0, 0.1, 1), public=False),
        Case("start = 1., lr = 0.1, steps = 0", lambda: (1.0, 0.1, 0), public=False),
    ),
    mistakes=(
        Mistake(
            {"clear": "never"},
            "w.grad still holds the gradients of all steps before, added up. The first step is right, "
            "every later one is too long.",
        ),
        Mistake(
            {"clear": "too early"},
            "w never moves. The gradient is cleared between backward() and the update, "
            "so every update subtracts zero.",
        ),
        Mistake({"clear": "the weight"}, "You cleared w itself. What has to be cleared is w.grad."),
        Mistake(
            {"clear": "once"},
            "The gradient is cleared once, not in every step: from the third step on old gradients are added "
            "again.",
        ),
        Mistake(
            {"sign": 1},
            "It walks uphill: the gradient points to where the loss grows, so it is subtracted.",
        ),
        Mistake(
            {"rate": False},
            "The learning rate lr is not used: each step is as long as the gradient.",
        ),
        Mistake(
            _forgetful,
            "`w = w - …` makes a new w: the result of an operation, not a leaf. Its .grad stays None, "
            "and the next step has nothing to multiply. Update in place under torch.no_grad().",
        ),
    ),
    hints=(
        "Print w.grad in every step. It should be 2 * (w - 3); is it?",
        "backward() adds to w.grad. Somebody has to clear it in every step, after it was used.",
        "After the update: w.grad = None, or w.grad.zero_().",
    ),
    leaves_out="other losses than (w - 3)²",
)

EXERCISES = (sum_over_paths, clip, train)
