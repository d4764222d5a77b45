"""Data sets of images (`torchvision.datasets`), in torchvision's folders; `Digits` is shipped and needs no download.

Source: https://docs.pytorch.org/vision/0.29/datasets.html
"""

from autolab.vision.datasets.cifar import CIFAR10, CIFAR100
from autolab.vision.datasets.digits import Digits
from autolab.vision.datasets.folder import ImageFolder
from autolab.vision.datasets.mnist import MNIST, FashionMNIST
from autolab.vision.datasets.vision import VisionDataset

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "Digits",
    "FashionMNIST",
    "ImageFolder",
    "MNIST",
    "VisionDataset",
]
