"""The randomised leaky ReLU: in training, the slope of each negative number is random.

Sources: https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.rrelu.html; Xu, Wang, Chen and Li, "Empirical
Evaluation of Rectified Activations in Convolutional Network" (2015)."""

import numpy as np

from ...devices import device as devices
from ...exact import draws, random
from ...exact.dtype_errors import not_implemented
from ..checks import refuse_if
from ..functions import composite
from ..sampling import placed


def _slopes(input, lower, upper, training, generator):
    """Return the slope of each number: 1 where it is positive, else drawn in row-major order, or the mean of both
    bounds in evaluation."""
    if not input.dtype.is_floating_point:
        raise not_implemented("rrelu_with_noise_out_cpu", input._array.dtype)
    refuse_if(
        not lower <= upper,
        "Lower bound should be less than or equal to the upper bound",
        "`lower` must not be greater than `upper`.",
    )
    x = np.asarray(devices.to_host(input._array))
    slopes = np.ones(x.shape, x.dtype)
    if training:
        n = int(np.count_nonzero(x <= 0))
        slopes[x <= 0] = random.uniform(draws.source(generator), n, lower, upper, np.float64)
    else:
        slopes[x <= 0] = (lower + upper) / 2
    return placed(slopes, input)


@composite()
def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """Return x where x > 0, else a * x with a slope a drawn for each element from [lower, upper); in evaluation, a is
    their mean. Raise RuntimeError for bounds in the wrong order. Source: torch.rrelu."""
    return input * _slopes(input, lower, upper, training, generator)


@composite()
def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """Apply `rrelu` in place. Source: torch.rrelu_."""
    return input.mul_(_slopes(input, lower, upper, training, generator))
