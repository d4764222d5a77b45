"""Describe PyTorch's operations for a recording: by autolab's record of the same operation if there is one, else by
their schema."""

from __future__ import annotations

import functools
from typing import Any

from ..engine.core.record import OPS
from ..engine.core.record import Op
from .drafts import operation_name
from .reader import is_tensor
from .torch_snapshots import PLAIN

SILENT = frozenset(
    "detach detach_ alias lift lift_fresh lift_fresh_copy empty_like zeros_like ones_like full_like rand_like randn_like randint_like "
    "new_empty new_empty_strided new_zeros new_ones new_full _local_scalar_dense is_nonzero equal allclose is_same_size "
    "record_stream _has_same_storage_numel set_ resize_ sym_size sym_stride sym_numel requires_grad_".split()
)
"""What makes no result of its own: what is detached is drawn where it is used, what is new is data."""


class Schema:
    """The argument list of a PyTorch overload; `name` is the operation's name, without the `_` of an in-place one."""

    def __init__(self, func: Any) -> None:
        schema = func._schema
        full = schema.name.rpartition("::")[2]
        self.full, self.overload = full, schema.overload_name
        self.params = tuple(a.name for a in schema.arguments)
        self.defaults = {a.name: a.default_value for a in schema.arguments if a.has_default_value()}
        self.writes = tuple(
            a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write
        )
        # Batch normalization changes its statistics without declaring it and without a new version; its backward does
        # not.
        hidden = () if full.endswith("_backward") else ("running_mean", "running_var")
        self.changes = (
            *self.writes,
            *(n for n in hidden if n in self.params and n not in self.writes),
        )
        self._places = [(n, self.params.index(n), n in self.writes) for n in self.changes]
        self.view = any(
            a.alias_info is not None and not a.alias_info.is_write for a in schema.arguments
        )
        self.in_place = (
            full.endswith("_") and not full.endswith("__") and self.writes[:1] == self.params[:1]
        )
        self.name = full[:-1] if self.in_place else full
        self.silent = full in SILENT
        self.differentiable = tuple(a.name for a in schema.arguments if "Tensor" in str(a.type))

    def named(self, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by name, including defaults."""
        found = self.defaults.copy()
        found.update(zip(self.params, args))
        found.update(kwargs)
        return found

    def changed(self, args: Any, kwargs: dict[str, Any]) -> list[tuple[Any, bool]]:
        """Return the arguments whose memory a call changes, and whether their version counters will show it."""
        return [
            (args[place] if place < len(args) else kwargs.get(name), counted)
            for name, place, counted in self._places
        ]

    @functools.cached_property
    def record(self) -> Op | None:
        """Return autolab's record with the same name, for an operation without a node."""
        names = (
            (f"{self.name}_scalar", self.name)
            if self.overload.startswith("Scalar")
            else (self.name,)
        )
        return next((OPS[n] for name in names for n in (name, name.lstrip("_")) if n in OPS), None)


_SCHEMAS: dict[int, tuple[Any, Schema | None]] = {}
"""Of each operation that was met, by its id: PyTorch finds out its hash anew each time."""


def schema_of(func: Any) -> Schema | None:
    """Return the schema of an operation; None if its arguments include functions (`torch.cond`)."""
    found = _SCHEMAS.get(id(func))
    if found is None:
        schema = Schema(func) if hasattr(func, "_schema") else None
        found = _SCHEMAS[id(func)] = func, schema
    return found[1]


@functools.cache
def _strangers(schema: Schema, record: Op) -> tuple[str, ...]:
    """Return the arguments of an operation that a record does not have."""
    return tuple(name for name in schema.params if name not in record.params)


class Call:
    """An operation that ran: the `op` of a recording's `forward` event."""

    def __init__(self, schema: Schema, arguments: dict[str, Any], record: Op | None) -> None:
        self.schema, self.arguments = schema, arguments
        if record is not None and not self._fits(record):
            record = None
        self.record = record
        self.name = schema.name.lstrip("_") if record is None else record.name

    def _fits(self, record: Op) -> bool:
        """Return whether the record has the same names for the tensor arguments."""
        return not any(tensors_in(self.arguments[n]) for n in _strangers(self.schema, record))

    def operands(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return (operands, other arguments) without a record: tensors under the schema's names."""
        found: dict[str, Any] = {}
        for name, item in self.arguments.items():
            if is_tensor(item):
                found[name] = item
            elif isinstance(item, (list, tuple)) and any(map(is_tensor, item)):
                found.update((f"{name}[{i}]", x) for i, x in enumerate(item) if is_tensor(x))
            elif isinstance(item, (bool, int, float)) and name in self.schema.differentiable:
                found[name] = item
        return found, {
            n: a
            for n, a in self.arguments.items()
            if n not in found
            and f"{n}[0]" not in found
            and isinstance(a, (bool, int, float, str, list, tuple))
            and a != self.schema.defaults.get(n)
        }

    def args(self) -> tuple[Any, ...]:
        """Return the arguments in the order of the record, or of the schema."""
        if self.record is None:
            return tuple(self.arguments.get(name) for name in self.schema.params)
        return tuple(
            self.arguments.get(name, self.record.defaults.get(name)) for name in self.record.params
        )


class Function(Call):
    """A custom function that ran without a node."""

    def __init__(self, name: str, args: tuple[Any, ...]) -> None:
        self.record, self._args = None, args
        self.name = operation_name(f"{name}Backward")

    def operands(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {str(i): a for i, a in enumerate(self._args) if is_tensor(a)}, {}

    def args(self) -> tuple[Any, ...]:
        return self._args


def tensors_in(item: Any, deep: int = 3) -> list[Any]:
    """Return the tensors in an argument or result: itself, or those in its lists, tuples and dicts."""
    if type(item) in PLAIN or is_tensor(item):
        return [item]
    parts = item.values() if isinstance(item, dict) else item
    found: list[Any] = []
    if isinstance(item, (list, tuple, dict)) and deep:
        for part in parts:
            if type(part) in PLAIN:
                found += (part,)
            elif part is not None and type(part) not in _NUMBERS:
                found += tensors_in(part, deep - 1)
    return found


_NUMBERS = (bool, int, float, str)
