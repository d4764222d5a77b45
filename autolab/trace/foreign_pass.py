"""The backward pass of another engine, watched: each time its code writes to a `grad`, that is a step.

While it runs, the class's attributes `grad`, `local`, `_backward` are replaced by a descriptor that notes every read
and write. A gradient written to a parent comes from the child that was read last. Nothing else is assumed about the
engine, so a wrong engine shows its own wrong numbers, in its own order.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .values import Value

if TYPE_CHECKING:
    from .foreign import Made

RULES = ("local", "_backward")
"""Who is asked for one of these is at work, though nobody has read its gradient."""


@dataclass(slots=True)
class Step:
    """One change of a gradient. Objects are identified by their position in the graph.

    event: "seed", "contribution", "clear", or "rule": it changed without an assignment (two objects share an array).
    child, slot: the child whose rule sent it, and along which operand. value: what arrived; total: `grad` afterwards;
    upstream: the child's gradient. lost: the value it overwrote instead of adding to it, None if it added. late:
    whether the receiver had already passed its gradient on.
    """

    event: str
    to: int
    value: np.ndarray
    total: np.ndarray
    child: int | None = None
    slot: int | None = None
    upstream: np.ndarray | None = None
    lost: np.ndarray | None = None
    late: bool = False


@dataclass(slots=True)
class Steps:
    """The steps of a pass. before: the `grad` values that were not 0 before it; begun: whether the pass added to such
    gradients; at: the object whose rule ran last."""

    steps: list[Step] = field(default_factory=list)
    before: dict[int, Value] = field(default_factory=dict)
    begun: bool = False
    at: int | None = None


def multiplied(made: Sequence[Made]) -> Steps:
    """Run the backward pass for an engine without one: multiply the local derivatives along each edge, and add where
    paths meet."""
    found, grads, last = Steps(), dict[int, Any](), len(made) - 1
    grads[last] = np.ones_like(made[last].data, dtype=float)
    found.steps.append(Step("seed", last, grads[last], grads[last]))
    for child in range(last, -1, -1):
        m = made[child]
        if child not in grads or m.local is None:
            continue
        for slot, (parent, local) in enumerate(zip(m.parents, m.local)):
            share = np.asarray(
                local(grads[child]) if callable(local) else grads[child] * np.asarray(local)
            )
            before = grads.get(parent)
            grads[parent] = share if before is None else before + share
            found.steps.append(
                Step("contribution", parent, share, grads[parent], child, slot, grads[child])
            )
    return found


def watched(
    items: Sequence[Any], parents: Sequence[Sequence[int]]
) -> tuple[Steps, Exception | None]:
    """Run `backward()` of the last of `items` and record what it writes. Return the steps and the error it raised.
    Every `grad` is restored."""
    kept = [_copy(item.grad) if hasattr(item, "grad") else _NOTHING for item in items]
    watch, error = _Watch(items, parents, kept), None
    try:
        with _looking(items, watch), np.errstate(all="ignore"):
            items[-1].backward()
    except Exception as raised:  # noqa: BLE001  a learner's engine that fails is shown as far as it came
        error = raised
    watch.unassigned()
    for item, grad in zip(items, kept):
        if grad is _NOTHING:
            vars(item).pop("grad", None)
        else:
            item.grad = grad
    return watch.found, error


_NOTHING = object()


def _copy(grad: Any) -> Any:
    return np.array(grad) if isinstance(grad, np.ndarray) else grad


def _array(grad: Any) -> np.ndarray:
    return np.array(0.0 if grad is None or grad is _NOTHING else grad)


class _Watch:
    """Records when each object was read, and each gradient's last known value."""

    def __init__(self, items: Sequence[Any], parents: Sequence[Sequence[int]], kept: Sequence[Any]):
        self.items, self.parents = items, parents
        self.places = {id(item): i for i, item in enumerate(items)}
        self.children: dict[int, list[int]] = {}
        for child, operands in enumerate(parents):
            for parent in dict.fromkeys(operands):
                self.children.setdefault(parent, []).append(child)
        self.seen = [_array(grad) for grad in kept]
        self.found = Steps(before={i: Value.of(a) for i, a in enumerate(self.seen) if a.any()})
        self.clock = 0
        self.read: dict[int, int] = {}  # position -> when its gradient or its rule was last read
        self.changed: dict[int, int] = {}  # position -> when its gradient was last written
        # child, parent -> how often the child sent to the parent
        self.sent: dict[tuple[int, int], int] = {}
        self.worked: set[int] = set()

    def asked(self, item: Any) -> None:
        """Note that an attribute of `item` was read."""
        if (place := self.places.get(id(item))) is not None:
            self.clock += 1
            self.read[place] = self.clock

    def wrote(self, item: Any, grad: Any) -> None:
        """Note that `grad` of `item` was assigned."""
        place = self.places.get(id(item))
        if place is None or grad is None:
            return
        before, total = self.seen[place], _array(grad)
        child = max(
            (c for c in self.children.get(place, ()) if c in self.read),
            key=self.read.__getitem__,
            default=None,
        )
        added = self.read.get(place, 0) > self.changed.get(place, -1)
        self.clock += 1
        self.changed[place], self.seen[place] = self.clock, total
        if child is None:
            self._set(place, before, total)
            return
        self.found.at = child
        self.found.begun |= (
            added
            and place in self.found.before
            and not any(s.to == place for s in self.found.steps)
        )
        value = _difference(before, total) if added else total
        lost = before if not added and before.any() else None
        slots = [slot for slot, p in enumerate(self.parents[child]) if p == place]
        nth = self.sent[child, place] = self.sent.get((child, place), -1) + 1
        slot, upstream = slots[nth % len(slots)], self.seen[child]
        self.worked.add(child)
        step = Step(
            "contribution", place, value, total, child, slot, upstream, lost, place in self.worked
        )
        self.found.steps.append(step)

    def _set(self, place: int, before: np.ndarray, total: np.ndarray) -> None:
        """Add a step for a gradient that no child sent: the result's initial gradient, or a gradient that is
        cleared."""
        seed = place == len(self.items) - 1 and total.any()
        if seed or before.any() or total.any():
            self.found.steps.append(
                Step("seed" if seed else "clear", place, total if seed else before, total)
            )

    def unassigned(self) -> None:
        """Add steps for gradients that changed without an assignment: two objects share one array, and one of them was
        added to in place."""
        for place, item in enumerate(self.items):
            now = _array(getattr(item, "grad", None))
            if now.shape != self.seen[place].shape or not np.array_equal(
                now, self.seen[place], equal_nan=True
            ):
                self.found.steps.append(Step("rule", place, self.seen[place], now))


def _difference(before: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Return what was added. For numbers, return the shortest decimal that gives this sum: 0.3 - 0.1 would be
    0.19999999999999998."""
    if not before.any():
        return total
    value = np.asarray(total - before)
    return (
        value if value.shape else np.asarray(_shortest(float(before), float(value), float(total)))
    )


def _shortest(before: float, value: float, total: float) -> float:
    guesses = (float(f"{value:.{digits}g}") for digits in range(1, 18))
    return next((guess for guess in guesses if before + guess == total), value)


@contextmanager
def _looking(items: Sequence[Any], watch: _Watch) -> Iterator[None]:
    """Record reads and writes of these attributes of the items' classes inside the block."""
    kinds = list(dict.fromkeys(type(item) for item in items))
    own = [
        (kind, name, inspect.getattr_static(kind, name, _NOTHING), name in vars(kind))
        for kind in kinds
        for name in ("grad", *RULES)
    ]
    try:
        for kind, name, inner, _ in own:
            setattr(kind, name, _Attribute(name, inner, watch))
        yield
    finally:
        for kind, name, inner, there in own:
            if there:
                setattr(kind, name, inner)
            elif name in vars(kind):
                delattr(kind, name)


class _Attribute:
    """A descriptor that replaces an attribute of a class, behaves like it, and reports each access."""

    def __init__(self, name: str, inner: Any, watch: _Watch):
        self.name, self.inner, self.watch = name, inner, watch

    def __get__(self, item: Any, kind: type | None = None) -> Any:
        if item is None:
            return self.inner
        self.watch.asked(item)
        if hasattr(type(self.inner), "__set__"):  # a slot or a property
            return self.inner.__get__(item, kind)
        held = getattr(item, "__dict__", {})
        if self.name in held:
            return held[self.name]
        if self.inner is _NOTHING:
            raise AttributeError(f"{type(item).__name__!r} object has no attribute {self.name!r}")
        return (
            self.inner.__get__(item, kind) if hasattr(type(self.inner), "__get__") else self.inner
        )

    def __set__(self, item: Any, value: Any) -> None:
        if hasattr(type(self.inner), "__set__"):
            self.inner.__set__(item, value)
        else:
            item.__dict__[self.name] = value
        if self.name == "grad":
            self.watch.wrote(item, value)
