"""Exercises about paths, hooks and accumulation."""

from __future__ import annotations

from functools import partial

import autolab as torch

from ..exercise import Case, Exercise, Mistake
from .recording import leaf

# 01.3 the chain rule by hand ------------------------------------------------------------------------------------------
# L = 10 - (w3 * b + w4 * c) with b = w1 * a and c = w2 * a


def slope(a, w1, w2, w3, w4, paths="both", last=-1, factor=False, early=False):
    """Return dL/da; the switches make typical wrong answers."""
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
                f"This is the gradient of the last path only. The other path contributes {-w3 * w1:.1f}, and paths are added."
            ),
        ),
        Mistake(
            {"paths": "first"},
            lambda a, w1, w2, w3, w4: (
                f"This is the gradient of the first path only. The other path contributes {-w4 * w2:.1f}, and paths are added."
            ),
        ),
        Mistake(
            {"last": 1},
            "The edge from L to d is missing. Because L = 10 - d, its local derivative is -1.",
        ),
        Mistake(
            lambda a, w1, w2, w3, w4: -w3 * w1 * w4 * w2,
            "You multiplied the two paths with each other. Multiply along each path, and then add the paths.",
        ),
        Mistake(
            lambda a, w1, w2, w3, w4: w3 * w1 * w4 * w2,
            "You multiplied the two paths with each other. Multiply along each path, and then add the paths.",
        ),
        Mistake(
            {"factor": True},
            "There is a factor a too many. The derivative of w1 * a with respect to a is w1, not w1 * a.",
        ),
        Mistake(
            lambda a, w1, w2, w3, w4: -(w1 + w3 + w2 + w4),
            "You added along the paths. The local derivatives along one path are multiplied instead.",
        ),
        Mistake(
            lambda a, w1, w2, w3, w4: 10 - (w3 * w1 + w4 * w2) * a,
            "This is the value of L. The exercise asks for the derivative of L with respect to a.",
        ),
        Mistake(
            {"early": True},
            "Your paths stop one edge too early, at b and at c. The edge from b to a adds the factor w1, and the "
            "edge from c to a adds the factor w2.",
        ),
    ),
    hints=(
        "There are two paths from L back to a. One goes through b, and the other goes through c.",
        "On the path through b the local derivatives are -1 (from L to d), w3 (from d to b) and w1 (from b to "
        "a). Write down the path through c in the same way.",
        "Multiply the local derivatives along each path, and then add the two products.",
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
            "The gradient was passed on unchanged. The engine passes on what the hook returns, "
            "and if a hook has no `return`, it returns None, which means: no change.",
        ),
        Mistake(
            lambda g: g.clamp_(-1, 1),
            "The numbers are right, but you changed the arriving gradient in place. "
            "Other code may still use that tensor, so return a new one instead.",
        ),
        Mistake(
            lambda g: g.clamp(max=1),
            "Large negative numbers are not clipped yet. They should become -1.",
        ),
        Mistake(
            lambda g: g.clamp(min=-1),
            "Large positive numbers are not clipped yet. They should become 1.",
        ),
        Mistake(
            lambda g: g / g.norm(),
            "This scales the whole gradient to length one. In this exercise, clip each number by itself.",
        ),
        Mistake(
            lambda g: g.sign(),
            "This turns every number into -1, 0 or 1. But numbers between -1 and 1 should stay as they are.",
        ),
    ),
    hints=(
        "The engine calls the hook with the gradient of h, and passes on what the hook returns.",
        "One tensor method limits every number to a lower and an upper bound.",
        "grad.clamp(-1, 1) creates a new tensor. Don't forget to return it.",
    ),
    leaves_out="gradients with NaN",
)


# 01.4 a loop that does not clear its gradient -------------------------------------------------------------------------


def descend(start, lr, steps, clear="after", sign=-1, rate=True):
    """Minimise (w - 3)²; `clear` says when the gradient is cleared, and only "after" the update is correct."""
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
    "The numbers are right, but `.data` hides the change from the engine. If you make a mistake later, you get wrong "
    "gradients instead of an error. Use `with torch.no_grad():` instead."
)

train = Exercise(
    id="01.4",
    title="A loop that overshoots",
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
            "w.grad still contains the gradients of all earlier steps, added up. So the first step is correct, "
            "but every later step is too long.",
        ),
        Mistake(
            {"clear": "too early"},
            "w never moves. You clear the gradient between backward() and the update, "
            "so every update subtracts zero.",
        ),
        Mistake({"clear": "the weight"}, "You cleared w itself. Clear w.grad instead."),
        Mistake(
            {"clear": "once"},
            "You clear the gradient only once. From the third step on, old gradients are added again, so clear it in "
            "every step.",
        ),
        Mistake(
            {"sign": 1},
            "Your loop walks uphill. The gradient points to where the loss grows, so you have to subtract it.",
        ),
        Mistake(
            {"rate": False},
            "You don't use the learning rate lr, so each step is as long as the gradient. Multiply the gradient by lr.",
        ),
        Mistake(
            _forgetful,
            "`w = w - …` creates a new w, which is the result of an operation and not a leaf. Its .grad stays None, "
            "so the next step has nothing to multiply. Change w in place, under torch.no_grad().",
        ),
    ),
    hints=(
        "Print w.grad in every step. It should be 2 * (w - 3). Is it?",
        "backward() adds to w.grad. So your loop has to clear it in every step, after the update has used it.",
        "After the update, write w.grad = None, or w.grad.zero_().",
    ),
    leaves_out="other losses than (w - 3)²",
)

EXERCISES = (sum_over_paths, clip, train)
