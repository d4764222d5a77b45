"""Calls bound to PyTorch's signatures as its argument parser binds them: which form a call is, what fits an argument,
and the words where none does.

`signatures.txt` states every signature once (`tools/signatures.py` reads them from PyTorch). A function that stands
there is called through a front: it lets pass what is plainly right, by the classes of the arguments (0.1 µs); anything
else is bound here, which finds the form, brings numbers of NumPy and 0-d tensors to Python numbers, knows NumPy's names
of arguments, and raises PyTorch's errors.
"""

from __future__ import annotations

import functools
import operator
from inspect import CO_VARARGS, CO_VARKEYWORDS
from pathlib import Path
from types import FunctionType, NoneType

import numpy as np

from ..fast import generated
from .arguments import no_match, no_match_of_one, numbers_of
from ..core.errors import bad_argument
from ..devices.device import device as device_class
from ..core.dtype import dtype as dtype_class
from .refusals import beyond_numpy
from ..core.errors import fail, type_name
from .refusals import unsupported
from ..core.tensor import TENSORS
from .random import Generator
from ..core.tensor import Tensor
from .layout import layout

NUMPY_NAMES = {"dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1"), "other": ("x2",)}
"""What NumPy's users may write for an argument."""

_SHOWN = {
    "operand": "Tensor", "size": "int",
    "dtype": "torch.dtype", "device": "torch.device", "layout": "torch.layout", "format": "torch.memory_format", "Generator": "torch.Generator",
    "int[]": "tuple of ints", "Tensor[]": "tuple of Tensors", "float[]": "tuple of floats", "Number[]": "tuple of Scalars",
}  # fmt: skip
_PLAIN = {
    "int": {int}, "size": {int}, "bool": {bool}, "float": {float, int}, "Number": {float, int, complex, bool}, "str": {str}, "dtype": {dtype_class},
    "Tensor": TENSORS, "operand": {Tensor, float, int, complex, bool},
}  # fmt: skip
"""The classes of which a value fits a kind as it is."""


# -- what fits -------------------------------------------------------------------------------------------------------------
def _number(value):
    """Whether a tensor counts as a number."""
    return isinstance(value, Tensor) and not value.ndim and not value.requires_grad


def _an_int(value):
    if isinstance(value, (bool, np.bool_)):
        return False
    return isinstance(value, (int, np.integer)) or _number(value) and value.dtype.is_integer


def _an_index(value):
    """What stands first in a list of ints."""
    return _an_int(value) or isinstance(value, Tensor) and value.dtype.is_integer and value.numel() == 1


def _a_float(value):
    return isinstance(value, (float, int, np.floating, np.integer, np.bool_)) or _number(value)


_FITS = {
    "Tensor": lambda v: isinstance(v, Tensor),
    "operand": lambda v: isinstance(v, (Tensor, complex, np.complexfloating)) or _a_float(v),
    "int": _an_int,
    "size": _an_index,
    "bool": lambda v: isinstance(v, bool),
    "float": _a_float,
    "Number": lambda v: _a_float(v) or isinstance(v, (complex, np.complexfloating)),
    "str": lambda v: isinstance(v, str),
    "dtype": lambda v: isinstance(v, dtype_class) or v in (float, int, bool, complex),
    "device": lambda v: isinstance(v, (str, device_class)) or _an_int(v),
    "layout": lambda v: isinstance(v, layout),
    "format": lambda v: False,  # there is none here
    "Generator": lambda v: isinstance(v, Generator),
    "Tensor[]": lambda v: isinstance(v, (tuple, list)),
    "int[]": lambda v: isinstance(v, (tuple, list)) and (not v or _an_index(v[0])),
    "float[]": lambda v: isinstance(v, (tuple, list)) and (not v or _a_float(v[0])),
    "Number[]": lambda v: isinstance(v, (tuple, list)) and (not v or _a_float(v[0])),
}  # fmt: skip


class Parameter:
    """One argument of a form."""

    __slots__ = ("kind", "name", "names", "none", "empty", "one", "optional", "keyword_only", "text")

    def __init__(self, text, keyword_only):
        declared, _, default = text.partition("=")
        kind, self.name = declared.split(" ")
        self.empty = default in ("()", "[]")  # what None stands for
        self.none = kind.endswith("?") or default == "None" or self.empty  # whether None means that it was left out
        self.kind = kind.rstrip("?").replace("[1]", "[]")
        self.one = "[1]" in kind  # whether one number may stand for the list
        self.optional, self.keyword_only = bool(default), keyword_only
        self.names = (self.name, *NUMPY_NAMES.get(self.name, ()))
        self.text = f"{self.shown} {self.name}" + (f" = {default}" if default not in ("", "...") else "")

    @property
    def shown(self):
        """What PyTorch calls its kind."""
        return _SHOWN.get(self.kind, self.kind)

    def fits(self, value):
        return _FITS[self.kind](value) or self.one and _an_index(value)

    def brought(self, function, value):
        """`value`, which fits, as the function's body wants it: with Python's numbers.

        Raises TypeError for a later element of a list that is none of its kind."""
        kind = self.kind
        if value is None:
            return () if self.empty else None
        if kind == "int[]":
            return numbers_of(function, self.name, value) if isinstance(value, (tuple, list)) else operator.index(value)
        if kind in ("int", "size"):
            return operator.index(value)
        if isinstance(value, np.generic) or kind in ("float", "Number") and isinstance(value, Tensor):
            return value.item()
        if kind == "Tensor[]" and value.__class__ in (tuple, list):
            for place, item in enumerate(value):
                if not isinstance(item, Tensor) and item is not None:
                    message = f"expected Tensor as element {place} in argument 0, but got {type_name(item)}"
                    raise fail(TypeError, message, f"'{self.name}' is a list of tensors.")
        return value


class Form:
    """One signature."""

    def __init__(self, text):
        self.hidden, text = text.startswith("~"), text.lstrip("~")
        before, star, after = text.partition("*, ")
        self.parameters = [Parameter(p, False) for p in before.split(", ") if p] + [Parameter(p, True) for p in after.split(", ") if p]
        positional = [p for p in self.parameters if not p.keyword_only]
        self.most, self.least = len(positional), sum(not p.optional for p in self.parameters)
        self.spread = len(positional) == 1 and positional[0].kind == "int[]"  # `view(2, 3)` for `view((2, 3))`
        shown = [p.text for p in self.parameters]
        if star:
            shown.insert(len(positional), "*")
        self.text = ", ".join(shown)

    def bind(self, function, args, kwargs, strict=False):
        """[(parameter, value, whether by position)] of the arguments that were given; None where the call is not of
        this form.

        strict: raises why not."""
        if len(args) > self.most and not self.spread:
            return self._too_many(function, args) if strict else None
        bound, place, left = [], 0, len(kwargs)
        for p in self.parameters:
            positional = place < len(args)
            if positional:
                if p.keyword_only:
                    return self._too_many(function, args) if strict else None
                value = args[place]
            else:
                value = next((kwargs[n] for n in p.names if n in kwargs), _ABSENT)
            if value is _ABSENT:
                if p.optional:
                    continue
                if strict:
                    raise _missing(function, [q.name for q in self.parameters[self.parameters.index(p) :] if not q.optional])
                return None
            if value is None and p.none:
                pass
            elif not p.fits(value):
                if self.spread and positional and not place and (len(args) > 1 or _an_index(value)):
                    if _an_index(value):
                        bound.append((p, args, True))
                        place = len(args)
                        continue
                    return self._too_many(function, args) if strict else None
                if strict:
                    raise _no_fit(function, p, value, None if not positional else place + 1)
                return None
            bound.append((p, value, positional))
            place += positional
            left -= not positional
        if left:
            if strict:
                raise self._unexpected(function, kwargs, len(args))
            return None
        return self._too_many(function, args) if strict and place < len(args) else None if place < len(args) else bound

    def _too_many(self, function, args):
        # also "from 2 to 1", as PyTorch counts
        takes = str(self.most) if self.least == self.most else f"from {self.least} to {self.most}"
        plural = "" if self.least == self.most == 1 else "s"
        verb = "was" if len(args) == 1 else "were"
        message = f"{function}() takes {takes} positional argument{plural} but {len(args)} {verb} given"
        raise fail(TypeError, message, f"It is {function}({self.text}).")

    def _unexpected(self, function, kwargs, given):
        for name in kwargs:
            owner = next((i for i, p in enumerate(self.parameters) if name == p.name), None)
            if owner is None:
                return fail(TypeError, f"{function}() got an unexpected keyword argument '{name}'", f"It is {function}({self.text}).")
            if owner < given:
                return fail(TypeError, f"{function}() got multiple values for argument '{name}'", "It is given by position already.")
        return fail(TypeError, "invalid keyword arguments", f"It is {function}({self.text}).")


_ABSENT = object()


def _no_fit(function, p, value, position):
    if position and p.kind.endswith("[]") and isinstance(value, (tuple, list)):
        where = f"argument '{p.name}' (position {position})"
        message = f"{function}(): {where} must be {p.shown}, but found element of type {type_name(value[0])} at pos 0"
        return fail(TypeError, message, f"'{p.name}' was given {value!r:.60}.")
    return bad_argument(function, p.name, position, p.shown, value)


def _missing(function, names):
    listed = ", ".join(f'"{name}"' for name in names)
    plural = "s" if len(names) == 1 else ""  # PyTorch has it the wrong way round
    return fail(TypeError, f"{function}() missing {len(names)} required positional argument{plural}: {listed}", "Add what is named.")


def bound(function, forms, args, kwargs):
    """The arguments of a call of `function` as its form takes them. Raises PyTorch's TypeError for what is of no
    form."""
    if len(forms) > 1:
        for form in forms:
            found = form.bind(function, args, kwargs)
            if found is not None:
                return form, found
        given = len(args) + len(kwargs)
        plausible = [f for f in forms if f.least <= given <= len(f.parameters) and not f.hidden]
        listed = [f.text for f in forms if not f.hidden]
        if not plausible and len(listed) == 1:
            raise no_match_of_one(function, args, kwargs, listed[0])
        if len(plausible) != 1:
            raise no_match(function, args, kwargs, listed)
        forms = plausible
    return forms[0], forms[0].bind(function, args, kwargs, strict=True)


def check_settings(function, *settings):
    """Raises PyTorch's TypeError for the first of `settings`, (name, position, kind, value), that is none of its kind.

    For what PyTorch writes in Python: there `function`, which it calls, looks at them."""
    for name, position, kind, value in settings:
        allowed = kind.rstrip("?")
        if value.__class__ in _PLAIN.get(allowed, ()) or value is None and allowed != kind or _FITS[allowed](value):
            continue
        if allowed.endswith("[]") and isinstance(value, (tuple, list)):
            raise _no_fit(function, Parameter(f"{allowed} {name}", False), value, position)
        raise bad_argument(function, name, position, _SHOWN.get(allowed, allowed), value)


def marked(inplace):
    """What ends the name of a function in place."""
    return "_" if inplace else ""


def sizes(function, args, kwargs):
    """The list of ints that a method of one list, `view(2, 3)`, was called with."""
    (p, value, _), *_ = bound(function, forms_of("m", function), args, kwargs)[1]
    if p.kind == "dtype":
        note = "Reinterpreting the bytes of a tensor is not differentiable; use .to(dtype) to convert values."
        raise unsupported(function, "dtype", note)
    return p.brought(function, value)


# -- the table -------------------------------------------------------------------------------------------------------------
@functools.cache
def table():
    """What `signatures.txt` says: the text of the forms by (space, name)."""
    lines = Path(__file__).with_name("signatures.txt").read_text().splitlines()
    return {tuple(line.partition(": ")[0].split(" ")): line.partition(": ")[2] for line in lines}


@functools.cache
def forms_of(space, name):
    """The forms of a public function or method; none where there is nothing to check."""
    texts = table().get((space, name))
    if texts is not None:
        same = [table().get(("f", n), "").split("; ") for n in {name, name.removesuffix("_")}] if space == "m" else []
        return [Form(text) for text in (*texts.split("; "), *(_without_input(t) for function in same for t in function if t.startswith("~")))]
    if space != "m":
        return []
    texts = table().get(("f", name)) or table().get(("f", name.removesuffix("_"))) or table().get(("m", name.removesuffix("_")))
    return [Form(_without_input(text)) for text in texts.split("; ")] if texts else []


def _without_input(text):
    parts = [p for p in text.split(", ") if p.lstrip("~") not in ("Tensor input", "Tensor self") and not p.endswith((" out", " out=None"))]
    return "~" * text.startswith("~") + ", ".join(parts[:-1] if parts[-1:] == ["*"] else parts).lstrip("~")


# -- fronts ----------------------------------------------------------------------------------------------------------------
class _Front:
    """What the front of one function knows; it learns it at the first call."""

    __slots__ = ("space", "name", "body", "inner", "code", "names", "forms", "slots", "known", "environment")

    def __init__(self, body, space, name):
        self.space, self.name, self.body, self.inner, self.forms = space, name, body, getattr(body, "body", body), None
        # now: while a profiler runs, functions have other code, which takes anything
        self.code = signature_of(self.inner)

    def learn(self):
        """Fills in the classes of arguments that pass."""
        code = self.code
        named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self.names = None if code.co_flags & CO_VARKEYWORDS else named
        self.slots, self.known, self.forms = [set() for _ in range(code.co_argcount)], {}, forms_of(self.space, self.name)
        for form in self.forms:
            for place, p in enumerate(form.parameters, self.space == "m"):
                if not p.keyword_only and place < len(self.slots):
                    self.slots[place] |= _classes(p)
                if self.names is None or p.name in named:
                    self.known[p.name] = self.known.get(p.name, set()) | _classes(p)
        if self.space == "m":
            self.slots[0] |= TENSORS
        self.environment |= {f"s{i}": s for i, s in enumerate(self.slots)} | {"known": self.known}

    def unusual(self, args, kwargs):
        """The arguments as `inner` wants them, by position and by keyword."""
        if self.forms is None:
            self.learn()
        if len(args) <= len(self.slots):  # a loop: what comes here often is a list of ints or of tensors
            known = self.known
            for value, classes in zip(args, self.slots):
                if value.__class__ not in classes and not _passes(value, classes):
                    break
            else:
                if not kwargs or all(_passes(v, known.get(k, ())) for k, v in kwargs.items()):
                    return args, kwargs
        form, found = self.bound(args, kwargs)
        return _call(self.shown, form, found, args[: self.space == "m"], self.names)

    def bound(self, args, kwargs):
        return bound(self.shown, self.forms, args[self.space == "m" :], kwargs)

    def by_name(self, args, kwargs):
        """The arguments of a call by name, with what was left out: what a recording shows of a call that failed."""
        function = self.inner
        while hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        code = self.code
        names = list(code.co_varnames[: code.co_argcount])
        left_out = dict(zip(reversed(names), reversed(function.__defaults__ or ()))) | (function.__kwdefaults__ or {})
        if self.space == "m":
            names[:1] = ["self"]
        names += [f"argument {i}" for i in range(1, len(args) - len(names) + 1)]
        given = dict(zip(names, args)) | kwargs
        return given | {name: value for name, value in left_out.items() if name not in given}

    @property
    def shown(self):
        """What errors call the function."""
        return self.name if self.space in ("f", "m", "nn.functional") else f"{self.space}_{self.name}"

    def reworded(self, error, args, kwargs):
        """The error to raise for `error`, which a call of the body came to."""
        if isinstance(error, (ValueError, MemoryError)):
            return beyond_numpy(error)
        if error.__traceback__.tb_next is None:  # the arguments did not bind
            if self.forms is None:
                self.learn()
            self.bound(args, kwargs)
        told = getattr(self.body, "told", None)
        return error if told is None else told(error, args, kwargs)


def signature_of(function):
    """The code of what a function wraps: its arguments are those that the function takes."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function.__code__


def front(body, space, name):
    """The public function that checks what `body` is called with.

    A `body` may be a wrapper with `body`, what it calls, and `told`, which words errors that are raised in there."""
    known = _Front(body, space, name)
    inner, code = known.inner, signature_of(known.inner)
    environment = {"body": inner, "all_ints": _all_ints, "known": _NOTHING}
    environment |= {name: getattr(known, name) for name in ("unusual", "reworded", "by_name")}
    for i in range(code.co_argcount):
        environment[f"s{i}"] = _NOTHING
    known.environment = environment
    call = FunctionType(_code(code.co_argcount, bool(code.co_flags & CO_VARARGS)).replace(co_name=name, co_qualname=name), environment, name)
    call.__doc__, call.__module__ = inner.__doc__, inner.__module__
    call.__dict__ |= inner.__dict__ | {"composed": getattr(body, "composed", inner), "__wrapped__": inner, "checks_itself": True}
    return call


_NOTHING: dict = {}
# stand among the classes where a list of ints, or of tensors, may
_INTS, _TENSORS = type("_INTS", (), {}), type("_TENSORS", (), {})


def _classes(p):
    plain = {_INTS} if p.kind == "int[]" else {_TENSORS} if p.kind == "Tensor[]" else set(_PLAIN.get(p.kind, ()))
    if p.one:
        plain |= _PLAIN[p.kind[:-2]]
    return plain | {NoneType} if p.none and not p.empty else plain


def _passes(value, classes):
    if value.__class__ in classes:
        return True
    if value.__class__ is not list and value.__class__ is not tuple:
        return False
    if _INTS in classes and _all_ints(value):
        return True
    return _TENSORS in classes and TENSORS.issuperset([item.__class__ for item in value])


def _call(function, form, found, before, names):
    """(arguments by position, by keyword) for a body with the arguments `names` (None: any): by keyword what was given
    so, if it has that name."""
    given = {p.name: p.brought(function, value) for p, value, _ in found}
    by_name = {p.name: given[p.name] for p, _, positional in found if not positional}
    names = by_name if names is None else names
    for p in form.parameters:
        if p.name in by_name and p.name not in names and (p.keyword_only or p.name in ("out", "dtype")):
            if by_name.pop(p.name) is not None:
                raise unsupported(function, p.name)
            del given[p.name]
    unnamed = [i for i, p in enumerate(form.parameters) if p.name in given and not (p.name in by_name and p.name in names)]
    args = []
    for p in form.parameters[: max(unnamed, default=-1) + 1]:
        if p.name not in given:
            raise unsupported(function, form.parameters[unnamed[-1]].name)
        args.append(given[p.name])
        by_name.pop(p.name, None)
    return (*before, *args), by_name


def _all_ints(values):
    for value in values:
        if value.__class__ is not int:
            return False
    return True


@functools.cache
def _code(count, more):
    """Code of a front for a body of `count` arguments by position; more: whether it takes further ones, which are
    ints."""
    odd = [] if more else [f"n > {count}"]
    odd += [f"n > {i} and args[{i}].__class__ not in s{i}" for i in range(count)]
    odd += [f"n > {count} and not all_ints(args[{count}:])"] if more else []
    lines = [
        "def call(*args, **kwargs):",
        " n = len(args)",
        f" if {' or '.join(odd)}: args, kwargs = unusual(args, kwargs)",
        " elif kwargs:",
        "  for k, v in kwargs.items():",
        "   if v.__class__ not in known.get(k, ()):",
        "    args, kwargs = unusual(args, kwargs)",
        "    break",
        " try:",
        "  return body(*args, **kwargs)",
        " except (AttributeError, TypeError, ValueError, MemoryError) as error:",
        "  error = reworded(error, args, kwargs)",
        "  if error.__traceback__ is None: raise error from None",
        "  raise",
    ]
    return generated.function("call", "\n".join(lines), {}, f"front of a function of {count} arguments{' or more' if more else ''}").__code__


OWN = {"m": {"view", "reshape", "permute", "expand"}}
"""What has no front: methods that are called often and look at their list of ints themselves, by `sizes`."""


def put_in_front(spaces):
    """Puts fronts before the functions of the registry that `signatures.txt` names. spaces: what it calls them, and
    where they are."""
    for space, functions in spaces.items():
        names = {n for s, n in table() if s == space}
        names |= {n for n in functions if space == "m" and forms_exist(n)}
        for name in sorted(names & functions.keys() - OWN.get(space, set())):
            if isinstance(functions[name], FunctionType) and not hasattr(functions[name], "checks_itself"):
                functions[name] = front(functions[name], space, name)


def put_before_methods(cls):
    """The same for methods that the class itself defines."""
    own = {name: f for name, f in vars(cls).items() if not name.startswith("_")}
    put_in_front({"m": own})
    for name, f in own.items():
        if f is not vars(cls)[name]:
            setattr(cls, name, f)


def forms_exist(name):
    """Whether a method's forms follow from another name's."""
    return any(key in table() for key in (("f", name), ("f", name.removesuffix("_")), ("m", name.removesuffix("_"))))
