"""Programs that make graphs and go back through them in every way: drawn by chance, and recorded as a learner would."""

from __future__ import annotations

import linecache
import random
import warnings

import autolab
from autolab.trace import Trace

STEPS = (
    "{new} = {a} * {b}",
    "{new} = {a} + {b} * 0.5",
    "{new} = {a}.tanh()",
    "{new} = {a}.detach() + {b}",
    "{new} = {a}.detach()",
    "{new} = {a} * ({b} > 0)",
    "{new} = {a}[{b}.argmax()] + {b}",
    "{new} = {a}.max(dim=0)[0] * {b}",
    "{new} = {a}.cumsum(0)\nwith torch.no_grad():\n    shift{n} = {a} * 2\n{new} = {new} + shift{n}",
    "{new} = torch.where(torch.tensor([True, False]), {a}, {b})",
)
PASSES = (
    "{a}.sum().backward()",
    "{a}.sum().backward(retain_graph=True)",
    "({a} * {b}).sum().backward(inputs=[{leaf}])",
    "g{n}, = torch.autograd.grad({a}.sum(), {leaf}, retain_graph=True, allow_unused=True)",
    "g{n}, h{n} = torch.autograd.grad({a}.sum(), [{a}, {leaf}], allow_unused=True, materialize_grads=True)",
    "gs{n} = torch.autograd.grad({a}.sum(), {leaf}, create_graph=True, allow_unused=True)\n"
    "if gs{n}[0] is not None and gs{n}[0].requires_grad:\n    (gs{n}[0] * {b}).sum().backward()",
    "{leaf}.grad = None",
    "if {leaf}.grad is not None:\n    {leaf}.grad.zero_()",
    "{a}.retain_grad() if {a}.requires_grad else None",
    "with torch.no_grad():\n    {leaf} -= 0.1",
    "{leaf}.requires_grad_(False)",
)


def source(seed: int) -> str:
    """The text of a program of ten to twenty lines."""
    draw = random.Random(seed)
    leaves, made = ["u", "v", "w"], ["u", "v", "w", "data"]
    lines = [
        f"{leaf} = torch.tensor([{draw.uniform(-2, 2):.2f}, {draw.uniform(-2, 2):.2f}], requires_grad=True)"
        for leaf in leaves
    ]
    lines.append("data = torch.tensor([1.5, -2.0])")
    for n in range(draw.randint(6, 14)):
        choice = draw.choice(STEPS if n < 4 or draw.random() < 0.55 else PASSES)
        code = choice.format(
            new=f"t{n}",
            a=draw.choice(made[-4:]),
            b=draw.choice(made),
            leaf=draw.choice(leaves),
            n=n,
        )
        if choice in STEPS:
            made.append(f"t{n}")
            lines.append(code)
        else:  # what PyTorch refuses is refused here, too, and the story goes on
            lines += [
                "try:",
                *(f"    {line}" for line in code.split("\n")),
                "except RuntimeError:",
                "    pass",
            ]
    return "\n".join(line for part in lines for line in part.split("\n")) + "\n"


def recorded(seed: int) -> Trace:
    """The trace of a program."""
    text, name = source(seed), f"<story {seed}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    with warnings.catch_warnings(), autolab.record() as recording:
        warnings.simplefilter("ignore")
        exec(compile(text, name, "exec"), {"torch": autolab})
    return recording.trace()
