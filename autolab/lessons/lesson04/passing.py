"""Exercises about the backward pass."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..compare import Unfit, show
from ..exercise import Case, Exercise, Mistake
from . import engine
from .building import NAMELESS, chain, fork, forgotten, misnamed, no_memory, operating, operation


# 04.5 and 04.6 backward -----------------------------------------------------------------------------------------------
def long_chain():
    """Return d = c * -0.5 with c = b * 3 and b = a * 4: local derivatives 4, 3 and -0.5."""
    value = engine.Value(2.0, op="a")
    for name, slope in (("b", 4.0), ("c", 3.0), ("d", -0.5)):
        value = engine.Value(value.data * slope, (value,), name, (slope,))
    return value


def two_legs():
    """Return y = a * b with a = x * 2 and b = w * 3: nothing is used twice."""
    x, w = engine.Value(1.5, op="x"), engine.Value(-1.0, op="w")
    a, b = engine.Value(3.0, (x,), "a", (2.0,)), engine.Value(-3.0, (w,), "b", (3.0,))
    return engine.Value(-9.0, (a, b), "y", (-3.0, 3.0))


def square():
    """Return y = x * x at 3."""
    x = engine.Value(3.0, op="x")
    return engine.Value(9.0, (x, x), "y", (3.0, 3.0))


def gradients(answer, make, times):
    """Return every gradient by name after `times` backward passes."""
    result = make()
    for _ in range(times):
        if answer(result) is ...:
            return {"result": ...}
        if wrong := [
            value.op
            for value in engine.order(result)
            if not isinstance(value.grad, (int, float, np.number))
        ]:
            raise Unfit(f"The gradient of {wrong[0]} is no longer a number")
    return {f"the gradient of {value.op}": value.grad for value in engine.order(result)}


def _share(parent, child, local):
    return child.grad * local


def _edges(child):
    return list(zip(child.parents, child.local))


def passing(
    by=_share,
    seed=lambda result: 1.0,
    fresh=True,
    keep=True,
    put=False,
    walk=engine.order,
    edges=_edges,
):
    """Return a backward pass that sends `by(parent, child, local)` along each edge.

    seed: the result's gradient. fresh: results begin at 0. keep: leaves keep their gradient. put: a
    contribution replaces the gradient. walk: returns the children in order. edges: the parents of a
    child that get a contribution, with the local derivatives.
    """

    def backward(result):
        for value in engine.order(result):
            if fresh if value.parents else not keep:
                value.grad = 0.0
        result.grad = seed(result)
        for child in walk(result):
            for parent, local in edges(child):
                parent.grad = by(parent, child, local) + (0.0 if put else parent.grad)

    return backward


def _as_met(result):
    """Return the Values in the order in which they are found, each once."""
    found = [result]
    for value in found:
        found += [p for p in dict.fromkeys(value.parents) if not any(p is other for other in found)]
    return found


def _each_path(result):
    """Return the Values as often as they are found, one path after the other."""
    return [result] + [value for parent in result.parents for value in _each_path(parent)]


def _each_one(result):
    """Set every gradient to 1."""
    for value in engine.order(result):
        value.grad = 1.0


def _to_child(result):
    """Write each contribution to the child instead of the parent."""
    result.grad = 1.0
    for child in engine.order(result):
        for _, local in _edges(child):
            child.grad = child.grad * local


def _wipes(result):
    """Clear the parents of each child before it sends."""
    result.grad = 1.0
    for child in engine.order(result):
        for parent in child.parents:
            parent.grad = 0.0 if parent.parents else parent.grad
        for parent, local in _edges(child):
            parent.grad += child.grad * local


def _clears_behind(result):
    """Clear the results after the pass."""
    engine.backward(result)
    for value in engine.order(result):
        value.grad = 0.0 if value.parents else value.grad


_TOO_OFTEN = (
    "A Value that is used twice also sends twice, so the first contribution is counted twice. Use `order`, so that the Value waits "
    "until everything has arrived."
)

_CHAIN_MISTAKES = (
    Mistake(
        {"seed": lambda result: 0.0},
        "Nothing arrives, because 0 times anything is 0. Set the result's own gradient to 1, after you have set the others "
        "to 0.",
    ),
    Mistake(
        {"seed": lambda result: result.data},
        "You start with the result's number. But the derivative of the result with respect to itself is 1.",
    ),
    Mistake(
        {"by": lambda parent, child, local: local},
        "Each parent only gets its local derivative. The gradient that arrived at the child is missing, so multiply by `child.grad`.",
    ),
    Mistake(
        {"by": lambda parent, child, local: child.grad + local},
        "You add along a path. Multiply the local derivatives along a path instead, and only add where paths meet.",
    ),
    Mistake(
        {"by": lambda parent, child, local: child.data * local},
        "You multiply by the child's number. Multiply by the child's gradient, `child.grad`, instead.",
    ),
    Mistake(
        {"by": lambda parent, child, local: child.grad * parent.data},
        "You multiply by the parent's number. Everything you need to know about the operation is already in `local`.",
    ),
    Mistake(
        {"by": lambda parent, child, local: 0.0},
        "The result has its 1, but no other Value gets a gradient. Do you multiply the child's gradient, and do you write to "
        "`parent.grad`?",
    ),
    Mistake(
        _to_child,
        "You write the contribution to the child. It belongs to the parent, so write to `parent.grad`.",
    ),
    Mistake(
        _each_one,
        "Every Value has the gradient 1. But the 1 is the seed, which belongs to the result alone. Set it before the loop.",
    ),
    Mistake(
        {"edges": lambda child: _edges(child)[:1]},
        "Only the first parent of each child gets a contribution. Go through all parents.",
    ),
    Mistake(
        {"walk": lambda result: engine.order(result)[::-1]},
        "Only the result has sent something. Go through the whole list of `order`, from its beginning, because the result comes first.",
    ),
)

along_a_chain = Exercise(
    id="04.5",
    title="Backward",
    observe=gradients,
    reference=engine.straight,
    cases=(
        Case("a chain of three slopes: 4, 3, -0.5", lambda: (long_chain, 1)),
        Case("two legs that never meet", lambda: (two_legs, 1)),
        Case("a chain of two", lambda: (chain, 1), public=False),
    ),
    variant=passing,
    mistakes=_CHAIN_MISTAKES,
    hints=(
        "Begin with `result.grad = 1.0`. Then go through `order(result)`, and for each child go through its parents and local derivatives.",
        "`for parent, local in zip(child.parents, child.local):` gives you both together.",
        "`share` returns `child.grad * local`, and the loop stores it in the parent with `parent.grad = share(child, parent, local)`.",
    ),
    leaves_out="values that are used twice, because they come in step 6",
)

every_graph = Exercise(
    id="04.6",
    title="Where paths meet",
    observe=gradients,
    reference=engine.backward,
    cases=(
        Case("y = x * x at 3", lambda: (square, 1)),
        Case("y = 3 * b - b * x, with b = x * a", lambda: (fork, 1)),
        Case("the same, backward twice: leaves add up", lambda: (fork, 2)),
        Case("a chain", lambda: (long_chain, 1), public=False),
        Case("a chain, backward three times", lambda: (long_chain, 3), public=False),
    ),
    variant=passing,
    mistakes=(
        *_CHAIN_MISTAKES,
        Mistake(
            engine.straight,
            "You still use `=`, so the last contribution replaces all earlier ones. Add it to what is already there.",
        ),
        Mistake(
            {"fresh": False, "keep": False},
            "It is the wrong way round. At the start of a pass, set results to 0.0, and let leaves (Values without parents) keep their gradients.",
        ),
        Mistake(
            {"fresh": False, "seed": lambda result: result.grad + 1.0},
            "The first pass is correct. But the second pass finds what the first one left in the middle, and the result becomes "
            "2. Set everything except the leaves to 0.0 first.",
        ),
        Mistake(
            {"fresh": False},
            "The first pass is correct, but the second is not, because the gradients in the middle still hold the first pass. "
            "Let results start at 0.0 each time, and only let leaves (Values without parents) keep what they hold.",
        ),
        Mistake(
            {"keep": False},
            "You clear the leaves too. As in PyTorch, leaves should keep what they hold and add to it. The training loop clears them.",
        ),
        Mistake(
            _wipes,
            "A child deletes what another child has sent before. Clear all results once, before the loop.",
        ),
        Mistake(
            _clears_behind,
            "The leaves are correct. But you clear the results at the end, so you can't look at their gradients. Clear them at the start of a pass.",
        ),
        Mistake(
            {"edges": lambda child: dict(_edges(child)).items()},
            "In x * x both parents are x, so there are two edges and two contributions. A dict or a set only keeps one of them.",
        ),
        Mistake(
            {"walk": _as_met},
            "Your pass adds, but in the wrong order. b sends before its whole gradient has arrived. Use `order`.",
        ),
        *(Mistake({"walk": walk}, _TOO_OFTEN) for walk in (_each_path, no_memory)),
    ),
    hints=(
        "`parent.grad += share(child, parent, local)` fixes the first two inputs.",
        "If backward runs twice on one graph, which gradients do the Values in the middle still hold when the second pass begins?",
        "Before the seed, go through `order(result)` and set `value.grad = 0.0` for each value that has parents.",
    ),
    leaves_out="graphs that change between two passes",
)


# 04.7 tanh ------------------------------------------------------------------------------------------------------------
bend = Exercise(
    id="04.7",
    title="A bend: tanh",
    observe=partial(operation, "tanh"),
    reference=engine.tanh,
    cases=(
        Case("tanh(0)", lambda: (0.0,)),
        Case("tanh(0.5)", lambda: (0.5,)),
        Case("tanh(-3)", lambda: (-3.0,), public=False),
    ),
    variant=operating("tanh", np.tanh, lambda x: (1 - np.tanh(x) ** 2,)),
    mistakes=(
        Mistake(
            {"parents": forgotten, "local": forgotten},
            "The result has forgotten its parent and its local derivative. Pass both to Value.",
        ),
        Mistake(
            {"parents": forgotten},
            "The result has forgotten its parent. Write `(self,)`, with the comma.",
        ),
        Mistake(
            {"number": np.tan, "local": lambda x: (1 - np.tan(x) ** 2,)},
            "That is the tangent. Use `np.tanh`, with an h.",
        ),
        NAMELESS,
        misnamed("*"),
        Mistake(
            {"local": lambda x: (1 - 2 * np.tanh(x),)},
            "`t * 2` is twice t. Write the square as `t * t` or `t ** 2`.",
        ),
        Mistake(
            {"local": lambda x: (1 - x * x,)},
            "1 - x * x uses the operand. But the rule uses the result: the derivative is 1 minus the square of tanh(x).",
        ),
        Mistake(
            {"local": lambda x: (1 - np.tanh(x),)},
            "The square is missing. The derivative is 1 minus the square of the result.",
        ),
        Mistake(
            {"local": lambda x: (1 / np.cosh(x),)},
            "The square is missing. The derivative is 1 / cosh(x) ** 2, which equals 1 - tanh(x) ** 2.",
        ),
        Mistake(
            {"local": lambda x: (np.tanh(x) ** 2 - 1,)},
            "The sign is wrong. tanh rises everywhere, so its slope is positive.",
        ),
        Mistake(
            {"local": lambda x: (np.tanh(x),)},
            "`local` should contain the derivative, not the value.",
        ),
        Mistake(
            {"local": lambda x: (1.0,)},
            "This is the slope at 0 only. The curve bends, so its slope is smaller everywhere else.",
        ),
    ),
    hints=(
        "`t = np.tanh(self.data)` is the number, and `parents` is `(self,)`, with the comma.",
        "The derivative of tanh is 1 minus the square of the result.",
        "So `local` is `(1 - t * t,)`.",
    ),
    leaves_out="arrays, which work in the same way",
)


# 04.8 broadcasting ----------------------------------------------------------------------------------------------------
def fitted(answer, shape, wanted):
    sent = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    got = answer(sent, wanted)
    if got is ...:
        return {"result": ...}
    if np.asarray(got).dtype.kind not in "iuf":
        raise Unfit(f"Your function returned {show(got)}, which is not an array of numbers")
    return {"result": np.asarray(got)}


def _fitting(way=np.sum, front=True, stretched=True):
    """Return a function that brings an array back to a shape; the switches make typical wrong answers."""

    def fit(sent, shape):
        sent = np.asarray(sent)
        if front:
            sent = way(sent, axis=tuple(range(sent.ndim - len(shape))))
        return (
            way(sent, axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)
            if stretched
            else sent
        )

    return fit


broadcast = Exercise(
    id="04.8",
    title="Back to its shape",
    observe=fitted,
    reference=engine.fit,
    cases=(
        Case("4 rows of 3, back to (3,)", lambda: ((4, 3), (3,))),
        Case("2 rows of 3, back to a column (2, 1)", lambda: ((2, 3), (2, 1))),
        Case("2 rows of 3 that were not repeated", lambda: ((2, 3), (2, 3))),
        Case("2 rows of 3, back to one number, ()", lambda: ((2, 3), ())),
        Case("(2, 4, 3), back to (1, 3)", lambda: ((2, 4, 3), (1, 3)), public=False),
    ),
    variant=_fitting,
    mistakes=(
        Mistake(
            {"way": np.mean},
            "You take the mean. But each copy had its own effect on the result, and these effects add up.",
        ),
        Mistake(
            {"stretched": False},
            "The axes in front are correct. But an axis of size 1 was repeated too, so sum over it and keep it, with `keepdims=True`.",
        ),
        Mistake(
            {"front": False},
            "The axes of size 1 are correct. But broadcasting also added axes in front, so sum over these too.",
        ),
        Mistake(
            lambda sent, shape: np.asarray(sent),
            "Your function returns its argument unchanged. But a gradient has the shape of its value.",
        ),
        Mistake(
            lambda sent, shape: np.asarray(sent).sum(),
            "You sum everything to a single number. Only sum over the repeated axes.",
        ),
        Mistake(
            lambda sent, shape: np.asarray(sent).sum(axis=0),
            "You always sum over the first axis. Compare the shape of `sent` with `shape`. Where they agree, nothing was repeated.",
        ),
        Mistake(
            lambda sent, shape: np.asarray(sent).mean(axis=0),
            "You take the mean, and always over the first axis. Copies add up, so use the sum, and only over the axes that were repeated.",
        ),
        Mistake(
            lambda sent, shape: engine.fit(sent, shape).reshape([n for n in shape if n != 1]),
            "You sum over the right axes. But the axis of size 1 is gone, so keep it with `keepdims=True`.",
        ),
        Mistake(
            lambda sent, shape: np.asarray(sent).ravel()[: int(np.prod(shape))].reshape(shape),
            "The shape is correct, but most copies are dropped. Sum over them instead.",
        ),
    ),
    hints=(
        "Broadcasting repeats in two ways. It adds axes in front, and it stretches axes of size 1.",
        "For the axes in front, write `extra = sent.ndim - len(shape)`, and then `sent.sum(axis=tuple(range(extra)))`.",
        "Then, for each axis i of `shape` that is 1, write `sent.sum(axis=i, keepdims=True)`.",
    ),
    leaves_out="arrays without any number",
)

EXERCISES = (along_a_chain, every_graph, bend, broadcast)
