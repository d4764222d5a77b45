"""Exercises about custom functions, and about gradients by hand."""

from __future__ import annotations

from functools import partial

import autolab as torch

from ..compare import Unfit
from ..exercise import Case, Exercise, Mistake
from .recording import leaf

# 01.12a find the wrong backward ---------------------------------------------------------------------------------------

SUSPECTS = {
    "Reciprocal": (
        False,
        (
            "Reciprocal is correct. The derivative of 1/x is -1/x², and with y = 1/x this is -y * y. Run gradcheck on it."
        ),
    ),
    "Product": (
        True,
        (
            "Product is wrong. The gradient for x is g * y and the gradient for y is g * x, but here they are exchanged. "
            "If x equals y you can't see it, so use different numbers with gradcheck."
        ),
    ),
    "MeanSquare": (
        True,
        (
            "MeanSquare is wrong. The mean divides by the number of elements, but the backward doesn't. "
            "With a single element you can't see it."
        ),
    ),
    "Shift": (
        False,
        (
            "Shift is correct. The derivative of x + 1 is 1, so the arriving gradient is passed on unchanged, and nothing has "
            "to be saved for that."
        ),
    ),
}


def named(answer, name):
    names = {
        getattr(a, "__name__", a) for a in ([answer] if isinstance(answer, (str, type)) else answer)
    }
    unknown = names - SUSPECTS.keys()
    if unknown:
        raise Unfit(
            f"There is no function called {', '.join(sorted(map(str, unknown)))}. Choose from {', '.join(SUSPECTS)}"
        )
    return {"named as wrong": name in names}


suspects = Exercise(
    id="01.12a",
    title="Find the wrong backward",
    tell=False,
    observe=named,
    reference=[name for name, (wrong, _) in SUSPECTS.items() if wrong],
    cases=tuple(Case(name, partial(tuple, [name]), why=why) for name, (_, why) in SUSPECTS.items()),
    hints=(
        "Run torch.autograd.gradcheck on each function, with inputs of type torch.float64 that require a gradient.",
        "Use inputs with several different elements, for example [0.5, 1.0, 2.0]. Equal or single numbers hide mistakes.",
        "Product has two inputs, so write gradcheck(Product.apply, (x, y)).",
    ),
    leaves_out="whether you found them by gradcheck or by luck",
)


# 01.12b write the right one -------------------------------------------------------------------------------------------


def apply_with(cls, x, weights):
    y = cls.apply(x)
    (y * weights).sum().backward()
    return {"forward": y, "x.grad": x.grad}


def relu_with(rule):
    """Return a ReLU whose backward computes rule(gradient, input)."""

    class MyReLU(torch.autograd.Function):
        @staticmethod
        def forward(ctx, input):
            ctx.save_for_backward(input)
            return input.clamp(min=0)

        @staticmethod
        def backward(ctx, grad_output):
            (input,) = ctx.saved_tensors
            return rule(grad_output, input)

    return MyReLU


def _overwrite(g, x):
    g = g.clone()
    g[x < 0] = 0
    g[x >= 0] = 1
    return g


IGNORED = (
    "Your backward ignores the arriving gradient. It has to return the arriving gradient times the local derivative, "
    "not the local derivative alone."
)

my_relu = Exercise(
    id="01.12b",
    title="Fix the backward of ReLU",
    observe=apply_with,
    given=relu_with(_overwrite),
    reference=relu_with(lambda g, x: g * (x > 0)),
    cases=(
        Case(
            "x = [-1., 2., 3.], arriving gradient [1., 1., 1.]",
            lambda: (leaf([-1.0, 2.0, 3.0]), torch.tensor([1.0, 1.0, 1.0])),
        ),
        Case(
            "x = [-1., 2., 3.], arriving gradient [5., -2., 0.5]",
            lambda: (leaf([-1.0, 2.0, 3.0]), torch.tensor([5.0, -2.0, 0.5])),
        ),
        Case(
            "x = [0., 1.], arriving gradient [4., 4.]",
            lambda: (leaf([0.0, 1.0]), torch.tensor([4.0, 4.0])),
            public=False,
            why="At exactly 0 ReLU has a corner, and PyTorch uses the gradient 0 there. So write x > 0.",
        ),
        Case(
            "x = [[-2., 2.]], arriving gradient [[0., 3.]]",
            lambda: (leaf([[-2.0, 2.0]]), torch.tensor([[0.0, 3.0]])),
            public=False,
        ),
    ),
    mistakes=(
        Mistake(relu_with(_overwrite), IGNORED),
        Mistake(relu_with(lambda g, x: (x > 0).float()), IGNORED),
        Mistake(
            relu_with(lambda g, x: g),
            "Your backward passes every gradient on. Where the input was negative, the local derivative is 0.",
        ),
        Mistake(
            relu_with(lambda g, x: g * (x < 0)),
            "The mask is the wrong way round. Pass the gradient on where the input is positive.",
        ),
        Mistake(
            relu_with(lambda g, x: g.clamp(min=0)),
            "You cut off negative gradients. But the sign of the input decides, not the sign of the gradient.",
        ),
        Mistake(
            relu_with(lambda g, x: g * x.clamp(min=0)),
            "You multiply by the value of ReLU. But its local derivative is 1 where the input is positive, and 0 elsewhere.",
        ),
    ),
    hints=(
        "Where the input is positive, ReLU returns its input, so the local derivative is 1. Elsewhere it is 0.",
        "The gradient with respect to the input is grad_output times the local derivative, element by element.",
        "return grad_output * (input > 0)",
    ),
    leaves_out="second derivatives",
)


# 01.13 the gradients of a parabola ------------------------------------------------------------------------------------


def three(answer, x, y, a, b, c):
    result = answer(x, y, a, b, c)
    if not isinstance(result, tuple | list) or len(result) != 3:
        raise Unfit("Return three gradients, as in `return grad_a, grad_b, grad_c`")
    return dict(zip(("grad_a", "grad_b", "grad_c"), result))


def parabola_gradients(x, y, a, b, c, factor=2.0, over="mean", bend=1.0, slope=None):
    """Return the three gradients; the switches make typical wrong answers."""
    error = y - (a + b * x + bend * c * x**2)
    reduce = torch.mean if over == "mean" else torch.sum
    locals_ = (torch.ones_like(x), x, x**2 if slope is None else slope(x, c))
    return tuple(-factor * reduce(local * error) for local in locals_)


parabola = Exercise(
    id="01.13",
    title="By hand, with one more weight",
    observe=three,
    reference=parabola_gradients,
    variant=lambda **switches: partial(parabola_gradients, **switches),
    cases=(
        Case(
            "x = [0., 1., 3.], y = [1., 3., 6.], a = 0, b = 1, c = 2",
            lambda: (torch.tensor([0.0, 1.0, 3.0]), torch.tensor([1.0, 3.0, 6.0]), 0.0, 1.0, 2.0),
        ),
        Case(
            "x = [-1., 4.], y = [2., 2.], a = 3, b = -0.5, c = -1",
            lambda: (torch.tensor([-1.0, 4.0]), torch.tensor([2.0, 2.0]), 3.0, -0.5, -1.0),
            public=False,
        ),
        Case(
            "x = [1., 2.], y = [3., 8.], a = 0, b = 2, c = 1 (a perfect fit)",
            lambda: (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 8.0]), 0.0, 2.0, 1.0),
            public=False,
        ),
    ),
    mistakes=(
        Mistake(
            {"bend": 0.0},
            "Your error is still the error of the line, because c * x ** 2 is missing. All three gradients depend on it.",
        ),
        Mistake(
            {"over": "sum"},
            lambda x, *rest: (
                f"You added over the points. But the loss is a mean, so your gradient is {len(x)} times too large."
            ),
        ),
        Mistake(
            {"factor": 1.0},
            "The factor 2 is missing, because the derivative of error ** 2 is 2 * error.",
        ),
        Mistake(
            {"factor": -2.0},
            "The sign is wrong. Because error = y - (…), its derivative with respect to a is -1.",
        ),
        Mistake(
            {"slope": lambda x, c: x},
            "grad_a and grad_b are correct. But the derivative of c * x ** 2 with respect to c is x ** 2, not x.",
        ),
        Mistake(
            {"slope": lambda x, c: 2 * c * x},
            "2 * c * x is the derivative of c * x ** 2 with respect to x. You need the derivative with respect to c, which is "
            "x ** 2.",
        ),
        Mistake(
            {"slope": lambda x, c: torch.ones_like(x)},
            "For grad_c, the path from the error to c has one more factor, the derivative of c * x ** 2 with respect to c.",
        ),
    ),
    hints=(
        "Start with the error. It is the difference between y and the new formula.",
        "Between the loss and c * x ** 2 there are three nodes, the mean, the square and the subtraction. grad_a already "
        "contains the product of their local derivatives.",
        "From c * x ** 2 to c there is one more factor, x ** 2. So grad_c is -2 times the mean of x ** 2 * error.",
    ),
    leaves_out="inputs with more than one column",
)

EXERCISES = (suspects, my_relu, parabola)
