"""Sample inputs for an op's record: `samples=lambda s: [s.randn(3), (s.randn(2, 3), 1)]`, one entry per call, a tuple
where there are several arguments.

An entry's arrays (float64, the same in every process) become tensors; numbers, tuples and strings stay as they are; a
dict in the last place holds keyword arguments. Every op gets gradcheck, gradgradcheck and a comparison with PyTorch
from its samples, so
choose points where the op is smooth, and at least one sample per way in which the op behaves differently (broadcast,
dim, keepdim).
"""

from __future__ import annotations

import numpy as np


class Samples:
    """Draws arrays; `shape` is given as numbers: `s.randn(2, 3)`. All are float64 unless said otherwise."""

    def __init__(self, seed: int = 0):
        self._rng = np.random.default_rng(seed)

    def randn(self, *shape):
        """Standard normal numbers, no two within 1e-3 of each other and none of 0 (so that kinks and ties are not
        hit)."""
        x = self._rng.standard_normal(shape)
        x = np.where(np.abs(x) < 0.05, 0.05 + np.abs(x), x)
        return self._apart(x)

    def uniform(self, low, high, *shape):
        """Numbers between `low` and `high`."""
        return self._apart(self._rng.uniform(low, high, shape))

    def positive(self, *shape):
        """Numbers between 0.5 and 2.5."""
        return self.uniform(0.5, 2.5, *shape)

    def away_from_zero(self, *shape):
        """Numbers of either sign with 0.4 <= |x| <= 1.6."""
        return self.uniform(0.4, 1.6, *shape) * self.signs(*shape)

    def probabilities(self, *shape):
        """Numbers between 0.05 and 0.95."""
        return self.uniform(0.05, 0.95, *shape)

    def signs(self, *shape):
        """-1 and 1, as floats."""
        return np.where(self._rng.random(shape) < 0.5, -1.0, 1.0)

    def distinct(self, *shape):
        """Well separated numbers in random order, for what sorts and picks: half integers around 0."""
        n = int(np.prod(shape))
        return (self._rng.permutation(n).reshape(shape) - n / 2 + 0.25) * 0.5

    def integers(self, high, *shape):
        """int64 from 0 to high - 1: indices and classes."""
        shape = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        return self._rng.integers(0, high, shape)

    def index(self, values):
        """The given nested list of numbers as an int64 array."""
        return np.array(values, dtype=np.int64)

    def booleans(self, *shape):
        """A mask with at least one of each when it has two entries."""
        mask = self._rng.random(shape) < 0.5
        if mask.size > 1:
            mask.flat[0], mask.flat[-1] = True, False
        return mask

    def spd(self, n):
        """A symmetric positive-definite (n, n) matrix."""
        a = self._rng.standard_normal((n, n))
        return a @ a.T + n * np.eye(n)

    def _apart(self, x):
        flat = np.asarray(x).ravel()
        order = np.argsort(flat)
        gaps = np.diff(flat[order]) < 1e-3
        flat[order[1:][gaps]] += 2e-3 * (1 + np.flatnonzero(gaps))
        return flat.reshape(np.shape(x))
