"""Exercises about what is recorded while you compute."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import autolab as torch

from ..exercise import Case, Exercise, Mistake


def leaf(values, dtype=None):
    return torch.tensor(values, requires_grad=True, dtype=dtype or torch.float32)


# 01.1 from a picture to the code that makes it ------------------------------------------------------------------------


def graph_text(result: Any, leaves: dict[str, Any]) -> str:
    """Return the recorded graph as nested calls, such as Mul(Log(Mul(x1, x2)), Sin(x2)), with sorted factors."""
    names = {id(t): name for name, t in leaves.items()}

    def text(node: Any) -> str:
        if node is None:
            return "constant"
        if hasattr(node, "variable"):
            return names.get(id(node.variable), "another leaf")
        kind = node.name().removesuffix("Backward0")
        parts = [text(parent) for parent, _ in node.next_functions]
        return f"{kind}({', '.join(sorted(parts) if kind in ('Mul', 'Add') else parts)})"

    node = getattr(result, "grad_fn", None)
    return text(node) if node is not None else "no graph"


def value_and_graph(answer, x1, x2):
    result = answer(x1, x2)
    return {"value": result, "graph": graph_text(result, {"x1": x1, "x2": x2})}


PLAIN_NUMBER = (
    "The number is right, but a node is missing. Python's math, NumPy, `.data` and detach() take numbers out of a tensor, "
    "so the graph doesn't see what happens to them. Use torch.log and torch.sin on the tensors themselves."
)

from_picture = Exercise(
    id="01.1",
    title="From a picture to code",
    observe=value_and_graph,
    reference=lambda x1, x2: torch.log(x1 * x2) * torch.sin(x2),
    cases=(
        Case(
            "x1 = 1, x2 = 2",
            lambda: (leaf(1.0), leaf(2.0)),
            why="Compare your graph with the picture, starting on the right. The last Mul gets its inputs from a Log and a Sin, "
            "and the Log gets its input from another Mul. x1 is used once, and x2 is used twice.",
        ),
        Case("x1 = 0.5, x2 = 3", lambda: (leaf(0.5), leaf(3.0)), public=False),
        Case(
            "x1 = [1, 2], x2 = [4, 0.5]", lambda: (leaf([1.0, 2.0]), leaf([4.0, 0.5])), public=False
        ),
    ),
    mistakes=(
        Mistake(
            lambda x1, x2: (torch.log(x1) + torch.log(x2)) * torch.sin(x2),
            "The number is right, but the graph is a different one. The picture has one Log node that follows a Mul node, "
            "and you recorded two Log nodes and an Add. Different graphs can compute the same function.",
        ),
        Mistake(lambda x1, x2: _math(x1, x2), PLAIN_NUMBER),
        Mistake(lambda x1, x2: torch.log(x1 * x2) * torch.sin(x2.detach()), PLAIN_NUMBER),
        Mistake(
            lambda x1, x2: torch.log(x1.detach() * x2) * torch.sin(x2),
            "The number is right, but x1 is not in the graph, because `.data`, detach() and item() only pass on its numbers.",
        ),
        Mistake(
            lambda x1, x2: torch.log(x1 * x2) + torch.sin(x2),
            "The last node in the picture is a Mul, but yours is an Add.",
        ),
        Mistake(
            lambda x1, x2: torch.log(x1 + x2) * torch.sin(x2),
            "In the picture the Log node follows a Mul, but yours follows an Add.",
        ),
        Mistake(
            lambda x1, x2: torch.log(x1 * x2) * torch.sin(x1),
            "In the picture the input of the Sin node is x2, but yours is x1.",
        ),
        Mistake(
            lambda x1, x2: torch.log(x1 * x2 * torch.sin(x2)),
            "In the picture the Log node comes before the last Mul, but your Log is the last node.",
        ),
        Mistake(
            lambda x1, x2: (torch.log(x1 * x2) * torch.sin(x2)).detach(),
            "The number is right, but nothing was recorded. Python's math, NumPy, `.data`, item(), detach() and no_grad() "
            "all leave the graph.",
        ),
    ),
    hints=(
        "Read the picture from the right, because the node on the right is what you compute last.",
        "The last node is a Mul, and its inputs are a Log node and a Sin node. So the result is log(…) * sin(…).",
        "The input of the Log node is the product of x1 and x2, and the input of the Sin node is x2 itself.",
    ),
    leaves_out="inputs where the logarithm is not defined",
)


def _math(x1, x2):
    return math.log(x1 * x2) * torch.sin(x2)


# 01.2 a leaf that keeps its gradient ----------------------------------------------------------------------------------


def leaf_facts(answer, values):
    w = answer(values)
    if not w.requires_grad:
        return {"values": w, "requires_grad": False, "is_leaf": w.is_leaf, "w.grad": "never filled"}
    w.sum().backward()
    return {"values": w, "requires_grad": True, "is_leaf": w.is_leaf, "w.grad": w.grad}


def weight(values, flag="after", factor=0.1):
    """Return the values times the factor; the switches make typical wrong answers."""
    if flag == "before":
        return torch.tensor(values, requires_grad=True) * factor
    w = torch.tensor(values) * factor
    return w if flag == "never" else w.requires_grad_()


make_weight = Exercise(
    id="01.2",
    title="A weight that keeps its gradient",
    observe=leaf_facts,
    given=partial(weight, flag="before"),
    reference=weight,
    variant=lambda **switches: partial(weight, **switches),
    cases=(
        Case("values = [1., 2.]", lambda: ([1.0, 2.0],)),
        Case("values = [[1., -1.], [0., 3.]]", lambda: ([[1.0, -1.0], [0.0, 3.0]],), public=False),
        Case("values = [1, 2] (whole numbers)", lambda: ([1, 2],), public=False),
    ),
    mistakes=(
        Mistake(
            {"flag": "never"},
            "Your tensor doesn't require a gradient, because requires_grad is False. (detach() returns such a leaf too, so "
            "you would have to switch the flag on again.)",
        ),
        Mistake(
            {"flag": "before"},
            "w is the result of a multiplication, so it is not a leaf, and its gradient is dropped. "
            "The leaf is the tensor inside, which no longer has a name.",
        ),
        Mistake({"factor": 1.0}, "The factor 0.1 is missing."),
        Mistake(
            lambda values: _with_retained_grad(values),
            "retain_grad() keeps the gradient. But w is still the result of a multiplication and not a leaf, so an optimizer "
            "would refuse it.",
        ),
    ),
    hints=(
        "A leaf is a tensor that no recorded operation has made. Which operation makes w here?",
        "Multiply first, while nothing requires a gradient. Then ask for the gradient of the result.",
        "requires_grad_() switches on the flag of a leaf and returns the tensor.",
    ),
    leaves_out="other factors than 0.1",
)


def _with_retained_grad(values):
    w = torch.tensor(values, requires_grad=True) * 0.1
    w.retain_grad()
    return w


# 01.6 walk the graph --------------------------------------------------------------------------------------------------


def sorted_names(answer, result):
    return {"names": " ".join(sorted(str(name).rsplit("::", 1)[-1] for name in answer(result)))}


def _chain():
    return (torch.exp(leaf(1.0) * 2) + 1,)


def _shared():
    x = leaf(2.0)
    y = torch.sin(x)
    return (y * y + x,)


def _ladder():
    y = leaf(1.0)
    for _ in range(5):
        y = y + y
    return (y,)


def node_names(result, once="node", all_parents=True, leaves=True):
    """Return the names of all nodes; the switches make typical wrong answers."""
    todo, seen, names = [result.grad_fn], set(), []
    while todo:
        node = todo.pop()
        key = {"node": node, "name": node.name() if node else None}.get(once)
        if (
            node is None
            or (key is not None and key in seen)
            or (not leaves and hasattr(node, "variable"))
        ):
            continue
        seen.add(key)
        names.append(node.name())
        parents = [parent for parent, _ in node.next_functions]
        todo += parents if all_parents else parents[:1]
    return names


def _without_none(result):
    todo, names = [result.grad_fn], []
    while todo:
        node = todo.pop()
        names.append(node.name())
        todo += [parent for parent, _ in node.next_functions]
    return names


NAMES_REPEAT = "Two different nodes can have the same name, and you list only one of them. Remember the nodes instead of the names."

walk = Exercise(
    id="01.6",
    title="Walk the graph",
    observe=sorted_names,
    reference=node_names,
    cases=(
        Case("exp(x * 2) + 1", _chain),
        Case("y * y + x with y = sin(x)", _shared),
        Case("y = y + y, five times", _ladder, public=False),
        Case("x ** 2 * w", lambda: (leaf(3.0) ** 2 * leaf(2.0),), public=False),
    ),
    mistakes=(
        Mistake(
            lambda r: node_names(r, once="visit"),
            "You list a node once for every path that leads to it. Remember the nodes that you have seen, and skip them.",
        ),
        Mistake(lambda r: node_names(r, once="name"), NAMES_REPEAT),
        Mistake(lambda r: list(dict.fromkeys(node_names(r))), NAMES_REPEAT),
        Mistake(
            lambda r: node_names(r, all_parents=False),
            "You follow only the first entry of next_functions. A node has one entry for each of its inputs.",
        ),
        Mistake(
            lambda r: node_names(r, leaves=False),
            "The AccumulateGrad nodes are missing. They are nodes too, because they write into the .grad of a leaf.",
        ),
        Mistake(
            lambda r: [r.grad_fn.name()],
            "This is only the last node. next_functions leads to the nodes before it.",
        ),
        Mistake(
            _without_none,
            "You ran into a None. next_functions contains (None, 0) for an input that needs no gradient, "
            "such as the number 2 in x * 2. Skip these entries.",
        ),
    ),
    hints=(
        "Keep a list of the nodes that you still have to visit. Start with [result.grad_fn], and take nodes out until the list is empty.",
        "Skip a node if it is None or if you have seen it already. Otherwise keep its name() and add its parents to the "
        "list.",
        "`for parent, nr in node.next_functions` gives you the parents. Use a set to remember which nodes you have seen.",
    ),
    leaves_out="graphs of more than a few nodes",
)

EXERCISES = (from_picture, make_weight, walk)
