"""The order of additions: sums of contiguous arrays end in PyTorch's last digit."""

import itertools

import numpy as np
import pytest
from engine_expressions import last_digits
from goldens import oracle

from autolab.engine.exact import sums as cascade
from autolab.engine.fast.sums import plan

SHAPES = [
    (1,),
    (2,),
    (3,),
    (5,),
    (7,),
    (8,),
    (9,),
    (15,),
    (31,),
    (32,),
    (33,),
    (100,),
    (511,),
    (512,),
    (513,),
    (1000,),
    (8191,),
    (30000,),
    (2, 3),
    (3, 2),
    (4, 7),
    (5, 8),
    (8, 5),
    (10, 33),
    (33, 10),
    (40, 40),
    (100, 3),
    (3, 100),
    (200, 100),
    (1, 5),
    (5, 1),
    (700, 2),
    (2, 700),
    (2, 3, 4),
    (5, 6, 7),
    (20, 4, 9),
    (3, 1, 4),
    (4, 3, 8, 8),
]


def numbers(shape, dtype):
    return np.random.default_rng(len(shape) * 1000 + shape[0]).normal(size=shape).astype(dtype)


def axes_of(shape):
    """Every run of dimensions that follow each other; None for all."""
    ends = range(len(shape) + 1)
    return [None, *(tuple(range(a, b)) for a, b in itertools.combinations(ends, 2))]


@last_digits
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_are_pytorchs_to_the_last_bit(shape, dtype):
    expected = oracle.answer(
        "test_cascade",
        f"sum {shape} {dtype}",
        lambda torch: {
            str(axis): torch.tensor(numbers(shape, dtype)).sum(axis or ())
            for axis in axes_of(shape)
        },
    )
    for axis in axes_of(shape):
        np.testing.assert_array_equal(
            cascade.add(numbers(shape, dtype), axis),
            expected[str(axis)],
            err_msg=str(axis),
            strict=False,
        )


def test_what_is_not_float_or_large_is_left_to_numpy():
    x = np.arange(10)
    assert cascade.add(x) == 45 and cascade.add(x).dtype == np.int64
    big = np.ones(cascade.FEW, np.float32)
    assert cascade.add(big) == cascade.FEW
    assert (
        cascade.add(np.float32(2.5)) == 2.5 and cascade.add(np.array([-0.0, -0.0], np.float32)) == 0
    )
    assert not np.signbit(cascade.add(np.array([-0.0, -0.0], np.float32)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_planned_sums_are_the_plain_ones_to_the_last_bit(dtype):
    """`fast/sums.py` and `exact.sums._rows`, for every length below 1,200; zeros keep torch's sign."""
    lanes, random = cascade._LANES[np.dtype(dtype).char], np.random.default_rng(0)
    for n in range(lanes, 1200):
        for x in (random.standard_normal(n).astype(dtype), np.full(n, -0.0, dtype)):
            planned, plain = (
                plan(x.dtype, x.shape, lanes)(x)[-1],
                cascade._rows(x.reshape(1, n), lanes)[-1],
            )
            assert planned.tobytes() == plain.tobytes(), n
