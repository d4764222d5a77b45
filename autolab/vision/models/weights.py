"""Names of pretrained weights, and how weights are read from a file.

autolab ships no pretrained weights. A member of `ResNet18_Weights` says what there is and where; `resnet18(weights=path)`
loads a .safetensors file. Source: https://docs.pytorch.org/vision/0.29/models.html#using-the-pre-trained-models
"""

import os
from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum
from typing import Any

import autolab
from autolab.engine.errors import fail


@dataclass(frozen=True)
class Weights:
    """Where weights are (`url`), the preprocessing they expect (`transforms()`), and facts about them (`meta`)."""

    url: str
    resize_size: int
    meta: dict[str, Any]

    def transforms(self):
        """The preprocessing that the network was trained for: a callable from image to (C, 224, 224) tensor."""
        from autolab.vision.transforms.presets import ImageClassification

        return ImageClassification(crop_size=224, resize_size=self.resize_size)


class WeightsEnum(Enum):
    """The weights there are for one network; `DEFAULT` is the best of them."""

    @classmethod
    def verify(cls, weights):
        """The member that `weights` is or names. Raises TypeError, KeyError when there is none."""
        if isinstance(weights, str):
            name = weights.removeprefix(f"{cls.__name__}.")
            if name not in cls.__members__:
                known = ", ".join(cls.__members__)
                raise fail(KeyError, name, f"Neither a file nor the name of weights; {cls.__name__} has {known}.")
            return cls[name]
        if not isinstance(weights, cls):
            raise fail(
                TypeError,
                f"Invalid Weight class provided; expected {cls.__name__} but received {type(weights).__name__}.",
                "Weights belong to one network.",
            )
        return weights

    def __repr__(self):
        return f"{type(self).__name__}.{self.name}"

    @property
    def url(self):
        """Where PyTorch downloads them from."""
        return self.value.url

    @property
    def transforms(self):
        """What makes their preprocessing: call it without arguments."""
        return self.value.transforms

    @property
    def meta(self):
        """Number of classes and parameters, accuracy."""
        return self.value.meta

    def get_state_dict(self, progress=True):
        """Raises NotImplementedError: pretrained weights are not shipped yet."""
        file = self.url.rsplit("/", 1)[-1]
        raise fail(
            NotImplementedError,
            f"{self}: pretrained weights are not shipped with autolab yet",
            "Use weights=None, or the path of a .safetensors file. Where PyTorch is installed, "
            f"safetensors.torch.save_file(torch.load('{file}'), 'resnet.safetensors') makes one of {self.url}",
        )


def _imagenet(name, version, num_params, top1, resize_size=256):
    meta = {"num_classes": 1000, "min_size": (1, 1), "num_params": num_params, "acc@1": top1}
    return Weights(f"https://download.pytorch.org/models/{name}.pth", resize_size, {**meta, "version": version})


class ResNet18_Weights(WeightsEnum):
    """Weights of ResNet-18."""

    IMAGENET1K_V1 = _imagenet("resnet18-f37072fd", 1, 11689512, 69.758)
    DEFAULT = IMAGENET1K_V1


class ResNet34_Weights(WeightsEnum):
    """Weights of ResNet-34."""

    IMAGENET1K_V1 = _imagenet("resnet34-b627a593", 1, 21797672, 73.314)
    DEFAULT = IMAGENET1K_V1


class ResNet50_Weights(WeightsEnum):
    """Weights of ResNet-50."""

    IMAGENET1K_V1 = _imagenet("resnet50-0676ba61", 1, 25557032, 76.13)
    IMAGENET1K_V2 = _imagenet("resnet50-11ad3fa6", 2, 25557032, 80.858, resize_size=232)
    DEFAULT = IMAGENET1K_V2


def read_state_dict(path):
    """The tensors of a .safetensors file by name.

    Raises ImportError without the package safetensors, FileNotFoundError, ValueError for a file of another kind or a
    damaged one.
    """
    path = os.fspath(path)
    if not path.endswith(".safetensors"):
        raise fail(
            ValueError,
            f"weights file should end with .safetensors, but got '{path}'",
            "A .pth file is a pickle, which can run code when it is read: convert it with "
            "safetensors.torch.save_file(torch.load(path), 'weights.safetensors').",
        )
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file
    except ImportError as error:
        message = "reading weights from a file needs the package safetensors"
        raise fail(ImportError, message, "Install it with: pip install safetensors") from error
    try:
        arrays = load_file(path)
    except FileNotFoundError:
        raise fail(FileNotFoundError, f"no weights file '{path}'", "Is the path right?") from None
    except SafetensorError as error:
        raise fail(ValueError, f"'{path}' is not a whole .safetensors file: {error}", "Copy it again.") from error
    return OrderedDict((name, autolab.from_numpy(array)) for name, array in arrays.items())
