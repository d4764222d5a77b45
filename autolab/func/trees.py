"""Nested arguments (tuples, lists, dicts of tensors) as flat lists, and what was nested how.

Source: `torch.utils._pytree`; its way of writing structures stands in error texts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Spec:
    """How something is nested: `kind` is the container (None: a leaf), `context` its keys or its class, `children` the
    parts."""

    kind: Callable | None = None
    context: Any = None
    children: tuple[Spec, ...] = ()

    def __repr__(self, indent=0):
        if self.kind is None:
            return "*"
        indent += 2
        parts = [child.__repr__(indent) for child in self.children]
        inside = f",\n{' ' * indent}".join(parts)
        return f"TreeSpec({self.kind.__name__}, {self.context}, [{inside}])"


LEAF = Spec()


def _opened(tree):
    """Return (kind, context, parts) of a container; None for a leaf."""
    kind = type(tree)
    if kind is tuple or kind is list:
        return kind, None, tree
    if kind is dict or kind is OrderedDict:
        return kind, list(tree), tree.values()
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return namedtuple, kind, tree
    return None


def namedtuple(kind, parts):
    """Return a named result (such as torch.max gives) with its parts."""
    return kind._make(parts) if hasattr(kind, "_make") else kind(parts)


def flatten(tree):
    """Return (all leaves, how they were nested). Tuples, lists, dicts and named tuples are opened; anything else, None
    too, is a leaf."""
    leaves: list = []
    return leaves, _flatten_into(leaves, tree)


def _flatten_into(leaves, tree):
    opened = _opened(tree)
    if opened is None:
        leaves.append(tree)
        return LEAF
    kind, context, parts = opened
    return Spec(kind, context, tuple(_flatten_into(leaves, part) for part in parts))


def unflatten(leaves, spec):
    """Return the inverse of `flatten`."""
    return _rebuilt(iter(leaves), spec)


def _rebuilt(leaves, spec):
    if spec.kind is None:
        return next(leaves)
    parts = [_rebuilt(leaves, child) for child in spec.children]
    if spec.kind is namedtuple:
        return namedtuple(spec.context, parts)
    return spec.kind(parts if spec.context is None else zip(spec.context, parts))


def mapped(f, tree):
    """Return `tree` with `f(leaf)` in the place of each leaf."""
    leaves, spec = flatten(tree)
    return unflatten([f(leaf) for leaf in leaves], spec)


def count(spec: Spec) -> int:
    """Return the number of leaves."""
    return 1 if spec.kind is None else sum(map(count, spec.children))


def broadcast(prefix, spec):
    """Return the leaves of `prefix`, each as often as there are leaves below its place in `spec`; None where it is
    nested otherwise.

    So `in_dims=(0, None)` says a dimension for every tensor in two arguments."""
    opened = _opened(prefix)
    if opened is None:
        return [prefix] * count(spec)
    kind, context, parts = opened
    if kind is not spec.kind or len(parts) != len(spec.children):
        return None
    if context is None or kind is namedtuple:
        below = [broadcast(part, child) for part, child in zip(parts, spec.children)]
    elif set(context) != set(spec.context):
        return None
    else:
        below = [broadcast(prefix[key], child) for key, child in zip(spec.context, spec.children)]
    return None if any(f is None for f in below) else [leaf for f in below for leaf in f]


class _Star:
    def __repr__(self):
        return "*"


def drawn(spec: Spec) -> str:
    """Return the structure as a learner would write it: `(*, {'a': *})`."""
    return repr(unflatten([_Star()] * count(spec), spec))
