"""Find the iterations of a training loop in a recording, and group modules and steps by them: "iteration 1", "iteration
2" ...

Every operation, backward pass, step and reset is a mark with a place: the whole stack of the learner's lines that it
came from, so a function called from two lines has two places. An iteration contains a backward pass and, after it, an
update of a leaf (a step, or an in-place operation). The next iteration begins with the first mark after such an update
whose place this iteration had already passed before its last backward pass: the loop has jumped back. So

- what comes after the step and before the loop's end (`zero_grad()`, a print) still belongs to the iteration;
- several backward passes before one step (gradients that are accumulated, a closure that L-BFGS calls again) are one
  iteration, and so are the two steps of two networks that are trained in turns;
- the same lines written twice, one below the other, are not a loop.

Code before the loop's first line or after its last line is in no iteration, because its places occur in no other
iteration. If a second loop follows, the numbering continues."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from .model import Group
from .stack import Lines


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark. kind: "forward", "backward", "update" (a leaf was changed), "other". place: lines of the learner's code.
    node, shot: how many nodes and shots there were before it."""

    kind: str
    place: Lines
    node: int
    shot: int


def found(marks: list[Mark]) -> list[tuple[int, int]]:
    """Return the iterations as ranges of marks; an empty list if nothing was repeated."""
    starts, known, met, changed = [0], set[Lines](), set[Lines](), False
    for i, mark in enumerate(marks):
        if changed and mark.place in known:
            starts.append(i)
            known, met, changed = set(), set(), False
        met.add(mark.place)
        if mark.kind == "backward":
            known |= met
        changed = changed or mark.kind == "update" and bool(known)
    if len(starts) == 1:
        return []
    pieces = list(zip(starts, [*starts[1:], len(marks)]))
    later = Counter(place for a, b in pieces for place in {mark.place for mark in marks[a:b]})
    earlier = set[Lines]()
    ranges: list[tuple[int, int]] = []
    for i, (a, b) in enumerate(pieces):
        own = {mark.place for mark in marks[a:b]}
        later.subtract(
            own
        )  # now the parts after this one, with the number of parts that contain each place
        # Up to `end` it is the last iteration of this loop. Then comes the first iteration of another loop, or lines
        # outside any loop.
        end = next((j + 1 for j in reversed(range(a, b)) if marks[j].place in earlier), a)
        begin = next((j for j in range(end, b) if later[marks[j].place]), b)
        another = _trains(marks[begin:b])
        if end > a:
            ranges.append((a, end if another or i == len(pieces) - 1 else b))
        if another:
            ranges.append((begin, b))
        earlier |= own
    return ranges


def _trains(marks: list[Mark]) -> bool:
    kinds = [mark.kind for mark in marks]
    return "backward" in kinds and "update" in kinds[kinds.index("backward") :]


@dataclass(frozen=True, slots=True)
class Iteration:
    """The data for an iteration's group: the numbers of its first node and of the first node after it, and a short text
    about it ("loss = 4")."""

    start: int
    end: int
    words: str


def around(
    groups: tuple[Group, ...], iterations: list[Iteration], members: list[str]
) -> tuple[Group, ...]:
    """Return `groups` (outer before inner) placed inside groups for the iterations. members: ids of the operations and
    updates, in order."""
    if not iterations:
        return numbered(groups)
    home = {n: _home(int(n[1:]), iterations) for n in members}
    place: dict[str, int | None] = {}
    for group in groups:
        place[group.id] = home.get(group.nodes[-1]) if group.parent is None else place[group.parent]
        home.update(
            dict.fromkeys(group.nodes, place[group.id])
        )  # a module call lies in one iteration, as a whole
    inside: dict[int | None, list[str]] = {}
    for n in members:
        inside.setdefault(home[n], []).append(n)
    parts: dict[int | None, list[Group]] = {}
    for g in groups:
        parts.setdefault(place[g.id], []).append(g)
    made: list[Group] = []
    for i, at in enumerate(iterations):
        nodes = tuple(inside.get(i, ()))
        made.append(Group(f"i{i}", f"iteration {i + 1}", at.words, nodes, kind="iteration"))
        made += [replace(g, parent=g.parent or f"i{i}") for g in parts.get(i, ())]
    return numbered(made + parts.get(None, []))


def _home(node: int, iterations: list[Iteration]) -> int | None:
    """Return the index of the iteration that contains a node; None if none does."""
    place = bisect.bisect_right(iterations, node, key=lambda at: at.start) - 1
    return place if place >= 0 and node < iterations[place].end else None


def numbered(groups: Iterable[Group]) -> tuple[Group, ...]:
    """Return the groups with ids "g0", "g1" ... in their order."""
    groups = list(groups)
    ids = {group.id: f"g{i}" for i, group in enumerate(groups)}
    return tuple(
        replace(g, id=ids[g.id], parent=None if g.parent is None else ids[g.parent]) for g in groups
    )
