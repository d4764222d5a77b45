"""ResNet-18, -34 and -50 with torchvision's module names, initial values and order of the random draws; a small one for
digits.

Sources: K. He, X. Zhang, S. Ren, J. Sun, https://arxiv.org/abs/1512.03385; S. Xie et al.,
https://arxiv.org/abs/1611.05431 (groups and width); torchvision's `models.resnet` (the stride of a bottleneck block is
in its 3x3 convolution).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import autolab
from autolab import nn
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.vision.models._api import model_builder
from autolab.vision.models.weights import (
    ResNet18_Weights,
    ResNet34_Weights,
    ResNet50_Weights,
    ResNetDigits_Weights,
)


def _conv3x3(inplanes, planes, stride=1, groups=1, dilation=1):
    return nn.Conv2d(
        inplanes, planes, 3, stride, padding=dilation, dilation=dilation, groups=groups, bias=False
    )


def _conv1x1(inplanes, planes, stride=1):
    return nn.Conv2d(inplanes, planes, kernel_size=1, stride=stride, bias=False)


class BasicBlock(nn.Module):
    """Two 3x3 convolutions and a shortcut: (N, inplanes, H, W) to (N, planes, H / stride, W / stride).

    Raises ValueError for groups or a base width, NotImplementedError for a dilation: these belong to `Bottleneck`.
    """

    expansion = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Callable[[int], nn.Module] | None = None,
    ) -> None:
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        if groups != 1 or base_width != 64:
            raise fail(
                ValueError,
                "BasicBlock only supports groups=1 and base_width=64",
                "Bottleneck supports others.",
            )
        if dilation > 1:
            raise fail(
                NotImplementedError,
                "Dilation > 1 not supported in BasicBlock",
                "Bottleneck supports it.",
            )
        self.conv1, self.bn1 = _conv3x3(inplanes, planes, stride), norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2, self.bn2 = _conv3x3(planes, planes), norm_layer(planes)
        self.downsample, self.stride = downsample, stride

    def forward(self, x: Tensor) -> Tensor:
        """The block's output."""
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions and a shortcut: (N, inplanes, H, W) to (N, 4 planes, H / stride, W / stride).

    The 3x3 convolution has planes * base_width / 64 * groups channels, in `groups` groups (ResNeXt, Wide ResNet).
    """

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Callable[[int], nn.Module] | None = None,
    ) -> None:
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        width, out = int(planes * (base_width / 64.0)) * groups, planes * self.expansion
        self.conv1, self.bn1 = _conv1x1(inplanes, width), norm_layer(width)
        self.conv2, self.bn2 = _conv3x3(width, width, stride, groups, dilation), norm_layer(width)
        self.conv3, self.bn3 = _conv1x1(width, out), norm_layer(out)
        self.relu = nn.ReLU(inplace=True)
        self.downsample, self.stride = downsample, stride

    def forward(self, x: Tensor) -> Tensor:
        """The block's output."""
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class _Stages(nn.Module):
    """What residual networks share: stages of blocks, and their initial values."""

    inplanes: int
    dilation: int
    groups: int
    base_width: int
    _norm_layer: Callable[[int], nn.Module]

    def _make_layer(self, block, planes, blocks, stride=1, dilate=False):
        downsample, out, previous_dilation = None, planes * block.expansion, self.dilation
        if dilate:
            self.dilation, stride = self.dilation * stride, 1
        if stride != 1 or self.inplanes != out:
            downsample = nn.Sequential(_conv1x1(self.inplanes, out, stride), self._norm_layer(out))
        width = self.groups, self.base_width
        first = block(
            self.inplanes, planes, stride, downsample, *width, previous_dilation, self._norm_layer
        )
        self.inplanes = out
        others = (
            block(out, planes, 1, None, *width, self.dilation, self._norm_layer)
            for _ in range(1, blocks)
        )
        return nn.Sequential(first, *others)

    def _reset(self, zero_init_residual):
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)
        if zero_init_residual:
            for module in self.modules():
                last = getattr(module, "bn3", None) or getattr(module, "bn2", None)
                if last is not None and last.weight is not None:
                    nn.init.constant_(last.weight, 0)


class ResNet(_Stages):
    """A residual network of four layers with `layers[i]` blocks each: (N, 3, H, W) to (N, num_classes) logits.

    zero_init_residual: every block starts as the identity. groups, width_per_group: of the 3x3 convolutions in
    bottleneck blocks. replace_stride_with_dilation: for layer 2, 3 and 4, whether dilation takes the place of its
    stride. norm_layer: what makes a normalisation of a number of channels. Raises ValueError for other than three of
    the former.
    """

    def __init__(
        self,
        block: type[BasicBlock] | type[Bottleneck],
        layers: Sequence[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        groups: int = 1,
        width_per_group: int = 64,
        replace_stride_with_dilation: Sequence[bool] | None = None,
        norm_layer: Callable[[int], nn.Module] | None = None,
    ) -> None:
        super().__init__()
        dilate = (
            [False, False, False]
            if replace_stride_with_dilation is None
            else replace_stride_with_dilation
        )
        if len(dilate) != 3:
            message = (
                f"replace_stride_with_dilation should be None or a 3-element tuple, got {dilate}"
            )
            raise fail(ValueError, message, "One truth value each for layer2, layer3 and layer4.")
        self._norm_layer = norm_layer or nn.BatchNorm2d
        self.inplanes, self.dilation, self.groups, self.base_width = 64, 1, groups, width_per_group
        self.conv1 = nn.Conv2d(3, 64, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], stride=2, dilate=dilate[0])
        self.layer3 = self._make_layer(block, 256, layers[2], stride=2, dilate=dilate[1])
        self.layer4 = self._make_layer(block, 512, layers[3], stride=2, dilate=dilate[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        self._reset(zero_init_residual)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (N, num_classes) of the images `x`."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(autolab.flatten(self.avgpool(x), 1))


class DigitsResNet(_Stages):
    """A ResNet of three layers with one block each for grey images: (N, 1, 32, 32) to (N, num_classes) logits.

    Larger images work too, smaller down to 16x16. Module names as in `ResNet`; 77,360 parameters and 65 for each class.
    """

    def __init__(self, num_classes: int = 10) -> None:
        super().__init__()
        self._norm_layer = nn.BatchNorm2d
        self.inplanes, self.dilation, self.groups, self.base_width = 16, 1, 1, 64
        self.conv1 = nn.Conv2d(1, 16, kernel_size=5, stride=2, padding=2, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.relu = nn.ReLU(inplace=True)
        self.layer1 = self._make_layer(BasicBlock, 16, 1)
        self.layer2 = self._make_layer(BasicBlock, 32, 1, stride=2)
        self.layer3 = self._make_layer(BasicBlock, 64, 1, stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(64, num_classes)
        self._reset(zero_init_residual=False)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (N, num_classes) of the images `x`."""
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(autolab.flatten(self.avgpool(x), 1))


@model_builder(ResNet18_Weights)
def resnet18(**kwargs: Any) -> ResNet:
    """ResNet-18, 11,689,512 parameters."""
    return ResNet(BasicBlock, [2, 2, 2, 2], **kwargs)


@model_builder(ResNet34_Weights)
def resnet34(**kwargs: Any) -> ResNet:
    """ResNet-34, 21,797,672 parameters."""
    return ResNet(BasicBlock, [3, 4, 6, 3], **kwargs)


@model_builder(ResNet50_Weights)
def resnet50(**kwargs: Any) -> ResNet:
    """ResNet-50, 25,557,032 parameters."""
    return ResNet(Bottleneck, [3, 4, 6, 3], **kwargs)


@model_builder(ResNetDigits_Weights)
def resnet_digits(**kwargs: Any) -> DigitsResNet:
    """A small residual network for images of digits, 1x32x32: `DigitsResNet`, 78,010 parameters for ten classes."""
    return DigitsResNet(**kwargs)
