"""The model engine of lesson 4. A learner's engine is compared with it, and it replaces parts that
are not right yet."""

from __future__ import annotations

from typing import Any

import numpy as np


class Value:
    """A number, or an array of them, that remembers what it was computed from.

    data: the number. grad: its gradient. parents: the Values it was computed from. op: the name of
    the operation. local: for each parent the derivative with respect to it: a number, an array, or
    a function from the result's gradient to the parent's gradient.
    """

    def __init__(self, data: Any, parents: Any = (), op: str = "", local: Any = ()):
        self.data, self.parents, self.op, self.local = data, parents, op, local
        self.grad: Any = 0.0

    __array_ufunc__ = None  # NumPy then leaves `array + value` and `array * value` to this class

    def __repr__(self) -> str:
        return f"Value({self.data})"


def add(self: Any, other: Any) -> Any:
    """Return the sum of two Values."""
    return type(self)(self.data + other.data, (self, other), "+", (1.0, 1.0))


def multiply(self: Any, other: Any) -> Any:
    """Return the product of two Values."""
    return type(self)(self.data * other.data, (self, other), "*", (other.data, self.data))


def order(result: Any) -> list[Any]:
    """Return all Values behind a result, each once and before its parents."""
    found: list[Any] = []
    seen = set()

    def visit(value: Any) -> None:
        if id(value) not in seen:
            seen.add(id(value))
            for parent in value.parents:
                visit(parent)
            found.append(value)

    visit(result)
    return found[::-1]


def share(child: Any, parent: Any, local: Any) -> Any:
    """Return the contribution that a child sends to one of its parents."""
    sent = local(child.grad) if callable(local) else child.grad * local
    return fit(sent, np.shape(parent.data))


def straight(result: Any) -> None:
    """Run the backward pass of a graph without forks."""
    result.grad = 1.0
    for child in order(result):
        for parent, local in zip(child.parents, child.local):
            parent.grad = share(child, parent, local)


def backward(result: Any) -> None:
    """Run the backward pass of any graph: contributions are added; results begin at 0, leaves keep
    their gradient."""
    values = order(result)
    for value in values:
        if value.parents:
            value.grad = 0.0
    result.grad = 1.0
    for child in values:
        for parent, local in zip(child.parents, child.local):
            parent.grad = parent.grad + share(child, parent, local)


def tanh(self: Any) -> Any:
    """Return the hyperbolic tangent of a Value."""
    t = np.tanh(self.data)
    return type(self)(t, (self,), "tanh", (1 - t * t,))


def fit(sent: Any, shape: tuple[int, ...]) -> Any:
    """Return a gradient summed over the entries that broadcasting repeated."""
    sent = np.asarray(sent)
    extra = sent.ndim - len(shape)
    sent = sent.sum(axis=tuple(range(extra)))
    stretched = tuple(i for i, size in enumerate(shape) if size == 1)
    return sent.sum(axis=stretched, keepdims=True).reshape(shape)
