"""What nodes are called, and the formulas of operations and of their local derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import formulas
from .model import Edge
from .values import Value, short

if TYPE_CHECKING:
    from .drafts import Draft


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


def _order(draft: Draft) -> list[str]:
    """Argument names of the operands in schema order; list elements and names unknown to the record keep their
    order."""
    params = draft.record.params if draft.record is not None else ()
    places = {p: i for i, p in enumerate(params)}
    return sorted(draft.operands, key=lambda n: places.get(n.partition("[")[0], len(places)))


class Book:
    """Labels and formulas of all nodes and edges. Without `formulas`, labels only."""

    def __init__(self, nodes: list[Draft], formulas: bool = True) -> None:
        self.nodes, self.names, self.wanted = nodes, of(nodes), formulas
        self._environments: dict[str, tuple[dict[str, str], dict[str, str] | None]] = {}

    def label(self, node_id: str, nr: int = 0) -> str:
        """What result `nr` of a node is called: its variable, else "v3[1]"; result 0 has the node's label."""
        outputs = self.nodes[int(node_id[1:])].outputs
        if nr == 0 or nr >= len(outputs):
            return self.names[node_id]
        return outputs[nr].label or f"{self.names[node_id]}[{nr}]"

    def value(self, node_id: str, nr: int = 0) -> Value | None:
        draft = self.nodes[int(node_id[1:])]
        return draft.outputs[nr].value if 0 < nr < len(draft.outputs) else draft.value

    def call(self, draft: Draft) -> str:
        """The operation in plain text, with its operands in argument order."""
        return (
            formulas.call_text(draft.op, [self.label(*draft.operands[n]) for n in _order(draft)], draft.attrs)
            if draft.op
            else ""
        )

    def environment(self, draft: Draft) -> tuple[dict[str, str], dict[str, str] | None]:
        """Template names -> LaTeX, as (symbols, numbers where values are known and few; None when no operand has
        any)."""
        found = self._environments.get(draft.id)
        if found is None:
            symbols = self._symbols(draft)
            found = self._environments[draft.id] = (symbols, self._numbers(draft, symbols))
        return found

    def _symbols(self, draft: Draft) -> dict[str, str]:
        env = {n: formulas.symbol(self.label(*parent)) for n, parent in draft.operands.items()}
        env.update((n, _attribute(v)) for n, v in draft.attrs.items() if n not in env and v is not None)
        env["result"] = formulas.symbol(self.names[draft.id])
        for name in _first_output(draft):
            env[name] = env["result"]
        return _join_lists(env, draft)

    def _numbers(self, draft: Draft, symbols: dict[str, str]) -> dict[str, str] | None:
        texts = {n: formulas.operand(self.value(*parent)) for n, parent in draft.operands.items()}
        if not any(texts.values()):
            return None
        env = symbols | {n: text for n, text in texts.items() if text}
        result = formulas.operand(draft.value)
        if result is not None:
            for name in ("result", *_first_output(draft)):
                env[name] = result
        return _join_lists(env, draft)

    def forward(self, draft: Draft) -> tuple[str, str]:
        """(tex, tex_numbers) of an operation: `z = x \\cdot y` and `6 = 2 \\cdot 3`."""
        if not self.wanted or not draft.op or draft.error:
            return "", ""
        template = draft.record.latex if draft.record is not None else ""
        symbols, filled = self.environment(draft)
        order = _order(draft)
        tex = f"{symbols['result']} = {formulas.forward(template, draft.op, symbols, order)}"
        if filled is None:
            return tex, ""
        left = formulas.numbers(draft.value) or symbols["result"]
        return tex, f"{left} = {formulas.forward(template, draft.op, filled, order)}"

    def edges(
        self, edges: list[Edge], aliases: set[str], gradients: dict[str, tuple[Value | None, Value | None]]
    ) -> tuple[Edge, ...]:
        """The edges with their formulas and alias marks. `gradients`: edge id -> (gradient of the child,
        contribution)."""
        done = []
        for edge in edges:
            tex, numbers = (
                self.local(edge, gradients.get(edge.id, (None, None)))
                if self.wanted and edge.differentiable
                else ("", "")
            )
            done.append(
                Edge(
                    edge.id,
                    edge.parent,
                    edge.parent_nr,
                    edge.child,
                    edge.slot,
                    edge.differentiable,
                    tex,
                    numbers,
                    edge.id in aliases,
                )
            )
        return tuple(done)

    def local(self, edge: Edge, gradients: tuple[Value | None, Value | None]) -> tuple[str, str]:
        """(tex, tex_numbers): the derivative of the child with respect to the parent where it is one factor, else the
        gradient rule."""
        child, parent = self.nodes[int(edge.child[1:])], self.nodes[int(edge.parent[1:])]
        symbols, filled = self.environment(child)
        argument = next((n for i, n in enumerate(child.operands) if i == edge.slot), "")
        rules = child.record.vjp_latex if child.record is not None else {}
        rule = rules.get(argument) or rules.get(argument.partition("[")[0], "")
        y, x = formulas.symbol(self.names[edge.child]), formulas.symbol(self.label(edge.parent, edge.parent_nr))
        partial = rf"\frac{{\partial {y}}}{{\partial {x}}}"
        scalar = child.shape == () == parent.shape
        known = _quotient(*gradients) if scalar else None
        one = formulas.derivative(rule, symbols) if rule and (scalar or _elementwise(child, parent)) else None
        if one is not None:
            numbers = formulas.derivative(rule, filled) if filled is not None else None
            if numbers is None and not any(s in one for s in symbols.values()):
                numbers = one  # a derivative such as 1 or -1 has its numbers already
            steps = [step for step in (numbers, known if known != numbers else None) if step]
            return f"{partial} = {one}", " = ".join([partial, *steps]) if steps else ""
        if rule:
            bar_y, left = formulas.bar(y), f"{formulas.bar(x)} = "
            numbers = (
                formulas.gradient_rule(rule, filled, formulas.operand(gradients[0]) or bar_y)
                if filled is not None
                else ""
            )
            return left + formulas.gradient_rule(rule, symbols, bar_y), left + numbers if numbers else ""
        return partial, f"{partial} = {known}" if known else ""


def _first_output(draft: Draft) -> tuple[str, ...]:
    return draft.record.outputs[:1] if draft.record is not None else ()


def _join_lists(env: dict[str, str], draft: Draft) -> dict[str, str]:
    """`{tensors}` in a template stands for all of `tensors[0]`, `tensors[1]` ..."""
    for base in {n.partition("[")[0] for n in draft.operands if "[" in n}:
        env[base] = ", ".join(env[n] for n in draft.operands if n.partition("[")[0] == base)
    return env


def _attribute(item: Any) -> str:
    if isinstance(item, (int, float)) and not isinstance(item, bool):
        return formulas.scientific(short(item))
    return ", ".join(map(_attribute, item)) if isinstance(item, list) else rf"\mathrm{{{item}}}"


def _elementwise(child: Draft, parent: Draft) -> bool:
    """One number of the result depends on one number of the parent: same shapes, and the op broadcasts its operands."""
    record = child.record
    return (
        child.shape is not None
        and child.shape == parent.shape
        and record is not None
        and (bool(record.broadcast) or record.fast is not None)
    )


def _quotient(upstream: Value | None, contribution: Value | None) -> str | None:
    """The local derivative of a scalar in numbers: what was passed on per unit of what arrived."""
    if upstream is None or contribution is None or upstream.shape != () or contribution.shape != ():
        return None
    a, b = upstream.data, contribution.data
    if isinstance(a, str) or isinstance(b, str) or not a:
        return None
    return formulas.scientific(short(b / a))
