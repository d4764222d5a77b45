"""Max unpooling: each number goes back to where the maximum stood, zeros everywhere else.

Sources: https://docs.pytorch.org/docs/2.13/generated/torch.nn.MaxUnpool2d.html; M. Zeiler and R. Fergus, "Visualizing
and Understanding Convolutional Networks" (2014).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...devices import demands
from ...core.dtype import FROM_NUMPY, int64
from ...core.errors import fail
from ..functions import composite, internal
from ...core.tensor import Tensor
from ..shape import squeeze_dim, unsqueeze


def _placed(xp, x, indices, output_size):
    dims, volume = len(output_size), int(np.prod(output_size))
    if x.dtype.kind in "bi" and x.dtype != np.uint8:
        raise fail(
            NotImplementedError,
            f"\"max_unpool{dims}d\" not implemented for '{FROM_NUMPY[x.dtype].short}'",
            "Call .float() first.",
        )
    lead = x.shape[: x.ndim - dims]
    flat = xp.zeros((*lead, volume), x.dtype)
    places = indices.reshape(*lead, -1)
    demands.in_range(
        xp,
        places,
        0,
        volume,
        lambda bad: fail(
            RuntimeError,
            f"Found an invalid max index: {places[(places < 0) | (places >= volume)][-1]} (output volumes are of size "
            f"{'x'.join(map(str, output_size))})",
            "Indices count the positions of one channel of the result, row by row: those that pooling returned fit.",
        ),
    )
    xp.put_along_axis(flat, places, x.reshape(*lead, -1), -1)
    return flat.reshape(*lead, *output_size)


def _read(m, g, indices, dims):
    """The numbers of g (…, *volume) at the flat `indices`: the adjoint of `_placed` where no index comes twice."""
    shape = tuple(indices.shape)
    lead = shape[: len(shape) - dims]
    flat = m.gather(m.reshape_raw(g, (*lead, -1)), len(lead), m.reshape_raw(indices, (*lead, -1)))
    return m.reshape_raw(flat, shape)


def _places(s, *shape_and_volume):
    *lead, each, volume = shape_and_volume
    return np.stack([s._rng.permutation(volume)[:each] for _ in range(int(np.prod(lead)))]).reshape(
        *lead, each
    )


_RECORD: dict[str, Any] = {
    "forward": _placed,
    "latex": r"\mathrm{unpool}({self})",
    "vjp_latex": {"self": r"{g}_{{\,{indices}}}"},
}

unpool2d = internal(
    "max_unpool2d(Tensor self, Tensor indices, int[] output_size)",
    node="MaxUnpool2DBackward0",
    vjp={"self": lambda m, g, indices: _read(m, g, indices, 2)},
    samples=lambda s: [
        (s.randn(1, 2, 2, 2), _places(s, 1, 2, 4, 12).reshape(1, 2, 2, 2), (3, 4)),
        (s.randn(2, 1, 3), _places(s, 2, 3, 6).reshape(2, 1, 3), (2, 3)),
    ],
    **_RECORD,
)
unpool3d = internal(
    "max_unpool3d(Tensor self, Tensor indices, int[] output_size, int[] stride, int[] padding)",
    forward=lambda xp, x, indices, output_size, stride, padding: _placed(
        xp, x, indices, output_size
    ),
    node="MaxUnpool3DBackward0",
    vjp={"self": lambda m, g, indices: _read(m, g, indices, 3)},
    samples=lambda s: [
        (
            s.randn(1, 2, 2, 1, 2),
            _places(s, 1, 2, 4, 16).reshape(1, 2, 2, 1, 2),
            (4, 2, 2),
            (2, 2, 2),
            (0, 0, 0),
        )
    ],
    **{key: value for key, value in _RECORD.items() if key != "forward"},
)


# -- as it is called ---------------------------------------------------------------------------------------------------
def _several(value, dims):
    return (value,) * dims if isinstance(value, (int, np.integer)) else tuple(value)


def _size(x, kernel_size, stride, padding, wanted):
    """The result's size: `wanted`, or the one that every window was cut from if none overlapped."""
    dims = len(kernel_size)
    usual = [
        (n - 1) * s + k - 2 * p
        for n, k, s, p in zip(x.shape[x.ndim - dims :], kernel_size, stride, padding)
    ]
    if wanted is None:
        size = usual
    else:
        size = wanted = wanted[2:] if len(wanted) == dims + 2 else wanted
        if len(wanted) != dims:
            raise fail(
                ValueError,
                f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length of "
                f"'{len(wanted)}'",
                "With or without the numbers of samples and channels.",
            )
        for dim, (n, u, s) in enumerate(zip(wanted, usual, stride)):
            if not u - s < n < u + s:
                raise fail(
                    ValueError,
                    f'invalid output_size "{wanted}" (dim {dim} must be between {u - s} and {u + s})',
                    "Only as much may differ as pooling with this stride rounds off.",
                )
    for dim, n in enumerate(size):
        if n < 0:
            raise fail(
                ValueError,
                f"max_unpooling: output_size must contain non-negative spatial dimensions, but got output_size[{dim}]={n}",
                "More padding than there is of the image.",
            )
    return tuple(int(n) for n in size)


def _check(name, dims, x, indices):
    if not isinstance(x, Tensor) or not isinstance(indices, Tensor):
        argument, position = ("indices", 2) if isinstance(x, Tensor) else ("input", 1)
        wrong = indices if isinstance(x, Tensor) else x
        raise fail(
            TypeError,
            f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {type(wrong).__name__}",
            "Pooling with return_indices=True gives both.",
        )
    if indices.dtype is not int64:
        but = f" but got: {indices.dtype.short}" if dims == 2 else ""
        raise fail(
            RuntimeError,
            f"elements in indices should be type int64{but}",
            "Pooling with return_indices=True gives them.",
        )
    if x.ndim not in (dims + 1, dims + 2):
        raise fail(
            RuntimeError,
            f"Input to max_unpooling{dims}d should be a {dims + 1}d or {dims + 2}d Tensor, but got a tensor with {x.ndim} "
            "dimensions.",
            "Channels come before the positions, samples before the channels.",
        )
    if x.shape != indices.shape:
        raise fail(
            RuntimeError,
            f"Expected shape of indices to be same as that of the input tensor ({list(x.shape)}) but got indices tensor with "
            f"shape: {list(indices.shape)}",
            "Every number needs a place.",
        )
    for dim in range(1 if x.ndim == dims + 2 else 0, x.ndim):
        if x.shape[dim] == 0:
            raise fail(
                RuntimeError,
                f"max_unpooling{dims}d_forward_out_cpu(): Expected input to have non-zero size for non-batch dimensions, but "
                f"got {list(x.shape)} with dimension {dim} being empty.",
                "Only the number of samples may be 0.",
            )


def _arguments(dims, x, kernel_size, stride, padding, output_size):
    kernel_size, padding = _several(kernel_size, dims), _several(padding, dims)
    stride = kernel_size if stride is None else _several(stride, dims)
    return _size(x, kernel_size, stride, padding, output_size), stride, padding


@composite(namespace="nn.functional")
def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Sequences (N, C, L) or (C, L) put back to where `max_pool1d(…, return_indices=True)` took them from, zeros
    elsewhere.

    output_size: the length before pooling, where it cannot be told from what is left. Raises ValueError for a size that
    pooling cannot have come from, RuntimeError for indices outside of it. Source: torch.nn.functional.max_unpool1d."""
    size, _, _ = _arguments(1, input, kernel_size, stride, padding, output_size)
    input, indices = unsqueeze.call(input, -1), unsqueeze.call(indices, -1)
    _check("max_unpool2d", 2, input, indices)
    return squeeze_dim.call(unpool2d.call(input, indices, (*size, 1)), -1)


@composite(namespace="nn.functional")
def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Images (N, C, H, W) or (C, H, W) put back to where `max_pool2d(…, return_indices=True)` took them from, zeros
    elsewhere.

    output_size: (H, W) before pooling, where it cannot be told from what is left. Raises ValueError for a size that
    pooling cannot have come from, RuntimeError for indices outside of it. Source: torch.nn.functional.max_unpool2d."""
    size, _, _ = _arguments(2, input, kernel_size, stride, padding, output_size)
    _check("max_unpool2d", 2, input, indices)
    return unpool2d.call(input, indices, size)


@composite(namespace="nn.functional")
def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Volumes (N, C, D, H, W) or (C, D, H, W) at the flat positions `indices` of volumes of zeros; see `max_unpool2d`.

    Source: torch.nn.functional.max_unpool3d."""
    size, stride, padding = _arguments(3, input, kernel_size, stride, padding, output_size)
    _check("max_unpool3d", 3, input, indices)
    if min(stride) < 1:
        raise fail(
            RuntimeError,
            f"strides should be greater than zero, but got stride: {list(stride)}",
            "Windows move forwards.",
        )
    return unpool3d.call(input, indices, size, stride, padding)
