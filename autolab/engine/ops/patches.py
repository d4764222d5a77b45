"""Images as columns of patches and back, and channels as pixels and back.

Sources: torch.nn.functional.unfold, pixel_shuffle; Shi et al., "Real-Time Single Image and Video
Super-Resolution Using an Efficient Sub-Pixel Convolutional Neural Network" (2016).
"""

from __future__ import annotations

import numpy as np

from ..exact.arguments import check_tensors
from ..core.errors import bad_argument
from ..exact.dtype_errors import not_implemented
from ..exact.refusals import check_dim
from .checks import refuse_if
from .functions import composite, internal
from .with_backward import rule


# -- patches -----------------------------------------------------------------------------------------------------------
def _counts(size, kernel_size, dilation, padding, stride):
    """How many patches fit along each axis."""
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, d, p, s in zip(size, kernel_size, dilation, padding, stride)
    )


def _taps(counts, kernel_size, dilation, stride):
    """Per kernel position, row by row: the slices of the padded image that hold it for all patches."""
    (rows, columns), (kh, kw), (dy, dx), (sy, sx) = counts, kernel_size, dilation, stride
    return [
        (
            ...,
            slice(i * dy, i * dy + (rows - 1) * sy + 1, sy),
            slice(j * dx, j * dx + (columns - 1) * sx + 1, sx),
        )
        for i in range(kh)
        for j in range(kw)
    ]


def _im2col(xp, x, kernel_size, dilation, padding, stride):
    if x.dtype.kind != "f":
        raise not_implemented("im2col_out_cpu", x.dtype)
    counts = _counts(x.shape[-2:], kernel_size, dilation, padding, stride)
    padded = xp.pad(x, [(0, 0)] * (x.ndim - 2) + [(p, p) for p in padding])
    patches = xp.stack(
        [padded[tap] for tap in _taps(counts, kernel_size, dilation, stride)], axis=-3
    )  # (…, C, kh kw, rows, columns)
    channels = patches.shape[-4] * patches.shape[-3]
    return patches.reshape(*x.shape[:-3], channels, counts[0] * counts[1])


def _col2im(xp, columns, output_size, kernel_size, dilation, padding, stride):
    counts = _counts(output_size, kernel_size, dilation, padding, stride)
    lead, area = columns.shape[:-2], kernel_size[0] * kernel_size[1]
    patches = columns.reshape(*lead, columns.shape[-2] // area, area, *counts)
    image = xp.zeros(
        (*patches.shape[:-3], *(n + 2 * p for n, p in zip(output_size, padding))), columns.dtype
    )
    for k, tap in enumerate(_taps(counts, kernel_size, dilation, stride)):
        image[tap] += patches[..., k, :, :]
    return image[
        ..., padding[0] : padding[0] + output_size[0], padding[1] : padding[1] + output_size[1]
    ]


def _fold(
    m, g, self_sym_argsize_minus_2, self_sym_argsize_minus_1, kernel_size, dilation, padding, stride
):
    size = self_sym_argsize_minus_2, self_sym_argsize_minus_1
    return m.col2im(g, size, kernel_size, dilation, padding, stride)


_PATCHES = [((2, 2), (1, 1), (0, 0), (1, 1)), ((2, 3), (2, 1), (1, 1), (2, 1))]

im2col = internal(
    "im2col(Tensor self, int[] kernel_size, int[] dilation, int[] padding, int[] stride)",
    forward=_im2col,
    vjp={"self": _fold},
    node="Im2ColBackward0",
    latex=r"\mathrm{unfold}({self})",
    vjp_latex={"self": r"\mathrm{fold}({g})"},
    samples=lambda s: (
        [(s.randn(1, 2, 4, 5), *options) for options in _PATCHES]
        + [(s.randn(2, 3, 3), *_PATCHES[0])]
    ),
)

col2im = internal(
    "col2im(Tensor self, int[] output_size, int[] kernel_size, int[] dilation, int[] padding, int[] stride)",
    forward=_col2im,
    vjp={"self": rule("im2col", "kernel_size", "dilation", "padding", "stride")},
    node="Col2ImBackward0",
    latex=r"\mathrm{fold}({self})",
    vjp_latex={"self": r"\mathrm{unfold}({g})"},
    samples=lambda s: [
        (s.randn(1, 8, 12), (4, 5), *_PATCHES[0]),
        (s.randn(6, 2 * 5), (4, 5), *_PATCHES[1]),
    ],
)


def _pair(name, value):
    values = (value,) if isinstance(value, (int, np.integer)) else tuple(value)
    values = values * 2 if len(values) == 1 else values
    message = f"It is expected {name} equals to 2, but got size {len(values)}"
    refuse_if(len(values) != 2, message, "One number, or (height, width).")
    return values


def _options(**given):
    """Return kernel_size, dilation, padding and stride as pairs."""
    pairs = {name: _pair(name, value) for name, value in given.items()}
    for name, words, least, short in (
        ("kernel_size", "kernel size should be greater than zero", 1, "kernel"),
        ("stride", "stride should be greater than zero", 1, "stride"),
        ("dilation", "dilation should be greater than zero", 1, "dilation"),
        ("padding", "padding should be non-negative", 0, "pad"),
    ):
        height, width = pairs[name]
        message = f"{words}, but got {short}_height: {height} {short}_width: {width}"
        refuse_if(min(height, width) < least, message, "Patches have a size and move forwards.")
    return pairs


@composite(namespace="nn.functional")
def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Return the patches of images (N, C, H, W) as columns: (N, C * kh * kw, number of patches). Raises RuntimeError
    when none fits.

    Source: torch.nn.functional.unfold."""
    check_tensors("im2col", input=input)
    options = _options(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)
    ndim, size = input.ndim, tuple(input.shape[-2:])
    refuse_if(
        ndim in (3, 4) and 0 in input.shape[ndim - 3 :] or ndim > 4,
        "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: "
        f"{list(input.shape)}",
        "Images are (N, C, H, W), or (C, H, W) without a batch.",
    )
    if ndim < 3:
        check_dim(max(2, ndim), ndim)
    counts = _counts(size, *options.values())
    shown = ", ".join(f"{name}={pair}" for name, pair in list(options.items())[:3])
    refuse_if(
        min(counts) < 1,
        f"Given input with spatial size {size}, {shown}, calculated shape of the array of sliding blocks as {counts}, but its "
        "components must be at least one.",
        "The image is smaller than a patch.",
    )
    return im2col.call(input, *options.values())


# -- channels as pixels ------------------------------------------------------------------------------------------------
def _shuffle(xp, x, r):
    *lead, c, h, w = x.shape
    x = x.reshape(*lead, c // (r * r), r, r, h, w)
    n = len(lead)
    order = (*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    return x.transpose(order).copy().reshape(*lead, c // (r * r), h * r, w * r)


def _unshuffle(xp, x, r):
    *lead, c, h, w = x.shape
    x = x.reshape(*lead, c, h // r, r, w // r, r)
    n = len(lead)
    order = (*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    return x.transpose(order).copy().reshape(*lead, c * r * r, h // r, w // r)


shuffle_op = internal(
    "pixel_shuffle(Tensor self, int upscale_factor)",
    forward=_shuffle,
    vjp={"self": rule("pixel_unshuffle", "upscale_factor")},
    latex=r"\mathrm{shuffle}({self})",
    vjp_latex={"self": r"\mathrm{unshuffle}({g})"},
    samples=lambda s: [(s.randn(1, 8, 2, 3), 2), (s.randn(9, 1, 2), 3)],
)
internal(
    "pixel_unshuffle(Tensor self, int downscale_factor)",
    forward=_unshuffle,
    vjp={"self": rule("pixel_shuffle", "downscale_factor")},
    latex=r"\mathrm{unshuffle}({self})",
    vjp_latex={"self": r"\mathrm{shuffle}({g})"},
    samples=lambda s: [(s.randn(1, 2, 4, 6), 2)],
)


@composite()
@composite(namespace="nn.functional")
def pixel_shuffle(input, upscale_factor):
    """Return channels as pixels: (…, C r², H, W) gives (…, C, H r, W r). Raises RuntimeError when r² does not divide
    the channels.

    PyTorch's tutorial on super-resolution uses it. Source: torch.nn.functional.pixel_shuffle."""
    r, pixels = upscale_factor, "It counts pixels."
    if not isinstance(r, (int, np.integer)):
        raise bad_argument("pixel_shuffle", "upscale_factor", 2, "int", r)
    refuse_if(
        input.ndim < 3,
        f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)",
        "The last dimensions are channels, rows and columns.",
    )
    refuse_if(r <= 0, f"pixel_shuffle expects a positive upscale_factor, but got {r}", pixels)
    refuse_if(
        input.shape[-3] % r**2,
        "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
        f"input.size(-3)={input.shape[-3]} is not divisible by {r**2}",
        "Each block of pixels is made of that many channels.",
    )
    return shuffle_op.call(input, r)
