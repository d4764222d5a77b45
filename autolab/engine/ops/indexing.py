"""`x[...]` and `x[...] = v`: basic indices return views (select, slice, unsqueeze), index tensors copy (index,
index_put)."""

from __future__ import annotations

from operator import index as index_of

import numpy as np

from ..devices import demands
from ..exact.arguments import as_number, held_by
from ..core.errors import fail, type_name
from ..inplace.views import overlap, overlapping_operands
from ..inplace.changes import apply_inplace
from ..exact.refusals import check_dim, check_int64
from ..kernels.scatter import add_at
from .checks import refuse_if
from .functions import METHODS, NAMESPACES, composite, internal
from ..core.tensor import Tensor, wrap
from .index_keys import as_index, consumed_by, entries, number_of
from .shape import unsqueeze
from .with_backward import rule

END = 2**63 - 1  # torch's value for "to the end", visible in _saved_end


def at(dim, entry):
    return (slice(None),) * dim + (entry,)


def _check_index(index, dim, n):
    """Raise torch's error if `index` is out of range for `n` entries. As in torch, `dim` counts dimensions of the index
    as written."""
    if not -n <= index < n:
        raise _out_of_bounds(index, dim, n)


def _select(xp, self, dim, index):
    _check_index(index, dim, self.shape[dim])
    return self[(*at(dim, index), ...)]


def _zeros_around(xp, self, shape, dim, key):
    """Return zeros of `shape` with `self` at `key` along `dim`."""
    out = xp.zeros(shape, self.dtype)
    out[at(dim, key)] = self
    return out


def _register_part(name, listed, forward, around, tex, samples):
    """Register a view of entries along `dim`, and its adjoint, which places them among zeros.

    listed: the arguments after `dim`, with their kinds."""
    arguments = ["dim", *[word.split()[1].partition("=")[0] for word in listed.split(", ")]]
    op = internal(
        f"{name}(Tensor self, int dim, {listed})",
        forward=forward,
        view=True,
        vjp={"self": rule(f"{name}_spread", "self_sym_sizes", *arguments)},
        latex=f"{{self}}_{tex}",
        vjp_latex={"self": rf"{{g}} \text{{ at }} {tex[1:-1]}"},
        samples=samples,
    )
    internal(
        f"{name}_spread(Tensor self, int[] shape, int dim, {listed})",
        forward=around,
        node=f"{name.capitalize()}BackwardBackward0",
        vjp={"self": rule(name, *arguments)},
        latex=rf"{{self}} \text{{ at }} {tex[1:-1]}",
        vjp_latex={"self": f"{{g}}_{tex}"},
    )
    return op


select_op = _register_part(
    "select",
    "int index",
    _select,
    _zeros_around,
    "{{index}}",
    lambda s: [(s.randn(2, 3), 0, 1), (s.randn(3), 0, -1)],
)
slice_op = _register_part(
    "slice",
    "int? start=None, int? end=None, int step=1",
    lambda xp, self, dim, *limits: self[at(dim, slice(*limits))],
    lambda xp, self, shape, dim, *limits: _zeros_around(xp, self, shape, dim, slice(*limits)),
    "{{start}:{end}}",
    lambda s: [(s.randn(4), 0, 1, 3, 1), (s.randn(2, 5), 1, 0, 5, 2)],
)
NAMESPACES["Tensor"]["slice"] = slice_op.call


@composite(method=True)
def select(input, dim, index):
    """Return the entry `index` along `dim`, without that dimension, as a view. Source: torch.select."""
    if not input.ndim:
        raise fail(
            IndexError,
            "select() cannot be applied to a 0-dim tensor.",
            "A 0-d tensor is a single number.",
        )
    return select_op.call(input, check_dim(dim, input.ndim), int(index))


# -- index tensors -----------------------------------------------------------------------------------------------------
def _key(indices):
    return tuple(slice(None) if i is None else i for i in indices)


def _checked_key(xp, self, indices):
    """Return `indices` as a NumPy index. Raise PyTorch's error for positions out of range."""
    shapes = [i.shape for i in indices if i is not None]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(str(list(shape)) for shape in shapes)
        raise fail(
            IndexError,
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {listed}",
            "Index tensors are broadcast together, so their shapes must be compatible.",
        ) from None
    for dim, (i, n) in enumerate(zip(indices, self.shape)):
        if i is not None:
            demands.in_range(xp, i, -n, n, lambda bad, dim=dim, n=n: _out_of_bounds(bad, dim, n))
    return _key(indices)


def _out_of_bounds(bad, dim, n):
    check_int64(bad)
    return fail(
        IndexError,
        f"index {bad} is out of bounds for dimension {dim} with size {n}",
        f"Indices run from 0 to {n - 1}, or from -{n} backwards."
        if n
        else "The dimension is empty.",
    )


def _index(xp, self, indices):
    found = self[_checked_key(xp, self, indices)]
    # NumPy places the indexed dimensions first in memory; PyTorch keeps their order.
    return (
        xp.ascontiguousarray(found)
        if getattr(found, "ndim", 0) > 1 and self.flags.c_contiguous
        else xp.array(found)
    )


def _index_spread(xp, self, shape, indices):
    out = xp.zeros(shape, self.dtype)
    if self.size:
        add_at(xp, out, _key(indices), self)
    return out


index_op = internal(
    "index(Tensor self, Tensor[] indices)",
    forward=_index,
    vjp={"self": lambda m, g, self_sym_sizes, indices: m.index_spread(g, self_sym_sizes, indices)},
    latex=r"{self}[{indices}]",
    vjp_latex={"self": r"\sum {g} \text{ at } {indices}"},
    samples=lambda s: [(s.randn(2, 3), [None, s.index([0, 2, 2])])],
)
index_spread = internal(
    "index_spread(Tensor self, int[] shape, Tensor[] indices)",
    forward=_index_spread,
    vjp={"self": lambda m, g, indices: m.index(g, indices)},
    latex=r"\sum {self} \text{ at } {indices}",
    vjp_latex={"self": r"{g}[{indices}]"},
)


def _index_put(xp, self, indices, values, accumulate):
    out, key = xp.array(self), _checked_key(xp, self, indices)
    values = xp.asarray(values) if xp is np else values
    target = out[key].shape
    try:
        values = xp.broadcast_to(values, target)
    except ValueError:
        raise fail(
            RuntimeError,
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of shape "
            f"{list(target)}",
            "The assigned values must fit the places that the index names.",
        ) from None
    if accumulate:
        add_at(xp, out, key, values)
    else:
        out[key] = values
    return out


def _cleared(m, g, indices, accumulate):
    if accumulate:
        return g
    return m.index_put(g, indices, m.zeros_like(m.index(g, indices)), False)


index_put_op = internal(
    "index_put(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False)",
    forward=_index_put,
    hidden=("values_sym_sizes",),
    vjp={
        "self": _cleared,
        "values": lambda m, g, values_sym_sizes, indices: m.sum_to(
            m.index(g, indices), values_sym_sizes
        ),
    },
    latex=r"{self}[{indices}] := {values}",
    vjp_latex={"self": r"{g} \text{ without } {indices}", "values": r"{g}[{indices}]"},
    samples=lambda s: [(s.randn(3), [s.index([0, 2])], s.randn(2), how) for how in (False, True)],
)


def _plan(self, key):
    """Apply the basic part of an index as views. Return (view, indices): `indices` is None, or the list of the advanced
    part."""
    if not self._array.ndim and key.__class__ in (int, slice):
        message = (
            "slice() cannot be applied to a 0-dim tensor."
            if key.__class__ is slice
            else "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a "
            "number"
        )
        raise fail(IndexError, message, "A 0-d tensor is a single number.")
    key = entries(key)
    used = sum(map(consumed_by, key))
    if used > self.ndim:
        raise fail(
            IndexError,
            f"too many indices for tensor of dimension {self.ndim}",
            f"The tensor has {self.ndim} dimension(s), the index names {used}.",
        )
    view, dim, advanced = self, 0, {}
    for place, k in enumerate(key):
        if isinstance(k, (Tensor, np.generic)) and not k.ndim:
            k = number_of(k)
        if k is None or isinstance(k, bool):
            view = unsqueeze.call(view, dim)
            if k is not None:
                advanced[dim] = wrap(np.arange(k, dtype=np.int64))
        elif isinstance(k, int):
            _check_index(k, place, view._array.shape[dim])
            view = select_op.call(view, dim, k)
            continue
        elif isinstance(k, slice):
            view = _sliced(view, dim, k)
        elif k is Ellipsis:
            dim += self.ndim - used - 1
        elif isinstance(k, (Tensor, list, tuple, np.ndarray, range)):
            found = as_index(k, dim, view._array.shape)
            advanced |= enumerate(found, dim)
            dim += len(found) - 1
        elif isinstance(k, str):
            note = "A tensor is indexed by position; names belong to dicts."
            raise fail(TypeError, "new(): invalid data type 'str'", note)
        else:
            raise fail(
                IndexError,
                "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
                f"(got {type_name(k)})",
                "A tensor is indexed by position: convert it to an integer first.",
            )
        dim += 1
    return view, [advanced.get(d) for d in range(max(advanced) + 1)] if advanced else None


def _sliced(x, dim, k, always=False):
    """Return the slice `k` along `dim`. If it covers everything, return `x` itself, unless `always`."""
    try:
        start, stop, step = (None if v is None else index_of(v) for v in (k.start, k.stop, k.step))
    except TypeError:
        raise fail(
            TypeError,
            "slice indices must be integers or None or have an __index__ method",
            "Slice bounds must be integers, for example x[0:2].",
        ) from None
    start, stop, step = start or 0, END if stop is None else stop, 1 if step is None else step
    refuse_if(step == 0, "slice step cannot be zero", "1 takes every entry.", ValueError)
    message = "step must be greater than zero"
    refuse_if(step < 0, message, "Use flip to go through the entries backwards.", ValueError)
    if not always and not start and step == 1 and stop >= x._array.shape[dim]:
        return x
    return slice_op.call(x, dim, start, stop, step)


def getitem(self, key):
    """Return `x[key]`. Source: https://docs.pytorch.org/docs/2.13/tensor_view.html"""
    if key.__class__ is int and self._array.ndim:
        return select_op.call(self, 0, key)
    if key.__class__ is slice and self._array.ndim:
        return _sliced(self, 0, key, always=True)
    view, indices = _plan(self, key)
    if indices is not None:
        return index_op.call(view, indices)
    return METHODS["alias"](view) if view is self else view


def setitem(self, key, value):
    """Do `x[key] = value`: copy into the view for a basic index; write entry by entry for index tensors."""
    number = not isinstance(value, Tensor)
    if number:
        value = _assigned_number(self, value)
    view, indices = _plan(self, key)
    if indices is None:
        view.fill_(value) if number else view.copy_(_expanded_value(value, view._array.shape))
        return
    masks = [k.dtype.is_bool for k in entries(key) if isinstance(k, Tensor) and k.ndim]
    fills = masks == [True] and value.numel() == 1  # as in PyTorch, this number may have any dtype
    refuse_if(
        value.dtype is not self.dtype and not fills,
        f"Index put requires the source and destination dtypes match, got {self.dtype.short} for the destination and "
        f"{value.dtype.short} for the source.",
        "Convert the values first: .to(x.dtype).",
    )
    value = value.to(self.device) if number else _without_leading_ones(value)
    written(index_put_op, (view, indices, value, False), apart=not fills)


_NO_PYTHON_NUMBERS = (np.float16, np.float32, np.bool_)
"""NumPy's number types that PyTorch does not assign: they are not Python numbers, and have no `__index__`."""


def _assigned_number(self, value):
    """Return the number `value` as a 0-d tensor like `self`. Raise torch's error for lists, arrays, strings and
    None."""
    number = None if type(value) in _NO_PYTHON_NUMBERS else as_number(value)
    if number is None:
        raise fail(
            TypeError,
            f"can't assign a {type_name(value)} to a {self.type()}",
            "Make a tensor of it first: torch.tensor(value).",
        )
    return wrap(np.asarray(held_by(number, self.dtype)).astype(self.dtype.np), self.dtype)


def _without_leading_ones(value):
    """Return a view of `value` without leading dimensions of size 1, because they match any index."""
    shape = value._array.shape
    ones = next((k for k, n in enumerate(shape) if n != 1), len(shape))
    return METHODS["view"](value, shape[ones:]) if ones else value


def _expanded_value(value, shape):
    """Return `value` expanded to `shape`, with the ops that torch uses."""
    same = value._array.shape == shape
    return value if same else METHODS["expand"](_without_leading_ones(value), shape)


METHODS["__getitem__"], METHODS["__setitem__"] = getitem, setitem


def written(op, args, apart=True):
    """Run an op on its arguments and write the result into the first one, as an in-place op. apart: the other arguments
    must not share its memory."""
    target, *others = (x for a in args for x in (a if a.__class__ in (list, tuple) else (a,)))
    # A single `value` is read before writing begins, so it may share memory.
    if apart and any(
        isinstance(x, Tensor) and (x._array.ndim or op.params[-1] != "value") and overlap(target, x)
        for x in others
    ):
        raise overlapping_operands()
    return apply_inplace(op, args)
