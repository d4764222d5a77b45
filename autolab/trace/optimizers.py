r"""The arithmetic of one optimizer's step for one parameter, line by line, as `autolab.optim` computes it.

Each rule below writes a method's lines once; `terms` turns them into text, LaTeX and, for a parameter of one number,
the numbers of this step. Sources: the classes of `autolab.optim`, which cite theirs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .reader import is_tensor
from .captions.terms import Line, Term, root, named


@dataclass(slots=True)
class Facts:
    """The values of one parameter around a step. With more than one number, the numbers are None and the states empty.

    name: the parameter's; settings: its parameter group's; before, state_before: its values when the step began; grad:
    `.grad` then; kept: the keys of its state then, whatever their size."""

    name: str
    settings: dict[str, Any]
    before: float | None = None
    grad: float | None = None
    after: float | None = None
    state_before: dict[str, float] = field(default_factory=dict)
    state_after: dict[str, float] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()


class Sheet:
    """Collects the lines of one step."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.lines = facts, list[Line]()
        self.w = named(facts.name, facts.before)
        grad = named(f"{facts.name}.grad", facts.grad)
        self.g = self.let("g", -grad) if facts.settings.get("maximize") else grad
        self.lr, self.step = self.setting("lr"), named("t", self.after("step"))

    def on(self, setting: str) -> bool:
        return bool(number(self.facts.settings.get(setting)))

    def setting(self, name: str) -> Term:
        """Return a setting by its name; `betas[0]` and the like by position."""
        base, _, place = name.rstrip("]").partition("[")
        value: Any = self.facts.settings.get(base)
        value = number(value[int(place)] if place else value)
        shown = {"betas[0]": "beta1", "betas[1]": "beta2"}.get(name, name)
        return named(shown, None if value is None else float(value))

    def old(self, key: str, symbol: str) -> Term:
        """Return a number of the parameter's state as it was before the step."""
        known = self.facts.before is not None
        return named(symbol, self.facts.state_before.get(key, 0.0) if known else None)

    def after(self, key: str) -> float | None:
        return self.facts.state_after.get(key)

    def let(self, symbol: str, term: Term, key: str = "", tex: str | None = None) -> Term:
        """Add the line `symbol = term`. Take its new value from the state's entry `key` if it is stored there."""
        result = self.after(key) if key else term.exact
        found = named(symbol, result, tex)
        self.lines.append(Line(symbol, found.forms[1], term, result))
        return found

    def mean(self, symbol: str, key: str, weight: Term, of: Term) -> Term:
        """Add the line of a running mean: weight * mean + (1 - weight) * of."""
        return self.let(symbol, weight * self.old(key, symbol) + (1 - weight) * of, key)

    def decayed(self) -> Term:
        """Return the gradient, plus weight_decay * w if weight decay is on."""
        if self.on("weight_decay") and not self.facts.settings.get("decoupled_weight_decay"):
            return self.let("d", self.g + self.setting("weight_decay") * self.w)
        return self.g

    def shrunk(self) -> Term:
        """Return the parameter, first shrunk if weight decay is decoupled from the gradient."""
        if self.on("weight_decay") and self.facts.settings.get("decoupled_weight_decay"):
            less = self.w * (1 - self.lr * self.setting("weight_decay"))
            text, tex = self.w.forms[:2]
            self.lines.append(Line(text, tex, less, less.exact))
            return named(text, less.exact, tex)
        return self.w

    def done(self, term: Term) -> None:
        text, tex = self.w.forms[:2]
        self.lines.append(Line(text, tex, term, self.facts.after))


def number(item: Any) -> Any:
    """Return a setting as a Python number; it may be a tensor."""
    return item.item() if is_tensor(item) and item.numel() == 1 else item


def _sgd(s: Sheet) -> None:
    d = s.decayed()
    if s.on("momentum"):
        momentum = s.setting("momentum")
        first = "momentum_buffer" not in s.facts.kept
        damped = (1 - s.setting("dampening")) * d if s.on("dampening") else d
        b = s.let(
            "b",
            d if first else momentum * s.old("momentum_buffer", "b") + damped,
            "momentum_buffer",
        )
        d = s.let("d", d + momentum * b) if s.on("nesterov") else b
    s.done(s.w - s.lr * d)


def _adam(s: Sheet) -> None:
    w, d = s.shrunk(), s.decayed()
    beta1, beta2 = s.setting("betas[0]"), s.setting("betas[1]")
    m = s.mean("m", "exp_avg", beta1, d)
    v = s.mean("v", "exp_avg_sq", beta2, d * d)
    m_hat = s.let("m_hat", m / (1 - beta1**s.step), tex=r"\hat{m}")
    v_hat = s.let("v_hat", v / (1 - beta2**s.step), tex=r"\hat{v}")
    s.done(w - s.lr * m_hat / (root(v_hat) + s.setting("eps")))


_RULES: dict[str, Callable[[Sheet], None]] = {
    "SGD": _sgd,
    "Adam": _adam,
    "AdamW": _adam,
}
SETTINGS = (
    "lr", "momentum", "dampening", "nesterov", "betas", "alpha", "rho", "eps", "weight_decay",
    "amsgrad", "centered", "maximize",
)  # fmt: skip
"""What a step's sentence and Details say of a parameter group, in this order; others change no number of the
formulas."""


_STEPS = frozenset(["step", "_update"])  # options that decide whether a rule uses an optional state
_PARTS = frozenset(
    ["_update", "_with_momentum", "_with_grad"]
)  # the methods, besides `step`, that contain an optimizer's arithmetic


_OURS = ("autolab.optim.", "torch.optim.")  # both compute the same


def lines(cls: type, facts: Facts) -> list[Line]:
    """Return the lines of a step of an optimizer of that class; [] if its arithmetic is not written here, as for a
    learner's own."""
    kind = next((c for c in cls.__mro__ if not _STEPS.isdisjoint(vars(c))), cls)
    rule = _RULES.get(kind.__name__)
    changed = any(
        not c.__module__.startswith(_OURS) for c in cls.__mro__ if not _PARTS.isdisjoint(vars(c))
    )
    told = rule is not None and not facts.settings.get("amsgrad")
    if not told or not kind.__module__.startswith(_OURS) or changed:
        return []
    sheet = Sheet(facts)
    _RULES[kind.__name__](sheet)
    return sheet.lines


def settings(group: dict[str, Any]) -> dict[str, Any]:
    """Return the relevant settings of a parameter group as JSON; values of 0 or False are left out, except the learning
    rate."""
    found = {}
    for name in SETTINGS:
        value = number(group.get(name))
        if name == "lr" or value:
            several = isinstance(value, (tuple, list))
            found[name] = (
                [v if v is None else float(number(v)) for v in value] if several else value
            )
    return found
