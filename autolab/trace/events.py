"""The event log: what a source tells about a computation while it runs. Everything that a trace shows follows from it.

A source (autolab's engine, PyTorch, an existing graph, a learner's own engine) appends events to a list, and does
nothing else while the learner's code runs: it copies small values, takes the statistics of large ones, and notes
places in the code. Names, texts, formulas, nodes and frames are pure functions of the list, called when somebody asks
for the trace.

Objects are known by numbers. A tensor keeps its number as long as it lives; a node of the graph (`grad_fn`) has one,
too, out of the same count, and a gradient for a leaf goes to the number of the leaf. So the log holds no tensor and no
graph.

A log, in the order of what happened:

    Compute      an operation ran, also in place, or was found in a graph that is older than the recording
    Name         a tensor has a variable's name
    Detach       `x.detach()` or `x.data` gave a tensor
    Begin        a backward pass begins
    Seed           the gradient that it starts with
    Apply          the rule of a node is about to be applied to what has arrived
    Contribute     a node sends a gradient along one of its edges
    Accumulate     a leaf's `.grad` takes what has arrived
    Free           a node's saved tensors are freed
    End          the pass is over
    Return       `grad()` hands gradients back
    Step         an optimizer's `step()` or a `zero_grad()` begins or ends
    Update       a leaf has another value: an optimizer's step, an assignment to `.data`
    Clear        a leaf's `.grad` was reset or replaced, not by backward
    Error        an operation failed, a backward pass could not begin, or the learner's code raised an error
    Lost         the source could not follow what happened
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import CodeType
from typing import Any, NamedTuple

from .values import Value


class Where(NamedTuple):
    """A place in the learner's code: what runs, at which instruction and line, and the lines of all that called it."""

    code: CodeType
    instruction: int
    line: int
    stack: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class TensorState:
    """A tensor at one moment.

    number    : of the tensor object.
    version   : how often it was changed in place, None where nobody counts.
    node, nr  : the number of its grad_fn, None for a leaf or data, and which of the node's results it is.
    memory    : the same number for tensors that share memory, None where that is not known.
    parameter : whether it is a module's parameter; `registered` is its name in the module.
    missing   : why `value` is None, where it is.
    """

    number: int
    shape: tuple[int, ...] | None
    dtype: str
    device: str
    requires_grad: bool
    version: int | None
    bytes: int | None
    value: Value | None
    node: int | None = None
    nr: int = 0
    memory: int | None = None
    parameter: bool = False
    registered: str = ""
    missing: str = ""


@dataclass(frozen=True, slots=True)
class SavedState:
    """What a node saved for its rule: `tensor` is None where it is known only that there is something.

    condition: "alive", "freed" or "modified" when it was looked at."""

    name: str
    tensor: TensorState | None
    condition: str = "alive"


@dataclass(frozen=True, slots=True)
class Compute:
    """An operation ran.

    op       : its name; "add_" in place. `record` is the registry's entry, None for one that it does not know.
    operands : by the names of the arguments, in the order of the slots: tensors, numbers, or None for one that took
               part and was not kept.
    results  : its results; of an in-place operation the tensor as it is after the change.
    node     : the number of its node, None where no gradient flows. `targets`: for each slot the number of the node
               or leaf that the gradient goes to and which of its results, or None.
    attrs    : arguments that are no tensors.
    recorded : False for an operation found in a graph, which ran before anybody watched.
    seconds  : how long it took, where a profile ran.
    """

    op: str
    operands: dict[str, Any]
    results: tuple[TensorState, ...]
    node: int | None = None
    grad_fn: str = ""
    targets: tuple[tuple[int, int] | None, ...] = ()
    record: Any = None
    attrs: dict[str, Any] = field(default_factory=dict)
    saved: tuple[SavedState, ...] = ()
    in_place: bool = False
    cut: str = ""
    scope: Any = None
    where: Where | None = None
    recorded: bool = True
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Name:
    """The tensor of that number is called `name` in the learner's code."""

    tensor: int
    name: str


@dataclass(frozen=True, slots=True)
class Detach:
    """`how` ("detach" or "data") of `origin` gave the tensor of the number `result`."""

    origin: TensorState
    result: int
    how: str
    where: Where | None = None


@dataclass(frozen=True, slots=True)
class Begin:
    """A backward pass begins.

    roots    : (number of a node or leaf, which result) that it starts from.
    reached  : the numbers of the nodes and leaves that it comes by.
    frozen   : leaves among them that do not require a gradient any more.
    wanted   : what `grad()` or `backward(inputs=...)` named, None where every leaf is meant.
    returns  : the gradients are handed back, not accumulated.
    rehearsed: nothing is freed or accumulated: the pass shows what backward() would do.
    """

    roots: tuple[tuple[int, int], ...]
    reached: frozenset[int]
    frozen: frozenset[int] = frozenset()
    wanted: tuple[int, ...] | None = None
    returns: bool = False
    rehearsed: bool = False
    where: Where | None = None


@dataclass(frozen=True, slots=True)
class Seed:
    """The gradient that a pass starts with at result `nr` of `node`."""

    node: int
    nr: int
    value: Value | None


@dataclass(frozen=True, slots=True)
class Apply:
    """All gradients for the results of `node` are in, and its rule is applied. `changed`: result -> the gradient, where
    a hook or a rule in the place of the engine's changed it on the way (`by`)."""

    node: int
    values: tuple[Value | None, ...]
    changed: dict[int, Value | None] = field(default_factory=dict)
    by: str = "hook"


@dataclass(frozen=True, slots=True)
class Contribute:
    """`node` sends `value` along its edge `slot` to result `nr` of `target`, which has `total` then. `hooked`: hooks
    had a say in it."""

    node: int
    slot: int
    target: int
    nr: int
    value: Value | None
    total: Value | None
    hooked: bool = False


@dataclass(frozen=True, slots=True)
class Accumulate:
    """`value` arrived at a leaf, whose `.grad` is `total` now."""

    leaf: int
    value: Value | None
    total: Value | None
    by: str = "hook"


@dataclass(frozen=True, slots=True)
class Free:
    """The saved tensors of `node` were freed."""

    node: int


@dataclass(frozen=True, slots=True)
class End:
    """A backward pass is over; `error` is what it raised, in one line."""

    error: str = ""


@dataclass(frozen=True, slots=True)
class Return:
    """`grad()` hands back `values` for the nodes or leaves `targets` (number, result); the learner's code calls them
    `names`. `held`: the `.grad` of the leaves among them."""

    targets: tuple[tuple[int, int], ...]
    values: tuple[Value | None, ...]
    names: tuple[str, ...]
    held: tuple[Value | None, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A call of an optimizer's `step()` or of `zero_grad()` begins, or is over. `call` is what the learner wrote,
    `type` the class."""

    call: str
    type: str
    over: bool
    where: Where | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """A leaf was changed. `how`: "step" or "data" (`.data` assigned, to `data`).

    optimizer, settings, numbers: of a step, for its formulas (see `optimizers.Facts`)."""

    how: str
    before: TensorState
    after: TensorState
    optimizer: type | None = None
    numbers: Any = None
    data: TensorState | None = None
    where: Where | None = None


@dataclass(frozen=True, slots=True)
class Clear:
    """The `.grad` of the leaf of that number is `value` now; `call`: the learner's call that did it, where known."""

    leaf: int
    value: Value | None
    call: str = ""


@dataclass(frozen=True, slots=True)
class Error:
    """Something failed. `message`: the error in one line; `facts`: as `failures` in `Trace.meta`.

    op and operands are those of an operation that failed; `node` is the root of a pass that could not begin. With
    neither, the learner's own code raised it."""

    message: str
    facts: dict[str, Any]
    op: str = ""
    operands: dict[str, Any] = field(default_factory=dict)
    record: Any = None
    attrs: dict[str, Any] = field(default_factory=dict)
    in_place: bool = False
    node: int | None = None
    scope: Any = None
    where: Where | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """What the source could not follow, in a sentence; the program ran on as without a recording."""

    sentence: str


Event = (
    Compute | Name | Detach | Begin | Seed | Apply | Contribute | Accumulate | Free | End | Return | Step | Update | Clear
    | Error | Lost
)  # fmt: skip
Log = list[Event]
