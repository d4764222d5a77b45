"""One sentence and one formula per frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import formulas
from .model import Edge, Node
from .values import Value

if TYPE_CHECKING:
    from .film import Shot


def error(exception: BaseException) -> str:
    """An exception in one line: its type and its first sentence."""
    first = str(exception).strip().partition("\n")[0].partition(". ")[0]
    return f"{type(exception).__name__}: {first}"


def describe(shot: Shot, node: Node | None, receiver: Node | None, edge: Edge | None, of: int, roots: str) -> tuple[str, str]:
    """(text, tex) of a frame. `of`: how many contributions the receiver gets in this run; `roots`: what the run starts from."""
    if shot.event == "compute" and node is not None:
        return compute(node)
    if shot.event == "return" and receiver is not None:
        return _return(shot, receiver, roots)
    return _BACKWARD[shot.event](shot, node, receiver, edge, of)


def compute(node: Node) -> tuple[str, str]:
    """A forward step."""
    result = "" if node.value is None else f" = {node.value.text}"
    cut = {"detach": "; no gradient flows back from here", "no_grad": "; under no_grad, so no gradient flows back"}.get(
        node.cut, ""
    )
    text = f"{node.made} = {node.call}{result}{cut}"
    if not node.tex_numbers:
        return text, node.tex
    left, _, right = node.tex_numbers.partition(" = ")
    same = left == formulas.symbol(node.label)
    return text, f"{node.tex} = {right}" + ("" if same or left == right else f" = {left}")


def _grad(value: Value | None) -> str:
    return "?" if value is None else value.text


def _seed(shot, node, receiver, edge, of):
    one = shot.value is not None and shot.value.shape == () and shot.value.data == 1
    why = (
        f"the gradient of {node.label} with respect to itself is 1"
        if one
        else f"{node.label} is given the gradient {_grad(shot.value)}"
    )
    return (
        f"backward starts: {why}",
        f"{formulas.bar(formulas.symbol(node.label))} = {formulas.numbers(shot.value) or _unknown(shot.value)}",
    )


def _contribution(shot, node, receiver, edge, of):
    which = f" (contribution {shot.part} of {of}, so far {_grad(shot.total)})" if of > 1 else ""
    name = receiver.output_label(edge.parent_nr if edge is not None else 0)
    lost = "; it is frozen, so nothing is accumulated" if shot.state == "never" else ""
    text = f"{node.label} sends {_grad(shot.value)} to {name}{which}{lost}"
    if edge is None:
        return text, ""
    y, x = formulas.bar(formulas.symbol(node.label)), formulas.bar(formulas.symbol(name))
    sign = r"\mathrel{+}=" if of > 1 else "="
    value = formulas.numbers(shot.value)
    partial, _, local = edge.tex.partition(" = ")
    if partial == x:  # the whole rule, not one factor
        steps = [local, edge.tex_numbers.partition(" = ")[2]]
    else:
        number = edge.tex_numbers.rpartition(" = ")[2]
        upstream = formulas.operand(shot.upstream)
        steps = [rf"{y} \cdot {partial}", rf"{upstream} \cdot {_in_parentheses(number)}" if number and upstream else ""]
    steps.append(value or "")
    return text, f"{x} {sign} {' = '.join(s for i, s in enumerate(steps) if s and s not in steps[:i])}"


def _in_parentheses(number: str) -> str:
    return rf"\left({number}\right)" if number.startswith("-") or " " in number else number


def _accumulate(shot, node, receiver, edge, of):
    added = shot.value is not None and shot.total != shot.value
    text = f"{receiver.label}.grad is now {_grad(shot.total)}" + (
        f": {_grad(shot.value)} was added to what it held" if added else ""
    )
    value = formulas.numbers(shot.total)
    sign = r"\mathrel{+}=" if added else "="
    left = rf"{formulas.symbol(receiver.label)}\mathrm{{.grad}} {sign} {formulas.bar(formulas.symbol(receiver.label))}"
    return text, left + (f" = {value}" if value and not added else rf" \Rightarrow {value}" if value else "")


def _free(shot, node, receiver, edge, of):
    gradient = "" if shot.state == "accumulated" else ", and with it its gradient"
    return f"{node.label} is done: what it saved ({shot.note}) is freed{gradient}", ""


def _hook(shot, node, receiver, edge, of):
    return f"a hook changed the gradient of {node.label} from {_grad(shot.value)} to {_grad(shot.total)}", ""


def _clear(shot, node, receiver, edge, of):
    if shot.total is None:
        return f"{node.label}.grad was set to None", ""
    what = "zeroed" if shot.state == "zero" else f"changed to {_grad(shot.total)}"
    return f"{node.label}.grad was {what}, not by backward", ""


def _return(shot: Shot, receiver: Node, roots: str) -> tuple[str, str]:
    name = receiver.output_label(shot.nr)
    given = f"grad() returns {'None' if shot.value is None else shot.value.text}{f' as {shot.name}' if shot.name else ''}"
    if shot.state != "returned":
        filled = "" if shot.value is None else "; materialize_grads=True fills in zeros"
        return f"{given} for {name}: {shot.note}{filled}", ""
    stays = f"; {name}.grad stays {shot.note}" if shot.note else ""
    left = f"{formulas.symbol(shot.name)} = " if shot.name else ""
    tex = f"{left}{formulas.bar(formulas.symbol(name))} = {formulas.numbers(shot.value) or _unknown(shot.value)}"
    return f"{given}: the gradient of {roots} with respect to {name}{stays}", tex


def _error(shot, node, receiver, edge, of):
    if node is not None and node.error:
        return f"{node.call} failed: {shot.note}", ""
    return (f"error at {node.label}: {shot.note}" if node is not None else f"error: {shot.note}"), ""


def _unknown(value: Value | None) -> str:
    return "?" if value is None else rf"\mathrm{{{value.dtype}}}{list(value.shape)}"


_BACKWARD = {
    "seed": _seed,
    "contribution": _contribution,
    "accumulate": _accumulate,
    "free": _free,
    "hook": _hook,
    "clear": _clear,
    "error": _error,
}
