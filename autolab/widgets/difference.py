"""Two traces, matched by structure: what differs between them, and what differs first."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from ..trace.model import Frame, Trace
from ..trace.values import Value, short
from .explorer import Explorer, as_trace

MOST_ROWS = 12  # differences that are told of one by one


class Difference(NamedTuple):
    """One: `what` happened otherwise, in words; `left` and `right`: the steps in either trace (from 0), None where it is in one
    only."""

    what: str
    left: int | None
    right: int | None


class Comparison:
    """What `compare` found. `differences`, in the order in which they happened; `first` of them, or None; the two `traces`."""

    def __init__(self, traces: tuple[Trace, Trace], names: tuple[str, str]) -> None:
        self.traces, self.names = traces, names
        self._pairs: list[tuple[int, int]] = []
        self.differences = tuple(self._found())

    @property
    def first(self) -> Difference | None:
        """The first difference, None where there is none."""
        return self.differences[0] if self.differences else None

    def _found(self) -> list[Difference]:
        left, right = (_keys(trace) for trace in self.traces)
        found = []
        for kind, i, j, k, m in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
            if kind == "equal":
                for at, other in zip(range(i, j), range(k, m)):
                    self._pairs.append((at, other))
                    a, b = self.traces[0].frames[at], self.traces[1].frames[other]
                    if words := _unequal(a, b):
                        found.append(Difference(f"{a.text}; {words}", at, other))
            else:
                found += [
                    Difference(f"only in {self.names[0]}: {self.traces[0].frames[n].text}", n, None)
                    for n in range(i, j)
                ]
                found += [
                    Difference(f"only in {self.names[1]}: {self.traces[1].frames[n].text}", None, n)
                    for n in range(k, m)
                ]
        return found

    def explorers(self) -> tuple[Explorer, Explorer]:
        """Both traces, at their first difference; one takes the other along to the step that is matched with its own."""
        first = self.first
        steps = (first.left or 0, first.right or 0) if first else (0, 0)
        pair = Explorer(self.traces[0], step=steps[0]), Explorer(self.traces[1], step=steps[1])
        there, back = dict(self._pairs), {b: a for a, b in self._pairs}
        for mine, other, to in ((pair[0], pair[1], there), (pair[1], pair[0], back)):
            mine.observe(
                lambda change, other=other, to=to: setattr(other, "step", to.get(change["new"], other.step)), "step"
            )
        return pair

    def __repr__(self) -> str:
        if not self.differences:
            return f"No difference in {len(self._pairs)} steps"
        rest = len(self.differences) - MOST_ROWS
        lines = [f"{len(self.differences)} differences; the first:"] if rest >= -MOST_ROWS else []
        lines += [f"  {_step(d.left)} | {_step(d.right)}  {d.what}" for d in self.differences[:MOST_ROWS]]
        return "\n".join([*lines, *([f"  and {rest} more"] if rest > 0 else [])])

    def _repr_html_(self) -> str:
        if not self.differences:
            return f"<p>{escape(repr(self))}</p>"
        cells = lambda d: "".join(
            f"<td style='text-align:left'>{escape(c)}</td>" for c in (_step(d.left), _step(d.right), d.what)
        )
        rows = "".join(f"<tr>{cells(d)}</tr>" for d in self.differences[:MOST_ROWS])
        heads = "".join(
            f"<th scope='col'>{escape(c)}</th>" for c in (*(f"step, {n}" for n in self.names), "what differs")
        )
        rest = len(self.differences) - MOST_ROWS
        more = f"<p>and {rest} more</p>" if rest > 0 else ""
        return f"<table aria-label='Differences'><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{more}"


def compare(a: Any, b: Any, names: Sequence[str] = ("a", "b")) -> Comparison:
    """What two computations did otherwise: two steps of a training, two rates, with and without `retain_graph`, autolab and PyTorch.

    a, b: whatever `explore` takes: recordings, results, traces. names: what to call them.
    Steps are matched by what they are and where in the graph they happen, not by names; numbers differ when they are apart by
    more than one part in 100,000. Values that a trace does not keep are not compared.

    Raises TypeError for what cannot be explored, ValueError for names that are not two.

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
    return Comparison((as_trace(a), as_trace(b)), (str(names[0]), str(names[1])))


def _keys(trace: Trace) -> list[tuple[Any, ...]]:
    """What each step is, in terms that two traces have in common: no names, no numbers, no ids."""
    seen: dict[str, tuple[Any, ...]] = {}
    counts: dict[tuple[str, str], int] = {}
    for node in trace.nodes:
        key = node.kind, node.op.removesuffix("_")
        counts[key] = counts.get(key, 0) + 1
        seen[node.id] = (*key, counts[key])
    slots = {edge.id: edge.slot for edge in trace.edges}
    return [
        (f.phase, f.event, f.run, seen.get(f.node), seen.get(f.receiver or ""), slots.get(f.edge or ""))
        for f in trace.frames
    ]


def _unequal(a: Frame, b: Frame) -> str:
    """Which numbers of two matched steps differ, in words; "" where none do."""
    for name in ("value", "total"):
        one, other = getattr(a, name), getattr(b, name)
        if one is not None and other is not None and not _close(one, other):
            return f"{'it is' if name == 'value' else 'the gradient is then'} {_number(one)} and {_number(other)}"
    return "" if a.state == b.state else f"the gradient is {a.state or 'none'} and {b.state or 'none'}"


def _close(a: Value, b: Value) -> bool:
    import numpy as np

    if a.shape != b.shape:
        return False
    if a.data is None or b.data is None:
        return a.stats == b.stats
    read = lambda value: np.asarray(value.data, dtype=object).astype(float)
    return bool(np.allclose(read(a), read(b), rtol=1e-5, atol=1e-12, equal_nan=True))


def _number(value: Value) -> str:
    return (
        short(value.data)
        if value.shape == () and value.data is not None
        else f"another tensor of shape {list(value.shape)}"
    )


def _step(at: int | None) -> str:
    return "–" if at is None else str(at + 1)
