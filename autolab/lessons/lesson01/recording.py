"""Exercises of sections 1 to 3: what is recorded while you compute."""

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
    """The recorded graph as nested calls, such as Mul(Log(Mul(x1, x2)), Sin(x2)); factors and summands in any order."""
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
    "The number is right, and a node is missing: Python's math, NumPy, `.data` and detach() take numbers out of a tensor. "
    "Only operations of torch on the tensors themselves leave nodes: torch.log, torch.sin."
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
            why="Set your graph beside the picture, from the right: a Mul, fed by a Log and a Sin; another Mul feeds the "
            "Log. x1 goes into one node, x2 into two.",
        ),
        Case("x1 = 0.5, x2 = 3", lambda: (leaf(0.5), leaf(3.0)), public=False),
        Case(
            "x1 = [1, 2], x2 = [4, 0.5]", lambda: (leaf([1.0, 2.0]), leaf([4.0, 0.5])), public=False
        ),
    ),
    mistakes=(
        Mistake(
            lambda x1, x2: (torch.log(x1) + torch.log(x2)) * torch.sin(x2),
            "The number is right, the graph is another one. The picture has one Log node, fed by a Mul node; "
            "you recorded two Log nodes and an Add. Different graphs may compute the same function.",
        ),
        Mistake(lambda x1, x2: _math(x1, x2), PLAIN_NUMBER),
        Mistake(lambda x1, x2: torch.log(x1 * x2) * torch.sin(x2.detach()), PLAIN_NUMBER),
        Mistake(
            lambda x1, x2: torch.log(x1.detach() * x2) * torch.sin(x2),
            "The number is right, but x1 is not in the graph: `.data`, detach() and item() give its numbers without it.",
        ),
        Mistake(
            lambda x1, x2: torch.log(x1 * x2) + torch.sin(x2),
            "The last node of the picture is a Mul; yours is an Add.",
        ),
        Mistake(
            lambda x1, x2: torch.log(x1 + x2) * torch.sin(x2),
            "In the picture a Mul node feeds the Log; in yours an Add does.",
        ),
        Mistake(
            lambda x1, x2: torch.log(x1 * x2) * torch.sin(x1),
            "In the picture the Sin node hangs on x2; yours hangs on x1.",
        ),
        Mistake(
            lambda x1, x2: torch.log(x1 * x2 * torch.sin(x2)),
            "In the picture the Log node comes before the last Mul; yours is the last node.",
        ),
        Mistake(
            lambda x1, x2: (torch.log(x1 * x2) * torch.sin(x2)).detach(),
            "The number is right, and nothing was recorded. What leaves the graph: Python's math and NumPy, `.data`, "
            "item(), detach(), no_grad().",
        ),
    ),
    hints=(
        "Read the picture from the right. The last node is what you compute last.",
        "The last node, Mul, has two inputs: a Log node and a Sin node. So the result is log(…) * sin(…).",
        "The Log node is fed by a Mul node of x1 and x2. The Sin node is fed by x2 directly.",
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
    """values times the factor; the switches make the usual wrong ones."""
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
            "Nothing asks for gradients: requires_grad is False. "
            "(detach() gives such a leaf, too: the flag has to be switched on again.)",
        ),
        Mistake(
            {"flag": "before"},
            "w is the result of a multiplication, so it is not a leaf, and its gradient is thrown away. "
            "The leaf is the tensor inside, which has no name any more.",
        ),
        Mistake({"factor": 1.0}, "The factor 0.1 got lost."),
        Mistake(
            lambda values: _with_retained_grad(values),
            "retain_grad() keeps the gradient, but this w is still the result of a multiplication, not a leaf: "
            "an optimizer would refuse it.",
        ),
    ),
    hints=(
        "A leaf is a tensor that no recorded operation made. Which line here makes w?",
        "Do the multiplication first, while nothing requires a gradient. Ask for gradients on the result.",
        "requires_grad_() switches the flag of a leaf on, in place, and returns the tensor.",
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
    """A right answer, and with the switches the usual wrong ones."""
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


NAMES_REPEAT = "Two different nodes may have the same name, and you list only one of them. Remember nodes, not names."

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
            "You list a node once for every way that leads to it. Remember the nodes you have seen, and skip "
            "those.",
        ),
        Mistake(lambda r: node_names(r, once="name"), NAMES_REPEAT),
        Mistake(lambda r: list(dict.fromkeys(node_names(r))), NAMES_REPEAT),
        Mistake(
            lambda r: node_names(r, all_parents=False),
            "You follow only the first entry of next_functions. A node has one entry for each of its inputs.",
        ),
        Mistake(
            lambda r: node_names(r, leaves=False),
            "The AccumulateGrad nodes are missing. They are nodes too: they write into the .grad of a leaf.",
        ),
        Mistake(
            lambda r: [r.grad_fn.name()],
            "This is the last node only. next_functions leads on to the nodes before it.",
        ),
        Mistake(
            _without_none,
            "You walked into a None. next_functions has (None, 0) for an input that needs no gradient, "
            "such as the number 2 in x * 2: skip it.",
        ),
    ),
    hints=(
        "Keep a list of nodes still to visit, starting with [result.grad_fn], and take one out until it is empty.",
        "For each node: skip it if it is None or already seen; otherwise keep its name() and add its parents to the "
        "list.",
        "`for parent, nr in node.next_functions` gives the parents. A set of nodes remembers what you have seen.",
    ),
    leaves_out="graphs of more than a few nodes",
)

EXERCISES = (from_picture, make_weight, walk)
