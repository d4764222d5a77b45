"""Report the start and end of functions that are not single ops: functions made of several ops, and functions that
create tensors.

They are plain Python functions, which other modules have imported under their own names, and the observer sees only
their ops. So while a profiler runs, their code object is replaced by one that reports and calls the original, and
restored afterwards; without a profiler, they run unchanged. docs/dev/speed.md compares the alternatives.
"""

from __future__ import annotations

import functools
import sys
from types import CodeType, FunctionType

from .names import COMPOSED, RENAMED

_exchanged: list[tuple[FunctionType, CodeType]] = []


@functools.cache
def _template(free):
    """Return code that passes its arguments to a constant, for a function with the free variables `free`, which must
    stay the same."""
    names = ", ".join(free)
    source = f"def outer({names}):\n def f(*args, **kwargs):\n  call = 'CALL'\n  return call(*args, **kwargs)\n  {names or None}\n"
    return _inner(
        _inner(compile(source, __file__, "exec"))
    )  # a file name of the package, so no recording takes it for the learner's code


def _inner(code):
    return next(c for c in code.co_consts if isinstance(c, CodeType))


def _reporting(f, code, report):
    """Return code for `f` that calls `report(original, args, kwargs)`; `code` is the original's."""
    original = FunctionType(code, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    original.__kwdefaults__, original.__qualname__ = f.__kwdefaults__, f.__qualname__
    template = _template(code.co_freevars)

    def call(*args, **kwargs):
        return report(original, args, kwargs)

    consts = tuple(call if c == "CALL" else c for c in template.co_consts)
    return template.replace(co_consts=consts, co_name=code.co_name, co_qualname=code.co_qualname)


@functools.cache
def _composed(modules):
    """Return (function, PyTorch's name of it) for every function that PyTorch shows as a call of its own, in the
    registry and `modules`."""
    from ..engine.ops.functions import METHODS, NAMESPACES

    names: dict[FunctionType, str] = {}
    spaces = [NAMESPACES[""], NAMESPACES["nn.functional"], METHODS]
    spaces += [vars(sys.modules[module]) for module in modules]
    for space in spaces:
        for name, f in list(space.items()):
            f = getattr(f, "composed", f)  # the implementation that the public function calls
            known = name in COMPOSED or (
                name in RENAMED and (space is METHODS or RENAMED[name] != "to")
            )
            if known and isinstance(f, FunctionType) and not hasattr(f, "op"):
                names.setdefault(f, f"aten::{RENAMED.get(name, name)}")
    return list(names.items())


def exchange(on_call):
    """Make the functions report: `on_call(aten_name, original, args, kwargs)` makes the call and returns its result."""
    loaded = tuple(
        module for module in ("autolab.nn.functional", "autolab") if module in sys.modules
    )
    for f, name in _composed(loaded):
        code = f.__code__
        _exchanged.append((f, code))
        f.__code__ = _reporting(f, code, functools.partial(on_call, name))


def put_back():
    """Restore the functions."""
    while _exchanged:
        f, code = _exchanged.pop()
        f.__code__ = code
