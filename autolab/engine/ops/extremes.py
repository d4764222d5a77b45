"""Reductions that pick an element: max, min, amax, amin, argmax, argmin, median, mode."""

from __future__ import annotations

import numpy as np

from ..exact.arguments import mismatch
from ..exact.refusals import check_dim
from ..exact.dtype_errors import not_implemented
from ..exact.dtypes import positions
from ..kernels.reduce import reduce
from .checks import refuse_if
from .functions import METHODS, composite, internal
from .return_types import return_type
from ..core.tensor import Tensor
from .reduction import ABSENT, axes, dtype_of, restored, the_dims
from .shape import row_major


# -- gradients of picked elements --------------------------------------------------------------------------------------
def picked_rule(m, g, dim, indices, keepdim, self_sym_sizes):
    """Return the gradient of `values`: `g` for the elements at `indices`, zero for the others."""
    g = g[0]
    if len(self_sym_sizes) and not keepdim:
        g, indices = m.unsqueeze(g, dim), m.unsqueeze(indices, dim)
    zeros = g.new_zeros(self_sym_sizes) if m.traced else m.xp.zeros(self_sym_sizes, g.dtype)
    return m.scatter(zeros, dim, indices, g)


def picked(name, schema, forward, node, rule=picked_rule, **fields):
    """Register an op with the results `values` and `indices`, whose gradient goes to the elements at `indices`."""
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
    """Return (values, indices) for `index`, which has size 1 along `dim`."""
    values, index = xp.take_along_axis(self, index, dim), positions(xp.ascontiguousarray(index))
    return (values, index) if keepdim else (values.squeeze(dim)[()], index.squeeze(dim)[()])


def only_element(xp, self):
    """Return (values, indices) of a 0-d array: its only element and the position 0."""
    return self.copy(), xp.zeros((), np.int64)[()]


# -- max, min ----------------------------------------------------------------------------------------------------------
def _equal_share_rule(m, g, self, result):
    """Return the gradient, divided equally among all elements that equal the result."""
    mask = (self == result) | (m.isnan(self) & m.isnan(result))
    return m.where(mask, g / m.sum(mask, None, False, dtype_of(g)), 0.0)


_SHARED = r"{g} \cdot \frac{[{self} = {result}]}{\sum [{self} = {result}]}"
_EMPTY = "An empty tensor has no largest or smallest element."


def _check_dim(name, self, dim, kind=RuntimeError, hint=""):
    """Return `dim`, which may be None. Raise PyTorch's error if it does not exist or has no elements."""
    shape = self._array.shape
    if dim is None:
        message = f"{name}(): Expected reduction dim to be specified for input.numel() == 0.{hint}"
        refuse_if(0 in shape, message, _EMPTY, kind)
    else:
        d = check_dim(dim, len(shape))
        message = f"{name}(): Expected reduction dim {d} to have non-zero size."
        refuse_if(shape and not shape[d], message, _EMPTY, IndexError)
    return dim


_HINT = " Specify the reduction dim with the 'dim' argument."


def _register_extreme(name, pair, doc):
    def whole(xp, self):
        return reduce(xp, pair, self)

    def along(xp, self, dim, keepdim):
        if self.ndim == 0:
            return only_element(xp, self)
        index = xp.expand_dims(getattr(xp, f"arg{name}")(self, axis=dim), dim)
        return at_indices(xp, self, index, dim, keepdim)

    title = name.capitalize()
    all_op = internal(
        f"{name}_all(Tensor self)",
        forward=whole,
        node=f"{title}Backward1",
        vjp={"self": _equal_share_rule},
        latex=rf"\{name} {{self}}",
        vjp_latex={"self": _SHARED},
    )
    dim_op = picked(
        name,
        f"{name}_dim(Tensor self, int dim, bool keepdim=False)",
        along,
        f"{title}Backward0",
        latex=rf"\{name}_{{{{dim}}}} {{self}}",
        samples=lambda s: [(s.distinct(2, 3), 1), (s.distinct(2, 3), 0, True)],
    )

    @composite(name, method=True)
    def call(input, dim=ABSENT, keepdim=ABSENT, *, other=None):
        if other is not None or isinstance(dim, Tensor):
            return METHODS[pair](input, dim if other is None else other)
        if dim is not ABSENT:
            dim = _check_dim(name, input, dim)
            return dim_op.call(input, dim, False if keepdim is ABSENT else keepdim)
        if keepdim is not ABSENT:
            raise mismatch()
        _check_dim(name, input, None, hint=_HINT)
        return all_op.call(input)

    call.__doc__ = (
        f"Return the {doc} element; with `dim` (values, indices) along it; with a second tensor the {doc} of each "
        f"pair. Source: torch.{name}"
    )


_register_extreme("max", "maximum", "largest")
_register_extreme("min", "minimum", "smallest")


# -- amax, amin --------------------------------------------------------------------------------------------------------
def _amax_rule(m, g, self, dim, keepdim, result):
    g, result = (restored(m, t, dim, keepdim, len(self.shape)) for t in (g, result))
    mask = result == self
    return (g * mask) / m.sum(mask, dim or None, True, dtype_of(g))


def _register_amax(name, ufunc, doc):
    op = internal(
        f"{name}(Tensor self, int[] dim=(), bool keepdim=False)",
        vjp={"self": _amax_rule},
        forward=lambda xp, self, dim, keepdim: row_major(
            xp, reduce(xp, ufunc, self, axes(self, dim), keepdim)
        ),
        latex=rf"\{name[1:]}_{{{{dim}}}} {{self}}",
        vjp_latex={"self": _SHARED.replace(r"\sum", r"\sum_{{dim}}")},
        samples=lambda s: [s.distinct(4), (s.distinct(2, 3, 2), (0, 2), True)],
    )

    @composite(name, method=True)
    def call(input, dim=(), keepdim=False):
        dims = the_dims(dim, input._array.ndim) or ()
        for d in dims or (None,):
            _check_dim(name, input, d, hint=_HINT)
        return op.call(input, dims, keepdim)

    call.__doc__ = (
        f"Return the {doc} element along `dim` (an int, a tuple, or all); equal elements share the gradient. "
        f"Source: torch.{name}"
    )


_register_amax("amax", "maximum", "largest")
_register_amax("amin", "minimum", "smallest")


# -- argmax, argmin ----------------------------------------------------------------------------------------------------
def _register_position(name, doc):
    def forward(xp, self, dim, keepdim):
        axis = None if self.ndim == 0 else dim
        return positions(getattr(xp, name)(self, axis=axis, keepdims=keepdim))

    op = internal(
        f"{name}(Tensor self, int? dim=None, bool keepdim=False)",
        forward=forward,
        latex=rf"\mathrm{{{name}}}_{{{{dim}}}} {{self}}",
        samples=lambda s: [s.distinct(4), (s.distinct(2, 3), 0, True)],
    )

    @composite(name, method=True)
    def call(input, dim=None, keepdim=False):
        message = f"{name}(): does not support bool input"
        note = "Convert the mask to numbers first: mask.int()."
        refuse_if(input.dtype.is_bool, message, note)
        _check_dim(name, input, dim, IndexError)
        return op.call(input, dim, keepdim)

    call.__doc__ = (
        f"Return the index of the {doc} element: in the flattened tensor, or along `dim`. nan counts as the {doc}. "
        f"Source: torch.{name}"
    )


_register_position("argmax", "largest")
_register_position("argmin", "smallest")


# -- median, mode ------------------------------------------------------------------------------------------------------
@composite(method=True)
def median(input, dim=ABSENT, keepdim=False):
    """Return the median, the lower one of two middle elements, or nan if there is a nan; with `dim`, return (values,
    indices). Source: torch.median"""
    if dim is ABSENT:
        flat = input.reshape(-1)
        if not input.requires_grad:
            return median(flat, 0)[0]
        middle = median(flat.detach(), 0)[0]  # its equal elements share the gradient equally
        return flat[flat.isnan()].mean() if middle.isnan() else flat[flat == middle].amin()
    if input.dtype.is_bool:
        raise not_implemented("median_out", input._array.dtype)
    _check_dim("median", input, dim)
    ordered = (input if input.ndim else input.reshape(1)).sort(dim)
    n = ordered[0].shape[dim]
    has_nan = ordered[0].select(dim, n - 1).isnan()  # nan is sorted last
    found = [t.select(dim, (n - 1) // 2).where(~has_nan, t.select(dim, n - 1)) for t in ordered]
    return _pair("median", found, dim, keepdim and input.ndim)


@composite(method=True)
def mode(input, dim=-1, keepdim=False):
    """Return (values, indices) of the most frequent element along `dim`: of several the smallest, at its last position.
    Source: torch.mode."""
    _check_dim("mode", input, dim)
    rows = input.movedim(dim, -1) if input.ndim else input.reshape(1)
    ordered = rows.sort()[0]
    times = (ordered[..., :, None] == ordered[..., None, :]).sum(-1)
    value = ordered.gather(-1, times.argmax(-1, True))
    index = rows.shape[-1] - 1 - (rows == value).int().flip(-1).argmax(-1)
    found = rows.gather(-1, index[..., None])[..., 0], index
    return _pair("mode", found, dim, keepdim and input.ndim)


def _pair(name, found, dim, keepdim):
    """Return the named result of two tensors, and keep the reduced dimension if `keepdim`."""
    if keepdim:
        found = [t.unsqueeze(dim) for t in found]
    return return_type(name, ("values", "indices"))(found)
