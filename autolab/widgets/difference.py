"""Compare two traces, matched by structure: find all differences, and the first one."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..trace.model import Frame, Node, Trace
from ..trace.values import Value, short
from ..viz import html
from .explorer import Explorer, as_trace

MOST_ROWS = 12  # differences that are described one by one
MOST_LIT = 400  # differences that an explorer shows

Pair = tuple[int, int]


class Difference(NamedTuple):
    """One difference: `what` differs, in words; `left` and `right`: the steps in the two traces (from 0), None if only
    one trace has the step."""

    what: str
    left: int | None
    right: int | None


class _Found(NamedTuple):
    """A difference as explorers show it: the boxes and the edge in each trace, and a short text with the other trace's
    value."""

    told: Difference
    nodes: tuple[tuple[str, ...], tuple[str, ...]]
    edges: tuple[str | None, str | None]
    has: tuple[str, str]


class Comparison:
    """The result of `compare`. `differences`, in the order in which they happened; `first` of them, or None; the two
    `traces` and their `names`.

    It is displayed as a table. `show()` also displays both explorers below it, with the differences highlighted."""

    def __init__(self, traces: tuple[Trace, Trace], names: tuple[str, str]) -> None:
        self.traces, self.names = traces, names
        self._nodes = dict(
            _together(
                [_kinds(trace, True) for trace in traces],
                [_kinds(trace, False) for trace in traces],
            )
        )
        self._pairs: list[Pair] = []
        self._into: dict[str, list[str]] = {}
        for edge in traces[0].edges:
            self._into.setdefault(edge.child, []).append(edge.parent)
        self._made = {
            edge.child for edge in traces[0].edges if edge.update
        }  # leaves that a step made from others
        self._found = tuple(self._search())
        self.differences = tuple(found.told for found in self._found)

    @property
    def first(self) -> Difference | None:
        """Return the first difference; None if there is none."""
        return self.differences[0] if self.differences else None

    def _search(self) -> Iterator[_Found]:
        left, right = self._keys()
        told: set[int] = set()
        found = difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
        # The time of freeing is ignored: one library frees before a leaf gets its gradient, the other afterwards.
        apart = [(i, j, k, m) for kind, i, j, k, m in found if kind != "equal"]
        mine = {key for i, j, _, _ in apart for key in left[i:j]}
        moved = {
            key for _, _, k, m in apart for key in right[k:m] if key in mine and key[1] == "free"
        }
        for kind, i, j, k, m in found:
            if kind == "equal":
                for at, other in zip(range(i, j), range(k, m)):
                    self._pairs.append((at, other))
                    yield from self._given(at, other, told)
                    yield from self._other_numbers(at, other)
            else:
                yield from (self._only(0, at) for at in range(i, j) if left[at] not in moved)
                yield from (self._only(1, at) for at in range(k, m) if right[at] not in moved)

    def _keys(self) -> tuple[list[Any], list[Any]]:
        """Return a key for each step that two traces can share: without names, numbers or ids."""
        back = {f"n{other}": f"n{node}" for node, other in self._nodes.items()}
        found = []
        for trace, called in zip(
            self.traces, (lambda id: id or "", lambda id: back.get(id, f"only {id}") if id else "")
        ):
            slots = {edge.id: edge.slot for edge in trace.edges}
            found.append(
                [
                    (
                        f.phase,
                        f.event,
                        f.run,
                        called(f.node),
                        called(f.receiver),
                        slots.get(f.edge or ""),
                    )
                    for f in trace.frames
                ]
            )
        return found[0], found[1]

    def _given(self, at: int, other: int, told: set[int]) -> Iterator[_Found]:
        """Return differences in leaves and constants that a step uses for the first time, and in an optimizer's
        settings."""
        trace, boxes = (
            self.traces[0],
            (_boxes(self.traces[0].frames[at]), _boxes(self.traces[1].frames[other])),
        )
        if trace.frames[at].event == "update":
            steps = (
                t.node(t.frames[place].node).update or {}
                for t, place in zip(self.traces, (at, other))
            )
            one, two = (step.get("settings", {}) for step in steps)
            for name in [name for name in one if name in two and one[name] != two[name]]:
                has = f"{name} {one[name]}", f"{name} {two[name]}"
                said = f"{name} is {one[name]} in {self.names[0]}, {two[name]} in {self.names[1]}"
                yield _Found(Difference(said, at, other), boxes, (None, None), has)
        if trace.frames[at].event != "compute":
            return
        for edge in self._into.get(trace.frames[at].node, ()):
            place = int(edge[1:])
            if place in told or place not in self._nodes:
                continue
            told.add(place)
            a, b = trace.nodes[place], self.traces[1].nodes[self._nodes[place]]
            if (
                a.id in self._made
                or a.kind not in ("leaf", "data")
                or a.value is None
                or b.value is None
            ):
                continue
            if words := self._apart(a.value, b.value):
                told_so = Difference(f"{_called(a)} is given: {words[0]}", at, other)
                yield _Found(told_so, ((a.id,), (b.id,)), (None, None), words[1])

    def _other_numbers(self, at: int, other: int) -> Iterator[_Found]:
        a, b = self.traces[0].frames[at], self.traces[1].frames[other]
        for name, lead in (("value", ""), ("total", "the gradient is then ")):
            one, two = getattr(a, name), getattr(b, name)
            if one is not None and two is not None and (words := self._apart(one, two)):
                said, has = f"{a.text}; {lead}{words[0]}", words[1]
                break
        else:
            if a.state == b.state:
                return
            has = a.state or "none", b.state or "none"
            said = f"{a.text}; the gradient is {has[0]} in {self.names[0]}, {has[1]} in {self.names[1]}"
        yield _Found(Difference(said, at, other), (_boxes(a), _boxes(b)), (a.edge, b.edge), has)

    def _only(self, side: int, at: int) -> _Found:
        frame = self.traces[side].frames[at]
        said, boxes = f"only in {self.names[side]}: {frame.text}", _boxes(frame)
        if side == 0:
            return _Found(Difference(said, at, None), (boxes, ()), (frame.edge, None), ("", ""))
        return _Found(Difference(said, None, at), ((), boxes), (None, frame.edge), ("", ""))

    def _apart(self, a: Value, b: Value) -> tuple[str, tuple[str, str]] | None:
        """Return a description of two values' difference, and each value alone; None if they are equal."""
        if _close(a, b):
            return None
        (one, two), where = _written(a, b)
        end = f" {where.rstrip()}" if where.startswith("at") else ""
        return f"{where}{one} in {self.names[0]}, {two} in {self.names[1]}", (one + end, two + end)

    def explorers(self) -> tuple[Explorer, Explorer]:
        """Return explorers of both traces at their first difference. Stepping in one moves the other to the matching
        step. Differences are highlighted, with the other trace's value."""
        first = self.first
        steps = (self._near(0, first), self._near(1, first)) if first else (0, 0)
        pair = Explorer(self.traces[0], step=steps[0]), Explorer(self.traces[1], step=steps[1])
        there, back = dict(self._pairs), {b: a for a, b in self._pairs}
        for side, to in enumerate((there, back)):
            mine, other = pair[side], pair[1 - side]
            matched = [to.get(at, -1) for at in range(len(mine.trace.frames))]
            mine.compared = self._shown(side) | {"peer": other.model_id, "steps": matched}
            mine.observe(
                lambda change, other=other, to=to: setattr(
                    other, "step", to.get(change["new"], other.step)
                ),
                "step",
            )
        return pair

    def _near(self, side: int, told: Difference) -> int:
        """Return the step of one trace at which to show a difference: its own, or the last matching step if only the
        other trace has one."""
        own, other = (told.left, told.right) if side == 0 else (told.right, told.left)
        if own is not None:
            return own
        return max((p[side] for p in self._pairs if p[1 - side] < (other or 0)), default=0)

    def _shown(self, side: int) -> dict[str, Any]:
        """Return the data about differences for the explorer of one trace."""
        found = [
            {
                "what": one.told.what,
                "at": self._near(side, one.told),
                "here": one.told[1 + side] is not None,
                "nodes": list(one.nodes[side]),
                "edge": one.edges[side],
                "has": one.has[1 - side],
            }
            for one in self._found[:MOST_LIT]
        ]
        return {
            "own": self.names[side],
            "other": self.names[1 - side],
            "count": len(self._found),
            "found": found,
        }

    def show(self) -> None:
        """Display the table and below it one graph with both numbers where they differ; two graphs if one has nodes
        that the other lacks."""
        from IPython.display import display

        for part in (self, *self._graphs()):
            display(part)

    def _graphs(self) -> tuple[Explorer, ...]:
        alike = all(one.has[0] and one.has[1] for one in self._found)
        return self.explorers()[: 1 if alike else 2]

    def to_html(self, path: str | os.PathLike[str], title: str = "autolab comparison") -> Path:
        """Write what `show` displays below the table to one HTML file that needs no kernel; return the path."""
        return html.write(path, self._graphs(), title=title)

    def __repr__(self) -> str:
        if not self.differences:
            return f"No difference in {len(self._pairs)} steps"
        rest = len(self.differences) - MOST_ROWS
        lines = [f"{len(self.differences)} differences; the first:"] if rest >= -MOST_ROWS else []
        lines += [
            f"  {_step(d.left)} | {_step(d.right)}  {d.what}" for d in self.differences[:MOST_ROWS]
        ]
        return "\n".join([*lines, *([f"  and {rest} more"] if rest > 0 else [])])

    def _repr_html_(self) -> str:
        if not self.differences:
            return f"<p>{escape(repr(self))}</p>"
        cells = lambda d: "".join(
            f"<td style='text-align:left'>{escape(c)}</td>"
            for c in (_step(d.left), _step(d.right), d.what)
        )
        rows = "".join(f"<tr>{cells(d)}</tr>" for d in self.differences[:MOST_ROWS])
        heads = "".join(
            f"<th scope='col' style='text-align:left'>{escape(c)}</th>"
            for c in (*(f"step, {n}" for n in self.names), "what differs")
        )
        rest = len(self.differences) - MOST_ROWS
        more = f"<p>and {rest} more</p>" if rest > 0 else ""
        return f"<table aria-label='Differences'><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{more}"


def compare(a: Any, b: Any, names: Sequence[str] = ("a", "b")) -> Comparison:
    """Return the differences between two computations: two steps of a training, two learning rates, with and without
    `retain_graph`, autolab and PyTorch.

    a, b: whatever `explore` takes: recordings, results, traces. names: what to call them.
    Steps are matched by what they are and where in the graph they happen, not by names; numbers differ when they are
    apart by more than one part in 100,000. Values that a trace does not keep are not compared.

    Raises TypeError for anything that can't be explored, ValueError unless there are two names.

    Example:

        >>> import autolab
        >>> def run(rate):
        ...     w = autolab.tensor(3.0, requires_grad=True)
        ...     with autolab.record() as recording:
        ...         (w * w).backward()
        ...         with autolab.no_grad():
        ...             w -= rate * w.grad
        ...     return recording
        >>> autolab.compare(run(0.1), run(0.1)).first is None
        True
        >>> autolab.compare(run(0.1), run(0.2)).first.left
        6
    """
    if isinstance(names, str) or len(names) != 2:
        raise ValueError(f"names must be two, got {names!r}")
    return Comparison(
        (as_trace(a, called="a"), as_trace(b, called="b")), (str(names[0]), str(names[1]))
    )


def _kinds(trace: Trace, with_operands: bool) -> list[Any]:
    """Return a key for each node that two traces can share; it includes the operands' keys if wanted."""
    own = [(node.kind, node.op.removesuffix("_")) for node in trace.nodes]
    if not with_operands:
        return own
    parents: dict[str, list[Any]] = {}
    for edge in trace.edges:
        parents.setdefault(edge.child, []).append((edge.slot, own[int(edge.parent[1:])]))
    return [(kind, tuple(sorted(parents.get(node.id, ())))) for kind, node in zip(own, trace.nodes)]


def _together(
    *levels: Sequence[list[Any]], own: Pair = (0, 0), length: Pair | None = None
) -> Iterator[Pair]:
    """Return matching positions in two lists: items with equal first-level keys, and between these, items with equal
    keys of the next level."""
    (left, right), (i, k) = levels[0], own
    n, m = length or (len(left), len(right))
    for kind, a, b, c, d in difflib.SequenceMatcher(
        None, left[i : i + n], right[k : k + m], autojunk=False
    ).get_opcodes():
        if kind == "equal":
            yield from zip(range(i + a, i + b), range(k + c, k + d))
        elif kind == "replace" and len(levels) > 1:
            yield from _together(*levels[1:], own=(i + a, k + c), length=(b - a, d - c))


def _boxes(frame: Frame) -> tuple[str, ...]:
    """Return the nodes that a step shows: the receiver of a gradient, else the node that computes or is freed."""
    return (box,) if (box := frame.receiver or frame.node) else ()


def _called(node: Node) -> str:
    return f"`{node.label}`" if node.kind == "leaf" or node.name else "a number"


def _close(a: Value, b: Value) -> bool:
    if a.shape != b.shape:
        return False
    if a.data is None or b.data is None:
        return a.stats == b.stats
    return bool(np.allclose(_read(a), _read(b), rtol=1e-5, atol=1e-12, equal_nan=True))


def _read(value: Value) -> np.ndarray:
    return np.asarray(value.data, dtype=object).astype(float)


def _written(a: Value, b: Value) -> tuple[tuple[str, str], str]:
    """Return two differing values with as few digits as show the difference, and the index in the tensors before it."""
    if a.shape != b.shape:
        return (str(list(a.shape)), str(list(b.shape))), "of shape "
    if a.data is None or b.data is None:
        return ("other numbers", "other numbers"), f"of shape {list(a.shape)}, "
    one, two = _read(a), _read(b)
    place = (
        tuple(np.argwhere(~np.isclose(one, two, rtol=1e-5, atol=1e-12, equal_nan=True))[0])
        if one.ndim
        else ()
    )
    for digits in (4, 6, 9, 17):
        texts = _in_digits(one[place], digits), _in_digits(two[place], digits)
        if texts[0] != texts[1]:
            break
    return texts, f"at {[int(i) for i in place]} " if place else ""


def _in_digits(item: float, digits: int) -> str:
    return short(float(f"{item:.{digits + 3}g}"), digits)  # rounding errors are not shown


def _step(at: int | None) -> str:
    return "–" if at is None else str(at + 1)
