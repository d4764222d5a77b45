"""Small programs as plain data, and what can be seen of running one; `tests/engine/test_lockstep.py` runs each with the
fast engine and with the plain one.

A program is a list of steps that work on a pool of values; a step that raises is part of what can be seen, and the
program goes on. Run as a script, this file answers programs, one a line in JSON, until its input ends.
"""

from __future__ import annotations

import json
import sys
import warnings
from contextlib import ExitStack

import numpy as np

import autolab as torch

SHAPES = [(), (1,), (3,), (2, 3), (2, 1), (1, 3), (1, 1), (0,), (4000,)]
DTYPES = ["float32", "float64", "int64", "bool"]
NUMBERS = [2, -1, 0, 0.5, True, 1.5e30]
VIEWS = {
    "none": lambda t: t,
    "whole": lambda t: t.view_as(t),
    "turned": lambda t: t.t() if t.dim() == 2 else t.unsqueeze(0),
    "piece": lambda t: t[:1] if t.dim() else t.view(1),
    "expanded": lambda t: t.expand(2, *t.shape),
    "detached": lambda t: t.detach(),
}
UNARY = {
    name: lambda a, name=name: getattr(torch, name)(a)
    for name in "neg exp sin tanh sigmoid relu sqrt abs log square sum mean logical_not".split()
} | {
    "max along a dimension": lambda a: a.max(0)[0],
    "sort": lambda a: a.sort().values,
    "reshape": lambda a: a.reshape(-1),
    "first": lambda a: a[0],
    "turned": lambda a: a.t(),
    "halves": lambda a: a.chunk(2)[-1],
    "power": lambda a: a**2,
    "clamp": lambda a: a.clamp(-0.5, 1),
    "double": lambda a: a.double(),
}
BINARY = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "**": lambda a, b: a**b,
    "@": lambda a, b: a @ b,
    "<": lambda a, b: a < b,
    "maximum": lambda a, b: torch.maximum(a, b),
    "where": lambda a, b: torch.where(a > 0, a, b),
    "cat": lambda a, b: torch.cat([a, b]),
}
IN_PLACE = {
    "add_": lambda a, b: a.add_(b),
    "mul_": lambda a, b: a.mul_(b),
    "copy_": lambda a, b: a.copy_(b),
    "zero_": lambda a, b: a.zero_(),
    "exp_": lambda a, b: a.exp_(),
    "of a piece": lambda a, b: a[:1].mul_(b),
    "detach_": lambda a, b: a.detach_(),
    "add_ without history": torch.no_grad()(lambda a, b: a.add_(b)),
}
ENDS = [
    "once",
    "twice",
    "kept",
    "kept twice",
    "grad",
    "a graph of the gradient",
    "inputs",
    "a gradient given",
]
WATCHING = ["hook", "replacing hook", "retain_grad", "pre", "post", "leaf's node", "frozen"]


class Run:
    """One run: the pool, and a log of what was seen."""

    def __init__(self):
        self.pool, self.leaves, self.log, self.modes = [], [], [], ExitStack()
        self.nodes = []  # of leaves that have hooks: a leaf does not hold its node

    def value(self, which):
        """A number as it is; a place in the pool."""
        return (
            which["number"]
            if isinstance(which, dict)
            else self.pool[which % len(self.pool)]
            if self.pool
            else None
        )

    def note(self, call, *args):
        """The result of a call, of which the log tells; None after an error."""
        try:
            result = call(*args)
        except Exception as error:
            self.log.append([type(error).__name__, str(error)])
            return None
        self.log.append(shown(result))
        return result

    def step(self, kind, *what):
        getattr(self, f"do_{kind}")(*what)

    def do_leaf(self, shape, dtype, requires_grad, view, seed):
        numbers = np.random.default_rng(seed).normal(0, 2, shape)
        leaf = torch.tensor(
            numbers.astype(dtype), requires_grad=requires_grad and dtype.startswith("float")
        )
        self.leaves.append(leaf)
        self.keep(VIEWS[view], leaf)

    def keep(self, call, *args):
        result = self.note(call, *args)
        if isinstance(result, torch.Tensor):
            self.pool.append(result)

    def do_unary(self, name, a):
        self.keep(UNARY[name], self.value(a))

    def do_binary(self, name, a, b):
        self.keep(BINARY[name], self.value(a), self.value(b))

    def do_in_place(self, name, a, b):
        self.note(IN_PLACE[name], self.value(a), self.value(b))

    def do_mode(self, name):
        """From here to the next mode."""
        self.modes.close()
        if name == "saved-tensor hooks":
            pack = lambda t: self.log.append(["packed", shown(t)]) or t.detach()  # noqa: E731
            unpack = lambda t: self.log.append(["unpacked", shown(t)]) or t * 1  # noqa: E731
            self.modes.enter_context(torch.autograd.graph.saved_tensors_hooks(pack, unpack))
        elif name != "usual":
            self.modes.enter_context(getattr(torch, name)())

    def do_watch(self, name, a):
        t, number = self.value(a), len(self.log)

        def seen(g, replaced):
            self.log.append(["hook", number, shown(g)])
            return g * 2 if replaced else None

        def node_seen(*gradients):
            self.log.append(["node", number, [shown(g) for g in gradients]])

        self.note({
            "hook": lambda: t.register_hook(lambda g: seen(g, False)) and None,
            "replacing hook": lambda: t.register_hook(lambda g: seen(g, True)) and None,
            "retain_grad": lambda: t.retain_grad(),
            "pre": lambda: t.grad_fn.register_prehook(node_seen) and None,
            "post": lambda: t.grad_fn.register_hook(node_seen) and None,
            "leaf's node": lambda: self.node_of_leaf(t).register_prehook(node_seen) and None,
            "frozen": lambda: t.requires_grad_(False),
        }[name])  # fmt: skip

    def node_of_leaf(self, t):
        ((node, _),) = t.view_as(t).grad_fn.next_functions
        self.nodes.append(node)
        return node

    def do_end(self, name, a):
        self.modes.close()
        t = self.value(a)
        self.log.append(graph(t))
        for call in self.backwards(name, t):
            self.note(call)
            self.log.append([attribute(leaf, "grad") for leaf in self.leaves])
        self.log.append(graph(t))

    def backwards(self, name, t):
        """The calls of an end."""
        seed = None if t is None or t.numel() == 1 else torch.ones_like(t)
        wanted = [leaf for leaf in self.leaves if leaf.requires_grad]
        back = lambda **how: lambda: t.backward(seed, **how)  # noqa: E731

        def twice():
            gradients = torch.autograd.grad(t, wanted, seed, create_graph=True, allow_unused=True)
            self.log.append([graph(g) for g in gradients])
            return sum(g.sum() for g in gradients if g is not None).backward()

        return {
            "once": [back()],
            "twice": [back(), back()],
            "kept": [back(retain_graph=True), back()],
            "kept twice": [back(retain_graph=True), back(retain_graph=True)],
            "grad": [lambda: torch.autograd.grad(t, wanted, seed, allow_unused=True)],
            "a graph of the gradient": [twice],
            "inputs": [back(inputs=wanted[:1])],
            "a gradient given": [lambda: t.backward(torch.ones(t.shape, dtype=t.dtype) * 0.5)],
        }[name]


def shown(value):
    """A value as JSON: tensors and arrays to the last bit."""
    if isinstance(value, torch.Tensor):
        array = np.asarray(value._array)
        facts = [
            attribute(value, name)
            for name in ("requires_grad", "is_leaf", "_version", "output_nr", "grad_fn")
        ]
        return [
            str(value.dtype),
            list(value.shape),
            array.tobytes().hex()[:4096],
            value._is_view(),
            facts,
        ]
    if isinstance(value, (np.ndarray, np.generic)):
        return [str(value.dtype), list(value.shape), value.tobytes().hex()[:4096]]
    if isinstance(value, (tuple, list)):
        return [shown(v) for v in value]
    if hasattr(value, "next_functions"):
        return value.name()
    return value if value is None or isinstance(value, (bool, int, str)) else repr(value)


def graph(t):
    """The nodes behind a tensor: name, where gradients go, what is saved, what the explorer reads."""
    if t is None or not isinstance(attribute(t, "grad_fn"), str):
        return None if t is None else attribute(t, "grad_fn")
    nodes, found = [t.grad_fn], []
    for node in nodes:
        following = []
        for n, nr in node.next_functions:
            if n is not None and n not in nodes:
                nodes.append(n)
            following.append([n if n is None else nodes.index(n), nr])
        saved = [[name, attribute(node, name)] for name in dir(node) if name.startswith("_saved_")]
        found.append([node.name(), following, saved, shown(node.value), operands(node)])
    return found


def operands(node):
    """What is shown of operands that are in no graph; a node may say of each that there is none."""
    values = shown(node.operands)
    return values if values and any(v is not None for v in values) else None


def attribute(thing, name):
    try:
        return shown(getattr(thing, name))
    except Exception as error:
        return [type(error).__name__, str(error)]


def run(program):
    """What can be seen of a program."""
    run = Run()
    with warnings.catch_warnings(record=True) as caught, run.modes:
        warnings.simplefilter("always")
        for step in program:
            run.step(*step)
    return json.loads(json.dumps([run.log, [str(w.message) for w in caught]]))


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
