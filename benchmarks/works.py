"""The works, each stated once: what it is, which part of the run it belongs to, who can do it, what it may cost.

`build(backend, work)` returns a function that does the work once (forward, backward, update) and returns plain numbers,
so that a test can compare the backends. All compute in float32. A work that needs something made afresh for each
measurement has it as `once.before`.
"""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass, field

import numpy as np

BACKENDS = ("torch", "autolab", "mygrad", "autograd", "tinygrad", "numpy")
TENSORS = ("torch", "autolab")  # the two that run the same code


@dataclass(frozen=True)
class Work:
    """One row of the tables.

    target: number of threads -> the share of PyTorch's time that the engine may take. memory: measured in a process of
    its own, whose peak counts. cannot: why a backend is left out. ops: by which number of operations the time is
    divided for reading."""

    part: str
    text: str
    peers: tuple[str, ...] = ()
    threads: tuple[int, ...] = (1,)
    target: dict[int, float] = field(default_factory=dict)
    memory: bool = False
    cannot: dict[str, str] = field(default_factory=dict)
    ops: int = 0

    @property
    def backends(self):
        return (*TENSORS, *self.peers)


_FUSES = {"tinygrad": "compiles a chain into one kernel: not the same work"}
_NO_LAYERS = {"autograd": "has no convolution or pooling of several channels"}
_BIG = _NO_LAYERS | {
    "mygrad": "its convolutions take about eight times PyTorch's time (see LeNet)",
    "tinygrad": "compiles for minutes on the CPU",
}
OPS_IN_CHAIN = 1000
_CHAIN = {"peers": ("mygrad", "autograd"), "cannot": _FUSES, "ops": OPS_IN_CHAIN}
_NET = {"threads": (1, 2), "memory": True}
BATCHES, DEPTHS = (1, 16, 256), (1, 4, 16, 64)
NODES = (1_000, 10_000, 100_000)

WORKS = {
    "scalar_chain": Work(
        "scalars",
        "1,000 products and sums of scalars, forward and backward",
        target={1: 0.45},
        **_CHAIN,
    ),
    "mixed_chain": Work(
        "scalars",
        "1,000 operations on scalars (product, sum, difference, tanh), forward and backward",
        **_CHAIN,
    ),
    "array_chain": Work(
        "arrays", "1,000 products and sums of arrays of 100, forward and backward", **_CHAIN
    ),
    "linear_regression": Work(
        "regression",
        "one epoch of linear regression on 100 points: forward, backward, update",
        ("mygrad", "autograd", "tinygrad", "numpy"),
        target={1: 0.45},
    ),
    "lenet_32": Work(
        "lenet",
        "LeNet training step, 32 images 28 x 28",
        ("mygrad", "tinygrad"),
        target={2: 1.0},
        cannot=_NO_LAYERS,
        **_NET,
    ),
    "lenet_256": Work(
        "lenet",
        "LeNet training step, 256 images 28 x 28",
        ("mygrad", "tinygrad"),
        target={2: 1.4},
        cannot=_NO_LAYERS,
        **_NET,
    ),
    "resnet9_32": Work(
        "resnet9", "ResNet-9 training step, 32 images 32 x 32", target={2: 1.2}, cannot=_BIG, **_NET
    ),
    "resnet18": Work(
        "resnet18", "ResNet-18 inference, 5 images 224 x 224", target={2: 1.3}, cannot=_BIG, **_NET
    ),
    "resnet18_head": Work(
        "resnet18",
        "ResNet-18, step of the last layer only, 5 images 224 x 224",
        target={2: 1.3},
        cannot=_BIG,
        **_NET,
    ),
    "recorded": Work(
        "recording",
        "PyTorch's ResNet-18, forward and backward, 4 images 224 x 224, recorded against unwatched",
        target={1: 1.5},
    ),
    "recorded_trace": Work("recording", "the same, and its trace written out"),
    "recorded_step": Work(
        "recording", "100 steps of a network of three layers of PyTorch's, recorded", ops=100
    ),
    "recorded_step_autolab": Work("recording", "the same of autolab's network", ops=100),
    **{
        f"growth_{batch}_{depth}": Work(
            "growth", f"training step of {depth} layers of 64, batch {batch}"
        )
        for depth in DEPTHS
        for batch in BATCHES
    },
    **{f"nodes_{n}": Work("nodes", f"backward through {n:,} nodes", ops=n) for n in NODES},
}
PARTS = tuple(dict.fromkeys(work.part for work in WORKS.values()))
f32 = np.float32


def build(backend: str, work: str):
    """The work as a function without arguments. Raises ImportError when the backend is not installed."""
    if WORKS[work].memory:
        from . import networks

        return networks.build(backend, work)
    if WORKS[work].part == "recording":
        from . import recording

        return recording.build(backend, work)
    module = {"mygrad": _mygrad, "autograd": _autograd, "tinygrad": _tinygrad, "numpy": _numpy}.get(
        backend, _tensor_backend
    )
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
    return {
        work: (lambda work=work: chain_of(work)) for work in WORKS if work.endswith("chain")
    } | {"linear_regression": regression}


def _growth(torch, batch, depth):
    """A training step of `depth` layers of 64."""
    torch.manual_seed(0)
    layers = [layer for _ in range(depth) for layer in (torch.nn.Linear(64, 64), torch.nn.Tanh())]
    model, x, y = torch.nn.Sequential(*layers), torch.randn(batch, 64), torch.randn(batch, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def once():
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return (loss,)

    return once


def _nodes(torch, n):
    """The backward pass alone; the graph is made before it."""
    a, b = torch.tensor(0.999, requires_grad=True), torch.tensor(0.001, requires_grad=True)

    def forward():
        a.grad = b.grad = None
        y = a
        for _ in range(n // 2):
            y = y * a
            y = y + b
        return y

    def once(y):
        y.backward()
        return a.grad, b.grad

    once.before = forward
    return once


def _tensor_backend(name):
    """PyTorch and autolab: the same code."""
    torch = importlib.import_module(name)

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

    others = {}
    for batch in BATCHES:
        for depth in DEPTHS:
            others[f"growth_{batch}_{depth}"] = lambda batch=batch, depth=depth: _growth(
                torch, batch, depth
            )
    for n in NODES:
        others[f"nodes_{n}"] = lambda n=n: _nodes(torch, n)
    return _named(chain_of, regression) | others


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


def tinygrad():
    """The module, set to compute on the CPU, for which it needs clang."""
    os.environ["DEV"] = "CPU"
    return importlib.import_module("tinygrad")


def _tinygrad(_):
    Tensor, TinyJit = tinygrad().Tensor, tinygrad().TinyJit

    def regression():
        x, y = (Tensor(v).realize() for v in data())
        a, b = (Tensor(np.zeros(1, f32)).contiguous().realize() for _ in range(2))

        @TinyJit
        def step():
            error = y - (a + b * x)
            loss = (error * error).mean()
            a.grad = b.grad = None
            loss.backward()
            a.assign(a.detach() - 0.1 * a.grad)
            b.assign(b.detach() - 0.1 * b.grad)
            return loss.realize(a, b)

        def once():
            return step().numpy(), a.numpy(), b.numpy()

        return once

    return {"linear_regression": regression}


def _numpy(_):
    """By hand, without a graph, with sums in PyTorch's order: what is left when nothing is recorded."""
    from autolab.engine.exact import sums as cascade

    def regression():
        x, y = data()
        a, b, n, rate = np.zeros(1, f32), np.zeros(1, f32), f32(100), f32(0.1)

        def once():
            error = y - (a + b * x)
            loss = cascade.add(error * error) / n
            g = -(f32(1) / n * (error + error))
            ga, gb = cascade.add(g, None, True), cascade.add(g * x, None, True)
            np.subtract(a, rate * ga, out=a)
            np.subtract(b, rate * gb, out=b)
            return loss, a, b

        return once

    return {"linear_regression": regression}
