"""Group the steps of a trace as a learner meets them: one beat for each node and direction, with a title and two lines.

`beats(trace)` goes through the frames once. The `parts` of a beat are the frames that show something new; the frames
between them (saved values freed, `.grad` set) belong to the part before. `tell(trace)` returns the data that a page
needs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .layers.folding import Folding
from .model import Edge, Frame, Node, Trace
from .values import short

LONGEST = 28
"""Characters that an expression may take; a longer one names its operation only."""
MOST_BEATS = 600
"""From this many nodes on, beats have titles but no sentences."""
MOST_NODES = 8000
"""From this many nodes on there are no beats: a page steps through the frames."""
BINARY = {
    "add": ("+", 1),
    "sub": ("-", 1),
    "mul": ("·", 2),
    "div": ("/", 2),
    "matmul": ("@", 2),
    "mm": ("@", 2),
}
MERGED = {("log_softmax", "nll_loss"): "cross entropy"}
"""An operation and the one that alone uses its result: PyTorch calls both with one name."""
_NUMBERED = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Beat:
    """One step as a learner meets it.

    phase : "forward", "backward" or "update"; run: as `Frame.run`.
    node  : the node that it is about, on whose card the parts happen.
    title : the node in the learner's words.
    first, last : the frames that it spans, both included.
    parts : frames to stop at within the beat, in order; (last,) if there is only one.
    says  : two lines; the second may be "". The learner's names and numbers stand between backticks.
    notes : for each part, the line that replaces the second line of `says` at that part.
    """

    phase: str
    run: int
    node: str
    title: str
    first: int
    last: int
    parts: tuple[int, ...] = ()
    says: tuple[str, str] = ("", "")
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Open:
    """A beat whose frames are still being collected."""

    phase: str
    run: int
    owner: str
    frames: list[Frame] = field(default_factory=list)


def beats(trace: Trace, folding: Folding | None = None, names: Names | None = None) -> list[Beat]:
    """Return the beats of a trace, in order; together they span all of its frames."""
    names = names or Names(trace, folding or Folding(trace))
    found: list[_Open] = []
    for frame in trace.frames:
        owner = names.owner(frame)
        now = found[-1] if found else None
        same = now is not None and (now.phase, now.run) == (frame.phase, frame.run)
        if now is None or not same or (owner and owner != now.owner):
            found.append(now := _Open(frame.phase, frame.run, owner))
        now.frames.append(frame)
    said = len(trace.nodes) < MOST_BEATS
    return [_closed(beat, names, said) for beat in found]


def _closed(beat: _Open, names: Names, said: bool) -> Beat:
    frames = beat.frames
    telling = [f for f in frames if names.tells(f)] or frames[-1:]
    parts = (*(f.index for f in telling[:-1]), frames[-1].index)
    node = beat.owner or frames[0].node
    title = names.title(node) if node else frames[0].event
    sentences = Sentences(names, frames, title)
    says = sentences.lines() if said else ("", "")
    notes = tuple(map(sentences.note, telling)) if said and len(parts) > 1 else ()
    place = frames[0].index, frames[-1].index
    return Beat(beat.phase, beat.run, node, title, *place, parts, says, notes)


class Names:
    """The learner's name for each node of a trace, and the card on which each node is shown."""

    def __init__(self, trace: Trace, folding: Folding):
        self.trace, self.folding = trace, folding
        self.into: dict[str, list[Edge]] = {}
        self.uses: dict[str, list[str]] = {}
        for edge in trace.edges:
            if not edge.update:
                self.into.setdefault(edge.child, []).append(edge)
                self.uses.setdefault(edge.parent, []).append(edge.child)
        self.arrivals: dict[tuple[int, str], list[Frame]] = {}
        for frame in trace.frames if len(trace.nodes) < MOST_BEATS else ():
            if frame.event == "contribution" and frame.receiver:
                self.arrivals.setdefault((frame.run, frame.receiver), []).append(frame)
        self._layers = self._numbered_layers()
        self._titles: dict[str, str] = {}

    def _numbered_layers(self) -> dict[str, str]:
        """Return a name for each module that is shown on one card. Modules named only by a number are counted by
        type."""
        count: dict[str, int] = {}
        found = {}
        parts = [part for part in self.folding.parts.values() if part.kind == "module"]
        often = {kind for kind in (p.type for p in parts) if sum(p.type == kind for p in parts) > 1}
        for part in parts:
            name = part.name
            if _NUMBERED.fullmatch(name):
                count[part.type] = count.get(part.type, 0) + 1
                name = f"{part.type} {count[part.type]}" if part.type in often else part.type
            found[part.id] = name
        return found

    def layer(self, part: str) -> str:
        """Return the name of a module's part: "Linear 2" if the learner's code has only a number for it."""
        return self._layers.get(part, self.folding.parts[part].name)

    def card(self, node: str) -> str:
        """Return the node on whose card a node is shown: itself, or the operation that it only prepares an input
        for."""
        node = self.folding.within.get(node, node)
        users = self.uses.get(node, [])
        if len(users) == 1 and self._merged(node, users[0]):
            return users[0]
        return node

    def _merged(self, node: str, user: str) -> str:
        first, second = self.trace.node(node), self.trace.node(user)
        return "" if first.name else MERGED.get((first.op, second.op), "")

    def owner(self, frame: Frame) -> str:
        """Return the card that a frame is shown on; "" if the frame continues the beat before."""
        if frame.event in ("accumulate", "return") and frame.phase == "backward":
            return ""
        if frame.event in ("hook", "rule") and self.trace.node(frame.node).kind != "op":
            return ""
        return self.card(frame.node) if frame.node else ""

    def tells(self, frame: Frame) -> bool:
        """Return whether to stop at a frame. Frames that only save, free or prepare values on the same card are passed
        over."""
        if frame.event in ("free", "accumulate", "seed"):
            return False
        if frame.event == "compute":
            return self.card(frame.node) == frame.node
        if frame.event != "contribution" or frame.receiver is None:
            return True
        to = self.trace.node(frame.receiver)
        return to.kind != "op" or self.card(to.id) != self.card(frame.node)

    def title(self, node: str) -> str:
        """Return what a node is called: its variable, its layer, or its expression if that is short."""
        if node not in self._titles:
            self._titles[node] = self._title(self.trace.node(node))
        return self._titles[node]

    def _title(self, node: Node) -> str:
        if node.kind != "op":
            return node.made or node.id
        if node.name and not node.error:
            return node.made
        parts = [p for p in self.folding.opening(node.id) if self.folding.single.get(p) == node.id]
        if parts:
            return self.layer(parts[0])
        return self.expression(node.id) or node.op.rstrip("_").replace("_", " ")

    def expression(self, node: str, outer: int = 0, depth: int = 5) -> str:
        """Return a result as an expression of names and numbers; "" if it is too long or has no usual notation."""
        if not depth:
            return ""
        one = self.trace.node(node)
        sign, strength = BINARY.get(one.op, ("", 3))
        given = sorted(self.into.get(node, []), key=lambda edge: edge.slot)
        words = [self._operand(e.parent, strength if sign else 0, depth - 1) for e in given]
        if one.op in BINARY and len(words) == 2 and all(words) and one.attrs.get("alpha", 1) == 1:
            if one.op == "mul" and self.trace.node(given[1].parent).is_number:
                words.reverse()
            text = f" {sign} ".join(words)
            text = f"({text})" if outer > strength else text
        elif one.op == "rsub" and len(words) == 1 and words[0] and "other" in one.attrs:
            text = f"{short(one.attrs['other'])} - {words[0]}"
            text = f"({text})" if outer > 1 else text
        elif one.op == "neg" and len(words) == 1 and words[0]:
            text = f"-({words[0]})" if " " in words[0] else f"-{words[0]}"
        elif one.op == "pow" and words and words[0]:
            exponent = words[1] if len(words) > 1 else str(one.attrs.get("exponent", ""))
            base = f"({words[0]})" if " " in words[0] else words[0]
            text = f"{base}^{exponent}"
        elif len(given) <= 2 and all(words) and words:
            text = f"{one.op.rstrip('_')}({', '.join(words)})"
        else:
            return ""
        return text if len(text) <= LONGEST else ""

    def _operand(self, node: str, outer: int, depth: int) -> str:
        one = self.trace.node(node)
        if one.name or one.kind != "op":
            return one.label
        parts = [p for p in self.folding.opening(node) if self.folding.single.get(p) == node]
        return self.layer(parts[0]) if parts else self.expression(node, outer, depth)


class Expressions:
    """Replace the labels of results without a name, such as "v1", by what their cards show, such as "a · b"."""

    def __init__(self, trace: Trace, titles: Mapping[str, str]):
        self.of = {
            node.label: titles[node.id]
            for node in (trace.nodes if titles else ())  # looking at a node makes it
            if node.kind == "op" and not node.name and not node.outputs and node.id in titles
        }

    def __call__(self, text: str) -> str:
        """Return a text with expressions for labels; in brackets where an operator stands beside them."""
        return _LABEL.sub(self._expression, text) if self.of else text

    def _expression(self, found: re.Match[str]) -> str:
        before, label, after = found.groups()
        title = self.of.get(label, label)
        if " " in title and (before or after):
            title = f"({title})"
        return f"{before or ''}{title}"


_OPERATOR = r"(?:[-+*/@]|\*\*)"
_LABEL = re.compile(rf"({_OPERATOR} )?(?<![\w.])(v\d+)(?![\w\[])(?=( {_OPERATOR} )?)")


def tell(trace: Trace, folding: Folding | None = None) -> dict[str, Any]:
    """Return the data with which a page shows a trace in beats.

    "beats": the beats in order; "titles": titles of nodes and of parts of the folding that differ from their labels;
    "merged": for each node that is shown on another node's card, that other node.
    """
    folding = folding or Folding(trace)
    names = Names(trace, folding)
    many = len(trace.nodes) >= MOST_NODES
    nodes = [] if many else [node for node in trace.nodes if node.kind == "op"]
    titles = {node.id: names.title(node.id) for node in nodes} | {
        part: names.layer(part) for part in folding.parts
    }
    merged = {node.id: names.card(node.id) for node in nodes}
    return {
        "beats": [] if many else beats(trace, folding, names),
        "titles": titles,
        "merged": {node: card for node, card in merged.items() if card != node},
    }


class Sentences:
    """Write the two lines of text for a beat."""

    def __init__(self, names: Names, frames: Sequence[Frame], title: str):
        self.names, self.trace, self.frames, self.title = names, names.trace, frames, title

    def lines(self) -> tuple[str, str]:
        """Return the two lines of the caption; the second is "" if the first says everything."""
        event = self.frames[-1].event
        if event == "error" or self.frames[0].phase == "update":
            return _sentence(self.frames[-1].text), ""
        return self._forward() if self.frames[0].phase == "forward" else self._backward()

    def _forward(self) -> tuple[str, str]:
        frame = self.frames[-1]
        node = self.trace.node(frame.node)
        if node.value is not None and node.value.shape == () and not self._in_layer(node):
            own = self.names.expression(node.id)
            numbers = node.call and self._numbers(node)
            steps = [words for words in (own if own != self.title else "", numbers) if words]
            return f"`{self.title}` = {' = '.join([*steps, node.value.text])}", _after(frame.text)
        shapes = [s for s in (self._given_shape(node), node.shape) if s is not None]
        arrow = " → ".join(str(list(shape)) for shape in shapes)
        return f"`{self.title}` computes {arrow or 'its result'}.", _sentence(frame.text)

    def _in_layer(self, node: Node) -> bool:
        return bool(node.module)

    def _given_shape(self, node: Node) -> tuple[int, ...] | None:
        for edge in self.names.into.get(node.id, []):
            given = self.trace.node(edge.parent)
            if given.kind == "op" or (given.kind == "data" and given.shape):
                return given.shape
        return None

    def _numbers(self, node: Node) -> str:
        """Return the expression with the numbers of its operands: "2 · 2"."""
        sign, _ = BINARY.get(node.op, ("", 0))
        given = sorted(self.names.into.get(node.id, []), key=lambda edge: edge.slot)
        values = [self.trace.node(edge.parent).value for edge in given]
        if not sign or len(values) != 2 or any(v is None or v.shape != () for v in values):
            return ""
        texts = [value.text for value in values if value is not None]
        if node.op == "mul" and self.trace.node(given[1].parent).is_number:
            texts.reverse()
        first, second = texts
        return f"{first} {sign} {f'({second})' if second.startswith('-') else second}"

    def _backward(self) -> tuple[str, str]:
        sent = [f for f in self.frames if f.event == "contribution"]
        seeds = [f for f in self.frames if f.event == "seed"]
        outer = [f for f in sent if self.names.tells(f)] or sent
        if seeds:
            start = seeds[0].value
            value = start.text if start is not None and start.shape == () else ""
            with_ = f"with the gradient {value}" if value else "with the gradient that was given"
            handed = self._handed(outer).replace(f"`{self.title}`", "it", 1).rstrip(".")
            first = f"The backward pass starts at `{self.title}` {with_}"
            more = " ".join(filter(None, (self._sums(outer), self._preview())))
            return f"{first}; {handed}." if handed else f"{first}.", more
        if not outer:
            return _sentence(self.frames[0].text), ""
        turned = [_sentence(f.text) for f in self.frames if f.event in ("hook", "rule")]
        return self._handed(outer), " ".join([*turned, self._sums(outer)]).strip()

    def _card(self, node: str) -> str:
        return self.names.card(node)

    def _preview(self) -> str:
        meta = self.trace.meta
        if meta.get("backward") != "dry":
            return ""
        if meta.get("library") == "foreign":  # the steps of an engine that the learner wrote
            return meta.get("why", "").replace("Rehearsed: ", "Preview: ")
        return "Preview: backward() has not run, so nothing was changed."

    def _handed(self, sent: Sequence[Frame]) -> str:
        """Say which gradient a node sends to which receivers."""
        receivers = dict.fromkeys(f.receiver for f in sent if f.receiver)
        if not receivers:
            return ""
        scalar = all(f.value is not None and f.value.shape == () for f in sent)
        if scalar and len(receivers) == 1 and len(sent) > 1:
            to, numbers = next(iter(receivers)), " and ".join(_text(f) for f in sent)
            return f"`{self.title}` hands {numbers} to `{self._name(to)}`, one for each use."
        if scalar:
            each = [f"{_text(f)} to `{self._name(f.receiver or '')}`" for f in sent]
            return f"`{self.title}` hands {_listed(each)}."
        leaves = [r for r in receivers if self.trace.node(r).kind == "leaf"]
        summed = next((f for f in sent if f.receiver in leaves and self._batch(f)), None)
        to = _listed([f"`{self._name(r)}`" for r in receivers])
        if summed is not None:
            bias, count = self._name(summed.receiver or ""), self._batch(summed)
            added = f"`{bias}` served all {count} examples, so theirs are added"
            return f"`{self.title}` hands gradients to {to}: {added}."
        return f"`{self.title}` hands gradients to {to}."

    def note(self, frame: Frame) -> str:
        """Return the line that is said at one part of the beat."""
        if frame.event != "contribution" or frame.receiver is None:
            return _sentence(frame.text)
        to, value = self._name(frame.receiver), frame.value
        if value is None:
            return f"`{to}` receives its gradient."
        if value.shape == ():
            total = frame.total.text if frame.total is not None else ""
            more = f" It holds {total} now." if total and total != value.text else ""
            return f"`{to}` receives {value.text}.{more}"
        batch = self._batch(frame)
        if batch:
            shapes = f"{list(self.trace.node(frame.node).shape or ())} → {list(value.shape)}"
            return (
                f"One `{to}` served all {batch} examples, so their gradients are added: {shapes}."
            )
        return f"`{to}` receives a gradient of shape {list(value.shape)}."

    def _batch(self, frame: Frame) -> int:
        """Return the number of rows over which a bias's gradient is summed; 0 if it is not summed over rows."""
        node, to = self.trace.node(frame.node), self.trace.node(frame.receiver or frame.node)
        if not node.shape or to.shape is None or len(node.shape) != len(to.shape) + 1:
            return 0
        return node.shape[0] if node.shape[1:] == to.shape else 0

    def _sums(self, sent: Sequence[Frame]) -> str:
        """Return the sentence about the receivers' totals, if something was added to them."""
        last: dict[str, Frame] = {
            f.receiver: f
            for f in self.frames
            if f.receiver and f.total is not None and f.event in ("contribution", "accumulate")
        }
        lines = []
        for receiver in dict.fromkeys(f.receiver for f in sent if f.receiver):
            frame, node = last.get(receiver), self.trace.node(receiver)
            if frame is None or frame.total is None or frame.total.shape != ():
                continue
            terms = self._terms(receiver)
            total = frame.total.text
            if not _adds_up(
                terms, total
            ):  # a rule or the learner's own engine replaced the earlier gradient
                lines.append(_sentence(frame.text))
                continue
            added = f"{' + '.join(terms)} = {total}" if len(terms) > 1 else total
            complete = frame.event == "accumulate"
            if complete and node.kind == "leaf":
                lines.append(
                    f"`{self._name(receiver)}` now holds {added}. That is `{self._name(receiver)}.grad`."
                )
            elif len(terms) > 1:
                lines.append(f"`{self._name(receiver)}` now holds {added}.")
        return " ".join(lines)

    def _terms(self, receiver: str) -> list[str]:
        """Return all gradients that have arrived at a node in this pass up to the end of this beat."""
        run, end = self.frames[0].run, self.frames[-1].index
        found: list[str] = []
        for frame in self.names.arrivals.get((run, receiver), ()):
            if frame.index <= end:
                text = _text(frame)
                found.append(f"({text})" if found and text.startswith("-") else text)
        return found

    def _name(self, node: str) -> str:
        """Return what a receiver is called; for a parameter on this card, leave out the name of its module."""
        one = self.trace.node(node)
        if one.kind == "op":
            return self.names.title(self._card(node))
        inside = self._card(node) == self._card(self.frames[0].node) and one.module
        return one.label.removeprefix(f"{one.module}.") if inside else one.label


def _text(frame: Frame) -> str:
    return frame.value.text if frame.value is not None else "?"


def _adds_up(terms: Sequence[str], total: str) -> bool:
    """Return whether numbers, as they are displayed, add up to a total within their rounding."""
    numbers = [float(term.strip("()")) for term in terms]
    rounding = 0.01 * max([abs(number) for number in numbers], default=0)
    return not numbers or not abs(sum(numbers) - float(total)) > rounding


def _listed(words: Sequence[str]) -> str:
    """Return "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _sentence(text: str) -> str:
    return text if not text or text.endswith((".", "?", "!")) else f"{text}."


def _after(text: str) -> str:
    """Return the note that follows the sentence about a computed value; "" if there is none."""
    return _sentence(text.partition("; ")[2])
