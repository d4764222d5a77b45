"""The randomised leaky ReLU: in training the slope of each negative number is drawn anew.

Sources: https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.rrelu.html; Xu, Wang, Chen and Li, "Empirical
Evaluation of Rectified Activations in Convolutional Network" (2015)."""

import math

import numpy as np

from ...devices import device as devices
from ...exact import draws, random
from ...exact.arguments import as_number, bool_argument, check_tensors
from ...core.errors import bad_argument
from ...inplace.changes import apply_inplace
from ...exact.dtype_errors import not_implemented
from ...core.record import OPS
from ..checks import refuse_if
from ..functions import composite, internal
from ...core.tensor import wrap
from ..shape import row_major
from ..with_backward import flat, rule


def _sloped(xp, x, noise, lower, upper, training):
    """`x`, where it is not positive times its drawn slope; in evaluation times the mean of the two bounds."""
    if x.dtype.kind != "f":
        raise not_implemented("leaky_relu_cpu", x.dtype)
    x = row_major(xp, x) if x.ndim else x
    return x * noise if training else OPS["leaky_relu"].forward(xp, x, (lower + upper) / 2)


def _slope_passed(xp, g, x, noise, lower, upper, training):
    if training and upper - lower > 1e-6:  # PyTorch takes a narrower interval for one slope
        return noise * g
    return OPS["leaky_relu_backward"].forward(xp, g, x, (lower + upper) / 2)


_AGAIN = rule("rrelu_with_noise_backward", "self", "noise", "lower", "upper", "training")
_rrelu_op = internal(
    "rrelu_with_noise(Tensor self, Tensor noise, Number lower, Number upper, bool training)",
    operands=("self", "noise"),
    inplace=True,
    inplace_fields={"node": "RreluWithNoiseBackward1"},
    forward=_sloped,
    vjp={"self": _AGAIN},
    latex=r"\begin{cases} {self} & {self} > 0 \\ {noise} \cdot {self} & \text{else} \end{cases}",
    vjp_latex={
        "self": r"{g} \cdot \begin{cases} 1 & {self} > 0 \\ {noise} & \text{else} \end{cases}"
    },
    samples=lambda s: [
        (s.randn(3), s.randn(3), 0.2, 0.4, False)
    ],  # in training PyTorch draws the slopes itself
)

internal(
    "rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Number lower, Number upper, bool training)",
    operands=("grad_output", "self", "noise"),
    forward=_slope_passed,
    vjp={
        "grad_output": _AGAIN,
        "self": flat,
    },
    node="RreluWithNoiseBackwardBackward0",
    samples=lambda s: [
        (s.randn(3), s.randn(3), s.positive(3), 0.125, 0.5, True),
        (s.randn(3), s.randn(3), s.positive(3), 0.2, 0.4, False),
    ],
)


def _noise(x, lower, upper, generator):
    """A slope for each number of the array `x`: 1 where it is positive or nan, else drawn in row-major order.

    Drawn in float64 whatever the dtype, and only where one is needed, as PyTorch does."""
    noise = np.ones(x.shape, x.dtype)
    sloped = x <= 0
    noise[sloped] = random.uniform(
        generator, int(np.count_nonzero(sloped)), lower, upper, np.float64
    )
    return noise


def _bounds(lower, upper):
    """Return both bounds as numbers. Raises TypeError or RuntimeError, in PyTorch's words, for what is no interval."""
    found, note = [], "Slopes are drawn between the two bounds."
    for position, (name, value) in enumerate((("lower", lower), ("upper", upper)), 2):
        number = as_number(value)
        if number is None or isinstance(number, complex):
            raise bad_argument("rrelu", name, position, "Number", value)
        found.append(number)
    for name, number in zip(("lower", "upper"), found):
        message = f"rrelu: {name} bound must be finite, got {number:g}"
        refuse_if(not math.isfinite(number), message, note)
    message = "Lower bound should be less than or equal to the upper bound"
    refuse_if(found[0] > found[1], message, note)
    return found


def _randomized(input, lower, upper, training, generator, inplace):
    check_tensors("rrelu_" if inplace else "rrelu", input=input)
    bounds, raw = _bounds(lower, upper), input._array
    bool_argument("rrelu", "training", 4, training)
    # without training no slope is drawn: what is saved means nothing, as in PyTorch
    slopes = None if training else input.new_empty(input.shape)
    if training:
        if raw.dtype not in (np.float32, np.float64):
            raise not_implemented("rrelu_with_noise_out_cpu", raw.dtype)
        noise = _noise(np.asarray(devices.to_host(raw)), *bounds, draws.source(generator))
        slopes = wrap(noise if noise.ndim else noise[()], input.dtype).to(input.device)
    args = input, slopes, *bounds, training
    return apply_inplace(_rrelu_op, args) if inplace else _rrelu_op.call(*args)


@composite()
def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """Return x where x > 0, else a * x with a slope a drawn for each number from [lower, upper); in evaluation their
    mean.

    Raises RuntimeError for bounds that are not finite or in the wrong order, NotImplementedError for a dtype that is
    not float32 or float64 (in evaluation: no float). Source: torch.rrelu."""
    return _randomized(input, lower, upper, training, generator, False)


@composite()
def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """Apply `rrelu` in place. Source: torch.rrelu_."""
    return _randomized(input, lower, upper, training, generator, True)
