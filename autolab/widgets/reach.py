"""Find how far backward goes in a network with frozen layers: from a trace, or from the order of the layers."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..trace import passes, trace
from ..trace.model import Node, Trace
from ..trace.reader import is_tensor, reader_for
from .frozen import Layer, names, parameters


@dataclasses.dataclass(frozen=True)
class Reach:
    """The extent of a backward pass.

    layer     : path of the last layer that backward reaches, None if it reaches none.
    unvisited : layers with parameters that backward never visits (they lie before that layer).
    passed    : frozen layers that the gradient passes through.
    node      : id of the operation of the trace where backward ends, None without a trace.
    dimmed    : ids of the trace's nodes that backward never visits.
    visited, operations : how many operations of the trace backward visits, and of how many.
    traced    : read from a graph; False: from the order in which layers are registered.
    """

    layer: str | None
    unvisited: tuple[str, ...]
    passed: tuple[str, ...]
    node: str | None = None
    dimmed: tuple[str, ...] = ()
    visited: int = 0
    operations: int = 0
    traced: bool = False

    def sentences(self) -> list[str]:
        """Return the sentences about it for a learner."""
        if self.layer is None:
            return ["Backward visits nothing: no parameter needs a gradient."]
        said = [f"Backward ends at {names([self.layer])}, the last it reaches."]
        if self.unvisited:
            said.append(
                f"It never visits {names(list(self.unvisited))}: no gradient is needed there or before."
            )
        else:
            said.append("It visits every layer that has parameters.")
        if self.passed:
            said.append(
                f"It passes through frozen layers ({names(list(self.passed))}), because layers before them are trained."
            )
        if self.traced:
            said.append(f"{self.visited} of {self.operations} operations of the graph are visited.")
        else:
            said.append(
                "This is by the order in which the layers are registered; give loss= or forward= to see the graph."
            )
        return said


def by_order(layers: list[Layer]) -> Reach:
    """Return the reach as if the layers ran in the order of their registration."""
    owners = [layer for layer in layers if layer.own]
    first = next((i for i, layer in enumerate(owners) if layer.trainable), None)
    if first is None:
        return Reach(None, tuple(layer.path for layer in owners), ())
    return Reach(
        owners[first].path,
        tuple(layer.path for layer in owners[:first]),
        tuple(layer.path for layer in owners[first:] if layer.trainable is False),
    )


def in_trace(layers: list[Layer], seen: Trace) -> Reach | None:
    """Return what backward would visit in the graph of `seen`, if that graph were made with the present settings.

    Return None if the graph lacks a parameter that is trained now: it was made while that one was frozen, or belongs to
    something else.
    """
    graph = _Graph(seen, dict(parameters(layers)))
    if not graph.complete():
        return None
    ops = [node for node in seen.nodes if node.kind == "op"]
    end = next((n for n in ops if n.id in graph.visited and n.id in graph.from_data), None)
    end = end or next((n for n in ops if n.id in graph.visited), None)
    met: dict[
        str, bool
    ] = {}  # layer with parameters -> whether backward visits an operation that uses them
    for layer in layers:
        uses = [use for name, _ in layer.own for use in graph.uses(name)]
        if uses:
            met[layer.path] = any(use in graph.visited for use in uses)
    last = None if end is None else graph.layer_of(end, layers)
    # Constants such as targets take part in visited operations, so they are not dimmed.
    beside = {
        p
        for op in graph.visited
        for p, _ in graph.parents[op]
        if seen.node(p).kind == "data" and graph.is_data(p)
    }
    return Reach(
        last,
        tuple(path for path, visited in met.items() if not visited),
        tuple(a.path for a in layers if met.get(a.path) and a.trainable is False),
        end.id if end else None,
        tuple(n.id for n in seen.nodes if n.id not in graph.wanting | graph.visited | beside),
        len(graph.visited),
        len(ops),
        True,
    )


def facts(layers: list[Layer], seen: Trace) -> dict[str, Any]:
    """Return the data that `in_trace` uses, for `static/frozen.js`: of each node its kind, its parameter, whether it
    could require grad, whether it is a number, its module; of each edge its ends, and whether gradients go along it."""
    graph = _Graph(seen, dict(parameters(layers)))
    nodes = [
        [n.kind, graph.named.get(n.id), n.requires_grad, n.shape == (), n.module]
        for n in seen.nodes
    ]
    return {
        "nodes": nodes,
        "edges": [[int(e.parent[1:]), int(e.child[1:]), e.differentiable] for e in seen.edges],
    }


class _Graph:
    """The graph's relevant ids. `wanting`: leaves that require grad now; `visited`: operations that backward visits;
    `from_data`: operations with an operand that does not come from parameters only."""

    def __init__(self, seen: Trace, known: Mapping[str, Any]):
        self.known, self.nodes = known, {node.id: node for node in seen.nodes}
        self.named = {
            node.id: name for node in seen.nodes if (name := self._parameter(node)) is not None
        }
        self.wanting = {n.id for n in seen.nodes if n.kind != "op" and self._wants(n)}
        self.parents: dict[str, list[tuple[str, bool]]] = {}
        for edge in seen.edges:
            self.parents.setdefault(edge.child, []).append((edge.parent, edge.differentiable))
        self.visited: set[str] = set()
        self.from_data: set[str] = set()
        for node in seen.nodes:  # in forward order, so parents come first
            before = self.parents.get(node.id, [])
            if node.kind == "op":
                if any(ok and (p in self.visited or p in self.wanting) for p, ok in before):
                    self.visited.add(node.id)
                if any(self.is_data(p) for p, _ in before):
                    self.from_data.add(node.id)

    def _parameter(self, node: Node) -> str | None:
        if node.kind == "op":
            return None
        name = node.name or node.label
        return (
            name
            if name in self.known
            else next((n for n in self.known if name.endswith(f".{n}")), None)
        )

    def _wants(self, node: Node) -> bool:
        name = self.named.get(node.id)
        return node.requires_grad if name is None else bool(self.known[name].requires_grad)

    def is_data(self, node_id: str) -> bool:
        """Return whether a node is data, or computed from data; numbers such as 3 don't count."""
        node = self.nodes[node_id]
        return (
            node_id in self.from_data
            if node.kind == "op"
            else node_id not in self.named and node.shape != ()
        )

    def complete(self) -> bool:
        """Return whether this graph contains every parameter that is trained now and used at all."""
        leaves = {name: self.nodes[node_id].requires_grad for node_id, name in self.named.items()}
        return bool(leaves) and all(
            leaves.get(name, False) for name, p in self.known.items() if p.requires_grad
        )

    def uses(self, name: str) -> list[str]:
        """Return the operations that combine a parameter with data; for a weight that is transposed first, the
        product."""
        uses, level = [], [node_id for node_id, known in self.named.items() if known == name]
        while level:
            children = [
                c for c, before in self.parents.items() if any(p in level for p, _ in before)
            ]
            uses += [c for c in children if c in self.from_data]
            level = [c for c in children if c not in self.from_data]
        return uses

    def layer_of(self, end: Node, layers: list[Layer]) -> str | None:
        if end.module:
            return end.module
        for layer in layers:
            if any(end.id in self.uses(name) for name, p in layer.own if p.requires_grad):
                return layer.path
        return None


def as_trained(full: Trace, reach: Reach) -> Trace:
    """Return the graph that training makes with the present settings: `full` without gradients, saved tensors and
    backward steps where backward does not go."""
    hidden = set(reach.dimmed)
    why = {
        n: passes.own_reason(_frozen_node(full.node(n)), (), full.node(n).kind == "leaf")
        for n in reach.dimmed
    }
    frames = [
        f for f in full.frames if f.phase == "forward" or (f.receiver or f.node) not in hidden
    ]
    saved = [s for s in full.saved if s.node not in hidden]
    return dataclasses.replace(
        full,
        nodes=tuple(_frozen_node(n) if n.id in hidden else n for n in full.nodes),
        edges=tuple(
            dataclasses.replace(e, differentiable=False) if e.parent in hidden else e
            for e in full.edges
        ),
        saved=tuple(
            dataclasses.replace(s, id=f"s{i}") for i, s in enumerate(saved)
        ),  # scripts refer to them by index
        frames=tuple(dataclasses.replace(f, index=i) for i, f in enumerate(frames)),
        passes=tuple(dataclasses.replace(p, never=p.never | why) for p in full.passes),
    )


def _frozen_node(node: Node) -> Node:
    return dataclasses.replace(
        node, requires_grad=False, grad_fn="", kind="data" if node.kind == "leaf" else node.kind
    )


def full_trace(model: Any, forward: Callable[[], Any]) -> Trace:
    """Return the graph of `forward()` with nothing frozen. Restore everything afterwards: requires_grad, buffers such
    as running statistics, the library's random state.

    Raises TypeError if `forward` does not return a tensor; errors from `forward` are not caught.
    """
    named = dict(model.named_parameters())
    with _undisturbed(model, named) as library, library.enable_grad():
        for parameter in named.values():
            if parameter.is_floating_point() or parameter.is_complex():
                parameter.requires_grad_(True)
        loss = forward()
        if not is_tensor(loss):
            raise TypeError(
                f"forward() must return the loss, a tensor; it returned {type(loss).__name__}"
            )
        return trace(loss, params=named)


@contextmanager
def _undisturbed(model: Any, named: dict[str, Any]) -> Iterator[Any]:
    """Restore flags, buffers and the random state after the block; yield the library (autolab or torch)."""
    some = next(iter(named.values()))
    library = sys.modules["torch" if reader_for(some).library == "torch" else "autolab"]
    flags = [(p, p.requires_grad) for p in named.values()]
    buffers = [(b, b.detach().clone()) for b in model.buffers()]
    stream = library.get_rng_state()
    try:
        yield library
    finally:
        library.set_rng_state(stream)
        for parameter, flag in flags:
            parameter.requires_grad_(flag)
        with library.no_grad():
            for buffer, before in buffers:
                if bool(
                    (buffer != before).any()
                ):  # copying counts as a change, so copy only where the value differs
                    buffer.copy_(before)
