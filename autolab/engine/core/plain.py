"""The engine's two central acts in plain Python: what a node keeps, and what it does when a gradient arrives.

Everything fast in this package does what stands here and in `dispatch.apply`, with the questions answered beforehand: `saving.py` and
`fast/steps.py` compile these two functions for each operation, `fast/lanes.py` compiles `apply`, `fast/straight.py`
walks plain graphs as `core/backward.py` walks all. With the environment variable `AUTOLAB_ENGINE=plain` none of them is used: every operation
runs as it reads. `tests/engine/test_plain.py` drives both with the same calls, `tests/engine/test_lockstep.py` with the same programs.
"""

from __future__ import annotations

import os

from .node import Unusual, opened
from .errors import fail
from .storage import InferenceStorage
from .tensor import Tensor, contiguous_strides

CHOSEN = os.environ.get("AUTOLAB_ENGINE", "")
if CHOSEN not in ("", "fast", "plain"):
    raise ValueError(f"AUTOLAB_ENGINE should be 'fast' or 'plain', but is {CHOSEN!r}")
PLAIN = CHOSEN == "plain"
"""Whether the engine runs without its compiled functions; decided when `autolab` is imported."""


def save(op, args, outs, edges) -> list:
    """What a node of `op` keeps for its backward: one entry for each name that its rules read, in the record's order.

    args: the arguments of the call. outs: its results, Tensors. edges: per rule the node that its gradient goes to, or None. Only what some
    gradient will need is kept; None stands for the rest. A tensor is kept with its version, so that backward notices a change in place:
    an argument as (Tensor, version), a result as (array, storage, version), for the result itself would hold the node that holds it."""
    entries: list = []
    for kind, index, readers in zip(op.save_kinds, op.save_index, op.needed_by):
        always = readers is None or op.spread or len(op.rules) == 1
        if not always and all(edges[rule] is None for rule in readers):
            entries.append(None)
        elif kind == "output":
            entries.append(FACTS["output"](outs[index]))
        elif kind == "attr":
            entries.append(args[index])
        elif kind == "input":
            entry = FACTS["operands" if op.params[index] in op.lists else "operand"](args[index])
            entries.append(args[index] if entry[1:] == (None,) else entry)  # a number
        else:  # a fact about an argument, such as its shape
            entries.append(FACTS[kind.partition(":")[2]](args[index]))
    return Unusual(entries)


def _output(o):
    return o._array, o._storage, o._storage.version


def _operand(a):
    if not isinstance(a, Tensor):
        return a, None
    storage = a._storage
    if storage.__class__ is InferenceStorage:
        raise inference_saved()
    return a, storage.version


def _operands(a):
    return _operand(a) if isinstance(a, Tensor) else tuple([_operand(t) if isinstance(t, Tensor) else t for t in a])


def strides_of(t):
    """`t.stride()`; of matrices without its questions, because every product saves two."""
    d = t._array
    if d.ndim == 4:  # the tensor may have to be put in order first
        return t.stride()
    if d.flags.c_contiguous:
        return contiguous_strides(d.shape)
    size = d.itemsize
    return tuple([n // size for n in d.strides])


def _each(fact):
    """`fact` of a Tensor, or of each in a list."""

    def of(a):
        return tuple(of(x) for x in a) if a.__class__ in (list, tuple) else fact(a)

    return of


FACTS = {
    "output": _output,
    "operand": _operand,
    "operands": _operands,
    "sizes": _each(lambda a: a._array.shape),
    "sizes_opt": _each(lambda a: (0,) if a is None else a._array.shape),
    "numel": _each(lambda a: int(a._array.size)),
    "strides": _each(strides_of),
    "argsize_0": _each(lambda a: a._array.shape[0]),
    "argsize_1": _each(lambda a: a._array.shape[1]),
    "argsize_2": _each(lambda a: a._array.shape[2]),
    "argsize_minus_1": _each(lambda a: a._array.shape[-1]),
    "argsize_minus_2": _each(lambda a: a._array.shape[-2]),
}
"""What is kept of an argument or a result, by what the record asks for."""


def inference_saved():
    return fail(
        RuntimeError,
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
        "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
        "`torch.no_grad()` instead of `torch.inference_mode()`.",
        "Inference mode keeps no version counter, so the graph could not notice later changes.",
    )


def backward(node, m, g) -> tuple:
    """What a node does when the gradient `g` of its result arrives: the chain rule.

    For each operand that wants a gradient, the operation's rule multiplies what arrived by the local derivative, which it works out from
    what the node saved. That is all: the engine sums what several nodes send to one operand, and goes on from there. m: the operations the
    rules are written in, on arrays, or on Tensors when the gradient is to have a graph of its own."""
    op = node.op
    if op.variadic and node.num_outputs == 1 or not op.variadic and node.direct and node.num_outputs > 1 and g.__class__ is not list:
        g = (g,)  # the rules of an operation with several results read a list
    saved = _values(node, m)
    if op.spread:  # one rule for all elements of a list
        (_, rule, names), = op.rules
        return tuple(rule(m, g, *[saved[name] for name in names]))
    if op.fused is not None and not m.traced:
        return op.fused(m, g, [target is not None for target in node.inputs], **saved)
    return tuple([
        None if target is None else rule(m, g, *[saved[name] for name in names])
        for target, (_, rule, names) in zip(node.inputs, op.rules)
    ])


def _values(node, m) -> dict:
    """What a node saved, by name: arrays, or Tensors where `m` computes with Tensors. Raises when it was freed, or changed in place."""
    op, found = node.op, {}
    for k, (name, kind, index, entry) in enumerate(zip(op.saves, op.save_kinds, op.save_index, node._entries())):
        if entry is not None and kind in ("input", "output"):
            if kind == "input" and op.params[index] in op.lists:
                entry = opened(node, entry, m.traced)
            else:
                entry = node.unpack(k)  # checks the version
                entry = entry if m.traced else _array(entry)
        found[name] = entry
    return found


def _array(t):
    return getattr(t, "_array", t)
