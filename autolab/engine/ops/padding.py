"""Padding: constants, reflections, the edge repeated, the other end around. Source: torch.nn.functional.pad"""

from __future__ import annotations

import numpy as np

from ..exact.arguments import check_tensors
from ..core.errors import bad_argument, fail
from ..kernels.scatter import add_at
from .functions import composite, internal
from ..exact.dtypes import as_indices
from ..exact.kinds import check_settings
from .indexing import slice_op

_SUPPORTED = (
    "Supported combinations for non-constant padding:\n  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
    "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
)


def _inside(schema, **record):
    return internal(schema, **record)


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


constant_pad = _inside(
    "constant_pad_nd(Tensor self, int[] pad, Number value=0)",
    forward=_constant,
    vjp={"self": lambda m, g, pad: m.constant_pad_nd(g, tuple(-p for p in pad), 0)},
    latex=r"\mathrm{pad}({self})",
    vjp_latex={"self": r"\mathrm{part}({g})"},
    samples=lambda s: [(s.randn(2, 3), (1, 2), 0.5), (s.randn(2, 3, 2), (-1, 1, 2, -1), 0)],
)


@composite(name="constant_pad_nd")
def constant_pad_nd(input, pad, value=0):
    """`F.pad` with a constant. Raises RuntimeError when the sizes do not fit. Source: torch.constant_pad_nd."""
    if not isinstance(pad, (tuple, list)):
        raise bad_argument("constant_pad_nd", "pad", 2, "tuple of ints", pad)
    if len(pad) % 2:
        raise fail(
            RuntimeError,
            f"Length of pad must be even but instead it equals {len(pad)}",
            "Each dimension has two ends.",
        )
    if len(pad) > 2 * input.ndim:
        message = (
            f"Length of pad should be no more than twice the number of dimensions of the input. Pad length is {len(pad)}while the input has "
            f"{input.ndim}dimensions."
        )
        raise fail(RuntimeError, message, "Two numbers for each dimension that is padded.")
    return _padded(input, tuple(pad), value)


def _padded(input, pad, value):
    for n, (a, b) in zip(input.shape, _sides(pad, input.ndim)):
        if n + min(a, 0) + min(b, 0) < 0:
            raise fail(
                RuntimeError,
                "narrow(): length must be non-negative.",
                "More is cut off than there is.",
            )
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
    title = f"{kind.capitalize()}Pad{dims}D"
    padding, shape, grown = {
        1: ((2, 1), (2, 2, 4), (2, 2, 7)),
        2: ((1, 2, 2, 1), (1, 2, 4, 3), (1, 2, 7, 6)),
        3: ((1, 1, 2, 1, 0, 1), (1, 2, 2, 3, 3), (1, 2, 3, 6, 5)),
    }[dims]

    def input_rule(m, g, self, padding):
        return getattr(m, name + "_backward")(g, self, padding)

    def again(m, g, padding):
        return getattr(m, name)(g, padding)

    op = _inside(
        f"{name}(Tensor self, int[] padding)",
        forward=_taken(source),
        vjp={"self": input_rule},
        node=title + "Backward0",
        latex=r"\mathrm{pad}({self})",
        vjp_latex={"self": r"\mathrm{fold}({g})"},
        samples=lambda s: [(s.randn(*shape), padding)],
    )
    _inside(
        f"{name}_backward(Tensor grad_output, Tensor self, int[] padding)",
        forward=_returned(source),
        vjp={"grad_output": again, "self": lambda m, g: m.zeros_like(g)},
        node=title + "BackwardBackward0",
        samples=lambda s: [(s.randn(*grown), s.randn(*shape), padding)],
    )
    return op


_PADS = {
    (mode, dims): _pads(kind, dims, source)
    for mode, kind, source in (
        ("reflect", "reflection", _reflected),
        ("replicate", "replication", _replicated),
    )
    for dims in (1, 2, 3)
}


def _circular(x, pad):
    """The other end stands beyond each edge, written piece by piece into an empty tensor, as PyTorch does."""
    shape = list(x.shape)
    dims = [x.ndim - 1 - i for i in range(len(pad) // 2)]
    for i, dim in enumerate(dims):
        before, after = pad[2 * i], pad[2 * i + 1]
        if before > x.shape[dim] or after > x.shape[dim]:
            raise fail(
                RuntimeError,
                "Padding value causes wrapping around more than once.",
                "Pad by at most the size.",
            )
        shape[dim] += before + after
        if shape[dim] <= 0:
            raise fail(
                RuntimeError,
                "Negative padding value is resulting in an empty dimension",
                "Cut off less.",
            )
    out = x.new_empty(shape)
    inner, source = out, x
    for i, dim in enumerate(dims):
        before, after = pad[2 * i], pad[2 * i + 1]
        inner = slice_op.call(inner, dim, max(before, 0), shape[dim] - max(after, 0), 1)
        source = slice_op.call(source, dim, max(-before, 0), x.shape[dim] - max(-after, 0), 1)
    inner.copy_(source)
    for i, dim in enumerate(dims):
        before, after, end = max(pad[2 * i], 0), max(pad[2 * i + 1], 0), shape[dim]
        if before:
            slice_op.call(out, dim, 0, before, 1).copy_(
                slice_op.call(out, dim, end - before - after, end - after, 1)
            )
        if after:
            slice_op.call(out, dim, end - after, end, 1).copy_(
                slice_op.call(out, dim, before, before + after, 1)
            )
    return out


def _check_taken(x, pad, mode):
    """Raises in PyTorch's words when numbers of the input cannot fill the padding."""
    if 0 in x.shape[x.ndim - len(pad) // 2 :]:
        words = {2: "2D or 3D", 4: "3D or 4D", 6: "4D or 5D"}[len(pad)]
        raise fail(
            RuntimeError,
            f"Expected {words} (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but "
            f"got: {list(x.shape)}",
            "There is nothing to repeat.",
        )
    for k in range(len(pad) // 2):
        dim, before, after = x.ndim - 1 - k, pad[2 * k], pad[2 * k + 1]
        if mode == "reflect" and (before >= x.shape[dim] or after >= x.shape[dim]):
            raise fail(
                RuntimeError,
                f"Argument #{4 + 2 * k}: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({before}, {after}) at dimension {dim} of input {list(x.shape)}",
                "The edge itself is not repeated, so n positions can be mirrored n - 1 deep.",
            )
        if len(pad) == 2 and x.shape[dim] + before + after < 1:
            raise fail(
                RuntimeError,
                f"input (W: {x.shape[dim]}) is too small. Calculated output W: {x.shape[dim] + before + after}",
                "Cut off less.",
            )


def _numbers(pad):
    if not isinstance(pad, (tuple, list)):
        raise fail(
            TypeError,
            f"pad(): argument 'pad' (position 2) must be tuple of ints, not {type(pad).__name__}",
            "Give (before, after) of the last dimension, then of the one before it, …",
        )
    for position, value in enumerate(pad):
        if not isinstance(value, (int, np.integer)):
            raise fail(
                TypeError,
                "pad(): argument 'pad' (position 2) must be tuple of ints, but found element of type "
                f"{type(value).__name__} at pos {position}",
                "Padding counts positions.",
            )
    return tuple(int(value) for value in pad)


@composite(namespace="nn.functional")
def pad(input, pad, mode="constant", value=None):
    """`input` with positions added (negative: cut off): `pad` is (before, after) of the last dimension, then of the one
    before it, ….

    mode: 'constant' (`value`, default 0), 'reflect', 'replicate', 'circular'. Raises RuntimeError when the sizes do not
    fit, NotImplementedError for an unknown mode. Source: torch.nn.functional.pad."""
    check_tensors("pad", input=input)
    check_settings("pad", ("mode", 3, "str", mode), ("value", 4, "float?", value))
    pad = _numbers(pad)
    if len(pad) % 2:
        raise fail(
            RuntimeError, "Padding length must be divisible by 2", "Each dimension has two ends."
        )
    if len(pad) > 2 * input.ndim:
        raise fail(
            RuntimeError,
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {input.ndim}",
            "Two numbers for each dimension that is padded.",
        )
    if mode == "constant":
        return _padded(input, pad, 0 if value is None else value)
    if value is not None and value != 0:
        raise fail(
            RuntimeError,
            f'Padding mode "{mode}" doesn\'t take in value argument',
            "It repeats the input.",
        )
    if len(pad) not in (2, 4, 6) or input.ndim not in (len(pad) // 2 + 1, len(pad) // 2 + 2):
        raise fail(
            NotImplementedError,
            f"Padding size {len(pad)} is not supported for {input.ndim}D input tensor.\n{_SUPPORTED}",
            "Only the dimensions after samples and channels can be padded so.",
        )
    if mode == "circular":
        return _circular(input, pad)
    if mode not in ("reflect", "replicate"):
        raise fail(
            NotImplementedError,
            f"Unrecognised padding mode {mode}",
            "constant, reflect, replicate or circular.",
        )
    dims = len(pad) // 2
    _check_taken(input, pad, mode)
    if input.dtype.np.kind == "b":
        kind = "reflection" if mode == "reflect" else "replication"
        raise fail(
            NotImplementedError,
            f"\"{kind}_pad{dims}d\" not implemented for 'Bool'",
            "Call .float() first.",
        )
    return _PADS[mode, dims].call(input, pad)
