"""The compiled functions do what their plain originals do: `saving` as `dispatch.save`, a node's backward as
`nodes.backward`, the compiled paths as `dispatch.apply`. Driven with the same calls, all operations' samples; and the
engine runs without them."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from engine_ops import cases

import autolab as torch
from autolab.engine.core import apply as dispatch
from autolab.engine.core import namespaces, node as nodes
from autolab.engine.core.node import AccumulateGrad
from autolab.engine.core.tensor import Tensor

CASES = [case for case in cases() if case.op.vjp]
EACH = pytest.mark.parametrize("case", [pytest.param(case, id=case.key) for case in CASES])


def arguments(case, wanted):
    """All arguments of a sample call in schema order; tensors whose place is in `wanted` require a gradient."""
    raw, keywords = case.arguments()
    given = case.op.defaults | dict(zip(case.op.params, raw)) | keywords

    def made(a, wants):
        if isinstance(a, np.ndarray):
            return torch.tensor(a, requires_grad=wants and a.dtype.kind == "f")
        return type(a)(made(x, wants) for x in a) if isinstance(a, (list, tuple)) else a

    return tuple(made(given[name], name in wanted) for name in case.op.params)


def subsets(case):
    """Which arguments want a gradient: all, and each alone."""
    names = [p for p in case.op.params if p in case.op.vjp]
    return [set(names), *({name} for name in names if len(names) > 1)]


def outputs(result):
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def node_of(outs):
    return next((o._node for o in outs if o._node is not None), None)


def same(a, b):
    """Whether two things a node holds are the same: arrays and tensors by their numbers, down to the last bit."""
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return (
            isinstance(a, Tensor)
            and isinstance(b, Tensor)
            and same(a._array, b._array)
            and a._req == b._req
        )
    if isinstance(a, (np.ndarray, np.generic)) and isinstance(b, (np.ndarray, np.generic)):
        return (
            a.dtype == b.dtype
            and a.shape == b.shape
            and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
        )
    if isinstance(a, (tuple, list)):
        return isinstance(b, (tuple, list)) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, AccumulateGrad):
        return isinstance(b, AccumulateGrad)
    return type(a) is type(b) and (a == b or hasattr(a, "version") or a != a)


def outcome(call, *args):
    """What a call gives: a list, or the error it raises."""
    try:
        return list(call(*args))
    except (RuntimeError, NotImplementedError) as error:  # of operations without a derivative
        return type(error).__name__, str(error)


def fixing(node, out):
    """Per rule (shape, dtype) that a gradient must be brought to; None, where nothing is to be done, may be written
    out."""
    whole = (tuple(out.shape), out.dtype)
    return [
        None if f is None or (f[0] or whole[0], f[1]) == whole else f
        for f in node.fix or [None] * len(node.inputs)
    ]


def outside(node):
    """Per rule the operand that is in no graph, or None."""
    return list(node.operands or [None] * len(node.inputs))[: len(node.inputs)]


def seeds(node, outs):
    """A gradient for each output, as the engine hands them to the node."""
    made = [
        None
        if o._node is not node
        else np.cos(np.arange(o.numel(), dtype=o._array.dtype)).reshape(o.shape)
        for o in outs
    ]
    if len(outs) == 1:
        return made[0]
    return [
        np.zeros(o.shape, o._array.dtype) if g is None and o._array.dtype.kind == "f" else g
        for g, o in zip(made, outs)
    ]


@EACH
def test_a_call(case):
    for wanted in subsets(case):
        fast, slow = (
            outputs(call(*arguments(case, wanted)))
            for call in (case.op.call, lambda *args: dispatch.apply(case.op, args))
        )
        assert same(list(fast), list(slow))
        assert [o._nr for o in fast] == [o._nr for o in slow]
        nodes = node_of(fast), node_of(slow)
        assert type(nodes[0]) is type(nodes[1])
        if nodes[0] is not None:
            for name in ("inputs", "input_nrs", "value"):
                assert same(*(getattr(node, name) for node in nodes)), name
            assert same(*(fixing(node, fast[0]) for node in nodes)) and same(
                *(outside(node) for node in nodes)
            )
            assert same(*(list(node.entries()) for node in nodes))


@EACH
def test_backward(case):
    m = namespaces.raw(np)
    for wanted in subsets(case):
        outs = outputs(case.op.call(*arguments(case, wanted)))
        node = node_of(outs)
        if node is None:
            continue
        g = seeds(node, outs)
        assert same(outcome(nodes.backward, node, m, g), outcome(node.backward_raw, m, g))


@EACH
def test_backward_with_a_graph_of_its_own(case):
    outs = outputs(case.op.call(*arguments(case, set(case.op.vjp))))
    node = node_of(outs)
    if node is None:
        return
    g = seeds(node, outs)
    g = (
        [None if x is None else torch.from_numpy(x) for x in g]
        if isinstance(g, list)
        else torch.from_numpy(np.asarray(g))
    )
    m = namespaces.TRACED
    assert same(outcome(nodes.backward, node, m, g), outcome(node.backward_traced, m, g))


PROGRAM = """
import sys
import autolab as torch
from autolab import engine

def run():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = ((x @ x).relu() * 2 - x).tanh()
    y = (y + y[0]).exp() * 3
    y.mul_(0.5)
    loss = torch.nn.functional.cross_entropy(y, torch.tensor([0, 1])) + torch.cat([x, y]).max(1).values.sum()
    loss.backward()
    g, = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
    g.sum().backward()
    return loss.item(), x.grad.tolist()

compiled = set()
def watch(frame, event, arg):
    name = frame.f_code.co_filename
    binds = "<front of" in name or "<constructor of" in name
    if event == "call" and "<" in name and "autolab" in name and not binds:
        compiled.add(name)
sys.setprofile(watch)
found = run()
sys.setprofile(None)
print(engine.is_plain(), bool(compiled), "autolab.engine.fast" in sys.modules, found)
"""


def run(choice):
    environment = os.environ | {
        "AUTOLAB_ENGINE": choice,
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    return subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True
    )


def test_the_engine_runs_without_what_is_compiled():
    """Only functions that bind arguments are compiled (`exact/signatures.py`, constructors of `nn/modules/layer.py`),
    and nothing of `fast/` is imported."""
    fast, slow = run("fast").stdout.split(maxsplit=3), run("plain").stdout.split(maxsplit=3)
    assert fast[:3] == ["False", "True", "True"] and slow[:3] == ["True", "False", "False"]
    assert fast[3] == slow[3]


def test_another_word_is_refused():
    done = run("slow")
    assert (
        done.returncode
        and "AUTOLAB_ENGINE should be 'fast' or 'plain', but is 'slow'" in done.stderr
    )
