"""ResNet-18, -34 and -50 with torchvision's module names, initial values and order of the random draws; a small one for
digits.

Sources: K. He, X. Zhang, S. Ren, J. Sun, https://arxiv.org/abs/1512.03385; torchvision's `models.resnet` (the stride of
a bottleneck block is in its 3x3 convolution).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import autolab
from autolab import nn
from autolab.engine.core.tensor import Tensor
from autolab.vision.models._api import model_builder
from autolab.vision.models.weights import (
    ResNet18_Weights,
    ResNet34_Weights,
    ResNet50_Weights,
    ResNetDigits_Weights,
)


def _conv3x3(inplanes, planes, stride=1):
    return nn.Conv2d(inplanes, planes, kernel_size=3, stride=stride, padding=1, bias=False)


def _conv1x1(inplanes, planes, stride=1):
    return nn.Conv2d(inplanes, planes, kernel_size=1, stride=stride, bias=False)


class BasicBlock(nn.Module):
    """Two 3x3 convolutions and a shortcut: (N, inplanes, H, W) to (N, planes, H / stride, W / stride)."""

    expansion = 1

    def __init__(
        self, inplanes: int, planes: int, stride: int = 1, downsample: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.conv1, self.bn1 = _conv3x3(inplanes, planes, stride), nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2, self.bn2 = _conv3x3(planes, planes), nn.BatchNorm2d(planes)
        self.downsample, self.stride = downsample, stride

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output."""
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions and a shortcut: (N, inplanes, H, W) to (N, 4 planes, H / stride, W / stride)."""

    expansion = 4

    def __init__(
        self, inplanes: int, planes: int, stride: int = 1, downsample: nn.Module | None = None
    ) -> None:
        super().__init__()
        out = planes * self.expansion
        self.conv1, self.bn1 = _conv1x1(inplanes, planes), nn.BatchNorm2d(planes)
        self.conv2, self.bn2 = _conv3x3(planes, planes, stride), nn.BatchNorm2d(planes)
        self.conv3, self.bn3 = _conv1x1(planes, out), nn.BatchNorm2d(out)
        self.relu = nn.ReLU(inplace=True)
        self.downsample, self.stride = downsample, stride

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output."""
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class _Stages(nn.Module):
    """What residual networks share: stages of blocks, and their initial values."""

    inplanes: int

    def _make_layer(self, block, planes, blocks, stride=1):
        downsample, out = None, planes * block.expansion
        if stride != 1 or self.inplanes != out:
            downsample = nn.Sequential(_conv1x1(self.inplanes, out, stride), nn.BatchNorm2d(out))
        first = block(self.inplanes, planes, stride, downsample)
        self.inplanes = out
        return nn.Sequential(first, *(block(out, planes) for _ in range(1, blocks)))

    def _reset(self):
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")


class ResNet(_Stages):
    """A residual network of four layers with `layers[i]` blocks each: (N, 3, H, W) to (N, num_classes) logits."""

    def __init__(
        self,
        block: type[BasicBlock] | type[Bottleneck],
        layers: Sequence[int],
        num_classes: int = 1000,
    ) -> None:
        super().__init__()
        self.inplanes = 64
        self.conv1 = nn.Conv2d(3, 64, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], stride=2)
        self.layer3 = self._make_layer(block, 256, layers[2], stride=2)
        self.layer4 = self._make_layer(block, 512, layers[3], stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        self._reset()

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (N, num_classes) of the images `x`."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(autolab.flatten(self.avgpool(x), 1))


class DigitsResNet(_Stages):
    """A ResNet of three layers with one block each for grey images: (N, 1, 32, 32) to (N, num_classes) logits.

    Larger images work too, smaller down to 16x16. Module names as in `ResNet`; 77,360 parameters and 65 for each class.
    """

    def __init__(self, num_classes: int = 10) -> None:
        super().__init__()
        self.inplanes = 16
        self.conv1 = nn.Conv2d(1, 16, kernel_size=5, stride=2, padding=2, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.relu = nn.ReLU(inplace=True)
        self.layer1 = self._make_layer(BasicBlock, 16, 1)
        self.layer2 = self._make_layer(BasicBlock, 32, 1, stride=2)
        self.layer3 = self._make_layer(BasicBlock, 64, 1, stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(64, num_classes)
        self._reset()

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (N, num_classes) of the images `x`."""
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(autolab.flatten(self.avgpool(x), 1))


@model_builder(ResNet18_Weights)
def resnet18(**kwargs: Any) -> ResNet:
    """Build ResNet-18, 11,689,512 parameters."""
    return ResNet(BasicBlock, [2, 2, 2, 2], **kwargs)


@model_builder(ResNet34_Weights)
def resnet34(**kwargs: Any) -> ResNet:
    """Build ResNet-34, 21,797,672 parameters."""
    return ResNet(BasicBlock, [3, 4, 6, 3], **kwargs)


@model_builder(ResNet50_Weights)
def resnet50(**kwargs: Any) -> ResNet:
    """Build ResNet-50, 25,557,032 parameters."""
    return ResNet(Bottleneck, [3, 4, 6, 3], **kwargs)


@model_builder(ResNetDigits_Weights)
def resnet_digits(**kwargs: Any) -> DigitsResNet:
    """Build a small residual network for digits, 1x32x32: `DigitsResNet`, 78,010 parameters for ten classes."""
    return DigitsResNet(**kwargs)
