"""Trace another engine: any objects that have a value, parents and local derivatives.

These attributes are read; if the first is missing, the one in parentheses is used:

- `data` (`value`): a number, or an array.
- `parents` (`_prev`): the objects that it was computed from, in the operation's order; empty for a leaf.
- `local`: for each parent the derivative with respect to it: a number, an array of the parent's or the result's shape
that the
  gradient is multiplied by, or a function from the result's gradient to the parent's. Not needed if there is
  `backward`.
- `grad`: the gradient, to which the engine's own `backward()` writes.
- `op` (`_op`), `name` (`label`): how the operation and the object are called; may be missing or empty.

If the result has `grad` and a method `backward()`, that method is run and watched (`foreign_pass.py`), so the steps are
the engine's own, right or wrong; afterwards each `grad` is restored. Otherwise the local derivatives are multiplied and
added here.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..engine.core.errors import fail
from ..engine.core.record import OPS
from . import film, foreign_pass, names
from .captions.labels import Book
from .drafts import Draft, EdgeDraft, mark_aliases
from .film import Shot
from .model import Node, Pass, Trace
from .reader import is_tensor
from .values import Value, short

DATA, PARENTS, OP, NAME = ("data", "value"), ("parents", "_prev"), ("op", "_op"), ("name", "label")
NOTE = "What explore() needs of an engine's objects, and what it may have: docs/own_engine.md."
OWN = "Rehearsed: these are the steps of {}'s own backward(), run now and watched; afterwards every grad was put back."
MADE = "Rehearsed: {} has no backward() yet, so the explorer multiplied its local derivatives and added where paths meet."
NEITHER = "No backward pass is shown: {} has neither a method backward() that writes to grad, nor local derivatives (local)."
BEGUN = (
    " Some grad were not 0 before, and the engine did not clear them: it added to what was there."
)


def is_foreign(item: Any) -> bool:
    """Return whether an object should be explored by these attributes: it is not a tensor, and has parents or both a
    value and a gradient.

    >>> class Value:
    ...     data, parents = 2.0, ()
    >>> is_foreign(Value()), is_foreign(torch.tensor(2.0)), is_foreign(2.0)
    (True, False, False)
    """
    if is_tensor(item) or isinstance(item, (type, np.ndarray, np.generic)):
        return False
    return _first(item, PARENTS) is not None or (
        _first(item, DATA) is not None and hasattr(item, "grad")
    )


@dataclass(slots=True)
class Made:
    """One object of the engine, ready to draw. parents: the numbers of its parents, one for each operand."""

    item: Any
    label: str
    name: str
    op: str
    data: np.ndarray
    parents: list[int]
    local: tuple[Any, ...] | None

    @property
    def kind(self) -> str:
        """Return the name of its class."""
        return type(self.item).__name__


def trace(
    root: Any,
    params: Mapping[str, Any] | None = None,
    *,
    namespace: Mapping[str, Any] | None = None,
    backward: bool = True,
) -> Trace:
    """Return the trace of the computation that led to `root`, an object of another engine (or a list of such objects).

    params: names for objects, which win over variable names; namespace: where variables are looked up, default: the
    caller's variables. backward: add the steps of the backward pass.

    Raises TypeError, which names the object, if an attribute is missing or has the wrong type.

    Example:

        >>> from autolab.trace.foreign import trace
        >>> class Value:
        ...     def __init__(self, data, parents=(), local=(), op=""):
        ...         self.data, self.parents, self.local, self.op = data, parents, local, op
        >>> x = Value(3.0)
        >>> y = Value(9.0, (x, x), (3.0, 3.0), "*")
        >>> for frame in trace(y).frames:
        ...     print(frame.text)
        y = x * x = 9
        backward would start: the gradient of y with respect to itself is 1
        y would send 3 to x (contribution 1 of 2, so far 3)
        y would send 3 to x (contribution 2 of 2, so far 6)
    """
    made = _graph(root)
    _name(made, names.namespace(names.caller()) if namespace is None else namespace, params or {})
    found, error, why = _stepped(made) if backward else (foreign_pass.Steps(), None, "")
    drafts = [_draft(i, m, found.before.get(i)) for i, m in enumerate(made)]
    uses = [(p, child, slot) for child, m in enumerate(made) for slot, p in enumerate(m.parents)]
    lines = [
        EdgeDraft(f"e{n}", f"n{p}", 0, f"n{child}", slot, True, False)
        for n, (p, child, slot) in enumerate(uses)
    ]
    mark_aliases(drafts, lines)
    shots = [Shot("forward", "compute", node=d.id, value=d.value) for d in drafts if d.op]
    shots += _shots(made, found, {(e.child, e.slot): e.id for e in lines})
    last = len(made) - 1
    if error is not None:
        at = last if found.at is None else found.at
        text = f"the engine's backward() failed: {type(error).__name__}: {error}"
        shots.append(Shot("backward", "error", 1, f"n{at}", note=text))
        why = why.partition(":")[0] + f": {text}"
    book = Book(drafts)
    book.names |= {draft.id: m.label for draft, m in zip(drafts, made)}
    for draft in drafts:
        draft.label = book.names[draft.id]
    nodes = tuple(book.node(draft, None, None) for draft in drafts)
    edges = book.edges(lines, shots)
    frames = tuple(film.frames(shots, nodes, edges, book, {}, True))
    passes = (_pass(nodes, found, last),) if any(f.run for f in frames) else ()
    meta = {
        "library": "foreign",
        "source": "graph",
        "roots": [f"n{last}"],
        "why": why,
        "error": None,
        "backward": "dry" if passes else "",
    }
    return Trace(nodes, tuple(edges), (), frames, (), passes, meta)


def _stepped(made: list[Made]) -> tuple[foreign_pass.Steps, Exception | None, str]:
    """Return the steps of the backward pass, the error that stopped it, and a sentence about whose pass it is."""
    root, kind = made[-1].item, made[-1].kind
    if callable(getattr(root, "backward", None)) and hasattr(root, "grad"):
        found, error = foreign_pass.watched([m.item for m in made], [m.parents for m in made])
        return found, error, OWN.format(kind) + (BEGUN if found.begun else "")
    operations = [m for m in made if m.parents]
    if not operations:
        return (
            foreign_pass.Steps(),
            None,
            "A leaf: it was computed from nothing, so there is nothing to step through.",
        )
    if all(m.local is not None for m in operations):
        return foreign_pass.multiplied(made), None, MADE.format(kind)
    return foreign_pass.Steps(), None, NEITHER.format(kind)


def _pass(nodes: tuple[Node, ...], found: foreign_pass.Steps, last: int) -> Pass:
    reached = {step.to for step in found.steps}
    never = {
        n.id: "the engine's backward pass wrote nothing to its grad"
        for i, n in enumerate(nodes)
        if i not in reached
    }
    return Pass(1, roots=(f"n{last}",), never=never)


# -- reading the objects -----------------------------------------------------------------------------------------------
def _first(item: Any, wanted: tuple[str, ...]) -> Any:
    """Return the first of these attributes that an object has; None if it has none."""
    return next(
        (
            found
            for name in wanted
            if (found := getattr(item, name, None)) is not None and not callable(found)
        ),
        None,
    )


def _graph(root: Any) -> list[Made]:
    """Return the objects behind `root`, parents before children, each once. It does not recurse, so a graph may have
    any depth."""
    order: list[Any] = []
    places: dict[int, int] = {}
    operands: dict[
        int, list[Any]
    ] = {}  # place of each visited object; None while its parents are still being visited
    todo = [root]
    while todo:
        item = todo[-1]
        if id(item) not in operands:
            operands[id(item)] = _parents(item)
            waiting = [p for p in operands[id(item)] if id(p) not in places]
            if any(id(p) in operands for p in waiting):
                raise fail(
                    TypeError,
                    f"{_said(item)} was computed from itself",
                    "A graph of a computation has no circle. " + NOTE,
                )
            todo += reversed(waiting)
            if waiting:
                continue
        todo.pop()
        if id(item) not in places:
            places[id(item)] = len(order)
            order.append(item)
    return [_made(item, [places[id(p)] for p in operands[id(item)]]) for item in order]


def _parents(item: Any) -> list[Any]:
    """Return the operands of an object. A set has no order and holds each object once, so take the order in which the
    closure of `_backward` names them."""
    given = _first(item, PARENTS)
    if given is None:
        raise fail(
            TypeError,
            f"{_said(item)} does not say its parents: it has none of the attributes {_or(PARENTS)}",
            "Of a leaf, which was computed from nothing, it is an empty tuple. " + NOTE,
        )
    try:
        found = list(given)
    except TypeError:
        raise fail(
            TypeError,
            f"the parents of {_said(item)} must be a tuple of objects, got {type(given).__name__}",
            NOTE,
        ) from None
    for parent in found:
        if not is_foreign(parent):
            raise fail(
                TypeError,
                f"a parent of {_said(item)} is {parent!r}, which says neither its value nor its parents",
                f"A number in a graph is an object, too: {type(item).__name__}({parent!r}). "
                + NOTE,
            )
    return _from_closure(item, found) if isinstance(given, (set, frozenset)) else found


def _from_closure(item: Any, found: list[Any]) -> list[Any]:
    """Return the operands in the order of micrograd's rule, because micrograd keeps parents in a set: only the rule
    shows which is the left one and whether one object is both."""
    rule = getattr(item, "_backward", None)
    cells = inspect.getclosurevars(rule).nonlocals if inspect.isfunction(rule) else {}
    ordered = [cells[name] for name in sorted(cells, key=lambda name: (name != "self", name))]
    ordered = [cell for cell in ordered if any(cell is p for p in found)]
    missing = [p for p in found if not any(p is cell for cell in ordered)]
    return ordered + sorted(missing, key=lambda p: str(_first(p, DATA)))


def _made(item: Any, parents: list[int]) -> Made:
    value = _first(item, DATA)
    if value is None:
        note = "It is the number or the array that was computed. " + NOTE
        raise fail(
            TypeError,
            f"{_said(item)} does not say its value: it has none of the attributes {_or(DATA)}",
            note,
        )
    data = np.array(value)
    if data.dtype.kind not in "biuf":
        raise fail(
            TypeError,
            f"the value of {_said(item)} must be a number or an array of numbers, got {value!r}",
            NOTE,
        )
    local = getattr(item, "local", None)
    if local is not None and len(local) != len(parents):
        message = f"{_said(item)} has {len(parents)} parents and {len(local)} local derivatives"
        raise fail(TypeError, message, "There is one for each parent, in their order. " + NOTE)
    name, op = _first(item, NAME), _first(item, OP)
    return Made(
        item,
        "",
        name if isinstance(name, str) else "",
        str(op or ""),
        data,
        parents,
        None if local is None else tuple(local),
    )


def _said(item: Any) -> str:
    value = _first(item, DATA)
    of = f" of value {value!r}" if isinstance(value, (int, float)) else ""
    return f"the {type(item).__name__}{of}"


def _or(given: tuple[str, ...]) -> str:
    return " or ".join(f"`{name}`" for name in given)


def _name(made: list[Made], namespace: Mapping[str, Any], params: Mapping[str, Any]) -> None:
    """Return its own name, or a variable's. A leaf without a name is labelled by its number, an operation v1, v2 …"""
    known: dict[int, str] = {id(item): name for name, item in params.items()}
    for name, item in names.values(namespace, is_foreign):
        known.setdefault(id(item), name)
    unnamed = 0
    for m in made:
        m.name = m.name or known.get(id(m.item), "")
        m.label = m.name or (short(m.data[()]) if m.data.shape == () and not m.parents else "")
        if not m.label:
            unnamed += 1
            m.label = f"v{unnamed}"


# -- as nodes and frames -----------------------------------------------------------------------------------------------
_KNOWN = {
    2: {"+": "add", "-": "sub", "*": "mul", "/": "div", "@": "matmul"},
    1: {"neg": "neg", "tanh": "tanh", "exp": "exp", "log": "log", "relu": "relu", "ReLU": "relu"},
}
"""Number of operands -> what an engine calls an operation -> what autolab calls it."""


def _draft(i: int, m: Made, before: Value | None) -> Draft:
    op, attrs = _KNOWN.get(len(m.parents), {}).get(m.op, ""), {}
    power = re.fullmatch(r"\*\*\s*(-?[\d.]+)", m.op)
    if power and len(m.parents) == 1:
        op, attrs = "pow", {"exponent": float(power[1])}
    record = OPS.get({"matmul": "matmul_raw"}.get(op, op))
    named = [str(k) for k in range(len(m.parents))]
    if record is not None:
        named = [record.params[place] for place, _, _ in record.rules]
    grad = getattr(m.item, "grad", None)
    return Draft(
        f"n{i}",
        "op" if m.parents else "leaf",
        (op or re.sub(r"\W", "", m.op) or "operation") if m.parents else "",
        name=m.name,
        shape=m.data.shape,
        dtype=m.data.dtype.name,
        device="cpu",
        requires_grad=True,
        value=Value.of(m.data),
        grad=None if grad is None else Value.of(grad),
        grad_before=before,
        attrs=attrs,
        record=record,
        operands={name: (f"n{p}", 0) for name, p in zip(named, m.parents)},
    )


def _shots(
    made: list[Made], found: foreign_pass.Steps, edges: dict[tuple[str, int], str]
) -> Iterator[Shot]:
    """Return one shot for each step of the pass."""
    last = {step.to: n for n, step in enumerate(found.steps)}
    parts: dict[int, int] = {}
    for n, step in enumerate(found.steps):
        total, name, note = Value.of(step.total), made[step.to].label, ""
        state = "contribution" if last[step.to] != n else "zero" if total.is_zero else "accumulated"
        cleared = step.event == "clear"
        if cleared and total.is_zero:
            state = "none"
        if step.event == "rule":
            note = f"{name}.grad would become {total.text} without being assigned: it shares its array with another grad"
        if step.lost is not None:
            note = f"{name}.grad would be set to it, and the {Value.of(step.lost).text} that had arrived before would be lost"
        if step.late:
            note += f"{'; ' * bool(note)}too late: {name} had passed on what it had before"
        child = f"n{step.to if step.child is None else step.child}"
        if step.child is not None:
            parts[step.to] = parts.get(step.to, 0) + 1
        yield Shot(
            "update" if cleared else "backward",
            step.event,
            0 if cleared else 1,
            child,
            None if step.slot is None else edges[child, step.slot],
            f"n{step.to}",
            state,
            Value.of(step.value),
            total,
            None if step.upstream is None else Value.of(step.upstream),
            0 if step.child is None else parts[step.to],
            note,
        )
