"""The backward step of a node, compiled from the record of its op."""

from __future__ import annotations

import numpy as np

from .. import generated
from ..autograd.refusals import freed, stale
from ..core import namespaces
from ..core.device import ARRAY_CLASSES
from ..core.saving import Freed, PackedTensor, opened
from ..exact.sums import fitted
from . import delivery, saved


def first(name):
    """Return a function to use as `backward_raw` or `step` of all nodes until the real one is compiled for the nodes of
    an op.

    The functions are compiled from the record (as dataclasses compile __init__), because a loop over rules and saved
    entries takes 0.9 µs per node and the compiled form 0.35 µs; on a scalar graph the difference is a quarter of the
    backward pass. They are compiled on first use, because compiling every op would double the time of `import
    autolab`."""

    def first(node, *args):
        """Compute the node's gradients; this compiles the function at the first call. The engine calls it."""
        if name == "step" and not node.direct:
            return None
        setattr(node.op.node_class, name, _compile(node.op, name))
        return getattr(node, name)(*args)

    return first


SIGNATURES = {
    "backward_raw": "def backward_raw(node, m, g):",
    "step": "def step(node, g, retain_graph, leaves, pending):",
}


def _compile(op, name):
    """Return one of two functions: `backward_raw` returns the gradients of the inputs from raw arrays, as
    `core.node.backward` does; `step` does everything that `straight` does at a node.

    Each class has its own function, because CPython 3.11 reads an attribute quickly only if all objects at that line
    have the same class."""
    step = name == "step"
    lines = [SIGNATURES[name]]
    if step:
        lines.append(" if node.hooks is not None: return None")
    lines += [f" {line}" for line in _loading_lines(op)]
    whole = op.spread or op.fused is not None  # one function returns all gradients
    targets = None if whole or not op.rules else [f"n{r}" for r in range(len(op.rules))]
    lines.append(f" {'inputs' if targets is None else ', '.join(targets) + ','} = node.inputs")
    gradients = _gradients(op, asked=not step or len(op.rules) > 1)
    if step:
        lines += [f" {line}" for line in _sending_lines(op, gradients, targets)]
    else:
        lines.append(f" return {gradients}")
    environment = {
        "Freed": Freed,
        "free": saved.freeing(op) if step and op.saves_tensors else None,
        "stale": stale,
        "unusual": _flat_saved,
        "opened": opened,
        "ARRAY_CLASSES": ARRAY_CLASSES,
        "fused": op.fused,
        "fitted": fitted,
        "m": namespaces.raw(np),
        **delivery.ENVIRONMENT,
        **{f"r{i}": rule for i, (_, rule, _) in enumerate(op.rules)},
    }
    return generated.function(name, "\n".join(lines), environment, f"fast/<{name} of {op.name}>")


def _arrived(op):
    """Return the gradient in the form that rules expect: a list if the operation can have several outputs."""
    if op.variadic:
        return "(g,) if node.num_outputs == 1 else g"
    several = op.node_class.direct and op.node_class.num_outputs > 1
    return "g if g.__class__ is list else (g,)" if several else "g"


def _loading_lines(op):
    """Return the lines that load the node's saved arrays into `s0`, `s1` …, as `core.node.Node.unpack` does."""
    if not op.saves:
        return []
    lines = [
        "saved = node.saved",
        "if saved.__class__ is not tuple: saved = unusual(node)",
        f"{', '.join(saved.places(op))}, = saved",
    ]
    for k, (kind, index) in enumerate(zip(op.save_kinds, op.save_index)):
        if kind == "input" and op.params[index] in op.lists:
            lines.append(f"s{k} = [opened(node, item, False) for item in s{k}]")
        elif kind == "input":
            lines += [
                f"if v{k} is not None:",
                f" memory = s{k}._memory",
                f" if memory is not None and memory.version != v{k}:",
                f"  raise stale(node, memory, v{k}, s{k}._array.shape, s{k}._array.dtype, s{k}.grad_fn)",
                f" s{k} = s{k}._array",
            ]
        elif kind == "output":
            # An output without a gradient, such as an index, has no node.
            made_by = "None" if op.outputs and op.outputs[index] in op.nondiff else "node"
            if op.saves[k] in op.hidden:  # see `Node.unpack`
                lines.append(f"if v{k} is not None and t{k}.version != v{k}: s{k} = v{k} = None")
            lines += [
                f"if v{k} is not None:",
                f" if t{k}.version != v{k}: raise stale(node, t{k}, v{k}, s{k}.shape, s{k}.dtype, {made_by}, {index})",
                # The scalar may have been converted to an array since it was saved.
                f" if t{k}.array is not None and s{k}.__class__ not in ARRAY_CLASSES: s{k} = t{k}.array",
            ]
    return lines


def _gradients(op, asked):
    """Return an expression for the gradients of all inputs. asked: whether to test for each input that it needs a
    gradient; a single input always does."""
    arrived = _arrived(op)
    if op.fused is not None and not op.spread:
        values = ", ".join(f"{n}=s{k}" for k, n in enumerate(op.saves))
        return f"fused(m, {arrived}, [i is not None for i in inputs], {values})"
    place = {n: f"s{k}" for k, n in enumerate(op.saves)}
    calls = [
        f"r{r}({', '.join(['m', arrived, *(place[n] for n in names)])})"
        for r, (_, _, names) in enumerate(op.rules)
    ]
    if op.spread:
        return f"tuple({calls[0]})"
    if asked:
        calls = [f"{call} if n{r} is not None else None" for r, call in enumerate(calls)]
    return f"({', '.join(calls)}{',' if calls else ''})"


def _sending_lines(op, gradients, targets):
    """Return the lines of `step` that bring the gradients to the shapes and dtypes of the inputs (as
    `core.node.apply_fix`), free the saved values, and send the gradients on.

    targets: the names of the inputs, or None if their number is not known."""
    if targets is None:
        out, names = "out", None
        lines = [
            f"out = {gradients}",
            "fix = node.fix",
            "if fix is not None: out = [fitted(o, f) for o, f in zip(out, fix)]",
        ]
    else:  # no loop, because a loop takes 0.8 µs
        names = [f"o{r}" for r in range(len(targets))]
        out = f"({', '.join(names)},)"
        lines = [f"{', '.join(names)}, = {gradients}", "fix = node.fix", "if fix is not None:"]
        lines += [
            f" if fix[{r}] is not None: {o} = fitted({o}, fix[{r}])" for r, o in enumerate(names)
        ]
    if op.node_class.frees_all:
        lines.append("if not retain_graph: node.saved = None")
    elif op.saves_tensors:  # `release` without the method call
        lines += ["if not retain_graph:", " if node.saved is not saved: node.release()"]
        lines += [" elif (left := free(saved)) is not None: node.saved = Freed(left)"]
    return [*lines, *delivery.delivering(out, targets, names)]


def _flat_saved(node):
    """Return the saved values of a node as a flat tuple, the form that compiled functions expect, if the node holds a
    list or packed tensors; unpack hooks are called. Raise torch's error if the values were freed."""
    if node.saved is None or node.saved.__class__ is Freed:
        raise freed()
    places = []
    for e, kind in zip(node.entries(), saved.kinds(node.op)):
        if isinstance(e, PackedTensor):
            array = e.tensor(node, False)._array
            places += (array, None) if kind == "input" else (array, None, None)
        else:
            places += saved.flat(e, kind)
    return tuple(places)
