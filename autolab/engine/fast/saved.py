"""How a node keeps what its rules need: one flat tuple, because a tuple per tensor cost as much as a small kernel and
half the garbage collector's work.

An entry takes two places for an input (the Tensor and its version, or a number and None), three for an output (array,
storage, version: never the Tensor, which would hold itself) and one for everything else; None stands in all places of
what no gradient will ask for. Nodes with something unusual, or made by the core, keep the list of entries that
`Node.entries` describes.
"""

from __future__ import annotations

import functools

from ..core.node import GONE, Freed, Node
from .. import generated


_entries, _release = Node.entries, Node.release


@functools.cache
def kinds(op) -> tuple[str, ...]:
    """The kind of each entry: "input", "output", or "" for what takes one place."""
    return tuple(
        kind if kind == "output" or kind == "input" and op.params[index] not in op.lists else ""
        for kind, index in zip(op.save_kinds, op.save_index)
    )


def places(op) -> list[str]:
    """The names under which generated code knows the places: `s0, v0` of an input, `s1, t1, v1` of an output, `s2`."""
    names = {"input": ("s{k}", "v{k}"), "output": ("s{k}", "t{k}", "v{k}"), "": ("s{k}",)}
    return [name.format(k=k) for k, kind in enumerate(kinds(op)) for name in names[kind]]


def flat(entry, kind):
    """The places of one entry."""
    if kind == "input":
        return entry if entry.__class__ is tuple else (entry, None)
    if kind == "output":
        return (None, None, None) if entry is None else entry
    return (entry,)


def entries(node) -> list:
    """`Node.entries` of a node that may have been made by a lane."""
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
    """`Node.release` of a node that may have been made by a lane."""
    if node.frees_all:
        there = node.saved is not None
        node.saved = None
        return there
    if node.saved.__class__ is not tuple:
        return _release(node)
    if not node.op.saves_tensors:
        return False
    left = freeing(node.op, GONE)(node.saved)
    if left is None:  # nothing that a second backward would miss
        return False
    node.saved = Freed(left)
    return True


@functools.cache
def freeing(op, gone):
    """A function of the flat tuple of a node of `op`: the list of entries with `gone` in place of every tensor; None if
    there is none.

    A number that PyTorch keeps as a tensor (of `x * 2`) counts as one, an index (of `x[0]`) does not. Compiled, because
    most nodes are freed once each: looking through the record at every node cost 4 µs."""
    left, may_go = [], []
    for k, (kind, stored, index) in enumerate(zip(op.save_kinds, kinds(op), op.save_index)):
        if stored == "output":
            left.append(f"gone if v{k} is not None else None")
        elif (
            kind == "input" and op.params[index] in op.operands and not op.keeps_number(op.saves[k])
        ):
            left.append(f"gone if s{k} is not None else None")
        elif kind in ("input", "output"):
            left.append(f"s{k} if s{k} is None or isinstance(s{k}, numbers) else gone")
        else:
            left.append(f"s{k}")
            continue
        may_go.append(f"left[{k}] is gone")
    names = ", ".join(places(op))
    source = f"def free(saved):\n {names}, = saved\n left = [{', '.join(left)}]\n return left if {' or '.join(may_go) or False} else None"
    environment = {"gone": gone, "numbers": (bool, int, float, complex)}
    return generated.function("free", source, environment, f"fast/<freeing of {op.name}>")
