"""`register`: a record becomes an operation that can be called, with a class of nodes of its own.

Which code runs an operation is decided at its first call, by asking `LANES` in turn: the last one is the core's,
`apply`, and takes every operation. A faster engine puts its lanes before it (`engine/fast/`), and takes them away
again. Public functions, methods and operators are made of the records in `ops/functions.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from . import namespaces
from .apply import apply, reporting
from .node import node_class
from .record import OPS, Op, parsed, plan_saving

Lane = Callable[[Op], Callable[..., Any] | None]
"""A function that gives for an operation what runs it (it takes all of its arguments, in schema order), or None."""

LANES: list[Lane] = [lambda op: reporting(apply, op)]
INPLACE_LANES: list[Lane] = []
"""The same for operations in place, which `engine/inplace/` adds."""

RECORDS: list[Op] = []
"""All records: those in `OPS`, and their variants."""

EQUIPMENT: list[Callable[[Op], None]] = []
"""What else is done with a new record: a faster engine adds what it has compiled."""

FORGETTING: list[Callable[[], None]] = [namespaces.forget]
"""What is called when lanes change, for whoever remembers one."""


def register(
    schema: str,
    *,
    forward: Callable[..., Any],
    vjp: dict[str, Callable[..., Any]] | None = None,
    operands: tuple[str, ...] | None = None,
    **fields: Any,
) -> Op:
    """Registers an operation and returns its record.

    schema: `"sum(Tensor self, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)"`: torch's C++ argument names,
    each behind its kind; an `operand` is a tensor that may be a number. The other fields are those of `Op`. Raises
    ValueError when the record contradicts itself.

    >>> double = register("_double(Tensor self)", forward=lambda xp, self: self * 2, vjp={"self": lambda m, g: g * 2})
    >>> x = torch.tensor(4., requires_grad=True)
    >>> y = double.call(x)
    >>> y.backward()
    >>> y.item(), x.grad.item(), y.grad_fn.name()
    (8.0, 2.0, 'DoubleBackward0')
    >>> del OPS["_double"]
    """
    said, vjp = parsed(schema), vjp or {}
    name, params = said["name"], said["params"]
    if name in OPS:
        raise ValueError(f"op {name!r} is registered twice")
    if unknown := set(vjp) - set(params):
        raise ValueError(f"op {name!r}: rules for {sorted(unknown)}, which are not arguments")
    if operands is None:
        operands = (
            tuple(p for p in params if p not in said["defaults"]) if fields.get("dtype") else ()
        )
    tensors = {
        p for p, kind in zip(params, said["kinds"]) if kind.startswith(("Tensor", "operand"))
    }
    if no_tensors := {*vjp, *operands} - tensors:
        raise ValueError(f"op {name!r}: its schema says that {sorted(no_tensors)} are no tensors")
    op = Op(**said, forward=forward, vjp=vjp, operands=tuple(operands), **fields)
    op.node = op.node or "".join(w[:1].upper() + w[1:] for w in name.split("_")) + "Backward0"
    _complete(op)
    op.changing = variant(op, **op.inplace_fields) if op.inplace_fields else op
    _ask_at_first_call(op)
    OPS[name] = op
    return op


def variant(op: Op, **fields: Any) -> Op:
    """A record like `op` but for `fields`, with nodes of its own class: torch numbers the nodes of in-place forms on
    from those of the others.

    >>> variant(OPS["exp"], node="ExpBackward1").node_class.__name__
    'ExpBackward1'
    """
    other = replace(op, save=None, general=None, **fields)
    _complete(other)
    other.changing = other
    return other


def _complete(op: Op) -> None:
    """Fills in what follows from a record."""
    plan_saving(op)
    op.node_class = node_class(op)
    RECORDS.append(op)
    for equip in EQUIPMENT:
        equip(op)


# -- lanes -----------------------------------------------------------------------------------------------------------
def choose_lanes_again() -> None:
    """After `LANES` or `INPLACE_LANES` changed: every operation asks again at its next call.

    >>> choose_lanes_again()
    >>> OPS["mul"].call.__name__, OPS["mul"].call(torch.tensor(2.), 3)
    ('first_call', tensor(6.))
    """
    for op in OPS.values():
        _ask_at_first_call(op)
    for forget in FORGETTING:
        forget()


def _ask_at_first_call(op: Op) -> None:
    """Puts into `op.call` and `op.change` what asks the lanes: asking may mean compiling, and compiling all operations
    would double the time of `import autolab`."""
    op.call, op.change = _first_call(op, "call", LANES), _first_call(op, "change", INPLACE_LANES)


def _first_call(op: Op, place: str, lanes: list[Lane]) -> Callable[..., Any]:
    def first_call(
        *args: Any,
    ) -> Any:  # who took it from its place reaches the lane in one call more
        if getattr(op, place) is first_call:
            setattr(op, place, next(run for run in (lane(op) for lane in lanes) if run is not None))
        return getattr(op, place)(*args)

    return first_call
