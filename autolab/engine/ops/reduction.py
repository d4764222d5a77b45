"""Many numbers to one: sum mean prod var std logsumexp. What picks an element is in `extremes.py`, what counts or
leaves out in `counting.py`, running totals in `cumulative.py`.

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


# -- arguments ---------------------------------------------------------------------------------------------------------
def the_dims(dim, ndim):
    """`dim`, an int or a list of ints, as a tuple as the user wrote it, after checking that each exists and appears
    once."""
    if dim.__class__ is int:  # most often
        check_dim(dim, ndim)
        return (dim,)
    check_dims(dim, ndim)
    return tuple(dim)


def differentiable_dtype(x, dtype):
    """Raises torch's error for the sum or product of `x` as whole numbers, where its gradient is wanted."""
    if (
        dtype is not None
        and x.requires_grad
        and per_thread.state.grad
        and not (d := as_dtype(dtype)).is_inexact
    ):
        raise fail(
            RuntimeError,
            f"Autograd not support dtype: {d.short}",
            "Whole numbers have no gradient: detach() first, or convert afterwards.",
        )


def axes(self, dim):
    """The axes to reduce for NumPy: None for all. A 0-d array has none, though torch lets dim 0 name it."""
    if dim is None or dim == () or self.ndim == 0:
        return None
    return tuple(dim) if isinstance(dim, list) else dim


def dims_of(dim, ndim):
    """The reduced dimensions counted from the front, in rising order; all of them for None and ()."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    return tuple(sorted(check_dims(dim, ndim))) if ndim else ()


def count(dim, shape):
    """How many elements go into each result."""
    if dim.__class__ is tuple and len(dim) == 1 and shape:
        return shape[dim[0]]
    return math.prod(shape[d] for d in dims_of(dim, len(shape)))


def restored(m, g, dim, keepdim, ndim):
    """`g` with the reduced dimensions back in place as size 1."""
    if not keepdim:
        for d in dims_of(dim, ndim):
            g = m.unsqueeze(g, d)
    return g


def spread(m, g, dim, keepdim, sizes):
    """`g` repeated over the reduced dimensions."""
    return m.expand(restored(m, g, dim, keepdim, len(sizes)), sizes)


def dtype_of(g):
    """The torch dtype of a Tensor or a raw array."""
    return g.dtype if isinstance(g, Tensor) else FROM_NUMPY[g.dtype]


def _accumulator(self, dtype):
    """(dtype to accumulate in, dtype of the result) of a sum or product."""
    d = self.dtype if dtype is None else as_dtype(dtype).np
    if dtype is None and d.kind in "biu":
        d = np.dtype("int64")
    return (np.dtype("float32") if d == np.float16 else d), d


# -- sum, mean ---------------------------------------------------------------------------------------------------------
_PLAIN = (np.dtype("float32"), np.dtype("float64"))


def _sum(xp, self, dim, keepdim, dtype):
    if dtype is None and xp is np and self.dtype in _PLAIN:
        return cascade.add(self, axes(self, dim), keepdim)
    wide, d = _accumulator(self, dtype)
    if dtype is not None:
        self = self.astype(d)
    if xp is np and d.kind == "f" and wide == d:
        return cascade.add(self, axes(self, dim), keepdim)
    return row_major(
        xp,
        xp.add.reduce(self, axis=axes(self, dim), keepdims=keepdim, dtype=wide).astype(
            d, copy=False
        ),
    )


def _check_mean(d, given):
    """Raises torch's error for a mean in whole numbers; `given`: the user asked for this dtype."""
    if not d.is_inexact:
        raise fail(
            RuntimeError,
            f"mean(): could not infer output dtype. {'Optional' if given else 'Input'} dtype must be either a "
            f"floating point or complex dtype. Got: {d.short}",
            "The mean of whole numbers is seldom whole: write x.float().mean() or x.mean(dtype=torch.float32).",
        )


def _mean(xp, self, dim, keepdim, dtype):
    d = self.dtype if dtype is None else as_dtype(dtype).np
    _check_mean(FROM_NUMPY[d], dtype is not None)
    total = _sum(xp, self, dim, keepdim, dtype)
    if total.dtype is d:
        return total / d.type(count(dim, self.shape))
    return (total / total.dtype.type(count(dim, self.shape))).astype(d, copy=False)


sum_all = internal(
    "sum_all(Tensor self, *, dtype? dtype=None)",
    forward=lambda xp, self, dtype: _sum(xp, self, None, False, dtype),
    node="SumBackward0",
    vjp={"self": lambda m, g, self_sym_sizes: everywhere(m, g, self_sym_sizes)},
    fast=lambda x: cascade.add(x) if x.dtype.itemsize > 2 else _sum(np, x, None, False, None),
    latex=r"\sum {self}",
    vjp_latex={"self": "{g}"},
    samples=lambda s: [s.randn(3), s.randn(2, 3)],
)
sum_op = internal(
    "sum(Tensor self, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)",
    forward=_sum,
    node="SumBackward1",
    vjp={
        "self": lambda m, g, dim, keepdim, self_sym_sizes: spread(
            m, g, dim, keepdim, self_sym_sizes
        )
    },
    latex=r"\sum_{{dim}} {self}",
    vjp_latex={"self": "{g}"},
    samples=lambda s: [
        (s.randn(2, 3), (0,)),
        (s.randn(2, 3, 2), (0, 2), True),
        (s.randn(2, 3), (-1,)),
        (s.randn(2, 3), None, True),
    ],
)


def _mean_rule(m, g, dim, keepdim, self_sym_numel, self_sym_sizes):
    n = count(dim, self_sym_sizes)
    if m.traced:
        return m.div_scalar(spread(m, g, dim, keepdim, self_sym_sizes), n)
    return spread(m, m.div_scalar(g, n), dim, keepdim, self_sym_sizes)


def _mean_all_rule(m, g, self_sym_numel, self_sym_sizes):
    if m.traced:
        return m.div_scalar(m.expand(g, self_sym_sizes), self_sym_numel)
    if self_sym_numel <= _FILLED and m.xp is np:
        return cascade.alone(g / self_sym_numel, self_sym_sizes)
    return everywhere(m, g / self_sym_numel, self_sym_sizes)


_FILLED = 4096  # up to so many elements an array that is filled takes less time than a view without strides


def _fast_mean(x):
    return cascade.total(x) / x.size if x.itemsize > 2 else _mean(np, x, None, False, None)


mean_all = internal(
    "mean_all(Tensor self, *, dtype? dtype=None)",
    node="MeanBackward0",
    forward=lambda xp, self, dtype: _mean(xp, self, None, False, dtype),
    fast=_fast_mean,
    vjp={"self": _mean_all_rule},
    latex=r"\frac{1}{n} \sum {self}",
    vjp_latex={"self": r"\frac{1}{n} \cdot {g}"},
    samples=lambda s: [s.randn(3), s.randn(2, 3)],
)
mean_op = internal(
    "mean(Tensor self, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)",
    forward=_mean,
    node="MeanBackward1",
    vjp={"self": _mean_rule},
    latex=r"\frac{1}{n} \sum_{{dim}} {self}",
    vjp_latex={"self": r"\frac{1}{n} \cdot {g}"},
    samples=lambda s: [
        (s.randn(2, 3), (0,)),
        (s.randn(2, 3, 2), (0, 2), True),
        (s.randn(2, 3), (-1,)),
        (s.randn(2, 3), None, True),
    ],
)

_ABSENT = object()


def _sum_or_mean(name, whole, along):
    @composite(name, method=True)
    def call(input, dim=_ABSENT, keepdim=_ABSENT, *, dtype=None):
        if dim is _ABSENT:
            if keepdim is not _ABSENT:
                raise mismatch()
            if dtype is not None:
                differentiable_dtype(input, dtype)
            return whole.call(input, dtype)
        keepdim = False if keepdim is _ABSENT else keepdim
        if name == "mean":
            _check_mean((input.dtype if dtype is None else as_dtype(dtype)), dtype is not None)
        dims = None if dim is None else the_dims(dim, input._array.ndim)
        differentiable_dtype(input, dtype)
        return along.call(input, dims, keepdim, dtype)

    call.__doc__ = (
        f"The {name} of all elements, or along `dim` (an int or a tuple). dtype: converts first. Raises "
        f"IndexError for a `dim` that "
        f"does not exist. Source: torch.{name}"
    )


_sum_or_mean("sum", sum_all, sum_op)
_sum_or_mean("mean", mean_all, mean_op)


# -- product -----------------------------------------------------------------------------------------------------------
def _prod(xp, self, dim, keepdim, dtype):
    wide, d = _accumulator(self, dtype)
    if dtype is not None:
        self = self.astype(d)
    if xp is np and d.kind == "f" and wide == d:
        return cascade.multiply(self, axes(self, dim), keepdim)
    return row_major(
        xp,
        xp.multiply.reduce(self, axis=axes(self, dim), keepdims=keepdim, dtype=wide).astype(
            d, copy=False
        ),
    )


def _others_product(m, x, dim):
    """The product of all elements along `dim` but the one at each place: exact where some are zero, and differentiable
    again."""
    place = m.cumsum(m.ones_like(x), dim)
    first = place == 1

    def of_earlier(y):
        return m.cumprod(m.where(first, 1.0, m.roll(y, (1,), (dim,))), dim)

    return of_earlier(x) * m.flip(of_earlier(m.flip(x, (dim,))), (dim,))


def _prod_rule(m, g, self, dim, keepdim, result):
    ndim = len(self.shape)
    if ndim == 0:
        return g
    if not bool(m.any(self == 0)):
        return restored(m, g, dim, keepdim, ndim) * (restored(m, result, dim, keepdim, ndim) / self)
    return restored(m, g, dim, keepdim, ndim) * _others_product(m, self, dim)


def _prod_all_rule(m, g, self, result):
    if len(self.shape) == 0:
        return g
    if not bool(m.any(self == 0)):
        return g * (result / self)
    # whatever the others are, inf and NaN too
    if not m.traced and bool(m.sum(self == 0, None, False, dtype_of(g)) > 1):
        return m.zeros_like(self)
    return g * m.reshape_raw(_others_product(m, m.reshape_raw(self, (-1,)), 0), tuple(self.shape))


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
def prod(input, dim=_ABSENT, keepdim=False, *, dtype=None):
    """The product of all elements, or along one dimension. Source: torch.prod."""
    if dim is _ABSENT:
        differentiable_dtype(input, dtype)
        return prod_all.call(input, dtype)
    check_dim(dim, input._array.ndim)
    differentiable_dtype(input, dtype)
    return prod_op.call(input, dim, keepdim, dtype)


# -- variance ----------------------------------------------------------------------------------------------------------
def _moments(xp, self, dim, correction, keepdim):
    """Variance and mean in float64, as torch accumulates them on the CPU."""
    axis, n = axes(self, dim), count(dim, self.shape)
    wide = self.astype(xp.complex128 if self.dtype.kind == "c" else xp.float64)
    mean = xp.add.reduce(wide, axis=axis, keepdims=True) / np.float64(n)
    gap = abs(wide - mean) if self.dtype.kind == "c" else wide - mean
    if xp is np and not np.isfinite(mean).all():
        mean = np.where(_infinite_before_the_last(wide, axis), np.nan, mean)
    variance = xp.add.reduce(gap * gap, axis=axis, keepdims=keepdim) / np.float64(
        max(n - (1 if correction is None else correction), 0)
    )
    return variance, mean if keepdim else mean.reshape(variance.shape)


def _infinite_before_the_last(x, axis):
    """Where torch's running mean is NaN: at inf it is inf, and at the next number inf - inf."""
    axis = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    rows = np.moveaxis(x, axis, tuple(range(-len(axis), 0)))
    rows = rows.reshape(*rows.shape[: x.ndim - len(axis)], -1)
    found = np.isinf(rows[..., :-1]).any(-1)
    return np.expand_dims(found, tuple(sorted(a % x.ndim for a in axis)))


def _back(value, self):
    return value.astype(self.dtype if value.dtype.kind == "c" else self.real.dtype)[()]


def _var(xp, self, dim, correction, keepdim):
    return _back(_moments(xp, self, dim, correction, keepdim)[0], self)


def _std(xp, self, dim, correction, keepdim):
    return _back(xp.sqrt(_moments(xp, self, dim, correction, keepdim)[0]), self)


def _var_mean(xp, self, dim, correction, keepdim):
    variance, mean = _moments(xp, self, dim, correction, keepdim)
    return _back(variance, self), _back(mean, self)


def _std_mean(xp, self, dim, correction, keepdim):
    variance, mean = _moments(xp, self, dim, correction, keepdim)
    return _back(xp.sqrt(variance), self), _back(mean, self)


def _var_rule(m, g, self, dim, correction, keepdim):
    sizes = tuple(self.shape)
    free = count(dim, sizes) - (1 if correction is None else correction)
    g = restored(m, g, dim, keepdim, len(sizes))
    gap = self - m.mean(self, dim, True)
    return (
        g * (2.0 / free) * gap
        if free > 0
        else g * m.masked_fill(m.zeros_like(gap) + math.inf, (gap == 0) | m.isnan(gap), math.nan)
    )


def _std_rule(m, g, result, self, dim, correction, keepdim):
    return _var_rule(
        m, m.masked_fill(g / (result * 2), result == 0, 0), self, dim, correction, keepdim
    )


def _added(a, b):
    return b if a is None else a if b is None else a + b


def _mean_part(m, g, self, dim, keepdim):
    sizes = tuple(self.shape)
    return None if g is None else m.div_scalar(spread(m, g, dim, keepdim, sizes), count(dim, sizes))


def _var_mean_rule(m, g, self, dim, correction, keepdim):
    of_var = None if g[0] is None else _var_rule(m, g[0], self, dim, correction, keepdim)
    return _added(of_var, _mean_part(m, g[1], self, dim, keepdim))


def _std_mean_rule(m, g, result0, self, dim, correction, keepdim):
    of_std = None if g[0] is None else _std_rule(m, g[0], result0, self, dim, correction, keepdim)
    return _added(of_std, _mean_part(m, g[1], self, dim, keepdim))


_VAR_TEX = r"\frac{1}{n - {correction}} \sum_{{dim}} ({self} - \mu)^{2}"
_VAR_GRADIENT = r"{g} \cdot \frac{2}{n - {correction}} \cdot ({self} - \mu)"
_STD_GRADIENT = r"\frac{{g}}{{result}} \cdot \frac{1}{n - {correction}} \cdot ({self} - \mu)"


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
    def call(input, dim=_ABSENT, unbiased=_ABSENT, keepdim=False, *, correction=_ABSENT):
        if isinstance(dim, bool):
            dim, unbiased = _ABSENT, dim
        if unbiased is not _ABSENT and correction is not _ABSENT:
            raise mismatch()
        if not input.dtype.is_inexact:
            raise fail(
                RuntimeError,
                "std and var only support floating point and complex dtypes",
                "Convert the numbers first: x.float().",
            )
        if correction is _ABSENT:
            correction = int(unbiased) if unbiased is not _ABSENT else None if dim is _ABSENT else 1
        dim = None if dim is _ABSENT or dim is None else the_dims(dim, input._array.ndim)
        if count(dim, input._array.shape) <= (1 if correction is None else correction):
            warnings.warn(
                f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
                f"reduction factor (input numel divided "
                "by output numel).",
                UserWarning,
                stacklevel=3,
            )
        return op.call(input, dim, correction, keepdim)

    call.__doc__ = (
        f"{doc} along `dim`, or of all elements. correction: n - correction is divided by (1 by default; "
        f"unbiased=False means 0). "
        f"Warns when nothing is left to divide by. Source: torch.{name}"
    )


_dispersion("var", _var, _var_rule, _VAR_TEX, _VAR_GRADIENT, "The variance")
_dispersion(
    "std", _std, _std_rule, rf"\sqrt{{{_VAR_TEX}}}", _STD_GRADIENT, "The standard deviation"
)
_OF_MEAN = r" + \frac{{g1}}{n}"
_dispersion(
    "var_mean",
    _var_mean,
    _var_mean_rule,
    _VAR_TEX,
    _VAR_GRADIENT + _OF_MEAN,
    "(variance, mean)",
    outputs=("result0", "result1"),
    partial=True,
)
_dispersion(
    "std_mean",
    _std_mean,
    _std_mean_rule,
    rf"\sqrt{{{_VAR_TEX}}}",
    _STD_GRADIENT.replace("{result}", "{result0}") + _OF_MEAN,
    "(standard deviation, mean)",
    outputs=("result0", "result1"),
    partial=True,
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
    exp, log = (_exp, _log) if xp is np else (xp.exp, xp.log)
    terms = exp(self - top)
    total = log(
        cascade.add(terms, axis, keepdim)
        if xp is np
        else xp.add.reduce(terms, axis=axis, keepdims=keepdim)
    )
    return total + top.reshape(total.shape)[()]


def _logsumexp_rule(m, g, self, dim, keepdim, result):
    ndim = len(self.shape)
    return restored(m, g, dim, keepdim, ndim) * m.exp(
        self - restored(m, result, dim, keepdim, ndim)
    )


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
    """log(sum(exp(x))) along `dim`, without overflow. Source: torch.logsumexp."""
    return logsumexp_op.call(input, the_dims(dim, input._array.ndim), keepdim)


composite(namespace="special")(logsumexp)
