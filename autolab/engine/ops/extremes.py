"""Reductions that pick an element: max, min, amax, amin, argmax, argmin, median, mode."""

from __future__ import annotations

import numpy as np

from ..exact.arguments import mismatch
from ..core.dtype import FROM_NUMPY
from ..core.errors import fail
from ..exact.refusals import check_dim, unsupported
from ..exact.dtype_errors import no_complex, not_implemented
from ..exact.dtypes import positions
from ..kernels.reduce import reduce
from .functions import METHODS, composite, internal
from .return_types import return_type
from ..core.tensor import Tensor
from .reduction import ABSENT, axes, dtype_of, restored, the_dims
from .shape import row_major


# -- gradients of picked elements --------------------------------------------------------------------------------------
def picked_rule(m, g, dim, indices, keepdim, self_sym_sizes):
    """Return the gradient of `values`: it goes to the elements that `indices` names, and zero to the others."""
    g = g[0]
    if len(self_sym_sizes) and not keepdim:
        g, indices = m.unsqueeze(g, dim), m.unsqueeze(indices, dim)
    zeros = g.new_zeros(self_sym_sizes) if m.traced else m.xp.zeros(self_sym_sizes, g.dtype)
    return m.scatter(zeros, dim, indices, g)


def picked(name, schema, forward, node, rule=picked_rule, **fields):
    """Register an op with the results `values` and `indices`, whose gradient goes to the elements that `indices`
    names."""
    return internal(
        schema,
        forward=forward,
        node=node,
        outputs=("values", "indices"),
        nondiff=("indices",),
        return_type=return_type(name, ("values", "indices")),
        vjp={"self": rule},
        vjp_latex={"self": r"\mathrm{scatter}({g})"},
        **fields,
    )


def at_indices(xp, self, index, dim, keepdim):
    """Return (values, indices) at `index` along `dim`, where it has size 1."""
    values, index = xp.take_along_axis(self, index, dim), positions(xp.ascontiguousarray(index))
    return (values, index) if keepdim else (values.squeeze(dim)[()], index.squeeze(dim)[()])


def only_element(xp, self):
    """Return (values, indices) of a 0-d array: its number, at position 0."""
    return self.copy(), xp.zeros((), np.int64)[()]


# -- max, min ----------------------------------------------------------------------------------------------------------
def _share_rule(m, g, self, result):
    """Return the gradient shared equally among all elements that equal the result."""
    mask = (self == result) | (m.isnan(self) & m.isnan(result))
    return m.where(mask, g / m.sum(mask, None, False, dtype_of(g)), 0.0)


_SHARED = r"{g} \cdot \frac{[{self} = {result}]}{\sum [{self} = {result}]}"
_EMPTY = "No element is the largest of no elements."


def _not_empty(
    name, self, kind=RuntimeError, hint=" Specify the reduction dim with the 'dim' argument."
):
    if self._array.size == 0:
        message = f"{name}(): Expected reduction dim to be specified for input.numel() == 0.{hint}"
        raise fail(kind, message, _EMPTY)


def _full_dim(name, self, dim):
    """Return `dim`. Raises IndexError when there is no such dimension, or when it has no elements."""
    d, shape = check_dim(dim, self._array.ndim), self._array.shape
    if shape and shape[d] == 0:
        message = f"{name}(): Expected reduction dim {d} to have non-zero size."
        raise fail(IndexError, message, _EMPTY)
    return dim


def _extreme(name, pair, doc):
    def whole(xp, self):
        no_complex(self, f"\"{name}_all\" not implemented for '{FROM_NUMPY[self.dtype].short}'")
        return reduce(xp, pair, self)

    def along(xp, self, dim, keepdim):
        no_complex(self, f"{name}(): does not support complex input", RuntimeError)
        if self.ndim == 0:
            return only_element(xp, self)
        index = xp.expand_dims(getattr(xp, f"arg{name}")(self, axis=dim), dim)
        return at_indices(xp, self, index, dim, keepdim)

    title = name.capitalize()
    all_op = internal(
        f"{name}_all(Tensor self)",
        forward=whole,
        node=f"{title}Backward1",
        vjp={"self": _share_rule},
        latex=rf"\{name} {{self}}",
        vjp_latex={"self": _SHARED},
        samples=lambda s: [s.distinct(4), s.distinct(2, 3)],
    )
    dim_op = picked(
        name,
        f"{name}_dim(Tensor self, int dim, bool keepdim=False)",
        along,
        f"{title}Backward0",
        latex=rf"\{name}_{{{{dim}}}} {{self}}",
        samples=lambda s: [(s.distinct(2, 3), 1), (s.distinct(2, 3), 0, True), (s.distinct(4), -1)],
    )

    @composite(name, method=True)
    def call(input, dim=ABSENT, keepdim=ABSENT, *, other=None):
        if other is not None or isinstance(dim, Tensor):
            return METHODS[pair](input, dim if other is None else other)
        if dim is not ABSENT:
            dim = _full_dim(name, input, dim)
            return dim_op.call(input, dim, False if keepdim is ABSENT else keepdim)
        if keepdim is not ABSENT:
            raise mismatch()
        _not_empty(name, input)
        return all_op.call(input)

    call.__doc__ = (
        f"Return the {doc} element; with `dim` (values, indices) along it; with a second tensor the {doc} of each "
        f"pair. Source: torch.{name}"
    )


_extreme("max", "maximum", "largest")
_extreme("min", "minimum", "smallest")


# -- amax, amin --------------------------------------------------------------------------------------------------------
def _amax_rule(m, g, self, dim, keepdim, result):
    """Return the gradient divided evenly among the elements that equal the result."""
    g, result = (restored(m, t, dim, keepdim, len(self.shape)) for t in (g, result))
    mask = result == self
    return (g * mask) / m.sum(mask, dim if dim != () else None, True, dtype_of(g))


def _amax(name, ufunc, doc):
    op = internal(
        f"{name}(Tensor self, int[] dim=(), bool keepdim=False)",
        vjp={"self": _amax_rule},
        forward=lambda xp, self, dim, keepdim: row_major(
            xp, reduce(xp, ufunc, self, axes(self, dim), keepdim)
        ),
        latex=rf"\{name[1:]}_{{{{dim}}}} {{self}}",
        vjp_latex={"self": _SHARED.replace(r"\sum", r"\sum_{{dim}}")},
        samples=lambda s: [
            s.distinct(4),
            (s.distinct(2, 3), (1,)),
            (s.distinct(2, 3, 2), (0, 2), True),
        ],
    )

    @composite(name, method=True)
    def call(input, dim=(), keepdim=False):
        dims = the_dims(dim, input._array.ndim) or ()
        if not dims:
            _not_empty(name, input)
        for d in dims:
            _full_dim(name, input, d)
        return op.call(input, dims, keepdim)

    call.__doc__ = (
        f"Return the {doc} element along `dim` (an int, a tuple, or all); equal elements share the gradient. "
        f"Source: torch.{name}"
    )


_amax("amax", "maximum", "largest")
_amax("amin", "minimum", "smallest")


# -- argmax, argmin ----------------------------------------------------------------------------------------------------
def _position(name, doc):
    def forward(xp, self, dim, keepdim):
        no_complex(self, f"{name}(): does not support complex input", RuntimeError)
        axis = None if self.ndim == 0 else dim
        return positions(getattr(xp, name)(self, axis=axis, keepdims=keepdim))

    op = internal(
        f"{name}(Tensor self, int? dim=None, bool keepdim=False)",
        forward=forward,
        latex=rf"\mathrm{{{name}}}_{{{{dim}}}} {{self}}",
        samples=lambda s: [s.distinct(4), (s.distinct(2, 3), 1), (s.distinct(2, 3), 0, True)],
    )

    @composite(name, method=True)
    def call(input, dim=None, keepdim=False):
        if input.dtype.is_bool:
            raise fail(
                RuntimeError,
                f"{name}(): does not support bool input",
                "Convert the mask to numbers first: mask.int().",
            )
        if dim is None:
            _not_empty(name, input, IndexError, "")
        else:
            _full_dim(name, input, dim)
        return op.call(input, dim, keepdim)

    call.__doc__ = (
        f"Return where the {doc} element is: in the flattened tensor, or along `dim`. nan counts as the {doc}. "
        f"Source: torch.{name}"
    )


_position("argmax", "largest")
_position("argmin", "smallest")


# -- median, mode ------------------------------------------------------------------------------------------------------
def _middle(xp, ordered):
    """Return the position of the lower median in `ordered` (sorted along the last axis, nan at the end), with the axis
    kept: that of the first nan, if there is one."""
    n = ordered.shape[-1]
    if ordered.dtype.kind != "f":
        return xp.full((*ordered.shape[:-1], 1), (n - 1) // 2)
    missing = xp.isnan(ordered).sum(-1, keepdims=True)
    return xp.where(missing > 0, n - missing, (n - 1) // 2)


def _no_masks(self, kernel):
    if self.dtype == bool:
        raise not_implemented(kernel, self.dtype)


def _median_all(xp, self):
    _no_masks(self, "median_cpu")
    if self.size == 0:
        # the number that nan is cast to
        return self.dtype.type(np.nan if self.dtype.kind == "f" else np.iinfo(self.dtype).min)
    ordered = xp.sort(self.reshape(-1))
    return ordered[_middle(xp, ordered)][0]


def _median_dim(xp, self, dim, keepdim):
    _no_masks(self, "median_out")
    if self.ndim == 0:
        return only_element(xp, self)
    order = xp.moveaxis(xp.argsort(self, axis=dim, kind="stable"), dim, -1)
    ordered = xp.take_along_axis(xp.moveaxis(self, dim, -1), order, -1)
    index = xp.moveaxis(xp.take_along_axis(order, _middle(xp, ordered), -1), -1, dim)
    return at_indices(xp, self, index, dim, keepdim)


median_all = internal(
    "median_all(Tensor self)",
    forward=_median_all,
    node="MedianBackward0",
    vjp={"self": _share_rule},
    latex=r"\mathrm{median}({self})",
    vjp_latex={"self": _SHARED},
    samples=lambda s: [s.distinct(5), s.distinct(2, 3)],
)
median_dim = picked(
    "median",
    "median_dim(Tensor self, int dim, bool keepdim=False)",
    _median_dim,
    "MedianBackward1",
    latex=r"\mathrm{median}_{{dim}}({self})",
    samples=lambda s: [(s.distinct(2, 3), 1), (s.distinct(3, 2), 0, True)],
)


@composite(method=True)
def median(input, dim=ABSENT, keepdim=False):
    """Return the middle element, the lower one of two, and nan if there is a nan; with `dim` (values, indices).
    Source: torch.median"""
    if dim is ABSENT:
        return median_all.call(input)
    return median_dim.call(input, _full_dim("median", input, dim), keepdim)


def _mode(xp, self, dim, keepdim):
    if self.ndim == 0:
        return only_element(xp, self)
    rows = xp.moveaxis(self, dim, -1)
    if rows.dtype.kind == "f" and xp.isnan(rows).any():
        raise unsupported(
            "mode", "input", "A nan equals no number, not even itself: remove the nans first."
        )
    times = (rows[..., :, None] == rows[..., None, :]).sum(-1)
    best = xp.where(times == times.max(-1, keepdims=True), rows, rows.max(-1, keepdims=True))
    value = best.min(-1, keepdims=True)  # of several modes the smallest, as in torch
    # and its last place
    index = rows.shape[-1] - 1 - xp.argmax((rows == value)[..., ::-1], axis=-1)
    return at_indices(xp, self, xp.expand_dims(index, dim), dim, keepdim)


mode_op = picked(
    "mode",
    "mode(Tensor self, int dim=-1, bool keepdim=False)",
    _mode,
    "ModeBackward0",
    latex=r"\mathrm{mode}({self})",
    samples=lambda s: [s.distinct(4), (s.distinct(2, 3), 1, True)],
)


@composite(method=True)
def mode(input, dim=-1, keepdim=False):
    """Return (values, indices) of the most frequent element along `dim`: the smallest of several, at its last place.
    Raises NotImplementedError for nan. Source: torch.mode."""
    return mode_op.call(input, _full_dim("mode", input, dim), keepdim)
