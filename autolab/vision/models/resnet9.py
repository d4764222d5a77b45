"""ResNet-9 for 32x32 colour images, and the residual blocks that the course explains with it.

Source: K. He, X. Zhang, S. Ren, J. Sun, "Deep Residual Learning for Image Recognition",
https://arxiv.org/abs/1512.03385
"""

from __future__ import annotations

from typing import Any

from autolab import nn
from autolab.engine.core.tensor import Tensor
from autolab.vision.models._api import model_builder

_MOMENTUM = 0.9


def _conv_norm(in_chans, out_chans, kernel_size, stride=1):
    """Convolution that keeps the size (at stride 1), and batch norm; the norm's bias makes the convolution's
    needless."""
    convolution = nn.Conv2d(
        in_chans, out_chans, kernel_size, stride, padding=kernel_size // 2, bias=False
    )
    return convolution, nn.BatchNorm2d(out_chans, momentum=_MOMENTUM)


class _Residual(nn.Module):
    """x + convolutions(x); a strided block takes the shortcut through a strided 1x1 convolution."""

    def _shortcut(self, in_chans, out_chans, stride):
        self.downsample = (
            nn.Sequential(*_conv_norm(in_chans, out_chans, 1, stride)) if stride != 1 else None
        )
        self.relu = nn.ReLU()

    def _add(self, residual, x):
        if self.downsample:
            residual = self.downsample(residual)
        return self.relu(x + residual)


class ResBlock(_Residual):
    """Two 3x3 convolutions and a shortcut.

    Input (N, in_chans, H, W), output (N, out_chans, ceil(H / stride), ceil(W / stride)). At stride 1 both channel
    numbers must be equal.
    """

    def __init__(self, in_chans: int, out_chans: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Sequential(*_conv_norm(in_chans, out_chans, 3, stride), nn.ReLU())
        self.conv2 = nn.Sequential(*_conv_norm(out_chans, out_chans, 3), nn.ReLU())
        self._shortcut(in_chans, out_chans, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output."""
        return self._add(x, self.conv2(self.conv1(x)))


class BottleneckResBlock(_Residual):
    """1x1 to mid_chans channels, 3x3, 1x1 to out_chans channels, and a shortcut. Shapes as in ResBlock."""

    def __init__(self, in_chans: int, mid_chans: int, out_chans: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Sequential(*_conv_norm(in_chans, mid_chans, 1, stride), nn.ReLU())
        self.conv2 = nn.Sequential(*_conv_norm(mid_chans, mid_chans, 3), nn.ReLU())
        self.conv3 = nn.Sequential(*_conv_norm(mid_chans, out_chans, 1), nn.ReLU())
        self._shortcut(in_chans, out_chans, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output."""
        return self._add(x, self.conv3(self.conv2(self.conv1(x))))


def _stage(in_channels, out_channels):
    return *_conv_norm(in_channels, out_channels, 3), nn.ReLU(inplace=True)


class ResNet9(nn.Module):
    """Eight convolutions and a linear layer: input (N, 3, 32, 32), output (N, num_classes) logits."""

    def __init__(self, num_classes: int = 10) -> None:
        super().__init__()
        self.conv_stack_1 = nn.Sequential(
            *_stage(3, 64), *_stage(64, 128), nn.MaxPool2d(kernel_size=2, stride=2)
        )
        self.res_block_2 = ResBlock(128, 128)
        self.conv_stack_3 = nn.Sequential(
            *_stage(128, 256),
            nn.MaxPool2d(kernel_size=2, stride=2),
            *_stage(256, 256),
            nn.MaxPool2d(kernel_size=2, stride=2),
        )
        self.res_block_4 = ResBlock(256, 256)
        self.max_pool_5 = nn.MaxPool2d(kernel_size=2, stride=2)
        self.fc = nn.Linear(1024, num_classes, bias=True)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (N, num_classes) of the images `x`."""
        x = self.res_block_2(self.conv_stack_1(x))
        x = self.res_block_4(self.conv_stack_3(x))
        return self.fc(self.max_pool_5(x).view(-1, 1024))


@model_builder()
def resnet9(**kwargs: Any) -> ResNet9:
    """Build ResNet-9 for colour images, 3x32x32: `ResNet9`, 2,447,946 parameters for ten classes."""
    return ResNet9(**kwargs)
