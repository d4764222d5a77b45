"""A trace as a widget's script gets it: columns instead of records, in which nothing is said twice. `static/unpack.js`
reads it."""

from __future__ import annotations

import marshal
import operator
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from itertools import chain, count
from typing import Any

from ..trace import beats
from ..trace.beats import Beat
from ..trace.layers.folding import Folding
from ..trace.model import Edge, Frame, Node, Output, Saved, Trace
from ..trace.records import rough
from ..trace.values import Value
from .mathml import formulas

BIG = 8_000
"""From this many nodes on a trace is sent without its numbers and sentences; the kernel sends those of single steps."""

HOLE, NONE = "\x7f", "\x00"
FEW = 64
_CHANGING = re.compile(r"(\d+(?:\.\d+)?)")
_IDS = re.compile(
    r"([a-z])\d+(?:\n\1\d+)*", re.ASCII
)  # of nodes, edges ...: their numbers need not be cut out

_VALUES = ("value", "grad", "grad_before", "total")
_KEPT = {  # of a big trace; for the rest a script gets what a record has by default
    Node: "id kind op grad_fn shape dtype device requires_grad module error mark label name".split(),
    Edge: "id parent parent_nr child slot differentiable alias update".split(),
    Saved: "id node name state".split(),
    Frame: "index phase event run state node edge receiver name dropped nr".split(),
}


def pack(trace: Trace, numbers: bool = True, folding: Folding | None = None) -> dict[str, Any]:
    """Return `trace.to_json()` in columns, every value once, in a table `values`, with its place there wherever it is
    used; with a `folding` also the trace's beats.

    Without `numbers` no values, formulas and sentences: what stepping through a folded picture and searching need.
    """
    values = _Values()
    told = (
        beats.tell(trace, folding)
        if folding and numbers
        else {"beats": (), "titles": {}, "merged": {}}
    )
    columns = {f.name: [_plain(getattr(b, f.name)) for b in told["beats"]] for f in fields(Beat)}
    parts = {
        name: _records(kind, getattr(trace, name), values, numbers)
        for name, kind in (("nodes", Node), ("edges", Edge), ("saved", Saved), ("frames", Frame))
    }
    never = [_table({"of": list(p.never), "why": list(p.never.values())}) for p in trace.passes]
    passes = [p.to_json() | {"never": found} for p, found in zip(trace.passes, never, strict=True)]
    groups = [group.to_json() for group in trace.groups]
    packed = {
        "meta": trace.meta,
        "groups": groups,
        "passes": passes,
        **parts,
        "beats": _table(columns),
        "titles": _table({"of": list(told["titles"]), "title": list(told["titles"].values())}),
        "merged": told["merged"],
        "values": values.table(),
    }
    return packed if numbers else packed | {"light": True}


def _records(kind: type, records: Sequence[Any], values: _Values, numbers: bool) -> dict[str, Any]:
    records = records[:] if numbers else rough(records)
    columns: dict[str, list[Any]] = {}
    same: dict[str, Any] = {}
    for field in fields(kind):
        name = field.name
        if not numbers and name not in _KEPT[kind]:
            same[name] = _plain(
                field.default if field.default_factory is MISSING else field.default_factory()
            )
        elif name in _VALUES:
            columns[name] = [values.place(getattr(record, name)) for record in records]
        elif name == "outputs":
            columns[name] = [
                [values.output(output) for output in record.outputs] for record in records
            ]
        else:
            columns[name] = list(map(operator.attrgetter(name), records))
    packed = _table(columns)
    alike = {name: {"all": default if records else None} for name, default in same.items()}
    return packed | {
        "columns": {field.name: (packed["columns"] | alike)[field.name] for field in fields(kind)}
    }


def _written(item: Any) -> bytes | str:
    """Plain data as a key, in which 1, 1.0 and True differ. To put numbers into words takes several times as long."""
    try:
        return marshal.dumps(item, 2)  # in later versions the bytes of equal items may differ
    except ValueError:  # a library's own kind of tuple or number
        return repr(item)


def _plain(item: Any) -> Any:
    if isinstance(item, (str, int)) or item is None:
        return item
    if isinstance(item, tuple):
        return list(item)
    return item.to_json() if hasattr(item, "to_json") else item


class _Values:
    """The different values of a trace, by their place."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []
        self._written: dict[bytes | str, int] = {}
        self._by_object: dict[
            int, tuple[int, Value]
        ] = {}  # the value is kept, so that no other gets its id

    def place(self, value: Value | None) -> int | None:
        if value is None:
            return None
        known = self._by_object.get(id(value))
        if known is None:
            plain = value.to_json()
            place = self._written.setdefault(_written(plain), len(self.found))
            if place == len(self.found):
                self.found.append(plain)
            known = self._by_object[id(value)] = place, value
        return known[0]

    def output(self, output: Output) -> dict[str, Any]:
        return {f.name: _plain(getattr(output, f.name)) for f in fields(output)} | {
            "value": self.place(output.value)
        }

    def table(self) -> dict[str, Any]:
        names = list(self.found[0]) if self.found else []
        return _table({name: [value[name] for value in self.found] for name in names})


def _table(columns: dict[str, list[Any]]) -> dict[str, Any]:
    """Columns of the same length, each as short as it gets: {"all": item} where all are equal; {"count": 0} of 0, 1, 2
    ...; {"forms", "at", "fill"} of words that differ in their numbers (see `_words`); {"table": a column of the
    different items, "at": the place of each}; {"lists": words, in each of which a list of words stands}; or {"each":
    items}. Columns of few different items often change together:
    they share one `at`, the places in `rows`, and "at" is the column's number there."""
    length = len(next(iter(columns.values()), ()))
    packed = {name: _column(items) for name, items in columns.items()}
    few = [column for column in packed.values() if "table" in column and max(column["at"]) < FEW]
    rows = _numbered()
    place_of_row = list(map(rows.__getitem__, zip(*(column["at"] for column in few), strict=True)))
    if not 0 < len(rows) * 4 < length:
        return {"length": length, "columns": packed}
    for number, column in enumerate(few):
        column["at"] = number
    return {"length": length, "columns": packed, "rows": list(map(list, rows)), "at": place_of_row}


def _numbered() -> dict[Any, int]:
    """Return each key that is asked for has the next number."""
    return defaultdict(count().__next__)


def _column(items: list[Any]) -> dict[str, Any]:
    """Return a column as `_table` says, with an "at" of its own."""
    if items and (items[0] is None or items[0].__class__ is str) and items[-1] == items[0]:
        if items.count(items[0]) == len(items):
            return {"all": items[0]}
    kinds = set(map(type, items)) - {type(None)}
    if kinds == {int} and items == list(range(len(items))) and len(items) > 1:
        return {"count": 0}
    if kinds == {str} and (items[0] or "").endswith("0") and len(items) > 1:  # ids, which count
        name = items[0][:-1]
        if items[-1] == f"{name}{len(items) - 1}" and items == [
            f"{name}{i}" for i in range(len(items))
        ]:
            return {"forms": [name + HOLE]}
    keys = items
    if kinds == {tuple}:
        kinds = set(map(type, chain.from_iterable(filter(None, items))))
    if not (
        kinds <= {str} or kinds == {int} or kinds == {bool}
    ):  # 1, 1.0 and True are equal, and are written differently
        items = list(map(_plain, items))
        keys = list(map(_written, items))
    first = dict(zip(reversed(keys), reversed(items), strict=True)) if keys is not items else None
    different = _numbered()
    at = list(map(different.__getitem__, keys))
    if len(different) <= 1:
        return {
            "all": next((_plain(key if first is None else first[key]) for key in different), None)
        }
    if len(different) * 2 <= len(items):
        each = list(different) if first is None else [first[key] for key in different]
        return {"table": _each(each, kinds), "at": at}
    return _each(items, kinds)


def _each(items: list[Any], kinds: set[type]) -> dict[str, Any]:
    """Different items, and the kinds of what they are or hold."""
    if kinds != {str}:
        return {"each": list(map(_plain, items))}
    if items[0].__class__ is tuple:
        return {"lists": _words(list(map(" ".join, items)))}
    return _words(items)


def _words(texts: list[str | None]) -> dict[str, Any]:
    """Texts without their numbers, which follow in `fill`, one line for all: "v3 = v2 * x" has the form "v# = v# * x"
    and the numbers "3 2". No `at` where there is one form, no `fill` where the numbers only count: "n0", "n1" ..."""
    empty = texts.count(None)
    whole = "\n".join([NONE if text is None else text for text in texts] if empty else texts)  # type: ignore[arg-type]
    if HOLE in whole or whole.count("\n") != len(texts) - 1 or whole.count(NONE) != empty:
        return {"each": list(texts)}
    if len(texts) > 1 and (ids := _IDS.fullmatch(whole)):
        forms, numbers = [ids[1] + HOLE], whole.removeprefix(ids[1]).replace("\n" + ids[1], " ")
        counting = numbers.startswith("0 1") and numbers == " ".join(map(str, range(len(texts))))
        return {"forms": forms} if counting else {"forms": forms, "fill": numbers}
    pieces = _CHANGING.split(whole)  # at once: ten times as fast as one by one
    fill, forms = pieces[1::2], HOLE.join(pieces[::2]).split("\n")
    places = {form: place for place, form in enumerate(dict.fromkeys(forms))}
    if len(places) * 2 > len(texts):
        return {"each": list(texts)}
    packed: dict[str, Any] = {"forms": [None if form == NONE else form for form in places]}
    if len(places) > 1:
        packed["at"] = list(map(places.__getitem__, forms))
    counting = len(fill) == len(texts) and fill == list(map(str, range(len(fill))))
    return packed if counting else packed | {"fill": " ".join(fill)}


def details(
    trace: Trace, index: int, selected: str, around: Callable[[str], tuple[list[Any], list[Any]]]
) -> dict[str, Any]:
    """Return what `pack` without numbers left out of one step and one node. `around`: (edges to a node, what it
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
        tuple(trace.node(n) for n in sorted(nodes)),
        tuple(edges),
        tuple(saved),
        () if frame is None else (frame,),
    )
    return pack(part) | {"formulas": formulas(part)}
