"""Random programs of operations that a page can rerun, each with one number changed, and the program's result with
it."""

import random

import numpy as np

import autolab as torch
from autolab.trace.replay import array_of

PROGRAMS = 24


def program(seed, x, w, c, lr):
    """Run some operations on tensors of matching shapes; in every third program, then two steps of gradient descent."""
    chance = random.Random(seed)
    one = [
        torch.exp,
        torch.tanh,
        torch.sigmoid,
        torch.relu,
        lambda t: -t,
        lambda t: t**2,
        lambda t: t**3.0,
    ]
    one += [lambda t: (t * t + 1).log(), lambda t: t * t.detach()]
    two = [
        lambda a, b: a + b,
        lambda a, b: a - b,
        lambda a, b: a * b,
        lambda a, b: a / (b * b + 1),
        lambda a, b: c - a * b,
    ]
    fold = [
        lambda t: t.sum(dim=-1, keepdim=True),
        lambda t: t.mean(),
        lambda t: t.mean(dim=0, keepdim=True),
        lambda t: t.sum(),
    ]
    optimizer = torch.optim.SGD([w], lr=lr)
    for _ in range(2 if seed % 3 == 0 else 1):
        optimizer.zero_grad()
        known = [x * 1, (x @ w) * 0.5 if x.shape == (2, 2) else w * x]
        for _ in range(5):
            a, b = chance.choice(known), chance.choice(known)
            kind = chance.choice("112f")
            known.append(
                chance.choice(one)(a) * 0.5
                if kind == "1"
                else chance.choice(two)(a, b)
                if kind == "2"
                else chance.choice(fold)(a)
            )
        loss = sum(t.mean() for t in known[1:])
        loss.backward()
        if seed % 3 == 0:
            optimizer.step()


def recorded(seed):
    """Return (trace, edits, node id -> value with the edits)."""
    chance, shapes = (
        random.Random(100 + seed),
        [((), ()), ((3,), ()), ((2, 2), (2, 2)), ((2, 1), (3,)), ((3,), (2, 3))],
    )
    shape, other = shapes[seed % len(shapes)]
    numbers = np.random.default_rng(seed)
    start = [
        np.round(numbers.uniform(-1, 1, size), 2).astype(np.float32) for size in (shape, other)
    ]
    c, lr = 0.75, 0.1
    which = chance.choice(["x", "w", "lr" if seed % 3 == 0 else "x"])

    def run(x, w, c, lr):
        x, w = torch.tensor(x, requires_grad=True), torch.tensor(w, requires_grad=True)
        state = random.getstate()
        with torch.record() as recording:
            program(seed, x, w, c, lr)
        random.setstate(state)
        return recording.trace()

    trace, changed = run(*start, c, lr), [item.copy() for item in start]
    steps = [node.id for node in trace.nodes if node.kind == "update"]
    if which == "lr" and steps:
        after = run(*start, c, 0.3)
        return trace, {step: {"lr": 0.3} for step in steps}, values(after)
    place = "xw".index(which) if which != "lr" else 0
    changed[place].reshape(-1)[0] += np.float32(0.5)
    node = next(node.id for node in trace.nodes if node.kind == "leaf" and node.name == "xw"[place])
    return trace, {node: changed[place]}, values(run(*changed, c, lr))


def values(trace):
    """Return the numbers of every node whose numbers are known."""
    found = {node.id: array_of(node.value) for node in trace.nodes}
    return {node: value for node, value in found.items() if value is not None}
