"""The items: twenty ideas, each asked by two programs of the same form with different numbers.

Each choice of an item is the result of an engine: the key comes from the right engine, `beliefs`
from the specimens of its misconceptions (`autolab.specimens`), and `others` are slips of the same
kind. A test runs all of them and checks that each of the 25 misconceptions appears.
"""

from __future__ import annotations

import ast
import re
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
    """One program whose last line is asked for, with its choices. text: the program. key: the right
    answer. beliefs: the answer that follows from each misconception. others: further wrong answers,
    so that there are four choices."""

    text: str
    key: str
    beliefs: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def choices(self) -> tuple[str, ...]:
        """Return all choices except `PASS`, the key first."""
        return (self.key, *self.beliefs, *self.others)

    def shuffled(self, id: str, learner: str) -> tuple[str, ...]:
        """Return the choices in this learner's order, with `PASS` last."""
        return (*Random(f"{id} {learner}").sample(self.choices, len(self.choices)), PASS)

    def run(self, torch: Any) -> Any:
        """Return the value of the last line."""
        *before, last = ast.parse(self.text).body
        assert isinstance(last, ast.Expr)
        names: dict[str, Any] = {"torch": torch, "np": np, "runs": runs}
        with ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")  # `.grad` of a tensor that is not a leaf
            if '"cuda"' in self.text and torch is autolab:
                stack.enter_context(torch.cuda.simulate())
            exec(compile(ast.Module(before, []), "<item>", "exec"), names)
            return eval(compile(ast.Expression(last.value), "<item>", "eval"), names)


@dataclass(frozen=True)
class Item:
    """One idea. numbers: its one or two misconceptions. idea: what a learner knows who answers
    correctly. a, b: the two forms."""

    numbers: tuple[int, ...]
    idea: str
    a: Form
    b: Form

    @property
    def number(self) -> int:
        """Return the item's number: the number of the first misconception that it tests."""
        return self.numbers[0]

    def form(self, letter: str) -> Form:
        """Return the form "A" or "B"."""
        return self.a if letter == "A" else self.b

    def given_by(self, letter: str, number: int = 0) -> str:
        """Return the answer of the right engine in a form, or with a number the answer of that
        misconception, written as a choice.

        >>> from autolab.inventory.items import ITEMS
        >>> ITEMS[0].given_by("A"), ITEMS[0].given_by("A", 5)
        ('None', '0')
        """
        engine = SPECIMENS[number] if number else RIGHT
        return said(engine.outcome(self.form(letter).run))


def runs(action: Any) -> bool:
    """Return whether a program raises no error, which some of the programs ask."""
    try:
        action()
    except (TypeError, RuntimeError, ValueError):
        return False
    return True


def said(outcome: Outcome) -> str:
    """Return the result of a program as a choice: "11", "[2, 12]", "None", "an error".

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


def _item(
    numbers: tuple[int, ...],
    idea: str,
    code: str,
    a: tuple[str, ...],
    changed: dict[str, str],
    b: tuple[str, ...],
) -> Item:
    """Return an item from its form A; `changed` maps names and numbers to those of form B. a, b:
    the choices, the key first, then the answer of each misconception."""
    text = textwrap.dedent(code).strip()
    places = "|".join(
        rf"(?<![\w.]){re.escape(one)}(?!\w|\.\d)" for one in sorted(changed, key=len, reverse=True)
    )
    forms = [
        Form(program, key, tuple(wrong[: len(numbers)]), tuple(wrong[len(numbers) :]))
        for program, (key, *wrong) in (
            (text, a),
            (re.sub(places, lambda m: changed[m[0]], text), b),
        )
    ]
    return Item(numbers, idea, *forms)


ITEMS = (
    _item((5,), "Before backward() there is no gradient: .grad is None, which is not 0", """
        w = torch.tensor(3.0, requires_grad=True)
        y = 2 * w * w
        w.grad
    """, ("None", "0", "12", "an error"), {"w": "a", "y": "b", "3.0": "5.0", "2": "4"}, ("None", "0", "40", "an error")),
    _item((6, 7), "Only leaves keep their gradient, and the result of a conversion is not a leaf", """
        x = torch.tensor(3.0, requires_grad=True)
        h = x.double()
        (h * h).backward()
        [x.grad, h.grad]
    """, ("[6, None]", "[6, 6]", "[None, 6]", "[None, None]"), {"x": "v", "h": "u", "3.0": "5.0"},
    ("[10, None]", "[10, 10]", "[None, 10]", "[None, None]")),
    _item((3,), "The gradient is the sum over all paths", """
        x = torch.tensor(2.0, requires_grad=True)
        a = x * 3
        b = x + 1
        (a * b).backward()
        x.grad
    """, ("15", "9", "6", "54"), {"x": "w", "2.0": "3.0", "a": "u", "b": "v", "3": "2", "x + 1": "w - 1"},
    ("10", "4", "6", "24")),
    _item((1,), "A second backward() adds to .grad", """
        x = torch.tensor(3.0, requires_grad=True)
        (x * x).backward()
        (5 * x).backward()
        x.grad
    """, ("11", "5", "6", "None"), {"x": "w", "3.0": "2.0", "5": "9"}, ("13", "9", "4", "None")),
    _item((4,), "Whether a graph can run backward twice depends on what it saved", """
        x = torch.tensor(3.0, requires_grad=True)
        y = x + 2
        y.backward()
        y.backward()
        x.grad
    """, ("2", "an error", "1", "0"), {"x": "w", "y": "z", "3.0": "4.0", "x + 2": "7 - w"}, ("-2", "an error", "-1", "0")),
    _item((16,), "gradient= is the gradient that arrives at the result, not a scale", """
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        (x**2).backward(gradient=torch.tensor([1.0, 3.0]))
        x.grad
    """, ("[2, 12]", "[4, 8]", "[1, 6]", "[2, 4]"), {"x": "w", "[1.0, 2.0]": "[3.0, 1.0]", "[1.0, 3.0]": "[0.0, 4.0]"},
    ("[0, 8]", "[12, 4]", "[0, 4]", "[6, 2]")),
    _item((23,), "Where broadcasting used a number many times, its gradient is the sum", """
        x = torch.ones(4, 2)
        b = torch.tensor([1.0, 2.0], requires_grad=True)
        (3 * (x + b)).sum().backward()
        b.grad
    """, ("[12, 12]", "[3, 3]", "[24, 24]", "[4, 4]"), {"4": "3", "b": "c", "[1.0, 2.0]": "[5.0, 6.0]", "3": "2"},
    ("[6, 6]", "[2, 2]", "[12, 12]", "[3, 3]")),
    _item((24,), "where() does not mask a NaN gradient of the branch not taken", """
        x = torch.tensor([0.0, 4.0], requires_grad=True)
        torch.where(x > 0, x.sqrt(), torch.zeros(2)).sum().backward()
        x.grad
    """, ("[nan, 0.25]", "[0, 0.25]", "[inf, 0.25]", "[nan, nan]"),
    {"x": "w", "4.0": "1.0", "torch.zeros": "torch.ones"}, ("[nan, 0.5]", "[0, 0.5]", "[inf, 0.5]", "[nan, nan]")),
    _item((8, 9), "A leaf may not be changed in place; a result may be, if its old value was not saved", """
        x = torch.tensor(3.0, requires_grad=True)
        y = x * 2
        [runs(lambda: x.add_(1)), runs(lambda: y.add_(1).backward())]
    """, ("[False, True]", "[True, True]", "[False, False]", "[True, False]"), {"x": "w", "y": "u", "3.0": "4.0", "2": "5",
    "[runs(lambda: x.add_(1)), runs(lambda: y.add_(1).backward())]":
    "[runs(lambda: u.sub_(2).backward()), runs(lambda: w.sub_(2))]"},
    ("[True, False]", "[True, True]", "[False, False]", "[False, True]")),
    _item((15,), "requires_grad = True does not reconnect a loss that was cut off", """
        w = torch.tensor(3.0, requires_grad=True)
        loss = (w * w).detach()
        loss.requires_grad = True
        loss.backward()
        w.grad
    """, ("None", "6", "1", "an error"), {"w": "v", "w * w": "9 * v", "3.0": "2.0", "loss": "cost"},
    ("None", "9", "1", "an error")),
    _item((11, 10), "A frozen layer passes the gradient on to the layers before it, and eval() does not stop recording", """
        a, b, c = (torch.nn.Linear(1, 1, bias=False) for _ in range(3))
        model = torch.nn.Sequential(a, b, c).eval()
        b.requires_grad_(False)
        model(torch.ones(1, 1)).sum().backward()
        [layer.weight.grad is not None for layer in (a, b, c)]
    """, ("[True, False, True]", "[False, False, True]", "an error", "[True, True, True]"),
    {"a, b, c": "p, q, r, s", "range(3)": "range(4)", "b": "r", "model": "net"},
    ("[True, True, False, True]", "[False, False, False, True]", "an error", "[True, True, True, True]")),
    _item((14,), "An optimizer updates the tensors that it was given, not those that replace them later", """
        model = torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        model[0] = torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.constant_(model[0].weight, 4.0)
        model(torch.tensor([[2.0]])).sum().backward()
        optimizer.step()
        model[0].weight.item()
    """, ("4", "3", "2", "an error"), {"model": "net", "0.5": "0.25", "4.0": "7.0", "[[2.0]]": "[[8.0]]"},
    ("7", "5", "8", "an error")),
    _item((12, 2), "With momentum, a gradient of 0 still moves a weight; without a gradient nothing moves", """
        w = torch.tensor(3.0, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.5, momentum=0.5)
        (2 * w).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        optimizer.step()
        w.item()
    """, ("1.5", "2", "3", "1"), {"w": "v", "3.0": "8.0", "lr=0.5": "lr=0.25", "2": "12"}, ("3.5", "5", "8", "2")),
    _item((13,), "Freezing a BatchNorm does not stop its running statistics", """
        layer = torch.nn.BatchNorm1d(1)
        layer.requires_grad_(False)
        layer(torch.tensor([[4.0], [6.0]]))
        layer.running_mean
    """, ("[0.5]", "[0]", "[5]", "None"), {"layer": "norm", "4.0": "20.0", "6.0": "40.0"}, ("[3]", "[0]", "[30]", "None")),
    _item((25,), "A falling loss does not prove that a backward is correct; gradcheck compares it with tiny changes", """
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**3
            @staticmethod
            def backward(ctx, arrived):
                (x,) = ctx.saved_tensors
                return arrived * x**2
        x = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
        loss = Cube.apply(x).sum()
        loss.backward()
        falls = Cube.apply(x - 0.01 * x.grad).sum() < loss
        right = torch.autograd.gradcheck(Cube.apply, x, raise_exception=False)
        [falls.item(), right]
    """, ("[True, False]", "[True, True]", "[False, False]", "[False, True]"),
    {"Cube": "Fourth", "x": "v", "x**3": "v**4", "x**2": "v**3", "[2.0]": "[1.0]", "0.01": "0.02",
    "[falls.item(), right]": "[right, falls.item()]"},
    ("[False, True]", "[True, True]", "[False, False]", "[True, False]")),
    _item((17,), "A loss that is kept keeps its graph, also after backward()", """
        w = torch.tensor(2.0, requires_grad=True)
        losses = []
        for x in (1.0, 2.0, 3.0):
            losses.append((w * x - 1) ** 2)
            losses[-1].backward()
        sum(loss.grad_fn is not None for loss in losses)
    """, ("3", "0", "1", "2"), {"w": "v", "losses": "kept", "(1.0, 2.0, 3.0)": "(4.0, 3.0, 2.0, 1.0)"},
    ("4", "0", "1", "3")),
    _item((18,), "What NumPy computes in between is data to the engine", """
        x = torch.tensor([3.0], requires_grad=True)
        h = torch.from_numpy(np.square(x.detach().numpy()))
        (x * h).backward()
        x.grad
    """, ("[9]", "[27]", "[18]", "None"), {"x": "w", "h": "k", "3.0": "2.0"},
    ("[4]", "[12]", "[8]", "None")),
    _item((19,), "from_numpy() shares its memory with the array", """
        a = np.array([1.0, 2.0])
        t = torch.from_numpy(a)
        a += 10
        a = a + 100
        t
    """, ("[11, 12]", "[1, 2]", "[111, 112]", "[101, 102]"), {"a": "b", "t": "s", "[1.0, 2.0]": "[3.0, 4.0]", "+= 10": "*= 2",
    "100": "50"}, ("[6, 8]", "[3, 4]", "[56, 58]", "[53, 54]")),
    _item((20, 21), "to() gives a new tensor, and NumPy reads one on a GPU only after .cpu()", """
        t = torch.ones(1, device="cuda")
        t.to("cpu")
        [t.device.type, t.numpy()]
    """, ("an error", "[cpu, [1]]", "[cuda, [1]]", "[cuda, None]"),
    {"t": "u", "torch.ones": "torch.zeros", "t.numpy()": "np.asarray(u)"},
    ("an error", "[cpu, [0]]", "[cuda, [0]]", "[cuda, None]")),
    _item((22,), "A clock tells how long the host took to launch, unless it waits for the GPU", """
        t = torch.ones(1500, 1500, device="cuda")
        torch.cuda.synchronize()
        start = torch.cuda.perf_counter()
        t @ t                           # keeps this GPU busy for about 1 ms
        first = torch.cuda.perf_counter() - start
        torch.cuda.synchronize()
        second = torch.cuda.perf_counter() - start
        [round(1000 * seconds) for seconds in (first, second)]
    """, ("[0, 1]", "[1, 1]", "[0, 0]", "[1, 0]"), {"t": "m", "1500": "2048", "1 ms": "3 ms", "start": "begun"},
    ("[0, 3]", "[3, 3]", "[0, 0]", "[3, 0]")),
)  # fmt: skip
"""The items in the order in which they are asked."""
