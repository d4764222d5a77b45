"""A trace as a widget's script gets it: every value once, and columns instead of records where there are very many."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from html import escape
from typing import Any

from ..trace import truth
from ..trace.formulas import plain_name
from ..trace.model import Trace

BIG = 4000
"""From this many nodes on a trace is sent as columns without its numbers; the kernel sends those of single steps."""

_VALUES = ("value", "grad", "grad_before", "total")


def pack(trace: Trace) -> dict[str, Any]:
    """`trace.to_json()` with every value once, in a list `values`, and its place there wherever it is used."""
    values: list[Any] = []
    places: dict[str, int] = {}

    def place(value: dict[str, Any] | None) -> int | None:
        if value is None:
            return None
        key = repr(value)
        if key not in places:
            places[key] = len(values)
            values.append(value)
        return places[key]

    def packed(record: dict[str, Any]) -> dict[str, Any]:
        record = record | {key: place(record[key]) for key in _VALUES if key in record}
        if record.get("outputs"):
            record["outputs"] = [packed(output) for output in record["outputs"]]
        return record

    data = trace.to_json()
    for part in ("nodes", "edges", "saved", "frames"):
        data[part] = [packed(record) for record in data[part]]
    return data | {"values": values}


def formulas(trace: Trace) -> dict[str, str]:
    """MathML for every formula of a trace, by its TeX. One that cannot be converted is left out, and shown as TeX."""
    sources = {
        tex for part in (trace.nodes, trace.edges) for record in part for tex in (record.tex, record.tex_numbers)
    }
    sources |= {frame.tex for frame in trace.frames}
    lines = [line for node in trace.nodes if node.update is not None for line in node.update["lines"]]
    sources |= {line[kind] for line in lines for kind in ("tex", "tex_numbers")}
    sources |= {tex for node in trace.nodes if node.layer is not None for _, _, tex in node.layer["card"]}
    return {tex: mathml for tex in sorted(sources) if tex and (mathml := _mathml(tex))}


_OVERLINE = re.compile(r'<mover>((?:(?!<mover>).)*<mo accent="true">&#x02015;</mo></mover>)')
_NAME = re.compile(r"\\mathrm\{((?:[^{}\\]|\\char\d+ |\\.)*)\}")
_MATRIX = r"\begin{bmatrix}"


def _lines(tex: str) -> list[str]:
    """A chain of equations in pieces that may stand below each other: `y = a b`, `= 2 \\cdot 3`, `= 6`; of numbers alone: `2 \\cdot 3`, `= 6`."""
    sides = truth.split(tex)
    together = (
        1
        if r"\mathrel" in sides[0]
        or _MATRIX in sides[0]
        or r"\cdot" in sides[0]
        or len(sides) == 3
        and tex.count(_MATRIX) > 2
        else 3
    )
    return [" ".join(sides[:together]), *(" ".join(pair) for pair in zip(sides[together::2], sides[together + 1 :: 2]))]


@functools.lru_cache(maxsize=20_000)
def _mathml(tex: str) -> str:
    """MathML of a formula, one element for each piece of a chain: no browser breaks a line within one."""
    pieces = [_piece(line) for line in _lines(tex)]
    return " ".join(pieces) if all(pieces) else ""


def _piece(tex: str) -> str:
    from latex2mathml.converter import convert

    names: list[str] = []

    def hide(match: re.Match[str]) -> str:
        names.append(plain_name(match[1]))
        return rf"\text{{name{len(names) - 1}}}"

    try:  # a name is one word, whatever is in it: the converter would take its signs for signs of TeX
        mathml = convert(_NAME.sub(hide, tex), display="block").replace(
            ' xmlns="http://www.w3.org/1998/Math/MathML"', ""
        )
    except Exception:  # the converter raises many kinds for TeX it does not know
        return ""
    for i, name in enumerate(names):
        mathml = mathml.replace(f"<mtext>name{i}</mtext>", f'<mi mathvariant="normal">{escape(name)}</mi>')
    # A bar as long as what it is over is a border in the style sheet: the sign does not stretch.
    mathml = _OVERLINE.sub(r'<mover class="al-overline">\1', mathml)
    # `\mathrel{+}=` is one sign to a reader; the converter makes two of it, with a gap.
    return mathml.replace("<mo><mrow><mo>&#x0002B;</mo></mrow></mo><mo>&#x0003D;</mo>", "<mo>+=</mo>")


def columns(trace: Trace) -> dict[str, Any]:
    """A big trace without values, formulas and sentences: what stepping through a folded picture and searching need.

    A column whose entries repeat is {"table", "at"}: the different entries, and the place of each in them. Nodes, edges
    and saved tensors are referred to by their number, -1 for none."""
    nodes, edges, saved, frames = trace.nodes, trace.edges, trace.saved, trace.frames
    return {
        "columns": True,
        "meta": trace.meta,
        "groups": [],
        "nodes": {
            "label": [n.label for n in nodes],
            "facts": _table(
                (n.kind, n.op, n.grad_fn, n.shape, n.dtype, n.device, n.requires_grad, n.module) for n in nodes
            ),
            "wrong": {str(i): [n.error, n.mark] for i, n in enumerate(nodes) if n.error or n.mark},
            "name": {str(i): n.name for i, n in enumerate(nodes) if n.name},
        },
        "edges": {
            "parent": [_place(e.parent) for e in edges],
            "child": [_place(e.child) for e in edges],
            "facts": _table((e.parent_nr, e.slot, e.differentiable, e.alias, e.update) for e in edges),
        },
        "saved": {"node": [_place(s.node) for s in saved], "facts": _table((s.name, s.state) for s in saved)},
        "frames": {
            "node": [_place(f.node) for f in frames],
            "edge": [_place(f.edge) for f in frames],
            "receiver": [_place(f.receiver) for f in frames],
            "facts": _table((f.phase, f.event, f.run, f.state) for f in frames),
            "name": {str(f.index): f.name for f in frames if f.name},
            "dropped": {
                "frame": [f.index for f in frames for _ in f.dropped],
                "node": [_place(node) for f in frames for node in f.dropped],
            },
        },
        "passes": [
            {
                "run": p.run,
                "call": p.call,
                "fresh": [_place(node) for node in p.fresh],
                "never": {
                    "node": [_place(node) for node in p.never],
                    "why": _table((why,) for why in p.never.values()),
                },
            }
            for p in trace.passes
        ],
    }


def _place(name: str | None) -> int:
    return int(name[1:]) if name else -1


def _table(entries: Iterable[tuple[Any, ...]]) -> dict[str, Any]:
    numbers: dict[tuple[Any, ...], int] = {}
    at = [numbers.setdefault(entry, len(numbers)) for entry in entries]
    return {"table": [list(entry) for entry in numbers], "at": at}


def details(
    trace: Trace, index: int, selected: str, around: Callable[[str], tuple[list[Any], list[Any]]]
) -> dict[str, Any]:
    """What `columns` left out of one step and one node, packed as `pack` does. `around`: (edges to a node, what it
    saved)."""
    frame = trace.frames[index] if 0 <= index < len(trace.frames) else None
    nodes = {selected} if selected else set()
    if frame is not None:
        nodes |= {frame.node, frame.receiver or frame.node} - {""}
    edges, saved = [], []
    for node in sorted(nodes):
        to, kept = around(node)
        edges += to
        saved += kept
    part = Trace(
        tuple(trace.node(n) for n in sorted(nodes)), tuple(edges), tuple(saved), () if frame is None else (frame,)
    )
    return pack(part) | {"formulas": formulas(part)}
