"""Random transforms of colours and shapes: they draw from torch's random stream, in torchvision's order."""

from __future__ import annotations

from collections.abc import Sequence

import autolab
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.vision.transforms import functional as F
from autolab.vision.transforms.fixed import _Transform
from autolab.vision.transforms.images import Image, is_number
from autolab.vision.transforms.randomized import _Chance, _uniform, check_fill, check_two
from autolab.vision.transforms.sampling import InterpolationMode, mode_of


def _range(value, name, center=1, bound=(0, float("inf"))):
    """(low, high) of a number, around `center`, or of two; None where nothing can change."""
    if is_number(value):
        if value < 0:
            message = f"If {name} is a single number, it must be non negative."
            raise fail(
                ValueError,
                message,
                f"The factor is drawn from {center} - {name} to {center} + {name}.",
            )
        low = center - float(value)
        value = [max(low, 0.0) if center else low, center + float(value)]
    elif isinstance(value, (tuple, list)) and len(value) == 2:
        value = [float(v) for v in value]
    else:
        raise fail(
            TypeError,
            f"{name} should be a single number or a list/tuple with length 2.",
            "(smallest, largest) factor.",
        )
    if not bound[0] <= value[0] <= value[1] <= bound[1]:
        message = f"{name} values should be between {bound}, but got {value}."
        raise fail(ValueError, message, "(smallest, largest) factor.")
    return None if value[0] == value[1] == center else tuple(value)


class ColorJitter(_Transform):
    """Brightness, contrast, saturation and hue changed by random factors, in random order.

    Each is a number d, for factors from 1 - d to 1 + d (hue: from -d to d, a share of the colour circle), or (smallest,
    largest). Raises ValueError, TypeError for others."""

    def __init__(
        self,
        brightness: float | Sequence[float] = 0,
        contrast: float | Sequence[float] = 0,
        saturation: float | Sequence[float] = 0,
        hue: float | Sequence[float] = 0,
    ) -> None:
        super().__init__()
        self.brightness, self.contrast = (
            _range(brightness, "brightness"),
            _range(contrast, "contrast"),
        )
        self.saturation = _range(saturation, "saturation")
        self.hue = _range(hue, "hue", center=0, bound=(-0.5, 0.5))

    @staticmethod
    def get_params(
        brightness: Sequence[float] | None,
        contrast: Sequence[float] | None,
        saturation: Sequence[float] | None,
        hue: Sequence[float] | None,
    ) -> tuple[Tensor, float | None, float | None, float | None, float | None]:
        """A random order (tensor of four numbers) and the four factors; None for what is None."""
        order = autolab.randperm(4)
        return order, *(
            None if r is None else _uniform(*r) for r in (brightness, contrast, saturation, hue)
        )

    def forward(self, img: Image) -> Image:
        """The image in other colours."""
        changes = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        for i in order.tolist():
            if factors[i] is not None:
                img = changes[i](img, factors[i])
        return img

    def _settings(self):
        return f"brightness={self.brightness}, contrast={self.contrast}, saturation={self.saturation}, hue={self.hue}"


class GaussianBlur(_Transform):
    """The image blurred with a standard deviation drawn from `sigma` = (smallest, largest) or fixed; see
    `functional.gaussian_blur`."""

    def __init__(
        self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)
    ) -> None:
        super().__init__()
        self.kernel_size = F._pair(
            kernel_size, "Kernel size should be a tuple/list of two integers"
        )
        if any(n <= 0 or n % 2 == 0 for n in self.kernel_size):
            message = "Kernel size value should be an odd and positive number."
            raise fail(ValueError, message, "The pixel itself stands in the middle.")
        if is_number(sigma):
            if sigma <= 0:
                message = "If sigma is a single number, it must be positive."
                raise fail(ValueError, message, "A standard deviation in pixels.")
            sigma = (sigma, sigma)
        elif not isinstance(sigma, Sequence) or len(sigma) != 2:
            message = "sigma should be a single number or a list/tuple with length 2."
            raise fail(ValueError, message, "(smallest, largest) standard deviation.")
        elif not 0.0 < sigma[0] <= sigma[1]:
            message = "sigma values should be positive and of the form (min, max)."
            raise fail(ValueError, message, "(smallest, largest) standard deviation.")
        self.sigma: Sequence[float] = sigma

    @staticmethod
    def get_params(sigma_min: float, sigma_max: float) -> float:
        """A random standard deviation."""
        return _uniform(sigma_min, sigma_max)

    def forward(self, img: Image) -> Image:
        """The blurred image."""
        sigma = self.get_params(*self.sigma)
        return F.gaussian_blur(img, list(self.kernel_size), [sigma, sigma])

    def _settings(self):
        return f"kernel_size={self.kernel_size}, sigma={self.sigma}"


def _angles(value, name, lengths):
    if is_number(value):
        if value < 0:
            message = f"If {name} is a single number, it must be positive."
            raise fail(ValueError, message, f"The angle is drawn from -{name} to {name}.")
        return [float(-value), float(value)]
    check_two(name, value, lengths)
    return [float(v) for v in value]


def _filled(img, fill):
    """`fill` as torchvision hands it on: for tensors one number per channel."""
    if not isinstance(img, Tensor):
        return fill
    return [float(fill)] * F.get_dimensions(img)[0] if is_number(fill) else [float(v) for v in fill]


class RandomAffine(_Transform):
    """The image turned, moved, enlarged and sheared by random amounts; see `functional.affine`.

    degrees: a number d for angles from -d to d, or (low, high). translate: largest shares of (width, height). scale:
    (smallest, largest) factor. shear: as degrees, along x, or (x low, x high, y low, y high). Raises TypeError,
    ValueError for others."""

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
        fill: float | Sequence[float] | None = 0,
        center: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self.interpolation, self.degrees = mode_of(interpolation), _angles(degrees, "degrees", (2,))
        for name, value in (("translate", translate), ("scale", scale)):
            if value is not None:
                check_two(name, value, (2,))
        if translate is not None and not all(0.0 <= t <= 1.0 for t in translate):
            raise fail(
                ValueError,
                "translation values should be between 0 and 1",
                "Shares of width and height.",
            )
        if scale is not None and min(scale) <= 0:
            raise fail(ValueError, "scale values should be positive", "1 leaves the size as it is.")
        self.translate, self.scale = translate, scale
        self.shear = None if shear is None else _angles(shear, "shear", (2, 4))
        self.fill = check_fill(fill)
        if center is not None:
            check_two("center", center, (2,))
        self.center = center

    @staticmethod
    def get_params(
        degrees: Sequence[float],
        translate: Sequence[float] | None,
        scale_ranges: Sequence[float] | None,
        shears: Sequence[float] | None,
        img_size: Sequence[int],
    ) -> tuple[float, tuple[int, int], float, tuple[float, float]]:
        """A random (angle, (x, y), scale, (shear x, shear y)); `img_size` is (width, height)."""
        angle, across, down, scale = _uniform(*degrees), 0, 0, 1.0
        if translate is not None:
            across, down = (
                round(_uniform(-share * n, share * n)) for share, n in zip(translate, img_size)
            )
        if scale_ranges is not None:
            scale = _uniform(*scale_ranges)
        if shears is None:
            return angle, (across, down), scale, (0.0, 0.0)
        lean = _uniform(*shears[:2])
        return (
            angle,
            (across, down),
            scale,
            (lean, _uniform(*shears[2:]) if len(shears) == 4 else 0.0),
        )

    def forward(self, img: Image) -> Image:
        """The changed image."""
        _, height, width = F.get_dimensions(img)
        amounts = self.get_params(
            self.degrees, self.translate, self.scale, self.shear, [width, height]
        )
        return F.affine(img, *amounts, self.interpolation, _filled(img, self.fill), self.center)

    def _settings(self):
        shown = {name: getattr(self, name) for name in ("translate", "scale", "shear")}
        shown["interpolation"] = (
            None if self.interpolation is InterpolationMode.NEAREST else self.interpolation.value
        )
        shown["fill"], shown["center"] = None if self.fill == 0 else self.fill, self.center
        others = "".join(f", {name}={value}" for name, value in shown.items() if value is not None)
        return f"degrees={self.degrees}{others}"


class RandomPerspective(_Transform):
    """The image seen at a slant, with probability `p`: each corner moves inwards by up to `distortion_scale` / 2 of the
    image."""

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        fill: float | Sequence[float] | None = 0,
    ) -> None:
        super().__init__()
        self.p, self.distortion_scale, self.interpolation = (
            p,
            distortion_scale,
            mode_of(interpolation),
        )
        self.fill = check_fill(fill)

    @staticmethod
    def get_params(
        width: int, height: int, distortion_scale: float
    ) -> tuple[list[list[int]], list[list[int]]]:
        """The image's four corners, and where they move to."""
        across, down = (int(distortion_scale * (n // 2)) for n in (width, height))
        near = lambda reach: autolab.randint(0, reach + 1, size=(1,)).item()
        far = lambda reach, n: autolab.randint(n - reach - 1, n, size=(1,)).item()
        corners = [
            [near(across), near(down)],
            [far(across, width), near(down)],
            [far(across, width), far(down, height)],
            [near(across), far(down, height)],
        ]
        return [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]], corners

    def forward(self, img: Image) -> Image:
        """The image, distorted or not."""
        fill = _filled(img, self.fill)
        if not autolab.rand(1) < self.p:
            return img
        _, height, width = F.get_dimensions(img)
        return F.perspective(
            img, *self.get_params(width, height, self.distortion_scale), self.interpolation, fill
        )

    def _settings(self):
        return f"p={self.p}"


class RandomInvert(_Chance):
    """The negative, with probability `p`."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p)

    def _transformed(self, img):
        return F.invert(img)


class RandomPosterize(_Chance):
    """Bytes of which only `bits` binary digits are left, with probability `p`."""

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p)
        self.bits = bits

    def _transformed(self, img):
        return F.posterize(img, self.bits)

    def _settings(self):
        return f"bits={self.bits},p={self.p}"


class RandomSolarize(_Chance):
    """Pixels that reach `threshold` inverted, with probability `p`."""

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.threshold = threshold

    def _transformed(self, img):
        return F.solarize(img, self.threshold)

    def _settings(self):
        return f"threshold={self.threshold},p={self.p}"


class RandomAdjustSharpness(_Chance):
    """Sharper (`sharpness_factor` above 1) or smoother, with probability `p`."""

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.sharpness_factor = sharpness_factor

    def _transformed(self, img):
        return F.adjust_sharpness(img, self.sharpness_factor)

    def _settings(self):
        return f"sharpness_factor={self.sharpness_factor},p={self.p}"


class RandomAutocontrast(_Chance):
    """Each channel stretched from black to white, with probability `p`."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p)

    def _transformed(self, img):
        return F.autocontrast(img)


class RandomEqualize(_Chance):
    """All levels of brightness equally frequent, with probability `p`."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p)

    def _transformed(self, img):
        return F.equalize(img)
