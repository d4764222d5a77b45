"""Many images as one (`torchvision.utils`). Source: https://docs.pytorch.org/vision/0.29/utils.html"""

from __future__ import annotations

import os
from typing import IO

import autolab
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.vision.transforms.images import pillow

__all__ = ["make_grid", "save_image"]


def _batch(tensor):
    """Return `tensor`, an image or a list of images, as one tensor (N, C, H, W); a grey channel becomes three."""
    if not isinstance(tensor, (Tensor, list)):
        raise fail(
            TypeError,
            f"tensor or list of tensors expected, got {type(tensor)}",
            "Pass images of shape (N, C, H, W).",
        )
    if isinstance(tensor, list):
        for image in tensor:
            if not isinstance(image, Tensor):
                message = f"tensor or list of tensors expected, got a list containing {type(image)}"
                raise fail(TypeError, message, "Images (C, H, W) of one size.")
        tensor = autolab.stack(tensor, 0)
    if tensor.dim() == 2:
        tensor = tensor.unsqueeze(0)
    if tensor.dim() == 3:
        tensor = tensor.unsqueeze(0)
    return autolab.cat([tensor] * 3, 1) if tensor.dim() == 4 and tensor.shape[1] == 1 else tensor


@autolab.no_grad()
def make_grid(
    tensor: Tensor | list[Tensor],
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    pad_value: float = 0.0,
) -> Tensor:
    """Return images (N, C, H, W), or a list of images (C, H, W), as one image (3, H', W') with `nrow` of them in a row.

    padding: pixels of `pad_value` around each. normalize: bring numbers from `value_range` = (min, max), by default the
    smallest and largest there are, to 0 … 1. A single image gets no frame. Raises TypeError for what are no tensors,
    and for a value_range that is no tuple. Source: torchvision.utils.make_grid.

    Example:

        >>> torch.vision.utils.make_grid(torch.zeros(8, 3, 4, 4), nrow=4, padding=1).shape
        torch.Size([3, 11, 21])
    """
    images = _batch(tensor)
    if normalize:
        if value_range is not None and not isinstance(value_range, tuple):
            message = (
                "value_range has to be a tuple (min, max) if specified. min and max are numbers"
            )
            raise fail(TypeError, message, "Or leave it out.")
        low, high = value_range or (float(images.min()), float(images.max()))
        images = images.clamp(low, high).sub(low).div(max(high - low, 1e-5))
    count = images.shape[0]
    if count == 1:
        return images.squeeze(0)
    columns = min(nrow, count)
    rows = -(-count // columns)
    height, width = images.shape[2] + padding, images.shape[3] + padding
    grid = images.new_full(
        (images.shape[1], height * rows + padding, width * columns + padding), pad_value
    )
    for k, image in enumerate(images):
        top, left = k // columns * height + padding, k % columns * width + padding
        grid[:, top : top + height - padding, left : left + width - padding] = image
    return grid


@autolab.no_grad()
def save_image(
    tensor: Tensor | list[Tensor],
    fp: str | os.PathLike[str] | IO[bytes],
    format: str | None = None,
    *,
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    pad_value: float = 0.0,
) -> None:
    """Write `make_grid(tensor, …)`, numbers from 0 to 1 as bytes, to the file name or object `fp`.

    format: Pillow's name of the format, by default by the file's ending. Others: as in `make_grid`. Raises ImportError
    without the package Pillow. Source: torchvision.utils.save_image."""
    grid = make_grid(tensor, nrow, padding, normalize, value_range, pad_value)
    pixels = grid.mul(255).add(0.5).clamp(0, 255).permute(1, 2, 0).to("cpu", autolab.uint8).numpy()
    pillow().fromarray(pixels).save(fp, format=format)
