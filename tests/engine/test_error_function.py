"""The error function: accuracy against exact values, limits, shapes.

The exact values were computed with mpmath at 40 digits and are correctly rounded to float64."""

import math

import numpy as np
import pytest
from goldens import oracle

from autolab.engine.exact.error_function import BLOCK, erf

EXACT = {
    1e-20: 1.1283791670955125e-20,
    0.125: 0.1403162048013338,
    0.5: 0.5204998778130465,
    -0.75: -0.7111556336535151,
    0.9375: 0.8151024010343998,
    1.0: 0.8427007929497149,
    1.25: 0.9229001282564583,
    -2.5: -0.999593047982555,
    3.75: 0.9999998862727434,
    5.5: 0.9999999999999927,
}


@pytest.mark.parametrize(("x", "exact"), EXACT.items())
def test_exact_values(x, exact):
    """float64 is right to a few units in the last place; float32 is the exact value rounded, but for one unit."""
    assert abs(erf(np, np.array([x]))[0] - exact) <= 6 * np.spacing(abs(exact))
    single, rounded = erf(np, np.array([x], np.float32))[0], np.float32(exact)
    if float(np.float32(x)) == x:
        assert single.dtype == np.float32 and abs(single - rounded) <= np.spacing(abs(rounded))


def test_limits():
    points = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 2.0, -2.0, 1e-320, 1e300]
    oracle.check(
        "test_error_function",
        "erf",
        lambda torch: list(torch.erf(torch.tensor(points, dtype=torch.float64))),
    )


def test_shapes_dtypes_and_blocks():
    """More elements than a block, any shape, 0-d, float16: each element as if it were alone."""
    x = np.random.default_rng(2).normal(size=(3, BLOCK // 2 + 7))
    whole = erf(np, x)
    assert whole.shape == x.shape
    for k in (0, 1234, x.size - 1):
        assert whole.ravel()[k] == erf(np, x.ravel()[k : k + 1])[0]
    assert erf(np, np.float64(0.5)).shape == ()
    assert erf(np, np.array([0.5], np.float16)).dtype == np.float16
