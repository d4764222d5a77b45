"""Many numbers to one: sum mean prod var std logsumexp. `extremes.py` has the reductions that pick an element,
`counting.py` those that count or leave out, `cumulative.py` running totals.

Every reduction takes `dim`: None (all), an int or a tuple; `keepdim` leaves the reduced dimensions in place with size
1. NumPy's names `axis` and `keepdims` are understood too, as in torch. Sources:
https://docs.pytorch.org/docs/2.13/torch.html#reduction-ops
"""

from __future__ import annotations

import math
import warnings

import numpy as np

from ..exact import sums as cascade, precise
from ..exact.arguments import mismatch
from ..core.grad_mode import per_thread
from ..core.dtype import FROM_NUMPY, get_default_dtype
from ..exact.dtypes import as_dtype
from ..core.errors import fail
from ..exact.refusals import check_dim, check_dims
from ..kernels.reduce import reduce
from .functions import composite, internal
from ..core.tensor import Tensor
from .expand import everywhere
from .shape import row_major

ABSENT = object()
"""Stands for an argument that was left out where None means something else."""


# -- arguments ---------------------------------------------------------------------------------------------------------
def the_dims(dim, ndim):
    """Return `dim` (None, an int or a list of ints) as None or as the tuple that the user wrote.

    Raises IndexError for a dimension that does not exist, RuntimeError for one that is named twice."""
    if dim is None:
        return None
    if dim.__class__ is int:  # the most frequent case
        check_dim(dim, ndim)
        return (dim,)
    check_dims(dim, ndim)
    return tuple(dim)


def differentiable_dtype(x, dtype):
    """Raise torch's error for the sum or product of `x` as whole numbers if its gradient is wanted."""
    if dtype is None or not x.requires_grad or not per_thread.state.grad:
        return
    if not (d := as_dtype(dtype)).is_inexact:
        raise fail(
            RuntimeError,
            f"Autograd not support dtype: {d.short}",
            "Whole numbers have no gradient: detach() first, or convert afterwards.",
        )


def axes(self, dim):
    """Return the axes to reduce for NumPy: None for all. A 0-d array has none, though torch lets dim 0 name it."""
    if dim is None or dim == () or self.ndim == 0:
        return None
    return tuple(dim) if isinstance(dim, list) else dim


def dims_of(dim, ndim):
    """Return the reduced dimensions counted from the front, in rising order; all of them for None and ()."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    return tuple(sorted(check_dims(dim, ndim))) if ndim else ()


def count(dim, shape):
    """Return how many elements go into each result."""
    if dim.__class__ is tuple and len(dim) == 1 and shape:  # the most frequent case
        return shape[dim[0]]
    return math.prod(shape[d] for d in dims_of(dim, len(shape)))


def restored(m, g, dim, keepdim, ndim):
    """Return `g` with the reduced dimensions back in place as size 1."""
    if not keepdim:
        for d in dims_of(dim, ndim):
            g = m.unsqueeze(g, d)
    return g


def spread(m, g, dim, keepdim, sizes):
    """Return `g` repeated over the reduced dimensions."""
    return m.expand(restored(m, g, dim, keepdim, len(sizes)), sizes)


def dtype_of(g):
    """Return the torch dtype of a Tensor or a raw array."""
    return g.dtype if isinstance(g, Tensor) else FROM_NUMPY[g.dtype]


# -- sum, mean ---------------------------------------------------------------------------------------------------------
def _total(xp, ufunc, exact, self, dim, keepdim, dtype):
    """Return a sum or product. NumPy's floats are added in torch's order by `exact`; float16 is summed in float32,
    and whole numbers in int64."""
    if dtype is not None:
        self = self.astype(as_dtype(dtype).np)
    axis, d = axes(self, dim), self.dtype
    if xp is np and d.char in "fd":
        return exact(self, axis, keepdim)
    if dtype is None and d.kind in "biu":
        d = np.dtype("int64")
    wide = np.dtype("float32") if d == np.float16 else d
    result = getattr(xp, ufunc).reduce(self, axis=axis, keepdims=keepdim, dtype=wide)
    return row_major(xp, result.astype(d, copy=False))


def _sum(xp, self, dim=None, keepdim=False, dtype=None):
    return _total(xp, "add", cascade.add, self, dim, keepdim, dtype)


def _mean(xp, self, dim=None, keepdim=False, dtype=None):
    d = self.dtype if dtype is None else as_dtype(dtype).np
    if d.kind in "biu":
        raise fail(
            RuntimeError,
            f"mean(): could not infer output dtype. {'Input' if dtype is None else 'Optional'} dtype must be either a "
            f"floating point or complex dtype. Got: {FROM_NUMPY[d].short}",
            "The mean of whole numbers is seldom whole: write x.float().mean() or x.mean(dtype=torch.float32).",
        )
    total = _sum(xp, self, dim, keepdim, dtype)
    return (total / total.dtype.type(count(dim, self.shape))).astype(d, copy=False)


def _mean_rule(m, g, dim, keepdim, self_sym_numel, self_sym_sizes):
    n = count(dim, self_sym_sizes)
    if m.traced:
        return m.div_scalar(spread(m, g, dim, keepdim, self_sym_sizes), n)
    return spread(m, m.div_scalar(g, n), dim, keepdim, self_sym_sizes)


_FILLED = (
    4096  # up to this many elements, filling an array takes less time than a view without strides
)


def _mean_all_rule(m, g, self_sym_numel, self_sym_sizes):
    if m.traced:
        return m.div_scalar(m.expand(g, self_sym_sizes), self_sym_numel)
    if self_sym_numel <= _FILLED and m.xp is np:
        return cascade.alone(g / self_sym_numel, self_sym_sizes)
    return everywhere(m, g / self_sym_numel, self_sym_sizes)


def _sum_or_mean(name, forward, fast, rule_of_all, rule, tex, gradient):
    """Register the op of all elements and the op along dimensions, and make `name` public. Return both."""
    whole = internal(
        f"{name}_all(Tensor self, *, dtype? dtype=None)",
        forward=lambda xp, self, dtype: forward(xp, self, None, False, dtype),
        fast=lambda x: fast(x) if x.dtype.itemsize > 2 else forward(np, x),
        node=f"{name.capitalize()}Backward0",
        vjp={"self": rule_of_all},
        latex=rf"{tex} {{self}}",
        vjp_latex={"self": gradient},
        samples=lambda s: [s.randn(3), s.randn(2, 3)],
    )
    along = internal(
        f"{name}(Tensor self, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)",
        forward=forward,
        node=f"{name.capitalize()}Backward1",
        vjp={"self": rule},
        latex=rf"{tex}_{{{{dim}}}} {{self}}",
        vjp_latex={"self": gradient},
        samples=lambda s: [
            (s.randn(2, 3), (0,)),
            (s.randn(2, 3, 2), (0, 2), True),
            (s.randn(2, 3), (-1,)),
            (s.randn(2, 3), None, True),
        ],
    )

    @composite(name, method=True)
    def call(input, dim=ABSENT, keepdim=ABSENT, *, dtype=None):
        if dim is ABSENT:
            if keepdim is not ABSENT:
                raise mismatch()
            differentiable_dtype(input, dtype)
            return whole.call(input, dtype)
        dims = the_dims(dim, input._array.ndim)
        differentiable_dtype(input, dtype)
        return along.call(input, dims, False if keepdim is ABSENT else keepdim, dtype)

    call.__doc__ = (
        f"Return the {name} of all elements, or along `dim` (an int or a tuple). dtype: converts first. Raises "
        f"IndexError for a `dim` that does not exist. Source: torch.{name}"
    )
    return whole, along


sum_all, sum_op = _sum_or_mean(
    "sum",
    _sum,
    cascade.add,
    lambda m, g, self_sym_sizes: everywhere(m, g, self_sym_sizes),
    lambda m, g, dim, keepdim, self_sym_sizes: spread(m, g, dim, keepdim, self_sym_sizes),
    r"\sum",
    "{g}",
)
mean_all, mean_op = _sum_or_mean(
    "mean",
    _mean,
    lambda x: cascade.total(x) / x.size,
    _mean_all_rule,
    _mean_rule,
    r"\frac{1}{n} \sum",
    r"\frac{1}{n} \cdot {g}",
)


# -- product -----------------------------------------------------------------------------------------------------------
def _prod(xp, self, dim=None, keepdim=False, dtype=None):
    return _total(xp, "multiply", cascade.multiply, self, dim, keepdim, dtype)


def _others_product(m, x, dim):
    """Return the product of all elements along `dim` but the one at each place: exact where some are zero, and
    differentiable again."""
    first = m.cumsum(m.ones_like(x), dim) == 1

    def of_earlier(y):
        return m.cumprod(m.where(first, 1.0, m.roll(y, (1,), (dim,))), dim)

    return of_earlier(x) * m.flip(of_earlier(m.flip(x, (dim,))), (dim,))


def _prod_rule(m, g, self, dim, keepdim, result):
    ndim = len(self.shape)
    if ndim == 0:
        return g
    g = restored(m, g, dim, keepdim, ndim)
    if bool(m.any(self == 0)):
        return g * _others_product(m, self, dim)
    return g * (restored(m, result, dim, keepdim, ndim) / self)


def _prod_all_rule(m, g, self, result):
    # with two zeros every gradient is 0, also beside inf and nan
    if not m.traced and bool(m.sum(self == 0, None, False, dtype_of(g)) > 1):
        return m.zeros_like(self)
    flat = m.reshape_raw(self, (-1,))
    return m.reshape_raw(_prod_rule(m, g, flat, 0, False, result), tuple(self.shape))


_PROD_TEX = {"self": r"{g} \cdot \prod_{j \ne i} {self}_j"}

prod_all = internal(
    "prod_all(Tensor self, *, dtype? dtype=None)",
    forward=lambda xp, self, dtype: _prod(xp, self, None, False, dtype),
    node="ProdBackward0",
    vjp={"self": _prod_all_rule},
    latex=r"\prod {self}",
    vjp_latex=_PROD_TEX,
    samples=lambda s: [
        s.away_from_zero(3),
        s.away_from_zero(2, 3),
        np.array([0.0, 1.5, 2.0]),
        np.array([0.0, 1.5, 0.0]),
    ],
)

prod_op = internal(
    "prod(Tensor self, int dim, bool keepdim=False, *, dtype? dtype=None)",
    forward=_prod,
    node="ProdBackward1",
    vjp={"self": _prod_rule},
    latex=r"\prod_{{dim}} {self}",
    vjp_latex=_PROD_TEX,
    samples=lambda s: [
        (s.away_from_zero(2, 3), 1),
        (s.away_from_zero(2, 3), 0, True),
        (np.array([[0.0, 1.5, 2.0], [0.0, 3.0, 0.0]]), 1),
    ],
)


@composite(method=True)
def prod(input, dim=ABSENT, keepdim=False, *, dtype=None):
    """Return the product of all elements, or along one dimension. Source: torch.prod."""
    if dim is not ABSENT:
        check_dim(dim, input._array.ndim)
    differentiable_dtype(input, dtype)
    if dim is ABSENT:
        return prod_all.call(input, dtype)
    return prod_op.call(input, dim, keepdim, dtype)


# -- variance ----------------------------------------------------------------------------------------------------------
def _moments(xp, self, dim, correction, keepdim):
    """Return variance and mean in float64, as torch accumulates them on the CPU."""
    axis, n = axes(self, dim), count(dim, self.shape)
    wide = self.astype(xp.complex128 if self.dtype.kind == "c" else xp.float64)
    mean = xp.add.reduce(wide, axis=axis, keepdims=True) / np.float64(n)
    gap = abs(wide - mean) if self.dtype.kind == "c" else wide - mean
    if xp is np and not np.isfinite(mean).all():
        mean = np.where(_infinite_before_the_last(wide, axis), np.nan, mean)
    free = max(n - (1 if correction is None else correction), 0)
    variance = xp.add.reduce(gap * gap, axis=axis, keepdims=keepdim) / np.float64(free)
    return variance, mean if keepdim else mean.reshape(variance.shape)


def _infinite_before_the_last(x, axis):
    """Return where torch's running mean is nan: at inf it is inf, and at the next number inf - inf."""
    axis = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    rows = np.moveaxis(x, axis, tuple(range(-len(axis), 0)))
    rows = rows.reshape(*rows.shape[: x.ndim - len(axis)], -1)
    return np.expand_dims(np.isinf(rows[..., :-1]).any(-1), tuple(sorted(a % x.ndim for a in axis)))


def _back(value, self):
    return value.astype(self.dtype if value.dtype.kind == "c" else self.real.dtype)[()]


def _var_rule(m, g, self, dim, correction, keepdim):
    sizes = tuple(self.shape)
    free = count(dim, sizes) - (1 if correction is None else correction)
    g = restored(m, g, dim, keepdim, len(sizes))
    gap = self - m.mean(self, dim, True)
    if free > 0:
        return g * (2.0 / free) * gap
    return g * m.masked_fill(m.zeros_like(gap) + math.inf, (gap == 0) | m.isnan(gap), math.nan)


def _std_rule(m, g, result, self, dim, correction, keepdim):
    g = m.masked_fill(g / (result * 2), result == 0, 0)
    return _var_rule(m, g, self, dim, correction, keepdim)


def _with_mean(m, of_spread, g, self, dim, keepdim):
    """Return the gradient of var_mean or std_mean: `of_spread`, and that of the mean, where each arrived."""
    if g is None:
        return of_spread
    sizes = tuple(self.shape)
    of_mean = m.div_scalar(spread(m, g, dim, keepdim, sizes), count(dim, sizes))
    return of_mean if of_spread is None else of_spread + of_mean


def _var_mean_rule(m, g, self, dim, correction, keepdim):
    of_var = None if g[0] is None else _var_rule(m, g[0], self, dim, correction, keepdim)
    return _with_mean(m, of_var, g[1], self, dim, keepdim)


def _std_mean_rule(m, g, result0, self, dim, correction, keepdim):
    of_std = None if g[0] is None else _std_rule(m, g[0], result0, self, dim, correction, keepdim)
    return _with_mean(m, of_std, g[1], self, dim, keepdim)


def _dispersion(name, forward, rule, tex, gradient, doc, **fields):
    op = internal(
        f"{name}(Tensor self, int[]? dim=None, Number? correction=None, bool keepdim=False)",
        forward=forward,
        vjp={"self": rule},
        latex=tex,
        vjp_latex={"self": gradient},
        samples=lambda s: [s.randn(4), (s.randn(2, 3), (1,)), (s.randn(2, 3), (0, 1), 1, True)],
        **fields,
    )

    @composite(name, method="mean" not in name)
    def call(input, dim=ABSENT, unbiased=ABSENT, keepdim=False, *, correction=ABSENT):
        if isinstance(dim, bool):
            dim, unbiased = ABSENT, dim
        if unbiased is not ABSENT and correction is not ABSENT:
            raise mismatch()
        if not input.dtype.is_inexact:
            raise fail(
                RuntimeError,
                "std and var only support floating point and complex dtypes",
                "Convert the numbers first: x.float().",
            )
        if correction is ABSENT:
            correction = int(unbiased) if unbiased is not ABSENT else None if dim is ABSENT else 1
        dim = the_dims(None if dim is ABSENT else dim, input._array.ndim)
        if count(dim, input._array.shape) <= (1 if correction is None else correction):
            warnings.warn(
                f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
                "reduction factor (input numel divided by output numel).",
                UserWarning,
                stacklevel=3,
            )
        return op.call(input, dim, correction, keepdim)

    call.__doc__ = (
        f"Return {doc} along `dim`, or of all elements. correction: n - correction is divided by (1 by default; "
        f"unbiased=False means 0). Warns when nothing is left to divide by. Source: torch.{name}"
    )


def _dispersions(name, root, rules, tex, gradient, doc):
    """Make `name` and `name_mean` public; `root`: the square root of the variance or the variance itself."""

    def spread_and_mean(xp, self, dim, correction, keepdim):
        variance, mean = _moments(xp, self, dim, correction, keepdim)
        return _back(root(xp, variance), self), _back(mean, self)

    _dispersion(
        name,
        lambda xp, *args: spread_and_mean(xp, *args)[0],
        rules[0],
        tex,
        gradient,
        f"the {doc}",
    )
    _dispersion(
        f"{name}_mean",
        spread_and_mean,
        rules[1],
        tex,
        gradient.replace("{result}", "{result0}") + r" + \frac{{g1}}{n}",
        f"({doc}, mean)",
        outputs=("result0", "result1"),
        partial=True,
    )


_VAR_TEX = r"\frac{1}{n - {correction}} \sum_{{dim}} ({self} - \mu)^{2}"
_dispersions(
    "var",
    lambda xp, variance: variance,
    (_var_rule, _var_mean_rule),
    _VAR_TEX,
    r"{g} \cdot \frac{2}{n - {correction}} \cdot ({self} - \mu)",
    "variance",
)
_dispersions(
    "std",
    lambda xp, variance: xp.sqrt(variance),
    (_std_rule, _std_mean_rule),
    rf"\sqrt{{{_VAR_TEX}}}",
    r"\frac{{g}}{{result}} \cdot \frac{1}{n - {correction}} \cdot ({self} - \mu)",
    "standard deviation",
)


# -- log-sum-exp -------------------------------------------------------------------------------------------------------
_exp, _log = precise.unary("exp"), precise.unary("log")


def _logsumexp(xp, self, dim, keepdim):
    if self.dtype.kind in "biu":
        self = self.astype(get_default_dtype().np)
    axis = axes(self, dim)
    if not self.size:
        return xp.log(xp.add.reduce(xp.exp(self), axis=axis, keepdims=keepdim))
    top = reduce(xp, "maximum", self, axis, True)
    top = xp.where(xp.isinf(top), 0, top).astype(self.dtype)
    if xp is np:
        total = _log(cascade.add(_exp(self - top), axis, keepdim))
    else:
        total = xp.log(xp.add.reduce(xp.exp(self - top), axis=axis, keepdims=keepdim))
    return total + top.reshape(total.shape)[()]


def _logsumexp_rule(m, g, self, dim, keepdim, result):
    g, result = (restored(m, t, dim, keepdim, len(self.shape)) for t in (g, result))
    return g * m.exp(self - result)


logsumexp_op = internal(
    "logsumexp(Tensor self, int[] dim, bool keepdim=False)",
    forward=_logsumexp,
    vjp={"self": _logsumexp_rule},
    latex=r"\ln \sum_{{dim}} e^{{self}}",
    vjp_latex={"self": r"{g} \cdot e^{{self} - {result}}"},
    samples=lambda s: [(s.randn(3), (0,)), (s.randn(2, 3), (1,), True), (s.randn(2, 3), (0, 1))],
)


@composite(method=True)
def logsumexp(input, dim, keepdim=False):
    """Return log(sum(exp(x))) along `dim`, without overflow. Source: torch.logsumexp."""
    return logsumexp_op.call(input, the_dims(dim, input._array.ndim), keepdim)


composite(namespace="special")(logsumexp)
