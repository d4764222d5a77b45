"""Operations that failed: drawn like others, with all their operands, though they have no result."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..engine.failing import sentences
from ..engine.tensor import Tensor
from . import lines, names, words
from .drafts import Draft, operation_name, plain
from .model import Source

if TYPE_CHECKING:
    from .build import Builder

NO_RESULT = "no result"
PASSES = ("backward", "grad")
"""Calls of the public functions that go backward; they fail at their root, not as an operation."""
_PLAIN = (bool, int, float, str)


class Failures:
    """The failed operations of one trace.

    An error is drawn when it is raised; if the package itself catches it, the learner never sees it, and `settle` takes it back: then the
    outermost frame that its traceback knows is the package's own."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.facts: dict[str, dict[str, Any]] = {}  # node -> see `model.Trace`, "failures"
        self._open: tuple[BaseException, Draft] | None = None

    def add(self, op: Any, error: BaseException, parents: dict[str, tuple[Any, tuple[str, int]]], **fields: Any) -> Draft:
        """op: a record, a custom function's node, or a name. parents: operand -> (what it is, its node and output number); `fields` are the
        draft's."""
        builder = self.builder
        record = None if isinstance(op, str) or hasattr(op, "next_functions") else op
        name = op if isinstance(op, str) else operation_name(builder.reader.grad_fn_name(op) if record is None else record.node)
        draft = builder.add(
            "op",
            op=name + ("_" if fields.pop("inplace", False) and not name.endswith("_") else ""),
            name=NO_RESULT,
            record=record,
            error=words.error(error),
            operands={n: parent for n, (_, parent) in parents.items()},
            **fields,
        )
        for slot, (parent, nr) in enumerate(draft.operands.values()):
            builder.edge(parent, nr, draft.id, slot, differentiable=False)
        self._note(draft.id, error, parents)
        builder.film.broke(draft.id, words.error(error))
        self._open = error, draft
        return draft

    def at(self, node_id: str, error: BaseException) -> None:
        """A backward pass that could not begin at the node."""
        self._note(node_id, error, {})
        self.builder.film.broke(node_id, words.error(error))

    def _note(self, node_id: str, error: BaseException, parents: dict[str, tuple[Any, tuple[str, int]]]) -> None:
        operands = []
        for name, (item, (parent, nr)) in parents.items():
            facts = self.builder.reader.facts(item) if hasattr(item, "grad_fn") else None
            about = ((), type(item).__name__, "") if facts is None else (facts.shape, facts.dtype, facts.device)
            operands.append({"name": name, "node": parent, "nr": nr} | dict(zip(("shape", "dtype", "device"), about)))
        self.facts[node_id] = described(error) | {"inside": inside(error.__traceback__), "operands": operands}

    def settle(self) -> None:
        """Called before anything else happens, when it can be told who caught the error."""
        if self._open is None:
            return
        (error, draft), self._open = self._open, None
        if error.__traceback__ is not None and names.ours(error.__traceback__.tb_frame):
            self._take_back(draft)

    def replace(self, error: BaseException) -> None:
        """The same error comes again, better known."""
        if self._open is not None and self._open[0] is error:
            self._take_back(self._open[1])
            self._open = None

    def _take_back(self, draft: Draft) -> None:
        self.builder.take_back(draft)
        del self.facts[draft.id]


def described(error: BaseException) -> dict[str, Any]:
    """An error as data."""
    return {"type": type(error).__name__, "message": str(error), "notes": sentences(error)}


def inside(trace: TracebackType | None) -> dict[str, Any] | None:
    """The innermost line of the learner's code below the line that called: in a custom function's forward."""
    found: Source | None = None
    called = False
    while trace is not None:
        if names.ours(trace.tb_frame):
            called = True
        elif called and not names.library(trace.tb_frame):
            found = names.source(trace.tb_frame, trace.tb_lineno)
        trace = trace.tb_next
    return None if found is None else found.to_json()


def learners(trace: TracebackType | None) -> TracebackType | None:
    """The innermost entry of a traceback that is the learner's own line."""
    found = None
    while trace is not None:
        if not names.ours(trace.tb_frame) and not names.library(trace.tb_frame):
            found = trace
        trace = trace.tb_next
    return found


def given(args: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(tensors, other arguments that can be written down) of a call's arguments; lists one by one."""
    tensors: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for name, item in args.items():
        if isinstance(item, Tensor):
            tensors[name] = item
        elif isinstance(item, (list, tuple)) and any(isinstance(x, Tensor) for x in item):
            tensors |= {f"{name}[{i}]": x for i, x in enumerate(item) if isinstance(x, Tensor)}
        elif isinstance(item, _PLAIN) or isinstance(item, (list, tuple)) and all(isinstance(x, _PLAIN) for x in item):
            rest[name] = plain(item)
    return tensors, rest


def chain(error: BaseException | None) -> list[BaseException]:
    """An error and those it came from, the last first."""
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def as_written(name: str, args: dict[str, Any], expression: lines.Expression | None) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """(name, tensors, other arguments) of a call, called what the learner's line calls them where that can be read: the package has wrappers
    that know neither."""
    tensors, rest = given(args)
    if expression is None:
        return name, tensors, rest
    if expression.method:
        tensors = {"self" if n == "argument 1" else n: item for n, item in tensors.items()}
    return expression.name or name, tensors, rest
