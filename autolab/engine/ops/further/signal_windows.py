"""Windows for signals: hann_window, hamming_window, blackman_window, bartlett_window. They fade a piece of a signal out
at both ends.

Source: https://docs.pytorch.org/docs/2.13/torch.html#spectral-ops"""

from __future__ import annotations

import math

from ...exact.arguments import Options, int_argument
from ...core.errors import fail
from ..functions import NAMESPACES, composite

_TORCH = NAMESPACES[""]


def _window(name, n, periodic, options, shape):
    """`shape` of the steps 0, 1 … of a window of n numbers; periodic: of one more, of which the last is left out."""
    n = int_argument(name, "window_length", 1, n)
    if n < 0:
        raise fail(
            RuntimeError,
            f"{name} requires non-negative window_length, got window_length={n}",
            "It counts numbers.",
        )
    made = Options(name, options)
    dtype = made.dtype_or_default()
    if not dtype.is_floating_point:
        raise fail(
            RuntimeError,
            f"{name} expects floating point dtypes, got: {dtype}",
            "The numbers lie between 0 and 1.",
        )
    kept = {"dtype": dtype, "device": made.device}
    if n < 2:
        window = _TORCH["ones"]((n,), **kept)
    else:
        steps = n if periodic else n - 1
        window = shape(_TORCH["arange"](n + 1 if periodic else n, **kept), steps)
        window = window.narrow(0, 0, n) if periodic else window
    return window.requires_grad_() if made.requires_grad else window


def _raised_cosine(alpha, beta):
    return lambda k, steps: k.mul(math.pi * 2 / steps).cos().mul(-beta).add(alpha)


@composite()
def hann_window(window_length, periodic=True, **options):
    """Half a cosine up and down: (1 - cos(2 pi k / steps)) / 2. periodic: fit to be repeated, else symmetric. Source:
    torch.hann_window."""
    return _window("hann_window", window_length, periodic, options, _raised_cosine(0.5, 0.5))


@composite()
def hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, **options):
    """alpha - beta cos(2 pi k / steps): does not fall to 0. periodic as in `hann_window`. Source:
    torch.hamming_window."""
    return _window("hamming_window", window_length, periodic, options, _raised_cosine(alpha, beta))


@composite()
def blackman_window(window_length, periodic=True, **options):
    """0.42 - 0.5 cos(2 pi k / steps) + 0.08 cos(4 pi k / steps). periodic as in `hann_window`. Source:
    torch.blackman_window."""

    def shape(k, steps):
        angle = k.mul(math.pi / steps)
        return angle.mul(4).cos().mul(0.08) - angle.mul(2).cos().mul(0.5) + 0.42

    return _window("blackman_window", window_length, periodic, options, shape)


@composite()
def bartlett_window(window_length, periodic=True, **options):
    """A triangle: up from 0 to 1 and down. periodic as in `hann_window`. Source: torch.bartlett_window."""

    def shape(k, steps):
        rising = k.mul(2.0 / steps)
        return _TORCH["where"](k <= steps // 2, rising, rising.mul(-1).add(2))

    return _window("bartlett_window", window_length, periodic, options, shape)
