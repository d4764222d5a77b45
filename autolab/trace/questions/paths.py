"""The paths of a graph from one node to another, with the product of local derivatives along each. Their sum is the
gradient.

Paths are counted, and summed, node by node: a graph of fifty diamonds has 2**50 of them. `static/paths.js` does the
same on a page."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...engine.core.errors import fail
from ..model import Edge, Trace
from ..replay import Again, Unknown
from ..values import number

MOST = 50
"""Up to so many paths are listed."""
ENTRIES = 256
"""Jacobians of up to so many numbers are sent to a page."""


@dataclass(frozen=True)
class Path:
    """One path. nodes: their names, from the leaf to the result. edges: ids. factors: the local derivative along
    each edge, None if unknown. product: of shape (numbers in the result, numbers in the leaf); None if a factor is
    unknown."""

    nodes: tuple[str, ...]
    edges: tuple[str, ...]
    factors: tuple[np.ndarray | None, ...]
    product: np.ndarray | None

    def __repr__(self) -> str:
        return f"{' → '.join(self.nodes)}: {_shown(self.product)}"


@dataclass(frozen=True)
class Paths:
    """All paths between two nodes.

    count   : number of paths. paths: all paths if there are at most 50; else the largest, or none for tensors.
    gradient: the sum of their products, of shape (numbers in the result, numbers in the leaf); None if a local
        derivative is unknown. by_path, in_reverse: number of scalar multiplications along each path separately, and in
        one reverse pass (whole Jacobians; the rules of operations on tensors take fewer).
    """

    count: int
    paths: tuple[Path, ...]
    gradient: np.ndarray | None
    by_path: int
    in_reverse: int

    def __repr__(self) -> str:
        counted = f"{self.count:,} path{'s' * (self.count != 1)}, sum {_shown(self.gradient)}"
        return f"{counted}; multiplications: {self.by_path:,} path by path, {self.in_reverse:,} in reverse mode"


def _shown(product: np.ndarray | None) -> str:
    return (
        "not known"
        if product is None
        else f"{product.item():.6g}"
        if product.size == 1
        else f"{product.shape[0]} x {product.shape[1]}"
    )


def local_derivatives(trace: Trace) -> dict[str, np.ndarray]:
    """Return edge id -> the known derivative of its child with respect to its parent, as a matrix (numbers in the
    child, numbers in the parent)."""
    again, found = Again(trace), {}
    for edge in trace.edges:
        if edge.differentiable and not edge.update and _sizes(trace, edge) is not None:
            rows, columns = _sizes(trace, edge) or (0, 0)
            try:
                if rows * columns <= ENTRIES:
                    found[edge.id] = again.local(edge).reshape(rows, columns).astype(np.float64)
            except Unknown:
                continue
    return found


def to_json(derivatives: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return the derivatives as plain data."""
    return {
        edge: [[number(item) for item in row] for row in matrix]
        for edge, matrix in derivatives.items()
    }


def _sizes(trace: Trace, edge: Edge) -> tuple[int, int] | None:
    child, parent = trace.node(edge.child).shape, trace.node(edge.parent).shape
    if child is None or parent is None or edge.parent_nr:
        return None
    return math.prod(child), math.prod(parent)


def paths(trace: Trace, leaf: str, result: str, derivatives: dict[str, np.ndarray]) -> Paths:
    """Return the paths from node `leaf` to node `result` (ids). derivatives: the result of `local_derivatives`.

    Raises ValueError where no gradient can flow from one to the other.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> trace = torch.trace.trace(x * x + x)
    >>> found = paths(trace, "n0", "n2", local_derivatives(trace))
    >>> found
    3 paths, sum 7; multiplications: 5 path by path, 4 in reverse mode
    >>> found.paths[0]
    x → v1 → v2: 3
    """
    edges = between(trace, leaf, result)
    into: dict[str, list[Edge]] = {}
    for edge in edges:
        into.setdefault(edge.child, []).append(edge)
    size = {node.id: math.prod(node.shape or ()) for node in trace.nodes}
    order = sorted(
        {n for edge in edges for n in (edge.parent, edge.child)}, key=lambda n: int(n[1:])
    )
    down, up = {leaf: 1}, {result: 1}  # number of paths from the leaf, and to the result
    best: dict[str, list[tuple[Edge, ...]]] = {leaf: [()]}
    begun = any(
        e.parent == leaf and e.id in derivatives for e in edges
    )  # the derivatives of a big tensor are not known
    total: dict[str, np.ndarray | None] = {leaf: np.eye(size[leaf]) if begun else None}
    scalar = all(size[n] == 1 for n in order)
    for node in order:
        if node == leaf:
            continue
        coming = into.get(node, [])
        down[node] = sum(down[e.parent] for e in coming)
        known: list[Any] = [(derivatives.get(e.id), total[e.parent]) for e in coming]
        whole = all(d is not None and t is not None for d, t in known)
        total[node] = sum(d @ t for d, t in known) if whole else None
        found = [(*path, edge) for edge in coming for path in best[edge.parent]]
        if scalar:
            found.sort(key=lambda path: -abs(math.prod(_number(derivatives, e) for e in path)))
        best[node] = found[:MOST]
    for node in reversed(order):
        for edge in into.get(node, []):
            up[edge.parent] = up.get(edge.parent, 0) + up[node]
    work = {e.id: size[result] * size[e.child] * size[e.parent] for e in edges}
    kept = best[result] if down[result] <= MOST or scalar else []
    return Paths(
        down[result],
        tuple(_path(trace, path, derivatives) for path in kept),
        total[result],
        sum(work[e.id] * up[e.child] * down[e.parent] for e in edges if e.id in work),
        sum(work.values()),
    )


def between(trace: Trace, leaf: str, result: str) -> list[Edge]:
    """Return the edges on all paths along which a gradient can flow from `result` to `leaf`. Raises ValueError if there
    are none."""
    reached, leads = {leaf}, {result}
    edges = [edge for edge in trace.edges if edge.differentiable and not edge.update]
    edges.sort(key=lambda edge: int(edge.child[1:]))  # parents come before children
    for edge in edges:
        if edge.parent in reached:
            reached.add(edge.child)
    for edge in reversed(edges):
        if edge.child in leads:
            leads.add(edge.parent)
    found = [edge for edge in edges if edge.parent in reached and edge.child in leads]
    if not found:
        labels = trace.node(leaf).label, trace.node(result).label
        note = "A path leads from what a result was computed from to the result, and nothing on it is cut by detach() or no_grad()."
        raise fail(ValueError, f"no gradient flows from {labels[1]} to {labels[0]}", note)
    return found


def _number(derivatives: dict[str, np.ndarray], edge: Edge) -> float:
    return float(derivatives[edge.id][0, 0]) if edge.id in derivatives else 0.0


def _path(trace: Trace, path: tuple[Edge, ...], derivatives: dict[str, np.ndarray]) -> Path:
    factors = tuple(derivatives.get(edge.id) for edge in path)
    product: Any = None
    if all(factor is not None for factor in factors):
        for factor in factors:
            product = factor if product is None else factor @ product
    nodes = (trace.node(path[0].parent).label, *(trace.node(edge.child).label for edge in path))
    return Path(nodes, tuple(edge.id for edge in path), factors, product)
