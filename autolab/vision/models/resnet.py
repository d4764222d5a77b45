"""ResNet-18, -34 and -50 with torchvision's module names, initial values and order of the random draws.

Sources: K. He, X. Zhang, S. Ren, J. Sun, https://arxiv.org/abs/1512.03385; torchvision's `models.resnet` (the stride of a
bottleneck block is in its 3x3 convolution).
"""

import functools
import os
import warnings

import autolab
from autolab import nn
from autolab.engine.errors import fail, unsupported
from autolab.vision.models.weights import (
    ResNet18_Weights,
    ResNet34_Weights,
    ResNet50_Weights,
    read_state_dict,
)


def _conv(inplanes, planes, kernel_size, stride=1):
    return nn.Conv2d(inplanes, planes, kernel_size, stride, padding=kernel_size // 2, bias=False)


class BasicBlock(nn.Module):
    """Two 3x3 convolutions and a shortcut: (N, inplanes, H, W) to (N, planes, H / stride, W / stride)."""

    expansion = 1

    def __init__(self, inplanes, planes, stride=1, downsample=None, norm_layer=nn.BatchNorm2d):
        super().__init__()
        self.conv1, self.bn1 = _conv(inplanes, planes, 3, stride), norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2, self.bn2 = _conv(planes, planes, 3), norm_layer(planes)
        self.downsample, self.stride = downsample, stride

    def forward(self, x):
        """The block's output."""
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions and a shortcut: (N, inplanes, H, W) to (N, 4 planes, H / stride, W / stride)."""

    expansion = 4

    def __init__(self, inplanes, planes, stride=1, downsample=None, norm_layer=nn.BatchNorm2d):
        super().__init__()
        self.conv1, self.bn1 = _conv(inplanes, planes, 1), norm_layer(planes)
        self.conv2, self.bn2 = _conv(planes, planes, 3, stride), norm_layer(planes)
        self.conv3, self.bn3 = _conv(planes, planes * self.expansion, 1), norm_layer(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample, self.stride = downsample, stride

    def forward(self, x):
        """The block's output."""
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet(nn.Module):
    """A residual network of four layers with `layers[i]` blocks each: (N, 3, H, W) to (N, num_classes) logits.

    zero_init_residual: every block starts as the identity. norm_layer: what makes a normalisation of a number of
    channels. Raises NotImplementedError for torchvision's groups, width_per_group and replace_stride_with_dilation.
    """

    def __init__(self, block, layers, num_classes=1000, zero_init_residual=False, norm_layer=None, **others):
        super().__init__()
        _refuse(others, groups=1, width_per_group=64, replace_stride_with_dilation=None)
        self._norm_layer = norm_layer or nn.BatchNorm2d
        self.inplanes = 64
        self.conv1 = nn.Conv2d(3, 64, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        for number, blocks in enumerate(layers):
            layer = self._make_layer(block, 64 << number, blocks, stride=1 if number == 0 else 2)
            setattr(self, f"layer{number + 1}", layer)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(self.inplanes, num_classes)
        self._reset(zero_init_residual)

    def _make_layer(self, block, planes, blocks, stride):
        downsample, out = None, planes * block.expansion
        if stride != 1 or self.inplanes != out:
            downsample = nn.Sequential(_conv(self.inplanes, out, 1, stride), self._norm_layer(out))
        first = block(self.inplanes, planes, stride, downsample, self._norm_layer)
        self.inplanes = out
        return nn.Sequential(first, *(block(out, planes, norm_layer=self._norm_layer) for _ in range(1, blocks)))

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

    def forward(self, x):
        """Logits (N, num_classes) of the images `x`."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(autolab.flatten(self.avgpool(x), 1))


def _refuse(given, **defaults):
    for name, value in given.items():
        if name not in defaults:
            raise TypeError(f"ResNet.__init__() got an unexpected keyword argument '{name}'")
        if value != defaults[name]:
            raise unsupported("ResNet", name, "It belongs to ResNeXt, Wide ResNet and segmentation networks.")


def _builder(known):
    """Makes a function that returns (block, layers) one that builds the network; `known`: its weights enum."""

    def decorate(build):
        @functools.wraps(build)
        def builder(*, weights=None, progress=True, **kwargs):
            if "pretrained" in kwargs:
                weights = known.DEFAULT if kwargs.pop("pretrained") else None
                _warn_of_pretrained(weights)
            block, layers = build()
            if weights is None:
                return ResNet(block, layers, **kwargs)
            state = _state_of(weights, known, progress, kwargs)
            model = ResNet(block, layers, **kwargs)
            model.load_state_dict(state)
            return model

        del builder.__wrapped__  # its signature is not the one that help() shows
        builder.__doc__ += _WEIGHTS
        return builder

    return decorate


def _state_of(weights, known, progress, kwargs):
    """The state dict that `weights` means; sets the number of classes in `kwargs`."""
    named = (
        isinstance(weights, str)
        and not os.path.exists(weights)
        and weights.removeprefix(f"{known.__name__}.").isidentifier()
    )
    if isinstance(weights, (str, os.PathLike)) and not named:
        state = read_state_dict(weights)
        if "fc.weight" in state:
            kwargs.setdefault("num_classes", state["fc.weight"].shape[0])
        return state
    weights = known.verify(weights)
    classes = weights.meta["num_classes"]
    if kwargs.setdefault("num_classes", classes) != classes:
        message = f"The parameter 'num_classes' expected value {classes} but got {kwargs['num_classes']} instead."
        raise fail(ValueError, message, "Load the weights first, then put a new layer in the place of model.fc.")
    return weights.get_state_dict(progress=progress)


def _warn_of_pretrained(weights):
    warnings.warn(
        "The parameter 'pretrained' is deprecated since 0.13 and may be removed in the future, please use 'weights' "
        "instead.",
        stacklevel=3,
    )
    message = (
        "Arguments other than a weight enum or `None` for 'weights' are deprecated since 0.13 and may be removed in the "
        f"future. The current behavior is equivalent to passing `weights={weights}`."
    )
    if weights is not None:
        message += f" You can also use `weights={type(weights).__name__}.DEFAULT` to get the most up-to-date weights."
    warnings.warn(message, stacklevel=3)


_WEIGHTS = """

    weights: None (random values), a member of the weights enum or its name, or the path of a .safetensors file with
    torchvision's names. progress: accepted for torchvision's sake. Other arguments go to `ResNet`. Raises
    NotImplementedError for a member of the enum whose file is not on this machine, RuntimeError for weights that do
    not fit.
    """


@_builder(ResNet18_Weights)
def resnet18():
    """ResNet-18, 11,689,512 parameters."""
    return BasicBlock, (2, 2, 2, 2)


@_builder(ResNet34_Weights)
def resnet34():
    """ResNet-34, 21,797,672 parameters."""
    return BasicBlock, (3, 4, 6, 3)


@_builder(ResNet50_Weights)
def resnet50():
    """ResNet-50, 25,557,032 parameters."""
    return Bottleneck, (3, 4, 6, 3)
