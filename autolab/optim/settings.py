"""Checks of optimizer settings, with PyTorch's error messages."""

from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.engine.exact.refusals import unsupported


_ONLY_SPEED = ("foreach", "capturable", "differentiable", "fused")
"""Options that only make PyTorch faster. They stay in the settings, because PyTorch's saved states contain them."""


def settings(optimizer, arguments, first=()):
    """Return the settings among `arguments`, the `locals()` of a constructor, with the names in `first` at the front.

    Raise NotImplementedError for unsupported options (foreach, fused, …)."""
    for name in _ONLY_SPEED:
        if arguments.get(name):
            raise unsupported(type(optimizer).__name__, name)
    names = dict.fromkeys((*first, *arguments))
    return {n: arguments[n] for n in names if n not in ("self", "params", "__class__")}


def check_plain(name, value):
    """Raise NotImplementedError for a setting that is a tensor: only compiled programs of PyTorch need them."""
    if any(isinstance(v, Tensor) for v in (value if isinstance(value, tuple) else (value,))):
        note = "Pass a number: .item() makes one of a tensor."
        raise unsupported("optimizer", f"{name} that is a tensor", note)


def check_range(name, value, upper=None):
    """Raise ValueError in PyTorch's words unless 0 <= value (< upper)."""
    check_plain(name, value)
    if not (0.0 <= value and (upper is None or value < upper)):
        raise fail(
            ValueError,
            f"Invalid {name}: {value}",
            "It has to be at least 0" + (f" and below {upper}." if upper else "."),
        )


def check_not_negative(name, value):
    """Do `check_range` as SGD does: NaN is not an error."""
    check_plain(name, value)
    if value < 0.0:
        check_range(name, value)


def check_ranges(**values):
    """Raise ValueError in PyTorch's words unless each value is at least 0."""
    for name, value in values.items():
        check_range(f"{name} value", value)


def check_at_least(limit, **values):
    """Raise ValueError in the words of Muon and Adafactor unless each value is at least `limit`."""
    for name, value in values.items():
        check_plain(name, value)
        if not value >= limit:
            message = f"{'Learning rate' if name == 'lr' else name} should be >= {int(limit)} but is: {value}"
            raise fail(ValueError, message, "Choose a larger value.")
