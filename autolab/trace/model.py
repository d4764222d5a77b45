"""A trace: what a computation did, as frozen data that JSON can hold.

Everything that shows a computation (text, picture, widget, exported page) reads this and nothing else. Ids are
strings: nodes "n0", "n1" ... in forward order, edges "e0" ..., saved tensors "s0" ..., groups "g0" ....
`to_json()` gives plain dicts and lists under the field names below; `from_json()` is its exact inverse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from .records import Records, rough
from .values import Value

GradState = Literal["none", "never", "zero", "contribution", "accumulated", "returned", "freed"]
"""Of a node at a frame. "none": no gradient came yet. "never": none comes in this backward pass (`Pass.never` says
why). "zero", "accumulated": all of it is in, or in its `.grad`. "contribution": some of it is in. "returned": the call
handed it back (`grad()`). "freed": it was passed on, and is gone."""
GRAD_STATES: tuple[str, ...] = get_args(GradState)


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list, Records)):
        return [_plain(item) for item in value]
    return value.to_json() if hasattr(value, "to_json") else value


class _Record:
    """Provides `to_json` and `from_json`; `_parts` names the fields that hold a record or a tuple of records."""

    _parts: dict[str, type] = {}
    _tuples: tuple[str, ...] = ()
    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain data, ready for `json.dumps`."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_json(cls, d: dict[str, Any]) -> Any:
        """Return the object that `to_json` was called on."""
        known = dict(d)
        for name, part in cls._parts.items():
            item = known[name]
            if isinstance(item, list):
                known[name] = tuple(part.from_json(i) for i in item)  # type: ignore[attr-defined]
            elif item is not None:
                known[name] = part.from_json(item)  # type: ignore[attr-defined]
        for name in cls._tuples:
            if known.get(name) is not None:
                known[name] = tuple(known[name])
        return cls(**known)


@dataclass(frozen=True, slots=True)
class Source(_Record):
    """The line of the learner's code that made a node."""

    file: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Output(_Record):
    """One result of an operation that has several (`x.max(dim=0)`: values, indices). `label`: its variable, or
    "v3[1]"."""

    _parts = {"value": Value}
    _tuples = ("shape",)
    name: str
    shape: tuple[int, ...] | None
    dtype: str
    value: Value | None
    label: str = ""


RAN = ("op", "update")
"""Kinds of nodes where something ran: an operation, or an optimizer's step for one leaf."""


class Kinds:
    """Properties that follow from the kind of a finished or unfinished node."""

    __slots__ = ()
    kind: str
    shape: tuple[int, ...] | None
    name: str

    @property
    def is_number(self) -> bool:
        """Return whether it is a number in the learner's code, like the 3 in `3 * x`."""
        return self.kind == "data" and self.shape == () and not self.name

    @property
    def ran(self) -> bool:
        """Return whether something ran here: an operation, or an optimizer's step for one leaf."""
        return self.kind in RAN


@dataclass(frozen=True, slots=True)
class Node(_Record, Kinds):
    """One tensor of the computation and, for kind "op", the operation that made it.

    kind         : "leaf" (requires grad, no grad_fn), "data" (does not require grad, not computed here), "op", "update"
        (an optimizer's step for one leaf: not a tensor; its value is the leaf's value afterwards).
    update       : of kind "update": {"call": "opt.step()", "optimizer": its type, "name": the leaf's, "settings": those
                   of its parameter group, "lines": [{"text", "tex": with symbols, "numbers", "tex_numbers": this
                   step's, "" unless the leaf is one number}], [] if the arithmetic is not known, "change": "from 2 to
                   0.8", or how far}. The same for a leaf that an operation changed in place: "call" is "in place",
                   "optimizer" the operation. Else None.
    op           : the operation's name ("mul"; in place "mul_"), "" for leaf and data.
    grad_fn      : PyTorch's node name ("MulBackward0"), "" where there is none.
    name         : the variable's name in the learner's code, "" when it has none. `label` is the name or "v3".
    shape        : None if unknown.
    value        : None if unknown: not saved, or too big to save. Never invented.
    grad         : `.grad` when the trace was made; `grad_before`: `.grad` before the first frame.
    cut          : "detach", "data", "no_grad" or "inference_mode" where gradients stop at this node although an input
                   requires grad.
    version      : the tensor's version counter after the operation, None when unknown.
    outputs      : every result, when there are more than one; the node's own shape and value are output 0's.
    call         : the operation in the learner's words: "x * y", "sum(v2, dim=1)"; "" for leaf and data.
    module       : path of the module whose forward made it ("layer1.0.conv1"; see Group), "" for none; of a leaf or
                   data the module it belongs to.
    attrs        : arguments that are not tensors, by name: {"dim": 1, "keepdim": False}.
    tex          : the forward formula with symbols, tex_numbers with numbers ("" when they are many or unknown).
    error        : what the operation raised, in one line; then it has no result. `meta["failures"]` says more.
    mark         : how the node is involved in an error: "changed here", "saved here" ...; usually "".
    missing      : why `value` is None, in words, "" when it is known.
    again        : whether `value` was recomputed from saved operands (see `recompute.py`).
    time         : the operation's duration in seconds, if a profile was running when the recording began; else None.
    layer        : formula card and pictures of a convolution, pooling or normalisation, see `pictures.py`; else None.
    """

    _parts = {
        "value": Value,
        "grad": Value,
        "grad_before": Value,
        "source": Source,
        "outputs": Output,
    }
    _tuples = ("shape",)
    id: str
    kind: str
    op: str = ""
    grad_fn: str = ""
    name: str = ""
    label: str = ""
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    device: str = ""
    requires_grad: bool = False
    value: Value | None = None
    grad: Value | None = None
    grad_before: Value | None = None
    source: Source | None = None
    module: str = ""
    tex: str = ""
    tex_numbers: str = ""
    cut: str = ""
    version: int | None = None
    outputs: tuple[Output, ...] = ()
    attrs: dict[str, Any] = field(default_factory=dict)
    call: str = ""
    layer: dict[str, Any] | None = None
    error: str = ""
    mark: str = ""
    update: dict[str, Any] | None = None
    missing: str = ""
    again: bool = False
    time: float | None = None

    def output_label(self, nr: int) -> str:
        """Return the label of result `nr`."""
        return self.outputs[nr].label if nr < len(self.outputs) else self.label

    @property
    def made(self) -> str:
        """Return the left side of the `=` that made it: "a, b" if several results have names."""
        return ", ".join([self.label, *(o.label for o in self.named_outputs)])

    @property
    def is_tuple(self) -> bool:
        """Return whether `label` stands for several results together, because none has a name."""
        return bool(self.outputs) and self.output_label(0) != self.label

    @property
    def named_outputs(self) -> list[Output]:
        """Return the results after the first that have a name of their own."""
        made_up = [
            (f"{self.label}[{nr}]", f"{o.name} of {self.label}")
            for nr, o in enumerate(self.outputs)
        ]
        return [o for o, names in zip(self.outputs[1:], made_up[1:]) if o.label not in names]

    @property
    def results(self) -> tuple[Output, ...]:
        """Return the results that `made` stands for, if there are several: all of a tuple, else the named ones."""
        named = self.named_outputs
        return self.outputs if self.is_tuple else (self.outputs[0], *named) if named else ()


@dataclass(frozen=True, slots=True)
class Edge(_Record):
    """`parent`'s output `parent_nr` is operand `slot` of `child`: `x*x` has two edges, slots 0 and 1.

    differentiable : gradients flow back along it.
    tex            : local derivative of child with respect to parent (or the gradient rule, where the derivative is not
                     one factor), tex_numbers with the numbers that are the same in every pass; "" when not
                     differentiable or unknown.
    alias          : parent is a leaf or data that is used often: a picture draws another box with the same name instead
        of a line.
    update         : the parent is a leaf, and the child is its later state, or (of kind "update") the step in between.
        Not an operation of the graph: no gradient ever flows along it.
    """

    id: str
    parent: str
    parent_nr: int
    child: str
    slot: int
    differentiable: bool = True
    tex: str = ""
    tex_numbers: str = ""
    alias: bool = False
    update: bool = False


@dataclass(frozen=True, slots=True)
class Saved(_Record):
    """A value that `node` keeps for its backward: `grad_fn._saved_<name>`.

    source_node : the node whose result it is, None when not in the trace; source_nr says which of its results.
    state       : when the trace was made: "alive", "freed", or "modified" (changed in place since it was saved).
    missing     : why `value` is None, in words.
    memory      : the same number for saved tensors that share memory; 0 for the memory of leaves and data, which exists
        anyway; None if not known.
    """

    _parts = {"value": Value}
    _tuples = ("shape",)
    id: str
    node: str
    name: str
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    version: int | None = None
    bytes: int | None = None
    value: Value | None = None
    source_node: str | None = None
    state: str = "alive"
    source_nr: int = 0
    missing: str = ""
    memory: int | None = None


class _Telling(_Record):
    """Stores the function that writes a frame's text until it is first read."""

    __slots__ = ("_tell",)
    _tell: Callable[[], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Frame(_Telling):
    """One step of what happened.

    phase, event : "forward": "compute" (also in place), "error". "backward": "seed", "contribution" (along `edge`),
                   "accumulate" (into a leaf's `.grad`), "free" (the saved values of `node`), "hook" (a hook changed
                   a gradient), "rule" (a rule that replaces the engine's own did: a specimen),
                   "return" (`grad()` hands the gradient of `receiver` back; `value` is what it hands back, None
                   included), "error". "update", between passes: "update" (a leaf was changed, by an optimizer's step,
                   or in place: `node` is the step or the changed leaf, `receiver` the changed leaf, `total` the
                   `.grad` it still has), "clear" (a leaf's `.grad` was reset or replaced, not by backward).
    nr           : which result of `receiver` the gradient belongs to, if it has several.
    run          : 0 in the forward pass; in the backward passes 1, 2, ... counts them; for an update, the run of the
        last pass before it.
    node         : where it happens: the node computed, seeded, freed; for a contribution the child whose rule was
                   applied.
    receiver     : the node whose gradient changes ("seed", "contribution", "accumulate", "hook", "rule", "update",
                   "clear", "free", "return"), or None.
    state        : gradient state of `receiver` after this frame, "" without receiver.
    value        : what was computed, seeded, contributed, or arrived at the leaf.
    total        : the gradient at `receiver` after this frame (for "accumulate": what `.grad` holds now).
    text, tex    : one sentence; the formula with numbers.
    dropped      : nodes whose gradient is freed from this frame on, because their rule has run and passed it on. A node
        with a "free" frame of its own is not included.
    name         : what the learner's code calls the gradient that a "return" frame hands back ("g"), "" if not known.
    """

    _parts = {"value": Value, "total": Value}
    _tuples = ("dropped",)
    index: int
    phase: str
    event: str
    run: int = 0
    node: str = ""
    edge: str | None = None
    receiver: str | None = None
    state: str = ""
    value: Value | None = None
    total: Value | None = None
    text: str = ""
    tex: str = ""
    dropped: tuple[str, ...] = ()
    name: str = ""
    nr: int = 0

    def told_by(self, tell: Callable[[], tuple[str, str]]) -> Frame:
        """Return the frame with text and formula from `tell`, which is called once, when one of them is first read."""
        object.__delattr__(self, "text")
        object.__delattr__(self, "tex")
        object.__setattr__(self, "_tell", tell)
        return self

    def __getattr__(self, name: str) -> Any:
        # Called for a missing attribute: the text of a frame that has not been read yet.
        if name not in ("text", "tex"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        for field_, words in zip(("text", "tex"), self._tell(), strict=True):
            object.__setattr__(self, field_, words)
        object.__delattr__(self, "_tell")
        return getattr(self, name)


@dataclass(frozen=True, slots=True)
class Pass(_Record):
    """One backward pass; it begins with the first frame of its run.

    run    : as `Frame.run`.
    call   : "backward", or "grad" when it hands the gradients back instead of accumulating them.
    roots  : ids of the nodes it starts from.
    inputs : ids of the nodes it was asked for (`grad()`, `backward(inputs=...)`), () where every leaf is meant.
    fresh  : nodes with a state from an earlier pass that are reset: to "none", or to what their `.grad` holds.
    never  : node id -> why no gradient comes there in this pass; without nodes whose reason is the same as in the pass
        before.
    """

    _tuples = ("roots", "inputs", "fresh")
    run: int
    call: str = "backward"
    roots: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    fresh: tuple[str, ...] = ()
    never: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Group(_Record):
    """The nodes of one module call, one iteration of a training loop, or one call of an optimizer's step().

    kind   : "module"; "iteration" (see `iterations.py`): path "iteration 2", type "loss ≈ 0.812" (where its last
             backward began); "step": path "opt.step()", type "SGD", nodes its updates.
    path   : the module's path from the root module called ("layer1.0.conv1"); for the root itself its type's name.
    nodes  : its operations, those of the modules inside it included.
    parent : id of the group around it, None for a root. An outer group comes before its inner ones.
    call   : 1, 2 ... where the module around it (or the program) calls this one several times.
    holds  : leaves and data that its own operations use: parameters, buffers, numbers. If several calls use one, it is
        in each.
    training : of a module, whether it was in training mode in this call; None where that is not known.
    """

    _tuples = ("nodes", "holds")
    id: str
    path: str
    type: str
    nodes: tuple[str, ...]
    parent: str | None = None
    call: int = 1
    holds: tuple[str, ...] = ()
    kind: str = "module"
    training: bool | None = None

    @property
    def label(self) -> str:
        """Return the path, with the number of the call if there are several."""
        return self.path if self.call == 1 else f"{self.path} (call {self.call})"


@dataclass(frozen=True)
class Trace(_Record):
    """All data of a trace; see the module's docstring.

    meta: "library" ("autolab", "torch", or "foreign": see `foreign.py`), "source" ("graph" or "recording"), "roots"
    (node ids of the results), "backward" ("recorded", "dry" (replayed without touching `.grad`), or "" when there are
    no backward frames), "why" (one sentence for the learner when something is not shown, else ""), "error" (None or
    {"type", "message", "notes", "node", "source"}: what ended the recording, with the id of the node where it happened
    and the learner's line, where they are known), "failures" (node id to {"type", "message", "notes", "inside",
    "operands", "places"}: the operations that failed, and nodes where a backward pass did; "inside" is the line within
    a custom function, "operands" are {"name", "node", "nr", "shape", "dtype", "device"}, "places" {"words", "node",
    "line"}: what else has to do with it), "explanation" (what `autolab.explain` found: {"title", "text", "more",
    "step", "node"}), "changed" (node id to why a value that is shown as it is now may have been another one, where
    there are any: see `recompute.py`), "devices" (those other than the CPU, where there are any: name to {"title",
    "simulated"}), "frozen" (ids of the parameters that do not require grad, where there are any).
    """

    _parts = {
        "nodes": Node,
        "edges": Edge,
        "saved": Saved,
        "frames": Frame,
        "groups": Group,
        "passes": Pass,
    }
    nodes: Sequence[Node]
    edges: Sequence[Edge] = ()
    saved: Sequence[Saved] = ()
    frames: Sequence[Frame] = ()
    groups: tuple[Group, ...] = ()
    passes: tuple[Pass, ...] = ()
    meta: dict[str, Any] = field(default_factory=dict)

    def copied(self, node: Node) -> str:
        """Return the device that a node's operand was copied from ("cpu"); "" if it was not copied to another
        device."""
        if node.op != "to_copy" or node.device == "":
            return ""
        start = next(
            (self.node(e.parent).device for e in self.edges if e.child == node.id), node.device
        )
        return "" if start == node.device else start

    def node(self, node_id: str) -> Node:
        """Return the node with that id. Ids are assigned in order, so this is a look-up. Raises KeyError if there is
        none."""
        position = int(node_id[1:]) if node_id[:1] == "n" and node_id[1:].isdigit() else -1
        if not 0 <= position < len(self.nodes):
            raise KeyError(node_id)
        return self.nodes[position]

    def sharers(self, node_id: str) -> list[str]:
        """Return the module calls that hold a leaf, if there are several ("fc", "fc (call 2)")."""
        labels = [group.label for group in self.groups if node_id in group.holds]
        return labels if len(labels) > 1 and self.node(node_id).kind == "leaf" else []

    def is_simulated(self, device: str) -> bool:
        """Return whether a node's device is simulated: 'sim' always, 'cuda' under `autolab.cuda.simulate()`."""
        return device.startswith("sim") or bool(
            self.meta.get("devices", {}).get(device, {}).get("simulated")
        )

    def states(self, frame_index: int) -> dict[str, str]:
        """Return the gradient state of every node after frame `frame_index`; -1 is before the first frame.

        Each frame says which node's gradient it changed (`receiver`), the new state (`state`), and which gradients were
        `dropped`. A leaf starts with the `.grad` it had. `passes` holds the changes at the start of a pass: nodes that
        get a new gradient are reset, except that `.grad` keeps its value; nodes without a state that get none become
        "never"; all others keep the state from the end of the pass before.
        """
        states = {}
        for node in rough(self.nodes):
            before = node.grad_before
            states[node.id] = (
                "none" if before is None else "zero" if before.is_zero else "accumulated"
            )
        held = dict(states)
        begins = {p.run: p for p in self.passes}
        run = 0
        for frame in rough(self.frames)[: frame_index + 1]:
            if frame.run > run:
                run = frame.run
                if run in begins:
                    self._begin(begins[run], states, held)
            for node_id in frame.dropped:
                states[node_id] = "freed"
            if frame.receiver is not None:
                states[frame.receiver] = frame.state
                if frame.event in ("accumulate", "update", "clear"):
                    held[frame.receiver] = frame.state
        return states

    def _begin(self, begun: Pass, states: dict[str, str], held: dict[str, str]) -> None:
        for node_id in begun.fresh:
            node = self.node(node_id)
            if node.kind != "op" or node.grad is None:  # `retain_grad` keeps a result's gradient
                states[node_id] = held[node_id]
        for node_id in begun.never:
            if states[node_id] == "none":
                states[node_id] = "never"

    def why_never(self, node_id: str, frame_index: int) -> str:
        """Return why no gradient comes to a node in the pass of a frame; "" if one comes, or if no pass has begun."""
        run = max((f.run for f in rough(self.frames)[: frame_index + 1]), default=0)
        if self.states(frame_index)[node_id] != "never":
            return ""
        return next(
            (
                p.never[node_id]
                for p in reversed(self.passes)
                if p.run <= run and node_id in p.never
            ),
            "",
        )

    def to_text(self) -> str:
        """Return the trace as text for people: graph, saved tensors, frames."""
        from .captions.text import render

        return render(self)

    __str__ = to_text
