"""Random numbers with the shape, memory layout and dtype of a tensor, and PyTorch's checks of their parameters."""

import numpy as np

from . import random
from ..core.dtype import FROM_NUMPY
from ..core.errors import fail
from .refusals import unsupported


def source(generator):
    """Return the Generator to draw from: `generator`, or the global one for None."""
    return random.default_generator if generator is None else generator


def arranged(values, target):
    """Return 1-d `values` in the shape of `target`, placed in the order of its elements in memory."""
    if target.__class__ is not np.ndarray or target.flags.c_contiguous:
        return values.reshape(target.shape)
    order = sorted(range(target.ndim), key=lambda dim: -target.strides[dim])
    laid = values.reshape([target.shape[dim] for dim in order])
    return laid.transpose(np.argsort(order))


def uniform(target, dtype, low, high, g):
    """Return uniform numbers in [low, high) of `dtype`, arranged like `target`."""
    if not dtype.is_floating_point:
        message = f"\"check_uniform_bounds\" not implemented for '{dtype.short}'"
        raise fail(
            NotImplementedError,
            message,
            "Uniform random numbers need a floating-point dtype. For integers use torch.randint.",
        )
    return arranged(random.uniform(g, target.size, low, high, dtype.np), target)


def normal(target, dtype, mean, std, g):
    """Return normally distributed numbers of `dtype`, arranged like `target`. Raise RuntimeError for a negative
    standard deviation."""
    if not dtype.is_floating_point:
        message = f"\"normal_kernel_cpu\" not implemented for '{dtype.short}'"
        raise fail(
            NotImplementedError, message, "Normal random numbers need a floating-point dtype."
        )
    if not std >= 0:
        message = f"normal expects std >= 0.0, but found std {std:g}"
        raise fail(RuntimeError, message, "A standard deviation is not negative.")
    dense = target.__class__ is not np.ndarray or target.flags.c_contiguous
    return arranged(random.normal(g, target.size, mean, std, dtype.np, dense), target)


def integers(target, dtype, low, high, g):
    """Return integers in [low, high), as int64, arranged like `target`. Raise RuntimeError if `dtype` cannot hold
    them."""
    _check_bounds(low, high, dtype)
    return arranged(random.randint(g, target.size, low, high), target)


def _check_bounds(low, high, dtype):
    """Raise RuntimeError if [low, high) is empty or `dtype` cannot hold it, NotImplementedError for integers that a
    float dtype cannot represent exactly."""
    if low >= high:
        message = f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        raise fail(RuntimeError, message, "The upper bound is not among the numbers drawn.")
    if dtype.is_floating_point:
        largest = 1 << np.finfo(dtype.np).nmant + 1
        if max(-low, high - 1) > largest:
            note = f"{dtype} counts whole numbers up to {largest} only. Draw int64 numbers."
            raise unsupported("random_", "to", note)
        return
    limits = None if dtype.is_bool else np.iinfo(dtype.np)
    lowest, highest = (0, 1) if limits is None else (limits.min, limits.max)
    for name, value in (("from", low), ("to - 1", high - 1)):
        if not lowest <= value <= highest:
            message = f"{name} is out of bounds for {dtype.cpp_name}"
            raise fail(RuntimeError, message, f"{dtype} holds {lowest} to {highest}.")


def shaped(shape):
    """Return an array of this shape that takes no memory, to use as the target of draws."""
    return np.empty(shape, np.dtype([]))


def bernoulli(target, p, g):
    """Return booleans arranged like `target`. `p` is an array of probabilities that broadcasts to `target`."""
    if not FROM_NUMPY[p.dtype].is_floating_point:
        message = f"\"bernoulli_tensor_cpu_p_\" not implemented for '{FROM_NUMPY[p.dtype].short}'"
        raise fail(NotImplementedError, message, "Probabilities are floats; write p.float().")
    if not ((p >= 0) & (p <= 1)).all():
        message = (
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If "
            "so, please report an enhancement request to PyTorch.)"
        )
        raise fail(RuntimeError, message, "A probability lies between 0 and 1.")
    precision = np.float64 if p.dtype == np.float64 else np.float32
    return arranged(random.uniform(g, target.size, dtype=precision), target) < p


def check_probability(p):
    """Raise RuntimeError unless the number `p` is in [0, 1]."""
    if not 0 <= p <= 1:
        message = f"bernoulli_ expects p to be in [0, 1], but got p={p:g}"
        raise fail(RuntimeError, message, "A probability lies between 0 and 1.")


def multinomial(weights, n, replacement, g):
    """Return `n` category numbers for each row of the 2-d float array `weights` (rows need not sum to 1): int64, (rows,
    n).

    For one draw, or without replacement, take the largest weights divided by exponential numbers ("exponential race").
    Otherwise, look up float64 uniform numbers in each row's cumulative sum.
    """
    if n == 1 or not replacement:
        race = weights / arranged(random.exponential(g, weights.size, dtype=weights.dtype), weights)
        return np.argsort(-race, axis=1, kind="stable")[:, :n].astype(np.int64)
    picks = np.empty((len(weights), n), np.int64)
    for row, pick in zip(weights, picks, strict=True):
        total = np.cumsum(row, dtype=row.dtype)
        total /= total[-1]
        pick[:] = np.searchsorted(total, random.uniform(g, n, dtype=np.float64))
    return picks
