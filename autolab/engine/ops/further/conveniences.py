"""Small functions that PyTorch composes of others: differences, rotations, stacking; second names.

Source: https://docs.pytorch.org/docs/2.13/torch.html
"""

from __future__ import annotations


from ...exact.arguments import mismatch
from ...core.dtype import bool_
from ...core.errors import fail
from ...exact.refusals import check_dim, no_dimensions
from ..functions import METHODS, NAMESPACES, composite
from ...methods.size import Size
from .. import arithmetic, joining, pointwise  # noqa: F401 (what is named below is registered first)

_TORCH = NAMESPACES[""]


@composite(method=True)
def diff(input, n=1, dim=-1, prepend=None, append=None):
    """Differences of neighbours along `dim`, n times over; of bools where they differ.

    prepend, append: put before and behind first. Raises RuntimeError for a 0-d tensor and a negative n. Source:
    torch.diff."""
    if not input._array.ndim:
        raise fail(
            RuntimeError,
            "diff expects input to be at least one-dimensional",
            "A single number has no neighbour.",
        )
    if n < 0:
        raise fail(
            RuntimeError,
            f"order must be non-negative but got {n}",
            "n counts how often differences are taken.",
        )
    dim = check_dim(dim, input._array.ndim)
    parts = [x for x in (prepend, input, append) if x is not None]
    x = _TORCH["cat"](parts, dim) if len(parts) > 1 else input
    for _ in range(n):
        length = x.shape[dim]
        later, before = (
            x.narrow(dim, min(1, length), max(length - 1, 0)),
            x.narrow(dim, 0, max(length - 1, 0)),
        )
        x = later.logical_xor(before) if x.dtype.name == "bool" else later - before
    return x if n else _TORCH["zeros_like"](x).copy_(x)


@composite(method=True)
def rot90(input, k=1, dims=(0, 1)):
    """Turned by k times 90 degrees in the plane of two dimensions, from the first towards the second. Source:
    torch.rot90."""
    if len(dims) != 2:
        raise fail(
            RuntimeError,
            f"expected total rotation dims == 2, but got dims = {len(dims)}",
            "A plane has two.",
        )
    if input._array.ndim < 2:
        raise fail(
            RuntimeError,
            f"expected total dims >= 2, but got total dims = {input._array.ndim}",
            "A plane has two.",
        )
    a, b = (check_dim(d, input._array.ndim) for d in dims)
    if a == b:
        raise fail(
            RuntimeError,
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}",
            "A plane has two.",
        )
    k %= 4
    if k == 0:
        return input.clone()
    if k == 2:
        return input.flip((a, b))
    return (input.flip((b,)) if k == 1 else input.flip((a,))).transpose(a, b)


@composite()
def column_stack(tensors):
    """Joined along the second dimension; vectors are columns. Source: torch.column_stack."""
    return _TORCH["cat"]([x.reshape(x.numel(), 1) if x._array.ndim < 2 else x for x in tensors], 1)


@composite()
def broadcast_shapes(*shapes):
    """The shape that tensors of the given shapes (or lengths) have together. Source: torch.broadcast_shapes.

    Raises RuntimeError where they do not fit."""
    shapes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    found = [1] * max(map(len, shapes), default=0)
    for number, shape in enumerate(shapes):
        for place in range(-1, -1 - len(shape), -1):
            n = shape[place]
            if n not in (1, found[place]):
                if found[place] != 1:
                    raise fail(
                        RuntimeError,
                        f"Attempting to broadcast a dimension of length {n} at {place}! Mismatching argument at index "
                        f"{number} had {shape}; but expected shape should be broadcastable to {found}",
                        "Sizes are compared from the last dimension; they are equal, or one of them is 1.",
                    )
                found[place] = n
    return Size(found)


def _no_masks(name, y, x):
    if any(t is not None and t.dtype is bool_ for t in (y, x)):
        which = "`y`" if x is None else "`x` or `y`"
        message = f"{name}: received a bool input for {which}, but bool is not supported"
        raise fail(RuntimeError, message, "A mask has no area: convert it with .float().")


def _widths(name, x, y, dim):
    """The distances of neighbouring points, to multiply the heights `y` by."""
    if x._array.ndim == 1:
        if len(x) != y.shape[dim]:
            message = f"{name}: There must be one `x` value for each sample point"
            raise fail(RuntimeError, message, "x says where each height of y stands.")
        x = x.reshape(*[-1 if d == dim else 1 for d in range(y._array.ndim)])
    return diff(x, dim=dim - y._array.ndim)


def _halves(name, y, x, dx, dim):
    """(dim counted from the front, sums of neighbouring heights, distances or None). Raises torch's errors."""
    if x is not None and dx is not None:
        raise mismatch()
    if not y._array.ndim:
        raise no_dimensions(dim)
    dim = check_dim(dim, y._array.ndim)
    _no_masks(name, y, x)
    n = y.shape[dim]
    before, later = y.narrow(dim, 0, max(n - 1, 0)), y.narrow(dim, min(1, n), max(n - 1, 0))
    return dim, before + later, None if x is None else _widths(name, x, y, dim)


_TORCH["row_stack"] = _TORCH["vstack"]


# -- gradient ----------------------------------------------------------------------------------------------------------


# -- arithmetic under further names ------------------------------------------------------------------------------------


for _name, _of in (
    ("multiply", "mul"),
    ("divide", "div"),
    ("true_divide", "div"),
    ("subtract", "sub"),
    ("negative", "neg"),
):
    _TORCH.setdefault(_name, _TORCH[_of])
_TORCH.setdefault("square_", METHODS["square_"])
METHODS["negative_"] = _TORCH["negative_"] = METHODS["neg_"]
