"""Record PyTorch's own tensors: `record()` uses this once `torch` has been imported.

`torch_events` sends the same events as autolab's engine, so both libraries share the code that makes a trace. This file
has the differences: how to recognise a node, how to copy values, and how operations are named."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any


from .errors import failures
from . import stack
from .build import Builder
from .drafts import Seen, operation_name
from .reader import SavedEntry, Stale
from .recorder import Recorder
from .torch_adapter import TorchReader
from .torch_calls import Call
from .torch_pass import packs
from .torch_events import Events, warn
from .torch_silence import Silence

_numbers = itertools.count()


COMPILED = (
    "a recording runs what torch.compile made as it was written, operation by operation: compiled code has other operations, "
    "and none of the values between them"
)


class SeenNodes(Seen):
    """The trace's number of each graph node, stored on the node itself: Python's wrapper objects for PyTorch's nodes
    come and go, and holding one would keep the graph alive."""

    def __init__(self) -> None:
        super().__init__(True)
        self.key = f"autolab recording {next(_numbers)}"
        self.reached: dict[
            str, Any
        ] = {}  # while an operation is reported or a trace is made: id -> node

    def put(self, item: Any, what: Any) -> None:
        item.metadata[self.key] = what
        self.reached[what] = item

    def get(self, item: Any) -> Any:
        return item.metadata.get(self.key)

    def hold(self, item: Any) -> Any:
        number = self.get(item)
        return lambda: self.reached.get(number)

    def reach(self, results: list[Any]) -> None:
        """Find the nodes that still exist, starting from the grad_fn of existing results."""
        todo = [fn for fn in results if fn is not None]
        seen = set(todo)
        while todo:
            fn = todo.pop()
            if (number := self.get(fn)) is not None:
                self.reached[number] = fn
            for target, _ in fn.next_functions:
                if target is not None and target not in seen:
                    seen.add(target)
                    todo.append(target)


class RecordingReader(TorchReader):
    """Reads PyTorch's tensors and nodes for a recording."""

    def __init__(self) -> None:
        super().__init__()
        self.events: Events | None = None
        self.saved_of: Any = None  # the builder's
        self.draft: Any = None
        self.nodes = SeenNodes()
        self.packed = f"{self.nodes.key}: packed"

    def seen_nodes(self, weak: bool) -> Seen:
        return self.nodes

    def scope_now(self) -> Any:
        return None if self.events is None else self.events.scope

    def saved(self, node: Any) -> Iterable[tuple[str, Any]]:
        known = node.metadata
        if self.packed not in known and not packs():
            return super().saved(node)
        # reading it would call the hooks, even later
        state = known.setdefault(self.packed, "alive")
        return [(name, SavedEntry(name, None, state)) for name in self._tensor_names(node)]

    def stale(self, node: Any) -> Iterator[Stale]:
        number = self.nodes.get(node)
        for item in self.saved_of(number) if number is not None else ():
            source = None if item.source_node is None else self.draft(item.source_node)
            tensor = None if source is None else source.held()
            if tensor is not None and item.version is not None and tensor._version != item.version:
                yield Stale(
                    item.name,
                    tensor,
                    self.memory(tensor),
                    item.version,
                    tensor._version,
                )


class TorchRecording(Recorder):
    """The part of a recording that watches PyTorch."""

    def __init__(self) -> None:
        super().__init__()
        self._events = Events(self)
        self._known_at: stack.At | None = None
        self._said = False  # whether it was already said that something is compiled

    def _new_builder(self) -> Builder:
        self.reader = RecordingReader()
        builder = Builder(self.reader, weak=True)
        self.reader.saved_of, self.reader.draft = builder.saved_of, builder.draft
        self.reader.events = self.__dict__.get("_events")
        return builder

    def __exit__(self, *error: Any) -> None:
        try:
            super().__exit__(*error)
        finally:
            gc.unfreeze()

    def _watch(self) -> None:
        # a full collection would go through everything that torch has loaded, several times per block
        gc.freeze()
        self.reader.events = self._events
        self._events.__enter__()

    def _stop(self) -> None:
        self._events.__exit__(None, None, None)

    def knows(self, node: Any) -> bool:
        return self._builder.by_fn.get(node) is not None

    def _at(self, custom: bool) -> stack.At:
        at = self._known_at or stack.at("torch", custom, self._events.running_modules())
        if at.compiled and not self._said:
            self._said = True
            warn(COMPILED, at.frame)
        return at

    def forward(self, *event: Any) -> None:
        try:
            super().forward(*event)
        finally:
            self.reader.nodes.reached.clear()

    def backward_begin(self, *args: Any) -> None:
        super().backward_begin(*args)
        self.reader.nodes.reached.clear()

    def forward_at(self, at: stack.At, *event: Any) -> None:
        """Send the `forward` event of an operation that ran at `at`."""
        self._known_at = at
        try:
            self.forward(*event)
        finally:
            self._known_at = None

    def _holder(self, node: Any) -> Any:
        return lambda: node

    def free(self, node: Any) -> None:
        super().free(node)
        if self.reader.packed in node.metadata:
            node.metadata[self.reader.packed] = "freed"

    def backward_end(self, error: BaseException | None) -> None:
        super().backward_end(error)
        self._running_node = lambda: None

    def _read_call(
        self, op: Any, args: Any, custom: bool
    ) -> tuple[Any, dict[str, Any], dict[str, Any]]:
        if isinstance(op, Call) and op.record is None:
            return None, *op.operands()
        record = None if custom else op.record
        return record, *failures.operands_of(record, args)

    def _operation(self, op: Any, record: Any) -> str:
        if isinstance(op, Call):
            return op.name if record is None else operation_name(record.node)
        return super()._operation(op, record)

    def _called(self, op: Any) -> str:
        return self._operation(op, None)

    def _ended(self, frame: FrameType | None) -> Any:
        with Silence():
            held = [t for d in self._builder.nodes if (t := d.held()) is not None]
            self.reader.nodes.reach([self.reader.grad_fn(t) for t in held])
            write_out = super()._ended(frame)
            self.reader.nodes.reached.clear()
            return write_out
