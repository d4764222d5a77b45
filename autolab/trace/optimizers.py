r"""The arithmetic of one optimizer's step for one parameter, line by line, as `autolab.optim` computes it.

Each rule below writes a method's lines once; `terms` makes of them text, LaTeX and, for a parameter of one number, this
step's numbers. Sources: the classes of `autolab.optim`, which name theirs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .reader import is_tensor
from .terms import Line, Term, constant, function, named


@dataclass(slots=True)
class Facts:
    """What was true of one parameter around a step. The numbers are None, and the states empty, for more than one
    number.

    name: the parameter's; settings: those of its parameter group; before, state_before: as the step began; grad:
    `.grad` then; kept: the entries that its state had then, whatever their size."""

    name: str
    settings: dict[str, Any]
    before: float | None = None
    grad: float | None = None
    after: float | None = None
    state_before: dict[str, float] = field(default_factory=dict)
    state_after: dict[str, float] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()


class Sheet:
    """Lines in the making."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.lines = facts, list[Line]()
        self.w = named(facts.name, facts.before)
        grad = named(f"{facts.name}.grad", facts.grad)
        self.g = self.let("g", -grad) if facts.settings.get("maximize") else grad
        self.lr, self.step = self.setting("lr"), named("t", self.after("step"))

    @property
    def known(self) -> bool:
        return self.facts.before is not None

    def on(self, setting: str) -> bool:
        return bool(number(self.facts.settings.get(setting)))

    def setting(self, name: str, tex: str | None = None) -> Term:
        """A setting, by its name; `betas[0]` and the like by their position."""
        base, _, place = name.rstrip("]").partition("[")
        value: Any = self.facts.settings.get(base)
        value = number(value[int(place)] if place else value)
        shown = {
            "betas[0]": "beta1",
            "betas[1]": "beta2",
            "etas[0]": "eta1",
            "etas[1]": "eta2",
        }.get(name, name)
        return named(shown, None if value is None else float(value), tex)

    def old(self, key: str, symbol: str, tex: str | None = None, start: float = 0.0) -> Term:
        """A number of the parameter's state, as it was before the step."""
        return named(symbol, self.facts.state_before.get(key, start) if self.known else None, tex)

    def after(self, key: str) -> float | None:
        return self.facts.state_after.get(key)

    def let(self, symbol: str, term: Term, key: str = "", tex: str | None = None) -> Term:
        """Adds the line `symbol = term`; what it is afterwards, from the state's entry `key` where it is kept there."""
        result = self.after(key) if key else term.exact
        found = named(symbol, result, tex)
        self.lines.append(Line(symbol, found.tex, term, result))
        return found

    def mean(self, symbol: str, key: str, weight: Term, of: Term, tex: str | None = None) -> Term:
        """A running mean: weight * mean + (1 - weight) * of."""
        return self.let(symbol, weight * self.old(key, symbol, tex) + (1 - weight) * of, key, tex)

    def decayed(self) -> Term:
        """The gradient, with weight_decay * w added where that is asked for."""
        if self.on("weight_decay") and not self.facts.settings.get("decoupled_weight_decay"):
            return self.let("d", self.g + self.setting("weight_decay") * self.w)
        return self.g

    def shrunk(self) -> Term:
        """The parameter, made smaller first where weight decay is apart from the gradient."""
        if self.on("weight_decay") and self.facts.settings.get("decoupled_weight_decay"):
            less = self.w * (1 - self.lr * self.setting("weight_decay"))
            self.lines.append(Line(self.w.text, self.w.tex, less, less.exact))
            return named(self.w.text, less.exact, self.w.tex)
        return self.w

    def done(self, term: Term) -> None:
        self.lines.append(Line(self.w.text, self.w.tex, term, self.facts.after))


def number(item: Any) -> Any:
    """A setting as a Python number; it may be a tensor."""
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
    if s.on("amsgrad"):
        v = s.let(
            "v_max",
            function("max", s.old("max_exp_avg_sq", "v_max", _V_MAX), v),
            "max_exp_avg_sq",
            _V_MAX,
        )
    m_hat = s.let("m_hat", m / (1 - beta1**s.step), tex=r"\hat{m}")
    v_hat = s.let("v_hat", v / (1 - beta2**s.step), tex=r"\hat{v}")
    s.done(w - s.lr * m_hat / (function("sqrt", v_hat) + s.setting("eps")))


_V_MAX = r"v_{\mathrm{max}}"


def _adamax(s: Sheet) -> None:
    d, beta1 = s.decayed(), s.setting("betas[0]")
    m = s.mean("m", "exp_avg", beta1, d)
    larger = function(
        "max", s.setting("betas[1]") * s.old("exp_inf", "u"), function("abs", d) + s.setting("eps")
    )
    u = s.let("u", larger, "exp_inf")
    s.done(s.w - s.lr / (1 - beta1**s.step) * m / u)


def _nadam(s: Sheet) -> None:
    w, d = s.shrunk(), s.decayed()
    beta1, beta2, decay = s.setting("betas[0]"), s.setting("betas[1]"), s.setting("momentum_decay")
    mu = s.let("mu", beta1 * (1 - 0.5 * constant(0.96) ** (s.step * decay)))
    after = s.let(
        "mu_next", beta1 * (1 - 0.5 * constant(0.96) ** ((s.step + 1) * decay)), tex=r"\mu'"
    )
    product = s.let("p", s.old("mu_product", "p", start=1.0) * mu, "mu_product")
    m = s.mean("m", "exp_avg", beta1, d)
    v = s.mean("v", "exp_avg_sq", beta2, d * d)
    spread = s.let("s", function("sqrt", v / (1 - beta2**s.step)) + s.setting("eps"))
    s.done(
        w
        - s.lr * (1 - mu) / (1 - product) * d / spread
        - s.lr * after / (1 - product * after) * m / spread
    )


def _radam(s: Sheet) -> None:
    w, d = s.shrunk(), s.decayed()
    beta1, beta2 = s.setting("betas[0]"), s.setting("betas[1]")
    m = s.mean("m", "exp_avg", beta1, d)
    v = s.mean("v", "exp_avg_sq", beta2, d * d)
    m_hat = s.let("m_hat", m / (1 - beta1**s.step), tex=r"\hat{m}")
    longest = s.let("rho_max", constant(2.0) / (1 - beta2) - 1, tex=r"\rho_{\infty}")
    rho = s.let("rho", longest - 2 * s.step * beta2**s.step / (1 - beta2**s.step))
    if not s.known:
        return  # which of the two forms a step takes depends on numbers
    if rho.exact is not None and rho.exact <= 5:
        return s.done(w - s.lr * m_hat)
    top, bottom = (rho - 4) * (rho - 2) * longest, (longest - 4) * (longest - 2) * rho
    r = s.let("r", function("sqrt", top / bottom))
    root = function("sqrt", 1 - beta2**s.step)
    return s.done(w - s.lr * m_hat * r * root / (function("sqrt", v) + s.setting("eps")))


def _adagrad(s: Sheet) -> None:
    d = s.decayed()
    total = s.let(
        "s",
        s.old("sum", "s", start=float(s.facts.settings["initial_accumulator_value"])) + d * d,
        "sum",
    )
    lr = s.lr / (1 + (s.step - 1) * s.setting("lr_decay")) if s.on("lr_decay") else s.lr
    s.done(s.w - lr * d / (function("sqrt", total) + s.setting("eps")))


def _adadelta(s: Sheet) -> None:
    d, rho, eps = s.decayed(), s.setting("rho"), s.setting("eps")
    v = s.mean("v", "square_avg", rho, d * d)
    delta = s.let(
        "delta", function("sqrt", s.old("acc_delta", "u") + eps) / function("sqrt", v + eps) * d
    )
    s.mean("u", "acc_delta", rho, delta * delta)
    s.done(s.w - s.lr * delta)


def _rmsprop(s: Sheet) -> None:
    d, alpha = s.decayed(), s.setting("alpha")
    v = s.mean("v", "square_avg", alpha, d * d)
    if s.on("centered"):
        a = s.mean("a", "grad_avg", alpha, d)
        v = v - a * a
    spread = function("sqrt", v) + s.setting("eps")
    if s.on("momentum"):
        b = s.let(
            "b",
            s.setting("momentum") * s.old("momentum_buffer", "b") + d / spread,
            "momentum_buffer",
        )
        return s.done(s.w - s.lr * b)
    return s.done(s.w - s.lr * d / spread)


def _asgd(s: Sheet) -> None:
    d, start = s.decayed(), float(number(s.facts.settings["lr"]))
    eta = s.old("eta", "eta", start=start)
    s.done(s.w * (1 - s.setting("lambd", r"\lambda") * eta) - eta * d)


def _rprop(s: Sheet) -> None:
    if not s.known:
        return
    same = (s.facts.grad or 0.0) * s.facts.state_before.get("prev", 0.0)
    size = s.old("step_size", "s", start=float(number(s.facts.settings["lr"])))
    low, high = (constant(float(x)) for x in s.facts.settings["step_sizes"])
    if same:
        size = size * s.setting("etas[1]" if same > 0 else "etas[0]")
    size = s.let("s", function("min", function("max", size, low), high), "step_size")
    s.done(
        s.w if same < 0 else s.w - function("sign", s.g) * size
    )  # where the sign turned it stays, once


_RULES: dict[str, Callable[[Sheet], None]] = {
    "SGD": _sgd,
    "Adam": _adam,
    "AdamW": _adam,
    "Adamax": _adamax,
    "NAdam": _nadam,
    "RAdam": _radam,
    "Adagrad": _adagrad,
    "Adadelta": _adadelta,
    "RMSprop": _rmsprop,
    "ASGD": _asgd,
    "Rprop": _rprop,
}
SETTINGS = (
    "lr", "momentum", "dampening", "nesterov", "betas", "alpha", "rho", "eps", "weight_decay", "lr_decay",
    "momentum_decay", "lambd",
    "amsgrad", "centered", "maximize",
)  # fmt: skip
"""What a step's sentence and Details say of a parameter group, in this order; others change no number of the
formulas."""


_STEPS = frozenset(
    ["step", "_update"]
)  # which of the two states an optimizer's rule depends on what it inherits
_PARTS = frozenset(
    ["_update", "_with_momentum", "_with_grad"]
)  # what a method's arithmetic is made of, beside `step`


_OURS = ("autolab.optim.", "torch.optim.")  # both compute the same


def lines(cls: type, facts: Facts) -> list[Line]:
    """The lines of a step of an optimizer of that class, [] for one whose arithmetic is not written here: LBFGS, and a
    learner's own."""
    kind = next((c for c in cls.__mro__ if not _STEPS.isdisjoint(vars(c))), cls)
    rule = _RULES.get(kind.__name__)
    changed = any(
        not c.__module__.startswith(_OURS) for c in cls.__mro__ if not _PARTS.isdisjoint(vars(c))
    )
    if rule is None or not kind.__module__.startswith(_OURS) or changed:
        return []
    sheet = Sheet(facts)
    rule(sheet)
    return sheet.lines


def settings(group: dict[str, Any]) -> dict[str, Any]:
    """The settings of a parameter group that count, as JSON; what is 0 or False is left out, but for the rate."""
    found = {}
    for name in SETTINGS:
        value = number(group.get(name))
        if name == "lr" or value:
            several = isinstance(value, (tuple, list))
            found[name] = (
                [v if v is None else float(number(v)) for v in value] if several else value
            )
    return found
