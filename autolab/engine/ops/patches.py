"""Image patches as columns (unfold), and channels as pixels (pixel_shuffle).

Sources: torch.nn.functional.unfold, pixel_shuffle; Shi et al., "Real-Time Single Image and Video
Super-Resolution Using an Efficient Sub-Pixel Convolutional Neural Network" (2016).
"""

from __future__ import annotations

from ..exact.arguments import check_tensors
from .checks import refuse_if
from .functions import composite
from .padding import pad
from .pooling import pairs_of


@composite(namespace="nn.functional")
def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Return the patches of images (N, C, H, W) as columns: (N, C * kh * kw, number of patches). Raise RuntimeError if
    no patch fits.

    Source: torch.nn.functional.unfold."""
    check_tensors("im2col", input=input)
    given = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
    kernels, dilations, (y, x), strides = pairs_of("im2col", **given)
    refuse_if(
        input.ndim not in (3, 4),
        f"Expected 3D or 4D (batch mode) tensor, but got: {list(input.shape)}",
        "Images are (N, C, H, W), or (C, H, W) without a batch.",
    )
    patches = pad(input, (x, x, y, y))
    for k, d, s in zip(kernels, dilations, strides):
        patches = patches.unfold(-2, d * (k - 1) + 1, s)[..., ::d]
    n = patches.ndim  # (…, C, rows, columns, kh, kw)
    patches = patches.permute(*range(n - 4), n - 2, n - 1, n - 4, n - 3)
    rows, columns = patches.shape[-2:]
    return patches.reshape(*input.shape[:-3], -1, rows * columns)


@composite(namespace="nn.functional")
def pixel_shuffle(input, upscale_factor):
    """Move channels into pixels: (…, C r², H, W) gives (…, C, H r, W r). Raise RuntimeError if r² does not divide the
    channels.

    PyTorch's tutorial on super-resolution uses it. Source: torch.nn.functional.pixel_shuffle."""
    r = upscale_factor
    refuse_if(
        r.__class__ is not int or r <= 0,
        f"pixel_shuffle expects a positive upscale_factor, but got {r}",
        "It counts pixels.",
    )
    refuse_if(
        input.ndim < 3 or input.shape[-3] % r**2,
        "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
        f"the input has shape {list(input.shape)} and the square is {r**2}",
        "The last dimensions are channels, rows and columns; each block of pixels is made of that many channels.",
    )
    *lead, channels, height, width = input.shape
    blocks = input.reshape(-1, r, r, height, width).permute(0, 3, 1, 4, 2)
    return blocks.reshape(*lead, channels // r**2, height * r, width * r)
