"""What happens to images before a network sees them (`torchvision.transforms`).

Images are Pillow images or tensors (..., H, W); a transform returns an image of the same kind, unless its name says
otherwise. ToTensor and ToPILImage also take NumPy arrays (H, W) and (H, W, C). Random transforms draw from the random
stream exactly as torchvision does.

Source: https://docs.pytorch.org/vision/0.29/transforms.html
"""

from autolab.engine import absent as _absent
from autolab.vision.transforms import functional
from autolab.vision.transforms.autoaugment import RandAugment, TrivialAugmentWide
from autolab.vision.transforms.fixed import (
    CenterCrop,
    Compose,
    Grayscale,
    Lambda,
    Normalize,
    Pad,
    PILToTensor,
    Resize,
    ToPILImage,
    ToTensor,
)
from autolab.vision.transforms.randomized import (
    ColorJitter,
    GaussianBlur,
    RandomApply,
    RandomCrop,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
)
from autolab.vision.transforms.sampling import InterpolationMode

__all__ = [
    "CenterCrop", "ColorJitter", "Compose", "GaussianBlur", "Grayscale", "InterpolationMode", "Lambda", "Normalize",
    "PILToTensor", "Pad", "RandAugment", "RandomApply", "RandomCrop", "RandomGrayscale", "RandomHorizontalFlip",
    "RandomResizedCrop", "RandomRotation", "RandomVerticalFlip", "Resize", "ToPILImage", "ToTensor",
    "TrivialAugmentWide", "functional",
]  # fmt: skip

__getattr__ = _absent.getattr_of("torchvision.transforms")
