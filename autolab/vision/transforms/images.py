"""The three kinds of images, and how one becomes another."""

from __future__ import annotations

import numbers
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

import autolab
from autolab.engine.core.dtype import dtype as DType
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Image = TypeVar("Image", bound=Any)
"""A Pillow image, a NumPy array (H, W) or (H, W, C), or a tensor (..., H, W): what is given back is of the same
kind."""

_PIL_DTYPES = {"I": np.int32, "I;16": np.int16, "F": np.float32}  # all other modes: uint8


def pillow() -> Any:
    """The module PIL.Image. Raises ImportError without the package Pillow."""
    try:
        from PIL import Image
    except ImportError as error:
        message = "this needs the package Pillow"
        raise fail(
            ImportError, message, "Install it with: pip install pillow; or work on tensors."
        ) from error
    return Image


def is_number(value: object) -> TypeIs[int | float]:
    """Whether `value` is a single number: Python's or NumPy's."""
    return isinstance(value, numbers.Number)


def is_pil(img: object) -> bool:
    """Whether `img` is a Pillow image; without Pillow nothing is."""
    loaded = sys.modules.get("PIL.Image")
    return loaded is not None and isinstance(img, loaded.Image)


def pil_of(array: np.ndarray, mode: str | None = None) -> Any:
    """A Pillow image of an array (H, W) or (H, W, C)."""
    image = pillow()
    if mode is None or array.dtype == bool:
        return image.fromarray(array)
    return image.frombytes(
        mode, (array.shape[1], array.shape[0]), np.ascontiguousarray(array).tobytes()
    )


def _not_an_image(img, expected="PIL Image"):
    return fail(
        TypeError,
        f"img should be {expected}. Got {type(img)}",
        "Images are Pillow images, NumPy arrays or tensors.",
    )


def planes(img: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The pixels as an array or tensor (..., H, W), and a function that turns such pixels into the kind `img` is."""
    if isinstance(img, Tensor):
        if img.ndim < 2:
            raise fail(
                TypeError,
                "Tensor is not a torch image.",
                "An image tensor ends with height and width.",
            )
        return img, lambda pixels: pixels
    if isinstance(img, np.ndarray):
        if img.ndim not in (2, 3):
            raise fail(
                ValueError,
                f"pic should be 2/3 dimensional. Got {img.ndim} dimensions.",
                "(H, W) or (H, W, C).",
            )
        return (
            (img, lambda pixels: pixels)
            if img.ndim == 2
            else (np.moveaxis(img, 2, 0), _channels_last)
        )
    if not is_pil(img):
        raise _not_an_image(img)
    array = np.asarray(img)

    def image(pixels):
        copy = pil_of(
            pixels if pixels.ndim == 2 else np.moveaxis(pixels, 0, 2),
            None if img.mode == "1" else img.mode,
        )
        if img.mode == "P":
            copy.putpalette(img.getpalette())
        return copy

    return (array if array.ndim == 2 else np.moveaxis(array, 2, 0)), image


def _channels_last(pixels):
    return np.moveaxis(pixels, 0, 2)


def get_dimensions(img: Any) -> list[int]:
    """[channels, height, width] of an image of any kind."""
    pixels, _ = planes(img)
    return [1 if pixels.ndim == 2 else pixels.shape[-3], *pixels.shape[-2:]]


def get_image_size(img: Any) -> list[int]:
    """[width, height]."""
    return get_dimensions(img)[:0:-1]


def get_image_num_channels(img: Any) -> int:
    """How many channels the image has."""
    return get_dimensions(img)[0]


def _pil_pixels(pic):
    """The pixels of a Pillow image as a new array (C, H, W)."""
    array = np.array(pic, _PIL_DTYPES.get(pic.mode, np.uint8))
    return np.moveaxis(array.reshape(pic.size[1], pic.size[0], -1), 2, 0)


def to_tensor(pic: Any) -> Tensor:
    """An image as a tensor (C, H, W); bytes become numbers from 0 to 1 of the default dtype, others keep theirs.

    Raises TypeError unless `pic` is a Pillow image or NumPy array, ValueError for an array of another than 2 or 3
    dimensions.
    """
    if is_pil(pic):
        pixels = _pil_pixels(pic)
        if pic.mode == "1":
            pixels = pixels * np.uint8(255)
    elif isinstance(pic, np.ndarray):
        if pic.ndim not in (2, 3):
            raise fail(
                ValueError,
                f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.",
                "(H, W) or (H, W, C).",
            )
        pixels = np.moveaxis(pic.reshape(*pic.shape[:2], -1), 2, 0)
    else:
        raise fail(
            TypeError,
            f"pic should be PIL Image or ndarray. Got {type(pic)}",
            "A tensor needs no ToTensor; ConvertImageDtype scales bytes to 0 … 1.",
        )
    if pixels.dtype == np.uint8:
        dtype = autolab.get_default_dtype()
        return autolab.from_numpy(
            np.ascontiguousarray(pixels).astype(dtype.np) / dtype.np.type(255)
        )
    return autolab.from_numpy(np.ascontiguousarray(pixels))


def pil_to_tensor(pic: Any) -> Tensor:
    """A Pillow image as a tensor (C, H, W) with the same numbers."""
    if not is_pil(pic):
        raise fail(
            TypeError,
            f"pic should be PIL Image. Got {type(pic)}",
            "ToTensor takes NumPy arrays too.",
        )
    array = np.array(pic)
    return autolab.from_numpy(np.moveaxis(array.reshape(pic.size[1], pic.size[0], -1), 2, 0))


_MODES = {1: (), 2: ("LA",), 3: ("RGB", "YCbCr", "HSV"), 4: ("RGBA", "CMYK", "RGBX")}
_GREY = {"uint8": "L", "int16": "I;16", "int32": "I", "float32": "F"}


def to_pil_image(pic: Tensor | np.ndarray, mode: str | None = None) -> Any:
    """A Pillow image of a tensor (C, H, W) or (H, W), or of an array (H, W, C) or (H, W); floats count from 0 to 1.

    mode: Pillow's name of the colour space, where the number of channels leaves a choice. Raises TypeError, ValueError
    for what is no image or does not fit `mode`.
    """
    if isinstance(pic, Tensor):
        array = (pic.permute(1, 2, 0) if pic.ndim == 3 else pic).detach().cpu().numpy()
    elif isinstance(pic, np.ndarray):
        array = pic
    else:
        raise fail(
            TypeError,
            f"pic should be Tensor or ndarray. Got {type(pic)}.",
            "A Pillow image needs no ToPILImage.",
        )
    if array.ndim not in (2, 3):
        raise fail(
            ValueError,
            f"pic should be 2/3 dimensional. Got {array.ndim} dimensions.",
            "Take one image of the batch.",
        )
    array = array.reshape(*array.shape[:2], -1)
    channels = array.shape[2]
    if channels > 4:
        raise fail(
            ValueError,
            f"pic should not have > 4 channels. Got {channels} channels.",
            "A tensor is (C, H, W).",
        )
    if array.dtype.kind == "f" and mode != "F":
        array = (array * 255).astype(np.uint8)
    if channels == 1:
        expected = _GREY.get(array.dtype.name)
        if mode not in (None, expected):
            message = (
                f"Incorrect mode ({mode}) supplied for input type {np.dtype}. Should be {expected}"
            )
            raise fail(ValueError, message, "Leave `mode` out for grey images.")
        mode, array = expected, array[:, :, 0]
    elif mode is not None and mode not in _MODES[channels]:
        message = f"Only modes {list(_MODES[channels])} are supported for {channels}D inputs"
        raise fail(ValueError, message, "Pillow's modes have a fixed number of channels.")
    elif mode is None and array.dtype == np.uint8:
        mode = _MODES[channels][0]
    if mode is None:
        raise fail(
            TypeError,
            f"Input type {array.dtype} is not supported",
            "Colours are uint8, or floats from 0 to 1.",
        )
    return pil_of(array, mode)


def _largest(dtype):
    return 1 if dtype.is_floating_point or dtype is autolab.bool else autolab.iinfo(dtype).max


def convert_image_dtype(image: Tensor, dtype: DType = autolab.float32) -> Tensor:
    """A tensor image in another dtype, scaled: floats from 0 to 1 against integers from 0 to the largest of their
    dtype.

    Raises TypeError for what is no tensor, RuntimeError for floats to integers that they cannot count up to.
    """
    if not isinstance(image, Tensor):
        raise fail(
            TypeError, "Input img should be Tensor Image", "ToTensor or PILToTensor makes one."
        )
    if image.dtype is dtype:
        return image
    if image.is_floating_point():
        if dtype.is_floating_point:
            return image.to(dtype)
        if dtype is autolab.int64 or (image.dtype is autolab.float32 and dtype is autolab.int32):
            message = f"The cast from {image.dtype} to {dtype} cannot be performed safely."
            raise fail(
                RuntimeError,
                message,
                "Its largest number is not one of those that a float can hold.",
            )
        return image.mul(_largest(dtype) + 1.0 - 1e-3).to(
            dtype
        )  # every integer gets an interval of the same length
    largest_in, largest_out = _largest(image.dtype), _largest(dtype)
    if dtype.is_floating_point:
        return image.to(dtype) / float(largest_in)
    if largest_in > largest_out:
        return autolab.div(image, (largest_in + 1) // (largest_out + 1), rounding_mode="floor").to(
            dtype
        )
    return image.to(dtype) * ((largest_out + 1) // (largest_in + 1))
