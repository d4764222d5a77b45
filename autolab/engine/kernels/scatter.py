"""Addition at indices that may repeat, for every dtype: a GPU adds atomically for some dtypes only."""

from __future__ import annotations

import numpy as np


def add_at(xp, out, key, values):
    """Do out[key] += values, where values with the same index add up.

    CuPy 14 supports int32, uint32, uint64 and floats; other dtypes are converted to these."""
    if xp is np or out.dtype.kind == "f" or out.dtype == np.int32:
        xp.add.at(out, key, values)
    elif out.dtype == np.int64:  # the same bits are added
        xp.add.at(out.view(np.uint64), key, xp.asarray(values, dtype=np.int64).view(np.uint64))
    else:  # bool, int8, int16, uint8
        wide = out.astype(np.int32)
        xp.add.at(wide, key, values)
        out[...] = wide
