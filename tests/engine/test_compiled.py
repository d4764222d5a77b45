"""The compiled form of the general path does what `dispatch.apply` does: results, what a node remembers, gradients,
views."""

import numpy as np
import pytest
from engine_counterparts import NO_DERIVATIVE
from engine_ops import cases, differentiable, flat, tensors

import autolab as torch
from autolab.engine.fast import compiled
from autolab.engine.core import observe
from autolab.engine.core.apply import apply
from autolab.engine.core.tensor import Tensor

pytestmark = pytest.mark.compiled
CASES = [pytest.param(case, id=case.key) for case in cases() if compiled.can_compile(case.op)]


class Heard(observe.Observer):
    """Notes the `forward` events."""

    def __init__(self):
        self.events = []

    def forward(self, op, args, attrs, outputs, node, inplace=False):
        self.events.append((op.name, len(args), len(outputs), type(node).__name__, inplace))


def shown(value):
    """Tensors, arrays and tuples as plain data; nodes by name."""
    if isinstance(value, Tensor):
        return [
            str(value.dtype),
            list(value.shape),
            np.array(value.detach().numpy()).tobytes(),
            value.requires_grad,
        ]
    if isinstance(value, (np.ndarray, np.generic)):
        return [str(value.dtype), list(value.shape), np.array(value).tobytes()]
    if isinstance(value, (tuple, list)):
        return [shown(v) for v in value]
    return value


def remembered(node):
    """What the explorer and the backward pass read of a node."""
    if node is None:
        return None
    saved = {
        name: shown(getattr(node, f"_saved_{name}"))
        for name in node._saved_names
        if name is not None
    }
    return {
        "name": node.name(),
        "saved": saved,
        "next": [(None if n is None else n.name(), nr) for n, nr in node.next_functions],
        "fix": None
        if node.fix is None
        else [None if f is None else (f[0] and tuple(f[0]), str(f[1])) for f in node.fix],
        "value": shown(node.value),
        "operands": shown(node.operands),
    }


def outcome(run, case, grad, viewed):
    """Everything that can be seen of one call. viewed: the arguments are views of other tensors."""
    raw, keywords = case.arguments()
    op = case.op
    leaves = tensors(torch, raw, "float64", differentiable(case) if grad else ())
    args = [a.view_as(a) if viewed and isinstance(a, Tensor) else a for a in leaves]
    values = dict(op.defaults) | dict(zip(op.params, args)) | keywords
    with observe.watching(Heard()) as heard:
        out = run(op, tuple(values[p] for p in op.params))
    outs = out if isinstance(out, tuple) else (out,)
    found = {
        "kind": type(out).__name__,
        "outs": shown(outs),
        "views": [
            (o._is_view(), o._version, o.output_nr, o.stride(), o.storage_offset()) for o in outs
        ],
        "bases": [
            o._base is args[0] or viewed and o._base is leaves[0] for o in outs if o._is_view()
        ],
        "node": remembered(outs[0].grad_fn),
        "heard": heard.events,
    }
    live = [o for o in outs if o.requires_grad]
    if live and case.name not in NO_DERIVATIVE:
        inputs = list(flat(leaves))
        found["gradients"] = shown(
            torch.autograd.grad(
                live, inputs, [o.detach() * 0 + 0.5 for o in live], allow_unused=True
            )
        )
    return found


@pytest.mark.parametrize("viewed", [False, True], ids=["plain", "views"])
@pytest.mark.parametrize("case", CASES)
def test_the_same_as_the_general_lane(case, viewed):
    taken = []
    path = compiled.make_general(case.op)
    path.__globals__["slow"] = lambda *args: (taken.append(args), apply(case.op, args))[1]
    for grad in (True, False):
        expected = outcome(apply, case, grad, viewed)
        assert outcome(lambda op, args: path(*args), case, grad, viewed) == expected
    first, *others = case.arguments()[0]
    usual = isinstance(first, np.ndarray) and all(
        a.dtype.kind == "f" for a in (first, *others[:1]) if isinstance(a, np.ndarray)
    )
    assert not (taken and usual), "floats should stay in the path itself"
