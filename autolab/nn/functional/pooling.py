"""Pooling that is made of other ops. Source: https://docs.pytorch.org/docs/2.13/nn.functional.html#pooling-functions"""

from __future__ import annotations

from collections.abc import Sequence

import math

import autolab
from autolab.engine.ops.functions import NAMESPACES
from autolab.engine.core.tensor import Tensor


def _powers(dims, input, norm_type, kernel_size, stride, ceil_mode):
    F = NAMESPACES["nn.functional"]
    if isinstance(norm_type, (int, float)) and math.isinf(
        norm_type
    ):  # the limit: the largest, or the smallest, size
        pool = F[f"max_pool{dims}d"]
        largest = lambda x: pool(x, kernel_size, stride, 0, 1, ceil_mode)
        return largest(input.abs()) if norm_type > 0 else -largest(-input.abs())
    mean = F[f"avg_pool{dims}d"](input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    sizes = (kernel_size,) * dims if isinstance(kernel_size, int) else kernel_size
    kept = autolab.sign(mean) * autolab.relu(autolab.abs(mean))  # a gradient of 0 where all is 0
    return kept.mul(math.prod(sizes)).pow(1.0 / norm_type)


def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """(sum of x^p)^(1/p) over each window of sequences (N, C, L) or (C, L), p = `norm_type`; inf gives the maximum of
    |x|.

    Source: torch.nn.functional.lp_pool1d.
    """
    return _powers(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """(sum of x^p)^(1/p) over each window of images (N, C, H, W) or (C, H, W), p = `norm_type`; inf gives the maximum
    of |x|.

    Source: torch.nn.functional.lp_pool2d.
    """
    return _powers(2, input, norm_type, kernel_size, stride, ceil_mode)
