"""The items: twenty ideas, each asked by two programs of the same build with other numbers.

What an item offers is what some engine gives: the key is what the right engine gives, `belief` what the specimen of the
misconception gives (`autolab.specimens`, by the same number); `others` are slips of the same kind. A test runs them
all.
"""

from __future__ import annotations

import ast
import textwrap
import warnings
from contextlib import ExitStack
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

import autolab

from ..specimens import Outcome
from ..specimens.specimen import RIGHT, SPECIMENS

PASS = "I cannot tell"
"""Offered last in every item, so that nobody has to guess."""

FORMS = ("A", "B")


@dataclass(frozen=True)
class Form:
    """One program, whose last line is asked for, and what is offered. code: the program. key: right. belief: what
    follows from the misconception. others: two more."""

    code: str
    key: str
    belief: str
    others: tuple[str, str]

    @property
    def text(self) -> str:
        """The program as it is shown."""
        return textwrap.dedent(self.code).strip()

    @property
    def choices(self) -> tuple[str, ...]:
        """All that is offered but `PASS`, the key first."""
        return (self.key, self.belief, *self.others)

    def shuffled(self, id: str, learner: str) -> tuple[str, ...]:
        """What is offered, in this learner's order, `PASS` last."""
        return (*Random(f"{id} {learner}").sample(self.choices, len(self.choices)), PASS)

    def run(self, torch: Any) -> Any:
        """What the last line is."""
        *before, last = ast.parse(self.text).body
        assert isinstance(last, ast.Expr)
        names: dict[str, Any] = {"torch": torch, "np": np, "runs": runs}
        with ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")  # .grad of what is no leaf
            if '"cuda"' in self.code and torch is autolab:
                stack.enter_context(torch.cuda.simulate())
            exec(compile(ast.Module(before, []), "<item>", "exec"), names)
            return eval(compile(ast.Expression(last.value), "<item>", "eval"), names)


@dataclass(frozen=True)
class Item:
    """number: of the misconception. idea: what somebody knows who answers rightly. a, b: the two forms."""

    number: int
    idea: str
    a: Form
    b: Form

    def form(self, letter: str) -> Form:
        """The form "A" or "B"."""
        return self.a if letter == "A" else self.b

    def given_by(self, letter: str, wrong: bool = False) -> str:
        """What the right engine, or that of the misconception, gives in a form, as it is offered.

        >>> from autolab.inventory.items import ITEMS
        >>> ITEMS[0].given_by("A"), ITEMS[0].given_by("A", wrong=True)
        ('None', '0')
        """
        engine = SPECIMENS[self.number] if wrong else RIGHT
        return said(engine.outcome(self.form(letter).run))


def runs(action: Any) -> bool:
    """Whether it raises nothing: a word that some programs use."""
    try:
        action()
    except (TypeError, RuntimeError, ValueError):
        return False
    return True


def said(outcome: Outcome) -> str:
    """What a program gave, as a choice says it: "11", "[2, 12]", "None", "an error".

    >>> from autolab.inventory.items import said
    >>> from autolab.specimens import Outcome
    >>> said(Outcome(torch.tensor([2.0, 12.5]))), said(Outcome(error=RuntimeError("no")))
    ('[2, 12.5]', 'an error')
    """
    return "an error" if outcome.error is not None else _written(outcome.value)


def _written(value: Any) -> str:
    if hasattr(value, "detach"):
        value = value.detach().cpu().tolist()
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        inside = ", ".join(map(_written, value))
        return f"[{inside}]" if isinstance(value, list) else inside
    return f"{value:g}" if isinstance(value, float) else str(value)


ITEMS = (
    Item(
        5, "Before backward() there is no gradient: .grad is None, which is not 0",
        Form("w = torch.tensor(3.0, requires_grad=True)\ny = 2 * w * w\nw.grad", "None", "0", ("12", "an error")),
        Form("a = torch.tensor(5.0, requires_grad=True)\nb = a * a + 1\na.grad", "None", "0", ("10", "an error")),
    ),
    Item(
        6, "Only leaves keep their gradient",
        Form(
            "x = torch.tensor(3.0, requires_grad=True)\nh = x * x\ny = 2 * h\ny.backward()\nh.grad",
            "None", "2", ("12", "0"),
        ),
        Form(
            "v = torch.tensor(2.0, requires_grad=True)\nu = v * 3\nz = u * u\nz.backward()\nu.grad",
            "None", "12", ("36", "0"),
        ),
    ),
    Item(
        3, "The gradient is the sum over all paths",
        Form(
            "x = torch.tensor(2.0, requires_grad=True)\na = x * 3\nb = x + 1\n(a * b).backward()\nx.grad",
            "15", "9", ("6", "54"),
        ),
        Form(
            "w = torch.tensor(3.0, requires_grad=True)\nu = w * 2\nv = w - 1\n(u * v).backward()\nw.grad",
            "10", "4", ("6", "24"),
        ),
    ),
    Item(
        1, "A second backward() adds to .grad",
        Form(
            "x = torch.tensor(3.0, requires_grad=True)\n(x * x).backward()\n(5 * x).backward()\nx.grad",
            "11", "5", ("6", "None"),
        ),
        Form(
            "w = torch.tensor(2.0, requires_grad=True)\n(w * w).backward()\n(9 * w).backward()\nw.grad",
            "13", "9", ("4", "None"),
        ),
    ),
    Item(
        4, "Whether a graph can run backward twice depends on what it saved",
        Form(
            "x = torch.tensor(3.0, requires_grad=True)\ny = x + 2\ny.backward()\ny.backward()\nx.grad",
            "2", "an error", ("1", "0"),
        ),
        Form(
            "w = torch.tensor(4.0, requires_grad=True)\nz = w - 7\nz.backward()\nz.backward()\nw.grad",
            "2", "an error", ("1", "0"),
        ),
    ),
    Item(
        16, "gradient= is a vector that each result's gradient begins with, not a scale",
        Form(
            "x = torch.tensor([1.0, 2.0], requires_grad=True)\n(x * x).backward(gradient=torch.tensor([1.0, 3.0]))\nx.grad",
            "[2, 12]", "[4, 8]", ("[2, 4]", "[8, 16]"),
        ),
        Form(
            "w = torch.tensor([3.0, 1.0], requires_grad=True)\n(w * w).backward(gradient=torch.tensor([0.0, 4.0]))\nw.grad",
            "[0, 8]", "[12, 4]", ("[6, 2]", "[24, 8]"),
        ),
    ),
    Item(
        23, "Where broadcasting used a number many times, its gradient is the sum",
        Form(
            "x = torch.ones(4, 2)\nb = torch.tensor([1.0, 2.0], requires_grad=True)\n(x + b).sum().backward()\nb.grad",
            "[4, 4]", "[1, 1]", ("[8, 8]", "[2, 2]"),
        ),
        Form(
            "x = torch.ones(3, 2)\nc = torch.tensor([5.0, 6.0], requires_grad=True)\n(2 * (x + c)).sum().backward()\nc.grad",
            "[6, 6]", "[2, 2]", ("[12, 12]", "[3, 3]"),
        ),
    ),
    Item(
        24, "where() does not mask a NaN gradient of the branch not taken",
        Form(
            "x = torch.tensor([0.0, 4.0], requires_grad=True)\n"
            "torch.where(x > 0, x.sqrt(), torch.zeros(2)).sum().backward()\nx.grad",
            "[nan, 0.25]", "[0, 0.25]", ("[inf, 0.25]", "[nan, nan]"),
        ),
        Form(
            "w = torch.tensor([0.0, 1.0], requires_grad=True)\n"
            "torch.where(w > 0, w.sqrt(), torch.ones(2)).sum().backward()\nw.grad",
            "[nan, 0.5]", "[0, 0.5]", ("[inf, 0.5]", "[nan, nan]"),
        ),
    ),
    Item(
        7, "A conversion after requires_grad=True gives a result, which is no leaf",
        Form(
            "w = torch.tensor(2.0, requires_grad=True).double()\n(w * w).backward()\nw.grad",
            "None", "4", ("0", "an error"),
        ),
        Form(
            "v = torch.tensor(3.0, requires_grad=True).double()\n(7 * v).backward()\nv.grad",
            "None", "7", ("0", "an error"),
        ),
    ),
    Item(
        8, "A leaf that requires a gradient may not be changed in place",
        Form(
            "w = torch.tensor(2.0, requires_grad=True)\nw += 1\n(w * w).backward()\nw.grad",
            "an error", "6", ("4", "None"),
        ),
        Form(
            "v = torch.tensor(1.0, requires_grad=True)\nv += 4\n(v * v).backward()\nv.grad",
            "an error", "10", ("2", "None"),
        ),
    ),
    Item(
        9, "A change in place breaks backward() only where the old value was saved",
        Form(
            "x = torch.tensor(3.0, requires_grad=True)\ny = x * 2\ny.add_(1)\ny.backward()\nx.grad",
            "2", "an error", ("3", "None"),
        ),
        Form(
            "w = torch.tensor(4.0, requires_grad=True)\nu = w * 5\nu.sub_(2)\nu.backward()\nw.grad",
            "5", "an error", ("3", "None"),
        ),
    ),
    Item(
        15, "requires_grad = True does not reconnect a loss that was cut off",
        Form(
            "w = torch.tensor(3.0, requires_grad=True)\nloss = (w * w).detach()\nloss.requires_grad = True\n"
            "loss.backward()\nw.grad",
            "None", "6", ("1", "an error"),
        ),
        Form(
            "v = torch.tensor(2.0, requires_grad=True)\ncost = (9 * v).detach()\ncost.requires_grad = True\n"
            "cost.backward()\nv.grad",
            "None", "9", ("1", "an error"),
        ),
    ),
    Item(
        10, "eval() does not stop recording",
        Form(
            "model = torch.nn.Linear(1, 1, bias=False)\nmodel.eval()\nmodel(torch.tensor([[3.0]])).sum().backward()\n"
            "model.weight.grad",
            "[[3]]", "an error", ("[[0]]", "None"),
        ),
        Form(
            "net = torch.nn.Linear(1, 1, bias=False)\nnet.eval()\nnet(torch.tensor([[5.0]])).sum().backward()\n"
            "net.weight.grad",
            "[[5]]", "an error", ("[[0]]", "None"),
        ),
    ),
    Item(
        11, "A frozen layer passes the gradient on to the layers before it",
        Form(
            "a, b, c = (torch.nn.Linear(1, 1, bias=False) for _ in range(3))\nb.requires_grad_(False)\n"
            "c(b(a(torch.ones(1, 1)))).sum().backward()\n[layer.weight.grad is not None for layer in (a, b, c)]",
            "[True, False, True]", "[False, False, True]", ("[True, True, True]", "[True, False, False]"),
        ),
        Form(
            "p, q, r, s = (torch.nn.Linear(1, 1, bias=False) for _ in range(4))\nr.requires_grad_(False)\n"
            "s(r(q(p(torch.ones(1, 1))))).sum().backward()\n[layer.weight.grad is not None for layer in (p, q, r, s)]",
            "[True, True, False, True]", "[False, False, False, True]",
            ("[True, True, True, True]", "[True, True, False, False]"),
        ),
    ),
    Item(
        12, "With momentum, a gradient of 0 still moves a weight",
        Form(
            "w = torch.tensor(3.0, requires_grad=True)\noptimizer = torch.optim.SGD([w], lr=0.5, momentum=0.5)\n"
            "(2 * w).backward()\noptimizer.step()\nw.grad.zero_()\noptimizer.step()\nw.item()",
            "1.5", "2", ("1", "2.5"),
        ),
        Form(
            "v = torch.tensor(8.0, requires_grad=True)\noptimizer = torch.optim.SGD([v], lr=0.25, momentum=0.5)\n"
            "(12 * v).backward()\noptimizer.step()\nv.grad.zero_()\noptimizer.step()\nv.item()",
            "3.5", "5", ("2", "6.5"),
        ),
    ),
    Item(
        13, "Freezing a BatchNorm does not stop its running statistics",
        Form(
            "layer = torch.nn.BatchNorm1d(1)\nlayer.requires_grad_(False)\nlayer(torch.tensor([[4.0], [6.0]]))\n"
            "layer.running_mean",
            "[0.5]", "[0]", ("[5]", "None"),
        ),
        Form(
            "norm = torch.nn.BatchNorm1d(1)\nnorm.requires_grad_(False)\nnorm(torch.tensor([[20.0], [40.0]]))\n"
            "norm.running_mean",
            "[3]", "[0]", ("[30]", "None"),
        ),
    ),
    Item(
        18, "What NumPy computes in between is data to the engine",
        Form(
            "x = torch.tensor([3.0], requires_grad=True)\nh = torch.from_numpy(np.square(x.detach().numpy()))\n"
            "(x * h).backward()\nx.grad",
            "[9]", "[27]", ("[18]", "None"),
        ),
        Form(
            "w = torch.tensor([2.0], requires_grad=True)\nk = torch.from_numpy(np.square(w.detach().numpy()))\n"
            "(w * k).backward()\nw.grad",
            "[4]", "[12]", ("[8]", "None"),
        ),
    ),
    Item(
        19, "from_numpy() shares its memory with the array",
        Form(
            "a = np.array([1.0, 2.0])\nt = torch.from_numpy(a)\na += 10\na = a + 100\nt",
            "[11, 12]", "[1, 2]", ("[111, 112]", "[101, 102]"),
        ),
        Form(
            "b = np.array([3.0, 4.0])\ns = torch.from_numpy(b)\nb *= 2\nb = b + 50\ns",
            "[6, 8]", "[3, 4]", ("[56, 58]", "[53, 54]"),
        ),
    ),
    Item(
        20, "to() moves a module, and gives a new tensor",
        Form(
            'x = torch.ones(1)\nmodel = torch.nn.Linear(1, 1)\nx.to("cuda")\nmodel.to("cuda")\n'
            "x.device.type, model.weight.device.type",
            "cpu, cuda", "cuda, cuda", ("cpu, cpu", "cuda, cpu"),
        ),
        Form(
            'net = torch.nn.Linear(2, 2)\nbatch = torch.zeros(2)\nnet.to("cuda")\nbatch.to("cuda")\n'
            "net.weight.device.type, batch.device.type",
            "cuda, cpu", "cuda, cuda", ("cpu, cpu", "cpu, cuda"),
        ),
    ),
    Item(
        21, "NumPy reads a tensor on a GPU only after .cpu()",
        Form(
            't = torch.ones(1, device="cuda")\n'
            "[runs(lambda: t.item()), runs(lambda: t.numpy()), runs(lambda: t.cpu().numpy())]",
            "[True, False, True]", "[True, True, True]", ("[False, False, True]", "[False, False, False]"),
        ),
        Form(
            'u = torch.zeros(3, device="cuda")\n'
            "[runs(lambda: np.asarray(u)), runs(lambda: u.tolist()), runs(lambda: np.asarray(u.cpu()))]",
            "[False, True, True]", "[True, True, True]", ("[False, False, True]", "[False, False, False]"),
        ),
    ),
)  # fmt: skip
"""In the order in which they are asked."""
