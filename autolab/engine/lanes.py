"""The fast lanes: compiled functions for ops of one and two plain operands.

An op that has a `fast` kernel runs here in about 1 µs, against 3-5 µs in the general lane (`dispatch.apply`), which takes over whenever an
operand is not plain: a view, an inference tensor, an integer, of another dtype.
"""

from __future__ import annotations

import numpy as np

from . import observe
from .autograd.grad_mode import per_thread
from .autograd.node import accumulator, sequence
from .device import CPU
from .dtype import bool_
from .storage import Storage
from .tensor import SMALL, Tensor

_new = object.__new__
_OWN_MEMORY = "t._memory = s = new(Storage)", "s.version = 0", "s.device = CPU", "s.array = None"

TENSORS = {Tensor}
"""The classes that the fast lanes take: Tensor, and subclasses that behave alike (`nn.Parameter` adds itself)."""

_BINARY = """
def call(a, b):
    state = per_thread.state
    kind = type(b)
    tensor = kind is Tensor or kind in TENSORS
    if tensor:
        kind = type(a)
        if NUMBERS_ONLY kind is not Tensor and kind not in TENSORS or a.dtype is not b.dtype or a._view is not None or b._view is not None:
            return slow(a, b)
        y = b._d
        b_req = b._req
    elif (kind is float or kind is int) and a.__class__ in TENSORS and a._view is None:
        y = b
        b_req = False
    else:
        return slow(a, b)
    dtype = a.dtype
    if dtype._kind != 2 or state.special:
        return slow(a, b)
    x = a._d
    try:
        if tensor and (type(x) is ndarray or type(y) is ndarray):
            p = x.shape
            q = y.shape
            if p == q:
                fix = None
                d = state.run(fast, x, y)
            else:
                d = state.run(fast, ONE_AS_NUMBER)
                r = d.shape
                fix = (None if p == r else (p, dtype), None if q == r else (q, dtype))
        else:
            fix = None
            d = state.run(fast, x, y)
    except ValueError:
        return slow(a, b)
    t = new(Tensor)
    t._d = d
    t.dtype = RESULT
    MEMORY
    t._view = t._grad = t._acc = t._hooks = None
    t._nr = 0
    a_req = a._req
    if state.grad and (a_req or b_req) and DIFFERENTIABLE:
        t._node = n = new(node_class)
        t._req = True
        e = f = n.input_nrs = n.hooks = n.operands = None
        if a_req:
            e = a._node
            if e is None: e = a._acc and a._acc() or accumulator(a)
            if a._nr: n.input_nrs = (a._nr, b._nr if b_req else 0)
        if b_req:
            f = b._node
            if f is None: f = b._acc and b._acc() or accumulator(b)
            if b._nr: n.input_nrs = (a._nr if a_req else 0, b._nr)
        n.inputs = INPUTS
        n.sequence_nr = next(sequence)
        n.scope = state.scope
        SAVED
        n.fix = fix
        n.value = d if type(d) is not ndarray or d.size <= SMALL else (d.shape, d.dtype)
        if e is None or f is None:
            n.operands = (x if e is None and (type(x) is not ndarray or x.size <= SMALL) else None,
                          y if f is None and (type(y) is not ndarray or y.size <= SMALL) else None)
    else:
        t._node = n = None
        t._req = False
    if observe.observer is not None:
        observe.observer.forward(op, (a, b), None, (t,), n)
    return t
"""

_UNARY = """
def call(aDEFAULTS):
    state = per_thread.state
    kind = type(a)
    if kind is not Tensor and kind not in TENSORS or a._view is not None or state.special or a.dtype._kind != 2 UNLESS_DEFAULT:
        return op.general(aARGUMENTS)
    x = a._d
    d = state.run(fast, x)
    t = new(Tensor)
    t._d = d
    t.dtype = a.dtype
    MEMORY
    t._view = t._grad = t._acc = t._hooks = None
    t._nr = 0
    if a._req and state.grad:
        t._node = n = new(node_class)
        t._req = True
        e = a._node
        if e is None: e = a._acc and a._acc() or accumulator(a)
        n.inputs = (e,)
        n.input_nrs = (a._nr,) if a._nr else None
        n.sequence_nr = next(sequence)
        n.scope = state.scope
        n.hooks = n.fix = n.operands = None
        SAVED
        n.value = d if type(d) is not ndarray or d.size <= SMALL else (d.shape, d.dtype)
    else:
        t._node = n = None
        t._req = False
    if observe.observer is not None:
        observe.observer.forward(op, (aARGUMENTS,), None, (t,), n)
    return t
"""


# Operands that broadcast, an array of one element made 0-d: that is what NumPy broadcasts in 0.3 µs instead of 0.7.
_ONE_AS_NUMBER = "x.squeeze() if p and x.size == 1 and len(p) <= len(q) else x, y.squeeze() if q and y.size == 1 and len(q) <= len(p) else y"


def _saving(op):
    """The statements that save what the node needs, from the record's plan; laid out as `saving.py` says."""
    lines, entries = [], []
    for k, (kind, index, readers) in enumerate(zip(op.save_kinds, op.save_index, op.needed_by)):
        if kind == "output":
            entries += ["d", "s", "0"]
        elif kind == "attr":
            entries.append(op.params[index])
        elif kind.startswith("derived:"):
            entries.append({"sizes": "x.shape", "numel": "int(x.size)", "strides": "a.stride()"}[kind[8:]])
        else:
            name = "ab"[index]
            entries += [f"s{k}", f"v{k}"]
            read = f"s{k} = {name}; v{k} = {name}._memory; v{k} = 0 if v{k} is None else v{k}.version"
            conditions = []
            if index == 1:
                conditions.append("tensor")
            if readers is not None and len(op.params) == 2:
                conditions.append("(" + " or ".join(("e", "f")[op.rules[r][0]] + " is not None" for r in sorted(readers)) + ")")
            if not conditions:
                lines.append(read)
            else:
                lines.append(f"if {' and '.join(conditions)}: {read}")
                if index == 1:
                    lines.append(f"else: s{k} = None if tensor else b; v{k} = None")
                else:
                    lines.append(f"else: s{k} = v{k} = None")
    lines.append(f"n.saved = ({', '.join(entries)}{',' if entries else ''})")
    return "\n        ".join(lines)


def _compile_lane(op, source, slow=None):
    inputs = ", ".join(("e", "f")[i] for i, _, _ in op.rules)
    source = (
        source.replace("INPUTS", f"({inputs},)" if inputs else "()")
        .replace("ONE_AS_NUMBER", _ONE_AS_NUMBER)
        .replace("SAVED", _saving(op))
        .replace("MEMORY", "\n    ".join(_OWN_MEMORY) if "output" in op.save_kinds else "t._memory = None")
        .replace("DIFFERENTIABLE", str(bool(op.rules)))
        .replace("NUMBERS_ONLY", "")
        .replace("RESULT", "bool_" if op.dtype == "bool" else "dtype")
    )
    environment = {
        "per_thread": per_thread,
        "Tensor": Tensor,
        "TENSORS": TENSORS,
        "Storage": Storage,
        "slow": slow,
        "op": op,
        "fast": op.fast,
        "new": _new,
        "node_class": op.node_class,
        "accumulator": accumulator,
        "sequence": sequence,
        "ndarray": np.ndarray,
        "SMALL": SMALL,
        "observe": observe,
        "bool_": bool_,
        "CPU": CPU,
    }
    exec(source, environment)
    return environment["call"]


def compiled_on_first_use(make, op):
    """`make(op)`, made when it is first called: compiling every lane would add 60 ms to `import autolab`. Returns a stub that
    calls what was made; `stub.made` gives it (made now if need be) to whoever wants to call it directly."""

    def stub(*args):
        return stub.made()(*args)

    made = []

    def get():
        if not made:
            made.append(make(op))
            for place in ("call", "general"):
                if getattr(op, place) is stub:
                    setattr(op, place, made[0])
        return made[0]

    stub.made = get
    return stub


def make_binary(op):
    """The fast lane of an op of two operands."""
    return _compile_lane(op, _BINARY, lambda a, b: op.general(a, b))


def make_operator(op, of_tensors=None):
    """The same lane as a Python operator: NotImplemented for operands that are neither tensors nor numbers.

    of_tensors: what to call instead when the second operand is a tensor (`x ** y` is another op than `x ** 2`)."""

    def slow(a, b):
        if of_tensors is not None and isinstance(b, Tensor):
            return of_tensors(a, b)
        return op.general(a, b) if isinstance(b, _NUMBERS) else NotImplemented

    source = _BINARY if of_tensors is None else _BINARY.replace("NUMBERS_ONLY", "True or")
    return _compile_lane(op, source, slow)


_NUMBERS = (Tensor, int, float, complex, np.number, np.bool_)


def make_unary(op):
    """The fast lane of an op of one operand; taken when its other arguments have their defaults."""
    others = op.params[1:]
    source = (
        _UNARY.replace("DEFAULTS", "".join(f", {p}={op.defaults[p]!r}" for p in others))
        .replace("ARGUMENTS", "".join(f", {p}" for p in others))
        .replace("UNLESS_DEFAULT", "".join(f"or {p} is not {op.defaults[p]!r}" for p in others))
    )
    return _compile_lane(op, source)
