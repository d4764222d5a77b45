"""The base class of distributions: shapes, checks, and methods derived from `rsample`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import autolab
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor


class Constraint(NamedTuple):
    """A condition on a tensor, under PyTorch's name for it."""

    name: str
    holds: Callable[[Tensor], Tensor]

    def __repr__(self):
        return self.name


REAL = Constraint("Real()", lambda x: x == x)
POSITIVE = Constraint("GreaterThan(lower_bound=0.0)", lambda x: x > 0)
REAL_VECTOR = Constraint("IndependentConstraint(Real(), 1)", lambda x: (x == x).all(-1))


def broadcast_all(*values: Any) -> list[Tensor]:
    """Return numbers and tensors as tensors of one common shape; numbers take the dtype of the first tensor."""
    like = next((v for v in values if isinstance(v, Tensor)), autolab.tensor(0.0))
    options = {"dtype": like.dtype, "device": like.device}
    tensors = [v if isinstance(v, Tensor) else autolab.tensor(v, **options) for v in values]
    return list(autolab.broadcast_tensors(*tensors))


class Distribution:
    """Base class of distributions: `batch_shape` is the shape of the parameters, `event_shape` the shape of one draw.

    Subclasses define `arg_constraints` (a constraint for each parameter), `support` and `log_prob`, and `sample` or
    `rsample`. `validate_args=False` skips the checks. Raise ValueError for parameters out of range.
    """

    has_rsample = False
    arg_constraints: Any = {}
    support: Any = REAL
    _validate_args = True

    def __init__(
        self,
        batch_shape: Iterable[int] = (),
        event_shape: Iterable[int] = (),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape, self._event_shape = autolab.Size(batch_shape), autolab.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        for name, constraint in self.arg_constraints.items() if self._validate_args else ():
            value = self.__dict__.get(name)
            if value is not None and not constraint.holds(value).all():
                raise fail(
                    ValueError,
                    f"Expected parameter {name} ({_described(value)}) of distribution {self!r} to satisfy the "
                    f"constraint {constraint!r}, but found invalid values:\n{value}",
                    f"Change {name}: often it needs an exp() or a softmax() first.",
                )

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Return the shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Return the shape of one draw of one distribution of the batch."""
        return self._event_shape

    @property
    def stddev(self) -> Tensor:
        """Return the standard deviation."""
        return self.variance.sqrt()

    @property
    def variance(self) -> Tensor:
        """Return the variance. Subclasses define it."""
        raise NotImplementedError

    def sample(self, sample_shape: Iterable[int] = ()) -> Tensor:
        """Draw a tensor of shape sample_shape + batch_shape + event_shape, without history."""
        with autolab.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Iterable[int] = ()) -> Tensor:
        """Draw like `sample`, but by a formula through which gradients reach the parameters."""
        raise NotImplementedError

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability (density) at `value`. Subclasses define it."""
        raise NotImplementedError

    def _shape(self, sample_shape):
        return autolab.Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _check_value(self, value):
        """Raise ValueError unless `value` has the shape of draws and is in the support."""
        if not self._validate_args:
            return
        note = f"A draw has shape {tuple(self._shape(()))}."
        if not isinstance(value, Tensor):
            raise fail(ValueError, "The value argument to log_prob must be a Tensor", note)
        shape, events = value.shape, len(self._event_shape)
        if shape[len(shape) - events :] != self._event_shape:
            message = f"The right-most size of value must match event_shape: {shape} vs {self._event_shape}."
            raise fail(ValueError, message, note)
        expected = self._shape(())
        if any(1 != i != j != 1 for i, j in zip(reversed(shape), reversed(expected))):
            message = (
                f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {expected}."
            )
            raise fail(ValueError, message, note)
        if not self.support.holds(value).all():
            raise fail(
                ValueError,
                f"Expected value argument ({_described(value)}) to be within the support ({self.support!r}) of the "
                f"distribution {self!r}, but found invalid values:\n{value}",
                "Such a value can never be drawn.",
            )

    def __repr__(self) -> str:
        own = {name: vars(self)[name] for name in self.arg_constraints if name in vars(self)}
        shown = {name: v if v.numel() == 1 else v.size() for name, v in own.items()}
        return f"{type(self).__name__}({', '.join(f'{name}: {v}' for name, v in shown.items())})"


def _described(value):
    return f"{type(value).__name__} of shape {tuple(value.shape)}"
