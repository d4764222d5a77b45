"""The iterations of a training loop, found in what ran: groups "iteration 1", "iteration 2" ... around modules and
steps.

Every operation, backward pass, step and reset is a mark with a place: the lines of the learner's code that it came
from, the whole stack of them, so that a function called from two lines is at two places. An iteration holds a backward
pass and, after it, an update of a leaf (a step, or an operation in place). The next one begins with the first mark
after such an update that is at a place which this iteration had come by when it last ran backward: the loop has jumped
back. So

- what comes after the step and before the loop's end (`zero_grad()`, a print) still belongs to the iteration;
- several backward passes before one step (gradients that are accumulated, a closure that L-BFGS calls again) are one
  iteration, and so are the two steps of two networks that are trained in turns;
- the same lines written out twice, one below the other, are no loop.

What ran before the loop's first line is in no iteration, and what ran after its last line neither: its places occur in
no other iteration. Where one loop follows another, the numbers go on."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from .model import Group
from .stack import Lines


@dataclass(frozen=True, slots=True)
class Mark:
    """kind: "forward", "backward", "update" (a leaf was changed), "other". place: lines of the learner's code. node,
    shot: how many of them there were before it."""

    kind: str
    place: Lines
    node: int
    shot: int


def found(marks: list[Mark]) -> list[tuple[int, int]]:
    """The iterations as ranges of marks, none when nothing was repeated."""
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
        )  # now the pieces that come after this one, with how many of them a place is in
        # Up to `end` it is a round of the loop before it. What follows is the first round of another loop, or single
        # lines.
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
    """An iteration as a group is made of it: the numbers of its first node and of the first after it; a few words about
    it ("loss = 4")."""

    start: int
    end: int
    words: str


def around(
    groups: tuple[Group, ...], iterations: list[Iteration], members: list[str]
) -> tuple[Group, ...]:
    """`groups` (outer before inner) in groups for the iterations. members: ids of the operations and updates, in
    order."""
    if not iterations:
        return numbered(groups)
    home = {n: _home(int(n[1:]), iterations) for n in members}
    place: dict[str, int | None] = {}
    for group in groups:
        place[group.id] = home.get(group.nodes[-1]) if group.parent is None else place[group.parent]
        home.update(
            dict.fromkeys(group.nodes, place[group.id])
        )  # a module's call is in one of them, as a whole
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
    """The place of the iteration that a node is in; None for a node in none."""
    place = bisect.bisect_right(iterations, node, key=lambda at: at.start) - 1
    return place if place >= 0 and node < iterations[place].end else None


def numbered(groups: Iterable[Group]) -> tuple[Group, ...]:
    """The groups with ids "g0", "g1" ... in their order."""
    groups = list(groups)
    ids = {group.id: f"g{i}" for i, group in enumerate(groups)}
    return tuple(
        replace(g, id=ids[g.id], parent=None if g.parent is None else ids[g.parent]) for g in groups
    )
