"""The kinds of images (Pillow images and tensors), and how one becomes the other."""

from __future__ import annotations

import numbers
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import autolab
from autolab.engine.core.dtype import dtype as DType
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Image: TypeAlias = Any
"""A Pillow image or a tensor (..., H, W): the result is of the same kind."""

_PIL_DTYPES = {"I": np.int32, "I;16": np.int16, "F": np.float32}  # all other modes: uint8


def pillow() -> Any:
    """Return the module PIL.Image. Raises ImportError without the package Pillow."""
    try:
        from PIL import Image
    except ImportError as error:
        message = "this needs the package Pillow"
        raise fail(
            ImportError, message, "Install it with: pip install pillow; or work on tensors."
        ) from error
    return Image


def is_number(value: object) -> TypeIs[int | float]:
    """Return whether `value` is a single number: Python's or NumPy's."""
    return isinstance(value, numbers.Number)


def is_pil(img: object) -> bool:
    """Return whether `img` is a Pillow image; without Pillow nothing is."""
    loaded = sys.modules.get("PIL.Image")
    return loaded is not None and isinstance(img, loaded.Image)


def pil_of(array: np.ndarray, mode: str | None = None) -> Any:
    """Return a Pillow image of an array (H, W) or (H, W, C)."""
    image = pillow()
    if mode is None or array.dtype == bool:
        return image.fromarray(array)
    size = array.shape[1], array.shape[0]
    return image.frombytes(mode, size, np.ascontiguousarray(array).tobytes())


def get_dimensions(img: Any) -> list[int]:
    """Return [channels, height, width] of a Pillow image or a tensor. Raises TypeError for other images."""
    if is_pil(img):
        return [len(img.getbands()), img.height, img.width]
    if not isinstance(img, Tensor):
        raise fail(
            TypeError,
            f"Unexpected type {type(img)}",
            "Images are Pillow images or tensors. ToTensor() makes a tensor of an array.",
        )
    if img.ndim < 2:
        note = "An image tensor ends with height and width."
        raise fail(TypeError, "Tensor is not a torch image.", note)
    return [1 if img.ndim == 2 else img.shape[-3], *img.shape[-2:]]


def to_tensor(pic: Any) -> Tensor:
    """Return an image as a tensor (C, H, W); bytes become numbers from 0 to 1 of the default dtype, others keep theirs.

    Raises TypeError unless `pic` is a Pillow image or NumPy array, ValueError for an array of another than 2 or 3
    dimensions.
    """
    if is_pil(pic):
        array = np.array(pic, _PIL_DTYPES.get(pic.mode, np.uint8))
        if pic.mode == "1":
            array = array * np.uint8(255)
    elif isinstance(pic, np.ndarray):
        array = pic
        _check_ndim(array, "(H, W) or (H, W, C).")
    else:
        raise fail(
            TypeError,
            f"pic should be PIL Image or ndarray. Got {type(pic)}",
            "A tensor needs no ToTensor; functional.convert_image_dtype scales bytes to 0 … 1.",
        )
    pixels = _channels_first(array)
    if pixels.dtype == np.uint8:
        dtype = autolab.get_default_dtype()
        pixels = pixels.astype(dtype.np) / dtype.np.type(255)
    return autolab.from_numpy(np.ascontiguousarray(pixels))


def _channels_first(array):
    return np.moveaxis(array.reshape(*array.shape[:2], -1), 2, 0)


def _check_ndim(array, note):
    if array.ndim not in (2, 3):
        message = f"pic should be 2/3 dimensional. Got {array.ndim} dimensions."
        raise fail(ValueError, message, note)


def pil_to_tensor(pic: Any) -> Tensor:
    """Return a Pillow image as a tensor (C, H, W) with the same numbers."""
    if not is_pil(pic):
        message = f"pic should be PIL Image. Got {type(pic)}"
        raise fail(TypeError, message, "ToTensor takes NumPy arrays too.")
    return autolab.from_numpy(_channels_first(np.array(pic)))


_MODES = {1: (), 2: ("LA",), 3: ("RGB", "YCbCr", "HSV"), 4: ("RGBA", "CMYK", "RGBX")}
_GREY = {"uint8": "L", "int16": "I;16", "int32": "I", "float32": "F"}


def to_pil_image(pic: Tensor | np.ndarray, mode: str | None = None) -> Any:
    """Return a Pillow image of a tensor (C, H, W) or (H, W), or of an array (H, W, C) or (H, W).

    Floats count from 0 to 1. mode: Pillow's name of the colour space, where the number of channels leaves a
    choice. Raises TypeError, ValueError for what is no image or does not fit `mode`.
    """
    if isinstance(pic, Tensor):
        array = (pic.permute(1, 2, 0) if pic.ndim == 3 else pic).detach().cpu().numpy()
    elif isinstance(pic, np.ndarray):
        array = pic
    else:
        message = f"pic should be Tensor or ndarray. Got {type(pic)}."
        raise fail(TypeError, message, "A Pillow image needs no ToPILImage.")
    _check_ndim(array, "Take one image of the batch.")
    array = array.reshape(*array.shape[:2], -1)
    channels = array.shape[2]
    if channels > 4:
        message = f"pic should not have > 4 channels. Got {channels} channels."
        raise fail(ValueError, message, "A tensor is (C, H, W).")
    if array.dtype.kind == "f" and mode != "F":
        array = (array * 255).astype(np.uint8)
    mode = _mode_for(array, mode)
    return pil_of(array[:, :, 0] if channels == 1 else array, mode)


def _mode_for(array, mode):
    """Return Pillow's mode for an array (H, W, C): `mode` if it fits, else the usual one for the channels."""
    channels = array.shape[2]
    if channels == 1:
        expected = _GREY.get(array.dtype.name)
        if mode not in (None, expected):
            message = (
                f"Incorrect mode ({mode}) supplied for input type {np.dtype}. Should be {expected}"
            )
            raise fail(ValueError, message, "Leave `mode` out for grey images.")
        mode = expected
    elif mode is not None and mode not in _MODES[channels]:
        message = f"Only modes {list(_MODES[channels])} are supported for {channels}D inputs"
        raise fail(ValueError, message, "Pillow's modes have a fixed number of channels.")
    elif mode is None and array.dtype == np.uint8:
        mode = _MODES[channels][0]
    if mode is None:
        message = f"Input type {array.dtype} is not supported"
        raise fail(TypeError, message, "Colours are uint8, or floats from 0 to 1.")
    return mode


def largest_level(dtype):
    """Return the number that stands for full brightness: 1 for floats, 255 for bytes."""
    return 1 if dtype.is_floating_point or dtype is autolab.bool else autolab.iinfo(dtype).max


def convert_image_dtype(image: Tensor, dtype: DType = autolab.float32) -> Tensor:
    """Return a tensor image in another dtype, scaled: floats count from 0 to 1, integers to the largest of their dtype.

    Raises TypeError for what is no tensor, RuntimeError for floats to integers that they cannot count up to,
    NotImplementedError from one integer dtype to another.
    """
    if not isinstance(image, Tensor):
        raise fail(
            TypeError,
            "Input img should be Tensor Image",
            "Make a tensor with ToTensor or PILToTensor.",
        )
    if image.dtype is dtype or (image.is_floating_point() and dtype.is_floating_point):
        return image.to(dtype)
    if dtype.is_floating_point:
        return image.to(dtype) / float(largest_level(image.dtype))
    if not image.is_floating_point():
        message = f"convert_image_dtype() from {image.dtype} to {dtype} is not supported by autolab"
        raise fail(NotImplementedError, message, "Convert to torch.float32 first.")
    if dtype is autolab.int64 or (image.dtype is autolab.float32 and dtype is autolab.int32):
        message = f"The cast from {image.dtype} to {dtype} cannot be performed safely."
        note = "Its largest number is not one of those that a float can hold."
        raise fail(RuntimeError, message, note)
    # Every integer gets an interval of the same length.
    return image.mul(largest_level(dtype) + 1.0 - 1e-3).to(dtype)
