"""Other engines in the explorer: read by a few attributes, with their own numbers, right or wrong."""

import doctest
import json
from pathlib import Path

import numpy as np
import pytest
from micrograd_engine import Value

import autolab
from autolab.trace import Trace, foreign


class Mine:
    """A small engine; `by` selects how it adds and in which order it runs, right or wrong."""

    def __init__(self, data, parents=(), local=(), op=""):
        self.data, self.parents, self.local, self.op, self.grad = data, parents, local, op, 0.0

    def __mul__(self, other):
        return type(self)(self.data * other.data, (self, other), (other.data, self.data), "*")

    def __add__(self, other):
        return type(self)(self.data + other.data, (self, other), (1.0, 1.0), "+")

    def order(self):
        found = []

        def visit(v):
            if v not in found:
                for p in v.parents:
                    visit(p)
                found.append(v)

        visit(self)
        return found[::-1]

    def arrive(self, parent, share):
        parent.grad += share

    def backward(self):
        self.grad = 1.0
        for v in self.order():
            for parent, slope in zip(v.parents, v.local):
                self.arrive(parent, v.grad * slope)


class Overwrites(Mine):
    def arrive(self, parent, share):
        parent.grad = share


class NoOrder(Mine):
    def order(self):
        found, todo = [], [self]
        while todo:
            v = todo.pop(0)
            if v not in found:
                found.append(v)
                todo += v.parents
        return found


class Slots:
    __slots__ = ("data", "parents", "local", "grad")

    def __init__(self, data, parents=(), local=()):
        self.data, self.parents, self.local, self.grad = data, parents, local, None

    def backward(self):
        self.grad = 1.0
        for parent, slope in zip(self.parents, self.local):
            parent.grad = (parent.grad or 0.0) + self.grad * slope


def texts(trace, phase="backward"):
    return [frame.text for frame in trace.frames if frame.phase == phase]


def totals(trace):
    """Return the final value of each gradient, by label."""
    return {trace.node(f.receiver).label: f.total.data for f in trace.frames if f.receiver}


def test_micrograd_unchanged():
    x, w = Value(3.0), [Value(-0.1), Value(0.2)]
    y = (x * x * w[0] + 2 * x * w[1] + 7).relu()
    trace = autolab.explore(y).trace
    assert trace.meta["library"] == "foreign" and "Value's own backward()" in trace.meta["why"]
    assert [n.call for n in trace.nodes if n.kind == "op"][:3] == ["x * x", "v1 * w[0]", "x * 2"]
    assert [(e.parent, e.child) for e in trace.edges if e.child == "n1"] == [("n0", "n1")] * 2, (
        "x of x * x counts twice"
    )
    assert (x.grad, y.grad, "grad" in vars(Value)) == (0, 0, False), (
        "every grad is put back, and the class is as it was"
    )
    assert isinstance(y._backward(), type(None))
    for v in (x, *w, y):
        v.grad = 0
    y.backward()
    found = totals(trace)
    assert (found["x"], found["w[0]"], found["w[1]"]) == (x.grad, w[0].grad, w[1].grad)
    assert Trace.from_json(json.loads(json.dumps(trace.to_json()))) == trace


@pytest.mark.parametrize("engine", [Mine, Overwrites, NoOrder])
def test_the_steps_are_those_of_the_engine_right_or_wrong(engine):
    x, a = engine(2.0), engine(5.0)
    b = x * a
    y = b + b * x
    trace = foreign.trace(y)
    y.backward()
    assert totals(trace) == {
        "y": 1.0,
        "v1": y.parents[1].grad,
        "b": b.grad,
        "x": x.grad,
        "a": a.grad,
    }
    right = {"x": 25.0, "a": 6.0}
    assert (totals(trace).items() >= right.items()) == (engine is Mine)
    said = " ".join(texts(trace))
    assert ("would be lost" in said) == (engine is Overwrites)
    assert ("too late: b had passed on what it had before" in said) == (engine is NoOrder)


def test_without_a_backward_the_local_derivatives_are_multiplied():
    class Plain:
        def __init__(self, value, parents=(), local=()):
            self.value, self.parents, self.local = value, parents, local

    w = Plain(np.array([[1.0, 2.0], [3.0, 4.0]]))
    x = Plain(np.array([1.0, -1.0]))
    y = Plain(w.value @ x.value, (w, x), (lambda g: np.outer(g, x.value), lambda g: w.value.T @ g))
    trace = foreign.trace(y)
    assert "has no backward() yet" in trace.meta["why"]
    assert totals(trace) == {"y": [1.0, 1.0], "w": [[1.0, -1.0], [1.0, -1.0]], "x": [4.0, 6.0]}
    plain = foreign.trace(y, {"m": w}, backward=False)
    assert plain.passes == () and [n.label for n in plain.nodes] == ["m", "x", "y"]
    assert foreign.trace(x).meta["why"].startswith("A leaf")
    del y.local
    assert foreign.trace(y).meta["why"].startswith("No backward pass is shown: Plain has neither")


def test_slots_gradients_that_were_there_and_an_engine_that_fails():
    x = Slots(3.0)
    y = Slots(9.0, (x, x), (3.0, 3.0))
    assert totals(foreign.trace(y)) == {"y": 1.0, "x": 6.0} and x.grad is None
    y.backward()
    again = foreign.trace(y)
    assert (
        totals(again)["x"] == 12.0
        and "Some grad were not 0 before" in again.meta["why"]
        and x.grad == 6.0
    )
    y.local = (3.0, "three")
    failed = foreign.trace(y)
    assert (
        failed.frames[-1].event == "error" and "TypeError" in failed.meta["why"] and x.grad == 6.0
    )


def test_gradients_that_share_an_array_are_told():
    class Shares(Mine):
        def backward(self):
            self.grad = np.ones(2)
            for v in self.order():
                for parent in v.parents:
                    if isinstance(parent.grad, float):
                        parent.grad = v.grad  # the same array: += on one changes both
                    else:
                        parent.grad += v.grad

    x, a = Shares(np.ones(2)), Shares(np.ones(2))
    y = (x + a) + x
    assert any("shares its array with another grad" in text for text in texts(foreign.trace(y)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda x, y: delattr(y, "parents"),
            "the Mine of value 6.0 does not say its parents: it has none of the attributes `parents` or `_prev`",
        ),
        (
            lambda x, y: delattr(x, "data"),
            "the Mine does not say its value: it has none of the attributes `data` or `value`",
        ),
        (
            lambda x, y: setattr(y, "parents", (x, 3.0)),
            "a parent of the Mine of value 6.0 is 3.0, which says neither its value nor its parents",
        ),
        (
            lambda x, y: setattr(y, "parents", 3),
            "the parents of the Mine of value 6.0 must be a tuple of objects, got int",
        ),
        (
            lambda x, y: setattr(y, "local", (1.0,)),
            "the Mine of value 6.0 has 2 parents and 1 local derivatives",
        ),
        (
            lambda x, y: setattr(x, "data", "two"),
            "the value of the Mine must be a number or an array of numbers, got 'two'",
        ),
        (lambda x, y: setattr(x, "parents", (y, y)), "was computed from itself"),
    ],
)
def test_errors_name_what_is_missing(change, message):
    x = Mine(2.0)
    y = x * Mine(3.0)
    change(x, y)
    with pytest.raises(TypeError) as caught:
        autolab.explore(y)
    assert message in str(caught.value) and "docs/own_engine.md" in caught.value.__notes__[0]


def test_what_is_for_tensors_only_is_refused():
    with pytest.raises(
        TypeError, match="gradient: only for tensors; this is a Mine of another engine"
    ):
        autolab.explore(Mine(2.0), gradient=1.0)


def test_a_deep_graph():
    x = y = Mine(1.0)
    for _ in range(2000):
        y = y + x
    del Mine.backward
    try:
        assert totals(foreign.trace(y))["x"] == 2001.0
    finally:
        Mine.backward = lambda self: None


def test_the_page_says_what_happens():
    page = Path(__file__).parents[2] / "docs" / "own_engine.md"
    assert doctest.testfile(str(page), module_relative=False).failed == 0
