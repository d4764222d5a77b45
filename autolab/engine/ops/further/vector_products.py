"""Products of vectors: cross, outer; and the diagonals of matrices under the name that `torch.linalg` has.

Source: https://docs.pytorch.org/docs/2.13/linalg.html
"""

from __future__ import annotations

import warnings

from ...core.dtype import bool_
from ...core.errors import fail
from ...exact.refusals import check_dim, no_dimensions
from ...exact.dtype_errors import no_kernel, not_implemented
from ..functions import METHODS, NAMESPACES, composite, internal
from ..shape import view_op


cross_op = internal(
    "linalg_cross(Tensor self, Tensor other, int dim=-1)",
    forward=lambda xp, self, other, dim: xp.cross(self, other, axis=dim),
    dtype="promote",
    operands=("self", "other"),
    check=no_kernel("cross", "Bool"),
    node="LinalgCrossBackward0",
    vjp={
        "self": lambda m, g, other, dim: m.linalg_cross(other, g, dim),
        "other": lambda m, g, self, dim: m.linalg_cross(g, self, dim),
    },
    latex=r"{self} \times {other}",
    vjp_latex={"self": r"{other} \times {g}", "other": r"{g} \times {self}"},
    samples=lambda s: [
        (s.randn(3), s.randn(3)),
        (s.randn(2, 3), s.randn(2, 3), 1),
        (s.randn(3, 2), s.randn(3, 2), 0),
    ],
)


@composite(namespace="linalg", name="cross")
def linalg_cross(input, other, *, dim=-1):
    """The cross product of vectors of three numbers lying along `dim`. Raises RuntimeError for others. Source:
    torch.linalg.cross."""
    if input._array.ndim != other._array.ndim:
        raise fail(
            RuntimeError,
            "linalg.cross: inputs must have the same number of dimensions.",
            "Add dimensions by unsqueeze.",
        )
    check_dim(dim, input._array.ndim)
    if not input._array.ndim:
        raise no_dimensions(dim)
    sizes = input.shape[dim], other.shape[dim]
    if sizes != (3, 3):
        raise fail(
            RuntimeError,
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {sizes[0]} and {sizes[1]}",
            "Only in three dimensions two vectors have one perpendicular direction.",
        )
    if input.dtype is bool_:
        raise not_implemented("cross", input._array.dtype)
    if input.dtype is not other.dtype:
        raise fail(
            RuntimeError,
            f"expected scalar type {input.dtype.short} but found {other.dtype.short}",
            "Convert one of them: .to(other.dtype).",
        )
    return cross_op.call(input, other, dim)


@composite(method=True)
def cross(input, other, dim=None):
    """`torch.linalg.cross`; without `dim` along the first dimension of size 3. Source: torch.cross."""
    if dim is None:
        warnings.warn(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply use "
            "torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future release.",
            UserWarning,
            stacklevel=3,
        )
        dim = next((d for d, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise fail(
                RuntimeError,
                "no dimension of size 3 in input",
                "A cross product is one of three numbers each.",
            )
    return linalg_cross(input, other, dim=dim)


@composite(namespace="linalg", name="diagonal")
def linalg_diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """Diagonals of matrices; a view. Source: torch.linalg.diagonal."""
    return METHODS["diagonal"](A, offset, dim1, dim2)


# -- outer products ----------------------------------------------------------------------------------------------------
@composite(method=True)
def outer(input, vec2):
    """All products of the entries of two vectors. Source: torch.outer."""
    for x in (input, vec2):
        if x.ndim != 1:
            raise fail(
                RuntimeError,
                f"outer: Expected 1-D argument {'self' if x is input else 'vec2'}, but got {x.ndim}-D",
                "outer takes two vectors.",
            )
    return view_op.call(input, (input.numel(), 1)) * vec2


METHODS["ger"] = NAMESPACES[""]["ger"] = outer
