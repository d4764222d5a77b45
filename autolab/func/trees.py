"""Nested arguments (tuples, lists, dicts of tensors) as flat lists of leaves with a description of the nesting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """Return the leaves of `tree` and its structure: None for a leaf, (class, keys, structures inside) for a
    container."""
    keys, parts = (list(tree), tree.values()) if isinstance(tree, dict) else (None, tree)
    if not isinstance(tree, (tuple, list, dict)):
        return [tree], None
    inside = [flatten(part) for part in parts]
    leaves = [leaf for found, _ in inside for leaf in found]
    return leaves, (type(tree), keys, [spec for _, spec in inside])


def unflatten(leaves: Any, spec: Any) -> Any:
    """Rebuild a tree from its leaves and structure: the inverse of `flatten`."""
    return _rebuild(iter(leaves), spec)


def _rebuild(leaves: Any, spec: Any) -> Any:
    if spec is None:
        return next(leaves)
    kind, keys, inside = spec
    parts = [_rebuild(leaves, child) for child in inside]
    return kind(zip(keys, parts)) if keys is not None else getattr(kind, "_make", kind)(parts)


def mapped(f: Callable[[Any], Any], tree: Any) -> Any:
    """Return `tree` with each leaf replaced by `f(leaf)`."""
    leaves, spec = flatten(tree)
    return unflatten(map(f, leaves), spec)


def spread(prefix: Any, spec: Any) -> list[Any]:
    """Return the leaves of `prefix`, each repeated for every leaf at its place in `spec`: `in_dims=(0, None)` then
    gives one dimension for every tensor in two arguments. Raise ValueError if the nesting differs."""
    if spec is None or not isinstance(prefix, (tuple, list, dict)):
        return [prefix] * count(spec)
    _, keys, inside = spec
    if isinstance(prefix, dict) is (keys is None) or len(prefix) != len(inside):
        raise ValueError
    parts = prefix if keys is None else [prefix[key] for key in keys]
    return [leaf for part, child in zip(parts, inside) for leaf in spread(part, child)]


def count(spec: Any) -> int:
    """Return the number of leaves in a structure."""
    return 1 if spec is None else sum(map(count, spec[2]))
