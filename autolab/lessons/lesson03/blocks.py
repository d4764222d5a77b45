"""The exercise on shortcuts: a block that adds its input to its result."""

from __future__ import annotations

import autolab as torch

from ..exercise import Case, Exercise, Mistake


def block(answer, numbers, widened):
    """Return the result of the block, and the gradient that arrives at its input."""
    x = torch.tensor(numbers, requires_grad=True)
    shortcut = (lambda t: torch.cat([t, -t])) if widened else None
    factor = torch.tensor([0.5, -3.0, 2.0, 1.0])[: 2 * len(numbers) if widened else len(numbers)]
    branch = (lambda t: factor * torch.cat([t, t])) if widened else (lambda t: factor * t)
    result = answer(x, branch, shortcut)
    if result is ...:
        return {"result": result}
    (result * torch.arange(1.0, len(result) + 1)).sum().backward()
    return {"result": result, "gradient of x": x.grad}


def residual(x, branch, shortcut=None):
    return torch.relu(branch(x) + (x if shortcut is None else shortcut(x)))


def _no_shortcut(x, branch, shortcut=None):
    return torch.relu(branch(x))


def _relu_inside(x, branch, shortcut=None):
    return torch.relu(branch(x)) + (x if shortcut is None else shortcut(x))


def _no_relu(x, branch, shortcut=None):
    return branch(x) + (x if shortcut is None else shortcut(x))


def _detached(x, branch, shortcut=None):
    return torch.relu(branch(x) + (x if shortcut is None else shortcut(x)).detach())


def _shortcut_of_the_branch(x, branch, shortcut=None):
    return torch.relu(
        branch(x) + (x if shortcut is None else shortcut(branch(x))[: len(branch(x))])
    )


def _always_x(x, branch, shortcut=None):
    return torch.relu(branch(x) + x)


adding = Exercise(
    id="03.14",
    title="Add the input",
    observe=block,
    reference=residual,
    cases=(
        Case(
            "x = [1., 2.], branch multiplies by [0.5, -3], no shortcut", lambda: ([1.0, 2.0], False)
        ),
        Case(
            "x = [1., 2.], a branch and a shortcut that return four numbers",
            lambda: ([1.0, 2.0], True),
        ),
        Case("x = [-1., 4.], no shortcut", lambda: ([-1.0, 4.0], False), public=False),
        Case(
            "x = [-2.], a shortcut that returns two numbers", lambda: ([-2.0], True), public=False
        ),
    ),
    mistakes=(
        Mistake(_no_shortcut, "This is the branch alone. The input has to be added to it."),
        Mistake(_relu_inside, "Here the ReLU has to come after the sum: relu(branch(x) + x)."),
        Mistake(_no_relu, "The sum is right. Its ReLU is missing."),
        Mistake(
            _detached,
            "The numbers are right, but the path past the branch is cut, so no gradient comes "
            "back along the shortcut.",
        ),
        Mistake(
            _shortcut_of_the_branch,
            "The shortcut leads past the branch, so its input is x and not the result of the "
            "branch.",
        ),
        Mistake(
            _always_x,
            "This is right as long as there is no shortcut. If there is one, add its result "
            "instead of x.",
        ),
    ),
    hints=(
        "You add two terms. The first term is branch(x). What is the second term?",
        "The second term is x, or shortcut(x) if shortcut is not None.",
        "torch.relu(branch(x) + (x if shortcut is None else shortcut(x)))",
    ),
    leaves_out="branches that are modules, in training mode",
)

EXERCISES = (adding,)
