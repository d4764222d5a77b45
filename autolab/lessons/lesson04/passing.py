"""Exercises of sections 5 to 8: the backward pass."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..compare import Unfit, show
from ..exercise import Case, Exercise, Mistake
from . import engine
from .building import NAMELESS, chain, fork, forgotten, misnamed, no_memory, operating, operation


# 04.5 and 04.6 backward -----------------------------------------------------------------------------------------------
def long_chain():
    """d = c * -0.5, c = b * 3, b = a * 4: local derivatives 4, 3, -0.5."""
    value = engine.Value(2.0, op="a")
    for name, slope in (("b", 4.0), ("c", 3.0), ("d", -0.5)):
        value = engine.Value(value.data * slope, (value,), name, (slope,))
    return value


def two_legs():
    """y = a * b, and a = x * 2, b = w * 3: nothing is used twice."""
    x, w = engine.Value(1.5, op="x"), engine.Value(-1.0, op="w")
    a, b = engine.Value(3.0, (x,), "a", (2.0,)), engine.Value(-3.0, (w,), "b", (3.0,))
    return engine.Value(-9.0, (a, b), "y", (-3.0, 3.0))


def square():
    """y = x * x at 3."""
    x = engine.Value(3.0, op="x")
    return engine.Value(9.0, (x, x), "y", (3.0, 3.0))


def gradients(answer, make, times):
    """Every gradient, by name, after `times` passes."""
    result = make()
    for _ in range(times):
        if answer(result) is ...:
            return {"result": ...}
        if wrong := [
            value.op
            for value in engine.order(result)
            if not isinstance(value.grad, (int, float, np.number))
        ]:
            raise Unfit(f"The gradient of {wrong[0]} is no number any more")
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
    """A pass that sends `by(parent, child, local)` along each edge.

    seed: the result's gradient. fresh: results begin at 0. keep: leaves do not. put: a share replaces what is there.
    walk: the children, in order. edges: the parents of a child that get a share, with the local derivatives.
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
    """Values as they are met, each once."""
    found = [result]
    for value in found:
        found += [p for p in dict.fromkeys(value.parents) if not any(p is other for other in found)]
    return found


def _each_path(result):
    """Values as often as they are met, along one path after the other."""
    return [result] + [value for parent in result.parents for value in _each_path(parent)]


def _each_one(result):
    """1 for everybody."""
    for value in engine.order(result):
        value.grad = 1.0


def _to_child(result):
    """A share is kept by who sends it."""
    result.grad = 1.0
    for child in engine.order(result):
        for _, local in _edges(child):
            child.grad = child.grad * local


def _wipes(result):
    """Each child clears its parents before it sends."""
    result.grad = 1.0
    for child in engine.order(result):
        for parent in child.parents:
            parent.grad = 0.0 if parent.parents else parent.grad
        for parent, local in _edges(child):
            parent.grad += child.grad * local


def _clears_behind(result):
    """The pass, after which results are at 0 again."""
    engine.backward(result)
    for value in engine.order(result):
        value.grad = 0.0 if value.parents else value.grad


_TOO_OFTEN = "What is used twice sends twice, its first share included. Let it wait until all has arrived: use `order`."

_CHAIN_MISTAKES = (
    Mistake(
        {"seed": lambda result: 0.0},
        "Nothing arrives: 0 times anything is 0. The result's own gradient is 1, and somebody has to say so, after all that "
        "is set to 0.",
    ),
    Mistake(
        {"seed": lambda result: result.data},
        "You begin with the result's number. By itself a result rises as much as it rises: 1.",
    ),
    Mistake(
        {"by": lambda parent, child, local: local},
        "Each parent gets its local derivative alone. What arrived at the child is missing: multiply by `child.grad`.",
    ),
    Mistake(
        {"by": lambda parent, child, local: child.grad + local},
        "You add along a path. Along a path one multiplies: slope times slope. One adds where paths meet.",
    ),
    Mistake(
        {"by": lambda parent, child, local: child.data * local},
        "You multiply by the child's number. It is the child's gradient that is passed on: `child.grad`.",
    ),
    Mistake(
        {"by": lambda parent, child, local: child.grad * parent.data},
        "You multiply by the parent's number. What is wanted of the operation is in `local` already.",
    ),
    Mistake(
        {"by": lambda parent, child, local: 0.0},
        "The result has its 1, and nobody else gets anything. Is it the child's gradient that is multiplied, and `parent.grad` that is "
        "written?",
    ),
    Mistake(
        _to_child, "What is sent is written to the child. It belongs to the parent: `parent.grad`."
    ),
    Mistake(
        _each_one,
        "Everybody has the gradient 1. That is the seed: it belongs to the result alone, and stands before the loop.",
    ),
    Mistake(
        {"edges": lambda child: _edges(child)[:1]},
        "Only the first parent of each gets a share. Go through all of them.",
    ),
    Mistake(
        {"walk": lambda result: engine.order(result)[::-1]},
        "Only the result has sent something. `order` begins at the result: go through all of it, and from its beginning.",
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
        "Begin with `result.grad = 1.0`. Then go through `order(result)`, and at each child through its parents and local derivatives.",
        "`for parent, local in zip(child.parents, child.local):` gives you both together.",
        "`share` returns `child.grad * local`, and the loop gives it to the parent: `parent.grad = share(child, parent, local)`.",
    ),
    leaves_out="values that are used twice: that is step 6",
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
            "Still `=`: the last share to arrive replaces all before it. Add it to what is there.",
        ),
        Mistake(
            {"fresh": False, "keep": False},
            "It is the wrong way round: at the start of a pass results begin at 0.0, and leaves (values without parents) keep what they have.",
        ),
        Mistake(
            {"fresh": False, "seed": lambda result: result.grad + 1.0},
            "One pass is right; the second finds what the first left: in the middle, and a 1 at the result, which is then 2. "
            "All but the leaves begin at 0.0.",
        ),
        Mistake(
            {"fresh": False},
            "One pass is right; the second is not. The gradients in the middle still hold the first pass: results begin at 0.0 each time, "
            "and only leaves (values without parents) keep what they have.",
        ),
        Mistake(
            {"keep": False},
            "You clear the leaves, too. As in PyTorch, leaves keep what they hold and add to it: clearing them is up to who trains.",
        ),
        Mistake(
            _wipes,
            "A child wipes out what another has sent before. Clear all results once, before the loop.",
        ),
        Mistake(
            _clears_behind,
            "Leaves are right. But results are cleared at the end, when one wants to see them: clear them where a pass begins.",
        ),
        Mistake(
            {"edges": lambda child: dict(_edges(child)).items()},
            "In x * x both parents are x: two edges, two shares. A dict or a set keeps one of them.",
        ),
        Mistake(
            {"walk": _as_met},
            "It adds, in the order of meeting: b has sent before all of its gradient was there. Use `order`.",
        ),
        *(Mistake({"walk": walk}, _TOO_OFTEN) for walk in (_each_path, no_memory)),
    ),
    hints=(
        "`parent.grad += share(child, parent, local)`: that mends the first two inputs.",
        "Backward twice on one graph: what do the values in the middle still hold when the second pass begins?",
        "Before the seed: `for value in order(result):` set `value.grad = 0.0` if it has parents.",
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
            "The result has forgotten its parent and its local derivative.",
        ),
        Mistake(
            {"parents": forgotten},
            "The result has forgotten its parent: `(self,)`, with the comma.",
        ),
        Mistake(
            {"number": np.tan, "local": lambda x: (1 - np.tan(x) ** 2,)},
            "That is the tangent: `np.tanh`, with an h.",
        ),
        NAMELESS,
        misnamed("*"),
        Mistake(
            {"local": lambda x: (1 - 2 * np.tanh(x),)},
            "`t * 2` is twice t. The square is `t * t`, or `t ** 2`.",
        ),
        Mistake(
            {"local": lambda x: (1 - x * x,)},
            "1 - x * x is taken at the operand. The rule is about the result: 1 minus the square of tanh(x).",
        ),
        Mistake(
            {"local": lambda x: (1 - np.tanh(x),)},
            "The square is missing: 1 minus the square of the result.",
        ),
        Mistake(
            {"local": lambda x: (1 / np.cosh(x),)},
            "The square is missing: 1 / cosh(x) ** 2, which is 1 - tanh(x) ** 2.",
        ),
        Mistake(
            {"local": lambda x: (np.tanh(x) ** 2 - 1,)},
            "The sign is wrong: tanh rises everywhere, so its slope is positive.",
        ),
        Mistake({"local": lambda x: (np.tanh(x),)}, "`local` holds the derivative, not the value."),
        Mistake({"local": lambda x: (1.0,)}, "The slope is 1 at 0 only; the curve bends."),
    ),
    hints=(
        "`t = np.tanh(self.data)` is the number. One parent: `(self,)`, with the comma.",
        "The derivative of tanh is 1 minus its square.",
        "`local` is `(1 - t * t,)`.",
    ),
    leaves_out="arrays, which work the same",
)


# 04.8 broadcasting ----------------------------------------------------------------------------------------------------
def fitted(answer, shape, wanted):
    sent = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    got = answer(sent, wanted)
    if got is ...:
        return {"result": ...}
    if np.asarray(got).dtype.kind not in "iuf":
        raise Unfit(f"{show(got)} came back, which is no array of numbers")
    return {"result": np.asarray(got)}


def _fitting(way=np.sum, front=True, stretched=True):
    """Brings back to a shape, in one `way`, over the axes in `front` and those that were `stretched`."""

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
            {"way": np.mean}, "You take the mean. Each copy had its own effect: effects add up."
        ),
        Mistake(
            {"stretched": False},
            "Axes in front are right. An axis of size 1 was repeated, too: sum over it and keep it, `keepdims=True`.",
        ),
        Mistake(
            {"front": False},
            "Axes of size 1 are right. Axes that broadcasting added in front are to be summed, too.",
        ),
        Mistake(
            lambda sent, shape: np.asarray(sent),
            "It gives back what it got. A gradient has the shape of its value.",
        ),
        Mistake(
            lambda sent, shape: np.asarray(sent).sum(),
            "Everything is summed to one number. Sum over the repeated axes only.",
        ),
        Mistake(
            lambda sent, shape: np.asarray(sent).sum(axis=0),
            "You sum over the first axis, whatever was repeated. Compare the shape of `sent` with `shape`: where they agree, nothing was.",
        ),
        Mistake(
            lambda sent, shape: np.asarray(sent).mean(axis=0),
            "You take the mean, and of the first axis, whatever was repeated. Copies add up; and sum over what was repeated only.",
        ),
        Mistake(
            lambda sent, shape: engine.fit(sent, shape).reshape([n for n in shape if n != 1]),
            "The axes are the right ones. But an axis of size 1 is gone with the sum: keep it, `keepdims=True`.",
        ),
        Mistake(
            lambda sent, shape: np.asarray(sent).ravel()[: int(np.prod(shape))].reshape(shape),
            "The shape is right, but most copies are dropped: sum over them.",
        ),
    ),
    hints=(
        "Broadcasting repeats in two ways: it adds axes in front, and it stretches axes of size 1.",
        "In front: `extra = sent.ndim - len(shape)`, then `sent.sum(axis=tuple(range(extra)))`.",
        "Then for each axis of `shape` that is 1: `sent.sum(axis=i, keepdims=True)`.",
    ),
    leaves_out="arrays without any number",
)

EXERCISES = (along_a_chain, every_graph, bend, broadcast)
