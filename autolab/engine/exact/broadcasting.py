"""Checks whether operands broadcast, with torch's errors for shapes that do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.errors import fail
from ..core.record import Op
from ..core.tensor import Tensor


def misfit(op: Op, args: Sequence[Any], inplace: bool) -> Exception | None:
    """Return PyTorch's error for operands whose shapes do not broadcast (in place: do not broadcast to the first one);
    None if they do."""
    shapes = [args[i]._array.shape for i in op.broadcast if isinstance(args[i], Tensor)]
    try:
        together = np.broadcast_shapes(*shapes)
    except ValueError:
        return broadcast_error(shapes)
    return outgrown(shapes[0], together) if inplace and shapes and together != shapes[0] else None


def broadcast_error(shapes: Sequence[tuple[int, ...]]) -> Exception:
    """Return PyTorch's error for shapes that do not broadcast.

    >>> print(broadcast_error([(2, 3), (4,)]))
    The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1
    """
    a = shapes[0]
    for b in shapes[1:]:
        n = max(len(a), len(b))
        p, q = (1,) * (n - len(a)) + tuple(a), (1,) * (n - len(b)) + tuple(b)
        for dim in range(n - 1, -1, -1):
            if p[dim] != q[dim] and 1 not in (p[dim], q[dim]):
                return fail(
                    RuntimeError,
                    f"The size of tensor a ({p[dim]}) must match the size of tensor b ({q[dim]}) at non-singleton "
                    f"dimension {dim}",
                    f"Shapes {tuple(a)} and {tuple(b)} are compared from the last dimension backwards: each pair "
                    "must be equal or one of them 1.",
                )
        a = tuple(max(i, j) if 0 not in (i, j) else 0 for i, j in zip(p, q))
    return fail(
        RuntimeError,
        f"shapes {shapes} cannot be broadcast together",
        "Each pair of sizes must be equal or one of them 1.",
    )


def outgrown(shape: Sequence[int], broadcast: Sequence[int]) -> Exception:
    """Return the error for an in-place operation whose result has a different shape than its target.

    >>> print(outgrown([2], [3, 2]))
    output with shape [2] doesn't match the broadcast shape [3, 2]
    """
    return fail(
        RuntimeError,
        f"output with shape {list(shape)} doesn't match the broadcast shape {list(broadcast)}",
        "An in-place operation cannot make the tensor bigger; use the out-of-place form.",
    )
