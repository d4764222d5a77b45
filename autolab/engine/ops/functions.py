"""Public functions, methods and operators, made of records: `torch.exp`, `Tensor.exp`, `a * b`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.dtype import NUMBERS
from ..core.op import register as internal
from ..core.record import Op
from ..core.tensor import Tensor

NAMESPACES: dict[str, dict[str, Callable[..., Any]]] = {
    "": {},
    "nn.functional": {},
    "linalg": {},
    "Tensor": {},
}
"""Public functions by the namespace they appear in; '' is the top level."""

METHODS: dict[str, Any] = {}
"""Tensor methods by name, which `attach_methods` puts on the class."""


def register(
    schema: str,
    *,
    method: bool = True,
    function: bool = True,
    inplace: bool | str = False,
    **record: Any,
) -> Op:
    """Register an op (`core.op.register`, which says what a record holds) and give it its public names. Return the
    record.

    Overloads such as `pow_scalar` are `internal` and dispatched by a composite. inplace: whether there is `exp_` too;
    as a method alone where it is "method"."""
    op = internal(schema, inplace=bool(inplace), **record)
    functions = NAMESPACES[""] if function else {}
    methods = METHODS if method else {}
    functions[op.name] = _public(op, op.name, False)
    methods[op.name] = _public(op, op.name, False)
    if inplace:
        METHODS[f"{op.name}_"] = _public(op, f"{op.name}_", True)
        if inplace != "method":
            functions[f"{op.name}_"] = _public(op, f"{op.name}_", True)
    return op


# -- operators ---------------------------------------------------------------------------------------------------------
OPERATORS: dict[str, tuple[Op, Callable[..., Any] | None]] = {}
"""Python's operators of two operands: the method's name, the operation, and what is called instead where the second one
is a tensor."""


def binary_operator(name: str, op: Op, of_tensors: Callable[..., Any] | None = None) -> None:
    """Make `op` the Tensor method `name`, such as `__mul__`: NotImplemented for operands that are neither tensors nor
    numbers.

    of_tensors: what to call instead when the second operand is a tensor (`x ** y` is another op than `x ** 2`)."""

    def method(a: Any, b: Any) -> Any:
        if of_tensors is not None and isinstance(b, Tensor):
            return of_tensors(a, b)
        return op.call(a, b) if isinstance(b, (Tensor, *NUMBERS)) else NotImplemented

    METHODS[name] = method
    OPERATORS[name] = op, of_tensors


# -- public functions --------------------------------------------------------------------------------------------------
def _public(op: Op, name: str, inplace: bool) -> Callable[..., Any]:
    """Return the public function or method of an operation. `exact/signatures.py` replaces it later by one that binds
    arguments as PyTorch does."""
    place, needed = "change" if inplace else "call", len(op.params)

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) < needed:
            args = (
                *args,
                *[kwargs[p] if p in kwargs else op.defaults[p] for p in op.params[len(args) :]],
            )
        return getattr(op, place)(*args)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = op.doc  # `documentation.py` adds what the record says of formulas and gradients
    call.__dict__ |= {"op": op, "place": place}
    return call


def composite(
    name: str | None = None, *, namespace: str = "", method: bool = False, function: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a function made of other ops as public: `@composite(method=True)` gives `torch.f` and `Tensor.f`.

    >>> @composite(method=True)
    ... def _thrice(input):
    ...     return input + input + input
    >>> NAMESPACES[""].pop("_thrice")(torch.tensor(2.)), METHODS.pop("_thrice")(torch.tensor(2.))
    (tensor(6.), tensor(6.))
    """

    def mark(f: Any) -> Any:
        public = name or f.__name__
        f.__name__ = f.__qualname__ = public  # what Python's own errors about arguments call it
        if function:
            NAMESPACES[namespace][public] = f
        if method:
            METHODS[public] = f
        return f

    return mark


def attach_methods(cls: type) -> None:
    """Put every registered method on the Tensor class."""
    for name, f in METHODS.items():
        if name not in cls.__dict__:
            setattr(cls, name, f)
