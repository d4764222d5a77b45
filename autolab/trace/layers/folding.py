"""Fold a big graph into a few boxes that open and close: modules, or runs of operations where there are no modules.

`Folding(trace)` sorts the operations into nested parts once; `fold(expanded)` returns what is drawn if some of them are
open. Edges between the same two boxes are merged. On a page `frontend/src/folding.js` does the same, with parameters as
rows of cards (`rows`).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, count, groupby
from typing import Any

from ..drafts import ALIAS_FROM
from ..model import RAN, Edge, Node, Trace
from ..records import rough

FEW_NODES = 24
"""A trace of at most this many nodes begins with everything open."""
FEW_BOXES, ENOUGH_BOXES = 8, 40
"""A picture of fewer operations and parts than the first number opens all of its parts, or only the largest, so that
there are at most the second number."""
LONGEST, RUNS = 60, 40
"""More operations than `LONGEST` side by side are put into at most `RUNS` runs."""
MOST_VARIABLES = 30
"""Up to this many leaves and constants stand beside the parts that use them; more go inside."""


@dataclass(slots=True)
class Part:
    """A module's call, an iteration, an optimizer's step, or a run of consecutive operations.

    kind   : the group's ("module", "iteration", "step"), or "run".
    id     : the group's ("g3"), or "r0", "r1" ... of a run.
    name   : the module's name in the surrounding part ("conv1"), or "ops 1-50".
    label  : the whole path with the number of the call, or what the run is part of.
    type   : the group's; of a run "mul ×25, add ×25".
    parent : id of the part around it, or None.
    ops, parameters : how many operations (and updates), and how many numbers in the parameters, it holds.
    shape, dtype    : of its result: what its last operation made; None and "" of an iteration or a step.
    first, last     : ids of its first and last operation.
    requires_grad   : whether any of its operations does.
    amount : its content in words: "3 ops", "17 ops · 10 updates".
    """

    id: str
    name: str
    label: str
    type: str
    parent: str | None
    ops: int = 0
    parameters: int = 0
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    first: str = ""
    last: str = ""
    requires_grad: bool = False
    kind: str = "run"
    amount: str = ""

    def to_json(self) -> dict[str, Any]:
        shape = None if self.shape is None else list(self.shape)
        return {f: getattr(self, f) for f in self.__slots__} | {"shape": shape}


@dataclass(slots=True)
class Box:
    """A drawn box: a node (its id is in `of`), a further box of a leaf, or a closed part. `frame`: the open part around
    it, or None."""

    key: str
    of: str
    frame: str | None


@dataclass(slots=True)
class Link:
    """A line between two boxes; `id` is the id of its first edge. `edges`: the ids of all edges that it stands for.
    `update`: as in Edge."""

    id: str
    start: str
    end: str
    differentiable: bool
    edges: list[str] = field(default_factory=list)
    update: bool = False


@dataclass(slots=True)
class Folded:
    """A folded drawing: boxes by key in forward order, further boxes of leaves last; links; and the open parts that
    have a frame, outer before inner. `order`: pairs of box keys; the second must stand after the first although no edge
    joins them."""

    boxes: dict[str, Box]
    links: list[Link]
    frames: list[str]
    order: list[tuple[str, str]] = field(default_factory=list)


class Folding:
    """The nested parts of a trace. `parts` by id, outer before inner; `home`: the innermost part of each operation;
    `held`: the innermost parts in which a leaf or constant is drawn. `network`: whether modules made the trace.

    Only a network shows its parameters inside the cards of its operations, when it is drawn from top to bottom. `rows`:
    operation -> contents of its card: parameters, buffers, numbers, and operations on only these (`weight.t()`);
    `within`: the first card that contains each of these. `single`: modules with only one card; the card stands for the
    module."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.nodes, self.edges = trace, rough(trace.nodes), rough(trace.edges)
        self.network = any(group.kind == "module" for group in trace.groups)
        self._groups = {group.id: group for group in trace.groups}
        self.parts: dict[str, Part] = {}
        self.home: dict[str, str] = {}
        self._ran = dict.fromkeys(node.id for node in self.nodes if node.kind in RAN)
        self._aliases = {edge.id for edge in self.edges if edge.alias}
        self._sort_groups()
        self._sort_runs()
        self.parts = dict(sorted(self.parts.items(), key=lambda item: len(self._around(item[0]))))
        self._chains = {
            part: [self.parts[p] for p in self._around(part)] for part in (None, *self.parts)
        }
        self.held = self._sort_leaves()
        self.rows, self.within = self._sort_rows() if self.network else ({}, {})
        self.single = self._find_single() if self.network else {}
        self.steps = self._find_steps()
        self._count()

    # -- parts -------------------------------------------------------------------------------------
    def _sort_groups(self) -> None:
        groups = self.trace.groups
        iterations = {g.id for g in groups if g.kind == "iteration"}
        roots: dict[str | None, list[str]] = {}
        for g in groups:
            if g.kind == "module" and (g.parent is None or g.parent in iterations):
                roots.setdefault(g.parent, []).append(g.id)
        # A box around the whole picture, or around a whole iteration, would add nothing.
        alone = {found[0] for found in roots.values() if len(found) == 1}
        above_of = {g.id: g for g in groups}
        for group in groups:
            if group.id not in alone:
                around = above_of.get(group.parent or "")
                above = (
                    ""
                    if around is None or around.id in alone or around.kind != "module"
                    else f"{around.path}."
                )
                call = "" if group.call == 1 else f" (call {group.call})"
                name = group.path.removeprefix(above) + call
                parent = (
                    around.parent if around is not None and around.id in alone else group.parent
                )
                within = (
                    ""
                    if parent not in iterations or parent is None
                    else f"{above_of[parent].path}: "
                )
                self.parts[group.id] = Part(
                    group.id, name, within + group.label, group.type, parent, kind=group.kind
                )
                for node in group.nodes:  # inner groups come later
                    self.home[node] = group.id

    def _sort_runs(self) -> None:
        levels: dict[str | None, dict[str, None]] = {}
        for item in self._ran:
            around = self.home.get(item)
            levels.setdefault(around, {})[item] = None
            while around is not None:
                item, around = around, self.parts[around].parent
                level = levels.setdefault(around, {})
                if item in level:
                    break
                level[item] = None
        numbers = count()
        for around, items in levels.items():
            inside = "" if around is None else f" of {self.parts[around].label}"
            self._split(list(items), around, inside, numbers)

    def _split(
        self,
        items: list[str],
        around: str | None,
        inside: str,
        numbers: Iterator[int],
        before: int = 0,
    ) -> None:
        """Group a long row of operations and parts into runs, and the runs into runs."""
        if len(items) <= LONGEST:
            return
        size = _run_length(len(items))
        kind = "ops" if all(item[0] == "n" for item in items) else "parts"
        for start in range(0, len(items), size):
            chunk = items[start : start + size]
            if len(chunk) == 1:
                continue  # leave the last one unchanged
            name = (
                self._varying(chunk)
                or f"{kind} {before + start + 1:,}–{before + start + len(chunk):,}"
            )
            run = Part(f"r{next(numbers)}", name, name + inside, "", around)
            self.parts[run.id] = run
            for item in chunk:
                if item in self.parts:
                    self.parts[item].parent = run.id
                else:
                    self.home[item] = run.id
            self._split(chunk, run.id, inside, numbers, before + start)

    def _varying(self, chunk: list[str]) -> str:
        """Return what varies in a run of a loop's calls: "cell, calls 1–50"; "" if it is not a loop."""
        calls: dict[str, list[int]] = {}
        for item in chunk:
            if (group := self._groups.get(item)) is not None and group.kind == "module":
                calls.setdefault(group.path, []).append(group.call)
        path = max(calls, key=lambda p: len(calls[p]), default="")
        numbers = calls.get(path, [])
        if len(numbers) < 2 or len(set(numbers)) < len(numbers):
            return ""
        rest = ", …" if len(chunk) > len(numbers) else ""
        return f"{path}, calls {min(numbers):,}–{max(numbers):,}{rest}"

    def _around(self, part: str | None) -> list[str]:
        """Return a part and all parts around it, outermost first."""
        chain = []
        while part is not None:
            chain.append(part)
            part = self.parts[part].parent
        return chain[::-1]

    def _sort_leaves(self) -> dict[str, list[str]]:
        owned = {
            (held, group.id) for group in self.trace.groups for held in group.holds
        }  # empty without modules
        group_of = {
            node: group.id for group in self.trace.groups for node in group.nodes
        }  # the innermost come last
        homes: dict[str, dict[str | None, None]] = {}
        inside: set[str] = set()
        for edge in self.edges:
            # A step belongs where it ran, and the leaf that it changes where it is used.
            if edge.parent not in self._ran and not edge.update:
                homes.setdefault(edge.parent, {})[self.home.get(edge.child)] = None
                if owned and (edge.parent, group_of.get(edge.child)) in owned:
                    inside.add(edge.parent)
        self._owned = inside | {n for n in homes if self.nodes[int(n[1:])].is_number}
        variables = [n for n in homes if n not in self._owned]
        kept = set(variables) if len(variables) <= MOST_VARIABLES else set()
        held = {
            node: [home for home in found if home is not None]
            for node, found in homes.items()
            if node not in kept and None not in found
        }
        return held | self._unused(homes, held)

    def _unused(self, homes: Collection[str], held: dict[str, list[str]]) -> dict[str, list[str]]:
        """Place changed leaves that nothing used afterwards: beside the step, if the leaf before the change is in a
        part."""
        before = {edge.child: edge.parent for edge in self.edges if edge.update}
        found: dict[str, list[str]] = {}
        for node, step in before.items():
            if node not in homes and node not in self._ran:
                was = before.get(step, step)
                place = self.home.get(step) or next(iter(held.get(was, ())), None)
                if was in held and place is not None:
                    found[node] = [place]
        self._after = set(found)
        return found

    def _sort_rows(self) -> tuple[dict[str, list[str]], dict[str, str]]:
        operands: dict[str, list[str]] = {}
        users: dict[str, dict[str, None]] = {}
        for edge in self.edges:
            if not edge.update:
                operands.setdefault(edge.child, []).append(edge.parent)
                users.setdefault(edge.parent, {})[edge.child] = None
        inside = {n for n in self.held if n in self._owned}
        roots = set(self.trace.meta.get("roots", ()))
        found: list[str] = []  # operations that use only what a module holds
        after: dict[
            str, str
        ] = {}  # such an operation whose result is unused -> the next operation of its module
        last: dict[str | None, list[str]] = {}
        for node in self.nodes:
            home = self.home.get(node.id)
            if node.kind != "op" or home is None:
                continue
            if (
                node.id not in roots
                and operands.get(node.id)
                and inside.issuperset(operands[node.id])
            ):
                inside.add(node.id)
                found.append(node.id)
                if node.id not in users:
                    last.setdefault(home, []).append(node.id)
            else:
                after |= dict.fromkeys(last.pop(home, ()), node.id)
        within: dict[str, str] = {}
        for op in reversed(found):
            card = next(iter(users[op])) if len(users.get(op, ())) == 1 else after.get(op)
            if card is not None and self.home.get(card) == self.home[op]:
                within[op] = within.get(card, card)
        cards: dict[str, dict[str, None]] = {}
        for node in self.nodes:
            if node.id in within:
                cards.setdefault(within[node.id], {})[node.id] = None
            elif node.id in self._owned and node.id in self.held:
                for user in users.get(node.id, ()):
                    cards.setdefault(within.get(user, user), {})[node.id] = None
        cards = dict(sorted(cards.items(), key=lambda item: int(item[0][1:])))
        first: dict[str, str] = {}
        for card, rows in cards.items():
            first |= {row: card for row in rows if row not in first}
        return {card: list(rows) for card, rows in cards.items()}, first

    def _find_single(self) -> dict[str, str]:
        """Find the modules of which only one operation has a card, and that operation."""
        cards: dict[str, list[str]] = {}
        for node in self.nodes:
            if node.id in self._ran and node.id not in self.within:
                for part in self._chains[self.home.get(node.id)]:
                    if part.kind == "module":
                        cards.setdefault(part.id, []).append(node.id)
        return {part: ops[0] for part, ops in cards.items() if len(ops) == 1}

    def _find_steps(self) -> list[tuple[str, str]]:
        """Pair each update with the last operation before its step, because a step stands after the loss."""
        last, found = "", []
        for node in self.nodes:
            if node.kind == "update" and last:
                found.append((last, node.id))
            elif node.kind == "op":
                last = node.id
        return found

    def _count(self) -> None:
        seen: set[tuple[str, str]] = set()
        kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
        updates: Counter[str] = Counter()
        inside = [node for node in self.nodes if node.id in self.home]
        for home, group in groupby(
            inside, lambda node: self.home[node.id]
        ):  # beside each other: they are in the same parts
            nodes = list(group)
            ops, steps = (
                Counter(node.op for node in nodes),
                sum(node.kind == "update" for node in nodes),
            )
            for part in self._chains[home]:
                part.ops += len(nodes)
                updates[part.id] += steps
                part.first, part.last = part.first or nodes[0].id, nodes[-1].id
                if part.kind in ("module", "run"):
                    part.shape, part.dtype = nodes[-1].shape, nodes[-1].dtype
                part.requires_grad = part.requires_grad or any(node.requires_grad for node in nodes)
                if part.id[0] == "r":
                    kinds[part.id] += ops
        for node in self.nodes:
            if node.id in self.held and _parameter(node) and node.id not in self._after:
                for part in chain.from_iterable(self._chains[home] for home in self.held[node.id]):
                    if (part.id, node.id) not in seen:
                        seen.add((part.id, node.id))
                        part.parameters += math.prod(node.shape or ())
        for part in self.parts.values():
            ran = part.ops - updates[part.id]
            counted = [(ran, "op"), (updates[part.id], "update")]
            part.amount = " · ".join(
                f"{n:,} {word}{'' if n == 1 else 's'}" for n, word in counted if n
            )
        for run, found in kinds.items():
            words = [f"{op} ×{n:,}" if n > 1 else op for op, n in found.most_common(2)]
            self.parts[run].type = ", ".join(words) + (", …" if len(found) > 2 else "")

    # -- what is open ------------------------------------------------------------------------------
    def first(self) -> list[str]:
        """Return the parts that are open in the first picture."""
        if len(self.nodes) <= FEW_NODES:
            return list(self.parts)
        children: dict[str | None, list[str]] = {}
        for part in self.parts.values():
            children.setdefault(part.parent, []).append(part.id)
        own = Counter(map(self.home.get, self._ran))
        boxes, closed, opened = (
            own[None] + len(children.get(None, [])),
            list(children.get(None, [])),
            [],
        )
        # One iteration of a loop shows what the others do; a step may be as wide as the network.
        rounds = [part for part in closed if self.parts[part].kind == "iteration"]
        steps = {part.id for part in self.parts.values() if part.kind == "step"}
        closed = [part for part in closed if part not in rounds[1:] and part not in steps]
        inner = {part: own[part] + len(children.get(part, [])) - 1 for part in self.parts}
        while closed and boxes < FEW_BOXES:
            wanted = (
                closed
                if boxes + sum(inner[part] for part in closed) <= ENOUGH_BOXES
                else [max(closed, key=self._ops)]
            )
            boxes += sum(inner[part] for part in wanted)
            if boxes > ENOUGH_BOXES:
                break
            opened += wanted
            closed = [part for part in closed if part not in wanted] + [
                p for part in wanted for p in children.get(part, []) if p not in steps
            ]
        return self.ordered(opened)

    def _ops(self, part: str) -> int:
        return self.parts[part].ops

    def ordered(self, expanded: Iterable[str]) -> list[str]:
        """Return the known ids among `expanded`, outer parts first."""
        wanted = set(expanded)
        return [part for part in self.parts if part in wanted]

    def named(self, names: Iterable[str]) -> list[str]:
        """Return the ids of parts given by id or label, outer parts first. Raises ValueError for an unknown part."""
        by_label = {part.label: part.id for part in reversed(self.parts.values())}
        names = list(names)
        for name in names:
            if name not in self.parts and name not in by_label:
                known = ", ".join(list(by_label)[:-21:-1])
                raise ValueError(
                    f'there is no part "{name}"; there are {known or "none: the graph is shown whole"}'
                )
        return self.ordered(by_label.get(name, name) for name in names)

    def opening(self, item: str) -> list[str]:
        """Return the parts that must be open to see a node or part, outermost first."""
        if item in self.parts:
            return self._around(self.parts[item].parent)
        return self._around(self._home(item))

    # -- what is drawn -----------------------------------------------------------------------------
    def _closed(self, expanded: Collection[str]) -> dict[str | None, str | None]:
        """Return for each part the outermost closed part that contains it; None if all are open."""
        closed: dict[str | None, str | None] = {None: None}
        for part in self.parts.values():
            closed[part.id] = closed[part.parent] or (None if part.id in expanded else part.id)
        return closed

    def boxes(self, expanded: Collection[str]) -> int:
        """Return how many boxes a page draws if these parts are open; contents of a card don't count."""
        closed = self._closed(expanded)
        shown = [node.id for node in self.nodes if node.id not in self.within]
        ran = {closed[self.home.get(n)] or n for n in shown if n in self._ran}
        rest = [self.held.get(n, [None]) for n in shown if n not in self._ran]
        return len(ran) + sum(any(closed[home] is None for home in homes) for homes in rest)

    def fold(self, expanded: Iterable[str]) -> Folded:
        """Return what is drawn if the parts `expanded` are open; ids inside a closed part are ignored."""
        expanded = {*expanded}
        closed = self._closed(expanded)
        boxes: dict[str, Box] = {}

        def box(key: str, of: str, home: str | None) -> str:
            hidden = closed[home]
            if hidden is not None:
                key, of, home = hidden, hidden, self.parts[hidden].parent
            if key not in boxes:
                boxes[key] = Box(key, of, home)
            return key

        links: dict[Any, Link] = {}
        ends: dict[str, str] = {}  # node -> the key of its box
        for edge in self.edges:
            child = edge.child
            if child not in ends:
                ends[child] = box(child, child, self._home(child))
            end = ends[child]
            if edge.parent in ends and (edge.update or edge.parent not in self.held):
                start = ends[edge.parent]
            else:
                key, home = self._start(edge)
                start = box(key, edge.parent, home)
            if start != end:
                single = start[0] == "n" and end[0] == "n"
                kind = edge.id if single else (start, end, edge.differentiable, edge.update)
                if kind not in links:
                    links[kind] = Link(edge.id, start, end, edge.differentiable, update=edge.update)
                links[kind].edges.append(edge.id)
        for node in self.nodes:
            if node.id not in ends and (node.id in self._ran or node.id not in self.held):
                box(node.id, node.id, self.home.get(node.id))
        self._repeat_leaves(boxes, list(links.values()))
        frames = [part for part in self.parts if part in expanded and closed[part] is None]
        in_order = sorted(boxes.items(), key=lambda item: ("_" in item[0], self.place(item[1].of)))
        pairs = [tuple(closed[self.home.get(n)] or n for n in pair) for pair in self.steps]
        order = [(a, b) for a, b in dict.fromkeys(pairs) if a != b]
        return Folded(dict(in_order), list(links.values()), frames, order)

    def place(self, item: str) -> int:
        """Return the position of a node, or of a part's first operation, in forward order."""
        return int((self.parts[item].first if item in self.parts else item)[1:])

    def _start(self, edge: Edge) -> tuple[str, str | None]:
        """Return (key, home) of the box that an edge starts at: a leaf held by several parts is drawn in each."""
        homes = self.held.get(edge.parent)
        if homes is None or edge.update:
            return edge.parent, self._home(edge.parent)
        home = self.home[edge.child]
        return (edge.parent if home == homes[0] else f"{edge.parent}_{home}"), home

    def _home(self, node: str) -> str | None:
        """Return the innermost part that contains a node; for a leaf or constant the first of several."""
        return self.home.get(node) or next(iter(self.held.get(node, ())), None)

    def _repeat_leaves(self, boxes: dict[str, Box], links: list[Link]) -> None:
        """Draw a leaf that is used very often once more at each further use (`Edge.alias`)."""
        uses: dict[str, list[Link]] = {}
        for link in links:
            if (
                link.start in boxes
                and link.start[0] == "n"
                and boxes[link.start].of not in self.home
            ):
                uses.setdefault(link.start, []).append(link)
        for start, found in uses.items():
            ends = {link.end for link in found}
            if len(ends) <= ALIAS_FROM and any(end[0] != "n" for end in ends):
                continue
            drawn: dict[str, str] = {}
            for link in found:
                if self._aliases.issuperset(link.edges):
                    leaf = boxes[start]
                    link.start = drawn.setdefault(link.end, f"{leaf.of}_{link.id}")
                    boxes.setdefault(link.start, Box(link.start, leaf.of, leaf.frame))
            if all(link.start != start for link in found):
                del boxes[start]

    def to_json(self) -> dict[str, Any]:
        """Return the data for `static/folding.js`: the parts, and for each node the indices of its parts in that
        list."""
        places = {part: i for i, part in enumerate(self.parts)}
        return {
            "parts": [part.to_json() for part in self.parts.values()],
            "home": [places[self.home[n.id]] if n.id in self.home else -1 for n in self.nodes],
            "aliases": sorted(self._aliases),
            "steps": [list(pair) for pair in self.steps],
            "held": {
                n: [places[h] for h in at] if at[1:] else places[at[0]]
                for n, at in self.held.items()
            },
            "network": self.network,
            "rows": self.rows,
            "single": self.single,
        }


def _run_length(count: int) -> int:
    """Return a round number of operations per run such that there are at most `RUNS` runs."""
    return next(s for s in _round_numbers() if math.ceil(count / s) <= RUNS)


def _round_numbers() -> Iterator[int]:
    scale = 50
    while True:
        yield from (scale, 2 * scale, 4 * scale)
        scale *= 10


def _parameter(node: Node) -> bool:
    """Return whether a leaf or constant that a part holds counts as a parameter, not as a buffer or number."""
    if node.kind == "leaf":
        return True
    return bool(node.shape) and node.name.rpartition(".")[2] in ("weight", "bias")
