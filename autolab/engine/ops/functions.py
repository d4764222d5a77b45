"""Public functions, methods and operators, made from records: `torch.exp`, `Tensor.exp`, `a * b`."""

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
"""The public functions by their namespace; '' is the top level."""

METHODS: dict[str, Any] = {}
"""The Tensor methods by name; `attach_methods` adds them to the class."""


def register(
    schema: str,
    *,
    method: bool = True,
    function: bool = True,
    inplace: bool | str = False,
    **record: Any,
) -> Op:
    """Register an op with `core.op.register`, which documents the fields of a record, and give it its public names.
    Return the record.

    Overloads such as `pow_scalar` are `internal`, and a composite calls them. inplace: whether there is also an `exp_`;
    "method" makes it a method only."""
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
"""Python's binary operators by method name: the operation, and the function to call instead if the second operand is a
tensor."""


def binary_operator(name: str, op: Op, of_tensors: Callable[..., Any] | None = None) -> None:
    """Make `op` the Tensor method `name`, such as `__mul__`. It returns NotImplemented unless the operands are tensors
    or numbers.

    of_tensors: the function to call instead if the second operand is a tensor (`x ** y` is another op than `x **
    2`)."""

    def method(a: Any, b: Any) -> Any:
        if of_tensors is not None and isinstance(b, Tensor):
            return of_tensors(a, b)
        return op.call(a, b) if isinstance(b, (Tensor, *NUMBERS)) else NotImplemented

    METHODS[name] = method
    OPERATORS[name] = op, of_tensors


# -- public functions --------------------------------------------------------------------------------------------------
def _public(op: Op, name: str, inplace: bool) -> Callable[..., Any]:
    """Return the public function or method of an operation. Later, `exact/signatures.py` replaces it with one that
    binds arguments as PyTorch does."""
    place, needed = "change" if inplace else "call", len(op.params)

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) < needed:
            args = (
                *args,
                *[kwargs[p] if p in kwargs else op.defaults[p] for p in op.params[len(args) :]],
            )
        return getattr(op, place)(*args)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = op.doc  # `documentation.py` adds formulas and gradients from the record
    call.__dict__ |= {"op": op, "place": place}
    return call


def composite(
    name: str | None = None, *, namespace: str = "", method: bool = False, function: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function of other ops public: `@composite(method=True)` gives `torch.f` and `Tensor.f`.

    >>> @composite(method=True)
    ... def _thrice(input):
    ...     return input + input + input
    >>> NAMESPACES[""].pop("_thrice")(torch.tensor(2.)), METHODS.pop("_thrice")(torch.tensor(2.))
    (tensor(6.), tensor(6.))
    """

    def mark(f: Any) -> Any:
        public = name or f.__name__
        f.__name__ = f.__qualname__ = public  # the name in Python's own errors about arguments
        if function:
            NAMESPACES[namespace][public] = f
        if method:
            METHODS[public] = f
        return f

    return mark


def attach_methods(cls: type) -> None:
    """Add every registered method to the Tensor class."""
    for name, f in METHODS.items():
        if name not in cls.__dict__:
            setattr(cls, name, f)
