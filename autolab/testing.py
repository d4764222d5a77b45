"""`torch.testing`: comparing tensors in tests. Source: https://docs.pytorch.org/docs/2.13/testing.html"""

from __future__ import annotations

from typing import Any

import numpy as np

from .engine.core.errors import fail
from .engine.core.tensor import Tensor

__all__ = ["assert_close"]

_TOLERANCE = {
    "float16": (1e-3, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
}


def _array(x: Any) -> np.ndarray:
    return x.detach().cpu().numpy() if isinstance(x, Tensor) else np.asarray(x)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | None = None,
) -> None:
    """Raises AssertionError, saying where and by how much, unless |actual - expected| <= atol + rtol |expected|
    everywhere.

    rtol, atol: by default those of the dtype (1.3e-6 and 1e-5 for float32). Source: torch.testing.assert_close."""
    if (rtol is None) != (atol is None):
        raise fail(
            ValueError,
            f"Both 'rtol' and 'atol' must be either specified or unspecified, but got no {'rtol' if rtol is None else 'atol'}.",
            "Give both tolerances or neither.",
        )
    a, b = (_array(x) for x in (actual, expected))
    if a.shape != b.shape:
        raise AssertionError(
            msg
            or f"The values for attribute 'shape' do not match: {list(a.shape)} != {list(b.shape)}."
        )
    tensors = isinstance(actual, Tensor) and isinstance(expected, Tensor)
    if check_device and tensors and actual.device != expected.device:
        raise AssertionError(
            msg
            or f"The values for attribute 'device' do not match: {actual.device} != {expected.device}."
        )
    if check_dtype and tensors and actual.dtype is not expected.dtype:
        raise AssertionError(
            msg
            or f"The values for attribute 'dtype' do not match: {actual.dtype} != {expected.dtype}."
        )
    if rtol is None or atol is None:
        rtol, atol = (
            max(pair) for pair in zip(*(_TOLERANCE.get(x.dtype.name, (0.0, 0.0)) for x in (a, b)))
        )
    close = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if close.all():
        return
    wrong = int((~close).sum())
    difference = np.abs(a.astype(np.float64) - b.astype(np.float64))
    worst = np.unravel_index(
        int(np.nanargmax(np.where(close, -1, np.nan_to_num(difference, nan=np.inf)))), a.shape
    )
    raise AssertionError(
        msg
        or f"Tensor-likes are not close!\n\nMismatched elements: {wrong} / {a.size} ({100 * wrong / a.size:.1f}%)\n"
        f"Greatest absolute difference: {difference[worst]} at index {tuple(map(int, worst))} (up to {atol} allowed)"
    )
