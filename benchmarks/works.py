"""The works, written once per backend in that backend's own words.

`build(backend, work)` returns a function that does the work once (forward and backward) and returns plain numbers, so
that a test can compare the backends. All compute in float32 on one thread.
"""

from __future__ import annotations

import importlib

import numpy as np

BACKENDS = ("torch", "autolab", "mygrad", "autograd")
WORKS = {
    "scalar_chain": "1,000 products and sums of scalars, forward and backward",
    "array_chain": "1,000 products and sums of arrays of 100, forward and backward",
    "mixed_chain": "1,000 operations on scalars (product, sum, difference, tanh), forward and backward",
    "linear_regression": "one epoch of linear regression on 100 points: forward, backward, update",
}
OPS_IN_CHAIN = 1000
f32 = np.float32


def build(backend: str, work: str):
    """The work as a function without arguments. Raises ImportError when the backend is not installed."""
    module = {"torch": _tensor_backend, "autolab": _tensor_backend, "mygrad": _mygrad, "autograd": _autograd}[backend]
    return module(backend)[work]()


def start(work):
    """Initial numbers x, a, b: scalars or arrays of 100."""
    numbers = f32(0.5), f32(0.999), f32(0.001)
    return tuple(np.full(100, v) for v in numbers) if work == "array_chain" else numbers


def chain(work, x, a, b, tanh):
    """1,000 operations from x; every operand is a leaf that gets a gradient."""
    y = x
    if work == "mixed_chain":
        for _ in range(OPS_IN_CHAIN // 4):
            y = y * a
            y = y + b
            y = y - x
            y = tanh(y)
        return y
    for _ in range(OPS_IN_CHAIN // 2):
        y = y * a
        y = y + b
    return y


def data():
    rng = np.random.default_rng(42)
    x = rng.random(100).astype(f32)
    return x, (1 + 2 * x + 0.1 * rng.standard_normal(100)).astype(f32)


def _named(chain_of, regression):
    return {work: (lambda work=work: chain_of(work)) for work in WORKS if work.endswith("chain")} | {
        "linear_regression": regression
    }


def _tensor_backend(name):
    """PyTorch and autolab: the same code."""
    torch = importlib.import_module(name)
    if name == "torch":
        torch.set_num_threads(1)

    def chain_of(work):
        leaves = [torch.tensor(v, requires_grad=True) for v in start(work)]
        seed = torch.ones(100) if work == "array_chain" else None

        def once():
            for leaf in leaves:
                leaf.grad = None
            y = chain(work, *leaves, torch.tanh)
            y.backward(seed)
            return y, *(leaf.grad for leaf in leaves)

        return once

    def regression():
        x, y = (torch.from_numpy(v) for v in data())
        a, b = (torch.zeros(1, requires_grad=True) for _ in range(2))

        def once():
            error = y - (a + b * x)
            loss = (error**2).mean()
            loss.backward()
            with torch.no_grad():
                a.sub_(0.1 * a.grad)
                b.sub_(0.1 * b.grad)
            a.grad = b.grad = None
            return loss, a, b

        return once

    return _named(chain_of, regression)


def _mygrad(_):
    import mygrad as mg

    def chain_of(work):
        leaves = [mg.tensor(v) for v in start(work)]
        seed = np.ones(100, f32) if work == "array_chain" else None

        def once():
            for leaf in leaves:
                leaf.null_grad()
            y = chain(work, *leaves, mg.tanh)
            y.backward(seed)
            return y, *(leaf.grad for leaf in leaves)

        return once

    def regression():
        x, y = data()
        a, b = mg.tensor(np.zeros(1, f32)), mg.tensor(np.zeros(1, f32))

        def once():
            error = y - (a + b * x)
            loss = (error**2).mean()
            loss.backward()
            a.data -= f32(0.1) * a.grad
            b.data -= f32(0.1) * b.grad
            a.null_grad()
            b.null_grad()
            return loss, a, b

        return once

    return _named(chain_of, regression)


def _autograd(_):
    import autograd.numpy as anp
    from autograd import make_vjp, value_and_grad

    def chain_of(work):
        leaves = start(work)
        seed = np.ones(100, f32) if work == "array_chain" else f32(1.0)

        def once():
            backward, y = make_vjp(lambda p: chain(work, *p, anp.tanh))(leaves)
            return y, *backward(seed)

        return once

    def regression():
        x, y = data()
        state = [np.zeros(1, f32), np.zeros(1, f32)]
        step = value_and_grad(lambda p: anp.mean((y - (p[0] + p[1] * x)) ** 2))

        def once():
            loss, (ga, gb) = step(tuple(state))
            state[0] = state[0] - f32(0.1) * ga
            state[1] = state[1] - f32(0.1) * gb
            return loss, *state

        return once

    return _named(chain_of, regression)
