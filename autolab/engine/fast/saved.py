"""Saved values of a compiled node, stored in one flat tuple. One tuple per tensor would take as long as a small kernel,
and double the work of the garbage collector.

An input takes two places (the Tensor and its version, or a number and None), an output three (array, storage, version)
and anything else one. If no gradient needs an entry, all its places are None. Nodes with unusual values, and nodes made
by the core, keep the list that `Node.entries` describes.
"""

from __future__ import annotations

import functools

from .. import generated
from ..core.node import Node
from ..core.saving import GONE, Freed


_entries, _release = Node.entries, Node.release


@functools.cache
def kinds(op) -> tuple[str, ...]:
    """Return the kind of each saved entry: "input", "output", or "" for an entry that takes one place."""
    return tuple(
        kind if kind == "output" or kind == "input" and op.params[index] not in op.lists else ""
        for kind, index in zip(op.save_kinds, op.save_index)
    )


def places(op) -> list[str]:
    """Return the variables that hold the saved entries in generated code: `s0, v0` for an input, `s1, t1, v1` for an
    output, `s2` for a number."""
    names = {"input": ("s{k}", "v{k}"), "output": ("s{k}", "t{k}", "v{k}"), "": ("s{k}",)}
    return [name.format(k=k) for k, kind in enumerate(kinds(op)) for name in names[kind]]


def flat(entry, kind):
    """Return one entry as a list of its places."""
    if kind == "input":
        return entry if entry.__class__ is tuple else (entry, None)
    if kind == "output":
        return (None, None, None) if entry is None else entry
    return (entry,)


def entries(node) -> list:
    """Return `Node.entries` of a node, which a compiled path may have made."""
    saved = node.saved
    if saved.__class__ is not tuple or node.op is None:
        return _entries(node)
    found, rest = [], iter(saved)
    for kind in kinds(node.op):
        if kind == "input":
            value, version = next(rest), next(rest)
            found.append(value if version is None else (value, version))
        elif kind == "output":
            triple = next(rest), next(rest), next(rest)
            found.append(None if triple[2] is None else triple)
        else:
            found.append(next(rest))
    return found


def release(node) -> bool:
    """Run `Node.release` of a node, which a compiled path may have made."""
    if node.frees_all:
        there = node.saved is not None
        node.saved = None
        return there
    if node.saved.__class__ is not tuple:
        return _release(node)
    if not node.op.saves_tensors:
        return False
    left = freeing(node.op)(node.saved)
    if left is None:  # nothing that a second backward pass would need
        return False
    node.saved = Freed(left)
    return True


@functools.cache
def freeing(op):
    """Return a function of the flat tuple of a node of `op`. It returns the list of entries with every tensor replaced
    by `GONE`, or None if there is no tensor; see `Node._holds`. It is compiled, because most nodes are freed once
    each."""
    left, may_go = [], []
    for k, (kind, stored, index) in enumerate(zip(op.save_kinds, kinds(op), op.save_index)):
        there = f"v{k} is not None" if stored == "output" else f"s{k} is not None"
        if kind not in ("input", "output"):
            left.append(f"s{k}")
            continue
        if kind == "input" and (
            op.params[index] not in op.operands or op.keeps_number(op.saves[k])
        ):
            there += f" and not isinstance(s{k}, numbers)"
        left.append(f"gone if {there} else s{k}")
        may_go.append(f"left[{k}] is gone")
    names = ", ".join(places(op))
    source = f"def free(saved):\n {names}, = saved\n left = [{', '.join(left)}]\n return left if {' or '.join(may_go)} else None"
    environment = {"gone": GONE, "numbers": (bool, int, float)}
    return generated.function("free", source, environment, f"fast/<freeing of {op.name}>")
