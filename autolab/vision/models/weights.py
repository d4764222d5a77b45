"""The pretrained weights there are. Source:
https://docs.pytorch.org/vision/0.28/models.html#using-the-pre-trained-models
"""

import functools
import json
from collections import OrderedDict

import numpy as np

import autolab
from autolab.vision.models._api import SHIPPED, Weights, WeightsEnum

_IMAGENET_CLASSES = (SHIPPED / "imagenet_classes.txt").read_text(encoding="utf-8").splitlines()
_RECIPE = "https://github.com/pytorch/vision/tree/main/references/classification#resnet"


def _classification(**settings):
    from autolab.vision.transforms.presets import ImageClassification

    return ImageClassification(**settings)


def _imagenet(name, num_params, acc1, acc5, operations, megabytes, recipe=_RECIPE, **settings):
    meta = {
        "min_size": (1, 1),
        "categories": _IMAGENET_CLASSES,
        "num_params": num_params,
        "recipe": recipe,
        "_metrics": {"ImageNet-1K": {"acc@1": acc1, "acc@5": acc5}},
        "_ops": operations,
        "_file_size": megabytes,
        "license": "torchvision: BSD 3-Clause; trained on ImageNet, whose images are for non-commercial research",
        "source": "https://github.com/pytorch/vision",
        "sha256": name.rpartition("-")[
            2
        ],  # its first eight digits, which torchvision puts into the file's name
    }
    url = f"https://download.pytorch.org/models/{name}.pth"
    return Weights(url, functools.partial(_classification, crop_size=224, **settings), meta)


class ResNet18_Weights(WeightsEnum):
    """Weights of ResNet-18."""

    IMAGENET1K_V1 = _imagenet("resnet18-f37072fd", 11689512, 69.758, 89.078, 1.814, 44.661)
    DEFAULT = IMAGENET1K_V1


class ResNet34_Weights(WeightsEnum):
    """Weights of ResNet-34."""

    IMAGENET1K_V1 = _imagenet("resnet34-b627a593", 21797672, 73.314, 91.42, 3.664, 83.275)
    DEFAULT = IMAGENET1K_V1


class ResNet50_Weights(WeightsEnum):
    """Weights of ResNet-50."""

    IMAGENET1K_V1 = _imagenet("resnet50-0676ba61", 25557032, 76.13, 92.862, 4.089, 97.781)
    IMAGENET1K_V2 = _imagenet(
        "resnet50-11ad3fa6",
        25557032,
        80.858,
        95.434,
        4.089,
        97.79,
        recipe="https://github.com/pytorch/vision/issues/3995#issuecomment-1013906621",
        resize_size=232,
    )
    DEFAULT = IMAGENET1K_V2


def _digits(**settings):
    from autolab.vision.transforms import Compose, Grayscale, Resize, ToTensor

    return Compose([Grayscale(), Resize((32, 32), **settings), ToTensor()])


class ResNetDigits_Weights(WeightsEnum):
    """Weights of `resnet_digits`, shipped with autolab: it knows the digits 0 to 4 and has never seen 5 to 9."""

    ZERO_TO_FOUR_V1 = Weights(
        "resnet_digits-zero_to_four.safetensors",
        _digits,
        {
            "min_size": (16, 16),
            "categories": ["0", "1", "2", "3", "4"],
            "num_params": 77685,
            "recipe": "tools/pretrain_digits.py",
            "_metrics": {"UCI digits 0 to 4, test": {"acc@1": 98.333}},
            "_ops": 0.003,
            "_file_size": 0.304,
            "license": "autolab: BSD 3-Clause; trained on the UCI handwritten digits, CC BY 4.0",
            "source": "https://doi.org/10.24432/C50P49, the training part of autolab.vision.datasets.Digits",
            "sha256": "00a5ff94e995df144503326423fb99a52308ee4a4cbf9e00145f49aa9d9c6098",
        },
    )
    DEFAULT = ZERO_TO_FOUR_V1


def read_shipped(path):
    """The tensors of a shipped .safetensors file by name, read without the package safetensors, which few will have."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header, data, tensors = json.loads(content[8 : 8 + size]), content[8 + size :], OrderedDict()
    for name, entry in header.items():
        if name != "__metadata__":
            first, end = entry["data_offsets"]
            array = np.frombuffer(data[first:end], {"F32": "<f4", "I64": "<i8"}[entry["dtype"]])
            tensors[name] = autolab.from_numpy(
                array.reshape(entry["shape"]).astype(array.dtype.newbyteorder("="))
            )
    return tensors
