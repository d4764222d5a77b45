"""The numerical limits of dtypes: `finfo`, `iinfo`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.dtype import dtype, get_default_dtype


class _Limits:
    _of: Any = np.iinfo
    _kind: Any = int
    _shown: tuple[str, ...] = ("min", "max")
    min: Any
    max: Any

    def __init__(self, d: dtype):
        limits = self._of(d.np)
        self.dtype, self.bits = d.name, d.itemsize * 8
        for name in self._shown:
            setattr(self, name, self._kind(getattr(limits, name)))

    def __repr__(self):
        shown = [f"{name}={getattr(self, name):g}" for name in self._shown]
        return f"{type(self).__name__}({', '.join(shown)}, dtype={self.dtype})"


class finfo(_Limits):
    """Machine limits of a floating dtype. Source: torch.finfo."""

    _of, _kind = np.finfo, float
    _shown = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
    eps: float

    def __init__(self, d: dtype | None = None):
        super().__init__(get_default_dtype() if d is None else d)


class iinfo(_Limits):
    """Limits of an integer dtype. Source: torch.iinfo."""
