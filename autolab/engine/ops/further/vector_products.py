"""Products of vectors: cross, outer.

Source: https://docs.pytorch.org/docs/2.13/linalg.html
"""

from __future__ import annotations

import warnings

from ...core.dtype import bool_
from ...exact.refusals import check_dim, no_dimensions
from ...exact.dtype_errors import no_kernel, not_implemented
from ..checks import refuse_if
from ..functions import composite, internal
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
    """Return the cross product of vectors of three numbers lying along `dim`. Raises RuntimeError for others. Source:
    torch.linalg.cross."""
    message = "linalg.cross: inputs must have the same number of dimensions."
    refuse_if(input._array.ndim != other._array.ndim, message, "Add dimensions by unsqueeze.")
    check_dim(dim, input._array.ndim)
    if not input._array.ndim:
        raise no_dimensions(dim)
    sizes = input.shape[dim], other.shape[dim]
    message = (
        f"linalg.cross: inputs dimension {dim} must have length 3. Got {sizes[0]} and {sizes[1]}"
    )
    note = "Only in three dimensions two vectors have one perpendicular direction."
    refuse_if(sizes != (3, 3), message, note)
    if input.dtype is bool_:
        raise not_implemented("cross", input._array.dtype)
    message = f"expected scalar type {input.dtype.short} but found {other.dtype.short}"
    refuse_if(input.dtype is not other.dtype, message, "Convert one of them: .to(other.dtype).")
    return cross_op.call(input, other, dim)


@composite(method=True)
def cross(input, other, dim=None):
    """Return `torch.linalg.cross`; without `dim` along the first dimension of size 3. Source: torch.cross."""
    if dim is None:
        warnings.warn(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply use "
            "torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future release.",
            UserWarning,
            stacklevel=3,
        )
        dim = next((d for d, n in enumerate(input.shape) if n == 3), None)
        message = "no dimension of size 3 in input"
        refuse_if(dim is None, message, "A cross product is one of three numbers each.")
    return linalg_cross(input, other, dim=dim)


@composite(method=True)
def outer(input, vec2):
    """Return all products of the entries of two vectors. Source: torch.outer."""
    for name, x in (("self", input), ("vec2", vec2)):
        message = f"outer: Expected 1-D argument {name}, but got {x.ndim}-D"
        refuse_if(x.ndim != 1, message, "outer takes two vectors.")
    return view_op.call(input, (input.numel(), 1)) * vec2
