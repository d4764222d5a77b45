"""What an optimizer accepts as a setting, with PyTorch's words for what it does not."""

from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.engine.exact.refusals import unsupported


def refuse(optimizer, **options):
    """Raise NotImplementedError for options that only make PyTorch faster and are not here (foreach, fused, …)."""
    for name, value in options.items():
        if value:
            raise unsupported(type(optimizer).__name__, name)


def check_range(name, value, upper=None):
    """Raise ValueError, in PyTorch's words, unless 0 <= value (< upper)."""
    if not (0.0 <= value and (upper is None or value < upper)):
        raise fail(
            ValueError,
            f"Invalid {name}: {value}",
            "It has to be at least 0" + (f" and below {upper}." if upper else "."),
        )


def check_not_negative(name, value):
    """`check_range` as SGD asks, for which NaN is no error."""
    if value < 0.0:
        check_range(name, value)


def check_lr(lr, check=check_range):
    """Raise ValueError, in PyTorch's words, for a learning rate that is negative or no single number."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise fail(
            ValueError, "Tensor lr must be 1-element", "One learning rate for each parameter group."
        )
    check("learning rate", lr)


def check_adam_like(lr, betas, eps, weight_decay):
    """Raise ValueError, in PyTorch's words, for settings that Adam and its relatives refuse."""
    check_lr(lr)
    check_range("epsilon value", eps)
    for i in (0, 1):
        check_range(f"beta parameter at index {i}", betas[i], 1.0)
    check_range("weight_decay value", weight_decay)


def number(value):
    """A Python number of a number or a one-element tensor."""
    return value.item() if isinstance(value, Tensor) else value
