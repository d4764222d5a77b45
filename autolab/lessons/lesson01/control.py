"""Exercises about leaving the graph, Jacobians, saved tensors and in-place changes."""

from __future__ import annotations

from functools import partial

import autolab as torch

from ..exercise import Case, Exercise, Mistake
from .recording import leaf

# 01.8 gradients for one side only -------------------------------------------------------------------------------------


def both_gradients(answer, student, teacher):
    loss = answer(student, teacher)
    if getattr(loss, "requires_grad", False):
        loss.backward()
    return {
        "loss": loss,
        "loss is a tensor": hasattr(loss, "detach"),
        "student.grad": student.grad,
        "teacher.grad": teacher.grad,
        "teacher.requires_grad afterwards": teacher.requires_grad,
    }


def imitation(student, teacher, cut="teacher", reduce="mean"):
    """Return the loss; the switches make typical wrong answers."""
    if cut == "flag":
        teacher.requires_grad_(False)
    sides = {
        "teacher": (student, teacher.detach()),
        "student": (student.detach(), teacher),
        "both": (student.detach(), teacher.detach()),
    }
    first, second = sides.get(cut, (student, teacher))
    squares = (first - second) ** 2
    return squares.mean() if reduce == "mean" else squares.sum()


one_sided = Exercise(
    id="01.8",
    title="Only one side learns",
    observe=both_gradients,
    given=partial(imitation, cut="nothing"),
    reference=imitation,
    variant=lambda **switches: partial(imitation, **switches),
    cases=(
        Case(
            "student = [1., 2.], teacher = [0., 4.]", lambda: (leaf([1.0, 2.0]), leaf([0.0, 4.0]))
        ),
        Case(
            "student = [[1.], [-1.]], teacher = [[3.], [3.]]",
            lambda: (leaf([[1.0], [-1.0]]), leaf([[3.0], [3.0]])),
            public=False,
        ),
    ),
    mistakes=(
        Mistake(
            {"cut": "nothing"},
            "The teacher gets a gradient too, because nothing cuts its path to the loss.",
        ),
        Mistake(
            {"cut": "both"},
            "Now neither side gets a gradient. The loss is no longer connected with the student, because everything ran under "
            "no_grad(), or because you detached both sides, or the loss itself.",
        ),
        Mistake(
            {"cut": "student"},
            "You cut the wrong side. Now the teacher gets the gradient, and the student gets none.",
        ),
        Mistake(
            lambda student, teacher: ((student - teacher) ** 2).mean().item(),
            "item() returns a plain Python number. It has no graph, so nothing can learn from it.",
        ),
        Mistake(
            {"cut": "flag"},
            "The gradient reaches the right side. But you have switched off the caller's tensor for good, because the "
            "teacher's requires_grad is False afterwards. Cut only this one use of the tensor.",
        ),
        Mistake({"reduce": "sum"}, "Your loss is the sum of the squares. Return their mean."),
    ),
    hints=(
        "Which way of leaving the graph cuts only one use of a tensor, and leaves everything else as it is?",
        "detach() returns a tensor with the same values but without a history.",
        "In the line of the loss, write teacher.detach() instead of teacher.",
    ),
    leaves_out="a student and a teacher of different shapes",
)


# 01.9 a Jacobian, row by row ------------------------------------------------------------------------------------------


def jacobian(f, x, seed="row", fresh=True, retain=True, turned=False):
    """Row i is the gradient that arrives at x when the arriving gradient of f(x) is 1 at i and 0 elsewhere."""
    x = x.detach().requires_grad_()
    y = f(x)
    rows = []
    for i in range(len(y)):
        weights = torch.zeros_like(y)
        weights[i] = 1
        if fresh:
            x.grad = None
        y.backward(weights if seed == "row" else torch.ones_like(y), retain_graph=retain)
        rows.append(x.grad.clone())
    return torch.stack(rows).T if turned else torch.stack(rows)


def _total(f, x):
    x = x.detach().requires_grad_()
    f(x).sum().backward()
    return x.grad


def _matrix_times(x):
    return torch.tensor([[1.0, 2.0, 0.0], [0.0, -1.0, 3.0]]) @ x


rows = Exercise(
    id="01.9",
    title="A Jacobian, row by row",
    reference=jacobian,
    variant=lambda **switches: partial(jacobian, **switches),
    avoid=dict.fromkeys(
        ("jacobian", "jacrev", "jacfwd", "vmap"),
        "The numbers are right, but a function of the library does the work. Build the table with nothing but "
        "backward(gradient=…), as the library does inside.",
    ),
    cases=(
        Case("f(x) = x * x, x = [1., 2., 3.]", lambda: (lambda x: x * x, leaf([1.0, 2.0, 3.0]))),
        Case("f(x) = A @ x with A of shape (2, 3)", lambda: (_matrix_times, leaf([1.0, 0.0, 2.0]))),
        Case(
            "f(x) = x * x.sum(), x = [1., -2.]",
            lambda: (lambda x: x * x.sum(), leaf([1.0, -2.0])),
            public=False,
        ),
    ),
    mistakes=(
        Mistake(
            _total,
            "This is a single vector, the sum of all rows. A gradient of ones adds the rows up, so ask for one row at "
            "a time.",
        ),
        Mistake(
            {"seed": "ones"},
            "Every row is the sum of all rows. For row i, gradient= has to be 1 at position i and 0 elsewhere.",
        ),
        Mistake(
            {"fresh": False},
            "Each row contains the rows before it, because you didn't clear x.grad between the backward passes.",
        ),
        Mistake({"turned": True}, "Rows and columns are exchanged. Row i belongs to output i."),
        Mistake(
            {"retain": False},
            "The first backward() freed what the second one needs. You go through the same graph several times, so "
            "use retain_graph=True.",
        ),
    ),
    hints=(
        "gradient=v weights the rows of the Jacobian with v and adds them. Which v leaves only row i?",
        "For each i, clear x.grad and call y.backward(v, retain_graph=True), where v is zero except for a 1 at i.",
        "Keep a copy of each row with x.grad.clone(), and join the rows with torch.stack(rows).",
    ),
    leaves_out="functions whose result is a matrix",
)


def asked_of(table):
    """Return the parts of an exercise that asks for True or False for each line. table: line -> (which, why)."""
    return {
        "tell": False,
        "observe": lambda answer, code: {"result": answer[code]},
        "reference": {code: which for code, (which, _) in table.items()},
        "cases": tuple(
            Case(code, partial(tuple, [code]), why=f"{code}: {why}")
            for code, (_, why) in table.items()
        ),
    }


# 01.10 which graphs can be walked twice -------------------------------------------------------------------------------

FREES = {
    "x + 2": (
        False,
        "a sum has the local derivative 1, whatever x is. So nothing was saved, and nothing can be missing.",
    ),
    "x * x": (
        True,
        "a product needs its factors for the gradient. They were saved, and the first backward() freed them.",
    ),
    "-x": (False, "the local derivative of -x is -1, whatever x is. So nothing was saved."),
    "x.exp()": (
        True,
        "exp saves its result, because the result is also its derivative. The first backward() freed it.",
    ),
    "x.sum()": (
        False,
        "for the gradient of a sum the shape of x is enough, and a shape is not freed.",
    ),
    "x.relu()": (
        True,
        "relu has to know where its result was above zero. So the result was saved, and then freed.",
    ),
}

twice = Exercise(
    id="01.10",
    title="Which ones fail the second time",
    **asked_of(FREES),
    hints=(
        "The second backward() raises an error if a saved tensor is missing. For each expression, ask whether its "
        "gradient needs a value.",
        "Write down the derivative of each expression. If x or the result appears in it, something was saved.",
        "dir(y.grad_fn) lists the saved values under names that begin with _saved_. Plain shapes are not freed.",
    ),
    leaves_out="the many other operations",
)


# 01.15 which of them still learn --------------------------------------------------------------------------------------

LEARNS = {
    "w.detach() * w": (True, "detach() cuts one use of w. The other factor is still connected."),
    "torch.tensor(w.item()) * v": (
        False,
        "item() takes the number out, so the new tensor is plain data. v learns, but w does not.",
    ),
    "model.eval()(w)": (
        True,
        "eval() changes how some layers compute. It doesn't stop the recording.",
    ),
    "torch.stack([w, v])": (
        True,
        "stack() is an operation like any other, so it is recorded, and a path leads to each tensor in its list.",
    ),
    "(w * 3).detach().requires_grad_()": (
        False,
        "the flag creates a new leaf. The path to w was already cut before.",
    ),
    "sum([w * 2, w * 3])": (
        True,
        "the list holds the results, and the results hold their graphs. The sum is one more node.",
    ),
}

learning = Exercise(
    id="01.15",
    title="Which of them still learn",
    **asked_of(LEARNS),
    hints=(
        "Draw each graph. Is there a path along the arrows from y to w?",
        "A path ends where the history is left out, that is, at detach() and at a plain number. It doesn't end at a list of tensors.",
        "A flag doesn't reconnect what was cut. And which of the six expressions never cuts anything?",
    ),
    leaves_out="the many other ways to lose a gradient",
)


# 01.11 an in-place change that breaks backward ------------------------------------------------------------------------


def value_and_gradient(answer, x):
    y = answer(x)
    y.sum().backward()
    return {"value": y, "x.grad": x.grad, "x afterwards": x}


def softplus(x, how="out of place"):
    """Return log(1 + e^x); `how` is the way in which the 1 is added."""
    y = x.exp()
    if how == "out of place":
        y = y + 1
    elif how == "in place":
        y += 1
    elif how == "data":
        y.data += 1
    return y.log()


in_place = Exercise(
    id="01.11",
    title="Fix an in-place change",
    observe=value_and_gradient,
    given=lambda x: softplus(x, "in place"),
    reference=softplus,
    cases=(
        Case("x = [0., 1.]", lambda: (leaf([0.0, 1.0]),)),
        Case("x = [-3., 4.]", lambda: (leaf([-3.0, 4.0]),), public=False),
        Case("x = [[2.]]", lambda: (leaf([[2.0]]),), public=False),
    ),
    mistakes=(
        Mistake(
            lambda x: softplus(x, "data"),
            "The error is gone, but the gradient is wrong, which is worse. Changes through .data are not counted, "
            "so exp computed its gradient from the changed values.",
        ),
        Mistake(
            lambda x: softplus(x, "in place"),
            "exp saved its result for the gradient, and you still change the result in place before backward() "
            "uses it. no_grad() and detach() don't help, because they stop the recording, but changes are still counted.",
        ),
        Mistake(
            lambda x: (x + 1).exp().log(),
            "Now you add the 1 before exp. That is another function, because its value is x + 1.",
        ),
        Mistake(
            lambda x: softplus(x.detach().requires_grad_()),
            "You cut the path before exp, so no gradient reaches x. Nothing has to be detached here.",
        ),
    ),
    hints=(
        "Which tensor did exp save, and which line changes that tensor?",
        "`y += 1` writes into the memory that exp saved, but `y = y + 1` creates a new tensor.",
        "Write y = x.exp() + 1.",
    ),
    leaves_out="very large x, where exp overflows",
)

EXERCISES = (one_sided, rows, twice, learning, in_place)
