"""Small functions that PyTorch composes of others: differences, covariance, stacking, combinations, areas; second names.

Source: https://docs.pytorch.org/docs/2.13/torch.html
"""

from __future__ import annotations

import itertools

from ..dtype import int64
from ..errors import check_dim, fail
from ..registry import METHODS, NAMESPACES, composite
from ..size import Size
from ..tensor import Tensor
from . import arithmetic, joining, pointwise  # noqa: F401 (what is named below is registered first)

_TORCH = NAMESPACES[""]


@composite(method=True)
def diff(input, n=1, dim=-1, prepend=None, append=None):
    """Differences of neighbours along `dim`, n times over; of bools where they differ.

    prepend, append: put before and behind first. Raises RuntimeError for a 0-d tensor and a negative n. Source: torch.diff."""
    if not input._d.ndim:
        raise fail(
            RuntimeError, "diff expects input to be at least one-dimensional", "A single number has no neighbour."
        )
    if n < 0:
        raise fail(RuntimeError, f"order must be non-negative but got {n}", "n counts how often differences are taken.")
    dim = check_dim(dim, input._d.ndim)
    parts = [x for x in (prepend, input, append) if x is not None]
    x = _TORCH["cat"](parts, dim) if len(parts) > 1 else input
    for _ in range(n):
        length = x.shape[dim]
        later, before = x.narrow(dim, min(1, length), max(length - 1, 0)), x.narrow(dim, 0, max(length - 1, 0))
        x = later.logical_xor(before) if x.dtype.name == "bool" else later - before
    return x


@composite(method=True)
def cov(input, *, correction=1, fweights=None, aweights=None):
    """Covariances of variables (rows) over observations (columns), divided by their number less `correction`.

    fweights: how often each observation was made (whole numbers); aweights: how much it counts. Source: torch.cov."""
    if input._d.ndim > 2:
        raise fail(
            RuntimeError,
            f"cov(): expected input to have two or fewer dimensions but got an input with {input._d.ndim} dimensions",
            "Variables by observations.",
        )
    x = input.reshape(1, -1) if input._d.ndim < 2 else input
    weights = fweights if aweights is None else aweights if fweights is None else fweights * aweights
    if weights is None:
        total = x.shape[1]
        centred = x - x.mean(1, keepdim=True)
        product, norm = centred @ centred.mT, total - correction
    else:
        total = weights.sum()
        centred = x - (x * weights).sum(1, keepdim=True) / total
        spread = (
            0
            if correction == 0
            else correction
            if aweights is None
            else correction * (weights * aweights).sum() / total
        )
        product, norm = (centred * weights) @ centred.mT, total - spread
    norm = norm.clamp(min=0) if isinstance(norm, Tensor) else max(norm, 0)
    return (product / norm).squeeze()


@composite(method=True)
def corrcoef(input):
    """Correlations of variables (rows) over observations (columns), between -1 and 1. Source: torch.corrcoef."""
    if input._d.ndim > 2:
        raise fail(
            RuntimeError,
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input._d.ndim} dimensions",
            "Variables by observations.",
        )
    c = cov(input)
    if not c._d.ndim:
        return c / c
    deviation = c.diag().sqrt()
    return (c / deviation.unsqueeze(-1) / deviation.unsqueeze(0)).clamp(-1, 1)


@composite()
def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-norm distances of every row of x1 (…, n, d) to every row of x2 (…, m, d): (…, n, m). Source: torch.cdist.

    compute_mode: how PyTorch saves time; here the differences are always taken. Raises RuntimeError for other widths."""
    if x1.shape[-1] != x2.shape[-1]:
        raise fail(
            RuntimeError,
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}",
            "A distance is between points of one space.",
        )
    return NAMESPACES["linalg"]["vector_norm"](x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


@composite(method=True)
def rot90(input, k=1, dims=(0, 1)):
    """Turned by k times 90 degrees in the plane of two dimensions, from the first towards the second. Source: torch.rot90."""
    if len(dims) != 2:
        raise fail(RuntimeError, f"expected total rotation dims == 2, but got dims = {len(dims)}", "A plane has two.")
    if input._d.ndim < 2:
        raise fail(RuntimeError, f"expected total dims >= 2, but got total dims = {input._d.ndim}", "A plane has two.")
    a, b = (check_dim(d, input._d.ndim) for d in dims)
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


def _each(f, tensors):
    """`f` of one tensor, or a tuple of `f` of each."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    elif len(tensors) == 1:
        return f(tensors[0])
    return tuple(f(x) for x in tensors)


@composite()
def atleast_2d(*tensors):
    """With two dimensions at least: a vector becomes a row. Source: torch.atleast_2d."""
    return _each(lambda x: x if x._d.ndim >= 2 else x.reshape(1, -1), tensors)


@composite()
def atleast_3d(*tensors):
    """With three dimensions at least: (n,) becomes (1, n, 1), (m, n) becomes (m, n, 1). Source: torch.atleast_3d."""
    return _each(lambda x: x if x._d.ndim >= 3 else atleast_2d(x).unsqueeze(-1), tensors)


@composite()
def dstack(tensors):
    """Joined along the third dimension, after `atleast_3d`. Source: torch.dstack."""
    return _TORCH["cat"](list(atleast_3d(list(tensors))), 2)


@composite()
def column_stack(tensors):
    """Joined along the second dimension; vectors are columns. Source: torch.column_stack."""
    return _TORCH["cat"]([x.reshape(x.numel(), 1) if x._d.ndim < 2 else x for x in tensors], 1)


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


@composite()
def cartesian_prod(*tensors):
    """All combinations of one entry of each vector, as rows; of a single vector that vector. Source: torch.cartesian_prod."""
    for x in tensors:
        if x._d.ndim != 1:
            raise fail(
                RuntimeError, f"Expect a 1D vector, but got shape {list(x.shape)}", "Each tensor is a list of choices."
            )
    grids = _TORCH["meshgrid"](*tensors, indexing="ij") if len(tensors) > 1 else list(tensors)
    return tensors[0] if len(tensors) == 1 else _TORCH["stack"]([g.flatten() for g in grids], 1)


@composite()
def combinations(input, r=2, with_replacement=False):
    """All ways to take r entries of a vector, in its order, as rows. Source: torch.combinations."""
    if input._d.ndim != 1:
        raise fail(
            RuntimeError, f"Expect a 1D vector, but got shape {list(input.shape)}", "The vector is a list of choices."
        )
    if r < 0:
        raise fail(RuntimeError, f"Expect a non-negative number, but got {r}", "r counts how many are taken.")
    if r == 0:
        return input.new_zeros((0,))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(input.numel()), r))
    index = _TORCH["tensor"]([i for row in rows for i in row], dtype=int64, device=input.device)
    return input.index_select(0, index).reshape(len(rows), r)


@composite()
def trapezoid(y, x=None, *, dx=None, dim=-1):
    """The area under y along `dim`, as trapezoids between points x, or dx (1) apart. Source: torch.trapezoid."""
    dim = check_dim(dim, y._d.ndim)
    n = y.shape[dim]
    later, before = y.narrow(dim, min(1, n), max(n - 1, 0)), y.narrow(dim, 0, max(n - 1, 0))
    if x is None:
        return (y.sum(dim) - (y.select(dim, 0) + y.select(dim, n - 1)) * 0.5) * (1.0 if dx is None else dx)
    if dx is not None:
        raise fail(TypeError, "trapezoid() takes x or dx, not both", "x says where the points are, dx how far apart.")
    width = diff(x, dim=-1 if x._d.ndim == 1 else dim)
    if x._d.ndim == 1:
        width = width.reshape(*[-1 if d == dim else 1 for d in range(y._d.ndim)])
    return ((later + before) * width).sum(dim) / 2.0


_TORCH["trapz"] = trapezoid
_TORCH["row_stack"] = _TORCH["vstack"]
for _name, _of in (
    ("multiply", "mul"),
    ("divide", "div"),
    ("true_divide", "div"),
    ("subtract", "sub"),
    ("negative", "neg"),
):
    _TORCH.setdefault(_name, _TORCH[_of])
_TORCH.setdefault("square_", METHODS["square_"])
