"""Padding with constants, reflections or the repeated edge. Source: torch.nn.functional.pad"""

from __future__ import annotations

import numpy as np

from ..exact.arguments import check_tensors
from ..exact.dtype_errors import not_implemented
from ..exact.kinds import check_settings
from ..exact.refusals import unsupported
from ..kernels.scatter import add_at
from .checks import refuse_if
from .functions import composite, internal
from .with_backward import with_backward


# -- constants ---------------------------------------------------------------------------------------------------------
def _sides(pad, ndim):
    """Return (before, after) per dimension, first dimension first; in `pad` the last dimension comes first."""
    pairs = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)]
    return [(0, 0)] * (ndim - len(pairs)) + pairs[::-1]


def _constant(xp, x, pad, value):
    sides = _sides(pad, x.ndim)
    x = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, sides))]
    return xp.pad(x, [(max(a, 0), max(b, 0)) for a, b in sides], constant_values=value)


constant_pad = internal(
    "constant_pad_nd(Tensor self, int[] pad, Number value=0)",
    forward=_constant,
    vjp={"self": lambda m, g, pad: m.constant_pad_nd(g, tuple(-p for p in pad), 0)},
    latex=r"\mathrm{pad}({self})",
    vjp_latex={"self": r"\mathrm{part}({g})"},
    samples=lambda s: [(s.randn(2, 3), (1, 2), 0.5), (s.randn(2, 3, 2), (-1, 1, 2, -1), 0)],
)


# -- reflection and replication ----------------------------------------------------------------------------------------
def _positions(xp, shape, padding, mode):
    """Return (axis, the input position for each position of the padded axis) for each padded axis, the last one
    first."""
    return [
        (
            -1 - k,
            xp.pad(
                xp.arange(shape[-1 - k], dtype=np.intp), [tuple(padding[2 * k : 2 * k + 2])], mode
            ),
        )
        for k in range(len(padding) // 2)
    ]


def _register_padding(kind, mode, dims):
    name, shape = f"{kind}_pad{dims}d", (1, 2, *(4, 3, 5)[:dims])

    def forward(xp, x, padding):
        for axis, positions in _positions(xp, x.shape, padding, mode):
            x = xp.take(x, positions, axis)
        return x

    def backward(xp, g, x, padding):
        """Return the gradient of the input: add each gradient to the input element that was read."""
        for axis, positions in reversed(_positions(xp, x.shape, padding, mode)):
            back = xp.zeros(
                (*g.shape[:axis], x.shape[axis], *g.shape[axis + 1 or g.ndim :]), g.dtype
            )
            add_at(xp, back, (..., positions, *(slice(None),) * (-1 - axis)), g)
            g = back
        return g

    return with_backward(
        f"{name}(Tensor self, int[] padding)",
        forward=forward,
        backward=backward,
        again=(name, "padding"),
        node=f"{kind.capitalize()}Pad{dims}DBackward0",
        latex=r"\mathrm{pad}({self})",
        vjp_latex={"self": r"\mathrm{fold}({g})"},
        samples=lambda s: [(s.randn(*shape), (1, 2, 2, 1, 0, 1)[: 2 * dims])],
    )


_PADS = {
    (mode, dims): _register_padding(kind, numpy, dims)
    for mode, kind, numpy in (
        ("reflect", "reflection", "reflect"),
        ("replicate", "replication", "edge"),
    )
    for dims in (1, 2, 3)
}


def _check_taken(x, pad, mode):
    """Raise PyTorch's error if the input has too few elements to fill the padding."""
    refuse_if(
        len(pad) > 6 or x.ndim - len(pad) // 2 not in (1, 2),
        f"Padding size {len(pad)} is not supported for {x.ndim}D input tensor.",
        "Only the dimensions after samples and channels can be padded so.",
        NotImplementedError,
    )
    for k, (before, after) in enumerate(_sides(pad, x.ndim)):
        n, least = x.shape[k], min(before, after)
        refuse_if(
            least < 0 or not n and max(before, after),
            f"{mode} padding needs sizes of at least 0 and something to repeat, but got {pad}",
            "Cut off with slices.",
        )
        refuse_if(
            mode == "reflect" and 0 < max(before, after) >= n,
            "Padding size should be less than the corresponding input dimension, but got: padding "
            f"({before}, {after}) at dimension {k} of input {list(x.shape)}",
            "The edge itself is not repeated, so n positions can be mirrored n - 1 deep.",
        )


@composite(namespace="nn.functional")
def pad(input, pad, mode="constant", value=None):
    """Return `input` with positions added (negative: removed). `pad` is (before, after) of the last dimension, then of
    the one before it, ….

    mode: 'constant' (`value`, default 0), 'reflect', 'replicate'. Raise RuntimeError if the sizes do not match,
    NotImplementedError for another mode. Source: torch.nn.functional.pad."""
    check_tensors("pad", input=input)
    check_settings("pad", ("pad", 2, "int[]", pad), ("value", 4, "float?", value))
    pad = tuple(map(int, pad))
    refuse_if(len(pad) % 2, "Padding length must be divisible by 2", "Each dimension has two ends.")
    refuse_if(
        len(pad) > 2 * input.ndim,
        "Padding length should be less than or equal to two times the input dimension but got padding length "
        f"{len(pad)} and input of dimension {input.ndim}",
        "Two numbers for each dimension that is padded.",
    )
    if mode == "constant":
        cut = any(
            n + min(a, 0) + min(b, 0) < 0 for n, (a, b) in zip(input.shape, _sides(pad, input.ndim))
        )
        refuse_if(cut, "narrow(): length must be non-negative.", "More is cut off than there is.")
        return constant_pad.call(input, pad, 0 if value is None else value)
    if mode not in ("reflect", "replicate"):
        raise unsupported("pad", f"mode={mode!r}", "Use 'constant', 'reflect' or 'replicate'.")
    refuse_if(
        value, f'Padding mode "{mode}" doesn\'t take in value argument', "It repeats the input."
    )
    _check_taken(input, pad, mode)
    op = _PADS[mode, len(pad) // 2]
    if input.dtype.is_bool:
        raise not_implemented(op.name, input._array.dtype)
    return op.call(input, pad)
