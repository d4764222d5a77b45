"""What nodes are called, and the formulas of operations and of their local derivatives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import formulas
from .model import Edge
from .values import Value, short

if TYPE_CHECKING:
    from .build import Draft


def of(nodes: list[Draft]) -> dict[str, str]:
    """Node id -> label: the variable's name (a second `y` is `y(2)`), a constant's number, else v1, v2 ... in order."""
    taken = {d.name for d in nodes if d.name}
    counts: dict[str, int] = {}
    repeated: dict[str, int] = {}
    labels = {}
    for draft in nodes:
        if draft.name:
            repeated[draft.name] = repeated.get(draft.name, 0) + 1
            labels[draft.id] = draft.name if repeated[draft.name] == 1 else f"{draft.name}({repeated[draft.name]})"
        elif draft.kind == "data" and draft.shape == () and draft.value is not None:
            labels[draft.id] = short(draft.value.data)
        else:
            prefix = {"op": "v", "leaf": "leaf", "data": "c"}[draft.kind]
            while True:
                counts[prefix] = counts.get(prefix, 0) + 1
                if f"{prefix}{counts[prefix]}" not in taken:
                    break
            labels[draft.id] = f"{prefix}{counts[prefix]}"
    return labels


def operand_labels(draft: Draft, names: dict[str, str] | list[Any]) -> list[str]:
    """Labels of the operands in argument order, as they stand in `x * y`."""
    get = names.__getitem__ if isinstance(names, dict) else lambda i: names[int(i[1:])].label
    return [get(draft.operands[n]) for n in _order(draft)]


def _order(draft: Draft) -> list[str]:
    """Argument names of the operands in schema order; list elements and names unknown to the record keep their order."""
    params = draft.record.params if draft.record is not None else ()
    places = {p: i for i, p in enumerate(params)}
    return sorted(draft.operands, key=lambda n: places.get(n.partition("[")[0], len(places)))


def _environment(draft: Draft, names: dict[str, str]) -> dict[str, str]:
    """Template names -> LaTeX symbols."""
    env = {n: formulas.symbol(names[parent]) for n, parent in draft.operands.items()}
    env.update((n, _attribute(v)) for n, v in draft.attrs.items() if n not in env and v is not None)
    env["result"] = formulas.symbol(names[draft.id])
    outputs = draft.record.outputs if draft.record is not None else ()
    env.update((n, env["result"]) for n in outputs[:1])
    for base in {n.partition("[")[0] for n in draft.operands if "[" in n}:
        env[base] = ", ".join(env[n] for n in draft.operands if n.partition("[")[0] == base)
    return env


def _attribute(item: Any) -> str:
    if isinstance(item, (int, float)) and not isinstance(item, bool):
        return formulas.scientific(short(item))
    return ", ".join(map(_attribute, item)) if isinstance(item, list) else rf"\mathrm{{{item}}}"


def _with_numbers(env: dict[str, str], draft: Draft, nodes: list[Draft]) -> dict[str, str] | None:
    """`env` with numbers where values are known and few; None when no operand could be replaced."""
    filled = dict(env)
    replaced = False
    for name, parent in draft.operands.items():
        text = formulas.operand(nodes[int(parent[1:])].value)
        if text is not None:
            filled[name] = text
            replaced = True
    text = formulas.operand(draft.value)
    if text is not None:
        filled["result"] = text
        for name in (draft.record.outputs if draft.record is not None else ())[:1]:
            filled[name] = text
    for base in {n.partition("[")[0] for n in draft.operands if "[" in n}:
        filled[base] = ", ".join(filled[n] for n in draft.operands if n.partition("[")[0] == base)
    return filled if replaced else None


def formulas_of(draft: Draft, names: dict[str, str], nodes: list[Draft]) -> tuple[str, str]:
    """(tex, tex_numbers) of an operation: `z = x \\cdot y` and `6 = 2 \\cdot 3`."""
    if draft.kind != "op" and not draft.op:
        return "", ""
    template = draft.record.latex if draft.record is not None else ""
    env, order = _environment(draft, names), _order(draft)
    tex = f"{env['result']} = {formulas.forward(template, draft.op, env, order)}"
    filled = _with_numbers(env, draft, nodes)
    if filled is None:
        return tex, ""
    left = formulas.numbers(draft.value) or env["result"]
    return tex, f"{left} = {formulas.forward(template, draft.op, filled, order)}"


def edges(nodes: list[Draft], edges: list[Edge], names: dict[str, str], aliases: set[str],
          gradients: dict[str, tuple[Value | None, Value | None]]) -> tuple[Edge, ...]:
    """The edges with their formulas and alias marks. `gradients`: edge id -> (gradient of the child, contribution)."""
    done = []
    environments: dict[str, tuple[dict[str, str], dict[str, str] | None]] = {}
    for edge in edges:
        tex = tex_numbers = ""
        if edge.differentiable:
            child = nodes[int(edge.child[1:])]
            if edge.child not in environments:
                env = _environment(child, names)
                environments = {edge.child: (env, _with_numbers(env, child, nodes))}  # edges of one child follow each other
            tex, tex_numbers = _local(edge, child, nodes, names, *environments[edge.child], gradients.get(edge.id, (None, None)))
        done.append(replace(edge, tex=tex, tex_numbers=tex_numbers, alias=edge.id in aliases))
    return tuple(done)


def _local(edge: Edge, child: Draft, nodes: list[Draft], names: dict[str, str], env: dict[str, str], filled: dict[str, str] | None,
           gradients: tuple[Value | None, Value | None]) -> tuple[str, str]:
    argument = next((n for i, n in enumerate(child.operands) if i == edge.slot), "")
    rules = child.record.vjp_latex if child.record is not None else {}
    rule = rules.get(argument) or rules.get(argument.partition("[")[0], "")
    parent = nodes[int(edge.parent[1:])]
    y, x = formulas.symbol(names[edge.child]), formulas.symbol(names[edge.parent])
    partial = rf"\frac{{\partial {y}}}{{\partial {x}}}"
    scalar = child.shape == () == parent.shape
    one = formulas.derivative(rule, env) if rule and (scalar or _elementwise(child, parent)) else None
    if one is not None:
        numbers = formulas.derivative(rule, filled) if filled is not None else one if not _mentions(one, env) else None
        known = _quotient(*gradients) if scalar else None
        if numbers is None:
            return f"{partial} = {one}", f"{partial} = {known}" if known else ""
        return f"{partial} = {one}", f"{partial} = {numbers}" + (f" = {known}" if known and known != numbers else "")
    if rule:
        bar_y, bar_x = formulas.bar(y), formulas.bar(x)
        left = f"{bar_x} = "
        numbers = formulas.gradient_rule(rule, filled, formulas.operand(gradients[0]) or bar_y) if filled is not None else ""
        return left + formulas.gradient_rule(rule, env, bar_y), left + numbers if numbers else ""
    known = _quotient(*gradients) if scalar else None
    return partial, f"{partial} = {known}" if known else ""


def _elementwise(child: Draft, parent: Draft) -> bool:
    """One number of the result depends on one number of the parent: same shapes, and the op broadcasts its operands."""
    record = child.record
    return child.shape is not None and child.shape == parent.shape and record is not None and (bool(record.broadcast) or record.fast is not None)


def _mentions(tex: str, env: dict[str, str]) -> bool:
    return any(symbol in tex for symbol in env.values())


def _quotient(upstream: Value | None, contribution: Value | None) -> str | None:
    """The local derivative of a scalar in numbers: what was passed on per unit of what arrived."""
    if upstream is None or contribution is None or upstream.shape != () or contribution.shape != ():
        return None
    a, b = upstream.data, contribution.data
    if isinstance(a, str) or isinstance(b, str) or not a:
        return None
    return formulas.scientific(short(b / a))
