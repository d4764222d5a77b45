"""Public functions that torch has in several forms: one Python body, and torch's errors for arguments that fit no
form."""
from __future__ import annotations

import functools
import re

from ..exact.arguments import _MISSING, _missing, no_match
from ..exact.refusals import TOO_MANY
from ..core.errors import bad_argument
from ..exact.refusals import unsupported
from .functions import METHODS, NAMESPACES, refused
from ..core.tensor import Tensor

NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input"}
"""Keywords that NumPy's users write, and torch's for them."""

BINARY = ("Tensor input, Tensor other, *, Tensor out = None", "Tensor input, Number other, *, Tensor out = None")
BINARY_METHOD = ("Tensor other", "Number other")
_POSITION = re.compile(r"\(position (\d)\)")
_UNEXPECTED = "got an unexpected keyword argument"


def public(name, functions=(), methods=(), *, function=True, method=True, namespace="", op=None, doc=None):
    """Makes the decorated body `torch.<name>` and `Tensor.<name>`; doc: its docstring, where it has none of its own.

    functions, methods: the forms that torch lists in its errors, for the function and for the method, where it has
    several. The body raises `arguments.mismatch` when its arguments fit none, and `arguments.bad_argument` with the
    function's position."""
    def decorate(body):
        body.__name__ = body.__qualname__ = name
        body.__doc__ = body.__doc__ or doc
        if function:
            NAMESPACES[namespace][name] = _entry(body, name, functions, False, op)
        if method:
            METHODS[name] = _entry(body, name, methods, True, op)
        return body
    return decorate


def _entry(body, name, forms, method, op):
    first = body.__code__.co_varnames[0]

    def told(error, args, kwargs):
        """The error to raise for `error`, which a call with these arguments came to."""
        if not method and args and not isinstance(args[0], Tensor):
            alone = not forms and first == "input" and refused(name, error, args)
            if alone or _of_no_tensor(error):
                return alone or bad_argument(name, "input", 1, "Tensor", args[0])
        return error if isinstance(error, AttributeError) else _in_torchs_words(error, name, args[method:], kwargs, forms, method)

    @functools.wraps(body)
    def call(*args, **kwargs):
        named = _torchs_names(name, kwargs) if kwargs else kwargs
        try:
            return body(*args, **named)
        except (AttributeError, TypeError) as error:
            other = told(error, args, kwargs)
            if other is error:
                raise
            raise other from None

    call.op, call.body, call.told = op, body, told
    return call


def _of_no_tensor(error):
    """Whether `error` came because the first argument is no tensor: it has no `_array`, or an op of another name
    refused it."""
    return isinstance(error, AttributeError) or "argument 'input' (position 1) must be Tensor" in str(error)


def _torchs_names(name, kwargs):
    named = {NUMPY_NAMES.get(k, k): v for k, v in kwargs.items()}
    if len(named) < len(kwargs):
        twice = next(k for k in kwargs if NUMPY_NAMES.get(k) in kwargs)
        raise TypeError(f"{name}() got an unexpected keyword argument '{twice}'")
    return named


def _in_torchs_words(error, name, args, kwargs, forms, method):
    text = str(error)
    absent, many = _MISSING.match(text), TOO_MANY.match(text)
    unexpected = _UNEXPECTED in text and text.startswith(f"{name}()")
    if unexpected and "out" in kwargs:
        return unsupported(name, "out")
    if forms and (hasattr(error, "is_mismatch") or absent or many or unexpected):
        return no_match(name, args, kwargs, forms)
    if absent:
        return _missing(name, re.findall(r"'(\w+)'", absent[1]))
    place = _POSITION.search(text)
    own = place and text.startswith((f"{name}()", f"linalg_{name}()"))
    if own and any(f"argument '{k}'" in text for k in kwargs):  # given by keyword: torch names no position
        error.args = (text.replace(f" {place[0]}", ""),)
    elif own and method:  # torch does not count self
        error.args = (text.replace(place[0], f"(position {int(place[1]) - 1})"),)
    return error
