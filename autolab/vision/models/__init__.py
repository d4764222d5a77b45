"""Networks for images: LeNet, ResNet-9 and torchvision's ResNets. Source: https://docs.pytorch.org/vision/0.29/models.html"""

from autolab.vision.models.lenet import LeNet
from autolab.vision.models.resnet import ResNet, resnet18, resnet34, resnet50
from autolab.vision.models.resnet9 import BottleneckResBlock, ResBlock, ResNet9
from autolab.vision.models.weights import ResNet18_Weights, ResNet34_Weights, ResNet50_Weights, Weights, WeightsEnum
