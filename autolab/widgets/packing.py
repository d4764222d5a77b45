"""Pack a trace for a widget's script: columns instead of records, without repeated data. `static/unpack.js` reads
it."""

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
)  # of nodes, edges ...: their numbers are not separated

_WORDS = ("label", "call", "text")  # fields in which results without a name are mentioned
_VALUES = ("value", "grad", "grad_before", "total")
_KEPT = {  # for a big trace; the script gets defaults for the other fields
    Node: "id kind op grad_fn shape dtype device requires_grad module error mark label name".split(),
    Edge: "id parent parent_nr child slot differentiable alias update".split(),
    Saved: "id node name state".split(),
    Frame: "index phase event run state node edge receiver name dropped nr".split(),
}


def pack(trace: Trace, numbers: bool = True, folding: Folding | None = None) -> dict[str, Any]:
    """Return `trace.to_json()` in columns. Each different value is stored once, in a table `values`, and referred to by
    its position; with a `folding`, the trace's beats are included.

    Without `numbers`, leave out values, formulas and sentences: then stepping through a folded picture and searching
    still work.
    """
    values = _Values()
    told = (
        beats.tell(trace, folding)
        if folding and numbers
        else {"beats": (), "titles": {}, "merged": {}}
    )
    expressions = beats.Expressions(trace, told["titles"])
    columns = {f.name: [_plain(getattr(b, f.name)) for b in told["beats"]] for f in fields(Beat)}
    for name in ("says", "notes"):
        columns[name] = [list(map(expressions, texts)) for texts in columns[name]]
    parts = {
        name: _records(kind, getattr(trace, name), values, numbers, expressions)
        for name, kind in (("nodes", Node), ("edges", Edge), ("saved", Saved), ("frames", Frame))
    }
    never = [
        _table({"of": list(p.never), "why": list(map(expressions, p.never.values()))})
        for p in trace.passes
    ]
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


def _records(
    kind: type,
    records: Sequence[Any],
    values: _Values,
    numbers: bool,
    expressions: Callable[[str], str],
) -> dict[str, Any]:
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
            if name in _WORDS:
                columns[name] = list(map(expressions, columns[name]))
    packed = _table(columns)
    alike = {name: {"all": default if records else None} for name, default in same.items()}
    return packed | {
        "columns": {field.name: (packed["columns"] | alike)[field.name] for field in fields(kind)}
    }


def _written(item: Any) -> bytes | str:
    """Return plain data as a key in which 1, 1.0 and True differ. Converting numbers to text would take several times
    longer."""
    try:
        return marshal.dumps(item, 2)  # in later versions equal items may give different bytes
    except ValueError:  # a library's own type of tuple or number
        return repr(item)


def _plain(item: Any) -> Any:
    if isinstance(item, (str, int)) or item is None:
        return item
    if isinstance(item, tuple):
        return list(item)
    return item.to_json() if hasattr(item, "to_json") else item


class _Values:
    """The different values of a trace, by position."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []
        self._written: dict[bytes | str, int] = {}
        self._by_object: dict[
            int, tuple[int, Value]
        ] = {}  # keep a reference, so that its id is not reused

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
    """Return columns of the same length in their shortest form: {"all": item} if all are equal; {"count": 0} for 0, 1,
    2 ...; {"forms", "at", "fill"} for texts that differ only in numbers (see `_words`); {"table": the different items,
    "at": the index of each}; {"lists": texts, each containing a list of words}; or {"each": items}. Columns with few
    different items often change together: they share one `at`, the indices in `rows`, and "at" is the column's number
    there."""
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
    """Return the number of a key; each new key gets the next number."""
    return defaultdict(count().__next__)


def _column(items: list[Any]) -> dict[str, Any]:
    """Return a column in the form that `_table` describes, with an "at" of its own."""
    if items and (items[0] is None or items[0].__class__ is str) and items[-1] == items[0]:
        if items.count(items[0]) == len(items):
            return {"all": items[0]}
    kinds = set(map(type, items)) - {type(None)}
    if kinds == {int} and items == list(range(len(items))) and len(items) > 1:
        return {"count": 0}
    if kinds == {str} and (items[0] or "").endswith("0") and len(items) > 1:  # ids, which count up
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
    ):  # 1, 1.0 and True are equal, but are written differently
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
    """Return the different items, and the types of what they are or contain."""
    if kinds != {str}:
        return {"each": list(map(_plain, items))}
    if items[0].__class__ is tuple:
        return {"lists": _words(list(map(" ".join, items)))}
    return _words(items)


def _words(texts: list[str | None]) -> dict[str, Any]:
    """Return texts without their numbers; the numbers follow in `fill`, one line for all: "v3 = v2 * x" has the form
    "v# = v# * x" and the numbers "3 2". There is no `at` if there is only one form, and no `fill` if the numbers only
    count up: "n0", "n1" ..."""
    empty = texts.count(None)
    whole = "\n".join([NONE if text is None else text for text in texts] if empty else texts)  # type: ignore[arg-type]
    if HOLE in whole or whole.count("\n") != len(texts) - 1 or whole.count(NONE) != empty:
        return {"each": list(texts)}
    if len(texts) > 1 and (ids := _IDS.fullmatch(whole)):
        forms, numbers = [ids[1] + HOLE], whole.removeprefix(ids[1]).replace("\n" + ids[1], " ")
        counting = numbers.startswith("0 1") and numbers == " ".join(map(str, range(len(texts))))
        return {"forms": forms} if counting else {"forms": forms, "fill": numbers}
    pieces = _CHANGING.split(whole)  # all at once: ten times as fast as one by one
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
    """Return the details of one step and one node that `pack` without numbers left out. `around`: (edges to a node,
    what it saved)."""
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
