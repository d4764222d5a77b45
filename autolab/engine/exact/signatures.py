"""Match calls to PyTorch's signatures as its argument parser does: choose the signature, check and convert the
arguments, and raise PyTorch's errors.

`signatures.txt` states every signature once (`tools/signatures.py` reads them from PyTorch). A function listed there is
called through a front. The front accepts common calls by the classes of their arguments (0.1 µs). For any other call,
this file chooses the signature, converts NumPy numbers and 0-d tensors to Python numbers, accepts NumPy's argument
names, and raises PyTorch's errors.
"""

from __future__ import annotations

import functools
from functools import partial
from inspect import CO_VARARGS, CO_VARKEYWORDS, unwrap
from pathlib import Path
from types import FunctionType

from ..core.errors import fail
from ..exact.refusals import beyond_numpy
from ..core.tensor import TENSOR_CLASSES, Tensor
from .. import generated
from .arguments import no_match, no_match_of_one
from .kinds import INTS, LISTED_TENSORS, Parameter, an_index
from .refusals import unsupported

_OPTIONS = "dtype? dtype=None, layout? layout=None, device? device=None, bool? pin_memory=False, bool? requires_grad=False"


class Form:
    """One signature."""

    def __init__(self, text):
        self.hidden, text = text.startswith("~"), text.lstrip("~").replace("OPTIONS", _OPTIONS)
        before, star, after = text.partition("*, ")
        self.parameters = [Parameter(p) for p in before.split(", ") if p] + [
            Parameter(p, True) for p in after.split(", ") if p
        ]
        positional = [p for p in self.parameters if not p.keyword_only]
        self.most, self.least = len(positional), sum(not p.optional for p in self.parameters)
        self.spread = (
            len(positional) == 1 and positional[0].spread
        )  # `view(2, 3)` for `view((2, 3))`
        shown = [p.text for p in self.parameters]
        if star:
            shown.insert(len(positional), "*")
        self.text = ", ".join(shown)

    def bind(self, function, args, kwargs):
        """Return [(parameter, value, whether by position)] for the passed arguments. If the call does not match this
        signature, return a function that makes PyTorch's error."""
        too_many = partial(self._too_many, function, len(args))
        if len(args) > self.most and not self.spread:
            return too_many
        bound, place, left = [], 0, len(kwargs)
        for number, p in enumerate(self.parameters):
            positional = place < len(args)
            if positional:
                if p.keyword_only:
                    return too_many
                value = args[place]
            else:
                value = next((kwargs[n] for n in p.names if n in kwargs), _ABSENT)
            if value is _ABSENT:
                if p.optional:
                    continue
                return partial(_missing, function, self.parameters[number:])
            if not p.fits(value):
                if self.spread and positional and not place and (len(args) > 1 or an_index(value)):
                    if not an_index(value):
                        return too_many
                    bound.append((p, args, True))
                    place = len(args)
                    continue
                return partial(p.refused, function, value, place + 1 if positional else None)
            bound.append((p, value, positional))
            place += positional
            left -= not positional
        if left:
            return partial(self._unexpected, function, kwargs, len(args))
        return too_many if place < len(args) else bound

    def _too_many(self, function, given):
        # This can say "from 2 to 1", because PyTorch counts so.
        takes = str(self.most) if self.least == self.most else f"from {self.least} to {self.most}"
        plural = "" if self.least == self.most == 1 else "s"
        verb = "was" if given == 1 else "were"
        return self._error(
            f"{function}() takes {takes} positional argument{plural} but {given} {verb} given",
            function,
        )

    def _unexpected(self, function, kwargs, given):
        names = [p.name for p in self.parameters]
        for name in kwargs:
            if name not in names:
                message = f"{function}() got an unexpected keyword argument '{name}'"
                return self._error(message, function)
            if names.index(name) < given:
                message = f"{function}() got multiple values for argument '{name}'"
                return fail(
                    TypeError, message, "The argument was given twice: by position and by name."
                )
        return self._error("invalid keyword arguments", function)

    def _error(self, message, function):
        return fail(TypeError, message, f"It is {function}({self.text}).")


_ABSENT = object()


def _missing(function, parameters):
    names = [p.name for p in parameters if not p.optional]
    listed = ", ".join(f'"{name}"' for name in names)
    plural = "s" if len(names) == 1 else ""  # PyTorch swaps singular and plural
    message = f"{function}() missing {len(names)} required positional argument{plural}: {listed}"
    return fail(TypeError, message, "Add the missing arguments named above.")


def bound(function, forms, args, kwargs):
    """Return the signature that matches a call of `function`, and the arguments converted for it. Raise PyTorch's
    TypeError if no signature matches."""
    for form in forms:
        found = form.bind(function, args, kwargs)
        if found.__class__ is list:
            return form, found
    if len(forms) > 1:
        given, listed = len(args) + len(kwargs), [f for f in forms if not f.hidden]
        plausible = [f for f in listed if f.least <= given <= len(f.parameters)]
        texts = [f.text for f in listed]
        if not plausible and len(texts) == 1:
            raise no_match_of_one(function, args, kwargs, texts[0])
        if len(plausible) != 1:
            raise no_match(function, args, kwargs, texts)
        found = plausible[0].bind(function, args, kwargs)
    raise found()


def marked(inplace):
    """Return the suffix of a function's name: "_" if it works in place, else ""."""
    return "_" if inplace else ""


def named(function, args, kwargs):
    """Return the arguments of a method by name, without `self`."""
    return {
        p.name: p.brought(function, value)
        for p, value, _ in bound(function, forms_of("m", function), args, kwargs)[1]
    }


def sizes(function, args, kwargs):
    """Return the list of ints passed to a method that takes one list, such as `view(2, 3)`."""
    (p, value, _), *_ = bound(function, forms_of("m", function), args, kwargs)[1]
    if p.name == "dtype":
        note = "Reinterpreting the bytes of a tensor is not differentiable; use .to(dtype) to convert values."
        raise unsupported(function, "dtype", note)
    return p.brought(function, value)


# -- the table ---------------------------------------------------------------------------------------------------------
@functools.cache
def table():
    """Return the content of `signatures.txt`: the text of the signatures by (space, name)."""
    lines = Path(__file__).with_name("signatures.txt").read_text().splitlines()
    return {tuple(line.partition(": ")[0].split(" ")): line.partition(": ")[2] for line in lines}


@functools.cache
def forms_of(space, name):
    """Return the signatures of a public function or method; an empty list if there is nothing to check."""
    texts, others = table().get((space, name)), _same_forms(name) if space == "m" else []
    if texts is None:
        texts = next((table()[key] for key in others if key in table()), None)
        return [Form(_without_input(text)) for text in texts.split("; ")] if texts else []
    functions = {key for key in others if key[0] == "f"}
    hidden = [t for key in functions for t in table().get(key, "").split("; ") if t[:1] == "~"]
    return [Form(text) for text in (*texts.split("; "), *map(_without_input, hidden))]


def _same_forms(name):
    """Return the keys of the table whose signatures also hold for the method `name`."""
    stem = name.removesuffix("_")
    return [("f", name), ("f", stem), ("m", stem)]


def _without_input(text):
    parts = [
        p
        for p in text.split(", ")
        if p.lstrip("~") not in ("Tensor input", "operand input", "Tensor self")
        and not p.endswith((" out", " out=None"))
    ]
    return "~" * text.startswith("~") + ", ".join(
        parts[:-1] if parts[-1:] == ["*"] else parts
    ).lstrip("~")


# -- fronts ------------------------------------------------------------------------------------------------------------
class _Front:
    """The argument checks of one function, set up at its first call."""

    def __init__(self, body, space, name):
        self.space, self.name, self.body, self.forms = space, name, body, None
        # Read the code now: while a profiler runs, functions have another code object, which accepts any arguments.
        self.code = signature_of(body)

    def learn(self):
        """Fill in the accepted classes of arguments. Set `forms` last: if another thread sees it, everything else is
        set."""
        code = self.code
        named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self.names = names = None if code.co_flags & CO_VARKEYWORDS else named
        slots, known = [set() for _ in range(code.co_argcount)], {}
        forms = forms_of(self.space, self.name)
        for form in forms:
            if form.hidden:
                continue
            for place, p in enumerate(form.parameters, self.space == "m"):
                if not p.keyword_only and place < len(slots):
                    slots[place] |= p.classes()
                # A keyword that one signature requires decides between signatures, so calls with it need the full
                # check.
                chooses = p.keyword_only and not p.optional
                if not chooses and (names is None or p.name in named):
                    known[p.name] = known.get(p.name, set()) | p.classes()
        if self.space == "m":
            slots[0] |= TENSOR_CLASSES
        self.slots, self.known = slots, known
        self.environment |= {f"s{i}": s for i, s in enumerate(slots)} | {"known": known}
        self.forms = forms

    def unusual(self, args, kwargs):
        """Return the arguments in the form that `body` expects, by position and by keyword."""
        if self.forms is None:
            self.learn()
        more, known = self.code.co_flags & CO_VARARGS, self.known
        if (
            not more
            and len(args) <= len(self.slots)
            and all(map(_passes, args, self.slots))
            and all(_passes(v, known.get(k, ())) for k, v in kwargs.items())
        ):
            return args, kwargs
        before = args[: self.space == "m"]
        form, found = self.bound(args, kwargs)
        if len(self.slots) == len(before) and not more:
            return before, {p.name: p.brought(self.shown, value) for p, value, _ in found}
        return _arguments_of_body(self.shown, form, found, before, self.names, more)

    def bound(self, args, kwargs):
        args = args[self.space == "m" :]
        if self.space == "m" and not any(form.parameters for form in self.forms):
            given = f"arguments ({len(args)} given)" if args else "keyword arguments"
            raise fail(
                TypeError,
                f"TensorBase.{self.name}() takes no {given}",
                "This method takes no arguments.",
            )
        return bound(self.shown, self.forms, args, kwargs)

    def by_name(self, args, kwargs):
        """Return the arguments of a call by name, including defaults. A recording shows them for a failed call."""
        function, code = unwrap(self.body), self.code
        names = list(code.co_varnames[: code.co_argcount])
        left_out = dict(zip(reversed(names), reversed(function.__defaults__ or ()))) | (
            function.__kwdefaults__ or {}
        )
        if self.space == "m":
            names[:1] = ["self"]
        names += [f"argument {i}" for i in range(1, len(args) - len(names) + 1)]
        given = dict(zip(names, args)) | kwargs
        return given | {name: value for name, value in left_out.items() if name not in given}

    @property
    def shown(self):
        """The function's name in error messages."""
        return (
            self.name if self.space in ("f", "m", "nn.functional") else f"{self.space}_{self.name}"
        )

    def reworded(self, error, args, kwargs):
        """Return the error to raise in place of `error`, which a call of the body raised."""
        if isinstance(error, (ValueError, MemoryError)):
            return beyond_numpy(error)
        # The arguments did not match the body's parameters, or belong to several signatures.
        if error.__traceback__.tb_next is None or hasattr(error, "is_mismatch"):
            if self.forms is None:
                self.learn()
            self.bound(args, kwargs)
        return error


def signature_of(function):
    """Return the code object of the function that `function` wraps, which has the real arguments."""
    return unwrap(function).__code__


def front(body, space, name):
    """Return the public function that checks the arguments of `body` and calls it."""
    known = _Front(body, space, name)
    code = known.code
    environment = {"body": body, "all_ints": _all_ints, "known": _NOTHING}
    environment |= {name: getattr(known, name) for name in ("unusual", "reworded", "by_name")}
    for i in range(code.co_argcount):
        environment[f"s{i}"] = _NOTHING
    known.environment = environment
    call = FunctionType(
        _checking_code(code.co_argcount, bool(code.co_flags & CO_VARARGS)).replace(
            co_name=name, co_qualname=name
        ),
        environment,
        name,
    )
    call.__doc__, call.__module__ = body.__doc__, body.__module__
    call.__dict__ |= body.__dict__ | {"composed": body, "__wrapped__": body, "checks_itself": True}
    return call


_NOTHING: dict = {}


def _passes(value, classes):
    if value.__class__ in classes:
        return True
    if Tensor in classes and isinstance(value, Tensor):
        classes.add(
            value.__class__
        )  # Parameter and the learner's subclasses are added at their first call
        return True
    if value.__class__ is not list and value.__class__ is not tuple:
        return False
    if INTS in classes and _all_ints(value):
        return True
    return LISTED_TENSORS in classes and TENSOR_CLASSES.issuperset(
        [item.__class__ for item in value]
    )


def _arguments_of_body(function, form, found, before, names, more):
    """Return (arguments by position, by keyword) for a body with the arguments `names` (None: any). An argument passed
    by keyword stays a keyword if the body has that name. more: whether the body takes a list of ints as separate
    arguments."""
    given = {p.name: p.brought(function, value) for p, value, _ in found}
    by_name = {p.name: given[p.name] for p, _, positional in found if not positional}
    names = by_name if names is None else names
    for p in form.parameters:
        spare = p.keyword_only or p.name in ("out", "dtype")
        if spare and p.name in by_name and p.name not in names:
            if by_name.pop(p.name) is not None:
                raise unsupported(function, p.name)
            del given[p.name]
    if more and form.spread:
        by_name.pop(form.parameters[0].name, None)
    unnamed = [n for n in given if n not in by_name or n not in names]
    args = []
    for p in form.parameters:
        if not unnamed:
            break
        if p.name not in given:
            raise unsupported(function, unnamed[-1])
        args.append(given[p.name])
        by_name.pop(p.name, None)
        if p.name in unnamed:
            unnamed.remove(p.name)
    return (*before, *args), by_name


def _all_ints(values):
    for value in values:
        if value.__class__ is not int:
            return False
    return True


@functools.cache
def _checking_code(count, more):
    """Return the code of a checking function for a body with `count` positional arguments. more: whether it takes
    further ints."""
    odd = [f"n <= {count}" if more else f"n > {count}"]
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
    what = f"exact/<front of a function of {count} arguments{' or more' if more else ''}>"
    return generated.function("call", "\n".join(lines), {}, what).__code__


OWN = {"m": {"view", "reshape", "permute", "expand", "to"}, "nn.functional": {"linear"}}
"""Functions without a front, because they are called often and check their own arguments (methods of a list of ints
with `sizes`, others with `named`)."""


def put_in_front(spaces):
    """Compile the functions of records, and wrap the functions in `signatures.txt` in checking functions. spaces: the
    functions by namespace."""
    for space, functions in spaces.items():
        for name, f in functions.items():
            if hasattr(f, "place"):
                functions[name] = _compiled(
                    f.op, f.__name__, f.place, "self" if space == "m" else "input"
                )
        names = {n for s, n in table() if s == space}
        if space == "m":
            names |= {n for n in functions if not table().keys().isdisjoint(_same_forms(n))}
        for name in sorted(names & functions.keys() - OWN.get(space, set())):
            if isinstance(functions[name], FunctionType) and not hasattr(
                functions[name], "checks_itself"
            ):
                functions[name] = front(functions[name], space, name)


@functools.cache
def _compiled(op, name, place, first):
    """Return the public function of a record with the arguments of its schema, so that Python itself binds calls, and
    `help()` shows them."""
    shown = {p: first if p == "self" else p for p in op.params}
    listed = [f"{shown[p]}=_{p}" if p in op.defaults else shown[p] for p in op.params]
    if op.keyword_only:
        listed.insert(len(op.params) - len(op.keyword_only), "*")
    # Use two statements, because CPython 3.11 is slow to call a method looked up from a slot.
    source = f"def {name}({', '.join(listed)}):\n call = _op.{place}\n return call({', '.join(shown.values())})"
    environment = {"_op": op} | {f"_{p}": value for p, value in op.defaults.items()}
    call = generated.function(name, source, environment, f"exact/<front of {name}>")
    call.__doc__, call.__module__, call.op = op.doc, __name__, op
    return call


def put_before_methods(cls):
    """Wrap the methods that the class itself defines in checking functions."""
    own = {name: f for name, f in vars(cls).items() if not name.startswith("_")}
    put_in_front({"m": own})
    for name, f in own.items():
        if f is not vars(cls)[name]:
            setattr(cls, name, f)
