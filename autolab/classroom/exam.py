"""An exam: five exercises like those of the course, in variants that differ in their numbers.

The number of the variant determines all other numbers, so the grader gets the same exercises from
it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from random import Random
from typing import Any

import autolab as torch

from ..lessons.exercise import Case, Exercise

IMPORTS = "import autolab as torch"


@dataclass(frozen=True)
class Task:
    """One exercise of the exam. text: the task in Markdown. skeleton: the cell to fill in. name:
    the name that the cell defines. solution: a right answer. exercise: how an answer is judged."""

    text: str
    skeleton: str
    name: str
    solution: str
    exercise: Exercise


@cache
def tasks(variant: int) -> tuple[Task, ...]:
    """Return the five tasks of a variant, always the same ones. Raises ValueError for a variant
    below 1."""
    if variant < 1:
        raise ValueError(f"variant should be a whole number from 1 on, but is {variant}")
    return tuple(make(Random(f"{variant} {n}"), f"exam.{n}") for n, make in enumerate(MAKERS, 1))


def exercises(variant: int) -> dict[str, Exercise]:
    """Return the exercises of a variant by their ids, "exam.1" and so on.

    >>> from autolab.classroom.exam import exercises
    >>> list(exercises(7))
    ['exam.1', 'exam.2', 'exam.3', 'exam.4', 'exam.5']
    """
    return {task.exercise.id: task.exercise for task in tasks(variant)}


def sources(variant: int) -> frozenset[str]:
    """Return the sources of the cells that learners get."""
    return frozenset([IMPORTS, *(task.skeleton for task in tasks(variant))])


def _defined(source: str, name: str) -> Any:
    names: dict[str, Any] = {"torch": torch}
    exec(source, names)
    return names[name]


def _task(
    id: str,
    title: str,
    text: str,
    skeleton: str,
    solution: str,
    cases: tuple[Case, ...],
    **more: Any,
) -> Task:
    name = skeleton.split("(")[0].split()[-1]
    exercise = Exercise(
        id,
        title,
        _defined(solution, name),
        cases,
        ("There are no hints in an exam.",),
        "anything else",
        **more,
    )
    return Task(text, skeleton, name, solution, exercise)


def _tensors(*rows: list[float]) -> tuple[Case, ...]:
    return tuple(
        Case(str(row), partial(lambda values: (torch.tensor(values),), row)) for row in rows
    )


def leaf(random: Random, id: str) -> Task:
    """Return a task about a leaf: values times a factor."""
    factor = random.choice([0.2, 0.3, 0.5, 2.0, 3.0])

    def observe(answer: Callable[..., Any], values: list[float]) -> dict[str, Any]:
        w = answer(values)
        if w is ...:
            return {"result": w}
        (w * w).sum().backward()
        return {"values": w.detach(), "is a leaf": w.is_leaf, "gradient": w.grad}

    return _task(
        id, "A leaf",
        f"Write `make_weight(values)`. It returns a leaf with the values times {factor}, whose `.grad` is filled by `backward()`.",
        "def make_weight(values):\n    return ...",
        f"def make_weight(values):\n    return (torch.tensor(values) * {factor}).requires_grad_()",
        (Case("[1, 2]", lambda: ([1.0, 2.0],)), Case("[-3, 0.5, 4]", lambda: ([-3.0, 0.5, 4.0],))),
        observe=observe,
    )  # fmt: skip


def paths(random: Random, id: str) -> Task:
    """Return a task about a derivative by hand, over two paths."""
    m, n, k = random.sample(range(2, 10), 3)
    return _task(
        id, "Two paths",
        f"`u = {m} * a`, `v = {n} * a * a`, `L = {k} - u * v`. Write the derivative of `L` with respect to `a` as a formula, without `backward()`.",
        "def slope(a):\n    return ...",
        f"def slope(a):\n    return -{m} * ({n} * a * a) - {m} * a * (2 * {n} * a)",
        tuple(Case(f"a = {a}", partial(lambda value: (value,), a)) for a in (1.0, 2.0, -1.5)),
    )  # fmt: skip


def clip(random: Random, id: str) -> Task:
    """Return a task about a hook that clips gradients."""
    low, high = -random.choice([0.5, 1.5, 2.0]), random.choice([0.25, 1.0, 3.0])
    return _task(
        id, "A hook that clips",
        f"Write a hook that keeps every number of the gradient between {low} and {high}. It returns the gradient that is to go on, and changes "
        "nothing in place.",
        "def clip(grad):\n    return ...",
        f"def clip(grad):\n    return grad.clamp({low}, {high})",
        _tensors([-9.0, 0.1, 9.0], [low, high, 0.0, low / 2]),
        observe=lambda answer, grad: {"returned": answer(grad), "what arrived": grad},
    )  # fmt: skip


def custom(random: Random, id: str) -> Task:
    """Return a task about a function with its own backward."""
    p, q = random.sample(range(2, 9), 2)
    head = "class Cubic(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        ctx.save_for_backward(x)\n"
    head += f"        return {p} * x**3 - {q} * x\n\n    @staticmethod\n    def backward(ctx, grad_output):\n        (x,) = ctx.saved_tensors\n"

    def observe(answer: Any, values: list[float]) -> dict[str, Any]:
        x = torch.tensor(values, requires_grad=True)
        y = answer.apply(x)
        (y * torch.arange(1.0, len(values) + 1)).sum().backward()
        return {"result": y.detach(), "gradient": x.grad}

    return _task(
        id, "A backward of your own",
        f"Complete the function {p} x³ - {q} x: its `backward` is missing.",
        head + "        return ...", head + f"        return grad_output * ({3 * p} * x**2 - {q})",
        (Case("[1, 2]", lambda: ([1.0, 2.0],)), Case("[-1, 0, 0.5]", lambda: ([-1.0, 0.0, 0.5],))),
        observe=observe,
    )  # fmt: skip


def descent(random: Random, id: str) -> Task:
    """Return a task about a loop of gradient descent."""

    def observe(answer: Callable[..., Any], *args: Any) -> dict[str, Any]:
        w = answer(*args)
        return {"result": w} if w is ... else {"w": w, "is a leaf": w.is_leaf}

    target, slope = random.choice([2, 4, 5, 7]), random.choice([3, 6, 8])
    lines = "def descend(start, lr, steps):\n    w = torch.tensor(start, requires_grad=True)\n    for _ in range(steps):\n"
    lines += f"        loss = (w - {target}) ** 2 + {slope} * w\n"
    return _task(
        id, "Downhill",
        f"`descend(start, lr, steps)` is to take that many steps of gradient descent on (w - {target})² + {slope} w, and to "
        "return `w`, a leaf. Complete the loop.",
        lines + "        ...\n    return ...",
        lines + "        w.grad = None\n        loss.backward()\n        with torch.no_grad():\n            w -= lr * w.grad\n    return w",
        tuple(Case(f"{args}", partial(tuple, args)) for args in ((1.0, 0.1, 3), (0.0, 0.25, 5), (9.0, 0.5, 1))),
        observe=observe,
    )  # fmt: skip


MAKERS: tuple[Callable[[Random, str], Task], ...] = (leaf, paths, clip, custom, descent)
