"""Padding: constants, reflections, the edge repeated. Source: torch.nn.functional.pad"""

from __future__ import annotations

import numpy as np

from ..exact.arguments import check_tensors
from ..core.errors import bad_argument
from ..exact.dtype_errors import not_implemented
from ..exact.refusals import unsupported
from ..kernels.scatter import add_at
from .checks import refuse_if
from .functions import composite, internal
from ..exact.dtypes import as_indices
from ..exact.kinds import check_settings
from .with_backward import with_backward

_SUPPORTED = (
    "Supported combinations for non-constant padding:\n  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
    "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
)


# -- constants ---------------------------------------------------------------------------------------------------------
def _sides(pad, ndim):
    """(before, after) per dimension, first dimension first; `pad` names the last dimension first."""
    pairs = [(pad[2 * i], pad[2 * i + 1]) for i in range(len(pad) // 2)]
    return [(0, 0)] * (ndim - len(pairs)) + pairs[::-1]


def _constant(xp, x, pad, value):
    sides = _sides(pad, x.ndim)
    result = xp.full([n + a + b for n, (a, b) in zip(x.shape, sides)], value, x.dtype)
    inner = tuple(
        slice(max(a, 0), max(a, 0) + n + min(a, 0) + min(b, 0)) for n, (a, b) in zip(x.shape, sides)
    )
    taken = tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, sides))
    result[inner] = x[taken]
    return result


constant_pad = internal(
    "constant_pad_nd(Tensor self, int[] pad, Number value=0)",
    forward=_constant,
    vjp={"self": lambda m, g, pad: m.constant_pad_nd(g, tuple(-p for p in pad), 0)},
    latex=r"\mathrm{pad}({self})",
    vjp_latex={"self": r"\mathrm{part}({g})"},
    samples=lambda s: [(s.randn(2, 3), (1, 2), 0.5), (s.randn(2, 3, 2), (-1, 1, 2, -1), 0)],
)


def _padded(input, pad, value):
    for n, (a, b) in zip(input.shape, _sides(pad, input.ndim)):
        message = "narrow(): length must be non-negative."
        refuse_if(n + min(a, 0) + min(b, 0) < 0, message, "More is cut off than there is.")
    return constant_pad.call(input, pad, value)


# -- numbers of the input itself ---------------------------------------------------------------------------------------
def _reflected(xp, n, before, after):
    """Which of n positions stands at each position of the padded dimension, mirrored at the edges."""
    i = abs(xp.arange(-before, n + after))
    return xp.where(i >= n, 2 * (n - 1) - i, i)


def _replicated(xp, n, before, after):
    return xp.arange(-before, n + after).clip(0, n - 1)


def _at(axis, index):
    return (..., index, *(slice(None),) * (-1 - axis))


def _positions(xp, shape, padding, source):
    """(axis, positions) for each padded axis, the last one first."""
    return [
        (-1 - k, source(xp, shape[-1 - k], padding[2 * k], padding[2 * k + 1]))
        for k in range(len(padding) // 2)
    ]


def _taken(source):
    def forward(xp, x, padding):
        for axis, positions in _positions(xp, x.shape, padding, source):
            x = xp.take(x, as_indices(positions), axis)
        return x

    return forward


def _returned(source):
    """The adjoint of `_taken`: every number goes back to where it was read."""

    def forward(xp, g, x, padding):
        for axis, positions in reversed(_positions(xp, x.shape, padding, source)):
            shape = list(g.shape)
            shape[axis] = x.shape[axis]
            back = xp.zeros(shape, g.dtype)
            add_at(xp, back, _at(axis, positions), g)
            g = back
        return g

    return forward


def _pads(kind, dims, source):
    name = f"{kind}_pad{dims}d"
    padding, shape = {
        1: ((2, 1), (2, 2, 4)),
        2: ((1, 2, 2, 1), (1, 2, 4, 3)),
        3: ((1, 1, 2, 1, 0, 1), (1, 2, 2, 3, 3)),
    }[dims]
    return with_backward(
        f"{name}(Tensor self, int[] padding)",
        forward=_taken(source),
        backward=_returned(source),
        again=(name, "padding"),
        node=f"{kind.capitalize()}Pad{dims}DBackward0",
        latex=r"\mathrm{pad}({self})",
        vjp_latex={"self": r"\mathrm{fold}({g})"},
        samples=lambda s: [(s.randn(*shape), padding)],
    )


_PADS = {
    (mode, dims): _pads(kind, dims, source)
    for mode, kind, source in (
        ("reflect", "reflection", _reflected),
        ("replicate", "replication", _replicated),
    )
    for dims in (1, 2, 3)
}


def _check_taken(x, pad, mode):
    """Raise PyTorch's error when numbers of the input cannot fill the padding."""
    words = {2: "2D or 3D", 4: "3D or 4D", 6: "4D or 5D"}[len(pad)]
    refuse_if(
        0 in x.shape[x.ndim - len(pad) // 2 :],
        f"Expected {words} (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but "
        f"got: {list(x.shape)}",
        "There is nothing to repeat.",
    )
    for k in range(len(pad) // 2):
        dim, before, after = x.ndim - 1 - k, pad[2 * k], pad[2 * k + 1]
        n = x.shape[dim]
        refuse_if(
            mode == "reflect" and max(before, after) >= n,
            f"Argument #{4 + 2 * k}: Padding size should be less than the corresponding input dimension, but got: padding "
            f"({before}, {after}) at dimension {dim} of input {list(x.shape)}",
            "The edge itself is not repeated, so n positions can be mirrored n - 1 deep.",
        )
        out = n + before + after
        message = f"input (W: {n}) is too small. Calculated output W: {out}"
        refuse_if(len(pad) == 2 and out < 1, message, "Cut off less.")


def _numbers(pad):
    if not isinstance(pad, (tuple, list)):
        raise bad_argument("pad", "pad", 2, "tuple of ints", pad)
    for position, value in enumerate(pad):
        found = f"but found element of type {type(value).__name__} at pos {position}"
        if not isinstance(value, (int, np.integer)):
            raise bad_argument("pad", "pad", 2, "tuple of ints", pad, found)
    return tuple(int(value) for value in pad)


@composite(namespace="nn.functional")
def pad(input, pad, mode="constant", value=None):
    """Return `input` with positions added (negative: cut off): `pad` is (before, after) of the last dimension, then of
    the one before it, ….

    mode: 'constant' (`value`, default 0), 'reflect', 'replicate'. Raises RuntimeError when the sizes do not fit,
    NotImplementedError for another mode. Source: torch.nn.functional.pad."""
    check_tensors("pad", input=input)
    check_settings("pad", ("mode", 3, "str", mode), ("value", 4, "float?", value))
    pad = _numbers(pad)
    dims, odd = divmod(len(pad), 2)
    refuse_if(odd, "Padding length must be divisible by 2", "Each dimension has two ends.")
    refuse_if(
        dims > input.ndim,
        "Padding length should be less than or equal to two times the input dimension but got padding length "
        f"{len(pad)} and input of dimension {input.ndim}",
        "Two numbers for each dimension that is padded.",
    )
    if mode == "constant":
        return _padded(input, pad, 0 if value is None else value)
    message = f'Padding mode "{mode}" doesn\'t take in value argument'
    refuse_if(value, message, "It repeats the input.")
    refuse_if(
        dims not in (1, 2, 3) or input.ndim - dims not in (1, 2),
        f"Padding size {len(pad)} is not supported for {input.ndim}D input tensor.\n{_SUPPORTED}",
        "Only the dimensions after samples and channels can be padded so.",
        NotImplementedError,
    )
    if mode == "circular":
        note = "Use 'reflect' or 'replicate', or join the pieces with torch.cat."
        raise unsupported("pad", "mode='circular'", note)
    message, note = f"Unrecognised padding mode {mode}", "constant, reflect or replicate."
    refuse_if((mode, dims) not in _PADS, message, note, NotImplementedError)
    _check_taken(input, pad, mode)
    op = _PADS[mode, dims]
    if input.dtype.is_bool:
        raise not_implemented(op.name, input._array.dtype)
    return op.call(input, pad)
