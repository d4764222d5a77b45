"""Attach to each error the operation that failed, for recordings and `autolab.explain()`.

This code runs only when an error is raised. The information is stored on the error itself and lives as long as the
error; there is no global list.
"""

from __future__ import annotations

import inspect
import os
import sys

from ..core import observe
from ..core.errors import ERROR_LISTENERS, bad_argument
from ..core.tensor import Tensor
from .broadcasting import broadcast_error, misfit
from .kinds import KINDS
from .refusals import beyond_numpy

EXPLAIN = ".explain() shows where."
"""The end of the note that names `autolab.explain`; the learner's name for this library goes before it."""

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep
_OPERATIONS = tuple(_PACKAGE + room for room in ("engine", "nn", "func"))
_MODULES = os.path.join(_PACKAGE, "nn", "modules") + os.sep
_NAMELESS = set("call f function method operator slow stub target update wrapper <lambda>".split())


def failed(op, args, error, inplace=False):
    """Record that `op`, called with `args`, raised `error`; of nested operations, record the innermost. Return the
    error to raise, with NumPy's errors turned into PyTorch's."""
    error = _in_torchs_words(op, args, error, inplace)
    if isinstance(getattr(error, "_autolab_call", ("",))[0], str):
        _record_call(op, args, error, inplace)
    return error


def _in_torchs_words(op, args, error, inplace):
    for place, (kind, name) in enumerate(zip(op.kinds, op.params)):
        if kind == "operand" and place < len(args) and not KINDS["operand"].fits(args[place]):
            function, position = (f"{op.name}_", place) if inplace else (op.name, place + 1)
            return bad_argument(function, name, position, "Tensor", args[place])
    if isinstance(error, NotImplementedError):  # a dtype error: torch checks the shapes first
        return misfit(op, args, inplace) or error
    if isinstance(error, ValueError) and op.broadcast and "broadcast" in str(error):
        shapes = [a._array.shape for a in args if isinstance(a, Tensor)]
        return misfit(op, args, False) or broadcast_error(shapes)
    return beyond_numpy(error)


def refused(error):
    """Record the call that an error from `errors.fail` is about, because the function that the learner called
    (`matmul`, `linear`) may refuse its arguments before any operation runs. Do nothing if no argument is a tensor."""
    name, arguments = _outermost_call(sys._getframe(2))
    if any(_holds_tensor(a) for a in arguments.values()):
        _record_call(name, arguments, error)
    return error


def _record_call(op, args, error, inplace=False):
    """Store the call on the error, and report it to the observer. Errors that the observer itself raises meanwhile are
    not reported."""
    global _telling
    error._autolab_call = op, args
    point_to_explain(error)
    if observe.observer is None or _telling:
        return
    _telling = True
    try:
        observe.observer.failed(op, args, error, inplace)
    except Exception:  # raise the learner's error, even if recording it fails
        pass
    finally:
        _telling = False


_telling = False


def point_to_explain(error):
    """Add the note that names `autolab.explain` to `error`, once. The note uses the learner's name for this library:
    after `import autolab as torch` it says `torch.explain()`."""
    if not any(note.endswith(EXPLAIN) for note in getattr(error, "__notes__", ())):
        error.add_note(_name_of_library() + EXPLAIN)


def sentences(error):
    """Return the notes of an error without the one about `autolab.explain`, for code that shows the error itself."""
    return [note for note in getattr(error, "__notes__", ()) if not note.endswith(EXPLAIN)]


def _name_of_library():
    library, frame = sys.modules[__package__.partition(".")[0]], sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    known = {} if frame is None else frame.f_globals
    return next(
        (name for name in ("autolab", "torch") if known.get(name) is library), library.__name__
    )


def _outermost_call(frame):
    """Return (name, arguments by name) of the outermost call of the library around `frame`: the function that the
    learner or a module's forward called."""
    outermost, inner, name = None, None, ""
    while frame is not None and frame.f_code.co_filename.startswith(_OPERATIONS):
        code = frame.f_code
        if outermost is not None and code.co_filename.startswith(_MODULES):
            break
        outermost, inner = frame, outermost
        name = name if code.co_name in _NAMELESS and name else code.co_name
        frame = frame.f_back
    if outermost is None:
        return "", {}
    given = arguments(outermost)
    wrapper = (
        outermost.f_code.co_flags & inspect.CO_VARARGS and "by_name" not in outermost.f_globals
    )
    if inner is not None and wrapper:  # the wrapped function names its arguments
        named = arguments(inner)
        if sum(map(_holds_tensor, named.values())) == sum(map(_holds_tensor, given.values())):
            given = named
    if outermost.f_code.co_filename.startswith(_MODULES):
        return type(given.pop("self", None)).__name__, given
    return name.strip("_").removesuffix("_method"), given


def arguments(frame):
    """Return the arguments of a call by name: each of `*args` separately, `**kwargs` under their own names."""
    code, found = frame.f_code, {}
    count = code.co_argcount + code.co_kwonlyargcount
    held = frame.f_locals
    if (
        "by_name" in frame.f_globals
    ):  # a front (signatures.py): the function behind it names its arguments
        return frame.f_globals["by_name"](held["args"], held["kwargs"])
    for name in code.co_varnames[:count]:
        if name in held:
            found[name] = held[name]
    if code.co_flags & inspect.CO_VARARGS:
        found |= {
            f"argument {i}": a for i, a in enumerate(held.get(code.co_varnames[count], ()), start=1)
        }
        count += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        found |= held.get(code.co_varnames[count], {})
    # Before Python 3.13, a frame keeps this copy, and with it the tensors.
    if isinstance(held, dict) and code.co_flags & inspect.CO_OPTIMIZED:
        held.clear()
    return found


def _holds_tensor(item):
    return (
        isinstance(item, Tensor)
        or isinstance(item, (list, tuple))
        and any(isinstance(x, Tensor) for x in item)
    )


ERROR_LISTENERS.append(sys.modules[__name__])
