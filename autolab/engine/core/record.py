"""The `Op` record: an operation is declared once, and everything else is derived from its record.

This file defines the fields of a record, and derives facts from them without running anything: which arguments are
tensors, what a node of the operation saves, and which gradient rule reads which saved value.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

OPS: dict[str, Op] = {}
"""Every registered operation by name."""

Rule = tuple[int, Callable[..., Any], tuple[str, ...]]
"""The position of the argument, its gradient rule, and the names of the values that the rule reads."""


@dataclass(eq=False, slots=True)
class Op:
    """One operation. docs/dev/contracts.md says how its fields are written.

    >>> OPS["mul"]
    <Op mul(self, other)>
    >>> OPS["exp"].saves, OPS["exp"].save_kinds
    (('result',), ('output',))
    """

    # Fields from the schema.
    name: str
    params: tuple[str, ...]  # argument names in schema order
    defaults: dict[str, Any]
    keyword_only: frozenset[str]
    kinds: tuple[str, ...]  # 'Tensor', 'int[]', 'bool' …; an 'operand' is a tensor or a number
    lists: tuple[str, ...]  # arguments that are lists of tensors: 'tensors' of cat
    # Fields given by the record.
    forward: Callable[..., Any]  # forward(xp, *args) on raw arrays
    vjp: dict[str, Callable[..., Any]]  # one gradient rule per differentiable argument
    operands: tuple[str, ...]  # the arguments that are promoted and broadcast together
    dtype: str | None = None
    view: bool = False
    outputs: tuple[str, ...] = ()
    nondiff: tuple[str, ...] = ()
    partial: bool = False  # rules accept None for an output without a gradient
    node: str = ""
    also_saves: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()  # saved here but not in torch: no `_saved_` attribute
    # shown as `_saved_alpha`, but not saved
    constants: dict[str, Any] = field(default_factory=dict)
    inplace: bool = False
    inplace_fields: dict[str, Any] = field(
        default_factory=dict
    )  # fields of the in-place form that differ
    variadic: bool = False  # the number of outputs depends on the arguments (split, unbind)
    latex: str = ""
    vjp_latex: dict[str, str] = field(default_factory=dict)
    samples: Callable[..., Any] | None = None
    fused: Callable[..., Any] | None = (
        None  # all gradients at once: fused(m, g, wanted, name=saved)
    )
    fast: Callable[..., Any] | None = None  # the kernel without xp and attributes: operator.mul
    check: Callable[..., Any] | None = (
        None  # check(dtypes, promoted dtype) raises what torch raises
    )
    runs: Callable[..., Any] | None = None  # runs the operation instead of `apply`
    doc: str = ""
    # Fields derived by `plan_saving`.
    saves: tuple[str, ...] = ()  # what a node of this op may save, in order
    save_kinds: tuple[str, ...] = ()  # 'input', 'output', 'attr', 'derived:…'
    save_index: tuple[int, ...] = ()  # the number of each entry's argument or output
    needed_by: tuple[
        frozenset[int] | None, ...
    ] = ()  # numbers of the rules that read each entry; None: always
    rules: tuple[Rule, ...] = ()  # one per differentiable argument
    broadcast: tuple[int, ...] = ()  # positions of operands
    tensors: frozenset[int] = frozenset()  # positions of arguments that are or may be tensors
    saves_tensors: bool = False
    spread: bool = False  # the argument is a list: one gradient per element
    # Fields filled in by `op.py`.
    node_class: Any = None
    return_type: Callable[..., Any] | None = None
    call: Any = None  # runs the op; takes all arguments in schema order
    change: Any = None  # runs the op in place: writes into the first argument
    changing: Any = None  # the record of the in-place form: this one, or a variant

    def __repr__(self) -> str:
        return f"<Op {self.name}({', '.join(self.params)})>"

    def keeps_number(self, name: str) -> bool:
        """Return whether a number saved as `name` stays a number. As in PyTorch, the 2 of `x ** 2` does, and the 2 of
        `x * 2` becomes a tensor."""
        return (
            name in self.hidden
            or name != "other"
            and (name, "operand") in zip(self.params, self.kinds)
        )


_PARAMETER = re.compile(
    r"\s*(?:(\w+(?:\[\])?\??) )?(\*|\w+)(?:\s*=\s*((?:\([^)]*\)|[^,(])+))?\s*(?:,|$)"
)


def parsed(schema: str) -> dict[str, Any]:
    """Return the fields of an `Op` that its schema defines. Raise ValueError if the schema is not a name with
    arguments, or if an argument has no kind.

    >>> fields = parsed("gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False)")
    >>> fields["params"], fields["defaults"], fields["kinds"]
    (('self', 'dim', 'index', 'sparse_grad'), {'sparse_grad': False}, ('Tensor', 'int', 'Tensor', 'bool'))
    """
    match = re.fullmatch(r"(\w+)\((.*)\)", schema.strip(), re.DOTALL)
    if not match or _PARAMETER.sub("", match[2]):
        raise ValueError(f"schema {schema!r} is not of the form name(arguments)")
    parameters = _PARAMETER.findall(match[2])
    names = [name for _, name, _ in parameters]
    if missing := [name for kind, name, _ in parameters if not kind and name != "*"]:
        raise ValueError(
            f"schema {schema!r} does not say of what kind {missing} are: write `Tensor self`, `int dim`"
        )
    star = names.index("*") if "*" in names else len(names)
    return {
        "name": match[1],
        "params": tuple(name for name in names if name != "*"),
        "defaults": {
            name: _constant(default.strip()) for _, name, default in parameters if default
        },
        "keyword_only": frozenset(names[star + 1 :]),
        "kinds": tuple(kind for kind, _, _ in parameters if kind),
        "lists": tuple(name for kind, name, _ in parameters if kind == "Tensor[]"),
    }


_constant = functools.cache(ast.literal_eval)  # cached, because operations share few constants

_DERIVED = re.compile(r"(.+?)_sym_(sizes_opt|sizes|numel|strides|argsize_0|argsize_minus_[12])$")


def plan_saving(op: Op) -> None:
    """Derive from the rules' signatures what a node saves and which rules read it, and which arguments are tensors.

    >>> op = OPS["div"]
    >>> plan_saving(op), op.saves, op.needed_by, op.tensors
    (None, ('other', 'self'), (frozenset({0, 1}), frozenset({1})), frozenset({0, 1}))
    """
    op.broadcast = tuple(op.params.index(p) for p in op.operands)
    op.tensors = frozenset(
        i for i, kind in enumerate(op.kinds) if kind.startswith(("Tensor", "operand"))
    )
    readers: dict[str, set[int]] = {}
    rules: list[Rule] = []
    for number, (arg, rule) in enumerate(op.vjp.items()):
        names = rule.__code__.co_varnames[2 : rule.__code__.co_argcount]
        rules.append((op.params.index(arg), rule, names))
        for name in names:
            readers.setdefault(name, set()).add(number)
    op.rules = tuple(rules)
    op.spread = bool(rules) and op.params[rules[0][0]] in op.lists
    op.saves = tuple(dict.fromkeys([*readers, *op.also_saves]))
    sources = [_source(op, name) for name in op.saves]
    op.save_kinds = tuple(kind for kind, _ in sources)
    op.save_index = tuple(index for _, index in sources)
    op.needed_by = tuple(
        None if kind == "attr" or name in op.also_saves else frozenset(readers[name])
        for name, kind in zip(op.saves, op.save_kinds)
    )
    op.saves_tensors = not {"input", "output"}.isdisjoint(op.save_kinds)


def _source(op: Op, name: str) -> tuple[str, int]:
    """Return where a node finds the value `name` that a rule reads: the kind of the entry, and the number of the
    argument or output."""
    outputs = op.outputs or ("result",)
    if name in outputs:
        return "output", outputs.index(name)
    if re.fullmatch(r"result\d", name):
        return "output", int(name[-1])
    if name in op.params:
        return "input" if op.params.index(name) in op.tensors else "attr", op.params.index(name)
    derived = _DERIVED.match(name)
    if derived and derived[1] in op.params:
        return "derived:" + derived[2], op.params.index(derived[1])
    raise ValueError(
        f"op {op.name!r}: a rule reads {name!r}, which is no argument, output or derived name"
    )
