"""Reductions: sum mean prod var std logsumexp. Reductions that pick an element are in `extremes.py`, those that count
or skip elements in `counting.py`, cumulative sums in `cumulative.py`.

Every reduction accepts `dim`: None (all), an int or a tuple; `keepdim` keeps the reduced dimensions with size 1.
NumPy's names `axis` and `keepdims` are accepted too, as in torch. Sources:
https://docs.pytorch.org/docs/2.13/torch.html#reduction-ops
"""

from __future__ import annotations

import math
import warnings

import numpy as np

from ..exact import sums as cascade, precise
from ..exact.arguments import mismatch
from ..core.grad_mode import per_thread
from ..core.dtype import FROM_NUMPY, float64
from ..exact.dtypes import as_dtype
from ..core.errors import fail
from ..exact.refusals import check_dim, check_dims
from ..kernels.reduce import reduce
from .checks import refuse_if
from .functions import composite, internal
from ..core.tensor import Tensor
from .expand import everywhere
from .shape import row_major

ABSENT = object()
"""The default of an argument that was not passed, if None has another meaning."""


# -- arguments ---------------------------------------------------------------------------------------------------------
def the_dims(dim, ndim):
    """Return `dim` (None, an int or a list of ints) as None or as the tuple that the user wrote.

    Raise IndexError for a dimension that does not exist, RuntimeError for one that appears twice."""
    if dim is None:
        return None
    if dim.__class__ is int:  # the most frequent case
        check_dim(dim, ndim)
        return (dim,)
    check_dims(dim, ndim)
    return tuple(dim)


def differentiable_dtype(x, dtype):
    """Raise torch's error for an integer sum or product of `x` if its gradient is needed."""
    if dtype is None or not x.requires_grad or not per_thread.state.grad:
        return
    if not (d := as_dtype(dtype)).is_floating_point:
        raise fail(
            RuntimeError,
            f"Autograd not support dtype: {d.short}",
            "Integer tensors cannot have gradients. Call detach() first.",
        )


def axes(self, dim):
    """Return the axes for NumPy to reduce: None for all. A 0-d array has no axes, though torch allows dim 0 for it."""
    return None if dim is None or dim == () or self.ndim == 0 else dim


def dims_of(dim, ndim):
    """Return the reduced dimensions counted from the front, in ascending order; None and () mean all dimensions."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    return tuple(sorted(check_dims(dim, ndim))) if ndim else ()


def count(dim, shape):
    """Return the number of elements reduced into each result."""
    if dim.__class__ is tuple and len(dim) == 1 and shape:  # the most frequent case
        return shape[dim[0]]
    return math.prod(shape[d] for d in dims_of(dim, len(shape)))


def restored(m, g, dim, keepdim, ndim):
    """Return `g` with the reduced dimensions restored as size 1."""
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
    """Return a sum or product. If `exact` is given, it adds NumPy's floats in torch's order. float16 is summed in
    float32, integers in int64."""
    if dtype is not None:
        self = self.astype(as_dtype(dtype).np)
    axis, d = axes(self, dim), self.dtype
    if exact is not None and xp is np and d.char in "fd":
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
            "mean() needs floating-point numbers: use x.float().mean() or x.mean(dtype=torch.float32).",
        )
    total = _sum(xp, self, dim, keepdim, dtype)
    return (total / total.dtype.type(count(dim, self.shape))).astype(d, copy=False)


def _mean_rule(m, g, dim, keepdim, self_sym_numel, self_sym_sizes):
    n = count(dim, self_sym_sizes)
    if m.traced:
        return m.div_scalar(spread(m, g, dim, keepdim, self_sym_sizes), n)
    return spread(m, m.div_scalar(g, n), dim, keepdim, self_sym_sizes)


def _mean_all_rule(m, g, self_sym_numel, self_sym_sizes):
    if m.traced:
        return m.div_scalar(m.expand(g, self_sym_sizes), self_sym_numel)
    return everywhere(m, g / self_sym_numel, self_sym_sizes)


def _sum_or_mean(name, forward, fast, rule_of_all, rule, tex, gradient):
    """Register two ops, over all elements and along dimensions, and make `name` public. Return both."""
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
        f"Return the {name} of all elements, or along `dim` (an int or a tuple). dtype: convert to it first. Raise "
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
    return _total(xp, "multiply", None, self, dim, keepdim, dtype)


def _others_product(m, x, dim):
    """Return, for each position along `dim`, the product of all other elements. It is exact if some are zero, and
    differentiable again."""
    first = m.cumsum(m.ones_like(x), dim) == 1

    def of_earlier(y):
        return m.cumprod(m.where(first, 1.0, m.roll(y, (1,), (dim,))), dim)

    return of_earlier(x) * m.flip(of_earlier(m.flip(x, (dim,))), (dim,))


def _prod_rule(m, g, self, dim, keepdim, result):
    ndim = len(self.shape)
    if ndim == 0:
        return g
    g, result = (restored(m, t, dim, keepdim, ndim) for t in (g, result))
    return g * (_others_product(m, self, dim) if bool(m.any(self == 0)) else result / self)


def _prod_all_rule(m, g, self, result):
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
    samples=lambda s: [s.away_from_zero(2, 3), np.array([0.0, 1.5, 2.0])],
)

prod_op = internal(
    "prod(Tensor self, int dim, bool keepdim=False, *, dtype? dtype=None)",
    forward=_prod,
    node="ProdBackward1",
    vjp={"self": _prod_rule},
    latex=r"\prod_{{dim}} {self}",
    vjp_latex=_PROD_TEX,
    samples=lambda s: [
        (s.away_from_zero(2, 3), 0, True),
        (np.array([[0.0, 1.5, 2.0], [0.0, 3.0, 0.0]]), 1),
    ],
)


@composite(method=True)
def prod(input, dim=ABSENT, keepdim=False, *, dtype=None):
    """Return the product of all elements, or along one dimension. Source: torch.prod."""
    differentiable_dtype(input, dtype)
    if dim is ABSENT:
        return prod_all.call(input, dtype)
    check_dim(dim, input._array.ndim)
    return prod_op.call(input, dim, keepdim, dtype)


# -- variance ----------------------------------------------------------------------------------------------------------
def _variance(xp, self, dim, correction, keepdim):
    """Return the variance, computed in float64 as torch does on the CPU."""
    axis, n, wide = axes(self, dim), count(dim, self.shape), self.astype(xp.float64)
    gap = wide - xp.add.reduce(wide, axis=axis, keepdims=True) / np.float64(n)
    free = np.float64(max(n - (1 if correction is None else correction), 0))
    return xp.add.reduce(gap * gap, axis=axis, keepdims=keepdim) / free


def _var_rule(m, g, self, dim, correction, keepdim):
    sizes = tuple(self.shape)
    free = count(dim, sizes) - (1 if correction is None else correction)
    g = restored(m, g, dim, keepdim, len(sizes))
    gap = self - m.mean(self, dim, True)
    return g * (2.0 / free) * gap if free > 0 else g * (m.abs(gap) * math.inf)


def _std_rule(m, g, result, self, dim, correction, keepdim):
    g = m.masked_fill(g / (result * 2), result == 0, 0)
    return _var_rule(m, g, self, dim, correction, keepdim)


def _register_variance(name, root, rule, tex, gradient, doc):
    """Make `name` public. root: whether it is the square root of the variance or the variance itself."""
    op = internal(
        f"{name}(Tensor self, int[]? dim=None, Number? correction=None, bool keepdim=False)",
        forward=lambda xp, self, *args: root(xp, _variance(xp, self, *args)).astype(self.dtype)[()],
        vjp={"self": rule},
        latex=tex,
        vjp_latex={"self": gradient},
        samples=lambda s: [s.randn(4), (s.randn(2, 3), (1,)), (s.randn(2, 3), (0, 1), 1, True)],
    )

    @composite(name, method=True)
    def call(input, dim=ABSENT, unbiased=ABSENT, keepdim=False, *, correction=ABSENT):
        if isinstance(dim, bool):
            dim, unbiased = ABSENT, dim
        if unbiased is not ABSENT and correction is not ABSENT:
            raise mismatch()
        refuse_if(
            not input.dtype.is_floating_point,
            "std and var only support floating point and complex dtypes",
            "Convert with x.float() first.",
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
        f"Return the {doc} along `dim`, or of all elements. correction: n - correction is divided by (1 by default; "
        f"unbiased=False means 0). Warns when nothing is left to divide by. Source: torch.{name}"
    )
    return call


_VAR_TEX = r"\frac{1}{n - {correction}} \sum_{{dim}} ({self} - \mu)^{2}"
_register_variance(
    "var",
    lambda xp, variance: variance,
    _var_rule,
    _VAR_TEX,
    r"{g} \cdot \frac{2}{n - {correction}} \cdot ({self} - \mu)",
    "variance",
)
std = _register_variance(
    "std",
    lambda xp, variance: xp.sqrt(variance),
    _std_rule,
    rf"\sqrt{{{_VAR_TEX}}}",
    r"\frac{{g}}{{result}} \cdot \frac{1}{n - {correction}} \cdot ({self} - \mu)",
    "standard deviation",
)


@composite()
def std_mean(input, dim=None, unbiased=True, keepdim=False):
    """Return (standard deviation, mean) along `dim`, or of all elements. Source: torch.std_mean."""
    mean = mean_op.call(input, the_dims(dim, input.ndim), keepdim, float64)
    return std(input, dim, unbiased, keepdim), mean.to(input.dtype)


# -- log-sum-exp -------------------------------------------------------------------------------------------------------
_exp, _log = precise.unary("exp"), precise.unary("log")


def _logsumexp(xp, self, dim, keepdim):
    refuse_if(
        not self.size,
        "logsumexp(): the input has no elements",
        "There is no largest number.",
        NotImplementedError,
    )
    axis = axes(self, dim)
    top = reduce(xp, "maximum", self, axis, True)
    top = xp.where(xp.isinf(top), 0, top).astype(self.dtype)
    exp, log = (_exp, _log) if xp is np else (xp.exp, xp.log)
    total = log(_sum(xp, exp(self - top), axis, keepdim))
    return total + top.reshape(total.shape)[()]


def _logsumexp_rule(m, g, self, dim, keepdim, result):
    g, result = (restored(m, t, dim, keepdim, len(self.shape)) for t in (g, result))
    return g * m.exp(self - result)


logsumexp_op = internal(
    "logsumexp(Tensor self, int[] dim, bool keepdim=False)",
    forward=_logsumexp,
    dtype="float",
    operands=("self",),
    vjp={"self": _logsumexp_rule},
    latex=r"\ln \sum_{{dim}} e^{{self}}",
    vjp_latex={"self": r"{g} \cdot e^{{self} - {result}}"},
    samples=lambda s: [(s.randn(3), (0,)), (s.randn(2, 3), (1,), True), (s.randn(2, 3), (0, 1))],
)


@composite(method=True)
def logsumexp(input, dim, keepdim=False):
    """Return log(sum(exp(x))) along `dim`, without overflow. Source: torch.logsumexp."""
    return logsumexp_op.call(input, the_dims(dim, input._array.ndim), keepdim)
