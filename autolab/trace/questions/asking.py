"""Questions about a trace: text, the step from which the answer would be visible, the answer, and the causes of typical
wrong answers.

The wrong answers are also computed from the trace. A wrong answer that equals the right one or another wrong one is
left out, because it would not show which mistake was made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...engine.core.errors import fail
from .mistakes import of_gradient, of_next, of_shape, of_state, of_value
from ..model import Frame, Node, Trace
from ..replay import Again, array_of
from ..values import number
from ..captions.sentences import state_word

MOST = 16
"""So many numbers a learner may be asked to type."""
TOLERANCE = 0.005
"""How far from the answer a number may be, relative to it: three digits are enough."""

Answer = Any
"""A number, nested lists of numbers, a shape as a list, a gradient state, or a node's id."""


@dataclass(frozen=True)
class Question:
    """kind   : "value", "grad", "shape", "state" or "next".
    node   : id of the node asked about.
    until  : index of the first frame that gives the answer away; it and all later ones are hidden.
    shows  : index of the frame to go to when the question is over: the one that shows the answer, or for a state the
        first of the pass, so that the learner can step through the pass.
    text   : one sentence, names between backquotes.
    form   : type of answer: "number" (one, or as many as the tensor has), "shape", "choice" or "node".
    answer : the answer, as JSON; said: in words.
    choices: (answer, words) of the options.
    wrong  : (answer, why it is wrong) of typical wrong answers.
    """

    kind: str
    node: str
    until: int
    shows: int
    text: str
    form: str
    answer: Answer
    said: str
    choices: tuple[tuple[str, str], ...] = ()
    wrong: tuple[tuple[Answer, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain data, with the tolerance for numbers."""
        pairs = {
            "choices": [list(pair) for pair in self.choices],
            "wrong": [list(pair) for pair in self.wrong],
        }
        return vars(self) | pairs | {"tolerance": TOLERANCE}


def question(trace: Trace, wanted: str, kind: str, step: int = 0) -> Question:
    """Return the question of a kind about the node called `wanted` (a name, or a node's label): the first one not yet
    answered after frame `step`, else the first of all.

    Raises ValueError for an unknown kind or node, and if there is nothing to ask: the value was given, no gradient
    comes, or there are too many numbers.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> asked = question(torch.trace.trace(x * x), "x", "grad")
    >>> asked.answer, asked.wrong[0]
    (6.0, (3.0, 'That is what one of the 2 uses of `x` sends. Each use sends a contribution of its own, and they are
    added.'))
    """
    if kind not in _KINDS:
        raise fail(
            ValueError,
            f"kind must be {', '.join(map(repr, _KINDS))}, got {kind!r}",
            '"value" and "shape" ask for a result, "grad" and "state" for a gradient, "next" for what runs next.',
        )
    if not trace.frames:
        raise fail(
            ValueError,
            "this trace has no steps, so nothing can be asked before it is seen",
            _NO_STEPS,
        )
    nodes = [node for node in trace.nodes if wanted in (node.id, node.label, node.name)]
    if not nodes:
        labels = ", ".join(node.label for node in trace.nodes[:20])
        raise ValueError(f'node: there is no node "{wanted}"; there are {labels}')
    found, refused = [], None
    for node in nodes:
        try:
            found += list(_KINDS[kind](trace, node))
        except ValueError as error:
            refused = refused or error
    if not found:
        raise refused or ValueError(f"there is nothing to ask about {wanted}")
    found.sort(key=lambda asked: asked.until)
    return next((asked for asked in found if asked.until >= step), found[0])


_NO_STEPS = "explore(result) of something that requires grad has steps, and so has every recording."


def _value(trace: Trace, node: Node) -> Iterator[Question]:
    at, again = _computed(trace, node), Again(trace)
    answer = _few(node.label, array_of(node.value))
    form = f"`{_computation(node)}`" if node.kind == "op" else f"`{node.label}`"
    wrong = _apart(answer, of_value(again, node))
    yield Question(
        "value",
        node.id,
        at,
        at,
        f"What is {form}?",
        "number",
        _json(answer),
        _said(answer),
        (),
        wrong,
    )


def _shape(trace: Trace, node: Node) -> Iterator[Question]:
    at = _computed(trace, node)
    if node.shape is None:
        raise ValueError(f"the shape of {node.label} is not known")
    wrong = [(list(shape), why) for shape, why in of_shape(Again(trace), node)]
    text = f"What is the shape of `{_computation(node)}`?"
    kept = _alone(list(node.shape), wrong, lambda a, b: a == b)
    yield Question(
        "shape", node.id, at, at, text, "shape", list(node.shape), str(tuple(node.shape)), (), kept
    )


def _computation(node: Node) -> str:
    """Return "y = a * b", and "a * b" for a result without a name."""
    return " = ".join(filter(None, (node.name, node.call))) or node.label


def _grad(trace: Trace, node: Node) -> Iterator[Question]:
    if len(node.outputs) > 1:
        raise ValueError(
            f"{node.label} has several results, and a gradient for each; ask about what is computed from them"
        )
    found = False
    for begun in trace.passes:
        frames = [
            f
            for f in trace.frames
            if f.run == begun.run and f.phase == "backward" and f.receiver == node.id
        ]
        arrivals = [
            f for f in frames if f.event in ("seed", "contribution", "hook", "accumulate", "return")
        ]
        if not arrivals or arrivals[-1].state == "never":
            continue
        found, last = True, arrivals[-1]
        answer = _few(
            f"the gradient of {node.label}",
            array_of(last.value if last.event == "return" else last.total),
        )
        root = ", ".join(f"`{trace.node(r).label}`" for r in begun.roots)
        of = f"the gradient of {root} with respect to `{node.label}`"
        if last.event == "accumulate":
            verb = (
                "What would `{}.grad` be"
                if trace.meta.get("backward") == "dry"
                else "What is `{}.grad`"
            )
            text = f"{verb.format(node.label)} after {_which(trace, begun.run)}?"
        else:
            text = (
                f"What does `grad()` hand back: {of}?"
                if last.event == "return"
                else f"What is {of}?"
            )
        wrong = _apart(answer, of_gradient(Again(trace), node, arrivals))
        yield Question(
            "grad",
            node.id,
            arrivals[0].index,
            last.index,
            text,
            "number",
            _json(answer),
            _said(answer),
            (),
            wrong,
        )
    if not found:
        raise fail(
            ValueError,
            f"no gradient comes to {node.label} in this trace",
            f'You can still ask about its state: explorer.ask("{node.label}", "state").',
        )


def _state(trace: Trace, node: Node) -> Iterator[Question]:
    if not trace.passes:
        raise fail(
            ValueError,
            "this trace has no backward pass",
            "The state of a gradient is what a backward pass makes of it.",
        )
    handed = any(f.event == "return" for f in trace.frames)
    rehearsed = trace.meta.get("backward") == "dry"
    kinds = ["none", "never", "zero", "accumulated", *(["returned"] if handed else []), "freed"]
    choices = tuple((kind, state_word(kind, rehearsed=rehearsed)) for kind in kinds)
    for begun in trace.passes:
        frames = [f.index for f in trace.frames if f.run == begun.run and f.phase == "backward"]
        if not frames:
            continue
        state = trace.states(frames[-1])[node.id]
        if state not in kinds:  # a pass that ended with an error
            continue
        verb = "would happen" if rehearsed else "happens"
        text = f"What {verb} to the gradient of `{node.label}` in {_which(trace, begun.run)}?"
        wrong = tuple(of_state(node, state, [kind for kind in kinds if kind != state]))
        yield Question(
            "state",
            node.id,
            frames[0],
            frames[0],
            text,
            "choice",
            state,
            dict(choices)[state],
            choices,
            wrong,
        )


def _next(trace: Trace, node: Node) -> Iterator[Question]:
    """Return, for each pass, what follows after a node was computed or its rule has run."""
    choices = tuple((n.id, n.label) for n in trace.nodes if n.kind in ("op", "leaf", "update"))
    found = False
    for run in (0, *(p.run for p in trace.passes)):
        frames = [f for f in trace.frames if _runs(f, run)]
        own = [i for i, f in enumerate(frames) if f.node == node.id]
        after = next((f for f in frames[own[-1] + 1 :] if f.node != node.id), None) if own else None
        if after is None:
            continue
        found = True
        done = f"`{node.label}` is computed. Which operation is computed next?"
        if run:
            done = f"The rule of `{node.label}` has run in {_which(trace, run)}. Which operation's rule runs next?"
        wrong = tuple(of_next(Again(trace), run, after, [c for c, _ in choices if c != after.node]))
        label = trace.node(after.node).label
        yield Question(
            "next",
            node.id,
            after.index,
            after.index,
            done,
            "node",
            after.node,
            label,
            choices,
            wrong,
        )
    if not found:
        raise ValueError(
            f"nothing follows {node.label}: no operation runs after it, forward or backward"
        )


def _runs(frame: Frame, run: int) -> bool:
    """Return whether an operation runs in a frame of a pass; 0 is the forward pass."""
    return (
        frame.event == "compute" if run == 0 else frame.run == run and frame.event == "contribution"
    )


_KINDS: dict[str, Callable[[Trace, Node], Iterator[Question]]] = {
    "value": _value,
    "grad": _grad,
    "shape": _shape,
    "state": _state,
    "next": _next,
}


def _which(trace: Trace, run: int) -> str:
    """Return which backward pass it is, in words."""
    if len(trace.passes) == 1:
        return "the backward pass"
    place = [p.run for p in trace.passes].index(run) + 1
    return f"backward pass {place} of {len(trace.passes)}"


def _computed(trace: Trace, node: Node) -> int:
    """Return the frame in which a node is computed or changed. Raises ValueError for a node that was given."""
    for frame in trace.frames:
        if (
            frame.event == "compute"
            and frame.node == node.id
            or frame.event == "update"
            and node.id in (frame.node, frame.receiver)
        ):
            return frame.index
    what = (
        "failed, and has no result"
        if node.error
        else "is given, not computed: there is nothing to work out"
    )
    raise fail(ValueError, f"{node.label} {what}", "Ask about a result, or about the gradient.")


def _few(what: str, array: np.ndarray | None) -> np.ndarray:
    if array is None or array.size > MOST:
        many = "more numbers than a trace keeps" if array is None else f"{array.size} numbers"
        raise fail(
            ValueError,
            f'{what} has {many}; up to {MOST} can be asked for. Ask for the "shape"',
            "Ask about a smaller tensor.",
        )
    return array.astype(np.float64)


def _json(array: np.ndarray) -> Any:
    return number(array[()]) if array.ndim == 0 else [_json(row) for row in array]


def _said(array: np.ndarray) -> str:
    shown = lambda item: f"{item:.6g}"  # noqa: E731 - single precision has no more digits
    return shown(array[()]) if array.ndim == 0 else "[" + ", ".join(map(_said, array)) + "]"


def _apart(right: np.ndarray, wrong: Iterator[tuple[Any, str]]) -> tuple[tuple[Answer, str], ...]:
    arrays = [(np.asarray(item, np.float64), why) for item, why in wrong]
    return tuple((_json(item), why) for item, why in _alone(right, arrays, _alike))


def _alike(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and bool(
        np.allclose(a, b, rtol=4 * TOLERANCE, atol=1e-9, equal_nan=True)
    )


def _alone(right: Any, wrong: list[tuple[Any, str]], alike: Callable[[Any, Any], bool]) -> Any:
    """Return the wrong answers that are not right answers and that have only one possible reason."""
    wrong = [(item, why) for item, why in wrong if not alike(item, right)]
    several = [
        any(alike(item, other) and why != because for other, because in wrong)
        for item, why in wrong
    ]
    kept: list[tuple[Any, str]] = []
    for (item, why), shared in zip(wrong, several):
        if not shared and not any(alike(item, other) for other, _ in kept):
            kept.append((item, why))
    return tuple(kept)
