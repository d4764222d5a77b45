"""Solutions of lesson 4, for `autolab.lessons.solutions`, which says how they are written."""
# ruff: noqa: F811
# mypy: ignore-errors

import numpy as np

from autolab.lessons.lesson04.engine import Value, order


def share(child, parent, local):
    return child.grad * local


# %% 04.1
class Value:
    def __init__(self, data, parents=(), op="", local=()):
        self.data = data
        self.parents = parents
        self.op = op
        self.local = local
        self.grad = 0.0


# %% 04.2
def add(self, other):
    return Value(self.data + other.data, (self, other), "+", (1.0, 1.0))


# %% 04.3
def multiply(self, other):
    return Value(self.data * other.data, (self, other), "*", (other.data, self.data))


# %% 04.4
def order(result):
    found, seen = [], set()

    def visit(value):
        if id(value) in seen:
            return
        seen.add(id(value))
        for parent in value.parents:
            visit(parent)
        found.append(value)

    visit(result)
    return found[::-1]


# %% 04.4: by counting who is still waited for
def order(result):
    waiting, todo = {id(result): 0}, [result]
    for value in todo:
        for parent in value.parents:
            if id(parent) not in waiting:
                waiting[id(parent)] = 0
                todo.append(parent)
            waiting[id(parent)] += 1
    ready = [result]
    for value in ready:
        for parent in value.parents:
            waiting[id(parent)] -= 1
            if waiting[id(parent)] == 0:
                ready.append(parent)
    return ready


# %% 04.5
def share(child, parent, local):
    return child.grad * local


def backward(result):
    result.grad = 1.0
    for child in order(result):
        for parent, local in zip(child.parents, child.local):
            parent.grad = share(child, parent, local)


# %% 04.6
def backward(result):
    for value in order(result):
        if value.parents:
            value.grad = 0.0
    result.grad = 1.0
    for child in order(result):
        for parent, local in zip(child.parents, child.local):
            parent.grad += share(child, parent, local)


# %% 04.7
def tanh(self):
    t = np.tanh(self.data)
    return Value(t, (self,), "tanh", (1 - t * t,))


# %% 04.8
def fit(sent, shape):
    sent = sent.sum(axis=tuple(range(sent.ndim - len(shape))))
    for axis, size in enumerate(shape):
        if size == 1:
            sent = sent.sum(axis=axis, keepdims=True)
    return sent
