"""The `Op` record: an operation is stated once, everything else is derived from the record.

Derived here: the public function, the Tensor method, the in-place variant, the Node class and its backward. Derived elsewhere from
`OPS`: formula cards (trace), gradcheck and comparison tests (tests/engine).
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any

from ..fast import generated, lanes
from . import apply as dispatch
from ..fast.steps import make_node_class
from .plain import PLAIN

OPS: dict[str, Op] = {}
"""Every registered op by name."""

NAMESPACES: dict[str, dict[str, Callable]] = {"": {}, "nn.functional": {}, "linalg": {}, "special": {}, "Tensor": {}}
"""Public functions by the namespace they appear in; '' is the top level."""

METHODS: dict[str, Any] = {}
"""Tensor methods by name; `tensor.py` and the ops files fill it, `attach_methods` puts them on the class."""


@dataclass(eq=False, slots=True)
class Op:
    """One operation. See ARCHITECTURE.md §4 for how its fields are written."""

    name: str
    params: tuple[str, ...]  # argument names in schema order
    defaults: dict[str, Any]
    keyword_only: frozenset[str]
    typed: tuple[str, ...]  # what the schema says is a tensor; so is `self`, an operand, and what has a rule
    lists: tuple[str, ...]  # what it says is a list of tensors: 'tensors' of cat, 'indices' of index
    forward: Callable  # forward(xp, *args) on raw arrays
    vjp: dict[str, Callable]
    operands: tuple[str, ...]  # the arguments that are promoted together and broadcast
    dtype: str | None = None
    view: bool = False
    outputs: tuple[str, ...] = ()
    nondiff: tuple[str, ...] = ()
    partial: bool = False  # of several outputs: the rules take None for a gradient that did not come, where others get zeros
    node: str = ""
    also_saves: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()  # saved for our rules, but not by torch: no `_saved_` attribute; an output that was changed since comes as None
    constants: dict[str, Any] = field(
        default_factory=dict
    )  # `_saved_` attributes of torch that are the same for every node: alpha=1
    inplace: bool = False
    inplace_fields: dict[str, Any] = field(default_factory=dict)  # what the in-place form has otherwise: the name of its node, a rule
    variadic: bool = False  # the number of outputs depends on the arguments (split, unbind)
    latex: str = ""
    vjp_latex: dict[str, str] = field(default_factory=dict)
    samples: Callable | None = None
    fused: Callable | None = (
        None  # on raw arrays, all gradients at once: fused(m, g, wanted, name=saved, …)
    )
    fast: Callable | None = None  # the kernel without xp and attributes, for the fast lanes: operator.mul
    check: Callable | None = None  # check(dtypes of the operands, promoted dtype) raises where torch refuses them
    doc: str = ""
    # derived
    saves: tuple[str, ...] = ()  # what a node of this op may save, in order; None in an entry that was not needed
    save_kinds: tuple[str, ...] = ()  # 'input', 'output', 'attr', 'derived'
    save_index: tuple[int, ...] = ()  # the argument or output number each entry comes from
    rules: tuple = ()  # (argument position, rule, names) per differentiable argument
    needed_by: tuple = ()  # per save: the set of rule numbers that read it; None = always saved
    broadcast: tuple[int, ...] = ()  # positions of operands
    tensors: frozenset[int] = frozenset()  # positions of what is a tensor, or may be one
    node_class: Any = None                # filled in by `register`, as are `call` and `general`
    saves_tensors: bool = False
    return_type: Callable | None = None
    call: Any = None  # takes all arguments in schema order; the fast lane where there is one
    general: Any = None  # the same for operands that the fast lane leaves alone
    changing: Any = None  # the record of the in-place form: this one, or a variant
    save: Any = None  # see saving.py; compiled on first use
    spread: bool = False  # whether the one differentiable argument is a list, so that the rule returns a gradient per element

    def __repr__(self):
        return f"<Op {self.name}({', '.join(self.params)})>"


_DERIVED = re.compile(r"(.+?)_sym_(sizes_opt|sizes|numel|strides|argsize_[012]|argsize_minus_[12])$")

_TYPED = re.compile(r"\bTensor(\[\])? (\w+)")

def register(
    schema: str,
    *,
    forward,
    vjp=None,
    operands=None,
    method=True,
    function=True,
    namespace="",
    inplace=False,
    public=None,
    **fields,
) -> Op:
    """Registers an op and returns its record.

    schema: `"sum(self, dim=None, keepdim=False, *, dtype=None)"`: torch's C++ argument names; `Tensor index`, `Tensor[] tensors` where neither a
    rule nor `operands` says that it is one. `public`: the public name where it differs
    from the op's (overloads such as `pow_scalar` are registered with `method=False, function=False` and dispatched by a composite).
    Raises ValueError when the record contradicts itself."""
    name, params, defaults, keyword_only, tensors, lists = _parse(schema)
    vjp = vjp or {}
    if name in OPS:
        raise ValueError(f"op {name!r} is registered twice")
    if operands is None:
        operands = tuple(p for p in params if p not in defaults) if fields.get("dtype") else ()
    op = Op(name, params, defaults, keyword_only, tensors, lists, forward, vjp, tuple(operands), inplace=inplace, **fields)
    unknown = set(vjp) - set(params)
    if unknown:
        raise ValueError(f"op {name!r}: rules for {sorted(unknown)}, which are not arguments")
    _plan_saving(op)
    op.node = op.node or "".join(w[:1].upper() + w[1:] for w in name.split("_")) + "Backward0"
    op.node_class = make_node_class(op)
    op.changing = variant(op, **op.inplace_fields) if op.inplace_fields else op
    op.general = _general(op)
    op.call = _entry(op)
    OPS[name] = op
    public = public or name
    if function:
        NAMESPACES[namespace][public] = _public(op, public, first="input")
    if method:
        METHODS[public] = _public(op, public, first="self")
    if inplace:
        METHODS[public + "_"] = _public(op, public + "_", first="self", inplace=True)
        if function:
            NAMESPACES[namespace][public + "_"] = _public(op, public + "_", first="input", inplace=True)
    return op


def internal(schema, **record):
    """Registers an op without a public name: for `nn.functional` to call, or for a rule."""
    return register(schema, method=False, function=False, **record)


def variant(op, **fields):
    """A record like `op` but for `fields`, with nodes of its own class: torch numbers the nodes of in-place forms on from those of the others."""
    made = replace(op, save=None, **fields)
    _plan_saving(made)
    made.node_class = make_node_class(made)
    made.changing = made
    return made


def composite(*, namespace="", method=False, function=True, name=None, inplace=None):
    """Marks a function made of other ops as public: `@composite(method=True)` gives `torch.f` and `Tensor.f`."""

    def mark(f):
        public = name or f.__name__
        f.__name__ = f.__qualname__ = public  # what Python's own errors about arguments call it
        if function:
            NAMESPACES[namespace][public] = f if namespace else _of_a_tensor(f)
        if method:
            METHODS[public] = f
        return f

    return mark


def _of_a_tensor(f):
    """`f`, and torch's TypeError for a call of which the first argument, `input`, is no tensor: torch looks at it first."""
    if inspect.unwrap(f).__code__.co_varnames[:1] != ("input",):
        return f

    @functools.wraps(f)
    def call(*args, **kwargs):
        try:
            return f(*args, **kwargs)
        except Exception as error:
            from ..ops.overloading import refused

            told = refused(f.__name__, error, args)
            if told is None:
                raise
            raise told from None

    call.__code__ = call.__code__.replace(co_name=f.__name__)  # what recordings and tracebacks call it
    call.composed, call.body = getattr(f, "composed", f), f
    return call


def _parse(schema):
    match = re.fullmatch(r"(\w+)\((.*)\)", schema.strip(), re.S)
    if not match:
        raise ValueError(f"schema {schema!r} is not of the form name(arguments)")
    typed = [(bool(brackets), p) for brackets, p in _TYPED.findall(match[2])]
    bare = _TYPED.sub(lambda typed: typed[2], match[2])
    a = ast.parse(f"def f({bare}): pass").body[0].args
    positional = [p.arg for p in a.args]
    params = (*positional, *(p.arg for p in a.kwonlyargs))
    defaults = dict(zip(positional[len(positional) - len(a.defaults) :], map(ast.literal_eval, a.defaults)))
    defaults |= {p.arg: ast.literal_eval(d) for p, d in zip(a.kwonlyargs, a.kw_defaults) if d is not None}
    lists = tuple(p for is_list, p in typed if is_list)
    return match[1], params, defaults, frozenset(p.arg for p in a.kwonlyargs), tuple(p for _, p in typed), lists


def _plan_saving(op):
    """Derives from the rules' signatures what a node saves, and for which gradients; and which arguments are tensors."""
    op.broadcast = tuple(op.params.index(p) for p in op.operands)
    tensors = {"self", *op.typed, *op.vjp, *op.operands}
    op.tensors = frozenset(i for i, p in enumerate(op.params) if p in tensors)
    outputs = op.outputs or ("result",)
    rules, readers = [], {}
    for number, (arg, rule) in enumerate(op.vjp.items()):
        names = rule.__code__.co_varnames[2 : rule.__code__.co_argcount]
        rules.append((op.params.index(arg), rule, names))
        for n in names:
            readers.setdefault(n, set()).add(number)
    for n in op.also_saves:
        readers[n] = None
    kinds, index = [], []
    for n in readers:
        derived = _DERIVED.match(n)
        if n in outputs or re.fullmatch(r"result\d", n):
            kinds.append("output")
            index.append(outputs.index(n) if n in outputs else int(n[-1]))
        elif n in op.params:
            kinds.append("input" if n in tensors else "attr")
            index.append(op.params.index(n))
        elif derived and derived[1] in op.params:
            kinds.append("derived:" + derived[2])
            index.append(op.params.index(derived[1]))
        else:
            raise ValueError(f"op {op.name!r}: a rule reads {n!r}, which is no argument, output or derived name")
    op.saves, op.save_kinds, op.save_index = tuple(readers), tuple(kinds), tuple(index)
    op.rules = tuple(rules)
    op.spread = bool(rules) and op.params[rules[0][0]] in op.lists
    op.needed_by = tuple(None if r is None or kind == "attr" else frozenset(r) for r, kind in zip(readers.values(), kinds))  # as in torch
    op.saves_tensors = any(k in ("input", "output") for k in kinds)


def _entry(op):
    """The callable that takes all arguments in schema order: `dispatch.apply`, by the fast lane when the op has one."""
    if PLAIN:
        return op.general
    if op.fast is not None and len(op.operands) == 2:
        return lanes.compiled_on_first_use(lanes.make_binary, op)
    if op.fast is not None and len(op.params) == len(op.defaults) + 1:
        return lanes.compiled_on_first_use(lanes.make_unary, op)
    return op.general


def _general(op):
    """The lane for operands of all kinds: compiled where the record allows it."""
    if lanes.can_compile(op) and not PLAIN:
        return lanes.compiled_on_first_use(lanes.make_general, op)
    return dispatch.reporting(dispatch.apply, op)


def _public(op, name, first, inplace=False):
    """The Python function with the op's own signature, so that calls bind natively and `help()` tells the arguments."""
    shown = tuple(first if p == "self" else p for p in op.params)
    code = _forwarding(len(shown) - len(op.keyword_only), len(op.keyword_only)).replace(
        co_varnames=shown, co_name=name, co_qualname=name
    )
    environment = {}

    def target(*args):  # the first call: from then on the function calls the op's lane without this detour
        compiled = getattr(op.call, "lane", None)
        environment["_call"] = dispatch.inplace_lane(op) if inplace else op.call if compiled is None else compiled()
        return environment["_call"](*args)

    environment["_call"] = target
    positional = [p for p in op.params if p not in op.keyword_only]
    f = FunctionType(code, environment, name, tuple(op.defaults[p] for p in positional if p in op.defaults))
    f.__kwdefaults__ = {p: op.defaults[p] for p in op.keyword_only if p in op.defaults}
    f.__doc__ = op.doc  # documentation.py adds what the record says of formulas and gradients
    f.__module__ = __name__
    f.op = op
    return f


@functools.cache
def _forwarding(positional, keyword):
    """Code of a function that hands its arguments on to `_call`; compiled once per number of arguments, names are put in afterwards."""
    names = [f"a{i}" for i in range(positional + keyword)]
    signature = names[:positional] + (["*"] if keyword else []) + names[positional:]
    source = f"def f({', '.join(signature)}):\n return _call({', '.join(names)})"
    return generated.function("f", source, {}, f"call of an operation of {positional + keyword} arguments").__code__


def attach_methods(cls) -> None:
    """Puts every registered method on the Tensor class."""
    for name, f in METHODS.items():
        if name not in cls.__dict__:
            setattr(cls, name, f)
