"""Sample inputs for an op's record: `samples=lambda s: [s.randn(3), (s.randn(2, 3), 1)]`. Each entry is one call, a
tuple if there are several arguments.

The arrays of an entry (float64, the same in every process) become tensors; numbers, tuples and strings stay unchanged;
a dict at the end holds keyword arguments. Every op gets gradcheck, gradgradcheck and a comparison with PyTorch from its
samples. So choose points where the op is smooth, and at least one sample for each way in which the op behaves
differently (broadcast, dim, keepdim).
"""

from __future__ import annotations

import numpy as np


class Samples:
    """A generator of arrays. The shape is passed as numbers: `s.randn(2, 3)`. Arrays are float64 unless stated
    otherwise."""

    def __init__(self, seed: int = 0):
        self._rng = np.random.default_rng(seed)

    def randn(self, *shape):
        """Return standard normal numbers that differ from each other and from 0 by at least 1e-3 (to avoid kinks and
        ties)."""
        x = self._rng.standard_normal(shape)
        x = np.where(np.abs(x) < 0.05, 0.05 + np.abs(x), x)
        return self._apart(x)

    def uniform(self, low, high, *shape):
        """Return numbers between `low` and `high`."""
        return self._apart(self._rng.uniform(low, high, shape))

    def positive(self, *shape):
        """Return numbers between 0.5 and 2.5."""
        return self.uniform(0.5, 2.5, *shape)

    def away_from_zero(self, *shape):
        """Return numbers of either sign with 0.4 <= |x| <= 1.6."""
        return self.uniform(0.4, 1.6, *shape) * self.signs(*shape)

    def probabilities(self, *shape):
        """Return numbers between 0.05 and 0.95."""
        return self.uniform(0.05, 0.95, *shape)

    def signs(self, *shape):
        """Return random signs, -1 or 1, as floats."""
        return np.where(self._rng.random(shape) < 0.5, -1.0, 1.0)

    def distinct(self, *shape):
        """Return well separated numbers in random order, for sorting and picking: half integers around 0."""
        n = int(np.prod(shape))
        return (self._rng.permutation(n).reshape(shape) - n / 2 + 0.25) * 0.5

    def integers(self, high, *shape):
        """Return int64 numbers from 0 to high - 1, for indices and classes."""
        shape = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        return self._rng.integers(0, high, shape)

    def index(self, values):
        """Return the nested list of numbers `values` as an int64 array."""
        return np.array(values, dtype=np.int64)

    def booleans(self, *shape):
        """Return a bool array; with two or more entries, both values occur."""
        mask = self._rng.random(shape) < 0.5
        if mask.size > 1:
            mask.flat[0], mask.flat[-1] = True, False
        return mask

    def spd(self, n):
        """Return a symmetric positive-definite (n, n) matrix."""
        a = self._rng.standard_normal((n, n))
        return a @ a.T + n * np.eye(n)

    def _apart(self, x):
        flat = np.asarray(x).ravel()
        order = np.argsort(flat)
        gaps = np.diff(flat[order]) < 1e-3
        flat[order[1:][gaps]] += 2e-3 * (1 + np.flatnonzero(gaps))
        return flat.reshape(np.shape(x))
