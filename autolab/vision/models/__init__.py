"""Networks for images: LeNet, ResNet-9 and torchvision's ResNets. Source:
https://docs.pytorch.org/vision/0.28/models.html"""

from autolab.vision.models._api import Weights, WeightsEnum
from autolab.vision.models.lenet import LeNet, lenet5
from autolab.vision.models.resnet import (
    DigitsResNet,
    ResNet,
    resnet18,
    resnet34,
    resnet50,
    resnet_digits,
)
from autolab.vision.models.resnet9 import BottleneckResBlock, ResBlock, ResNet9, resnet9
from autolab.vision.models.weights import (
    ResNet18_Weights,
    ResNet34_Weights,
    ResNet50_Weights,
    ResNetDigits_Weights,
)

__all__ = [
    "BottleneckResBlock", "DigitsResNet", "LeNet", "ResBlock", "ResNet", "ResNet18_Weights", "ResNet34_Weights",
    "ResNet50_Weights", "ResNet9", "ResNetDigits_Weights", "Weights", "WeightsEnum", "lenet5", "resnet18", "resnet34",
    "resnet50", "resnet9", "resnet_digits",
]  # fmt: skip
