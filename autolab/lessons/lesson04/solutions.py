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


# %% 04.1: all attributes at once
class Value:
    def __init__(self, data, parents=(), op="", local=()):
        vars(self).update(data=data, parents=parents, op=op, local=local, grad=0.0)


# %% 04.2
def add(self, other):
    return Value(self.data + other.data, (self, other), "+", (1.0, 1.0))


# %% 04.2: filled in afterwards
def add(self, other):
    result = Value(self.data + other.data)
    result.op, result.parents = "+", (self, other)
    result.local = (1.0, 1.0)
    return result


# %% 04.3
def multiply(self, other):
    return Value(self.data * other.data, (self, other), "*", (other.data, self.data))


# %% 04.3: filled in afterwards
def multiply(self, other):
    a, b = self.data, other.data
    result = Value(a * b)
    result.op, result.parents = "*", (self, other)
    result.local = (b, a)
    return result


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


# %% 04.5: parent by parent, by its place
def share(child, parent, local):
    return local * child.grad


def backward(result):
    result.grad = 1.0
    for child in order(result):
        for i in range(len(child.parents)):
            parent = child.parents[i]
            parent.grad = share(child, parent, child.local[i])


# %% 04.6
def backward(result):
    for value in order(result):
        if value.parents:
            value.grad = 0.0
    result.grad = 1.0
    for child in order(result):
        for parent, local in zip(child.parents, child.local):
            parent.grad += share(child, parent, local)


# %% 04.6: the sums kept aside until they are complete
def backward(result):
    arrived = {id(result): 1.0}
    for child in order(result):
        kept = 0.0 if child.parents or child is result else child.grad
        child.grad = kept + arrived[id(child)]
        for parent, local in zip(child.parents, child.local):
            sent = share(child, parent, local)
            arrived[id(parent)] = arrived.get(id(parent), 0.0) + sent


# %% 04.7
def tanh(self):
    t = np.tanh(self.data)
    return Value(t, (self,), "tanh", (1 - t * t,))


# %% 04.7: with the hyperbolic cosine
def tanh(self):
    slope = 1 / np.cosh(self.data) ** 2
    return Value(np.tanh(self.data), (self,), "tanh", (slope,))


# %% 04.8
def fit(sent, shape):
    sent = sent.sum(axis=tuple(range(sent.ndim - len(shape))))
    for axis, size in enumerate(shape):
        if size == 1:
            sent = sent.sum(axis=axis, keepdims=True)
    return sent


# %% 04.8: in one sum
def fit(sent, shape):
    long = (1,) * (sent.ndim - len(shape)) + tuple(shape)
    repeated = [axis for axis, size in enumerate(sent.shape) if size != long[axis]]
    return sent.sum(axis=tuple(repeated), keepdims=True).reshape(shape)
