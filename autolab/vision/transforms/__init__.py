"""What happens to images before a network sees them (`torchvision.transforms`).

Images are Pillow images, NumPy arrays (H, W) or (H, W, C), or tensors (..., H, W); a transform returns the kind it was
given, unless its name says otherwise. torchvision refuses NumPy arrays except in ToTensor and ToPILImage; here they are
treated like the tensor with the same pixels. Random transforms draw from the random stream exactly as torchvision does.

Source: https://docs.pytorch.org/vision/0.29/transforms.html
"""

from autolab.vision.transforms import functional
from autolab.vision.transforms.autoaugment import RandAugment, TrivialAugmentWide
from autolab.vision.transforms.distorted import (
    ColorJitter,
    GaussianBlur,
    RandomAdjustSharpness,
    RandomAffine,
    RandomAutocontrast,
    RandomEqualize,
    RandomInvert,
    RandomPerspective,
    RandomPosterize,
    RandomSolarize,
)
from autolab.vision.transforms.fixed import (
    CenterCrop,
    Compose,
    ConvertImageDtype,
    FiveCrop,
    Grayscale,
    Lambda,
    Normalize,
    Pad,
    PILToTensor,
    Resize,
    TenCrop,
    ToPILImage,
    ToTensor,
)
from autolab.vision.transforms.randomized import (
    RandomApply,
    RandomChoice,
    RandomCrop,
    RandomErasing,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomOrder,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
)
from autolab.vision.transforms.sampling import InterpolationMode

__all__ = [
    "CenterCrop", "ColorJitter", "Compose", "ConvertImageDtype", "FiveCrop", "GaussianBlur", "Grayscale",
    "InterpolationMode", "Lambda", "Normalize", "PILToTensor", "Pad", "RandAugment", "RandomAdjustSharpness",
    "RandomAffine", "RandomApply", "RandomAutocontrast", "RandomChoice", "RandomCrop", "RandomEqualize",
    "RandomErasing", "RandomGrayscale", "RandomHorizontalFlip", "RandomInvert", "RandomOrder", "RandomPerspective",
    "RandomPosterize", "RandomResizedCrop", "RandomRotation", "RandomSolarize", "RandomVerticalFlip", "Resize",
    "TenCrop", "ToPILImage", "ToTensor", "TrivialAugmentWide", "functional",
]  # fmt: skip
