"""Answers to lesson 4 as learners give them: right ones, written in more than one way, and wrong ones with the words
that the checker has to find for them."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from lessons import given

from autolab.lessons.lesson04 import engine
from autolab.lessons.lesson04.engine import Value, order


# 04.1


@dataclass(eq=False)
class AsDataclass:
    data: Any
    parents: tuple = ()
    op: str = ""
    local: tuple = ()
    grad: float = field(default=0.0, init=False)


class Unfilled:
    def __init__(self, data, parents=(), op="", local=()): ...


def value_with(**other):
    class Wrong(Value):
        def __init__(self, data, parents=(), op="", local=()):
            super().__init__(data, parents, op, local)
            for name, item in other.items():
                setattr(self, name, item)

    return Wrong


class Shared(Value):
    nothing = np.zeros(1)

    def __init__(self, data, parents=(), op="", local=()):
        super().__init__(data, parents, op, local)
        self.grad = self.nothing


# 04.2, 04.3, 04.7


def made(number, slopes, parents=lambda a, b: (a, b)):
    return lambda a, b: Value(number(a.data, b.data), parents(a, b), "?", slopes(a.data, b.data))


def added_in_place(a, b):
    a.data += b.data
    return Value(a.data, (a, b), "+", (1.0, 1.0))


def bent(slope):
    return lambda a: Value(np.tanh(a.data), (a,), "tanh", (slope(a.data),))


# 04.4


def from_a_stack(result):
    found, todo = [], [result]
    while todo:
        value = todo.pop()
        if value not in found:
            found.append(value)
            todo += value.parents
    return found


def kept_from_before():
    found = []

    def order(result):
        for value in engine.order(result)[::-1]:
            if value not in found:
                found.append(value)
        return found[::-1]

    return order


def by_number(result):
    seen, found = set(), []

    def visit(value):
        if value.data in seen:
            return
        for parent in value.parents:
            visit(parent)
        seen.add(value.data)
        found.insert(0, value)

    visit(result)
    return found


# 04.5, 04.6


def passes(arrive, seed=1.0, clear=None, walk=order):
    def backward(result):
        for value in order(result):
            if clear in ("all", "results" if value.parents else "leaves"):
                value.grad = 0.0
        result.grad = seed
        for child in walk(result):
            for parent, local in zip(child.parents, child.local):
                arrive(parent, child, local)

    return backward


def put(parent, child, local):
    parent.grad = child.grad * local


def add(parent, child, local):
    parent.grad = parent.grad + child.grad * local


def by_paths(result):
    """Walks every path by itself: slow where there are many, and right."""
    for value in order(result):
        if value.parents:
            value.grad = 0.0

    def visit(value, arrived):
        value.grad = value.grad + arrived
        for parent, local in zip(value.parents, value.local):
            visit(parent, arrived * local)

    visit(result, 1.0)


def as_met(result):
    found = [result]
    for value in found:
        found += [p for p in value.parents if not any(p is other for other in found)]
    return found


def by_depth(result):
    return [result, *(value for parent in result.parents for value in by_depth(parent))]


def seeds_twice(result):
    result.grad += 1.0
    for child in order(result):
        for parent, local in zip(child.parents, child.local):
            add(parent, child, local)


def clears_each_time(result):
    result.grad = 1.0
    for child in order(result):
        for parent in child.parents:
            if parent.parents:
                parent.grad = 0.0
        for parent, local in zip(child.parents, child.local):
            add(parent, child, local)


def clears_behind(result):
    by_paths(result)
    for value in order(result):
        if value.parents:
            value.grad = 0.0


def one_edge(result):
    for value in order(result):
        if value.parents:
            value.grad = 0.0
    result.grad = 1.0
    for child in order(result):
        for parent in {*child.parents}:
            add(parent, child, child.local[child.parents.index(parent)])


# 04.8


def fit_at_once(sent, shape):
    long = (1,) * (sent.ndim - len(shape)) + tuple(shape)
    axes = tuple(i for i, (a, b) in enumerate(zip(sent.shape, long)) if a != b)
    return sent.sum(axis=axes, keepdims=True).reshape(shape)


RIGHT = {
    "04.1": [*given("04.1"), AsDataclass],
    "04.2": [*given("04.2"), made(lambda a, b: a + b, lambda a, b: [1, 1])],
    "04.3": [*given("04.3"), made(np.multiply, lambda a, b: [b, a])],
    "04.4": given("04.4"),
    "04.5": [*given("04.5"), passes(add), engine.backward, by_paths],
    "04.6": [*given("04.6"), by_paths],
    "04.7": [*given("04.7"), bent(lambda x: 1 / np.cosh(x) ** 2)],
    "04.8": [*given("04.8"), fit_at_once],
}

WRONG = {
    "04.1": [
        (value_with(parents=(), local=()), "keeps neither"),
        (value_with(grad=None), "`grad` starts as None"),
        (value_with(grad=1.0), "`grad` starts as 1"),
        (value_with(data=3), "Look at data"),
        (value_with(op=""), "Your Value forgets the name of its operation"),
        (value_with(parents=(), grad=None), "There are two mistakes"),
        (Shared, "Look at grad"),
        (
            type("Part", (), {"__init__": lambda self, data, *rest: setattr(self, "data", data)}),
            "Your class doesn't keep everything yet",
        ),
        (lambda data: data, "TypeError"),
        (value_with(parents=set()), "`parents` is a set"),
        (
            value_with(parents=(1.0, 2.0)),
            "`parents` contains something else than the parents that were",
        ),
        (Value(3.0), "A class is wanted"),
    ],
    "04.2": [
        (lambda a, b: Value(a.data + b.data), "forgotten its parents"),
        (made(np.add, lambda a, b: (b, a)), "local derivatives of a product"),
        (made(np.add, lambda a, b: (a, b)), "`local` should contain derivatives"),
        (
            made(np.add, lambda a, b: (1.0, 1.0), lambda a, b: (b, a)),
            "The parents are the wrong way round",
        ),
        (lambda a, b: a.data + b.data, "which remembers nothing"),
        (lambda a, b: Value(a.data + b.data, (a, b), "", (1.0, 1.0)), "The op is missing"),
        (
            made(np.multiply, lambda a, b: (1.0, 1.0), lambda a, b: (b, a)),
            "Second: The parents are the wrong way round",
        ),
        (made(np.add, lambda a, b: (a, b), lambda a, b: a), "`parents` is not a tuple"),
        (lambda a, b: Value(a.data + b.data, (a, b), "+", (a, b)), "`local` contains a Value"),
        (lambda a, b: Value(a.data + b.data, (a, b), "+", 1.0), "`local` is not a tuple"),
        (lambda a, b: Value(a.data + b.data, (a, b), "+", ("1", "1")), "Numbers are wanted"),
        (
            lambda a, b: Value(a.data + b.data, (a.data, b.data), "+", (1.0, 1.0)),
            "not their numbers",
        ),
        (lambda a, b: Value(a.data + b.data, (a, b), "*", (1.0, 1.0)), 'The op is "*"'),
        (added_in_place, "Your function changes the left operand (`self.data += …`)"),
    ],
    "04.3": [
        (made(np.multiply, lambda a, b: (a, b)), "The local derivatives are swapped"),
        (made(np.multiply, lambda a, b: (1.0, 1.0)), "local derivatives of a sum"),
        (made(np.multiply, lambda a, b: (a * b, a * b)), "not the product"),
        (made(np.add, lambda a, b: (b, a)), "The number is a sum"),
        (made(np.add, lambda a, b: (1.0, 1.0)), "Second: These are the local derivatives of a sum"),
        (lambda a, b: Value(a.data * b.data, (a, b), "+", (b.data, a.data)), 'The op is "+"'),
        (
            made(np.multiply, lambda a, b: (a, b), lambda a, b: (b, a)),
            "The two parents and their local derivatives are the",
        ),
    ],
    "04.4": [
        (lambda result: order(result)[::-1], "The list is reversed"),
        (as_met, "Your function lists a Value as soon as it"),
        (lambda result: [result, *result.parents], "The parents of the parents are missing"),
        (lambda result: [result], "The list only contains the result"),
        (lambda result: order(result)[:-1], "Each Value should be in the list once"),
        (
            lambda result: order(result).reverse(),
            "Your function returned None",
        ),
        (lambda result: "text", "Your function returned 'text'"),
        (from_a_stack, "Your function lists a Value as soon as it"),
        (kept_from_before(), "Each Value should be in the list once"),
        (by_number, "Your function treats two Values with the same number"),
        (lambda result: [v for v in order(result) if v.parents], "The leaves are missing"),
        (lambda result: order(result)[1:], "The result itself is missing"),
        (lambda result: [*order(result), result], "Each Value should be in the list once"),
    ],
    "04.5": [
        (passes(put, seed=0.0), "0 times anything is 0"),
        (
            passes(lambda parent, child, local: setattr(parent, "grad", local)),
            "Each parent only gets its local derivative",
        ),
        (
            passes(lambda parent, child, local: setattr(parent, "grad", child.grad + local)),
            "You add along a path",
        ),
        (
            passes(lambda parent, child, local: setattr(parent, "grad", child.data * local)),
            "by the child's number",
        ),
        (lambda result: None, "0 times anything is 0"),
        (passes(put, walk=lambda result: order(result)[::-1]), "Only the result has sent"),
        (
            lambda result: [setattr(value, "grad", 1.0) for value in order(result)],
            "belongs to the result alone",
        ),
        (
            passes(lambda parent, child, local: setattr(parent, "grad", parent.grad * local)),
            "The result has its 1",
        ),
        (passes(lambda parent, child, local: put(child, child, local)), "It belongs to the parent"),
        (
            passes(lambda p, child, local: setattr(p, "grad", child.grad * p.data)),
            "by the parent's number",
        ),
        (
            passes(lambda p, child, local: setattr(p, "grad", local), seed=0.0),
            "There are two mistakes",
        ),
    ],
    "04.6": [
        (passes(put), "You still use `=`"),
        (passes(add), "the second is not"),
        (passes(add, clear="all"), "You clear the leaves"),
        (passes(add, clear="results", walk=as_met), "Your pass adds"),
        (passes(add, seed=0.0, clear="results"), "0 times anything is 0"),
        (passes(add, clear="leaves"), "the wrong way round"),
        (seeds_twice, "The first pass is correct"),
        (clears_each_time, "A child deletes what another child has sent before"),
        (clears_behind, "The leaves are correct"),
        (one_edge, "In x * x both parents are x"),
        (passes(add, walk=by_depth), "There are two mistakes"),
        (
            passes(lambda p, child, local: setattr(p, "grad", p.grad + local)),
            "There are two mistakes",
        ),
        (
            passes(
                lambda p, child, local: setattr(p, "grad", p.grad + child.data * local), clear="all"
            ),
            "Second: You clear the leaves",
        ),
    ],
    "04.7": [
        (bent(lambda x: 1 - x * x), "1 - x * x uses the operand"),
        (bent(lambda x: 1 - np.tanh(x) * 2), "twice t"),
        (
            lambda a: Value(np.tanh(a.data), (a,), "tanh", 1 - np.tanh(a.data) ** 2),
            "`local` is not a tuple",
        ),
        (bent(lambda x: lambda g: g * (1 - np.tanh(x) ** 2)), "`local` contains a function"),
        (bent(lambda x: 1 - np.tanh(x)), "The square is missing"),
        (bent(lambda x: np.tanh(x)), "not the value"),
        (bent(lambda x: 1.0), "This is the slope at 0 only"),
        (lambda a: Value(np.tanh(a.data)), "forgotten its parent"),
        (lambda a: np.tanh(a.data), "Your function returned 0"),
        (
            lambda a: Value(np.tanh(a.data), a, "tanh", (1 - np.tanh(a.data) ** 2,)),
            "`parents` is not a tuple",
        ),
        (
            lambda a: Value(np.tanh(a.data), (), "tanh", (1 - np.tanh(a.data),)),
            "Second: The square is missing",
        ),
    ],
    "04.8": [
        (lambda sent, shape: sent, "Your function returns its argument unchanged"),
        (lambda sent, shape: sent.sum(axis=0), "You always sum over the first axis"),
        (lambda sent, shape: sent.mean(axis=0), "You take the mean"),
        (lambda sent, shape: engine.fit(sent, shape).squeeze(), "You sum over the right axes"),
        (lambda sent, shape: sent.T.sum(axis=0), "The shape is (4,), it should be (3,)"),
        (lambda sent, shape: sent.sum(), "You sum everything to a single number"),
        (lambda sent, shape: sent.sum(axis=tuple(range(sent.ndim - len(shape)))), "keepdims=True"),
        (
            lambda sent, shape: sent.mean(axis=tuple(range(sent.ndim - len(shape)))),
            "There are two mistakes. First: You take the mean",
        ),
        (
            lambda sent, shape: engine.fit(sent, shape) * np.prod(shape) / sent.size,
            "You take the mean",
        ),
    ],
}

SKELETONS = {"04.1": Unfilled}
