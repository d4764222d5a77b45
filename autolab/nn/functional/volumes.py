"""Convolution of volumes. Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.conv3d.html"""

from __future__ import annotations

from typing import Any

from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.engine.ops.functions import NAMESPACES

_F = NAMESPACES["nn.functional"]


def _three(value: Any) -> tuple[int, ...]:
    return (value,) * 3 if isinstance(value, int) else tuple(value)


# For readers of d2l.ai's and the UvA tutorials who classify videos and scans.
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] | str = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
) -> Tensor:
    """Return the cross-correlation of volumes (N, C, D, H, W) with filters (O, C / groups, KD, KH, KW); N is optional.

    It is computed as a convolution of images: the slices under a filter become channels of one image. Raise
    RuntimeError if sizes, channels or dtypes do not match.
    """
    if input.dim() not in (4, 5):
        raise fail(
            RuntimeError,
            f"Expected 4D (unbatched) or 5D (batched) input to conv3d, but got input of size: {list(input.shape)}",
            "A volume has channels, depth, height and width.",
        )
    if input.dim() == 4:
        return conv3d(input.unsqueeze(0), weight, bias, stride, padding, dilation, groups).squeeze(
            0
        )
    channels, (filters, per_group, depth, *kernel) = input.size(1), weight.shape
    if channels != per_group * groups:
        raise fail(
            RuntimeError,
            f"Given groups={groups}, weight of size {list(weight.shape)}, expected input{list(input.shape)} to have "
            f"{per_group * groups} channels, but got {channels} channels instead",
            "Dimension 1 of the input counts its channels, and the layer was made for another number of them.",
        )
    stride, dilation = _three(stride), _three(dilation)
    around = [(0, 0)] * 3
    if padding == "same":
        totals = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:])]
        around = [(total // 2, total - total // 2) for total in totals]
    elif not isinstance(padding, str):
        around = [(p, p) for p in _three(padding)]
    input = _F["pad"](input, [n for pair in reversed(around) for n in pair])
    extent = [d * (k - 1) + 1 for d, k in zip(dilation, weight.shape[2:])]
    if any(n < e for n, e in zip(input.shape[2:], extent)):
        by = lambda sizes: " x ".join(map(str, sizes))
        raise fail(
            RuntimeError,
            f"Calculated padded input size per channel: ({by(input.shape[2:])}). Kernel size: ({by(extent)}). Kernel size can't be "
            "greater than actual input size",
            "Use a smaller kernel or more padding.",
        )
    slices = input.unfold(2, extent[0], stride[0])[..., :: dilation[0]]
    images = slices.permute(0, 2, 1, 5, 3, 4).reshape(-1, channels * depth, *input.shape[3:])
    flat = weight.reshape(filters, per_group * depth, *kernel)
    result = _F["conv2d"](images, flat, bias, stride[1:], 0, dilation[1:], groups)
    return result.unflatten(0, slices.shape[:3:2]).transpose(1, 2).contiguous()
