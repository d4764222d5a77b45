"""Labels of nodes, and the formulas of operations and their local derivatives."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from . import formulas, templates
from .. import truth
from ..guard import attempt
from ..model import Edge, Node
from ..records import Records
from ..values import Value, exact, short, written

if TYPE_CHECKING:
    from ..drafts import Draft, EdgeDraft, SavedDraft
    from ..film import Shot

MOST = 6
"""Results of one operation that are listed."""


def of(nodes: list[Draft]) -> dict[str, str]:
    """Return node id -> label: the variable's name (a second `y` is `y(2)`), a constant's number, else v1, v2 ... in
    order.

    If only some of several results have names, each other result that is used gets its own v. Its key is node id and
    output number: "n3 1"."""
    several = [d for d in nodes if d.outputs]
    taken = {d.name for d in nodes} | {o.label for d in several for o in d.outputs}
    used = (
        {parent for d in nodes for parent in d.operands.values() if parent[1]} if several else set()
    )
    repeated: dict[str, int] = {}
    labels = {}

    def fresh(prefix: str) -> Iterator[str]:
        return (label for number in count(1) if (label := f"{prefix}{number}") not in taken)

    unused = {"op": fresh("v"), "leaf": fresh("leaf"), "data": fresh("c")}
    for draft in nodes:
        if draft.name:
            repeated[draft.name] = repeated.get(draft.name, 0) + 1
            labels[draft.id] = (
                draft.name if repeated[draft.name] == 1 else f"{draft.name}({repeated[draft.name]})"
            )
        elif draft.kind == "update":
            labels[draft.id] = f"step of {labels[draft.operands['self'][0]]}"
        elif draft.kind == "data" and draft.shape == () and draft.value is not None:
            text = draft.literal or (
                draft.value.text if draft.value.data is None else written(draft.value.data)
            )
            labels[draft.id] = (
                text if draft.literal or draft.dtype == "float64" else text.removesuffix(".0")
            )
        else:
            labels[draft.id] = next(unused[draft.kind])
        if draft.outputs and not _is_tuple(draft):
            for nr, output in enumerate(draft.outputs):
                if nr and not output.label and (draft.id, nr) in used:
                    labels[f"{draft.id} {nr}"] = next(unused["op"])
    return labels


def _has_names(draft: Draft) -> bool:
    return bool(draft.name) or any(output.label for output in draft.outputs)


def _is_tuple(draft: Draft) -> bool:
    """Return whether the learner gets several results and has no name for any. Results that only the engine needs, as
    in batch norm, don't count."""
    if len(draft.outputs) < 2:
        return False
    record = draft.record
    public = (
        record is None or record.variadic or record.return_type is not None or not record.nondiff
    )
    return public and not _has_names(draft)


def _order(draft: Draft) -> list[str]:
    """Return the operands' argument names in schema order. List elements, and names unknown to the record, keep their
    order."""
    params = draft.record.params if draft.record is not None else ()
    places = {p: i for i, p in enumerate(params)}
    return sorted(draft.operands, key=lambda n: places.get(n.partition("[")[0], len(places)))


class Book:
    """Labels and formulas of all nodes and edges. Without `formulas`, labels only."""

    def __init__(self, nodes: list[Draft], formulas: bool = True) -> None:
        self.nodes, self.names, self.wanted = nodes, of(nodes), formulas
        for draft in nodes:
            draft.label = self.names[draft.id]
        self.rounded: set[str] = set()  # nodes whose formula with numbers ends in a rounded result
        self._symbols_of: dict[str, dict[str, str]] = {}
        self._filled: dict[tuple[str, int], dict[str, str] | None] = {}

    def label(self, node_id: str, nr: int = 0) -> str:
        """Return the label of result `nr` of a node: its variable, or "v3[0]", "v3[1]" if none of several results has a
        name."""
        draft, called = self.nodes[int(node_id[1:])], self.names[node_id]
        if nr >= len(draft.outputs) or nr == 0 and not _is_tuple(draft):
            return called
        unused = f"{called}[{nr}]" if _is_tuple(draft) else f"{draft.outputs[nr].name} of {called}"
        return draft.outputs[nr].label or self.names.get(f"{node_id} {nr}", unused)

    def value(self, node_id: str, nr: int = 0) -> Value | None:
        draft = self.nodes[int(node_id[1:])]
        return draft.outputs[nr].value if 0 < nr < len(draft.outputs) else draft.value

    def shape(self, node_id: str, nr: int = 0) -> tuple[int, ...] | None:
        draft = self.nodes[int(node_id[1:])]
        return draft.outputs[nr].shape if 0 < nr < len(draft.outputs) else draft.shape

    def shapes(self, draft: Draft) -> dict[str, tuple[int, ...] | None]:
        """Return the operands' shapes by argument name."""
        return {name: self.shape(*parent) for name, parent in draft.operands.items()}

    def call(self, draft: Draft) -> str:
        """Return the operation in plain text, with its operands in argument order."""
        if draft.kind == "update":
            return f"{draft.op}({self.names[draft.operands['self'][0]]})"
        return (
            formulas.call_text(
                draft.op,
                [self.label(*draft.operands[n]) for n in _order(draft)],
                draft.attrs,
                draft.spelled,
            )
            if draft.op
            else ""
        )

    def symbols(self, draft: Draft) -> dict[str, str]:
        """Return LaTeX with the learner's names, by template name."""
        found = self._symbols_of.get(draft.id)
        if found is not None:
            return found
        env = {n: self._symbol(parent) for n, parent in draft.operands.items()}
        env.update(
            (n, formulas.attribute(v, n, draft.spelled.get(n, "")))
            for n, v in draft.attrs.items()
            if n not in env and v is not None
        )
        env.update(
            (name, formulas.symbol(self.label(draft.id, nr)))
            for name, nr in _results(draft).items()
        )
        if len(draft.outputs) > 1:
            env["g1"] = formulas.bar(formulas.symbol(self.label(draft.id, 1)))
        found = self._symbols_of[draft.id] = _join_lists(env, draft)
        return found

    def _symbol(self, parent: tuple[str, int]) -> str:
        symbol = formulas.symbol(self.label(*parent))
        return formulas.in_parentheses(symbol) if self.is_number(parent) else symbol

    def is_number(self, parent: tuple[str, int]) -> bool:
        """Return whether an operand is a number of the learner's code, which is shown with all its digits."""
        draft = self.nodes[int(parent[0][1:])]
        return draft.is_number and draft.value is not None

    def write_out(self, saved: list[SavedDraft]) -> None:
        """Show all digits of a saved number whose label is the number itself."""
        numbers = set()
        for draft in self.nodes:
            if draft.is_number and draft.value is not None:
                numbers.add(draft.id)
                if draft.value.text != draft.label:
                    draft.value = replace(draft.value, text=draft.label)
        for item in saved:
            source, value = item.source_node, item.value
            if source in numbers and value is not None and value.text != self.names[source]:
                item.value = replace(value, text=self.names[source])

    def filled(self, draft: Draft, digits: int = 3) -> dict[str, str] | None:
        """Return LaTeX with numbers, by template name, if values are known and small; None if no operand has any."""
        if (draft.id, digits) not in self._filled:
            self._filled[draft.id, digits] = self._fill(draft, digits)
        return self._filled[draft.id, digits]

    def _fill(self, draft: Draft, digits: int) -> dict[str, str] | None:
        symbols, column = self.symbols(draft), is_column(draft)
        texts = {
            n: symbols[n]
            if self.is_number(parent)
            else formulas.operand(self.value(*parent), digits, column)
            for n, parent in draft.operands.items()
            if n not in draft.unlike
        }
        if not any(text and text != symbols[n] for n, text in texts.items()):
            return None
        env = symbols | {n: text for n, text in texts.items() if text}
        for name, nr in _results(draft).items():
            env[name] = formulas.operand(self.value(draft.id, nr), digits, column) or env[name]
        how_many = templates.count(draft.record, draft.shape, self.shapes(draft).get("self"))
        if how_many is not None:
            env["n"] = str(how_many)
        return _join_lists(env, draft)

    def is_exact(self, draft: Draft, template: str, digits: int) -> bool:
        """Return whether all numbers that `filled` puts into a template are exact. With "" as template, check all
        operands."""
        used = formulas.names_in(template)
        shown = [
            self.value(*parent)
            for n, parent in draft.operands.items()
            if (not used or n in used or n.partition("[")[0] in used)
            and not self.is_number(parent)
            and n not in draft.unlike
        ]
        shown += [self.value(draft.id, nr) for name, nr in _results(draft).items() if name in used]
        return all(value.is_exact(digits) for value in shown if formulas.numbers(value) is not None)  # type: ignore[union-attr]

    def forward(self, draft: Draft) -> tuple[str, str]:
        """Return (tex, tex_numbers) of an operation: `z = x \\cdot y` and `6 = 2 \\cdot 3`."""
        if not self.wanted or not draft.op or draft.error or draft.kind == "update":
            return "", ""
        template = templates.value(draft.record, draft.attrs, self.shapes(draft), draft.shape)
        symbols, order = self.symbols(draft), _order(draft)
        several = template and draft.record.name in templates.OF_ALL
        told = range(len(draft.outputs)) if several and draft.outputs else range(1)
        made = _listed([formulas.symbol(self.label(draft.id, nr)) for nr in told])
        tex = f"{made} = {formulas.forward(template, draft.op, symbols, order)}"
        if self.filled(draft) is None:
            return tex, ""
        values = [self.value(draft.id, nr) for nr in told]
        for digits in truth.DIGITS:
            right = formulas.forward(template, draft.op, self.filled(draft, digits) or {}, order)
            parts = [formulas.numbers(value, digits, is_column(draft)) for value in values]
            left = ", ".join(filter(None, parts)) if all(parts) and len(parts) <= MOST else made
            same = self.is_exact(draft, template, digits)
            known = left == made or all(v.is_exact(digits) for v in values if v is not None)
            if found := truth.relation(right, left, same and known):
                break
        found = found or truth.about(right, left, draft.dtype)
        if not same:
            self.rounded.add(draft.id)
        return tex, f"{left} {found} {right}" if found else ""

    def node(self, d: Draft, layer: dict[str, Any] | None, update: dict[str, Any] | None) -> Node:
        """Return a node with its formulas. `layer` and `update` are fields of Node."""
        tex, tex_numbers = attempt(lambda: self.forward(d), ("", ""))
        return Node(
            **{name: getattr(d, name) for name in _SAME},
            tex=tex,
            tex_numbers=tex_numbers,
            outputs=tuple(replace(o, label=self.label(d.id, i)) for i, o in enumerate(d.outputs)),
            call=attempt(lambda: self.call(d), d.op),
            layer=layer,
            update=update,
            missing=d.missing if d.value is None else "",
        )

    def edges(self, edges: list[EdgeDraft], shots: list[Shot]) -> Sequence[Edge]:
        """Return the edges with their formulas, with numbers from the last backward pass among `shots`."""

        @functools.cache
        def gradients() -> dict[str, tuple[Value | None, Value | None]]:
            """Return edge id -> (gradient of the child, contribution)."""
            return {s.edge: (s.upstream, s.value) for s in shots if s.edge is not None}

        def edge(_: int, e: EdgeDraft) -> Edge:
            seen = gradients().get(e.id, (None, None))
            # The rules are written for real numbers; for complex numbers PyTorch takes the conjugate.
            real = not any(
                self.nodes[int(end[1:])].dtype.startswith("complex") for end in (e.parent, e.child)
            )
            written = self.wanted and e.differentiable and real
            tex, numbers = attempt(lambda: self.local(e, seen), ("", "")) if written else ("", "")
            what = e.id, e.parent, e.parent_nr, e.child, e.slot, e.differentiable
            return Edge(*what, tex, numbers, e.alias, e.update)

        return Records(edges, edge)

    def local(
        self,
        edge: Edge | EdgeDraft,
        gradients: tuple[Value | None, Value | None],
        least: int = truth.DIGITS[0],
        of_pass: bool = False,
    ) -> tuple[str, str]:
        """Return (tex, tex_numbers): the derivative of the child with respect to the parent if it is one factor, else
        the gradient rule. The arrived gradient is put in as a number only with `of_pass`, because it differs between
        passes. least: minimum number of significant digits."""
        child = self.nodes[int(edge.child[1:])]
        symbols, has_numbers = self.symbols(child), self.filled(child) is not None
        argument = next((n for i, n in enumerate(child.operands) if i == edge.slot), "")
        shape = self.shape(edge.parent, edge.parent_nr)
        rule = templates.gradient(
            child.record, argument, child.attrs, child.shape, shape, self.shapes(child)
        )
        y, x = (
            formulas.symbol(self.label(edge.child)),
            formulas.symbol(self.label(edge.parent, edge.parent_nr)),
        )
        partial = rf"\frac{{\partial {y}}}{{\partial {x}}}"
        scalar = child.shape == () == shape
        known = _quotient(*gradients) if scalar else None
        one = (
            formulas.derivative(rule, symbols)
            if rule and (scalar or _elementwise(child, shape))
            else None
        )
        if one is not None:
            if not has_numbers and any(s in one for s in symbols.values()):
                return f"{partial} = {formulas.alone(one)}", "" if known is None else partial + _is(
                    known
                )
            return f"{partial} = {formulas.alone(one)}", self._derivative(
                child, rule, partial, known, least
            )
        if rule:
            several = rule == "[{g}]" and len(child.outputs) > 1
            outputs = (
                [self.label(edge.child, nr) for nr in range(len(child.outputs))]
                if several
                else [self.label(edge.child)]
            )
            bar_y, left = (
                _listed([formulas.bar(formulas.symbol(o)) for o in outputs]),
                formulas.bar(x),
            )
            numbers = ""
            if has_numbers:
                arrived = (
                    formulas.operand(gradients[0], least, is_column(child))
                    if of_pass and not several
                    else None
                )
                same = self.is_exact(child, rule, least) and (
                    arrived is None or gradients[0].is_exact(least)  # type: ignore[union-attr]
                )
                right = formulas.gradient_rule(
                    rule, self.filled(child, least) or {}, arrived or bar_y
                )
                numbers = f"{left} {truth.EQUAL if same else truth.ABOUT} {right}"
            tex = f"{left} = {formulas.gradient_rule(rule, symbols, bar_y)}"
            return tex, "" if numbers == tex else numbers
        if (
            len(child.outputs) > 1 and child.record is None
        ):  # a custom function: each result has its own derivative
            made = [formulas.symbol(self.label(edge.child, nr)) for nr in range(len(child.outputs))]
            terms = [
                rf"{formulas.bar(y)} \cdot \frac{{\partial {y}}}{{\partial {x}}}" for y in made
            ]
            return f"{formulas.bar(x)} = {' + '.join(terms)}", ""
        return partial, partial + _is(known) if known is not None else ""

    def chain(self, edge: Edge, upstream: Value | None, value: Value | None) -> str:
        r"""Return what an edge passes on in one pass, `\bar{z} \cdot \frac{\partial z}{\partial x} = 2 \cdot 3 = 6`:
        the rule in symbols, in numbers, and the result. upstream: the gradient that had arrived at the child."""
        child = self.nodes[int(edge.child[1:])]
        y, x = (
            formulas.symbol(self.label(edge.child)),
            formulas.bar(formulas.symbol(self.label(edge.parent, edge.parent_nr))),
        )
        for digits in truth.DIGITS:
            equation = truth.split(self.local(edge, (upstream, value), digits, of_pass=True)[1])
            left, *rest = truth.split(edge.tex)
            if left == x:  # the whole rule, because it is not one factor
                chain, numbers = rest[-1], "" if equation[-1] == rest[-1] else equation[-1]
                same = equation[1:2] == [truth.EQUAL]
            else:
                chain = rf"{formulas.bar(y)} \cdot {left}"
                arrived = formulas.operand(upstream, digits)
                numbers = (
                    rf"{arrived} \cdot {_in_parentheses(equation[-1])}"
                    if arrived and equation[-1]
                    else ""
                )
                same = (
                    bool(numbers)
                    and upstream.is_exact(digits)  # type: ignore[union-attr]
                    and set(equation[1::2]) == {truth.EQUAL}
                )
            rule = chain
            chain += f" {truth.EQUAL if same else truth.ABOUT} {numbers}" if numbers else ""
            last, result = numbers or chain, formulas.numbers(value, digits, is_column(child))
            if not result or result == last:
                return chain
            known = (same or not numbers) and value.is_exact(digits)  # type: ignore[union-attr]
            found = truth.relation(last, result, known)
            if found:
                break
        found = found or truth.about(last, result, value.dtype)  # type: ignore[union-attr, arg-type]
        return f"{chain} {found} {result}" if found else rule

    def _derivative(
        self, child: Draft, rule: str, partial: str, known: float | None, least: int
    ) -> str:
        r"""Return a local derivative in numbers: `\frac{\partial z}{\partial x} = 2 \cdot 3 = 6`."""
        for digits in truth.DIGITS[truth.DIGITS.index(least) :]:
            numbers = formulas.derivative(rule, self.filled(child, digits) or {}) or ""
            same = self.is_exact(child, rule, digits)
            first = truth.EQUAL if same else truth.ABOUT
            last = "" if known is None else formulas.scientific(short(known, digits))
            if known is None:
                return f"{partial} {first} {numbers}"
            if formulas.is_number(numbers) and (here := truth.evaluate(numbers)) in (
                truth.number(known),
                truth.evaluate(last),
            ):
                return f"{partial} {first} {last if here == truth.evaluate(last) else formulas.alone(numbers)}"  # once
            found = truth.relation(numbers, last, same and exact(known, digits))
            if found:
                break
        found = found or truth.about(numbers, last, child.dtype)
        return f"{partial} {first} {numbers} {found} {last}" if found else f"{partial}{_is(known)}"  # type: ignore[arg-type]  # None has returned


_MADE = {"tex", "tex_numbers", "outputs", "call", "layer", "update", "missing"}
_SAME = [field.name for field in fields(Node) if field.name not in _MADE]
"""Fields that a node has from its draft as they are."""


def is_column(draft: Draft) -> bool:
    """Return whether one-dimensional tensors stand for columns in a product."""
    return draft.record is not None and draft.record.name in templates.VECTORS


def _in_parentheses(number: str) -> str:
    return rf"\left({number}\right)" if number.startswith("-") or " " in number else number


def _is(known: float) -> str:
    return f" {truth.EQUAL if exact(known) else truth.ABOUT} {formulas.scientific(short(known))}"


def _results(draft: Draft) -> dict[str, int]:
    """Return which result each name in a formula refers to."""
    outputs = draft.record.outputs if draft.record is not None else ()
    return {"result": 0} | {
        name: nr for nr, name in enumerate(outputs[: max(1, len(draft.outputs))])
    }


def _listed(symbols: list[str]) -> str:
    return ", ".join(symbols if len(symbols) <= MOST else [*symbols[:2], r"\ldots", symbols[-1]])


def _join_lists(env: dict[str, str], draft: Draft) -> dict[str, str]:
    """Set `{tensors}` in a template to the list of `tensors[0]`, `tensors[1]` ..."""
    for base in {n.partition("[")[0] for n in draft.operands if "[" in n}:
        env[base] = ", ".join(env[n] for n in draft.operands if n.partition("[")[0] == base)
    return env


def _elementwise(child: Draft, shape: tuple[int, ...] | None) -> bool:
    """Return whether each number of the result depends on one number of the parent: the shapes are equal, and the op
    broadcasts its operands."""
    record = child.record
    return (
        child.shape is not None
        and child.shape == shape
        and record is not None
        and (bool(record.broadcast) or record.fast is not None)
    )


def _quotient(upstream: Value | None, contribution: Value | None) -> float | None:
    """Return a scalar's local derivative as a number: the contribution divided by the upstream gradient."""
    if upstream is None or contribution is None or upstream.shape != () or contribution.shape != ():
        return None
    a, b = upstream.data, contribution.data
    if isinstance(a, str) or isinstance(b, str) or not a:
        return None
    # Dividing decimals gives digits that neither number had: 0.3 / 0.1 is 2.9999999999999996.
    return float(f"{b / a:.15g}" if contribution.dtype == "float64" else f"{b / a:.7g}")
