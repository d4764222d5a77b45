"""The matrix product for NumPy arrays: NumPy's own, or a faster method where NumPy has no BLAS.

Pyodide's NumPy, which runs in a browser, has no BLAS. Its `matmul` reads the second matrix column by column, so the
processor's cache does not help. Its `einsum` reads row by row: 16x144 times 144x1024 runs at 3.1 Gflop/s, not 0.5.
"""

from __future__ import annotations

import sys

import numpy as np

SMALL = 1 << 11  # elements of the second matrix up to which `matmul` is as fast
SHORT = 64  # with shorter columns, `matmul` is faster for a second matrix that is stored by columns
LONGEST = 1 << 30  # multiplications of one `einsum`, which refuses 2 ** 31


def einsum_matmul(a, b, out=None):
    """Return `np.matmul(a, b, out=out)`, with `einsum` for big matrices of floats."""
    if not _is_faster(a, b):
        return np.matmul(a, b, out=out)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if out is None:
        out = np.empty((*batch, a.shape[-2], b.shape[-1]), np.result_type(a, b))
    first = np.broadcast_to(a, (*batch, *a.shape[-2:]))
    second = np.broadcast_to(b, (*batch, *b.shape[-2:]))
    rows = max(1, LONGEST // (b.shape[-2] * b.shape[-1]))
    for index in np.ndindex(batch):
        for start in range(0, a.shape[-2], rows):
            part = slice(start, start + rows)
            np.einsum("ij,jk->ik", first[index][part], second[index], out=out[index][part])
    return out


def _is_faster(a, b):
    """Return whether `einsum` multiplies these matrices faster than `matmul`."""
    if a.ndim < 2 or b.ndim < 2 or a.dtype.kind != "f" or a.shape[-1] != b.shape[-2]:
        return False
    by_columns = b.strides[-2] < b.strides[-1] and b.shape[-2] < SHORT
    return b.shape[-2] * b.shape[-1] > SMALL and not by_columns


matmul = einsum_matmul if sys.platform == "emscripten" else np.matmul
