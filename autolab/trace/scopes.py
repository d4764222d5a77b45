"""Group nodes by module: build nested groups from the module calls that autolab's nodes remember.

A scope is what `Node.scope` holds: (the call around it or None, path in the module around it, type name, whether the
module was in training mode); every call of a module has its own. A real PyTorch graph has no scopes. Where its leaves
bear the names of a module's parameters, `from_names` makes scopes of those: never finer than what the names show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Optional

from .model import Group

if TYPE_CHECKING:
    from .drafts import Draft, EdgeDraft

Scope = tuple[Optional["Scope"], str, str, bool | None]

STATE = frozenset(["weight", "bias", "running_mean", "running_var", "num_batches_tracked"])
"""Operands of these names belong to the module that uses them."""


def path(scope: Scope | None) -> str:
    """Return the module's path from the root module called ("layer1.0.conv1"); for the root itself its type's name."""
    if scope is None:
        return ""
    if scope[0] is None:
        return scope[2]
    names = []
    while scope[0] is not None:
        names.append(scope[1])
        scope = scope[0]
    return ".".join(reversed(names))


def groups(nodes: list[Draft], edges: Iterable[EdgeDraft]) -> tuple[Group, ...]:
    """Return one group for every call of a module, the outer before the inner, in the order of the calls. Sets `module`
    of the nodes."""
    calls: dict[int, _Call] = {}
    counts: dict[tuple[int, str], int] = {}

    def call(scope: Scope) -> _Call:
        found = calls.get(id(scope))
        if found is None:
            around = call(scope[0]) if scope[0] is not None else None
            name = path(scope)
            key = (0 if around is None else id(around), name)
            counts[key] = counts.get(key, 0) + 1
            found = calls[id(scope)] = _Call(
                f"g{len(calls)}", name, scope[2], around, counts[key], scope[3]
            )
        return found

    for draft in nodes:
        if draft.kind == "op" and draft.scope is not None:
            at: _Call | None = call(draft.scope)
            draft.module = at.path  # type: ignore[union-attr]
            while at is not None:
                at.nodes.append(draft.id)
                at = at.around
    if not calls:
        return ()
    slots: dict[str, set[str]] = {}
    for draft in nodes:
        for name, (origin, _) in draft.operands.items():
            slots.setdefault(origin, set()).add(name)
    for edge in edges:
        child, parent = nodes[int(edge.child[1:])], nodes[int(edge.parent[1:])]
        if (
            child.scope is not None
            and parent.kind != "op"
            and _belongs(parent, slots.get(parent.id, set()))
        ):
            held = call(child.scope)
            held.holds[parent.id] = None
            parent.module = parent.module or held.path
    _name_roots(calls.values(), nodes)
    return tuple(c.group() for c in calls.values())


def _name_roots(calls: Iterable[_Call], nodes: list[Draft]) -> None:
    """Name the outer modules of one type by their variables, if their parameters show that they are several: `G`, of
    "G.0.weight", and `D`."""
    variables: dict[_Call, set[str]] = {}
    for call in calls:
        found = variables.setdefault(call.root(), set())
        inside = "" if call.around is None else f".{call.path}"
        for leaf in (nodes[int(held[1:])] for held in call.holds):
            owner = f".{leaf.name.rpartition('.')[0]}"
            if leaf.parameter and owner.endswith(inside):
                found.add(owner.removesuffix(inside)[1:])
    alike: dict[str, set[str]] = {}
    for root, names in variables.items():
        alike.setdefault(root.type, set()).update(names)
    counts: dict[str, int] = {}
    for root, names in variables.items():
        if len(names) == 1 and len(alike[root.type]) > 1:
            root.rename(names.pop() or root.type, nodes)
        root.number = counts[root.path] = counts.get(root.path, 0) + 1


class _Call:
    def __init__(
        self,
        id: str,
        path: str,
        type: str,
        around: _Call | None,
        number: int,
        training: bool | None,
    ) -> None:
        self.id, self.path, self.type, self.around, self.number = id, path, type, around, number
        self.training = training
        self.nodes: list[str] = []
        self.holds: dict[str, None] = {}

    def root(self) -> _Call:
        return self if self.around is None else self.around.root()

    def rename(self, path: str, nodes: list[Draft]) -> None:
        for draft in (nodes[int(node[1:])] for node in (*self.nodes, *self.holds)):
            if draft.module == self.path:
                draft.module = path
        self.path = path

    def group(self) -> Group:
        parent = None if self.around is None else self.around.id
        nodes, holds = tuple(self.nodes), tuple(self.holds)
        return Group(
            self.id, self.path, self.type, nodes, parent, self.number, holds, training=self.training
        )


def _belongs(draft: Draft, slots: set[str]) -> bool:
    """Return whether a leaf or constant is part of a module rather than an input: a parameter, a buffer, a number in
    its code."""
    if draft.kind == "data" and draft.shape == () and not draft.name:
        return True
    return draft.parameter or "." in draft.name or bool(slots) and slots <= STATE


def name_parameters(nodes: list[Draft], edges: Iterable[EdgeDraft]) -> None:
    """Name parameters of deleted modules, which no variable leads to: by the registered name in the innermost module
    that used them."""
    if all(draft.scope is None for draft in nodes):
        return
    depths: dict[str, int] = {}
    for edge in edges:
        child, leaf = nodes[int(edge.child[1:])], nodes[int(edge.parent[1:])]
        if (
            leaf.kind == "op"
            or leaf.name
            and leaf.id not in depths
            or leaf.tensor is None
            or child.scope is None
        ):
            continue
        from ..nn.parameter import _registered_name  # if there are modules, it is loaded already

        name, inside = (
            _registered_name(leaf.held()),
            path(child.scope) if child.scope[0] is not None else "",
        )
        depth = inside.count(".") + bool(inside)
        if name and depth >= depths.get(leaf.id, 0):
            leaf.name, depths[leaf.id] = f"{inside}.{name}" if inside else name, depth


def from_names(nodes: list[Draft], types: Mapping[str, str]) -> None:
    """Give the operations of a graph without scopes those that the parameters' names show.

    types: the type names of known modules by path, "" for the root. What uses "fc.weight" is in "fc"; what lies between
    two operations of known modules is in the innermost module around both."""
    known = [_named_module(draft, nodes) if draft.kind == "op" else None for draft in nodes]
    places = [i for i, at in enumerate(known) if at is not None]
    for i, j in zip(places, places[1:]):
        for k in range(i + 1, j):
            if nodes[k].kind == "op":
                known[k] = _common(known[i] or [], known[j] or [])
    stack: list[Scope] = []
    for draft, at in zip(nodes, known):
        if at is None:
            continue
        steps = ["", *at]
        keep = next(
            (n for n, scope in enumerate(stack) if n >= len(steps) or scope[1] != steps[n]),
            len(stack),
        )
        del stack[keep:]
        while len(stack) < len(steps):
            n = len(stack)
            kind = types.get(".".join(steps[1 : n + 1]), "" if n else "model")
            stack.append((stack[-1] if stack else None, steps[n], kind, None))
        draft.scope = stack[-1]


def _named_module(draft: Draft, nodes: list[Draft]) -> list[str] | None:
    for parent, _ in draft.operands.values():
        leaf = nodes[int(parent[1:])]
        if leaf.kind != "op" and "." in leaf.name and leaf.parameter:
            return leaf.name.split(".")[:-1]
    return None


def _common(a: list[str], b: list[str]) -> list[str]:
    length = next((n for n, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    return a[:length]


def module_types(namespace: Mapping[str, Any], nodes: Iterable[Draft]) -> dict[str, str]:
    """Return type name by path ("" for the root) of the module, among the variables, whose parameters have the nodes'
    names; empty if there is none."""
    named = {
        draft.name: draft.tensor()
        for draft in nodes
        if draft.kind == "leaf" and draft.tensor is not None
    }
    best: tuple[int, Any] = 0, None
    for item in list(namespace.values()):
        if hasattr(type(item), "named_parameters") and hasattr(type(item), "named_modules"):
            fits = sum(named.get(name) is parameter for name, parameter in item.named_parameters())
            best = max(best, (fits, item), key=lambda pair: pair[0])
    return (
        {}
        if best[1] is None
        else {path: type(module).__name__ for path, module in best[1].named_modules()}
    )
