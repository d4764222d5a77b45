"""`register`: a record becomes an operation that can be called, with a class of nodes of its own.

Which code runs an operation is decided at its first call, by asking the engine in use. The plain engine, `Engine`,
answers with `apply`; a faster one (`engine/fast/`) overrides its methods and is put into its place by `use`. Public
functions, methods and operators are made of the records in `ops/functions.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from . import namespaces
from .apply import apply, reporting
from .node import Node, node_class
from .record import OPS, Op, parsed, plan_saving


class Engine:
    """The plain engine: how operations and backward passes run unless a faster engine takes its place.

    >>> Engine().runner(OPS["mul"])(torch.tensor(2.), 3.0)
    tensor(6.)
    """

    inplace_runner: ClassVar[Any]  # the same in place; `inplace/changes.py` defines it

    def runner(self, op: Op) -> Callable[..., Any]:
        """Return what runs `op`: a function of all its arguments, in schema order."""
        return reporting(apply, op)

    def run_graph(
        self, roots: Sequence[tuple[Node, int]], seeds: Sequence[Any], retain_graph: bool
    ) -> bool:
        """Run a whole backward pass in a faster way and return True, or do nothing and return False."""
        return False


PLAIN = Engine()
engine = PLAIN  # the engine in use


def use(chosen: Engine) -> None:
    """Let `chosen` run every operation from its next call on.

    >>> before = engine
    >>> use(PLAIN), OPS["mul"].call.__name__, OPS["mul"].call(torch.tensor(2.), 3)
    (None, 'first_call', tensor(6.))
    >>> use(before)
    """
    global engine
    engine = chosen
    for op in OPS.values():
        _ask_at_first_call(op)
    namespaces.forget()


def _ask_at_first_call(op: Op) -> None:
    """Put into `op.call` and `op.change` what asks the engine: asking may mean compiling, and compiling every
    operation at once would double the time of `import autolab`."""
    op.call = _first_call(op, "call", lambda: op.runs or engine.runner(op))
    op.change = _first_call(op, "change", lambda: engine.inplace_runner(op))


def _first_call(op: Op, place: str, ask: Callable[[], Any]) -> Callable[..., Any]:
    def first_call(*args: Any) -> Any:
        # a caller that keeps this function asks again at every call, and reaches the answer all the same
        if getattr(op, place) is first_call:
            setattr(op, place, ask())
        return getattr(op, place)(*args)

    return first_call


def register(
    schema: str,
    *,
    forward: Callable[..., Any],
    vjp: dict[str, Callable[..., Any]] | None = None,
    operands: tuple[str, ...] | None = None,
    **fields: Any,
) -> Op:
    """Register an operation and return its record.

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
    if operands is None:
        operands = (
            tuple(p for p in params if p not in said["defaults"]) if fields.get("dtype") else ()
        )
    if name in OPS:
        raise ValueError(f"op {name!r} is registered twice")
    if unknown := set(vjp) - set(params):
        raise ValueError(f"op {name!r}: rules for {sorted(unknown)}, which are not arguments")
    op = Op(**said, forward=forward, vjp=vjp, operands=tuple(operands), **fields)
    op.node = op.node or "".join(w[:1].upper() + w[1:] for w in name.split("_")) + "Backward0"
    _complete(op)
    if no_tensors := {*vjp, *operands} - {params[i] for i in op.tensors}:
        raise ValueError(f"op {name!r}: its schema says that {sorted(no_tensors)} are no tensors")
    op.changing = variant(op, **op.inplace_fields) if op.inplace_fields else op
    _ask_at_first_call(op)
    OPS[name] = op
    return op


def variant(op: Op, **fields: Any) -> Op:
    """Return a copy of `op` with other `fields` and its own class of nodes. PyTorch continues the numbers of the node
    classes in the in-place forms.

    >>> variant(OPS["exp"], node="ExpBackward1").node_class.__name__
    'ExpBackward1'
    """
    other = replace(op, **fields)
    _complete(other)
    other.changing = other
    return other


def _complete(op: Op) -> None:
    plan_saving(op)
    op.node_class = node_class(op)
