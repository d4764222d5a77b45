"""The limits of numbers: `finfo`, `iinfo`."""

from __future__ import annotations

import numpy as np

from ..core.dtype import dtype, get_default_dtype


class _Info:
    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in self._shown())})"


class finfo(_Info):
    """Machine limits of a floating dtype. Source: torch.finfo."""

    def __init__(self, d: dtype | None = None):
        d = get_default_dtype() if d is None else d
        i = np.finfo(d.np)
        self.dtype, self.bits = d.name, d.itemsize * 8
        self.resolution, self.eps = float(i.resolution), float(i.eps)
        self.min, self.max = float(i.min), float(i.max)
        self.tiny = self.smallest_normal = float(i.smallest_normal)

    def _shown(self):
        for k in ("resolution", "min", "max", "eps", "smallest_normal", "tiny"):
            yield k, f"{getattr(self, k):g}"
        yield "dtype", self.dtype


class iinfo(_Info):
    """Limits of an integer dtype. Source: torch.iinfo."""

    def __init__(self, d: dtype):
        i = np.iinfo(d.np)
        self.dtype, self.bits, self.min, self.max = d.name, d.itemsize * 8, int(i.min), int(i.max)

    def _shown(self):
        yield "min", f"{self.min:g}"
        yield "max", f"{self.max:g}"
        yield "dtype", self.dtype
