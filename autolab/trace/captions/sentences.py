"""One sentence and one formula per frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import formulas
from .. import truth
from ..model import Edge, Node
from .labels import MOST
from ..passes import CUTS
from .text import joined
from ..values import Value, short, sign

if TYPE_CHECKING:
    from ..film import Shot

STATE_WORDS = {
    "none": ("not yet", "not yet"),
    "never": ("never", "never"),
    "zero": ("zero", "would be zero"),
    "contribution": ("incomplete", "would be incomplete"),
    "accumulated": ("accumulated", "would be accumulated"),
    "returned": ("returned", "would be returned"),
    "freed": ("freed", "would be freed"),
}
"""Gradient state -> (what it is called, what it is called where backward is only rehearsed)."""


def state_word(state: str, name: str = "", rehearsed: bool = False) -> str:
    """Return the words for a gradient state. `name`: the learner's variable for a gradient that `grad()` returned."""
    if state == "returned":
        return f"returned as {name}" if name else "returned by grad()"
    return STATE_WORDS[state][rehearsed]


def error(exception: BaseException) -> str:
    """Return an exception in one line: its type and its first sentence."""
    first = str(exception).strip().partition("\n")[0].partition(". ")[0]
    return f"{type(exception).__name__}: {first}".removesuffix(": ")


def describe(
    shot: Shot,
    node: Node | None,
    receiver: Node | None,
    edge: Edge | None,
    of: int,
    roots: str,
    rounded: bool = False,
    rehearsed: bool = False,
    chain: str = "",
) -> tuple[str, str]:
    """Return (text, tex) of a frame. `of`: how many contributions the receiver gets in this run; `roots`: the nodes
    that the run starts from; `rounded`: whether the node's formula contains rounded numbers; `rehearsed`: whether the
    step is only a dry run; `chain`: what an edge passes on, as a formula."""
    if shot.event == "compute" and node is not None:
        text, tex = compute(node, rounded)
        return (f"{text}; {shot.note}", node.tex) if shot.note else (text, tex)
    if shot.event == "return" and receiver is not None:
        return _return(shot, receiver, roots)
    mood = _conditional if rehearsed else _indicative
    if shot.event == "contribution":
        return _contribution(shot, node, receiver, edge, of, mood, chain)
    return _BACKWARD[shot.event](shot, node, receiver, edge, of, mood)


def _indicative(happened: str, would: str) -> str:
    return happened


def _conditional(happened: str, would: str) -> str:
    return would


def compute(node: Node, rounded: bool = False) -> tuple[str, str]:
    """Return the sentence and the formula of a forward step."""
    under = f"; under {node.cut}, so no gradient flows back"
    cut = (
        "" if not node.cut else "; no gradient flows back from here" if node.cut in CUTS else under
    )
    text = f"{_made(node)} = {node.call}{results(node)}{cut}"
    if not node.tex_numbers:
        return text, node.tex
    left, relation, right = truth.split(node.tex_numbers)
    chain = f"{node.tex} {truth.ABOUT if rounded else truth.EQUAL} {right}"
    return text, chain + (
        "" if left in (truth.split(node.tex)[0], right) else f" {relation} {left}"
    )


def results(node: Node) -> str:
    """Return an operation's result as text: its value, or the known values of all results, or only of the named results
    if some have names."""
    values = [o.value for o in node.results] or [node.value]
    known = [value for value in values if value is not None]
    if len(known) < len(values) or len(values) > MOST:
        return f": {len(values)} results" if len(values) > 1 else ""
    if len(known) == 1:
        return known[0].said
    if any(value.data is None for value in known):
        return f": {'; '.join(value.text for value in known)}"
    text = ", ".join(value.text for value in known)
    return f" {sign(all(value.is_exact() for value in known))} {f'({text})' if node.is_tuple else text}"


def _made(node: Node) -> str:
    """Return `Node.made`, shortened if there are very many results."""
    names = [node.label, *(o.label for o in node.named_outputs)]
    return ", ".join(names if len(names) <= MOST else [*names[:2], "...", names[-1]])


def _rule_of(node: Node) -> str:
    """Return what sends a gradient on: the result, or the operation if it has several results."""
    return node.call if node.results else node.label


def _grad(value: Value | None) -> str:
    return "?" if value is None else value.text


def _seed(shot, node, receiver, edge, of, mood):
    one, name = (
        shot.value is not None and shot.value.shape == () and shot.value.data == 1,
        node.output_label(shot.nr),
    )
    why = (
        f"the gradient of {name} with respect to itself is 1"
        if one
        else f"{name} {mood('is', 'would be')} given the gradient {_grad(shot.value)}"
    )
    return (
        f"backward {mood('starts', 'would start')}: {why}",
        formulas.bar(formulas.symbol(name)) + (_is(shot.value) or f" = {_unknown(shot.value)}"),
    )


def _contribution(shot, node, receiver, edge, of, mood, chain):
    which = f" (contribution {shot.part} of {of}, so far {_grad(shot.total)})" if of > 1 else ""
    name = receiver.output_label(shot.nr)
    lost = (
        f"; it is frozen, so nothing {mood('is', 'would be')} accumulated"
        if shot.state == "never"
        else ""
    )
    sent = f"{_grad(shot.value)}{', as its hooks leave it,' if shot.hooked else ''}"
    text = f"{_rule_of(node)} {mood('sends', 'would send')} {sent} to {name}{which}{lost}"
    text += f"; {shot.note}" if shot.note else ""
    sign = r"\mathrel{+}=" if of > 1 else "="
    return text, f"{formulas.bar(formulas.symbol(name))} {sign} {chain}" if chain else ""


def _is(value: Value | None) -> str:
    """Return " = 0.5" or " \\approx 0.333" for a small value, else ""."""
    text = formulas.numbers(value)
    return (
        ""
        if value is None or text is None
        else f" {truth.EQUAL if value.is_exact() else truth.ABOUT} {text}"
    )


def _accumulate(shot, node, receiver, edge, of, mood):
    added = shot.value is not None and shot.total != shot.value
    text = f"{receiver.label}.grad {mood('is now', 'would become')} {_grad(shot.total)}" + (
        f": {_grad(shot.value)} {mood('was', 'would be')} added to what it {mood('held', 'holds')}"
        if added
        else ""
    )
    text += (
        f"; the {shot.note} that it held is gone, by a rule in the place of the engine's"
        if shot.note
        else ""
    )
    grad, bar = (
        rf"{formulas.symbol(receiver.label)}\mathrm{{.grad}}",
        formulas.bar(formulas.symbol(receiver.label)),
    )
    now = _is(shot.total)
    if added:
        return text, rf"{grad} \mathrel{{+}}= {bar}" + (rf" \Rightarrow {grad}{now}" if now else "")
    return text, f"{grad} = {bar}{now}"


def _free(shot, node, receiver, edge, of, mood):
    own = "the gradients of its results" if node.results else "its gradient"
    gradient = "" if shot.state == "accumulated" else f", and with it {own}"
    be = mood("is", "would be")
    return f"{_rule_of(node)} {be} done: what it saved ({shot.note}) {be} freed{gradient}", ""


def _hook(shot, node, receiver, edge, of, mood):
    name = node.output_label(shot.nr)
    return (
        f"a hook {mood('changed', 'would change')} the gradient of {name} from {_grad(shot.value)} to {_grad(shot.total)}",
        "",
    )


def _rule(shot, node, receiver, edge, of, mood):
    if shot.note:
        return shot.note, ""
    name = node.output_label(shot.nr)
    came = f"the {_grad(shot.value)} that has arrived at {name}"
    return (
        f"a rule in the place of the engine's turns {came} into {_grad(shot.total)}; no hook is there",
        "",
    )


def _clear(shot, node, receiver, edge, of, mood):
    by = f"{shot.note}: " if shot.note else ""
    was = f"{by}{node.label}.grad {mood('was', 'would be')}"
    if shot.total is None:
        return f"{was} set to None", ""
    what = "zeroed" if shot.total.is_zero else f"changed to {_grad(shot.total)}"
    return f"{was} {what}" + ("" if by else mood(", not by backward", "")), ""


def _return(shot: Shot, receiver: Node, roots: str) -> tuple[str, str]:
    name = receiver.output_label(shot.nr)
    given = f"grad() returns {'None' if shot.value is None else shot.value.text}{f' as {shot.name}' if shot.name else ''}"
    if shot.state != "returned":
        filled = "" if shot.value is None else "; materialize_grads=True fills in zeros"
        return f"{given} for {name}: {shot.note}{filled}", ""
    stays = f"; {name}.grad stays {shot.note}" if shot.note else ""
    left = f"{formulas.symbol(shot.name)} = " if shot.name else ""
    tex = (
        left
        + formulas.bar(formulas.symbol(name))
        + (_is(shot.value) or f" = {_unknown(shot.value)}")
    )
    return f"{given}: the gradient of {roots} with respect to {name}{stays}", tex


def _error(shot, node, receiver, edge, of, mood):
    if node is not None and node.error:
        return f"{node.call} failed: {shot.note}", ""
    return (
        f"error at {_rule_of(node)}: {shot.note}" if node is not None else f"error: {shot.note}"
    ), ""


def _unknown(value: Value | None) -> str:
    return "?" if value is None else rf"\mathrm{{{value.dtype}}}{list(value.shape)}"


def _update(shot, node, receiver, edge, of, mood):
    update = node.update
    if update["lines"]:
        line = update["lines"][-1]
        numbers = line["numbers"]
        first = [joined(other) for other in update["lines"][:-1]] if numbers else []
        rate = (
            "" if numbers or not update["settings"] else f", lr = {short(update['settings']['lr'])}"
        )
        more = f"; {update['change']}" if update["change"] else ""
        last = joined(line) if numbers else f"{line['text']}{rate}{more}"
        text = ", ".join(
            [*first, last] if len(first) == 1 else [last]
        )  # the details list the others
        return f"{update['call']}: {text}", " = ".join(
            t for t in (line["tex"], line["tex_numbers"]) if t
        )
    how = (
        f" {update['change']}"
        if update["change"].startswith("from")
        else f": {update['change']}"
        if update["change"]
        else ""
    )
    return f"{update['call']}: {update['optimizer']} changes {update['name']}{how}", node.tex


_BACKWARD = {
    "update": _update,
    "seed": _seed,
    "accumulate": _accumulate,
    "free": _free,
    "hook": _hook,
    "rule": _rule,
    "clear": _clear,
    "error": _error,
}
