"""The fast lanes: compiled functions for ops of one and two plain operands.

An op that has a `fast` kernel runs here in about 1 µs, against 3-5 µs in the general lane (`dispatch.apply`), which takes over whenever an
operand is not plain: a view, an inference tensor, an integer, of another dtype.
"""

from __future__ import annotations

import numpy as np

from . import generated
from ..core import observe
from ..exact.arguments import NUMBERS
from ..core.grad_mode import per_thread
from ..core.node import new_accumulator, sequence
from ..devices.device import CPU
from ..core.dtype import bool_
from ..core.plain import PLAIN, strides_of
from .saving import Words, saving
from ..core.storage import Storage
from ..core.tensor import SMALL, Tensor

TENSORS = {Tensor}
"""The classes that the fast lanes take: Tensor, and subclasses that behave alike (`nn.Parameter` adds itself)."""

_BINARY = """
def call(a, b):
    state = per_thread.state
    kind = type(a)
    if kind is not Tensor and kind not in TENSORS:
        return slow(a, b)
    kind = type(b)
    if kind is Tensor or kind in TENSORS:
        WITH_TENSOR
    elif kind is float or kind is int:
        WITH_NUMBER
    else:
        return slow(a, b)
    if observe.observer is not None:
        observe.observer.forward(op, (a, b), None, (t,), n)
    return t
"""

_WITH_TENSOR = """
dtype = a.dtype
if b.dtype is not dtype or not dtype.is_floating_point or a._view is not None or b._view is not None or state.special:
    return slow(a, b)
x = a._array
y = b._array
fix = None
try:
    if type(x) is ndarray or type(y) is ndarray:
        p = x.shape
        q = y.shape
        if p == q:
            d = state.run(fast, x, y)
        else:
            x_alone, y_alone, fix = broadcast.get((p, q, dtype)) or broadcasting(p, q, dtype)
            d = state.run(fast, x.squeeze() if x_alone else x, y.squeeze() if y_alone else y)
    else:
        d = state.run(fast, x, y)
except (ValueError, MemoryError):
    return slow(a, b)
RESULT
"""

_WITH_NUMBER = """
dtype = a.dtype
if not dtype.is_floating_point or a._view is not None or state.special:
    return slow(a, b)
x = a._array
d = state.run(fast, x, b)
RESULT
"""

_UNARY = """
def call(aDEFAULTS):
    state = per_thread.state
    kind = type(a)
    if kind is not Tensor and kind not in TENSORS or a._view is not None or state.special or not a.dtype.is_floating_point UNLESS_DEFAULT:
        return slow(aARGUMENTS)
    x = a._array
    d = state.run(fast, x)
    RESULT
    if observe.observer is not None:
        observe.observer.forward(op, (aARGUMENTS,), None, (t,), n)
    return t
"""

# One statement a slot: CPython 3.11 runs `t._view = None` as two instructions, and an assignment to several slots as three each.
_RESULT = """
t = new(Tensor)
t._array = d
t.dtype = DTYPE
t._view = None
t._grad = None
t._acc = None
t._hooks = None
t._nr = 0
MEMORY
if WANTED:
    NODE
else:
    t._node = n = None
    t._req = False
"""

# `e` and `f` are where the gradients of the operands go.
_NODE = """
t._node = n = node_class()
t._req = True
EDGES
n.inputs = INPUTS
n.input_nrs = NUMBERS
n.sequence_nr = next(sequence)
n.hooks = None
n.scope = state.scope
SAVED
n.fix = FIX
if type(d) is not ndarray or d.size <= SMALL:
    n.value = d
    n.operands = OPERANDS
else:
    n.value = d.shape, d.dtype
    n.operands = SMALL_OPERANDS
"""

_OWN_MEMORY = """
t._memory = s = new(Storage)
s.version = 0
s.device = CPU
s.array = None
"""


def _filled(template, **blocks):
    """`template` with its names in capitals replaced; what is alone on its line may be several lines, which are indented as it was."""
    lines = []
    for line in template.strip("\n").splitlines():
        block = blocks.get(line.strip())
        if block is not None:
            indent = line[: len(line) - len(line.lstrip())]
            lines += [indent + inner for inner in block.strip("\n").splitlines()]
            continue
        for name in sorted(blocks, key=len, reverse=True):
            line = line.replace(name, blocks[name])
        lines.append(line)
    return "\n".join(lines)


def _result(op, tensors):
    """What follows the kernel. tensors: the names of the operands that are tensors."""
    sources = {"ab"[i]: "ef"[i] for i, _, _ in op.rules if "ab"[i] in tensors}
    wanted = " or ".join(f"{a}._req" for a in sources)
    wanted = f"({wanted})" if len(sources) > 1 else wanted
    return _filled(
        _RESULT,
        DTYPE="bool_" if op.dtype == "bool" else "a.dtype",
        MEMORY=_OWN_MEMORY if "output" in op.save_kinds else "t._memory = None",
        WANTED=f"{wanted} and state.grad" if sources else "False",
        NODE=_node(op, tensors, sources) if sources else "n = None",
    )


def _node(op, tensors, sources):
    """What makes the node. sources: operand -> name of the node that its gradient goes to."""
    alone = len(sources) == 1
    edges = []
    for a, e in sources.items():
        find = f"{e} = {a}._node or {a}._acc and {a}._acc() or new_accumulator({a})"
        edges.append(find if alone else f"if {a}._req: {find}\nelse: {e} = None")
    places = ["ab"[i] for i, _, _ in op.rules]
    numbers = [f"{a}._nr" if a in tensors else "0" for a in places]
    return _filled(
        _NODE,
        EDGES="\n".join(edges),
        INPUTS=f"({', '.join(sources.get(a, 'None') for a in places)},)",
        NUMBERS=f"({', '.join(numbers)},) if {' or '.join(f'{a}._nr' for a in sources)} else None",
        SAVED="\n".join(saving(op, _Lane(op, tensors, sources), "n.saved")),
        FIX="fix" if len(tensors) > 1 else "None",
        OPERANDS=_outside(op, tensors, sources, "{x}"),
        SMALL_OPERANDS=_outside(op, tensors, sources, "({x} if type({x}) is not ndarray or {x}.size <= SMALL else None)"),
    )


def _outside(op, tensors, sources, kept):
    """What the explorer shows of operands that are in no graph. kept: what is kept of the array {x}."""
    if len(op.operands) < 2:
        return "None"
    found = []
    for a, x in zip("ab", "xy"):
        outside = kept.format(x=x) if a in tensors else a
        found.append(outside if a not in sources else f"{outside} if {sources[a]} is None else None" if len(sources) > 1 else "None")
    if len(sources) == 1:
        return f"({', '.join(found)})"
    return f"({', '.join(found)}) if {' or '.join(f'{e} is None' for e in sources.values())} else None"


class _Lane(Words):
    """How the lanes call what a node saves."""

    def __init__(self, op, tensors, sources):
        self.op, self.tensors, self.sources = op, tensors, sources

    def wants(self, rule):
        e = self.sources.get("ab"[self.op.rules[rule][0]])
        return "False" if e is None else "True" if len(self.sources) == 1 else f"{e} is not None"

    def argument(self, i):
        return "ab"[i] if i == 0 or len(self.op.operands) == 2 else self.op.params[i]

    def array(self, i):
        return "xy"[i]

    def is_tensor(self, i):
        return str("ab"[i] in self.tensors)

    def output(self, i):
        return "d, s, 0"


_BROADCAST: dict = {}
"""What operands of two shapes need: (whether x, y is made 0-d, the node's `fix`), by (shape, shape, dtype)."""


def _broadcasting(p, q, dtype):
    """The entry of _BROADCAST for operands of shapes `p` and `q`. Raises ValueError when they do not broadcast.

    An array of one element is made 0-d before NumPy broadcasts it: 0.3 µs instead of 0.6."""
    r = np.broadcast_shapes(p, q)
    x_alone = len(p) > 0 and p.count(1) == len(p) <= len(q)
    y_alone = len(q) > 0 and q.count(1) == len(q) <= len(p)
    fix = None if p == r else (p, dtype), None if q == r else (q, dtype)
    if len(_BROADCAST) >= _MOST:
        _BROADCAST.clear()
    _BROADCAST[p, q, dtype] = found = x_alone, y_alone, fix
    return found


_MOST = 1024


def _compile_lane(op, source, slow):
    environment = {
        "per_thread": per_thread,
        "Tensor": Tensor,
        "TENSORS": TENSORS,
        "Storage": Storage,
        "broadcast": _BROADCAST,
        "broadcasting": _broadcasting,
        "slow": slow,
        "op": op,
        "fast": op.fast,
        "new": object.__new__,
        "node_class": op.node_class,
        "new_accumulator": new_accumulator,
        "sequence": sequence,
        "strides_of": strides_of,
        "ndarray": np.ndarray,
        "SMALL": SMALL,
        "observe": observe,
        "bool_": bool_,
        "CPU": CPU,
    }
    return generated.function("call", source, environment, f"lane of {op.name}")


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
    return _compile_lane(op, _binary(op, True), lambda a, b: op.general(a, b))


def make_operator(op, of_tensors=None):
    """The same lane as a Python operator: NotImplemented for operands that are neither tensors nor numbers.

    of_tensors: what to call instead when the second operand is a tensor (`x ** y` is another op than `x ** 2`)."""

    def slow(a, b):
        if of_tensors is not None and isinstance(b, Tensor):
            return of_tensors(a, b)
        return op.general(a, b) if isinstance(b, _OPERANDS) else NotImplemented

    if PLAIN:
        return slow
    return _compile_lane(op, _binary(op, of_tensors is None), slow)


_OPERANDS = (Tensor, *NUMBERS)


def _binary(op, takes_tensors):
    with_tensor = _filled(_WITH_TENSOR, RESULT=_result(op, "ab")) if takes_tensors else "return slow(a, b)"
    return _filled(_BINARY, WITH_TENSOR=with_tensor, WITH_NUMBER=_filled(_WITH_NUMBER, RESULT=_result(op, "a")))


def make_unary(op):
    """The fast lane of an op of one operand; taken when its other arguments have their defaults."""
    others = op.params[1:]
    source = _filled(
        _UNARY,
        RESULT=_result(op, "a"),
        DEFAULTS="".join(f", {p}={op.defaults[p]!r}" for p in others),
        ARGUMENTS="".join(f", {p}" for p in others),
        UNLESS_DEFAULT="".join(f"or {p} is not {op.defaults[p]!r}" for p in others),
    )
    return _compile_lane(op, source, lambda *args: op.general(*args))
