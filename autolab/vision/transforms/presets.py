"""What pretrained networks expect to be done to an image."""

from __future__ import annotations

from typing import Any

import autolab
from autolab import nn
from autolab.engine.core.tensor import Tensor
from autolab.vision.transforms import functional as F
from autolab.vision.transforms.sampling import InterpolationMode


class ImageClassification(nn.Module):
    """Resize the shorter side, crop the middle, scale to 0 … 1, normalise by ImageNet's means: (..., 3, crop, crop)."""

    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    interpolation = InterpolationMode.BILINEAR

    def __init__(self, *, crop_size: int, resize_size: int = 256) -> None:
        super().__init__()
        self.crop_size, self.resize_size = [crop_size], [resize_size]

    def forward(self, img: Any) -> Tensor:
        """Return the tensor for the network."""
        img = F.center_crop(F.resize(img, self.resize_size, self.interpolation), self.crop_size)
        if not isinstance(img, Tensor):
            img = F.pil_to_tensor(img)
        return F.normalize(F.convert_image_dtype(img, autolab.float32), self.mean, self.std)

    def __repr__(self) -> str:
        names = ("crop_size", "resize_size", "mean", "std", "interpolation")
        lines = [f"    {name}={getattr(self, name)}" for name in names]
        return "\n".join([f"{type(self).__name__}(", *lines, ")"])
