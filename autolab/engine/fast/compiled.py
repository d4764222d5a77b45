"""Compiled paths: for each op, a function compiled from its record that does what `core.apply.apply` does.

`apply` reads the record at every call: which arguments are tensors, whether they are promoted, what a node saves. The
compiled code contains the answers. An op has up to two paths. Both do what `apply` does, in its order (unwrap, compute,
wrap, record), and share the same templates: `_TENSOR` fills a tensor, `_NODE` a node.

- The *general path* (`make_general`) runs operands in host memory that need no conversion, views too. It takes 2 µs
  besides the kernel, where `apply` takes 4-6. It calls `apply` for unusual cases: other devices, inference mode, hooks
  on saved tensors, operands of two dtypes, shapes that do not match.
- The *fast path* (`make_binary`, `make_unary`) of an op with a `fast` kernel runs plain floats of one dtype in 1 µs. It
  calls the general path for everything else, views too.
"""

from __future__ import annotations

import functools
import re

import numpy as np

from .. import generated
from ..core import observe
from ..core.apply import apply, reporting
from ..core.device import CPU
from ..core.dtype import FROM_NUMPY, NUMBERS, bool_
from ..core.grad_mode import per_thread
from ..core.node import sequence
from ..core.tensor import SMALL, TENSOR_CLASSES, Storage, Tensor, View, materialise
from ..exact import failing
from ..methods.facts import strides_of
from . import saved
from .threads import accumulator

# In the generated code, argument number i is `ai` and its raw value `xi`. If it may also be a number or None, `ki` says
# whether it is a tensor. The result is the array `d` and the Tensor `t` with the storage `s`. The node is `n`, and its
# input number j has the edge `ej`.

# -- templates for both paths ------------------------------------------------------------------------------------------
# Assign one slot per statement: CPython 3.11 runs `t._view = None` as two instructions, but an assignment to several
# slots as three instructions for each.
_TENSOR = """
t = new(Tensor)
t._array = d
t._dtype = <dtype>
t._node = None
t._view = <view>
t._grad = None
t._acc = None
t._hooks = None
t._nr = 0
t._req = False
<memory>
"""
"""The statements of `core.apply._output`."""

_OWN_MEMORY = """
t._memory = s = new(Storage)
s.version = 0
s.device = CPU
s.array = None
"""

_NODE = """
n = None
if state.grad and (<wanted>):
    <edges>
    n = node_class()
    n.inputs = <inputs>
    n.input_nrs = <numbers>
    n.sequence_nr = next(sequence)
    n.hooks = None
    n.scope = state.scope
    <saved>
    n.fix = <fix>
    n.value = d if type(d) is not ndarray or d.size <= SMALL else (d.shape, d.dtype)
    n.operands = <operands>
    <outputs>
"""
"""The statements of `core.apply.record`."""


def _filled(template, **blocks):
    """Return `template` with every `<name>` replaced by its block. A `<name>` alone on its line may become several
    lines, or none."""
    lines = []
    for line in template.strip("\n").splitlines():
        alone = re.fullmatch(r"( *)<(\w+)>", line)
        if alone:
            lines += [alone[1] + inner for inner in blocks[alone[2]].strip("\n").splitlines()]
        else:
            lines.append(re.sub(r"<(\w+)>", lambda name: blocks[name[1]], line))
    return "\n".join(lines)


class _Call:
    """The call of an op in a compiled path. is_tensor: for each argument "True", "False" or the name of the variable
    that says so."""

    def __init__(self, op, is_tensor):
        self.op, self.is_tensor = op, is_tensor
        self.sources = [(j, i) for j, (i, _, _) in enumerate(op.rules) if is_tensor[i] != "False"]

    def wants(self, rule):
        """Return an expression for whether a rule's gradient is needed: "True", "False", or code to evaluate."""
        if all(j != rule for j, _ in self.sources):
            return "False"
        return "True" if len(self.sources) == 1 else f"e{rule} is not None"

    def if_tensor(self, i, expression):
        """Return `expression` about argument i, evaluated only if the argument is a tensor."""
        is_tensor = self.is_tensor[i]
        return expression if is_tensor == "True" else f"{is_tensor} and {expression}"

    def tensor(self, dtype, view="None"):
        """Return the statements that make the Tensor `t` of the array `d`."""
        own = "output" in self.op.save_kinds and len(self.op.outputs) < 2
        memory = "t._memory = s" if self.op.view else _OWN_MEMORY if own else "t._memory = None"
        return _filled(_TENSOR, dtype=dtype, view=view, memory=memory)

    def node(self, fix, outputs):
        """Return the statements that make the node `n` if a gradient is needed. fix: an expression. outputs: the
        statements that attach the node to the results."""
        if not self.sources:
            return "n = None"
        places = [i for i, _, _ in self.op.rules]
        numbers = [self.number(i) for i in places]
        edges = ["None" if self.wants(j) == "False" else f"e{j}" for j in range(len(places))]
        return _filled(
            _NODE,
            wanted=" or ".join(self.if_tensor(i, f"a{i}._req") for _, i in self.sources),
            edges="\n".join(self.edge(j, i) for j, i in self.sources),
            inputs=_listed(edges),
            numbers=f"{_listed(numbers)} if {' or '.join(n for n in numbers if n != '0')} else None",
            saved="\n".join(self.saving()),
            fix=fix,
            operands=self.operands(places),
            outputs=outputs,
        )

    def edge(self, j, i):
        """Return the code of `core.node.edge` for a tensor that is not a view, or is an up-to-date view."""
        edge = f"e{j} = a{i}._node or a{i}._acc and a{i}._acc() or accumulator(a{i})"
        if self.wants(j) == "True":
            return edge
        return f"{edge} if {self.if_tensor(i, f'a{i}._req')} else None"

    def number(self, i):
        """Return an expression for the output number of argument i at its node."""
        is_tensor = self.is_tensor[i]
        if is_tensor == "False":
            return "0"
        return f"a{i}._nr" if is_tensor == "True" else f"(a{i}._nr if {is_tensor} else 0)"

    def operands(self, places):
        """Return an expression for the operands outside the graph, in the form that the explorer shows."""
        if len(places) == 1:
            return "None"
        shown = {"True": "None", "False": "x{i}"}
        outside = "None if e{j} is not None else (x{i}.shape, x{i}.dtype) if type(x{i}) is ndarray and x{i}.size > SMALL else x{i}"
        operands = _listed(
            shown.get(self.wants(j), outside).format(i=i, j=j) for j, i in enumerate(places)
        )
        if len(self.sources) < len(places):
            return operands
        return f"{operands} if {' or '.join(f'e{j} is None' for j, _ in self.sources)} else None"

    def saving(self):
        """Return the statements of `core.saving.save`; `saved.py` defines the order of the saved values."""
        op, lines = self.op, []
        for k, (kind, index, readers) in enumerate(zip(op.save_kinds, op.save_index, op.needed_by)):
            names, value = self.saved_entry(k, kind, index)
            nothing = f"{names.replace(', ', ' = ')} = None"
            wanted = {self.wants(r) for r in readers or ()} - {"False"}
            if readers is None or len(op.rules) == 1 or "True" in wanted:
                lines.append(f"{names} = {value}")
            elif wanted:
                lines += [
                    f"if {' or '.join(sorted(wanted))}: {names} = {value}",
                    f"else: {nothing}",
                ]
            else:
                lines.append(nothing)
        return [*lines, f"n.saved = {_listed(saved.places(op)) if op.saves else '()'}"]

    def saved_entry(self, k, kind, index):
        """Return the variables for saved entry k, and an expression for their values."""
        a, is_tensor = f"a{index}", self.is_tensor[index] if kind == "input" else ""
        if kind == "output":
            version = "s.version" if self.op.view else "0"
            several = len(self.op.outputs) > 1
            whole = (
                f"outs[{index}]._array, outs[{index}]._storage, 0"
                if several
                else f"d, s, {version}"
            )
            return f"s{k}, t{k}, v{k}", whole
        if kind == "input":
            version = f"0 if {a}._memory is None else {a}._memory.version"
            of_any = f"({version}) if {is_tensor} else None"
            return (
                f"s{k}, v{k}",
                f"{a}, { ({'True': version, 'False': 'None'}.get(is_tensor, of_any)) }",
            )
        fact = "{a}" if kind == "attr" else _FACTS[kind.partition(":")[2]]
        return f"s{k}", fact.format(a=a, x=f"x{index}")


_FACTS = {
    "sizes": "{x}.shape",
    "sizes_opt": "(0,) if {a} is None else {x}.shape",
    "numel": "int({x}.size)",
    "strides": "strides_of({a})",
    "argsize_0": "{x}.shape[0]",
    "argsize_minus_1": "{x}.shape[-1]",
    "argsize_minus_2": "{x}.shape[-2]",
}
"""`core.saving.FACTS` as expressions: the saved properties of an argument `a` with the array `x`."""


def _listed(expressions):
    return f"({', '.join(expressions)},)"


_ENVIRONMENT = {
    "per_thread": per_thread,
    "Tensor": Tensor,
    "TENSOR_CLASSES": TENSOR_CLASSES,
    "OPERANDS": {type(None), int, float},  # without bool, which some ops refuse
    "NUMBERS": {type(None), int, float, bool},
    "ATTRIBUTES": {type(None), int, float, bool, str, tuple},
    "LISTED": (Tensor, list, np.generic),  # `apply` converts these first
    "Storage": Storage,
    "View": View,
    "CPU": CPU,
    "SMALL": SMALL,
    "FROM_NUMPY": FROM_NUMPY,
    "bool_": bool_,
    "np": np,
    "ndarray": np.ndarray,
    "generic": np.generic,
    "new": object.__new__,
    "accumulator": accumulator,
    "sequence": sequence,
    "strides_of": strides_of,
    "materialise": materialise,
    "observe": observe,
    "failing": failing,
}


def _compile_path(op, name, source, slow):
    """Compile `source` and return its function `call`, which calls `slow` for the cases that it does not handle."""
    own = {
        "op": op,
        "node_class": op.node_class,
        "fast": op.fast,
        "forward": op.forward,
        "slow": slow,
    }
    own["broadcasting"] = _broadcasting
    return generated.function("call", source, _ENVIRONMENT | own, f"fast/<{name} of {op.name}>")


# -- the fast path -----------------------------------------------------------------------------------------------------
_BINARY = """
def call(a0, a1):
    state = per_thread.state
    kind = type(a0)
    if kind is not Tensor and kind not in TENSOR_CLASSES:
        return slow(a0, a1)
    kind = type(a1)
    if kind is Tensor or kind in TENSOR_CLASSES:
        <with_tensor>
    elif kind is float or kind is int:
        <with_number>
    else:
        return slow(a0, a1)
    if observe.observer is not None:
        observe.observer.forward(op, (a0, a1), None, (t,), n)
    return t
"""

_WITH_TENSOR = """
dtype = a0._dtype
if a1._dtype is not dtype or not dtype.is_floating_point or a0._view is not None or a1._view is not None or state.saved_hooks:
    return slow(a0, a1)
x0 = a0._array
x1 = a1._array
fix = None
try:
    if type(x0) is ndarray or type(x1) is ndarray:
        p = x0.shape
        q = x1.shape
        if p == q:
            d = state.run(fast, x0, x1)
        else:
            x0_alone, x1_alone, fix = broadcasting(p, q, dtype)
            d = state.run(fast, x0.squeeze() if x0_alone else x0, x1.squeeze() if x1_alone else x1)
    else:
        d = state.run(fast, x0, x1)
except (ValueError, MemoryError):
    return slow(a0, a1)
<result>
"""

_WITH_NUMBER = """
if not a0._dtype.is_floating_point or a0._view is not None or state.saved_hooks:
    return slow(a0, a1)
x0 = a0._array
x1 = a1
d = state.run(fast, x0, x1)
<result>
"""

_UNARY = """
def call(<parameters>):
    state = per_thread.state
    kind = type(a0)
    if kind is not Tensor and kind not in TENSOR_CLASSES or a0._view is not None or state.saved_hooks or not a0._dtype.is_floating_point<unusual>:
        return slow(<arguments>)
    x0 = a0._array
    d = state.run(fast, x0)
    <result>
    if observe.observer is not None:
        observe.observer.forward(op, (<arguments>,), None, (t,), n)
    return t
"""


def make_binary(op):
    """Return the fast path of an op of two operands; it does the same as `core.apply.apply`."""
    return _compile_path(op, "fast path", _binary(op, True), lambda a, b: general(op)(a, b))


def make_operator(op, of_tensors=None):
    """Return the fast path as a Python operator, which returns NotImplemented unless the operands are tensors or
    numbers.

    of_tensors: the function to call instead if the second operand is a tensor (`x ** y` is another op than `x **
    2`)."""

    def slow(a, b):
        if of_tensors is not None and isinstance(b, Tensor):
            return of_tensors(a, b)
        if not isinstance(b, _OPERANDS):
            return NotImplemented
        run = general(op) if per_thread.state.autocast is None else op.call
        return run(a, b)

    return _compile_path(op, "fast path", _binary(op, of_tensors is None), slow)


_OPERANDS = (Tensor, *NUMBERS)


def make_unary(op):
    """Return the fast path of an op of one operand, used when its other arguments have their defaults; it does the same
    as `core.apply.apply`."""
    others = [(f"a{i}", op.defaults[p]) for i, p in enumerate(op.params) if i]
    source = _filled(
        _UNARY,
        parameters=", ".join(["a0", *(f"{a}={default!r}" for a, default in others)]),
        arguments=_arguments(op),
        unusual="".join(f" or {a} is not {default!r}" for a, default in others),
        result=_result(op, ["True"] + ["False"] * len(others), "None"),
    )
    return _compile_path(op, "fast path", source, lambda *args: general(op)(*args))


def _binary(op, takes_tensors):
    of_tensors = _filled(_WITH_TENSOR, result=_result(op, ["True", "True"], "fix"))
    of_number = _filled(_WITH_NUMBER, result=_result(op, ["True", "False"], "None"))
    return _filled(
        _BINARY,
        with_tensor=of_tensors if takes_tensors else "return slow(a0, a1)",
        with_number=of_number,
    )


def _result(op, is_tensor, fix):
    """Return the statements that follow the kernel in the fast path."""
    call = _Call(op, is_tensor)
    tensor = call.tensor("bool_" if op.dtype == "bool" else "a0._dtype")
    return tensor + "\n" + call.node(fix, "t._node = n\nt._req = True")


@functools.lru_cache(maxsize=1024)
def _broadcasting(p, q, dtype):
    """Return how to broadcast operands of shapes `p` and `q`: whether x0 and x1 are made 0-d, and the node's `fix`.
    Raise ValueError if they do not broadcast.

    An array of one element is made 0-d before NumPy broadcasts it, which takes 0.3 µs instead of 0.6."""
    r = np.broadcast_shapes(p, q)
    p_alone = len(p) > 0 and p.count(1) == len(p) <= len(q)
    q_alone = len(q) > 0 and q.count(1) == len(q) <= len(p)
    return p_alone, q_alone, (None if p == r else (p, dtype), None if q == r else (q, dtype))


# -- the general path -----------------------------------------------------------------------------------------------
# Entering a `try` costs nothing in CPython.
_GENERAL = """
def call(<arguments>):
    try:
        state = per_thread.state
        if state.saved_hooks:
            return slow(<arguments>)
        <arrays>
        <kernel>
        <result>
        <node>
        if observe.observer is not None:
            observe.observer.forward(op, (<arguments>,), None, <outs>, n)
        return <returned>
    except Exception as error:
        error = failing.failed(op, (<arguments>,), error)
        if error.__traceback__ is None: raise error from None
        raise
"""

_ONE_RESULT = """
if type(d) is not ndarray and not isinstance(d, generic):
    if type(d) is tuple or type(d) is list: return slow(<arguments>)
    d = np.asarray(d)
kind = a0._dtype
if d.dtype is not kind.np: kind = FROM_NUMPY[d.dtype]
<tensor>
"""

_RESULTS = """
results, outs = d, []
for d in results:
    if type(d) is not ndarray and not isinstance(d, generic): d = np.asarray(d)
    <tensor>
    outs.append(t)
outs = tuple(outs)
d = outs[0]._array
kind = outs[0]._dtype
"""

_VIEW = "View(a0, s.version, 'default' if state.grad else 'no_grad') if a0._view is None else View.of(a0, state, False)"


@functools.cache
def general(op):
    """Return the general path of `op`, or `apply` if the op cannot be compiled."""
    return make_general(op) if can_compile(op) else reporting(apply, op)


def can_compile(op) -> bool:
    """Return whether the op has a fixed number of arguments and results, and no list of tensors among them."""
    return not (op.lists or op.variadic or op.spread) and 0 in op.tensors


def make_general(op):
    """Return the general path of `op`, which takes all arguments in schema order; it does the same as
    `core.apply.apply`."""
    arguments, several = _arguments(op), len(op.outputs) > 1
    call = _Call(op, ["True" if i == 0 else f"k{i}" for i in range(len(op.params))])
    tensor = call.tensor("FROM_NUMPY[d.dtype]" if several else "kind", _VIEW if op.view else "None")
    source = _filled(
        _GENERAL,
        arguments=arguments,
        arrays=_arrays(op),
        kernel=_kernel(op),
        result=_filled(_RESULTS if several else _ONE_RESULT, arguments=arguments, tensor=tensor),
        node=call.node(_fix(op, call), _outputs(op)),
        outs="outs" if several else "(t,)",
        returned="op.return_type(outs)"
        if op.return_type is not None
        else "outs"
        if several
        else "t",
    )
    return _compile_path(op, "general path", source, reporting(apply, op))


def _arguments(op):
    return ", ".join(f"a{i}" for i in range(len(op.params)))


def _arrays(op):
    """Return the lines that read the raw values, as `core.apply.unwrap` does, and pass unusual arguments to `apply`."""
    slow = f"return slow({_arguments(op)})"
    promoted = op.dtype is not None and bool(op.broadcast)
    lines = ["dtype, numbers = None, False"] if promoted else []
    for i in range(len(op.params)):
        if i in op.tensors:
            lines += _array(op, i, promoted and i in op.broadcast, slow)
        else:
            lines += [
                f"if type(a{i}) not in ATTRIBUTES and isinstance(a{i}, LISTED): {slow}",
                f"x{i} = a{i}",
            ]
    if promoted:
        convertible = "numbers" if op.dtype in ("promote", "bool") and op.check is None else "True"
        lines.append(f"if dtype is None or not dtype.is_floating_point and {convertible}: {slow}")
    if op.view:  # read it again, because another thread may have replaced it
        lines += [
            "s = a0._storage",
            "x0 = a0._array if s.array is not None and type(x0) is ndarray else materialise(a0)",
        ]
    return "\n".join(lines)


_ARRAY = """
if type(a) in TENSOR_CLASSES:
    v = a._view
    if v is not None:
        m = a._memory or a._storage
        if m.device is not CPU or type(m) is not Storage: <slow>
        <refreshed>
    x = a._array
    <promoted>
"""
_REFRESHED = "if state.grad and (v.version != m.version or v.base is not None and v.base._req is not a._req): v.refresh(a)"
_ONE_DTYPE = """
if dtype is None: dtype = a._dtype
elif a._dtype is not dtype: <slow>
"""


def _array(op, i, operand, slow):
    """Return the lines that read the raw value of argument i: a tensor, or (except for the first argument) also a
    number. operand: whether it is promoted."""
    refreshed, promoted = (
        _REFRESHED if op.rules else "",
        _filled(_ONE_DTYPE, slow=slow) if operand else "",
    )
    text = _filled(_ARRAY, refreshed=refreshed, promoted=promoted, slow=slow)
    lines = re.sub(r"\b([ax])\b", rf"\g<1>{i}", text).splitlines()
    if i == 0:
        return [*lines, f"else: {slow}"]
    lines += [
        f"    k{i} = True",
        f"elif type(a{i}) in {'OPERANDS' if operand else 'NUMBERS'}:",
        f"    x{i} = a{i}",
        f"    k{i} = False",
    ]
    return [
        *lines,
        *([f"    if a{i} is not None: numbers = True"] if operand else []),
        f"else: {slow}",
    ]


def _kernel(op):
    """Return the lines that run the kernel as `core.apply.compute` does."""
    run = f"d = state.run(forward, np, {', '.join(f'x{i}' for i in range(len(op.params)))})"
    if not op.broadcast:
        return run
    return f"try:\n    {run}\nexcept (ValueError, NotImplementedError):\n    return slow({_arguments(op)})"


def _outputs(op):
    """Return the lines that attach the node to the differentiable results."""
    if len(op.outputs) < 2:
        return "if kind.is_floating_point:\n    t._node = n\n    t._req = True"
    lines = ["n._extra = {'shapes': tuple([(o._array.shape, o.dtype) for o in outs])}"]
    for k, name in enumerate(op.outputs):
        if name not in op.nondiff:
            lines += [f"o = outs[{k}]", "if o.dtype.is_floating_point:"]
            lines += ["    o._node = n", f"    o._nr = {k}", "    o._req = True"]
    return "\n".join(lines)


def _fix(op, call):
    """Return an expression for `Node.fix`: the (shape or None, dtype) of each gradient; None if no operand was
    broadcast or converted."""
    differs, metas = [], []
    for i, _, _ in op.rules:
        test = f"a{i}._dtype is not kind" + (f" or x{i}.shape != d.shape" if op.broadcast else "")
        meta = f"({f'x{i}.shape' if op.broadcast else None}, a{i}._dtype)"
        differs.append(call.if_tensor(i, f"({test})"))
        metas.append(meta if i == 0 else f"({meta} if k{i} else None)")
    return f"{_listed(metas)} if {' or '.join(differs)} else None"
