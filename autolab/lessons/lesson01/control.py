"""Exercises of sections 7 to 10: ways out of the graph, Jacobians, what was saved, in-place changes."""

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
    """The loss; the switches make the usual wrong ones."""
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
            "The teacher gets a gradient too: nothing cuts its path to the loss.",
        ),
        Mistake(
            {"cut": "both"},
            "Now nobody gets a gradient. Nothing connects the loss with the student: everything ran under "
            "no_grad(), or both sides, or the loss itself, were detached.",
        ),
        Mistake(
            {"cut": "student"},
            "You cut the wrong side: now the teacher gets the gradient and the student none.",
        ),
        Mistake(
            lambda student, teacher: ((student - teacher) ** 2).mean().item(),
            "item() gives a plain Python number. It has no graph, so nothing can be learned from it.",
        ),
        Mistake(
            {"cut": "flag"},
            "The gradients reach the right side, but you switched the caller's tensor off for good: the "
            "teacher's "
            "requires_grad is False afterwards. Cut only this one use of it.",
        ),
        Mistake({"reduce": "sum"}, "The loss is a sum of squares. Wanted is their mean."),
    ),
    hints=(
        "Which of the four ways out cuts one use of one tensor, and leaves everything else as it is?",
        "detach() gives a tensor with the same values and no history.",
        "Write teacher.detach() where the loss uses the teacher.",
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
        "The numbers are right, but here a function of the library does the work. Build it with nothing but "
        "backward(gradient=…): that is what the library does.",
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
            "This is one vector: the sum of all rows. A gradient of ones adds the rows up; "
            "ask for one row at a time.",
        ),
        Mistake(
            {"seed": "ones"},
            "Every row is the sum of all rows. For row i, gradient= must be 1 at position i and 0 elsewhere.",
        ),
        Mistake(
            {"fresh": False},
            "Each row contains the rows before it: x.grad was not cleared between the backward passes.",
        ),
        Mistake(
            {"turned": True}, "Rows and columns have changed places. Row i belongs to output i."
        ),
        Mistake(
            {"retain": False},
            "The first backward() freed what the second one needs. You walk the same graph several times: "
            "retain_graph=True keeps it.",
        ),
    ),
    hints=(
        "gradient=v gives the rows of the Jacobian weighted by v and added. Which v leaves only row i?",
        "For each i: clear x.grad, then y.backward(v, retain_graph=True) with v zero except for a 1 at i.",
        "Keep a copy of each row, x.grad.clone(), and join them with torch.stack(rows).",
    ),
    leaves_out="functions whose result is a matrix",
)


def asked_of(table):
    """What an exercise is that asks for True or False of each line of code; table: code -> (which, why)."""
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
        "A sum has the local derivative 1, whatever x is: nothing was saved, so nothing can be missing.",
    ),
    "x * x": (
        True,
        "A product needs its factors for the gradient. They were saved, and freed by the first "
        "backward().",
    ),
    "-x": (False, "The local derivative of -x is -1, whatever x is: nothing was saved."),
    "x.exp()": (
        True,
        "exp saves its result, because that is its own derivative. The first backward() freed it.",
    ),
    "x.sum()": (
        False,
        "A sum needs only the shape of x for the gradient, and a shape is not freed.",
    ),
    "x.relu()": (
        True,
        "relu needs to know where its result was above zero. The result was saved, and freed.",
    ),
}

twice = Exercise(
    id="01.10",
    title="Which ones raise the second time",
    **asked_of(FREES),
    hints=(
        "The second backward() raises where a saved tensor is missing. So ask of each: does its gradient need a "
        "value?",
        "Write down the derivative of each. If x (or the result) appears in it, something was saved.",
        "Look at the names: dir(y.grad_fn) lists what begins with _saved_. Plain shapes are not freed.",
    ),
    leaves_out="the many other operations",
)


# 01.15 which of them still learn --------------------------------------------------------------------------------------

LEARNS = {
    "w.detach() * w": (True, "detach() cuts one use. The other factor is still w."),
    "torch.tensor(w.item()) * v": (
        False,
        "item() takes the number out: the new tensor is data. v learns, w does not.",
    ),
    "model.eval()(w)": (True, "eval() changes how some layers compute. It stops no recording."),
    "frozen * (w * 3)": (
        True,
        "frozen gets no gradient itself. It is a factor on the path to w, which goes on.",
    ),
    "(w * 3).detach().requires_grad_()": (
        False,
        "The flag makes a new leaf. The path to w was cut before.",
    ),
    "sum([w * 2, w * 3])": (
        True,
        "A list holds the results, and they hold their graphs. The sum is one more node.",
    ),
}

learning = Exercise(
    id="01.15",
    title="Which of them still learn",
    **asked_of(LEARNS),
    hints=(
        "Draw each of them: is there a way along the arrows from y to w?",
        "A way ends where history is left out: at detach(), and at a plain number. It does not end at a frozen factor.",
        "What was cut is not joined again by a flag. And which of the six never cuts anything?",
    ),
    leaves_out="the many other ways to lose a gradient",
)


# 01.11 an in-place change that breaks backward ------------------------------------------------------------------------


def value_and_gradient(answer, x):
    y = answer(x)
    y.sum().backward()
    return {"value": y, "x.grad": x.grad, "x afterwards": x}


def softplus(x, how="out of place"):
    """log(1 + e^x); `how` is the way the 1 is added."""
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
    title="Mend an in-place change",
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
            "The error is gone and the gradient is wrong, which is worse. A change through .data is not counted, "
            "so exp computed its gradient from the changed values.",
        ),
        Mistake(
            lambda x: softplus(x, "in place"),
            "exp saved its result for the gradient, and the result is still changed in place before backward() "
            "uses it. no_grad() or detach() do not help: they stop the recording, not the counting of changes.",
        ),
        Mistake(
            lambda x: (x + 1).exp().log(),
            "Now 1 is added before exp: that is another function. Its value is x + 1.",
        ),
        Mistake(
            lambda x: softplus(x.detach().requires_grad_()),
            "The cut before exp keeps the gradient from x. Nothing has to be detached here.",
        ),
    ),
    hints=(
        "Which tensor did exp save, and which line changes it?",
        "`y += 1` writes into the memory that exp saved. `y = y + 1` makes a new tensor.",
        "Write y = x.exp() + 1.",
    ),
    leaves_out="very large x, where exp overflows",
)

EXERCISES = (one_sided, rows, twice, learning, in_place)
