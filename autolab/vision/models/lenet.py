"""LeNet-5 with ReLU and max pooling.

Source: Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, "Gradient-Based Learning Applied to Document Recognition", 1998.
"""

from __future__ import annotations

from typing import Any

from autolab import nn
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.vision.models._api import model_builder


class LeNet(nn.Module):
    """Two convolutions and three linear layers for grey images of digits or clothes.

    Input (N, 1, image_size, image_size), output (N, num_classes) logits. image_size: 28 (MNIST's) gives 256 features
    to the first linear layer, 32 (the paper's) gives 400. Raises ValueError for images too small for the two
    convolutions.
    """

    def __init__(self, num_classes: int = 10, image_size: int = 28) -> None:
        super().__init__()
        side = (
            (image_size - 4) // 2 - 4
        ) // 2  # a 5x5 kernel takes 4 pixels off each side, pooling halves
        if side < 1:
            raise fail(
                ValueError,
                f"image_size should be at least 16, but got {image_size}",
                "Two 5x5 convolutions with pooling leave nothing of a smaller image; enlarge it with Resize.",
            )
        self._body = nn.Sequential(
            nn.Conv2d(1, 6, kernel_size=5),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=2),
            nn.Conv2d(6, 16, kernel_size=5),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=2),
        )
        self._head = nn.Sequential(
            nn.Linear(16 * side * side, 120),
            nn.ReLU(inplace=True),
            nn.Linear(120, 84),
            nn.ReLU(inplace=True),
            nn.Linear(84, num_classes),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (N, num_classes) of the images `x`."""
        x = self._body(x)
        return self._head(x.view(x.size()[0], -1))


@model_builder()
def lenet5(image_size: int = 32, **kwargs: Any) -> LeNet:
    """Build LeNet-5 for the paper's images, 1x32x32: `LeNet`, 61,706 parameters for ten classes."""
    return LeNet(image_size=image_size, **kwargs)
