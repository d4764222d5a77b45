"""Public functions, methods and operators, made of records: `torch.exp`, `Tensor.exp`, `a * b`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..core import op as registry
from ..core.dtype import NUMBERS
from ..core.errors import bad_argument
from ..core.op import register as internal
from ..core.record import Op
from ..core.tensor import Tensor
from ..exact.refusals import TOO_MANY

NAMESPACES: dict[str, dict[str, Callable[..., Any]]] = {"": {}, "nn.functional": {}, "linalg": {}, "special": {}, "Tensor": {}}
"""Public functions by the namespace they appear in; '' is the top level."""

METHODS: dict[str, Any] = {}
"""Tensor methods by name, which `attach_methods` puts on the class."""


def register(
    schema: str, *, method: bool = True, function: bool = True, namespace: str = "", inplace: bool = False, public: str | None = None, **record: Any
) -> Op:
    """Registers an op (`core.op.register`, which says what a record holds) and gives it its public names. Returns the
    record.

    public: the public name where it differs from the op's. Overloads such as `pow_scalar` have none (`method=False,
    function=False`, as `internal` has it) and are dispatched by a composite. inplace: whether there is `exp_` too."""
    op = internal(schema, inplace=inplace, **record)
    public = public or op.name
    if function:
        NAMESPACES[namespace][public] = _public(op, public, "input", False)
    if method:
        METHODS[public] = _public(op, public, "self", False)
    if inplace:
        METHODS[public + "_"] = _public(op, public + "_", "self", True)
        if function:
            NAMESPACES[namespace][public + "_"] = _public(op, public + "_", "input", True)
    return op


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
_entrances: list[tuple[dict[str, Any], Callable[..., Any]]] = []
"""The globals of the public functions, and what they call when they do not know the lane yet."""


def _forget_lanes() -> None:
    for environment, first_call in _entrances:
        environment["_call"] = first_call


registry.FORGETTING.append(_forget_lanes)

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
