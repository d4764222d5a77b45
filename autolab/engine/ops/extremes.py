"""Reductions that pick an element: max, min, amax, amin, argmax, argmin, median, mode."""

from __future__ import annotations

import numpy as np

from ..exact.arguments import mismatch
from ..core.dtype import FROM_NUMPY
from ..core.errors import fail
from ..exact.refusals import check_dim
from ..exact.dtype_errors import no_complex, not_implemented
from ..exact.dtypes import positions
from ..kernels.reduce import reduce
from .functions import METHODS, composite, internal
from .return_types import return_type
from ..core.tensor import Tensor
from .reduction import axes, dtype_of, restored, the_dims
from .shape import row_major


# -- gradients of picked elements --------------------------------------------------------------------------------------
def zeros_for(m, g, sizes):
    """Zeros of g's dtype and device: what a gradient is written into."""
    return g.new_zeros(sizes) if m.traced else m.xp.zeros(sizes, g.dtype)


def picked_rule(m, g, dim, indices, keepdim, self_sym_sizes):
    """The gradient of `values` goes to the elements that `indices` names, zero to the others."""
    g = g[0]
    if len(self_sym_sizes) and not keepdim:
        g, indices = m.unsqueeze(g, dim), m.unsqueeze(indices, dim)
    return m.scatter(zeros_for(m, g, self_sym_sizes), dim, indices, g)


def picked(name, schema, forward, node, **fields):
    """Registers an op with the results `values` and `indices`, whose gradient goes to the elements named by
    `indices`."""
    return internal(
        schema,
        forward=forward,
        node=node,
        outputs=("values", "indices"),
        nondiff=("indices",),
        return_type=return_type(name, ("values", "indices")),
        vjp_latex={"self": r"\mathrm{scatter}({g})"},
        **fields,
    )


def at_indices(xp, self, index, dim, keepdim):
    """(values, indices) at `index` along `dim`, where it has size 1."""
    values, index = xp.take_along_axis(self, index, dim), positions(xp.ascontiguousarray(index))
    return (values, index) if keepdim else (values.squeeze(dim)[()], index.squeeze(dim)[()])


# -- max, min ----------------------------------------------------------------------------------------------------------
def _share_rule(m, g, self, result):
    """All elements equal to the result get an equal share."""
    mask = (self == result) | (m.isnan(self) & m.isnan(result))
    return m.where(mask, g / m.sum(mask, None, False, dtype_of(g)), 0.0)


_SHARED = r"{g} \cdot \frac{[{self} = {result}]}{\sum [{self} = {result}]}"


def _nonempty(name, self, dim):
    if dim is None:
        if self._array.size == 0:
            raise fail(
                RuntimeError,
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
                f"Specify the reduction dim with the "
                "'dim' argument.",
                "Nothing is the largest of no elements.",
            )
    else:
        for d in (dim,) if isinstance(dim, int) else dim:
            if self._array.ndim and self._array.shape[d] == 0:
                raise fail(
                    IndexError,
                    f"{name}(): Expected reduction dim {d % self._array.ndim} to have non-zero size.",
                    "Nothing is the largest of no elements.",
                )


_ABSENT = object()


def _extreme(name, pick, pair, doc):
    def whole(xp, self):
        no_complex(self, f"\"{name}_all\" not implemented for '{FROM_NUMPY[self.dtype].short}'")
        return reduce(xp, pair, self)

    def along(xp, self, dim, keepdim):
        no_complex(self, f"{name}(): does not support complex input", RuntimeError)
        if self.ndim == 0:
            return self.copy(), xp.zeros((), np.int64)[()]
        return at_indices(
            xp, self, xp.expand_dims(getattr(xp, pick)(self, axis=dim), dim), dim, keepdim
        )

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
        vjp={"self": picked_rule},
        latex=rf"\{name}_{{{{dim}}}} {{self}}",
        samples=lambda s: [(s.distinct(2, 3), 1), (s.distinct(2, 3), 0, True), (s.distinct(4), -1)],
    )

    @composite(name, method=True)
    def call(input, dim=_ABSENT, keepdim=_ABSENT, *, other=None):
        if other is not None or isinstance(dim, Tensor):
            return METHODS[pair](input, dim if other is None else other)
        if dim is _ABSENT:
            if keepdim is not _ABSENT:
                raise mismatch()
            _nonempty(name, input, None)
            return all_op.call(input)
        keepdim = False if keepdim is _ABSENT else keepdim
        check_dim(dim, input._array.ndim)
        _nonempty(name, input, dim)
        return dim_op.call(input, dim, keepdim)

    call.__doc__ = (
        f"The {doc} element; with `dim` (values, indices) along it; with a second tensor the {doc} of each "
        f"pair. Source: torch.{name}"
    )


_extreme("max", "argmax", "maximum", "largest")
_extreme("min", "argmin", "minimum", "smallest")


# -- amax, amin, aminmax -----------------------------------------------------------------------------------------------
def _even(m, g, self, result, dim):
    """The gradient divided evenly among the elements equal to the result; g and result with their reduced dimensions
    in place."""
    mask = result == self
    return (g * mask) / m.sum(mask, dim if dim != () else None, True, dtype_of(g))


def _amax_rule(m, g, self, dim, keepdim, result):
    ndim = len(self.shape)
    return _even(
        m, restored(m, g, dim, keepdim, ndim), self, restored(m, result, dim, keepdim, ndim), dim
    )


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
        dim = the_dims(() if dim is None else dim, input._array.ndim)
        _nonempty(name, input, dim or None)
        return op.call(input, dim, keepdim)

    call.__doc__ = (
        f"The {doc} element along `dim` (an int, a tuple, or all); ties share the gradient. "
        f"Source: torch.{name}"
    )


_amax("amax", "maximum", "largest")
_amax("amin", "minimum", "smallest")


# -- argmax, argmin ----------------------------------------------------------------------------------------------------
def _position(name, doc):
    def forward(xp, self, dim, keepdim):
        no_complex(self, f"{name}(): does not support complex input", RuntimeError)
        if dim is None or self.ndim == 0:
            found = positions(getattr(xp, name)(self))
            return xp.asarray(found).reshape((1,) * self.ndim) if keepdim else found
        return positions(getattr(xp, name)(self, axis=dim, keepdims=keepdim))

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
            if input._array.size == 0:
                raise fail(
                    IndexError,
                    f"{name}(): Expected reduction dim to be specified for input.numel() == 0.",
                    "There is no element to point at.",
                )
        else:
            check_dim(dim, input._array.ndim)
            _nonempty(name, input, dim)
        return op.call(input, dim, keepdim)

    call.__doc__ = (
        f"Where the {doc} element is: in the flattened tensor, or along `dim`. nan counts as such. "
        f"Source: torch.{name}"
    )


_position("argmax", "largest")
_position("argmin", "smallest")


# -- median, kthvalue, mode --------------------------------------------------------------------------------------------
def _middle(xp, ordered, skip_nan):
    """The position of the lower median in `ordered` (sorted along the last axis, nan at the end), with the axis
    kept."""
    n = ordered.shape[-1]
    missing = (
        xp.isnan(ordered).sum(-1, keepdims=True)
        if ordered.dtype.kind == "f"
        else xp.zeros(ordered.shape[:-1] + (1,), np.int64)
    )
    middle = (n - missing - 1) // 2 if skip_nan else xp.full(missing.shape, (n - 1) // 2)
    # without skipping, one nan makes the result nan: the first of them, as in torch
    return xp.maximum(middle, 0) if skip_nan else xp.where(missing > 0, n - missing, middle)


def _no_masks(self, kernel):
    if self.dtype == bool:
        raise not_implemented(kernel, self.dtype)


def _median_all(skip_nan):
    def forward(xp, self):
        _no_masks(self, "median_cpu")
        if self.size == 0:
            # what nan is cast to
            return self.dtype.type(np.nan if self.dtype.kind == "f" else np.iinfo(self.dtype).min)
        ordered = xp.sort(self.reshape(-1))
        return ordered[_middle(xp, ordered, skip_nan)][0]

    return forward


def _median_dim(skip_nan):
    def forward(xp, self, dim, keepdim):
        _no_masks(self, "median_out")
        if self.ndim == 0:
            return self.copy(), xp.zeros((), np.int64)[()]
        order = xp.moveaxis(xp.argsort(self, axis=dim, kind="stable"), dim, -1)
        ordered = xp.take_along_axis(xp.moveaxis(self, dim, -1), order, -1)
        index = xp.moveaxis(xp.take_along_axis(order, _middle(xp, ordered, skip_nan), -1), -1, dim)
        return at_indices(xp, self, index, dim, keepdim)

    return forward


def _median(name, skip_nan, doc):
    title = name.capitalize()
    all_op = internal(
        f"{name}_all(Tensor self)",
        forward=_median_all(skip_nan),
        node=f"{title}Backward0",
        vjp={"self": _share_rule},
        latex=r"\mathrm{median}({self})",
        vjp_latex={"self": _SHARED},
        samples=lambda s: [s.distinct(5), s.distinct(2, 3)],
    )
    dim_op = picked(
        name,
        f"{name}_dim(Tensor self, int dim, bool keepdim=False)",
        _median_dim(skip_nan),
        f"{title}Backward1",
        vjp={"self": picked_rule},
        latex=r"\mathrm{median}_{{dim}}({self})",
        samples=lambda s: [(s.distinct(2, 3), 1), (s.distinct(3, 2), 0, True)],
    )

    @composite(name, method=True)
    def call(input, dim=_ABSENT, keepdim=False):
        if dim is _ABSENT:
            return all_op.call(input)
        check_dim(dim, input._array.ndim)
        _nonempty(name, input, dim)
        return dim_op.call(input, dim, keepdim)

    call.__doc__ = f"{doc} Of two middle elements the lower one; with `dim` (values, indices). Source: torch.{name}"


_median("median", False, "The middle element; nan if there is a nan.")


def _mode(xp, self, dim, keepdim):
    if self.ndim == 0:
        return self.copy(), xp.zeros((), np.int64)[()]
    rows = xp.moveaxis(self, dim, -1)
    if xp is np and rows.dtype.kind == "f" and np.isnan(rows).any():
        return at_indices(
            xp,
            self,
            np.expand_dims(np.apply_along_axis(_mode_with_nan, -1, rows), dim),
            dim,
            keepdim,
        )
    equal = rows[..., :, None] == rows[..., None, :]
    times = equal.sum(-1)
    best = xp.where(times == times.max(-1, keepdims=True), rows, rows.max(-1, keepdims=True))
    value = best.min(-1, keepdims=True)  # of several modes the smallest, as in torch
    index = (
        rows.shape[-1] - 1 - xp.argmax((rows == value)[..., ::-1], axis=-1)
    )  # and its last place
    return at_indices(xp, self, xp.expand_dims(index, dim), dim, keepdim)


def _mode_with_nan(row):
    """The position of the mode of a row with nan, which equals nothing and is smaller than nothing: PyTorch sorts the
    row by insertion (short ones; `std::sort`), which leaves a nan where it is met, and looks for the longest run."""
    order = []
    for i, x in enumerate(row):
        place = (
            0
            if order and x < row[order[0]]
            else next((k for k in range(len(order), 0, -1) if not x < row[order[k - 1]]), 0)
        )
        order.insert(place, i)
    best, most, times = order[0], 0, 0
    for k, i in enumerate(order):
        times += 1
        if k + 1 == len(order) or row[i] != row[order[k + 1]]:
            if times > most:
                best, most = i, times
            times = 0
    return best


mode_op = picked(
    "mode",
    "mode(Tensor self, int dim=-1, bool keepdim=False)",
    _mode,
    "ModeBackward0",
    vjp={"self": picked_rule},
    latex=r"\mathrm{mode}({self})",
    samples=lambda s: [s.distinct(4), (s.distinct(2, 3), 1, True)],
)


@composite(method=True)
def mode(input, dim=-1, keepdim=False):
    """(values, indices) of the most frequent element along `dim`: the smallest of several, at its last place. Source:
    torch.mode."""
    check_dim(dim, input._array.ndim)
    _nonempty("mode", input, dim)
    return mode_op.call(input, dim, keepdim)
