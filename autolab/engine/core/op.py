"""`register`: turn a record into an operation that can be called, with its own class of nodes.

At the first call of an operation, the engine in use decides which code runs it. The plain engine, `Engine`, answers
with `apply`. A faster engine (`engine/fast/`) overrides its methods and replaces it through `use`. Public functions,
methods and operators are made from the records in `ops/functions.py`.
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

    inplace_runner: ClassVar[Any]  # runs ops in place; defined in `inplace/changes.py`

    def runner(self, op: Op) -> Callable[..., Any]:
        """Return the function that runs `op`; it takes all arguments in schema order."""
        return reporting(apply, op)

    def run_graph(
        self, roots: Sequence[tuple[Node, int]], seeds: Sequence[Any], retain_graph: bool
    ) -> bool:
        """Run a whole backward pass on a faster path and return True, or do nothing and return False."""
        return False


PLAIN = Engine()
engine = PLAIN  # the engine in use


def use(chosen: Engine) -> None:
    """Make `chosen` the engine that runs every operation from its next call on.

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
    """Set `op.call` and `op.change` to functions that ask the engine at their first call. Asking may compile the
    operation; compiling all of them at once would double the time of `import autolab`."""
    op.call = _first_call(op, "call", lambda: op.runs or engine.runner(op))
    op.change = _first_call(op, "change", lambda: engine.inplace_runner(op))


def _first_call(op: Op, place: str, ask: Callable[[], Any]) -> Callable[..., Any]:
    def first_call(*args: Any) -> Any:
        # A caller may have stored this function, so each call looks up the current runner in `op`.
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

    schema: `"sum(Tensor self, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)"`, with the argument names of
    torch's C++ code, each after its kind. An `operand` is a tensor or a number. The other fields are the fields of
    `Op`. Raise ValueError if the record contradicts itself.

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
    """Return a copy of `op` with other `fields` and its own class of nodes. The numbers in its node classes' names go
    on from the out-of-place form, as in PyTorch.

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
