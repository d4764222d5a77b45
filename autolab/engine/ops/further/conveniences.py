"""Small functions that PyTorch composes of others: differences, estimated derivatives, covariance, stacking,
combinations, areas; second names.

Source: https://docs.pytorch.org/docs/2.13/torch.html
"""

from __future__ import annotations

import itertools

import numpy as np

from ...exact.arguments import mismatch
from ...core.dtype import NUMBERS, bool_, complex128, float64, get_default_dtype, int64
from ...core.errors import fail
from ...exact.refusals import check_dim, check_dims, no_dimensions
from ..functions import METHODS, NAMESPACES, composite
from ...core.record import OPS
from ...methods.size import Size
from ...core.tensor import Tensor
from ..indexing import slice_op
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
def cov(input, *, correction=1, fweights=None, aweights=None):
    """Covariances of variables (rows) over observations (columns), divided by their number less `correction`.

    fweights: how often each observation was made (whole numbers); aweights: how much it counts. Source: torch.cov."""
    if input._array.ndim > 2:
        raise fail(
            RuntimeError,
            f"cov(): expected input to have two or fewer dimensions but got an input with {input._array.ndim} dimensions",
            "Variables by observations.",
        )
    if input.dtype is bool_:
        message = "cov(): bool dtype is not supported for input"
        raise fail(RuntimeError, message, "Count masks: convert them with .float().")
    x = input.reshape(1, -1) if input._array.ndim < 2 else input
    x = x if x.dtype.is_inexact else x.to(get_default_dtype())
    weights = (
        fweights if aweights is None else aweights if fweights is None else fweights * aweights
    )
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
    if input._array.ndim > 2:
        raise fail(
            RuntimeError,
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input._array.ndim} dimensions",
            "Variables by observations.",
        )
    c = cov(input)
    if not c._array.ndim:
        return c / c
    deviation = c.diag().sqrt()
    return (c / deviation.unsqueeze(-1) / deviation.unsqueeze(0)).clamp(-1, 1)


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
    return _each(
        lambda x: x if x._array.ndim >= 2 else x.unsqueeze(0) if x._array.ndim else x.reshape(1, 1),
        tensors,
    )


@composite()
def atleast_3d(*tensors):
    """With three dimensions at least: (n,) becomes (1, n, 1), (m, n) becomes (m, n, 1). Source: torch.atleast_3d."""
    return _each(lambda x: x if x._array.ndim >= 3 else atleast_2d(x).unsqueeze(-1), tensors)


@composite()
def dstack(tensors):
    """Joined along the third dimension, after `atleast_3d`. Source: torch.dstack."""
    return _TORCH["cat"](list(atleast_3d(list(tensors))), 2)


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


@composite()
def cartesian_prod(*tensors):
    """All combinations of one entry of each vector, as rows; of a single vector that vector. Source:
    torch.cartesian_prod."""
    for x in tensors:
        if x._array.ndim != 1:
            raise fail(
                RuntimeError,
                f"Expect a 1D vector, but got shape {list(x.shape)}",
                "Each tensor is a list of choices.",
            )
    grids = _TORCH["meshgrid"](*tensors, indexing="ij") if len(tensors) > 1 else list(tensors)
    return tensors[0] if len(tensors) == 1 else _TORCH["stack"]([g.flatten() for g in grids], 1)


@composite()
def combinations(input, r=2, with_replacement=False):
    """All ways to take r entries of a vector, in its order, as rows. Source: torch.combinations."""
    if input._array.ndim != 1:
        raise fail(
            RuntimeError,
            f"Expect a 1D vector, but got shape {list(input.shape)}",
            "The vector is a list of choices.",
        )
    if r < 0:
        raise fail(
            RuntimeError,
            f"Expect a non-negative number, but got {r}",
            "r counts how many are taken.",
        )
    if r == 0:
        return input.new_zeros((0,))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(input.numel()), r))
    index = _TORCH["tensor"]([i for row in rows for i in row], dtype=int64, device=input.device)
    return input.index_select(0, index).reshape(len(rows), r)


def _no_masks(name, y, x):
    if any(t is not None and t.dtype is bool_ for t in (y, x)):
        which = "`y`" if x is None else "`x` or `y`"
        message = f"{name}: received a bool input for {which}, but bool is not supported"
        raise fail(RuntimeError, message, "A mask has no area: convert it with .float().")


def _scaled(op, t, number):
    """`t` times or divided by a plain number, of whole numbers as `*` and `/` do; of others by the op that PyTorch's
    C++ uses."""
    return (
        OPS[op + "_scalar"].call(t, number)
        if t.dtype.is_floating_point
        else OPS[op].call(t, number)
    )


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


@composite()
def trapezoid(y, x=None, *, dx=None, dim=-1):
    """The area under y along `dim`, as trapezoids between points x, or dx (1) apart. Source: torch.trapezoid."""
    dim, heights, widths = _halves("trapezoid", y, x, dx, dim)
    if x is not None:
        return _scaled("div", (heights * widths).sum(dim), 2.0)
    if not y.shape[dim]:
        return y.sum(dim) * 0.0
    ends = y.select(dim, 0) + y.select(dim, y.shape[dim] - 1)
    return _scaled("mul", y.sum(dim) - _scaled("mul", ends, 0.5), 1.0 if dx is None else dx)


@composite()
def cumulative_trapezoid(y, x=None, *, dx=None, dim=-1):
    """The area under y up to each point but the first: `trapezoid` as a running total. Source:
    torch.cumulative_trapezoid."""
    dim, heights, widths = _halves("cumulative_trapezoid", y, x, dx, dim)
    if x is not None:
        return _scaled("div", (widths * heights).cumsum(dim), 2.0)
    return _scaled("mul", heights, (1.0 if dx is None else dx) / 2.0).cumsum(dim)


_TORCH["trapz"] = trapezoid
_TORCH["row_stack"] = _TORCH["vstack"]


# -- gradient ----------------------------------------------------------------------------------------------------------


@composite()
def gradient(input, *, spacing=None, dim=None, edge_order=1):
    """Estimated derivatives of a function of which `input` holds samples: a tuple, one tensor of input's shape per
    dimension.

    spacing: how far samples are apart, a number, a number per dimension, or a vector of places per dimension. dim:
    which dimensions (all). Inside, differences over two steps (exact for parabolas); at the ends over one step
    (edge_order=1) or by a parabola (2). Raises RuntimeError where a dimension has less than edge_order + 1 samples.
    Source: torch.gradient."""
    dims = [dim] if isinstance(dim, int) else dim
    spacings = _spacings(input, spacing, dims)
    if edge_order not in (1, 2):
        message = "torch.gradient only supports edge_order=1 and edge_order=2."
        raise fail(
            RuntimeError,
            message,
            "It says how many steps the estimate at either end takes into account.",
        )
    dims = list(check_dims(range(input._array.ndim) if dims is None else dims, input._array.ndim))
    if any(input.shape[d] <= edge_order for d in dims):
        message = "torch.gradient expected each dimension size to be at least edge_order+1"
        raise fail(RuntimeError, message, "A difference needs two samples, a parabola three.")
    for s in spacings or ():
        if isinstance(s, Tensor) and s._array.ndim != 1:
            message = f"torch.gradient expected each element of spacing to have one dimension, but got an element with {s._array.ndim} dimensions!"
            raise fail(
                RuntimeError, message, "A vector says where the samples along one dimension stand."
            )
    found = []
    for k, d in enumerate(dims):
        s = spacings[k] if spacings is not None else 1 if spacing is None else spacing
        estimate = _at_places if isinstance(s, Tensor) and s._array.ndim else _evenly
        found.append(_TORCH["cat"](estimate(input, d, s, edge_order), d))
    return tuple(found)


def _spacings(input, spacing, dims):
    """One spacing per dimension, or None where one number stands for all."""
    if (
        spacing is None
        or isinstance(spacing, NUMBERS)
        or (isinstance(spacing, Tensor) and not spacing._array.ndim)
    ):
        return None
    strange = [k for k, s in enumerate(spacing) if not isinstance(s, Tensor)]
    if strange and len(strange) < len(spacing):
        message = f"expected Tensor as element {strange[0]} in argument 1, but got {type(spacing[strange[0]]).__name__}"
        raise fail(TypeError, message, "Give a number for each dimension, or a vector for each.")
    given, wanted = len(spacing), input._array.ndim if dims is None else len(dims)
    if given != wanted and dims is None:
        raise fail(
            RuntimeError,
            f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = {wanted}', since dim "
            f"argument was not given, but got a list of length {given}",
            "Each dimension has its own spacing.",
        )
    if given != wanted:
        raise fail(
            RuntimeError,
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the same length, but got a "
            f"spacing argument of length {given} and a dim argument of length {wanted}.",
            "Each dimension has its own spacing.",
        )
    return list(spacing)


def _piece(x, dim, start=0, end=2**63 - 1):
    return slice_op.call(x, dim, start, end, 1)


def _evenly(x, dim, step, edge_order):
    """Estimates at the start, inside and at the end, for samples `step` apart."""

    def over(t, number):
        return t / number if isinstance(number, (complex, Tensor)) else _scaled("div", t, number)

    inside = _scaled("div", over(_piece(x, dim, 2) - _piece(x, dim, 0, -2), step), 2)
    if edge_order == 1:
        first = _piece(x, dim, 1, 2) - _piece(x, dim, 0, 1)
        last = _piece(x, dim, -1) - _piece(x, dim, -2, -1)
    else:
        first = _scaled("mul", _piece(x, dim, 0, 1), -1.5) + _scaled("mul", _piece(x, dim, 1, 2), 2)
        first = first - _scaled("mul", _piece(x, dim, 2, 3), 0.5)
        last = _scaled("mul", _piece(x, dim, -3, -2), 0.5) - _scaled(
            "mul", _piece(x, dim, -2, -1), 2
        )
        last = last + _scaled("mul", _piece(x, dim, -1), 1.5)
    return [over(first, step), inside, over(last, step)]


def _at_places(x, dim, places, edge_order):
    """Estimates at the start, inside and at the end, for samples at given places: slopes of parabolas through three
    neighbours."""
    steps = diff(places)
    before, after = _piece(steps, 0, 0, -1), _piece(steps, 0, 1)
    shape = [-1 if d == dim else 1 for d in range(x._array.ndim)]
    a = (-after / (before * (before + after))).reshape(shape)
    b = ((after - before) / (before * after)).reshape(shape)
    c = (before / (after * (before + after))).reshape(shape)
    inside = a * _piece(x, dim, 0, -2) + b * _piece(x, dim, 1, -1) + c * _piece(x, dim, 2)
    if edge_order == 1:
        first = (_piece(x, dim, 1, 2) - _piece(x, dim, 0, 1)) / steps[0]
        last = (_piece(x, dim, -1) - _piece(x, dim, -2, -1)) / steps[-1]
        return [first, inside, last]
    s, t = steps[0], steps[1]
    a, b, c = -(_scaled("mul", s, 2.0) + t) / (s * (s + t)), (s + t) / (s * t), -s / (t * (s + t))
    first = a * _piece(x, dim, 0, 1) + b * _piece(x, dim, 1, 2) + c * _piece(x, dim, 2, 3)
    s, t = steps[-1], steps[-2]
    a, b, c = s / (t * (s + t)), -(s + t) / (s * t), (_scaled("mul", s, 2) + t) / (s * (s + t))
    last = a * _piece(x, dim, -3, -2) + b * _piece(x, dim, -2, -1) + c * _piece(x, dim, -1)
    return [first, inside, last]


# -- arithmetic under further names ------------------------------------------------------------------------------------
@composite()
def rsub(input, other, *, alpha=1):
    """other - alpha * input: `sub` the other way round. Raises RuntimeError for masks. Source: torch.rsub."""
    op = arithmetic.rsub_tensor if isinstance(other, Tensor) else arithmetic.rsub
    return op.call(arithmetic._scaled(op, other, input, alpha), other)


def _is_complex(x):
    return (
        x.dtype.is_complex
        if isinstance(x, Tensor)
        else isinstance(x, (complex, np.complexfloating))
    )


def _double(x):
    """`x` in double precision: complex where it is complex."""
    if isinstance(x, Tensor):
        return x.to(complex128 if _is_complex(x) else float64)
    return complex(x) if _is_complex(x) else float(x)


@composite(method=True)
def float_power(input, exponent):
    """input ** exponent in double precision, whatever the dtypes; one of them may be a number. Source:
    torch.float_power."""
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        raise mismatch()
    return METHODS["pow"](_double(input), _double(exponent))


@composite(method=True, function=False)
def float_power_(self, exponent):
    """`float_power` in place. Raises RuntimeError unless the tensor has double precision. Source:
    torch.Tensor.float_power_."""
    wanted = complex128 if any(_is_complex(x) for x in (self, exponent)) else float64
    if self.dtype is not wanted:
        message = f"the base given to float_power_ has dtype {self.dtype.short} but the operation's result requires dtype {wanted.short}"
        raise fail(
            RuntimeError,
            message,
            "An in-place operation keeps the tensor's dtype: convert it with .double() first.",
        )
    return METHODS["pow_"](self, _double(exponent))


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
