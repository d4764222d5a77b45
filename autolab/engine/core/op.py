"""`register`: a record becomes a function, a method, an in-place method and a class of nodes.

Which code runs an operation is decided at its first call, by asking `LANES` in turn: the last one is the core's,
`apply`, and takes every operation. A faster engine puts its lanes before it (`engine/fast/`), and takes them away
again.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType
from typing import Any

from . import namespaces
from .apply import apply, reporting
from .dtype import NUMBERS
from .errors import TOO_MANY, bad_argument
from .node import node_class
from .record import OPS as OPS
from .record import Op as Op
from .record import parsed, plan_saving
from .tensor import Tensor

NAMESPACES: dict[str, dict[str, Callable[..., Any]]] = {"": {}, "nn.functional": {}, "linalg": {}, "special": {}, "Tensor": {}}
"""Public functions by the namespace they appear in; '' is the top level."""

METHODS: dict[str, Any] = {}
"""Tensor methods by name, which `attach_methods` puts on the class."""

Lane = Callable[[Op], Callable[..., Any] | None]
"""A function that gives for an operation what runs it (it takes all of its arguments, in schema order), or None."""

LANES: list[Lane] = [lambda op: reporting(apply, op)]
INPLACE_LANES: list[Lane] = []
"""The same for operations in place, which `engine/inplace/` adds."""

RECORDS: list[Op] = []
"""All records: those in `OPS`, and their variants."""

EQUIPMENT: list[Callable[[Op], None]] = []
"""What else is done with a new record: a faster engine gives the class of its nodes more."""

_entrances: list[tuple[dict[str, Any], Callable[..., Any]]] = []
"""The globals of the public functions, and what they call when they do not know the lane yet."""


def register(
    schema: str,
    *,
    forward: Callable[..., Any],
    vjp: dict[str, Callable[..., Any]] | None = None,
    operands: tuple[str, ...] | None = None,
    method: bool = True,
    function: bool = True,
    namespace: str = "",
    inplace: bool = False,
    public: str | None = None,
    **fields: Any,
) -> Op:
    """Registers an op and returns its record.

    schema: `"sum(self, dim=None, keepdim=False, *, dtype=None)"`: torch's C++ argument names; `Tensor index`, `Tensor[]
    tensors` where neither a rule nor `operands` says that it is one. `public`: the public name where it differs from
    the op's (overloads such as `pow_scalar` are registered with `method=False, function=False` and dispatched by a
    composite). The other fields are those of `Op`. Raises ValueError when the record contradicts itself.

    >>> double = register("_double(self)", forward=lambda xp, self: self * 2, vjp={"self": lambda m, g: g * 2}, method=False, function=False)
    >>> from autolab.engine.core.tensor import wrap
    >>> import numpy as np
    >>> x = wrap(np.float32(4))
    >>> x.requires_grad = True
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
    unknown = set(vjp) - set(params)
    if unknown:
        raise ValueError(f"op {name!r}: rules for {sorted(unknown)}, which are not arguments")
    if operands is None:
        operands = tuple(p for p in params if p not in said["defaults"]) if fields.get("dtype") else ()
    op = Op(**said, forward=forward, vjp=vjp, operands=tuple(operands), inplace=inplace, **fields)
    op.node = op.node or "".join(w[:1].upper() + w[1:] for w in name.split("_")) + "Backward0"
    _complete(op)
    op.changing = variant(op, **op.inplace_fields) if op.inplace_fields else op
    _enter(op)
    OPS[name] = op
    public = public or name
    if function:
        NAMESPACES[namespace][public] = _public(op, public, "input", False)
    if method:
        METHODS[public] = _public(op, public, "self", False)
    if inplace:
        METHODS[public + "_"] = _public(op, public + "_", "self", True)
        if function:
            NAMESPACES[namespace][public + "_"] = _public(op, public + "_", "input", True)
    return op


def internal(schema: str, **record: Any) -> Op:
    """Registers an op without a public name: for `nn.functional` to call, or for a rule."""
    return register(schema, method=False, function=False, **record)


def variant(op: Op, **fields: Any) -> Op:
    """A record like `op` but for `fields`, with nodes of its own class: torch numbers the nodes of in-place forms on
    from those of the others.

    >>> variant(OPS["exp"], node="ExpBackward1").node_class.__name__
    'ExpBackward1'
    """
    made = replace(op, save=None, general=None, **fields)
    _complete(made)
    made.changing = made
    return made


def _complete(op: Op) -> None:
    """Fills in what follows from a record."""
    plan_saving(op)
    op.node_class = node_class(op)
    RECORDS.append(op)
    for equip in EQUIPMENT:
        equip(op)


# -- lanes -----------------------------------------------------------------------------------------------------------------
def choose_lanes_again() -> None:
    """After `LANES` or `INPLACE_LANES` changed: every operation asks again at its next call."""
    for op in OPS.values():
        _enter(op)
    for environment, first in _entrances:
        environment["_call"] = first
    namespaces.forget()


def lane_of(op: Op, lanes: list[Lane]) -> Callable[..., Any]:
    """What runs `op`: what the first of `lanes` gives that takes it.

    >>> lane_of(OPS["mul"], LANES[-1:])(torch.tensor(2.), 3)
    tensor(6.)
    """
    return next(run for run in (lane(op) for lane in lanes) if run is not None)


def _first_call(op: Op, place: str, lanes: list[Lane]) -> Callable[..., Any]:
    """What stands in `op.call` (or another place) until the first call: asking lanes may mean compiling, and compiling
    all of them would double the time of `import autolab`. Who took it from there reaches the lane in one call more."""

    def call(*args: Any) -> Any:
        if getattr(op, place) is call:
            setattr(op, place, lane_of(op, lanes))
        return getattr(op, place)(*args)

    return call


def _enter(op: Op) -> None:
    op.call, op.change = _first_call(op, "call", LANES), _first_call(op, "change", INPLACE_LANES)


# -- operators -------------------------------------------------------------------------------------------------------------
OPERATORS: dict[str, tuple[Op, Callable[..., Any] | None]] = {}
"""Python's operators of two operands: the method's name, the operation, and what is called instead where the second one
is a tensor."""


def binary_operator(name: str, op: Op, of_tensors: Callable[..., Any] | None = None) -> None:
    """Makes `op` the Tensor method `name`, such as `__mul__`: NotImplemented for operands that are neither tensors nor
    numbers.

    of_tensors: what to call instead when the second operand is a tensor (`x ** y` is another op than `x ** 2`)."""

    def method(a: Any, b: Any) -> Any:
        if of_tensors is not None and isinstance(b, Tensor):
            return of_tensors(a, b)
        return op.call(a, b) if isinstance(b, (Tensor, *NUMBERS)) else NotImplemented

    METHODS[name] = method
    OPERATORS[name] = op, of_tensors


# -- public functions ------------------------------------------------------------------------------------------------------
_FORWARDING: dict[tuple[int, int], Callable[..., Any]] = {
    (1, 0): lambda a: _call(a),
    (2, 0): lambda a, b: _call(a, b),
    (3, 0): lambda a, b, c: _call(a, b, c),
    (4, 0): lambda a, b, c, d: _call(a, b, c, d),
    (5, 0): lambda a, b, c, d, e: _call(a, b, c, d, e),
    (6, 0): lambda a, b, c, d, e, f: _call(a, b, c, d, e, f),
    (7, 0): lambda a, b, c, d, e, f, g: _call(a, b, c, d, e, f, g),
    (8, 0): lambda a, b, c, d, e, f, g, h: _call(a, b, c, d, e, f, g, h),
    (9, 0): lambda a, b, c, d, e, f, g, h, i: _call(a, b, c, d, e, f, g, h, i),
    (1, 1): lambda a, *, b: _call(a, b),
    (1, 2): lambda a, *, b, c: _call(a, b, c),
    (2, 1): lambda a, b, *, c: _call(a, b, c),
    (2, 2): lambda a, b, *, c, d: _call(a, b, c, d),
    (3, 1): lambda a, b, c, *, d: _call(a, b, c, d),
    (3, 2): lambda a, b, c, *, d, e: _call(a, b, c, d, e),
    (4, 1): lambda a, b, c, d, *, e: _call(a, b, c, d, e),
    (4, 2): lambda a, b, c, d, *, e, f: _call(a, b, c, d, e, f),
}
"""By the numbers of arguments (of keyword-only ones apart): a function that hands them on. A public function is a copy
of one of these with the arguments' own names, so that Python itself binds calls and `help()` tells them."""


def _call(*args: Any) -> Any:
    """What a public function calls: each has a `_call` of its own among its globals."""
    raise NotImplementedError


def _public(op: Op, name: str, first: str, inplace: bool) -> Callable[..., Any]:
    """The public function, or method, of an operation."""
    shown = tuple(first if p == "self" else p for p in op.params)
    numbers = len(shown) - len(op.keyword_only), len(op.keyword_only)
    if numbers not in _FORWARDING:
        raise ValueError(f"op {op.name!r}: functions of {numbers[0]} arguments and {numbers[1]} keyword-only ones are missing in _FORWARDING")
    code = _FORWARDING[numbers].__code__.replace(co_varnames=shown, co_name=name, co_qualname=name)
    environment: dict[str, Any] = {}

    place = "change" if inplace else "call"

    def first_call(*args: Any) -> Any:
        result = getattr(op, place)(*args)
        environment["_call"] = getattr(op, place)
        return result

    environment["_call"] = first_call
    _entrances.append((environment, first_call))
    positional = [p for p in op.params if p not in op.keyword_only]
    f = FunctionType(code, environment, name, tuple(op.defaults[p] for p in positional if p in op.defaults))
    f.__kwdefaults__ = {p: op.defaults[p] for p in op.keyword_only if p in op.defaults}
    f.__doc__ = op.doc  # `documentation.py` adds what the record says of formulas and gradients
    f.__module__ = __name__
    f.__dict__["op"] = op
    return f


def composite(
    *, namespace: str = "", method: bool = False, function: bool = True, name: str | None = None, inplace: Any = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Marks a function made of other ops as public: `@composite(method=True)` gives `torch.f` and `Tensor.f`.

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
            NAMESPACES[namespace][public] = f if namespace else _of_a_tensor(f)
        if method:
            METHODS[public] = f
        return f

    return mark


def _of_a_tensor(f: Any) -> Any:
    """`f`, and torch's TypeError for a call of which the first argument, `input`, is no tensor: torch looks at it
    first."""
    if inspect.unwrap(f).__code__.co_varnames[:1] != ("input",):
        return f

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        except Exception as error:
            told = refused(f.__name__, error, args)
            if told is None:
                raise
            raise told from None

    functools.update_wrapper(call, f)
    call.__code__ = call.__code__.replace(co_name=f.__name__)  # what recordings and tracebacks call it
    call.__dict__ |= {"composed": getattr(f, "composed", f), "body": f}
    return call


def refused(name: str, error: Exception, args: tuple[Any, ...]) -> Exception | None:
    """torch's TypeError for a first argument that is no tensor, where `error` came of a call with one; else None."""
    text = str(error)
    if not args or isinstance(args[0], Tensor) or "invalid combination" in text or hasattr(error, "is_mismatch") or TOO_MANY.match(text):
        return None
    return bad_argument(name, "input", 1, "Tensor", args[0])


def attach_methods(cls: type) -> None:
    """Puts every registered method on the Tensor class."""
    for name, f in METHODS.items():
        if name not in cls.__dict__:
            setattr(cls, name, f)
