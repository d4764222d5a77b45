"""Images as columns of patches and back, and channels as pixels and back.

Sources: torch.nn.functional.unfold, fold, pixel_shuffle, pixel_unshuffle; Shi et al., "Real-Time Single Image and Video
Super-Resolution Using an Efficient Sub-Pixel Convolutional Neural Network" (2016).
"""

from __future__ import annotations

import numpy as np

from ..exact.arguments import check_tensors
from ..core.errors import bad_argument, fail
from .functions import composite, internal
from ..core.tensor import Tensor


def _inside(schema, **record):
    return internal(schema, **record)


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
        from ..core.dtype import FROM_NUMPY

        raise fail(
            NotImplementedError,
            f"\"im2col_out_cpu\" not implemented for '{FROM_NUMPY[x.dtype].short}'",
            "Call .float() first.",
        )
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


_PATCHES = [((2, 2), (1, 1), (0, 0), (1, 1)), ((2, 3), (2, 1), (1, 1), (2, 1))]

im2col = _inside(
    "im2col(Tensor self, int[] kernel_size, int[] dilation, int[] padding, int[] stride)",
    forward=_im2col,
    vjp={
        "self": lambda m, g, self_sym_argsize_minus_2, self_sym_argsize_minus_1, kernel_size, dilation, padding, stride: (
            m.col2im(
                g,
                (self_sym_argsize_minus_2, self_sym_argsize_minus_1),
                kernel_size,
                dilation,
                padding,
                stride,
            )
        )  # fmt: skip
    },
    node="Im2ColBackward0",
    latex=r"\mathrm{unfold}({self})",
    vjp_latex={"self": r"\mathrm{fold}({g})"},
    samples=lambda s: (
        [(s.randn(1, 2, 4, 5), *options) for options in _PATCHES]
        + [(s.randn(2, 3, 3), *_PATCHES[0])]
    ),
)

col2im = _inside(
    "col2im(Tensor self, int[] output_size, int[] kernel_size, int[] dilation, int[] padding, int[] stride)",
    forward=_col2im,
    vjp={
        "self": lambda m, g, kernel_size, dilation, padding, stride: m.im2col(
            g, kernel_size, dilation, padding, stride
        )
    },
    node="Col2ImBackward0",
    latex=r"\mathrm{fold}({self})",
    vjp_latex={"self": r"\mathrm{unfold}({g})"},
    samples=lambda s: [
        (s.randn(1, 8, 12), (4, 5), *_PATCHES[0]),
        (s.randn(6, 2 * 5), (4, 5), *_PATCHES[1]),
    ],
)


def _pair(name, value):
    values = (
        (value,) * 2
        if isinstance(value, (int, np.integer))
        else tuple(value) * (2 if len(value) == 1 and name != "output_size" else 1)
    )
    if len(values) != 2:
        raise fail(
            RuntimeError,
            f"It is expected {name} equals to 2, but got size {len(values)}",
            "One number, or (height, width).",
        )
    return values


def _options(kernel_size, dilation, padding, stride):
    given = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
    pairs = {name: _pair(name, value) for name, value in given.items()}
    for name, words, least, short in (
        ("kernel_size", "kernel size should be greater than zero", 1, "kernel"),
        ("stride", "stride should be greater than zero", 1, "stride"),
        ("dilation", "dilation should be greater than zero", 1, "dilation"),
        ("padding", "padding should be non-negative", 0, "pad"),
    ):
        if min(pairs[name]) < least:
            height, width = pairs[name]
            raise fail(
                RuntimeError,
                f"{words}, but got {short}_height: {height} {short}_width: {width}",
                "Patches have a size and move forwards.",
            )
    return tuple(pairs.values())


def _shown(size, kernel_size, dilation, padding, stride=None):
    text = f"kernel_size=({kernel_size[0]}, {kernel_size[1]}), dilation=({dilation[0]}, {dilation[1]}), padding=({padding[0]}, {padding[1]})"
    return text if stride is None else f"{text}, stride=({stride[0]}, {stride[1]})"


@composite(namespace="nn.functional")
def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The patches of images (N, C, H, W) as columns: (N, C * kh * kw, number of patches). Raises RuntimeError when none
    fits.

    Source: torch.nn.functional.unfold."""
    check_tensors("im2col", input=input)
    options = _options(kernel_size, dilation, padding, stride)
    size = tuple(input.shape[-2:])
    if input.ndim in (3, 4) and 0 in input.shape[input.ndim - 3 :] or input.ndim > 4:
        raise fail(
            RuntimeError,
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: "
            f"{list(input.shape)}",
            "Images are (N, C, H, W), or (C, H, W) without a batch.",
        )
    if input.ndim < 3:
        raise fail(
            IndexError,
            f"Dimension out of range (expected to be in range of [{-max(1, input.ndim)}, {max(0, input.ndim - 1)}], but got {max(2, input.ndim)})",
            "Images are (N, C, H, W), or (C, H, W) without a batch.",
        )
    counts = _counts(size, *options)
    if min(counts) < 1:
        raise fail(
            RuntimeError,
            f"Given input with spatial size ({size[0]}, {size[1]}), {_shown(size, *options[:3])}, calculated shape of the array of sliding blocks as "
            f"({counts[0]}, {counts[1]}), but its components must be at least one.",
            "The image is smaller than a patch.",
        )
    return im2col.call(input, *options)


@composite(namespace="nn.functional")
def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns (N, C * kh * kw, number of patches) as images (N, C, *output_size); patches that overlap are summed.

    Raises RuntimeError when the sizes do not fit. Source: torch.nn.functional.fold."""
    check_tensors("col2im", input=input)
    output_size = _pair("output_size", output_size)
    options = _options(kernel_size, dilation, padding, stride)
    kernel_size = options[0]
    if input.ndim not in (2, 3) or 0 in input.shape[-2:]:
        raise fail(
            RuntimeError,
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but got: "
            f"{list(input.shape)}",
            "Columns are (N, C * kh * kw, number of patches).",
        )
    channel = input.ndim - 2
    if input.shape[channel] % (kernel_size[0] * kernel_size[1]):
        raise fail(
            RuntimeError,
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)="
            f"{input.shape[channel]} and kernel_size=({kernel_size[0]}, {kernel_size[1]}).",
            "A column holds a patch of every channel.",
        )
    counts = _counts(output_size, *options)
    if input.shape[-1] != counts[0] * counts[1] or min(counts) < 1:
        raise fail(
            RuntimeError,
            f"Given output_size=({output_size[0]}, {output_size[1]}), {_shown(output_size, *options)}, expected size of input's dimension "
            f"2 to match the calculated number of sliding blocks {counts[0]} * {counts[1]} = {counts[0] * counts[1]}, but got "
            f"input.size(2)={input.shape[-1]}.",
            "There is one column per patch.",
        )
    return col2im.call(input, output_size, *options)


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


shuffle_op = _inside(
    "pixel_shuffle(Tensor self, int upscale_factor)",
    forward=_shuffle,
    vjp={"self": lambda m, g, upscale_factor: m.pixel_unshuffle(g, upscale_factor)},
    latex=r"\mathrm{shuffle}({self})",
    vjp_latex={"self": r"\mathrm{unshuffle}({g})"},
    samples=lambda s: [(s.randn(1, 8, 2, 3), 2), (s.randn(9, 1, 2), 3)],
)
unshuffle_op = _inside(
    "pixel_unshuffle(Tensor self, int downscale_factor)",
    forward=_unshuffle,
    vjp={"self": lambda m, g, downscale_factor: m.pixel_shuffle(g, downscale_factor)},
    latex=r"\mathrm{unshuffle}({self})",
    vjp_latex={"self": r"\mathrm{shuffle}({g})"},
    samples=lambda s: [(s.randn(1, 2, 4, 6), 2)],
)


def _check_factor(function, name, input, factor):
    if not isinstance(factor, (int, np.integer)):
        raise fail(
            TypeError,
            f"{function}(): argument '{name}' (position 2) must be int, not {type(factor).__name__}",
            "It counts pixels.",
        )
    if input.ndim < 3:
        raise fail(
            RuntimeError,
            f"{function} expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)",
            "The last dimensions are channels, rows and columns.",
        )
    if factor <= 0:
        raise fail(
            RuntimeError,
            f"{function} expects a positive {name}, but got {factor}",
            "It counts pixels.",
        )


@composite()
@composite(namespace="nn.functional")
def pixel_shuffle(input, upscale_factor):
    """Channels as pixels: (…, C r², H, W) gives (…, C, H r, W r). Raises RuntimeError when r² does not divide the
    channels.

    Source: torch.nn.functional.pixel_shuffle."""
    _check_factor("pixel_shuffle", "upscale_factor", input, upscale_factor)
    if input.shape[-3] % upscale_factor**2:
        raise fail(
            RuntimeError,
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={input.shape[-3]} is not divisible by {upscale_factor**2}",
            "Each block of pixels is made of that many channels.",
        )
    return shuffle_op.call(input, upscale_factor)


@composite()
@composite(namespace="nn.functional")
def pixel_unshuffle(input, downscale_factor):
    """Pixels as channels: (…, C, H r, W r) gives (…, C r², H, W). Raises RuntimeError when r does not divide rows and
    columns.

    Source: torch.nn.functional.pixel_unshuffle."""
    _check_factor("pixel_unshuffle", "downscale_factor", input, downscale_factor)
    for name, dim in (("height", -2), ("width", -1)):
        if input.shape[dim] % downscale_factor:
            raise fail(
                RuntimeError,
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({dim})={input.shape[dim]} is not divisible by "
                f"{downscale_factor}",
                "The image is cut into blocks of r x r pixels.",
            )
    return unshuffle_op.call(input, downscale_factor)


# -- channels that change places -------------------------------------------------------------------------------------
def _dealt(xp, x, groups):
    """Channel c of group g becomes channel g of the c-th run: what a dealer does with `groups` hands of cards."""
    n, c = x.shape[:2]
    return x.reshape(n, groups, c // groups, *x.shape[2:]).swapaxes(1, 2).copy().reshape(x.shape)


def _dealt_back(m, g, groups):
    channels = g.shape[1]
    return m.channel_shuffle(g, channels // groups) if channels else g


channel_shuffle_op = _inside(
    "channel_shuffle(Tensor self, int groups)",
    forward=_dealt,
    vjp={"self": lambda m, g, groups: _dealt_back(m, g, groups)},
    latex=r"\mathrm{shuffle}({self})",
    vjp_latex={"self": r"\mathrm{unshuffle}({g})"},
    samples=lambda s: [(s.randn(1, 6, 2), 3), (s.randn(2, 4, 2, 2), 2)],
)


@composite()
@composite(namespace="nn.functional")
def channel_shuffle(input, groups):
    """The channels (dimension 1) in `groups` groups, taken one from each group in turn; the shape stays.

    Raises RuntimeError for fewer than three dimensions and for groups that do not divide the channels.
    Source: torch.nn.functional.channel_shuffle; Zhang et al., "ShuffleNet" (2018)."""
    if not isinstance(input, Tensor):
        raise bad_argument("channel_shuffle", "input", 1, "Tensor", input)
    if isinstance(groups, bool) or not isinstance(groups, (int, np.integer)):
        raise bad_argument("channel_shuffle", "groups", 2, "int", groups)
    if input.ndim < 3:
        message = f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}"
        raise fail(RuntimeError, message, "Samples, channels and positions.")
    if groups <= 0:
        message = (
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
        raise fail(RuntimeError, message, "1 leaves the channels where they are.")
    if input.shape[1] % groups:
        message = f"Number of channels must be divisible by groups. Got {input.shape[1]} channels and {groups} groups."
        raise fail(RuntimeError, message, "Groups have the same number of channels.")
    return channel_shuffle_op.call(input, int(groups))
