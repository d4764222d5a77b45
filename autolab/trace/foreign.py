"""A trace of another engine: of any object that says its value, its parents and its local derivatives.

These attributes are read, of a name in brackets where the first is missing:

- `data` (`value`): a number, or an array.
- `parents` (`_prev`): the objects that it was computed from, in the operation's order; empty for a leaf.
- `local`: for each parent the derivative by it: a number, an array of the parent's or the result's shape that the
  gradient is multiplied by, or a function that makes the parent's gradient of the result's. Not needed where there is
  `backward`.
- `grad`: the gradient, to which the engine's own `backward()` writes.
- `op` (`_op`), `name` (`label`): how the operation and the object are called; may be missing or empty.

Where the result has `grad` and a method `backward()`, that is run and watched (`foreign_pass.py`), so the steps are
those of the engine, right or wrong; afterwards each `grad` is what it was. Else the local derivatives are multiplied
and added here.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..engine.core.errors import fail
from . import foreign_pass, names
from .captions import formulas
from .model import Edge, Frame, Node, Pass, Trace
from .reader import is_tensor
from .truth import ABOUT, EQUAL
from .values import Value, exact, short

DATA, PARENTS, OP, NAME = ("data", "value"), ("parents", "_prev"), ("op", "_op"), ("name", "label")
NOTE = "What explore() needs of an engine's objects, and what it may have: docs/own_engine.md."
OWN = "Rehearsed: these are the steps of {}'s own backward(), run now and watched; afterwards every grad was put back."
MADE = "Rehearsed: {} has no backward() yet, so the explorer multiplied its local derivatives and added where paths meet."
NEITHER = "No backward pass is shown: {} has neither a method backward() that writes to grad, nor local derivatives (local)."
BEGUN = (
    " Some grad were not 0 before, and the engine did not clear them: it added to what was there."
)


def is_foreign(item: Any) -> bool:
    """Whether an object is meant to be explored by these attributes: no tensor, but it has parents, or both a value and
    a gradient.

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
    """One object of the engine as it is drawn. parents: the numbers of its parents, one for each operand."""

    item: Any
    label: str
    name: str
    op: str
    data: np.ndarray
    parents: list[int]
    local: tuple[Any, ...] | None

    @property
    def kind(self) -> str:
        """What its class is called."""
        return type(self.item).__name__


def trace(
    root: Any,
    params: Mapping[str, Any] | None = None,
    *,
    namespace: Mapping[str, Any] | None = None,
    backward: bool = True,
) -> Trace:
    """The trace of the computation that led to `root`, an object of another engine (or a list of one).

    params: names for objects, which win over variable names; namespace: where these are looked up, default: the
    caller's variables. backward: add the steps of the backward pass.

    Raises TypeError where an attribute is missing or is not what it should be, and says of which object.

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
        y would send 3 to x (so far 3)
        y would send 3 to x (so far 6)
    """
    made = _graph(root)
    _name(made, names.namespace(names.caller()) if namespace is None else namespace, params or {})
    found, error, why = _stepped(made) if backward else (foreign_pass.Steps(), None, "")
    nodes = tuple(_node(i, m, made, found.before.get(i)) for i, m in enumerate(made))
    edges = tuple(_edges(made, found))
    frames = [
        _computed(n, node, made)
        for n, node in enumerate(node for node in nodes if node.kind == "op")
    ]
    frames += _Told(made, nodes, edges, found).frames(len(frames))
    last = len(made) - 1
    if error is not None:
        at = last if found.at is None else found.at
        text = f"the engine's backward() failed: {type(error).__name__}: {error}"
        frames.append(Frame(len(frames), "backward", "error", 1, f"n{at}", text=text))
        why = why.partition(":")[0] + f": {text}"
    passes = (_pass(nodes, found, last),) if any(f.run for f in frames) else ()
    meta = {
        "library": "foreign",
        "source": "graph",
        "roots": [f"n{last}"],
        "why": why,
        "error": None,
    }
    return Trace(
        nodes, edges, (), tuple(frames), (), passes, meta | {"backward": "dry" if passes else ""}
    )


def _stepped(made: list[Made]) -> tuple[foreign_pass.Steps, Exception | None, str]:
    """The steps of the backward pass, what stopped it, and the sentence on whose pass it is."""
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
    """The first of these attributes that an object has, None where it has none."""
    return next(
        (
            found
            for name in wanted
            if (found := getattr(item, name, None)) is not None and not callable(found)
        ),
        None,
    )


def _graph(root: Any) -> list[Made]:
    """The objects behind `root`, parents before children, each once. Nothing here recurses: graphs of any depth are
    read."""
    order: list[Any] = []
    places: dict[int, int] = {}
    operands: dict[
        int, list[Any]
    ] = {}  # of those entered; without a place yet they are on the way from the root to here
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
    """Its operands. Of a set, which has no order and holds each object once, the order in which the closure of
    `_backward` names them."""
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
    """micrograd keeps its parents in a set: which is the left one, and whether one is both, only its rule knows."""
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
    """Its own name, or that of a variable; a leaf without any is called by its number, an operation v1, v2 …"""
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


# -- in words and formulas ---------------------------------------------------------------------------------------------
_INFIX: dict[str, tuple[str, Callable[..., Any]]] = {
    "+": (r"{} + {}", np.add),
    "-": (r"{} - {}", np.subtract),
    "*": (r"{} \cdot {}", np.multiply),
    "/": (r"\frac{{{}}}{{{}}}", np.divide),
    "@": (r"{} \, {}", np.matmul),
}
_POWER = re.compile(r"\*\*\s*(.+)")


def _call(m: Made, made: list[Made]) -> str:
    """The operation as code: "a + b", "tanh(a)"."""
    labels = [made[p].label for p in m.parents]
    if m.op in _INFIX and len(labels) == 2:
        return f"{labels[0]} {m.op} {labels[1]}"
    power = _POWER.fullmatch(m.op)
    return (
        f"{labels[0]} ** {power[1]}"
        if power and len(labels) == 1
        else f"{m.op or 'operation'}({', '.join(labels)})"
    )


def _tex(m: Made, operands: list[str]) -> str:
    if m.op in _INFIX and len(operands) == 2:
        return _INFIX[m.op][0].format(*operands)
    power = _POWER.fullmatch(m.op)
    if power and len(operands) == 1:
        return f"{operands[0]}^{{{formulas.symbol(power[1])}}}"
    return rf"\operatorname{{{re.sub('[^A-Za-z0-9]', '', m.op) or 'f'}}}({', '.join(operands)})"


def _numbers(m: Made, made: list[Made]) -> str:
    """The operation with numbers, where these are few and the equation holds: a wrong result is shown, and not
    explained."""
    operands = [made[p].data for p in m.parents]
    if m.op not in _INFIX or len(operands) != 2 or any(d.shape != () for d in (m.data, *operands)):
        return ""
    with np.errstate(all="ignore"):
        if not np.isclose(_INFIX[m.op][1](*operands), m.data, rtol=1e-6):
            return ""
    return _tex(m, [_figure(d) for d in operands])


def _plain(number: Any) -> str:
    return formulas.symbol(short(np.asarray(number)[()]))


def _figure(number: Any) -> str:
    """A number as a factor or summand: in brackets where it is negative."""
    text = _plain(number)
    return f"({text})" if text.startswith("-") else text


def _relation(*numbers: Any) -> str:
    return EQUAL if all(exact(np.asarray(n)[()]) for n in numbers) else ABOUT


def _node(i: int, m: Made, made: list[Made], before: Value | None) -> Node:
    numbers = _numbers(m, made)
    shown = (
        f"{_plain(m.data)} {_relation(m.data, *(made[p].data for p in m.parents))} {numbers}"
        if numbers
        else ""
    )
    tex = (
        f"{formulas.symbol(m.label)} = {_tex(m, [formulas.symbol(made[p].label) for p in m.parents])}"
        if m.parents
        else ""
    )
    grad = getattr(m.item, "grad", None)
    return Node(
        f"n{i}",
        "op" if m.parents else "leaf",
        m.op or ("operation" if m.parents else ""),
        name=m.name,
        label=m.label,
        shape=m.data.shape,
        dtype=m.data.dtype.name,
        device="cpu",
        requires_grad=True,
        value=Value.of(m.data),
        grad=None if grad is None else Value.of(grad),
        grad_before=before,
        tex=tex,
        tex_numbers=shown,
        call=_call(m, made) if m.parents else "",
    )


def _computed(index: int, node: Node, made: list[Made]) -> Frame:
    tex = node.tex
    if node.tex_numbers:
        left, relation, right = node.tex_numbers.partition(
            f" {ABOUT} " if ABOUT in node.tex_numbers else f" {EQUAL} "
        )
        tex += f" {EQUAL} {right}{relation}{left}"
    assert node.value is not None
    return Frame(
        index,
        "forward",
        "compute",
        0,
        node.id,
        value=node.value,
        text=f"{node.label} = {node.call}{node.value.said}",
        tex=tex,
    )


def _edges(made: list[Made], found: foreign_pass.Steps) -> Iterator[Edge]:
    number = 0
    for child, m in enumerate(made):
        for slot, parent in enumerate(m.parents):
            factor = m.local[slot] if m.local is not None else found.factors.get((child, slot))
            ratio = rf"\frac{{\partial {formulas.symbol(m.label)}}}{{\partial {formulas.symbol(made[parent].label)}}}"
            known = factor is not None and not callable(factor) and np.ndim(factor) == 0
            tex = f"{ratio} {_relation(factor)} {_plain(factor)}" if known else ""
            yield Edge(f"e{number}", f"n{parent}", 0, f"n{child}", slot, tex=tex, tex_numbers=tex)
            number += 1


class _Told:
    """The steps of a backward pass in words."""

    def __init__(
        self,
        made: list[Made],
        nodes: tuple[Node, ...],
        edges: tuple[Edge, ...],
        found: foreign_pass.Steps,
    ):
        self.made, self.nodes, self.found = made, nodes, found
        self.edges = {(e.child, e.slot): e for e in edges}
        self.several = {
            to
            for to in range(len(made))
            if sum(s.to == to and s.child is not None for s in found.steps) > 1
        }

    def frames(self, index: int) -> Iterator[Frame]:
        """One for each step, from number `index` on."""
        last = {step.to: n for n, step in enumerate(self.found.steps)}
        for n, step in enumerate(self.found.steps):
            value, total = Value.of(step.value), Value.of(step.total)
            state = (
                "contribution" if last[step.to] != n else "zero" if total.is_zero else "accumulated"
            )
            to, child = f"n{step.to}", f"n{step.to if step.child is None else step.child}"
            edge = None if step.slot is None else self.edges[child, step.slot]
            cleared = step.event == "clear"
            yield Frame(
                index + n,
                "update" if cleared else "backward",
                step.event,
                0 if cleared else 1,
                child,
                None if edge is None else edge.id,
                to,
                ("none" if total.is_zero else state) if cleared else state,
                value,
                total,
                *self.said(step, value, total),
            )

    def said(self, step: foreign_pass.Step, value: Value, total: Value) -> tuple[str, str]:
        """The sentence and the formula of a step."""
        name = self.made[step.to].label
        bar = formulas.bar(formulas.symbol(name))
        if step.event == "seed":
            one = value.shape == () and value.data == 1
            why = (
                f"the gradient of {name} with respect to itself is 1"
                if one
                else f"{name} would be given the gradient {value.text}"
            )
            return (
                f"backward would start: {why}",
                f"{bar} {_relation(step.value)} {_plain(step.value)}" if value.shape == () else "",
            )
        if step.event == "clear":
            return f"{name}.grad would be set to {total.text}", ""
        if step.event == "rule":
            return (
                f"{name}.grad would become {total.text} without being assigned: it shares its array with another grad",
                "",
            )
        assert step.child is not None
        sender = self.made[step.child].label
        if step.lost is not None:
            lost = Value.of(step.lost).text
            text = f"{sender} would set {name}.grad to {total.text}; the {lost} that had arrived before would be lost"
        else:
            text = f"{sender} would send {value.text} to {name}" + (
                f" (so far {total.text})" if step.to in self.several else ""
            )
        if step.late:
            text += f"; too late: {name} had passed on what it had before"
        return text, self.chain(step, bar)

    def chain(self, step: foreign_pass.Step, bar: str) -> str:
        """The product with its numbers, where it is one of two numbers."""
        assert step.child is not None and step.slot is not None
        m, upstream = self.made[step.child], step.upstream
        factor = (
            m.local[step.slot]
            if m.local is not None
            else self.found.factors.get((step.child, step.slot))
        )
        if (
            factor is None
            or upstream is None
            or callable(factor)
            or any(np.ndim(x) for x in (factor, upstream, step.value))
        ):
            return ""
        if not np.isclose(upstream * factor, step.value, rtol=1e-9):
            return ""
        sign = EQUAL if step.lost is not None or step.to not in self.several else r"\mathrel{+}="
        child, parent = formulas.symbol(m.label), formulas.symbol(self.made[step.to].label)
        symbols = rf"{formulas.bar(child)} \cdot \frac{{\partial {child}}}{{\partial {parent}}}"
        numbers = f"{_figure(upstream)} \\cdot {_figure(factor)}"
        result = f"{_relation(upstream, factor, step.value)} {_plain(step.value)}"
        return f"{bar} {sign} {symbols} {_relation(upstream, factor)} {numbers} {result}"
