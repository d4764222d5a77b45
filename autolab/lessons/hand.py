"""The digit that the learner draws and that goes through the course, and the network that reads it.

Lesson 1 saves the digit as a small file in the learner's folder, and lessons 2 and 3 load it. If
the learner drew nothing, a shipped digit is used.
"""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

import autolab as torch
from autolab.engine.core.errors import fail
from autolab.vision.datasets import Digits
from autolab.vision.models import DigitsResNet, ResNetDigits_Weights, resnet_digits

FILE = "my_digit.npz"  # in the folder where the notebook runs, which is the learner's
SHIPPED = 115  # its index among the test digits: a 7 that the network reads as a 1


def shipped_digit() -> tuple[Any, int]:
    """Return the shipped digit, used if the learner draws none: a float32 tensor (1, 32, 32) from 0
    (paper) to 1 (ink), and its label.

    Example:

        >>> from autolab.lessons import hand
        >>> image, label = hand.shipped_digit()
        >>> image.shape, label
        (torch.Size([1, 32, 32]), 7)
    """
    digits = Digits(train=False, size=32)
    return digits.data[SHIPPED].unsqueeze(0).float() / 255, int(digits.targets[SHIPPED])


def save_digit(image: Any, label: int) -> Path | None:
    """Save a digit for later lessons as a file in the notebook's folder. Return its path, or None
    for the shipped digit.

    image: 32x32 numbers from 0 (paper) to 1 (ink), as a tensor or an array (1, 32, 32) or (32, 32).
    label: the digit, 0 to 9. The shipped digit needs no file, so an older file is removed. Raises
    ValueError for other shapes, numbers and labels.

    Example:

        >>> from autolab.lessons import hand
        >>> print(hand.save_digit(*hand.shipped_digit()))
        None
    """
    array = np.array(image.detach().cpu() if hasattr(image, "detach") else image, dtype=np.float32)
    if array.shape not in ((1, 32, 32), (32, 32)):
        raise fail(
            ValueError,
            f"image should be of shape (1, 32, 32), but is of {array.shape}",
            "One grey picture of 32x32 pixels.",
        )
    if not (np.isfinite(array).all() and array.min() >= 0 and array.max() <= 1):
        raise fail(
            ValueError,
            "image should hold numbers from 0 to 1, but has others",
            "Divide bytes by 255.",
        )
    if isinstance(label, bool) or label not in range(10):
        raise fail(
            ValueError,
            f"label should be a digit from 0 to 9, but is {label!r}",
            "Say which digit it is meant to be.",
        )
    shipped, digit = shipped_digit()
    path = Path.cwd() / FILE
    if label == digit and np.array_equal(array.reshape(1, 32, 32), shipped.numpy()):
        path.unlink(missing_ok=True)
        return None
    np.savez(path, image=array.reshape(1, 32, 32), label=label)
    return path


def my_digit() -> tuple[Any, int]:
    """Return the digit that lesson 1 saved in this folder, or else the shipped one: a float32
    tensor (1, 32, 32) from 0 to 1, and its label.

    If the file cannot be read, a warning says so and the shipped digit is returned.

    Example:

        >>> from autolab.lessons import hand
        >>> image, label = hand.my_digit()
        >>> image.dtype
        torch.float32
    """
    path = Path.cwd() / FILE
    if not path.exists():
        return shipped_digit()
    try:
        with np.load(path) as kept:  # without pickles, so a foreign file cannot run code
            image, label = kept["image"].astype(np.float32).reshape(1, 32, 32), int(kept["label"])
        if label not in range(10):
            raise ValueError(f"its label is {label}")
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        warnings.warn(
            f"{path.name} cannot be read ({error}); the shipped digit takes its place", stacklevel=2
        )
        return shipped_digit()
    return torch.from_numpy(image), label


def others() -> tuple[Any, Any]:
    """Return digits that the network has learned, written by other people: the 180 test digits from
    0 to 4 as a float32 tensor (180, 1, 32, 32), and their labels.

    Example:

        >>> from autolab.lessons import hand
        >>> images, labels = hand.others()
        >>> images.shape, labels.unique().tolist()
        (torch.Size([180, 1, 32, 32]), [0, 1, 2, 3, 4])
    """
    digits = Digits(train=False, size=32)
    known = digits.targets < 5
    return digits.data[known].unsqueeze(1).float() / 255, digits.targets[known]


def network() -> DigitsResNet:
    """Return the network of the course in evaluation mode: 78,010 numbers and ten outputs, one for
    each digit.

    It has learned the digits 0 to 4: the layers and the first five outputs come from the shipped
    `resnet_digits`. The outputs for 5 to 9 begin small and random, the same in every run. The
    random stream of `torch.manual_seed` is not changed.

    Example:

        >>> from autolab.lessons import hand
        >>> sum(p.numel() for p in hand.network().parameters())
        78010
    """
    with torch.random.fork_rng():
        torch.manual_seed(0)
        fresh = resnet_digits(num_classes=10)
    learnt = ResNetDigits_Weights.DEFAULT.get_state_dict()
    state = fresh.state_dict()
    for name, tensor in learnt.items():
        if name.startswith("fc."):
            state[name][: len(tensor)] = tensor
        else:
            state[name] = tensor
    fresh.load_state_dict(state)
    return fresh.eval()


def teach(network: Any, image: Any, label: Any, lr: float, steps: int) -> Any:
    """Take `steps` steps of gradient descent on the loss of a batch of images, and return the network.

    The learner writes this function in exercise 01.5.

    Example:

        >>> from autolab.lessons import hand
        >>> image, label = hand.shipped_digit()
        >>> network = hand.teach(hand.network(), image.unsqueeze(0), torch.tensor([label]), lr=0.0005, steps=5)
        >>> bool(network(image.unsqueeze(0)).softmax(1)[0, label] > 0.05)
        True
    """
    for _ in range(steps):
        loss = torch.nn.functional.cross_entropy(network(image), label)
        loss.backward()
        with torch.no_grad():
            for p in network.parameters():
                p -= lr * p.grad
                p.grad = None
    return network
