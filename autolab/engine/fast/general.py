"""The general lane compiled for one op: what `dispatch.apply` does with operands in host memory that need no conversion.

`apply` asks at each call what the record says (which arguments are tensors, whether they are promoted, what a node saves); here the
answers are in the code, which takes 1-2 µs besides the kernel instead of 4-6. Views may come, which the fast lanes (`lanes.py`) leave
alone. Whatever is unusual - other devices, inference, saved-tensor hooks, operands of two dtypes, errors of broadcasting - goes to `apply`.
"""

from __future__ import annotations

import numpy as np

from ..core import failing, observe
from . import generated
from ..core.grad_mode import per_thread
from ..core.node import new_accumulator, sequence
from ..devices.device import CPU
from ..core.apply import apply, reporting
from ..core.dtype import FROM_NUMPY
from ..core.errors import beyond_numpy
from .lanes import TENSORS
from ..core.plain import strides_of
from .saving import Words, saving
from ..core.storage import Storage
from ..core.tensor import SMALL, Tensor, materialise
from ..inplace.views import View

_new = object.__new__
_OPERANDS = {type(None), int, float}  # without bool, which some ops refuse
_NUMBERS = {*_OPERANDS, bool}
_ATTRIBUTES = {*_NUMBERS, str, tuple}
_LISTED = (Tensor, list, np.generic)  # what `apply` makes something else of


def can_compile(op) -> bool:
    """Whether the op's arguments and results are of a fixed number, none of them a list of tensors."""
    return not (op.lists or op.variadic or op.spread) and 0 in op.tensors


def make_general(op):
    """The compiled lane of `op`; it takes all arguments in schema order."""
    args = _arguments(op)
    outs, result = ("outs", "outs") if len(op.outputs) > 1 else ("(t,)", "t")
    if op.return_type is not None:
        result = "op.return_type(outs)"
    lines = [*_checks(op), *_kernel(op), *_wrapping(op), *_recording(op)]
    lines += [
        " if observe.observer is not None:",
        f"  observe.observer.forward(op, ({args},), None, {outs}, n)",
        f" return {result}",
    ]
    # CPython enters a `try` for nothing.
    lines = [f"def call({args}):", " try:", *(f" {line}" for line in lines), " except Exception as error:"]
    lines += ["  error = beyond_numpy(error)", f"  failing.failed(op, ({args},), error)"]
    lines += ["  if error.__traceback__ is None: raise error from None", "  raise"]
    environment = {
        "beyond_numpy": beyond_numpy,
        "per_thread": per_thread,
        "TENSORS": TENSORS,
        "NUMBERS": _NUMBERS,
        "OPERANDS": _OPERANDS,
        "ATTRIBUTES": _ATTRIBUTES,
        "LISTED": _LISTED,
        "CPU": CPU,
        "Storage": Storage,
        "Tensor": Tensor,
        "View": View,
        "materialise": materialise,
        "forward": op.forward,
        "np": np,
        "ndarray": np.ndarray,
        "generic": np.generic,
        "FROM_NUMPY": FROM_NUMPY,
        "new": _new,
        "node_class": op.node_class,
        "new_accumulator": new_accumulator,
        "sequence": sequence,
        "strides_of": strides_of,
        "SMALL": SMALL,
        "observe": observe,
        "failing": failing,
        "fresh": _fresh,
        "op": op,
        "slow": reporting(apply, op),
    }
    return generated.function("call", "\n".join(lines), environment, f"general lane of {op.name}")


# In the generated code argument number i is `ai`, its raw value `xi`; `ki` says whether an argument that may also be a number or None is a
# tensor; rule number j sends its gradient to the node `ej`. `saving.py` writes what is saved.
def _arguments(op):
    return ", ".join(f"a{i}" for i in range(len(op.params)))


def _checks(op):
    """Lines that hand over to `apply` whatever is unusual, and read the raw values."""
    slow = f"return slow({_arguments(op)})"
    lines = [" state = per_thread.state", f" if state.special: {slow}"]
    promoted = op.dtype is not None and bool(op.broadcast)
    if promoted:
        lines.append(" dtype, numbers = None, False")
    for i in range(len(op.params)):
        if i not in op.tensors:
            lines += [f" if a{i}.__class__ not in ATTRIBUTES and isinstance(a{i}, LISTED): {slow}", f" x{i} = a{i}"]
            continue
        lines += [
            f" if a{i}.__class__ in TENSORS:",
            f"  v = a{i}._view",
            "  if v is not None:",
            f"   m = a{i}._memory or a{i}._storage",
            f"   if m.device is not CPU or m.__class__ is not Storage: {slow}",
        ]
        if op.rules:
            lines.append(
                f"   if state.grad and (v.version != m.version or v.base is not None and v.base._req is not a{i}._req): v.refresh(a{i})"
            )
        lines.append(f"  x{i} = a{i}._array")
        if promoted and i in op.broadcast:
            lines += [f"  if dtype is None: dtype = a{i}.dtype", f"  elif a{i}.dtype is not dtype: {slow}"]
        if i == 0:
            lines.append(f" else: {slow}")
            continue
        operand = promoted and i in op.broadcast
        lines += [
            f"  k{i} = True",
            f" elif a{i}.__class__ in {'OPERANDS' if operand else 'NUMBERS'}:",
            f"  x{i} = a{i}",
            f"  k{i} = False",
        ]
        if operand:
            lines.append(f"  if a{i} is not None: numbers = True")
        lines.append(f" else: {slow}")
    if promoted:
        kinds = "numbers" if op.dtype in ("promote", "bool") and op.check is None else "True"
        lines.append(f" if dtype is None or not dtype.is_floating_point and {kinds}: {slow}")
    if op.view:
        # read again where it has been made: another thread may just have exchanged it
        lines += [" s = a0._storage", " x0 = a0._array if s.array is not None and x0.__class__ is ndarray else materialise(a0)"]
    return lines


def _kernel(op):
    run = f"d = state.run(forward, np, {', '.join(f'x{i}' for i in range(len(op.params)))})"
    if not op.broadcast:
        return [f" {run}"]
    return [" try:", f"  {run}", " except (ValueError, NotImplementedError):", f"  return slow({_arguments(op)})"]


def _wrapping(op):
    """Lines that make Tensors of what the kernel returned."""
    if len(op.outputs) > 1:
        return [" outs = tuple([fresh(r) for r in d])", " t = outs[0]", " d = t._array", " kind = t.dtype"]
    lines = [
        " if d.__class__ is not ndarray and not isinstance(d, generic):",
        f"  if d.__class__ is tuple or d.__class__ is list: return slow({_arguments(op)})",
        "  d = np.asarray(d)",
        " kind = a0.dtype",
        " if d.dtype is not kind.np: kind = FROM_NUMPY[d.dtype]",
        " t = new(Tensor)",
        " t._array = d",
        " t.dtype = kind",
        " t._node = t._grad = t._acc = t._hooks = None",
        " t._nr = 0",
        " t._req = False",
    ]
    if op.view:
        return [
            *lines,
            " t._memory = s",
            " v = a0._view",
            " t._view = View(a0, s.version, 'default' if state.grad else 'no_grad') if v is None else View.of(a0, state, False, op)",
        ]
    own = [" t._memory = s = new(Storage)", " s.version = 0", " s.device = CPU", " s.array = None"]
    return [*lines, " t._view = None", *(own if "output" in op.save_kinds else [" t._memory = None"])]


def _fresh(r):
    """One of several results as a Tensor of its own."""
    t = _new(Tensor)
    if r.__class__ is not np.ndarray and not isinstance(r, np.generic):
        r = np.asarray(r)
    t._array, t.dtype, t._nr, t._req = r, FROM_NUMPY[r.dtype], 0, False
    t._node = t._view = t._grad = t._acc = t._hooks = t._memory = None
    return t


def _recording(op):
    """Lines that make the node, when a gradient is wanted: what `dispatch.record` does."""
    places = [i for i, _, _ in op.rules]
    lines = [" n = None"]
    if not places:
        return lines
    live = " or ".join(f"a{i}._req" if i == 0 else f"k{i} and a{i}._req" for i in places)
    lines += [f" if state.grad and ({live}):"]
    for j, i in enumerate(places):
        there = f"a{i}._req" if i == 0 else f"k{i} and a{i}._req"
        lines += [
            f"  e{j} = a{i}._node or a{i}._acc and a{i}._acc() or new_accumulator(a{i})" + (f" if {there} else None" if len(places) > 1 else "")
        ]
    numbers = [f"a{i}._nr" if i == 0 else f"(a{i}._nr if k{i} else 0)" for i in places]
    lines += [
        "  n = node_class()",
        f"  n.inputs = ({', '.join(f'e{j}' for j in range(len(places)))},)",
        f"  n.input_nrs = ({', '.join(numbers)},) if {' or '.join(numbers)} else None",
        "  n.sequence_nr = next(sequence)",
        "  n.hooks = None",
        "  n.scope = state.scope",
        *(f"  {line}" for line in saving(op, _Lane(op), "n.saved")),
        f"  n.fix = {_fix(op, places)}",
        "  n.value = d if d.__class__ is not ndarray or d.size <= SMALL else (d.shape, d.dtype)",
        f"  n.operands = {_operands(places)}",
    ]
    if len(op.outputs) > 1:
        lines.append("  n._extra = {'shapes': tuple([(o._array.shape, o.dtype) for o in outs])}")
    for k, name in enumerate(op.outputs or ("result",)):
        if name in (op.nondiff or ()):
            continue
        o = f"outs[{k}]" if len(op.outputs) > 1 else "t"
        lines += [f"  o = {o}", "  if o.dtype.is_inexact:", "   o._node = n", f"   o._nr = {k}", "   o._req = True"]
    return lines


class _Lane(Words):
    """How this lane calls what a node saves."""

    def __init__(self, op):
        self.op = op

    def wants(self, rule):
        return f"e{rule} is not None"

    def argument(self, i):
        return f"a{i}"

    def array(self, i):
        return f"x{i}"

    def is_tensor(self, i):
        return f"k{i}" if i else "True"

    def output(self, i):
        o = f"outs[{i}]" if len(self.op.outputs) > 1 else "t"
        return f"{o}._array, {o}._storage, {o}._memory.version"


def _fix(op, places):
    """What a gradient has to become again, (shape or None, dtype) per rule; None when no operand was broadcast or of another dtype."""
    differs, metas = [], []
    for i in places:
        test = f"a{i}.dtype is not kind" + (f" or x{i}.shape != d.shape" if op.broadcast else "")
        meta = f"({f'x{i}.shape' if op.broadcast else None}, a{i}.dtype)"
        differs.append(test if i == 0 else f"k{i} and ({test})")
        metas.append(meta if i == 0 else f"({meta} if k{i} else None)")
    return f"({', '.join(metas)},) if {' or '.join(differs)} else None"


def _operands(places):
    """What the explorer shows of operands that are in no graph."""
    if len(places) == 1:
        return "None"
    found = [f"None if e{j} is not None or x{i}.__class__ is ndarray and x{i}.size > SMALL else x{i}" for j, i in enumerate(places)]
    return f"({', '.join(found)},) if {' or '.join(f'e{j} is None' for j in range(len(places)))} else None"
